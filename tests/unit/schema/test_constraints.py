"""Rules: their language, what it refuses, and where."""

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tabpe import Boolean, Categorical, Date, Datetime, Float, Id, Integer, Schema, Time
from tabpe.errors import SchemaError
from tabpe.schema import PartialSchema
from tabpe.schema.constraints import parser
from tabpe.schema.constraints.parser import LONGEST_TEXT, MOST_NESTING, MOST_SIGNS, parse_constraint
from tabpe.schema.partial import build_constrained_schema

COLUMNS = (
    Id("patient"),
    Date("admission", "2020-01-01", "2024-12-31"),
    Date("discharge", "2020-01-01", "2024-12-31"),
    Datetime("seen", "2020-01-01", "2020-12-31", timezone="Europe/Berlin"),
    Time("dinner", "16:00", "20:00", resolution="minute"),
    Integer("age", 0, 120),
    Float("body mass", 10, 60, decimals=1),
    Categorical("pain", ("none", "mild", "severe"), ordered=True),
    Categorical("ward", ("heart", "eye")),
    Categorical("sex", ("F", "M")),
    Categorical("stars", (1, 2, 3)),
    Boolean("pregnant"),
)
GOOD = (
    "discharge >= admission",
    "if pregnant then sex == 'F'",
    "if pregnant == true then sex == 'F' else age > 1.5",
    "(ward, sex) in (('heart', 'F'), (\"eye\", 'M'))",
    "(ward, pregnant) not in (('heart', true))",
    "age not in (1, 2, -3) and not `body mass` < 20 or pregnant",
    "discharge - admission <= 30",
    "discharge <= admission + 30 * 2",
    "admission >= '2020-02-29'",
    "seen < '2020-06-01T12:00+02:00'",
    "dinner >= '17:30'",
    "pain <= 'mild'",
    "'mild' <= pain",
    "stars * 2 <= age - -3",
    "age is not null",
    "unique(patient)",
    "unique(ward, age)",
    "if (if pregnant then age > 3) then ((age)) == 4",
)
BAD = {
    "": "expected a text such as",
    "age": "'age' is not a boolean column",
    "agee > 3": "character 1: no column 'agee': did you mean 'age'?",
    "age > ": "character 7: its end: expected a column or a value",
    "age > 3)": "character 8: ')': expected and, or, or the end of the rule",
    "age = 3": "character 5: '=': expected ==",
    "age <> 3": "'<>': expected !=",
    "age > 3 & pregnant": "'&': expected and",
    "1 < age < 3": "compare two things at a time",
    "age > 'x'": "'x' is a text beside a number",
    "ward == 'hart'": "character 9: 'hart' is not a value of 'ward': did you mean 'heart'?",
    "ward == 3": "a listed text beside a number",
    "ward < 'eye'": "'ward' has no order",
    "pain < ward": "'ward' has no order",
    "age == null": "write 'is null'",
    "1 == 1": "compares two values",
    "'x' == 'y'": "compares two values",
    "patient == 3": "use it in unique() only",
    "unique(agee)": "no column 'agee'",
    "unique(age, age)": "a column occurs twice",
    "unique(age) and pregnant": "expected and, or, or the end",
    "pregnant and unique(age)": "unique(...) is a separate rule",
    "admission > seen": "a date beside a point in time with a zone",
    "admission > 'yesterday'": "expected a date like those of 'admission': '2024-03-31'",
    "admission + discharge > 3": "expected numbers, or a date and days",
    "-ward == 'eye'": "- before a listed text",
    "(age, ward) in ((1))": "expected",
    "(age, ward) in ((1, 'eye', 2))": "3 values: expected 2",
    "age in (age)": "expected a number, a text in quotes, true or false",
    "age + 1 in (3)": "before in: expected a column",
    "age + 1": "expected a condition",
    "(age > 3) + 1 > 2": "not a condition",
    "age > 1e999": "a number that a float holds",
    "age > 3 'x": "a closing '",
    "if age > 3": "expected then",
    "ward == ward": "with itself",
}


@pytest.mark.parametrize("rule", GOOD)
def test_a_rule_is_kept_as_it_was_written(rule):
    schema = Schema(COLUMNS, rules=[rule])
    assert schema.rules == (rule,)
    assert Schema.from_dict(schema.to_dict()) == schema
    assert schema.digest != Schema(COLUMNS).digest


@pytest.mark.parametrize("rule", GOOD)
def test_what_is_written_is_parsed_as_the_same(rule):
    found = parse_constraint(rule)
    assert parse_constraint(parser.format_tree(found)) == found


@pytest.mark.parametrize("rule", BAD)
def test_a_bad_rule_is_refused_with_its_place(rule):
    with pytest.raises(SchemaError) as error:
        Schema(COLUMNS, rules=[rule])
    assert BAD[rule] in str(error.value)


def test_without_rules_nothing_is_told_of_them():
    assert "rules" not in Schema(COLUMNS).to_dict()


@pytest.mark.parametrize("given", ["age > 3", 3, {"a": 1}, [3], ["age > 3"] * 201])
def test_rules_are_a_list_of_texts(given):
    with pytest.raises(SchemaError, match="rules"):
        Schema.from_dict({**Schema(COLUMNS).to_dict(), "rules": given})


@pytest.mark.parametrize(
    "bomb",
    [
        "(" * 100_000,
        "(" * (MOST_NESTING + 1) + "age > 3" + ")" * (MOST_NESTING + 1),
        "not " * 1000 + "pregnant",
        "-" * 1000 + "1 < age",
        "age" + " + 1" * (MOST_SIGNS + 1) + " > 3",
        "if pregnant then " * 100 + "pregnant",
        "age > " + "9" * LONGEST_TEXT,
    ],
    ids=["brackets", "deep", "not", "minus", "plus", "if", "digits"],
)
def test_what_would_exhaust_the_stack_is_refused(bomb):
    with pytest.raises(SchemaError):
        Schema(COLUMNS, rules=[bomb])


def test_the_longest_sum_is_fine():
    Schema(COLUMNS, rules=["age" + " + 1" * MOST_SIGNS + " > 3"])


def test_a_file_has_rules(tmp_path):
    schema = Schema(COLUMNS, rules=GOOD)
    schema.save(tmp_path / "schema.yaml")
    assert Schema.load(tmp_path / "schema.yaml") == schema


WORDS = st.sampled_from(
    [
        "age",
        "ward",
        "pregnant",
        "`body",
        "mass`",
        "admission",
        "and",
        "or",
        "not",
        "in",
        "is",
        "null",
        "true",
        "false",
        "if",
        "then",
        "else",
        "unique",
        "(",
        ")",
        "(",
        ")",
        ",",
        "+",
        "-",
        "*",
        "/",
        "==",
        "!=",
        "<",
        "<=",
        ">",
        ">=",
        "3",
        "0.5",
        "'eye'",
        "'2020-01-01'",
        "'",
        "`",
        "\x00",
        "é",
    ]
)


@given(st.one_of(st.text(max_size=60), st.lists(WORDS, max_size=25).map(" ".join)))
@settings(max_examples=400, deadline=None)
def test_any_text_is_a_rule_or_a_schema_error(text):
    with contextlib.suppress(SchemaError):
        Schema(COLUMNS, rules=[text])


NAMES = st.sampled_from(["a", "in", "body mass", "x`y", "é", "_1"]).map(parser.ColumnReference)
LITERALS = st.one_of(
    st.integers(0, 2**53),
    st.floats(0, 1e300).filter(lambda value: not value.is_integer()),
    st.text(max_size=5),
    st.booleans(),
).map(parser.Literal)
TERMS = st.recursive(
    st.one_of(NAMES, LITERALS),
    lambda inside: st.one_of(
        st.builds(parser.UnaryMinus, inside),
        st.builds(parser.Arithmetic, st.sampled_from("+-*/"), inside, inside),
    ),
    max_leaves=6,
)
ATOMS = st.one_of(
    NAMES,
    st.builds(parser.IsNull, NAMES, st.booleans()),
    st.builds(
        parser.TermComparison, st.sampled_from(["==", "!=", "<", "<=", ">", ">="]), TERMS, TERMS
    ),
    st.integers(1, 3).flatmap(
        lambda width: st.builds(
            parser.InList,
            st.tuples(*[NAMES] * width),
            st.lists(st.tuples(*[LITERALS] * width), min_size=1, max_size=3).map(tuple),
            st.booleans(),
        )
    ),
)
TREES = st.recursive(
    ATOMS,
    lambda inside: st.one_of(
        st.builds(parser.Negation, inside),
        st.builds(parser.Conjunction, st.lists(inside, min_size=2, max_size=3).map(tuple)),
        st.builds(parser.Disjunction, st.lists(inside, min_size=2, max_size=3).map(tuple)),
        st.builds(parser.IfThenElse, inside, inside, st.none() | inside),
    ),
    max_leaves=6,
)


@given(TREES)
@settings(max_examples=300, deadline=None)
def test_a_tree_is_written_and_parsed_back(found):
    assert parse_constraint(parser.format_tree(found)) == found


def test_a_schema_with_gaps_keeps_rules_about_what_is_declared():
    outline = PartialSchema.from_schema(
        {"columns": [{"name": "age", "type": "integer", "min": 0, "max": 9}], "rules": ["age > 3"]}
    ).complete_columns({"age": "int64", "ward": "string"}, estimate=None)
    found = build_constrained_schema(outline)
    assert found.names == ("age",)
    assert found.rules == ("age > 3",)
    assert build_constrained_schema(PartialSchema.from_schema(None)) is None
    assert PartialSchema.from_schema(found).fill_gaps({}) == found


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("ward == 'x'", "type of column 'ward' is not declared"),
        ("agee > 3", "no column 'agee': did you mean 'age'?"),
        ("age > ", "expected a column or a value"),
    ],
)
def test_rules_about_gaps_are_refused(rule, message):
    outline = PartialSchema.from_schema(
        {"columns": [{"name": "age", "type": "integer", "min": 0, "max": 9}], "rules": [rule]}
    ).complete_columns({"age": "int64", "ward": "string"}, estimate=None)
    with pytest.raises(SchemaError) as error:
        build_constrained_schema(outline)
    assert message in str(error.value)


def nested(depth):
    """Return an `if` whose condition is an `if`, and so on."""
    rule = "a > 1"
    for place in range(depth):
        rule = f"if {rule} then b > {place} else c > {place}"
    return rule


THREE = tuple(Integer(name, 0, 99) for name in "abc")


@pytest.mark.parametrize("depth", [13, 18])
def test_conditions_in_conditions_that_double_too_often_are_refused(depth):
    # Each is evaluated twice by what contains it: 18 of them are 700,000 comparisons.
    with pytest.raises(SchemaError, match="operations"):
        Schema(THREE, rules=(nested(depth),))


def test_a_few_conditions_in_conditions_are_fine():
    (rule,) = Schema(THREE, rules=(nested(6),)).parsed_rules
    assert rule.columns == {"a", "b", "c"}


def test_else_after_else_does_not_double():
    rule = "c > 5"
    for place in range(18):
        rule = f"if a == {place} then b > {place} else {rule}"
    (found,) = Schema(THREE, rules=(rule,)).parsed_rules
    assert found.resolved.weight < 500


def test_all_rules_together_have_a_size():
    rule = " or ".join(f"a > {place}" for place in range(99)) + " or b > 1"
    assert Schema(THREE, rules=(rule,) * 10)
    with pytest.raises(SchemaError, match="operations"):
        Schema(THREE, rules=(rule,) * 200)


def test_long_lists_are_compared_in_one_go():
    class Counted(str):
        __slots__ = ()
        compared = 0

        def __eq__(self, other):
            Counted.compared += 1
            return str.__eq__(self, other)

        __hash__ = str.__hash__

    size, columns = 500, []
    for name, step in (("one", 1), ("other", 7)):
        column = Categorical(name, tuple(f"v{(i * step) % size}" for i in range(size)))
        object.__setattr__(column, "values", tuple(map(Counted, column.values)))
        columns.append(column)
    (rule,) = Schema(tuple(columns), rules=("one == other",)).parsed_rules
    assert Counted.compared < 20 * size
    one, other = (column.values for column in columns)
    assert len(rule.resolved.options) == size
    assert all(str(one[int(i)]) == str(other[int(j)]) for i, j in rule.resolved.options)
