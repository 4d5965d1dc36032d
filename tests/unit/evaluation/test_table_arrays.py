"""A table as arrays: cells of every kind as they are, or refused without being shown."""

import datetime
import decimal

import numpy as np
import pyarrow as pa
import pytest

from tabpe.errors import DataError
from tabpe.evaluation.table_arrays import FAR, NULL, NumericCells, build_table_arrays
from tabpe.schema import Boolean, Categorical, Float, Integer, Schema

SECRET = "4711.0815"
DOSE = Float("x", 0, 10)
WARD = Categorical("x", ("a", "b"))
GRADE = Categorical("x", (1, 2))
RATE = Categorical("x", (1.0, 2.5))
DIGIT = Categorical("x", ("1", "2"))
ILL = Boolean("x")


def read(column, *cells):
    """The cells of the column in each table: numbers, or the names of categories."""
    tables = [pa.table({"x": array}) for array in cells]
    found = [view["x"] for view in build_table_arrays(Schema((column,)), tables)]
    return [_plain(cells) for cells in found] if len(found) > 1 else _plain(found[0])


def _plain(cells):
    if isinstance(cells, NumericCells):
        return [None if np.isnan(value) else value for value in cells.values.tolist()]
    return [None if code == NULL else cells.names[code] for code in cells.values]


NUMBERS = {
    "whole": (pa.array([1, None]), [1, None]),
    "large and unsigned": (pa.array([2**64 - 1], pa.uint64()), [2.0**64]),
    "half": (pa.array(np.array([1.5], np.float16)), [1.5]),
    "decimal": (pa.array([decimal.Decimal("1.50"), None]), [1.5, None]),
    "dictionary": (pa.array([1, 2, None]).dictionary_encode(), [1, 2, None]),
    "text with blanks": (pa.array([" 1.5 ", "", " ", None, "2e1"]), [1.5, None, None, None, 20]),
    "large text": (pa.array(["1", ""], pa.large_string()), [1, None]),
    "text view": (pa.array(["1", ""], pa.string_view()), [1, None]),
    "not a number": (pa.array([float("nan"), 1.0]), [None, 1]),
    "beyond the bounds": (pa.array([-5, 500]), [-5, 500]),
    "chunks": (pa.chunked_array([[1], [], [2, None]]), [1, 2, None]),
    "nothing but nulls": (pa.nulls(2), [None, None]),
    "no rows": (pa.array([], pa.float64()), []),
    "no chunks": (pa.chunked_array([], pa.float64()), []),
}


@pytest.mark.parametrize(("cells", "expected"), NUMBERS.values(), ids=NUMBERS)
def test_numbers_are_read_as_they_are(cells, expected):
    assert read(DOSE, cells) == expected


LABELS = {
    "dictionary": (WARD, pa.array(["a", "b", None]).dictionary_encode(), ["a", "b", None]),
    "large text": (WARD, pa.array(["a", "z"], pa.large_string()), ["a", "z"]),
    "text view": (WARD, pa.array(["b", "z"], pa.string_view()), ["b", "z"]),
    "bytes": (WARD, pa.array([b"a", None]), ["a", None]),
    "an empty text is a null": (WARD, pa.array(["", "a"]), [None, "a"]),
    "bytes that are no text": (WARD, pa.array([b"a", b"\xff"]), ["a", "ff"]),
    "chunks": (WARD, pa.chunked_array([["a"], [], ["b", None]]), ["a", "b", None]),
    "dictionaries that differ": (
        WARD,
        pa.chunked_array([pa.array([c]).dictionary_encode() for c in "ab"]),
        ["a", "b"],
    ),
    "nothing but nulls": (WARD, pa.nulls(2), [None, None]),
    "no rows": (WARD, pa.array([], pa.string()), []),
    "no chunks": (WARD, pa.chunked_array([], pa.dictionary(pa.int32(), pa.string())), []),
    "whole as float": (GRADE, pa.array([1.0, 3.0, float("nan")]), ["1", "3", None]),
    "whole as text": (GRADE, pa.array(["1", "2", "x"]), ["1", "2", "x"]),
    "whole as decimal": (GRADE, pa.array([decimal.Decimal("2.00")]), ["2"]),
    "decimal as whole": (RATE, pa.array([1, 2]), ["1.0", "2"]),
    "decimal as text": (RATE, pa.array(["1", "1.0", "2.50", "q"]), ["1.0", "1.0", "2.5", "q"]),
    "digits as numbers": (DIGIT, pa.array([1.0, 2.5]), ["1", "2.5"]),
    "dates": (WARD, pa.array([datetime.date(2020, 1, 1)]), ["2020-01-01"]),
    "booleans": (ILL, pa.array([True, False, None]), ["True", "False", None]),
    "yes and no": (ILL, pa.array(["Yes", "no ", "", "maybe"]), ["True", "False", None, "maybe"]),
    "booleans as numbers": (ILL, pa.array([1, 0, 7, None]), ["True", "False", "7", None]),
    "booleans as floats": (ILL, pa.array([1.0, float("nan")]), ["True", None]),
    "booleans all null": (ILL, pa.nulls(1), [None]),
}


@pytest.mark.parametrize(("column", "cells", "expected"), LABELS.values(), ids=LABELS)
def test_categories_are_read_as_they_are(column, cells, expected):
    assert read(column, cells) == expected


def test_the_same_category_has_the_same_code_in_all_tables():
    arrays = pa.array(["a", "z"], pa.large_string()), pa.array(["y", "b", "z"])
    one, two = build_table_arrays(Schema((WARD,)), [pa.table({"x": array}) for array in arrays])
    assert one["x"].names == two["x"].names == ("a", "b", "y", "z")
    assert (one["x"].values.tolist(), two["x"].values.tolist()) == ([0, 3], [2, 1, 3])


def test_tables_may_hold_a_category_in_different_types():
    whole, floating = read(GRADE, pa.array([1, 3]), pa.array([1.0, 3.0]))
    assert whole == floating == ["1", "3"]


REFUSED = {
    "text as numbers": (DOSE, pa.array([SECRET + "x"])),
    "dates as numbers": (DOSE, pa.array([datetime.date(4711, 8, 15)])),
    "an infinity": (DOSE, pa.array([float("inf"), 4711.0815])),
    "an infinity in text": (DOSE, pa.array(["inf", SECRET])),
    "lists as numbers": (DOSE, pa.array([[SECRET]])),
    "lists as categories": (WARD, pa.array([[SECRET]])),
    "lists as booleans": (ILL, pa.array([[SECRET]])),
    "structs": (WARD, pa.array([{"a": SECRET}])),
    "a dictionary of lists": (
        WARD,
        pa.DictionaryArray.from_arrays(pa.array([0]), pa.array([[SECRET]])),
    ),
    "a union": (
        WARD,
        pa.UnionArray.from_dense(
            pa.array([0], pa.int8()), pa.array([0], pa.int32()), [pa.array([SECRET])]
        ),
    ),
    "run ends": (
        WARD,
        pa.RunEndEncodedArray.from_arrays(pa.array([2], pa.int32()), pa.array([SECRET])),
    ),
}


@pytest.mark.parametrize(("column", "cells"), REFUSED.values(), ids=REFUSED)
def test_what_can_not_be_read_is_refused_without_being_shown(column, cells):
    with pytest.raises(DataError, match="'x'") as caught:
        read(column, cells)
    assert SECRET not in str(caught.value)
    assert "4711" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


def test_a_column_that_is_not_there_or_twice_is_refused():
    with pytest.raises(DataError, match="'x'"):
        build_table_arrays(Schema((DOSE,)), [pa.table({"y": [1]})])
    twice = pa.table([pa.array([1.0]), pa.array([2.0])], names=["x", "x"])
    with pytest.raises(DataError, match="'x'"):
        build_table_arrays(Schema((DOSE,)), [twice])


def test_the_bounds_are_at_0_and_1_when_scaled():
    (view,) = build_table_arrays(Schema((Integer("x", 10, 20),)), [pa.table({"x": [10, 15, 25]})])
    assert view["x"].scaled.tolist() == [0, 0.5, 1.5]
    (view,) = build_table_arrays(Schema((Integer("x", 3, 3),)), [pa.table({"x": [3]})])
    assert view["x"].scaled.tolist() == [0]


def test_rows_are_taken_and_sampled_in_their_order():
    (view,) = build_table_arrays(Schema((DOSE,)), [pa.table({"x": np.arange(100.0)})])
    assert view.take(np.array([3, 1]))["x"].values.tolist() == [3, 1]
    sample = view.sample_rows(10, np.random.default_rng(0))["x"].values
    assert len(set(sample)) == len(sample) == 10
    assert (np.diff(sample) > 0).all()
    assert view.sample_rows(100, np.random.default_rng(0)) is view


def test_whole_numbers_that_are_written_as_floats_are_the_declared_ones():
    """A table of floats writes 1.0 where another writes 1."""
    schema = Schema((Categorical("n", (0, 1)),))
    (view,) = build_table_arrays(schema, [pa.table({"n": ["1.0", "0", "0.0", "0.5", "x", None]})])
    assert view["n"].values.tolist()[:3] == [1, 0, 0]
    assert view["n"].names[2:] == ("0.5", "x")


def test_a_number_far_beyond_its_bounds_is_as_far_as_can_be_told():
    schema = Schema((Float("x", 0.0, 1e-3),))
    (view,) = build_table_arrays(schema, [pa.table({"x": [1e308, -1e308, 5e-4, None]})])
    assert view["x"].scaled[:3].tolist() == [FAR, -FAR, 0.5]
    assert np.isnan(view["x"].scaled[3])
