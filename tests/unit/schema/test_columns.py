"""Column types: what they accept, and how they refuse the rest."""

import dataclasses
import math

import numpy as np
import pytest

from tabpe.errors import SchemaError
from tabpe.schema import Boolean, Categorical, Column, Float, Integer, Source

COLUMNS = [
    Categorical("ward", ("heart", "else"), other="else"),
    Boolean("smoker"),
    Integer("age", 0, 120),
    Float("bmi", 10, 60, decimals=1),
]


@pytest.mark.parametrize("column", COLUMNS, ids=lambda column: column.type_name)
def test_a_column_is_frozen_hashable_and_public_by_default(column):
    with pytest.raises(dataclasses.FrozenInstanceError):
        column.name = "renamed"
    assert hash(column) == hash(dataclasses.replace(column))
    assert column.source is Source.PUBLIC


@pytest.mark.parametrize("name", ["", None, 3, b"age"])
def test_a_name_that_is_no_text_is_refused(name):
    with pytest.raises(SchemaError, match="at least 1 character"):
        Boolean(name)


@pytest.mark.parametrize("source", ["data", None, True])
def test_a_source_that_is_no_source_is_refused(source):
    with pytest.raises(SchemaError, match=r"column 'ill': source=.*Source\.PUBLIC"):
        Boolean("ill", source=source)


def test_plain_values_come_in_the_order_a_person_would_write():
    plain = Float("bmi", 10, 60, decimals=1, source=Source.DATA).to_dict()
    assert list(plain.items()) == [
        ("name", "bmi"),
        ("type", "float"),
        ("min", 10.0),
        ("max", 60.0),
        ("decimals", 1),
        ("source", "data"),
    ]


def test_plain_values_leave_out_what_is_not_declared():
    assert "other" not in Categorical("ward", ("heart",)).to_dict()
    assert "decimals" not in Float("bmi", 10, 60).to_dict()


@pytest.mark.parametrize("kind", [Integer, Float])
def test_min_above_max_is_refused_with_both_bounds(kind):
    with pytest.raises(SchemaError, match=r"column 'age': min=5.* is above max=4.*swap"):
        kind("age", 5, 4)


@pytest.mark.parametrize("kind", [Integer, Float])
def test_a_constant_number_is_legal_and_has_no_steps(kind):
    assert kind("age", 3, 3).steps == 0


def test_a_constant_category_is_legal():
    assert Categorical("country", ("nl",)).size == 1


@pytest.mark.parametrize("bound", [1.5, 1.0, "1", None, True, math.nan, 2**64, -(2**63) - 1])
def test_an_integer_bound_must_be_a_whole_number_that_a_float_holds(bound):
    with pytest.raises(SchemaError, match=r"column 'age': min=.*whole number"):
        Integer("age", bound, 2**53)
    with pytest.raises(SchemaError, match=r"column 'age': max=.*whole number"):
        Integer("age", -(2**53), bound)


@pytest.mark.parametrize(
    ("low", "high", "bound"),
    [(0, 2**53 + 1, "max"), (-(2**53) - 1, 0, "min"), (2**60, 2**61, "max"), (0, 2**64 - 1, "max")],
)
def test_bounds_that_no_float_tells_apart_are_refused_with_what_to_write(low, high, bound):
    with pytest.raises(SchemaError, match=rf"column 'no': {bound}=.*2\*\*53 apart.*write id"):
        Integer("no", low, high)


def test_numpy_bounds_are_taken_for_the_numbers_they_are():
    column = Integer("age", np.int64(0), np.int64(120))
    assert column == Integer("age", 0, 120)
    assert type(column.min) is int
    assert type(Float("bmi", np.float32(10), np.float64(60)).min) is float


@pytest.mark.parametrize("bound", ["1", None, True, [1]])
def test_a_float_bound_must_be_a_number(bound):
    with pytest.raises(SchemaError, match=r"column 'bmi': min=.*expected a number"):
        Float("bmi", bound, 60)


@pytest.mark.parametrize(
    "bound",
    [math.nan, math.inf, -math.inf, 10**400],
    ids=lambda b: f"{b:.9}" if isinstance(b, float) else "huge",
)
def test_a_float_bound_must_be_finite(bound):
    with pytest.raises(SchemaError, match=r"column 'bmi': max=.*finite"):
        Float("bmi", 0, bound)


def test_a_range_beyond_a_float_is_refused():
    with pytest.raises(SchemaError, match=r"a range from min=.* that a float holds"):
        Float("bmi", -1.7e308, 1.7e308)


def test_whole_bounds_of_a_float_become_floats():
    column = Float("bmi", 10, 60)
    assert (type(column.min), type(column.max)) == (float, float)


@pytest.mark.parametrize("decimals", [-1, 13, True, "1", 1.5, 1.0, [1]])
def test_decimals_must_be_a_small_whole_number(decimals):
    with pytest.raises(SchemaError, match=r"column 'bmi': decimals=.*whole number from 0 to 12"):
        Float("bmi", 10, 60, decimals=decimals)


@pytest.mark.parametrize(("low", "high", "bound"), [(0.25, 1, "min"), (0, 1.25, "max")])
def test_a_bound_with_more_decimals_than_declared_is_refused(low, high, bound):
    with pytest.raises(SchemaError, match=f"column 'bmi': {bound}=.*at most 1 decimals"):
        Float("bmi", low, high, decimals=1)


@pytest.mark.parametrize(
    ("column", "steps"),
    [
        (Integer("x", -5, 5), 10),
        (Float("x", 0, 1, decimals=0), 1),
        (Float("x", 0.1, 0.3, decimals=1), 2),
        (Float("x", -1, 1, decimals=12), 2 * 10**12),
        (Float("x", 0, 1), 0),
    ],
)
def test_steps_count_the_grid(column, steps):
    assert column.steps == steps


@pytest.mark.parametrize("values", ["abc", None, 3, {"a": 1}, {"a"}])
def test_values_must_be_a_list(values):
    with pytest.raises(SchemaError, match=r"column 'ward': values=.*expected a list"):
        Categorical("ward", values)


def test_no_values_at_all_are_refused():
    with pytest.raises(SchemaError, match=r"column 'ward': values=.*at least one value"):
        Categorical("ward", ())


def test_a_list_of_values_becomes_a_tuple():
    assert Categorical("ward", ["a", "b"]).values == ("a", "b")


@pytest.mark.parametrize("values", [("a", 1), ("a", 1.5), ("a", None), (("a",), ("b",)), (b"a",)])
def test_values_of_several_or_foreign_kinds_are_refused(values):
    with pytest.raises(SchemaError, match=r"column 'ward': values .*all as text or all as numbers"):
        Categorical("ward", values)


def test_whole_numbers_among_decimals_become_decimals():
    values = Categorical("dose", (1, 2.5)).values
    assert values == (1.0, 2.5)
    assert {type(value) for value in values} == {float}


def test_numpy_values_are_taken_for_the_values_they_are():
    assert Categorical("ward", tuple(np.array(["a", "b"]))).values == ("a", "b")
    assert type(Categorical("grade", tuple(np.array([1, 2]))).values[0]) is int


@pytest.mark.parametrize("values", [("a", "b", "a"), (1, 2, 1), (1, 1.0), (0.0, -0.0)])
def test_a_value_listed_twice_is_refused(values):
    with pytest.raises(SchemaError, match=r"column 'ward': values lists .* twice"):
        Categorical("ward", values)


@pytest.mark.parametrize("values", [(True, False), (True, "no"), (1, True)])
def test_booleans_among_values_are_sent_to_type_boolean(values):
    with pytest.raises(SchemaError, match="column 'smoker': values holds true or false: use type"):
        Categorical("smoker", values)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_values_that_are_no_finite_numbers_are_refused(value):
    with pytest.raises(SchemaError, match=r"column 'dose': values=.*finite"):
        Categorical("dose", (1.5, value))


def test_whole_numbers_that_no_table_can_hold_are_refused():
    with pytest.raises(SchemaError, match="column 'code': values="):
        Categorical("code", (1, 2**70))


@pytest.mark.parametrize("other", ["c", "A", 1, ("a",)])
def test_an_other_that_is_not_among_the_values_is_refused(other):
    with pytest.raises(SchemaError, match=r"column 'ward': other=.*one of values"):
        Categorical("ward", ("a", "b"), other=other)


def test_a_truth_is_no_other():
    with pytest.raises(SchemaError, match="column 'grade': other=True"):
        Categorical("grade", (0, 1), other=True)


def test_the_empty_text_may_be_the_other():
    assert Categorical("ward", ("", "a"), other="").to_dict()["other"] == ""


def test_a_boolean_knows_false_before_true():
    assert Boolean("smoker").values == (False, True)
    assert Boolean("smoker").size == 2


def test_every_kind_has_a_name_of_its_own():
    names = {column.type_name for column in COLUMNS} | {Column.type_name}
    assert len(names) == len(COLUMNS) + 1


@pytest.mark.parametrize(
    ("estimated", "source", "message"),
    [
        ("min", Source.ESTIMATED, "a list of fields"),
        (("values",), Source.ESTIMATED, "some of type, min, max"),
        (("min",), Source.PUBLIC, "none, or source: estimated"),
    ],
)
def test_marks_of_what_was_estimated_are_checked(estimated, source, message):
    with pytest.raises(SchemaError, match=message):
        Integer("age", 0, 9, source=source, estimated=estimated)


def test_all_fields_are_estimated_unless_some_are_named():
    whole = Integer("age", 0, 9, source=Source.ESTIMATED)
    assert "estimated" not in whole.to_dict()
    assert Integer("age", 0, 9, source=Source.ESTIMATED, estimated=["min"]).estimated == ("min",)


def test_more_steps_than_a_float_can_count_are_refused():
    with pytest.raises(SchemaError, match="decimals"):
        Float("x", 0, 1e308, decimals=1)
    assert Float("x", 0, 1e308).steps == 0
