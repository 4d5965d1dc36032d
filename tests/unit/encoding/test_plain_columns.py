"""Columns of every type as numbers, listed values and booleans."""

import numpy as np
import pyarrow as pa
import pytest

from tabpe.encoding import Encoder
from tabpe.encoding.cells import build_plain_schema, find_valid_cells, make_ids, make_plain_column
from tabpe.schema import Boolean, Categorical, Date, Datetime, Float, Id, Integer, Schema, Time

GRADE = Categorical("grade", ("low", "mid", "high"), ordered=True)
DAY = Date("day", "2024-01-01", "2024-01-11")


@pytest.mark.parametrize(
    ("column", "steps"),
    [
        (DAY, 10),
        (Datetime("x", "2024-01-01", "2024-01-02", "hour"), 24),
        (Time("x", "00:00", "01:00", "minute"), 60),
        (GRADE, 2),
    ],
)
def test_a_number_of_steps_stands_for_a_date_a_time_or_a_place(column, steps):
    assert make_plain_column(column, None) == Integer(column.name, 0, steps)


def test_numbers_stay_and_lists_and_booleans_are_none():
    size = Float("size", 0.0, 2.0)
    assert make_plain_column(size, None) is size
    for column in (Boolean("ill"), Categorical("ward", ("a", "b")), Id("no")):
        assert make_plain_column(column, None) is None


def test_an_ordered_label_is_a_class_and_no_number():
    assert make_plain_column(GRADE, "grade") is None
    encoder = Encoder(Schema((DAY, GRADE), label="grade"))
    rows, classes = encoder.encode(pa.table({"day": ["2024-01-06"] * 2, "grade": ["high", "low"]}))
    assert classes.tolist() == [2, 0]
    assert rows.numbers.tolist() == [[0.5], [0.5]]
    assert encoder.decode(rows, classes)["grade"].to_pylist() == ["high", "low"]


def test_values_of_an_order_are_as_far_apart_as_their_places():
    encoder = Encoder(Schema((GRADE,)))
    rows, _ = encoder.encode(pa.table({"grade": ["low", "mid", "high"]}))
    assert rows.numbers.ravel().tolist() == [0.0, 0.5, 1.0]
    assert not rows.codes.size


def test_other_stands_for_what_is_not_listed_in_an_order_too():
    grade = Categorical("grade", ("low", "high"), other="low", ordered=True)
    rows, _ = Encoder(Schema((grade,))).encode(pa.table({"grade": ["high", "unheard of"]}))
    assert rows.numbers.ravel().tolist() == [1.0, 0.0]


def test_a_plain_schema_has_no_ids_and_the_same_label():
    schema = Schema((Id("no"), DAY, GRADE, Boolean("ill")), label="ill")
    plain = build_plain_schema(schema)
    assert plain.names == ("day", "grade", "ill")
    assert plain.label == "ill"
    assert build_plain_schema(plain) == plain


def test_columns_come_back_in_the_order_of_the_schema():
    schema = Schema((GRADE, Id("no"), Boolean("ill"), DAY))
    encoder = Encoder(schema)
    given = pa.table({"day": ["2024-01-03"], "ill": [True], "grade": ["mid"]})
    made = encoder.decode(*encoder.encode(given))
    assert made.schema.names == ["grade", "no", "ill", "day"]
    assert made.to_pylist()[0]["grade"] == "mid"


def test_ids_are_whole_numbers_without_a_prefix():
    assert make_ids(Id("no", first=0), 3).to_pylist() == [0, 1, 2]
    assert make_ids(Id("no"), 0).to_pylist() == []


def test_a_constant_date_is_kept():
    encoder = Encoder(Schema((Date("day", "2024-01-01", "2024-01-01"),)))
    rows, classes = encoder.encode(pa.table({"day": ["2020-05-05", "2024-01-01"]}))
    assert not np.any(rows.numbers)
    assert {str(day) for day in encoder.decode(rows, classes)["day"].to_pylist()} == {"2024-01-01"}


def test_dates_fit_within_their_bounds_and_on_their_grid():
    hours = Datetime("x", "2024-01-01", "2024-01-02", "hour")
    text = ["2023-12-31T23:00", "2024-01-01T00:00", "2024-01-01T00:30", "2024-01-02T00:00"]
    found = find_valid_cells(hours, pa.chunked_array([[*text, "2024-01-02T01:00"]]))
    assert found.tolist() == [False, True, False, True, False]


def test_numbers_fit_with_the_digits_that_are_declared():
    column = Float("x", 0.0, 1.0, decimals=1)
    cells = pa.chunked_array([["0.1", "0.15", "1.1", "-0.1", "1"]])
    assert find_valid_cells(column, cells).tolist() == [True, False, False, False, True]
