"""Constraints on rows: where they hold, repair, and what can not be satisfied."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

from ruled import COLUMNS, RULES, SCHEMA, broken, holds
from tabpe import Boolean, Categorical, Datetime, Float, Integer, Schema
from tabpe.encoding import Encoder, Records
from tabpe.encoding.records import draw_uniform_records
from tabpe.errors import RuleError, TabpeError
from tabpe.evolution.constraint_repair import ConstraintRepairer, ConstraintSet
from tabpe.schema.constraints.parser import parse_constraint

MORE = (
    "age * 2 - fees <= 100.5",
    "not (age < 50 and smoker)",
    "age in (3, 40, 41) or city not in ('Rome', 'Bonn')",
    "stars >= 2",
    "stars * 10 <= age + 15",
    "`worst pain` == pain",
    "pain != 'mild'",
    "smoker == ill",
    "smoker != ill or age > 50",
    "(age, smoker) not in ((3, true), (4, false))",
    "admission + 30 <= discharge",
    "admission + 0.5 <= seen",
    "discharge > '2020-06-30'",
    "dinner < '18:30'",
    "age == 3 or age == 7 or fees == 1.25",
    "-age <= -20",
    "age is null or age > 4",
    "fees != drugs",
    "age / 3 >= drugs / 4",
    "state == 'IT' and city == 'Rome' or state != 'IT'",
    "if ill then sex == 'F'",
    "drugs in (1.5, 2, 99)",
)


def rows_of(schema, size=500, seed=0):
    encoder = Encoder(schema)
    rng = np.random.default_rng(seed)
    classes = rng.integers(0, encoder.class_count, size)
    parts = [draw_uniform_records(encoder.spaces[label], 1, rng) for label in classes]
    return encoder, Records.concat(parts), classes


@pytest.mark.parametrize("rule", [*RULES, *MORE])
def test_a_rule_holds_where_it_does_for_plain_python(rule):
    schema = dataclasses.replace(SCHEMA, rules=(rule,))
    encoder, rows, classes = rows_of(schema)
    found = ConstraintSet.from_encoder(encoder).find_broken(rows, classes)
    table = encoder.decode(rows, classes).to_pylist()
    assert found.tolist() == [holds(parse_constraint(rule), row, schema) is False for row in table]


@pytest.mark.parametrize("rule", [*RULES, *MORE])
def test_a_rule_is_repaired_in_nearly_every_row(rule):
    schema = dataclasses.replace(SCHEMA, rules=(rule,))
    encoder, rows, classes = rows_of(schema)
    constraints = ConstraintSet.from_encoder(encoder)
    repaired = constraints.repair_rows(rows, classes, np.random.default_rng(0))
    assert constraints.find_broken(repaired, classes).mean() <= 0.02
    valid = ~constraints.find_broken(repaired, classes)
    assert broken(encoder.decode(repaired.take(valid), classes[valid]), schema) == set()


def test_what_obeys_the_rules_is_not_moved():
    encoder, rows, classes = rows_of(SCHEMA)
    constraints, rng = ConstraintSet.from_encoder(encoder), np.random.default_rng(0)
    repaired = constraints.repair_rows(rows, classes, rng)
    good = ~constraints.find_broken(repaired, classes)
    again = constraints.repair_rows(repaired.take(good), classes[good], rng)
    assert (again.numbers == repaired.numbers[good]).all()
    assert (again.codes == repaired.codes[good]).all()


def test_all_rules_are_repaired_together():
    encoder, rows, classes = rows_of(SCHEMA)
    constraints = ConstraintSet.from_encoder(encoder)
    repaired = constraints.repair_rows(rows, classes, np.random.default_rng(0))
    assert constraints.find_broken(repaired, classes).mean() < 0.02


def test_mending_moves_as_little_as_may_be():
    schema = Schema((Integer("low", 0, 9), Integer("high", 0, 9)), rules=("low <= high",))
    constraints = ConstraintSet.from_encoder(Encoder(schema))
    rows = Records(np.array([[8 / 9, 3 / 9]] * 200), np.empty((200, 0), np.uint8))
    moved = np.rint(
        constraints.repair_rows(rows, np.zeros(200, int), np.random.default_rng(0)).numbers * 9
    )
    assert set(map(tuple, moved.astype(int).tolist())) == {(3, 3), (8, 8)}


def test_mending_is_the_same_for_the_same_seed():
    _, rows, classes = rows_of(SCHEMA)
    one, other = (
        ConstraintSet.from_encoder(Encoder(SCHEMA)).repair_rows(
            rows, classes, np.random.default_rng(1)
        )
        for _ in range(2)
    )
    assert (one.numbers == other.numbers).all()
    assert (one.codes == other.codes).all()


def test_repaired_rows_lie_on_their_grid_and_in_their_class():
    columns = (Integer("age", 0, 100), Float("charges", 0, 1000, decimals=1))
    schema = Schema(columns, "charges", (100.0, 500.0), rules=("charges == age * 10",))
    encoder, rows, classes = rows_of(schema)
    constraints = ConstraintSet.from_encoder(encoder)
    repaired = constraints.repair_rows(rows, classes, np.random.default_rng(0))
    good = ~constraints.find_broken(repaired, classes)
    assert good.all()
    for label, space in enumerate(encoder.spaces):
        mine = repaired.numbers[classes == label]
        assert (space.project(mine) == mine).all()


def test_a_sum_of_decimals_is_exact():
    columns = tuple(Float(name, 0, 9, decimals=2) for name in "abc")
    schema = Schema(columns, rules=("a == b + c",))
    encoder, rows, classes = rows_of(schema, size=2000)
    repaired = ConstraintSet.from_encoder(encoder).repair_rows(
        rows, classes, np.random.default_rng(0)
    )
    found = encoder.decode(repaired, classes).to_pydict()
    sums = np.round(np.array(found["b"]) + np.array(found["c"]), 2)
    assert (sums == np.array(found["a"])).all()


def test_a_quotient_is_equal_as_far_as_it_is_shown():
    columns = (
        Float("weight", 40, 120, decimals=1),
        Float("height", 1.4, 2.1, decimals=2),
        Float("bmi", 5, 70, decimals=1),
    )
    schema = Schema(columns, rules=("bmi == weight / (height * height)",))
    encoder, rows, classes = rows_of(schema, size=500)
    repaired = ConstraintSet.from_encoder(encoder).repair_rows(
        rows, classes, np.random.default_rng(0)
    )
    found = encoder.decode(repaired, classes).to_pandas()
    assert np.abs(found.bmi - found.weight / found.height**2).max() <= 0.0501


def test_without_decimals_equal_is_equal_to_a_list_of_spendsionth():
    columns = tuple(Float(name, 0, 1) for name in "abc")
    schema = Schema(columns, rules=("a == b + c", "b < c"))
    encoder, rows, classes = rows_of(schema, size=500)
    constraints = ConstraintSet.from_encoder(encoder)
    repaired = constraints.repair_rows(rows, classes, np.random.default_rng(0))
    valid = ~constraints.find_broken(repaired, classes)
    assert valid.mean() > 0.9
    found = encoder.decode(repaired.take(valid), classes[valid]).to_pandas()
    assert np.abs(found.a - found.b - found.c).max() < 1e-8
    assert (found.b < found.c).all()


def test_an_empty_cell_makes_no_rule_break():
    schema = Schema(
        (Integer("age", 0, 9), Categorical("ward", ("a", "b"))),
        rules=("age > 3", "ward == 'a'", "not age > 8", "age is not null or ward is null"),
    )
    constraints = ConstraintSet.from_encoder(Encoder(schema))
    rows = Records(np.array([[np.nan], [np.nan], [5 / 9]]), np.array([[2], [0], [2]], np.uint8))
    assert constraints.find_broken(rows, np.zeros(3, int)).tolist() == [False, True, False]


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        (("age > 3", "age < 3"), "no row with ill='False' was found"),
        (
            ("if ill then age > 200",),
            "no row with ill='True' was found that obeys all of them. Most",
        ),
        (("ill",), "ill='False'"),
        (("age > 500",), "'age > 500'"),
    ],
)
def test_rules_that_nothing_obeys_are_refused(rules, message):
    schema = Schema((Integer("age", 0, 100), Boolean("ill")), label="ill", rules=rules)
    with pytest.raises(RuleError) as error:
        ConstraintSet.from_encoder(Encoder(schema))
    assert message in str(error.value)


def test_rules_that_few_rows_obey_are_met_all_the_same():
    columns = tuple(Integer(name, 0, 1000) for name in "abcd")
    schema = Schema(columns, rules=("a * a == 3600", "b == a + 1", "c == b + 1", "c < d"))
    encoder, _, classes = rows_of(schema)
    constraints, rng = ConstraintSet.from_encoder(encoder), np.random.default_rng(0)
    rows = constraints.draw_rows(
        classes, lambda of: draw_uniform_records(encoder.space, len(of), rng), rng
    )
    assert not constraints.find_broken(rows, classes).any()


def test_a_row_that_can_not_be_repaired_is_what_it_was_before():
    schema = Schema((Integer("a", 0, 100), Integer("b", 0, 100)), rules=("a * a == 3600",))
    constraints, rng = ConstraintSet.from_encoder(Encoder(schema)), np.random.default_rng(0)
    before = Records(np.full((3, 2), 0.6), np.empty((3, 0), np.uint8))
    moved = Records(np.array([[0.5, 0.1], [0.6, 0.1], [0.7, 0.1]]), before.codes)
    kept = constraints.repair_or_revert(moved, before, np.zeros(3, int), rng)
    assert kept.numbers.tolist() == [[0.6, 0.6], [0.6, 0.1], [0.6, 0.6]]


def test_rows_drawn_anew_are_spread_over_what_is_allowed():
    schema = Schema((Float("x", 0, 1), Float("y", 0, 1)), rules=("x <= y",))
    encoder, constraints, rng = (
        Encoder(schema),
        ConstraintSet.from_encoder(Encoder(schema)),
        np.random.default_rng(0),
    )
    classes = np.zeros(2000, int)
    rows = constraints.draw_rows(
        classes, lambda of: draw_uniform_records(encoder.space, len(of), rng), rng
    )
    on_border = np.abs(rows.numbers[:, 0] - rows.numbers[:, 1]) < 1e-6
    assert on_border.mean() < 0.06
    assert abs(rows.numbers[:, 0].mean() - 1 / 3) < 0.03


def test_what_breaks_a_rule_does_not_leave():
    encoder, rows, classes = rows_of(SCHEMA)
    with pytest.raises(TabpeError, match="this is a bug of tabpe"):
        ConstraintSet.from_encoder(encoder).check_rows(rows, classes)


def test_a_column_that_can_not_move_is_left_to_the_others():
    schema = Schema((Integer("low", 0, 9), Integer("high", 0, 9)), rules=("low <= high",))
    constraints = ConstraintSet.from_encoder(Encoder(schema))
    rows = Records(np.array([[8 / 9, 3 / 9]] * 50), np.empty((50, 0), np.uint8))
    fixed = frozenset(["low"])
    moved = constraints.repair_rows(rows, np.zeros(50, int), np.random.default_rng(0), fixed=fixed)
    assert np.rint(moved.numbers * 9).tolist() == [[8, 8]] * 50


def test_points_in_time_of_zones_compare_as_instants():
    day = ("2024-03-30", "2024-04-02", "minute")
    columns = (Datetime("a", *day, "Europe/Berlin"), Datetime("b", *day, "Europe/London"))
    schema = Schema(columns, rules=("a < b", "a >= '2024-03-31T03:30'", "b - a <= 0.25"))
    encoder, rows, classes = rows_of(schema)
    repaired = ConstraintSet.from_encoder(encoder).repair_rows(
        rows, classes, np.random.default_rng(0)
    )
    found = encoder.decode(repaired, classes).to_pandas()
    assert (found.a < found.b).all()
    assert (found.b - found.a <= pd.Timedelta(hours=6)).all()
    assert (found.a >= pd.Timestamp("2024-03-31T03:30", tz="Europe/Berlin")).all()


def test_without_rules_a_constraint_set_does_nothing():
    encoder, rows, classes = rows_of(Schema(COLUMNS, label="ill"))
    constraints = ConstraintSet.from_encoder(encoder)
    assert constraints.repair_rows(rows, classes, np.random.default_rng(0)) is rows
    assert not constraints.find_broken(rows, classes).any()


def test_a_label_that_is_null_stays_so_and_no_other_becomes_it():
    columns = Integer("score", 0, 99, nullable=True), Integer("age", 0, 99)
    rules = ("if age < 50 then score is null", "if age >= 50 then score is not null")
    encoder = Encoder(Schema(columns, label="score", label_cuts=(50,), rules=rules))
    constraints, rng = ConstraintSet.from_encoder(encoder), np.random.default_rng(0)
    for label, space in enumerate(encoder.spaces):
        classes = np.full(500, label)
        repaired = constraints.repair_rows(draw_uniform_records(space, 500, rng), classes, rng)
        assert not constraints.find_broken(repaired, classes).any()
        assert (np.isnan(repaired.numbers[:, 0]) == (label == 2)).all()


def test_of_several_labels_what_rules_exclude_gets_no_rows():
    columns = Boolean("ill"), Boolean("old"), Integer("age", 0, 99)
    constraints = ConstraintSet.from_encoder(
        Encoder(Schema(columns, label=("ill", "old"), rules=("if ill then not old",)))
    )
    assert constraints.exclude_classes((1.0, 2.0, 3.0, 4.0)).tolist() == [1.0, 2.0, 3.0, 0.0]
    assert constraints.exclude_classes((0.0, -1.0, 0.0, 4.0)).tolist() == [1.0, 1.0, 1.0, 0.0]


def test_several_labels_that_rules_exclude_altogether_are_refused():
    columns = Boolean("ill"), Boolean("old")
    with pytest.raises(RuleError, match="ill / old='False / False'"):
        ConstraintSet.from_encoder(
            Encoder(Schema(columns, label=("ill", "old"), rules=("ill and not ill",)))
        )


def moves_of(monkeypatch, schema):
    """Return how often a column was moved until a schema was refused, and the refusal."""
    monkeypatch.setattr("tabpe.evolution.constraint_repair.MOST_WORK", 100_000, raising=False)
    moves, solve = [], ConstraintRepairer._solve
    monkeypatch.setattr(
        ConstraintRepairer, "_solve", lambda *given: (moves.append(1), solve(*given))
    )
    with pytest.raises(RuleError) as error:
        ConstraintSet.from_encoder(Encoder(schema))
    return len(moves), str(error.value)


PRODUCT = " * ".join(f"c{place}" for place in range(8)) + " == 1"
FACTORS = tuple(Integer(f"c{place}", 2, 10**6) for place in range(8))


def test_the_search_for_rows_ends_and_names_the_rule(monkeypatch):
    # Without a limit these are 82,000 moves: 64 tries of 10 sweeps, and each of 8 columns moves 8
    # lots of rows. Ten such rules took minutes.
    moves, message = moves_of(monkeypatch, Schema(FACTORS, rules=(PRODUCT,)))
    assert moves < 5_000
    assert PRODUCT in message


def test_the_limit_is_of_all_rules_together(monkeypatch):
    rules = tuple(f"{PRODUCT[:-1]}{place}" for place in range(1, 6))
    moves, message = moves_of(monkeypatch, Schema(FACTORS, rules=rules))
    assert moves < 5_000
    assert any(rule in message for rule in rules)


def test_the_limit_is_of_all_classes_together(monkeypatch):
    label = Categorical("ward", tuple(f"ward {place}" for place in range(50)))
    rule = f"if ward != 'ward 0' then {PRODUCT}"
    columns = (*FACTORS, label, Boolean("ill"))
    schema = Schema(columns, label=("ward", "ill"), rules=(rule,))
    moves, message = moves_of(monkeypatch, schema)
    assert moves < 5_000
    assert "c0 * c1" in message


def test_one_class_that_nothing_can_be_of_is_told_without_the_others(monkeypatch):
    label = Categorical("ward", tuple(f"ward {place}" for place in range(200)))
    columns = (*(Integer(name, 0, 9) for name in "ab"), label)
    moves, message = moves_of(monkeypatch, Schema(columns, label="ward", rules=("a < b - 20",)))
    assert moves < 5_000
    assert "ward 0" in message


def test_combinations_of_labels_that_rules_exclude_are_not_searched(monkeypatch):
    columns = (
        Categorical("one", tuple(f"v{place}" for place in range(25))),
        Categorical("other", tuple(f"v{place}" for place in range(25))),
        Integer("a", 0, 9),
        Integer("b", 0, 9),
    )
    moves, solve = [], ConstraintRepairer._solve
    monkeypatch.setattr(
        ConstraintRepairer, "_solve", lambda *given: (moves.append(1), solve(*given))
    )
    constraints = ConstraintSet.from_encoder(
        Encoder(Schema(columns, label=("one", "other"), rules=("one == other", "a < b")))
    )
    possible = constraints.exclude_classes(np.ones(625)).reshape(25, 25)
    assert (possible == np.eye(25)).all()
    assert len(moves) < 25 * 100
