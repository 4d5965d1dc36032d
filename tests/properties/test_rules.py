"""Any rule of the language holds where plain Python says so, and mended rows obey it."""

import dataclasses

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ruled import SCHEMA, holds
from tabpe.encoding import Encoder, Records
from tabpe.encoding.column_codec import build_codecs
from tabpe.encoding.records import draw_uniform_records
from tabpe.errors import RuleError
from tabpe.evolution.constraint_repair import ConstraintSet, RowPositions, evaluate_constraint
from tabpe.schema.constraints.check import negate_condition
from tabpe.schema.constraints.parser import parse_constraint

SIGNS = st.sampled_from(["==", "!=", "<", "<=", ">", ">="])
NUMBERS = st.one_of(
    st.sampled_from(["age", "fees", "drugs", "total", "stars"]),
    st.integers(0, 120).map(str),
    st.sampled_from(["0.5", "12.25", "3.1"]),
)
SUMS = st.recursive(
    NUMBERS,
    lambda inside: st.one_of(
        st.tuples(inside, st.sampled_from("+-"), inside).map(lambda p: f"({' '.join(p)})"),
        inside.map(lambda term: f"(-{term})"),
        inside.map(lambda term: f"(2 * {term})"),
    ),
    max_leaves=4,
)
MOMENTS = st.sampled_from(
    ["admission", "discharge", "seen", "(admission + 30)", "(discharge - 14)", "(seen + 0.5)"]
)
ATOMS = st.one_of(
    st.tuples(st.sampled_from(["age", "fees", "drugs", "stars"]), SIGNS, SUMS),
    st.tuples(MOMENTS, SIGNS, MOMENTS | st.just("'2020-06-30'")).filter(
        lambda parts: parts[0] != parts[2]
    ),
    st.tuples(st.sampled_from(["pain", "`worst pain`"]), SIGNS, st.sampled_from(["'mild'"])),
    st.tuples(st.just("pain"), SIGNS, st.just("`worst pain`")),
    st.tuples(st.sampled_from(["smoker", "ill"]), st.sampled_from(["== true", "!= true", ""])),
    st.tuples(
        st.just("(city, age)"),
        st.sampled_from(["in", "not in"]),
        st.just("(('Rome', 3), ('Bonn', 4), ('Oslo', 50))"),
    ),
    st.tuples(st.sampled_from(["age", "drugs"]), st.just("in (1, 2.5, 7, 33)")),
    st.tuples(st.just("discharge - admission"), SIGNS, NUMBERS),
    # Parts of days are equal to whole numbers if they are when rounded, which is not exact.
    st.tuples(st.just("seen - admission"), st.sampled_from(["<", "<=", ">", ">="]), NUMBERS),
).map(" ".join)
RULES = st.recursive(
    ATOMS,
    lambda inside: st.one_of(
        inside.map(lambda rule: f"not ({rule})"),
        st.tuples(inside, st.sampled_from(["and", "or"]), inside).map(
            lambda parts: f"({parts[0]}) {parts[1]} ({parts[2]})"
        ),
        st.tuples(inside, inside).map("if ({0[0]}) then ({0[1]})".format),
        st.tuples(inside, inside, inside).map("if ({0[0]}) then ({0[1]}) else ({0[2]})".format),
    ),
    max_leaves=4,
)


def rows_of(encoder, size, seed):
    rng = np.random.default_rng(seed)
    classes = rng.integers(0, 2, size)
    return draw_uniform_records(encoder.space, size, rng), classes


@given(RULES, st.integers(0, 2**31))
@settings(max_examples=100, deadline=None)
def test_a_rule_holds_where_plain_python_says_so(rule, seed):
    schema = dataclasses.replace(SCHEMA, rules=(rule,))
    encoder = Encoder(schema)
    rows, classes = rows_of(encoder, 40, seed)
    (found,) = schema.parsed_rules
    board = RowPositions.from_rows(build_codecs(encoder, sorted(found.columns)), rows, classes)
    booleans = evaluate_constraint(found.resolved, board)
    plain = [
        holds(parse_constraint(rule), row, schema)
        for row in encoder.decode(rows, classes).to_pylist()
    ]
    assert booleans.tolist() == [2 * value for value in plain]
    assert (evaluate_constraint(negate_condition(found.resolved), board) == 2 - booleans).all()


@given(st.lists(RULES, min_size=1, max_size=3), st.integers(0, 2**31))
@settings(max_examples=40, deadline=None)
def test_rows_made_up_obey_whatever_the_rules_are(rules, seed):
    schema = dataclasses.replace(SCHEMA, rules=tuple(rules))
    encoder, rng = Encoder(schema), np.random.default_rng(seed)
    try:
        law = ConstraintSet.from_encoder(encoder)
    except RuleError:
        return
    classes = rng.integers(0, 2, 60)
    rows = law.draw_rows(classes, lambda of: draw_uniform_records(encoder.space, len(of), rng), rng)
    assert not law.find_broken(rows, classes).any()
    moved = Records(rng.permutation(rows.numbers), rng.permutation(rows.codes))
    kept = law.repair_or_revert(moved, rows, classes, rng)
    assert not law.find_broken(kept, classes).any()
    assert (encoder.space.project(kept.numbers) == kept.numbers).all()
    assert (kept.codes < encoder.space.sizes).all()
