"""The cells of one column: read by the schema, refused without being shown."""

import datetime
import decimal

import numpy as np
import pyarrow as pa
import pytest

from tabpe.encoding.cells import (
    decode_codes,
    decode_plain_numbers,
    encode_codes,
    encode_plain_numbers,
)
from tabpe.errors import DataError
from tabpe.schema import Boolean, Categorical, Float, Integer

SECRET = "4711.0815"
AGE = Integer("x", 0, 120)
SHARE = Float("x", 0, 1)
WARD = Categorical("x", ("a", "b", "rest"))
WARD_OR_REST = Categorical("x", ("a", "b", "rest"), other="rest")
GRADE = Categorical("x", (1, 2, 3))
DOSE = Categorical("x", (0.5, 1.0, 2.5))
ILL = Boolean("x")
TEXTS = [pa.string(), pa.large_string(), pa.string_view()]


def chunked(cells, kind=None):
    return pa.chunked_array([pa.array(cells, kind) if not isinstance(cells, pa.Array) else cells])


def read(column, cells, kind=None, *, strict=False):
    reader = encode_plain_numbers if isinstance(column, (Integer, Float)) else encode_codes
    return reader(column, chunked(cells, kind), strict=strict).tolist()


def refusal(column, cells, kind=None):
    with pytest.raises(DataError) as caught:
        read(column, cells, kind, strict=True)
    message = str(caught.value)
    assert "column 'x'" in message
    assert SECRET not in message
    assert caught.value.__cause__ is None
    return message


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        ([0, 7, 120], pa.int64()),
        ([0, 7, 120], pa.int8()),
        ([0, 7, 120], pa.uint64()),
        ([0, 7, 120], pa.float32()),
        ([0, 7, 120], pa.float16()),
        ([decimal.Decimal(n) for n in (0, 7, 120)], None),
        (["0", "7", "120"], pa.string()),
        ([" 0", "7 ", "\t120"], pa.string()),
        ([" 0", "7 ", "120"], pa.large_string()),
        ([" 0", "7 ", "120"], pa.string_view()),
        (["0.0", "+7", "1.2e2"], pa.string()),
        (pa.array([0, 7, 120]).dictionary_encode(), None),
        (pa.array(["0", "7", "120"]).dictionary_encode(), None),
    ],
)
def test_numbers_of_every_type_are_read(cells, kind):
    assert read(AGE, cells, kind) == [0, 7, 120]


@pytest.mark.parametrize("cells", [[-5, 500], [-np.inf, np.inf], ["-5", "inf"], ["-1e99", "1e999"]])
def test_numbers_outside_the_bounds_are_clamped(cells):
    assert read(AGE, cells) == [0, 120]


def test_cells_in_several_chunks_are_read_in_order():
    chunks = pa.chunked_array([["1", "2"], [], ["3"]], pa.string())
    assert encode_plain_numbers(AGE, chunks).tolist() == [1, 2, 3]
    words = pa.chunked_array([pa.array([x]).dictionary_encode() for x in "ba"])
    assert encode_codes(WARD, words).tolist() == [1, 0]


@pytest.mark.parametrize(
    ("column", "cells"),
    [
        (AGE, [1, None]),
        (SHARE, [0.5, np.nan]),
        (SHARE, ["0.5", ""]),
        (SHARE, ["0.5", "  "]),
        (WARD, ["a", None]),
        (WARD, ["a", ""]),
        (GRADE, [1.0, np.nan]),
        (DOSE, [0.5, None]),
        (ILL, [True, None]),
        (ILL, [1.0, np.nan]),
        (ILL, ["yes", ""]),
        (WARD, pa.array(["a", None]).dictionary_encode()),
    ],
)
def test_a_missing_cell_is_named_by_column_and_row(column, cells):
    assert "column 'x' has no value in row 2" in refusal(column, cells)


@pytest.mark.parametrize("column", [AGE, SHARE, WARD, GRADE, ILL])
@pytest.mark.parametrize("kind", [pa.null(), pa.int64(), pa.string(), pa.float64()], ids=str)
def test_a_column_without_any_value_is_refused_by_its_first_row_or_all_default(column, kind):
    assert "column 'x' has no value in row 1" in refusal(column, pa.nulls(2, kind))
    assert read(column, pa.nulls(2, kind)) == [0, 0]


RULES = [
    (Integer("x", 10, 20), [9, 21, "x", None], [10, 20, 10, 10]),
    (Integer("x", 10, 20, default=15), [9, 21, "x", None], [10, 20, 15, 15]),
    (Integer("x", 10, 20, invalid="default", default=15), [9, 21, "x", None], [15] * 4),
    (Integer("x", 10, 20, nullable=True), [9, 21, "x", None], [10, 20, None, None]),
    (Integer("x", 10, 20, invalid="null", nullable=True), [9, 21, "x", None], [None] * 4),
    (
        Integer("x", 10, 20, invalid="default", default=11, nullable=True),
        [9, 21, "x", None],
        [11, 11, 11, None],
    ),
    (Float("x", 0, 1, default=0.5), ["nan", "inf", "-inf", "."], [0.5, 1, 0, 0.5]),
    (WARD, ["a", "z", None], [0, 0, 0]),
    (Categorical("x", ("a", "b"), default="b"), ["a", "z", None], [0, 1, 1]),
    (Categorical("x", ("a", "b"), nullable=True), ["a", "z", None], [0, 2, 2]),
    (Categorical("x", ("a", "b"), other="b", nullable=True), ["a", "z", None], [0, 1, 2]),
    (
        Categorical("x", ("a", "b"), other="b", nullable=True, invalid="null"),
        ["a", "z", None],
        [0, 2, 2],
    ),
    (
        Categorical("x", ("a", "b", "c"), default="c", nullable=True, invalid="default"),
        ["a", "z", None],
        [0, 2, 3],
    ),
    (WARD_OR_REST, ["a", "z", None], [0, 2, 2]),
    (ILL, ["yes", "z", None], [1, 0, 0]),
    (Boolean("x", default=True), ["no", "z", None], [0, 1, 1]),
    (Boolean("x", nullable=True), ["no", "z", None], [0, 2, 2]),
]


@pytest.mark.parametrize(("column", "cells", "expected"), RULES, ids=range(len(RULES)))
def test_what_does_not_fit_counts_by_the_rule_of_its_column(column, cells, expected):
    texts = [None if cell is None else str(cell) for cell in cells]
    found = np.array(read(column, texts), dtype=float)
    np.testing.assert_array_equal(found, np.array(expected, dtype=float))
    for place, text in enumerate(texts):
        alone = np.array(read(column, pa.array([text], pa.string())), dtype=float)
        np.testing.assert_array_equal(alone, found[place : place + 1])


@pytest.mark.parametrize(
    ("column", "cells"),
    [
        (Integer("x", 10, 20, default=15), ["x", None]),
        (Integer("x", 10, 20, invalid="null", nullable=True), ["9", "x"]),
        (Categorical("x", ("a", "b"), default="b"), ["z", None]),
        (Categorical("x", ("a", "b"), other="b"), ["z", None]),
        (Boolean("x", default=False), ["z", None]),
    ],
)
def test_what_the_schema_states_a_rule_for_is_not_refused_in_strict_mode(column, cells):
    plain = np.array(read(column, cells), dtype=float)
    np.testing.assert_array_equal(np.array(read(column, cells, strict=True), dtype=float), plain)


@pytest.mark.parametrize(
    ("column", "cells"),
    [
        (AGE, ["1", "2", f"x{SECRET}"]),
        (AGE, ["1", "2", f"{SECRET},5"]),
        (AGE, ["1", "2", "0x1F"]),
        (WARD, ["a", "b", SECRET]),
        (WARD, ["a", "b", "A"]),
        (SHARE, ["0.5", "1", "nan"]),
        (GRADE, [1, 2, 4711]),
        (GRADE, [1.0, 2.0, float(SECRET)]),
        (GRADE, ["1", "2", SECRET]),
        (DOSE, [0.5, 1.0, float(SECRET)]),
        (DOSE, ["0.5", "1", SECRET]),
        (ILL, ["yes", "no", SECRET]),
        (ILL, [0, 1, 4711]),
        (ILL, [0.0, 1.0, float(SECRET)]),
        (WARD, pa.array(["a", "b", SECRET]).dictionary_encode()),
    ],
)
def test_a_cell_outside_the_schema_is_named_by_column_and_row_and_not_shown(column, cells):
    message = refusal(column, cells)
    assert "row 3" in message
    assert "4711" not in message


def test_the_first_row_outside_the_schema_is_the_one_named():
    assert "row 2" in refusal(WARD, ["a", "z", "y", "x"])


def test_an_unlisted_category_says_what_to_declare():
    assert refusal(WARD, ["z"]).endswith("declare it in values, or declare an other.")


@pytest.mark.parametrize(
    ("column", "cells", "codes"),
    [
        (WARD_OR_REST, ["a", "z", "b", "rest", ""], [0, 2, 1, 2, 2]),
        (WARD_OR_REST, [1, 2], [2, 2]),
        (Categorical("x", (1, 2), other=1), [2, 7], [1, 0]),
        (Categorical("x", (1, 2), other=1), ["2", "z", "2.5"], [1, 0, 0]),
        (Categorical("x", (1, 2), other=1), [2.0, 2.5], [1, 0]),
        (Categorical("x", (0.5, 1), other=1), [0.5, 9.0], [0, 1]),
        (Categorical("x", ("", "a"), other=""), ["a", "z"], [1, 0]),
    ],
)
def test_an_unlisted_category_becomes_the_other(column, cells, codes):
    assert read(column, cells) == codes


@pytest.mark.parametrize(
    ("column", "cells", "kind"),
    [
        *((WARD, ["b", "a"], kind) for kind in TEXTS),
        (WARD, pa.array(["b", "a"]).dictionary_encode(), None),
        *((GRADE, [2, 1], kind) for kind in (pa.int8(), pa.int64(), pa.uint8(), pa.float64())),
        *((GRADE, ["2", "1"], kind) for kind in TEXTS),
        (GRADE, pa.array(["2", "1"]).dictionary_encode(), None),
        *((DOSE, [1.0, 0.5], kind) for kind in (pa.float16(), pa.float32(), pa.float64())),
        (DOSE, ["1", "0.5"], pa.string()),
        (DOSE, ["1.0", ".5"], pa.string()),
        (Categorical("x", ("1", "2")), [2, 1], pa.int8()),
        (Categorical("x", ("1", "2")), [2.0, 1.0], pa.float64()),
        (Categorical("x", ("1.5", "2.5")), [2.5, 1.5], pa.float64()),
        (Categorical("x", ("true", "false")), [False, True], pa.bool_()),
        (Categorical("x", (0, 1)), [True, False], pa.bool_()),
    ],
)
def test_equal_categories_of_every_type_get_equal_codes(column, cells, kind):
    assert read(column, cells, kind) == [1, 0]


def test_whole_numbers_as_categories_are_found_in_a_column_of_words():
    assert read(GRADE, ["3", "1"]) == [2, 0]


def test_dates_are_found_as_text():
    column = Categorical("x", ("2020-01-31", "2020-02-29"))
    assert read(column, [datetime.date(2020, 2, 29)]) == [1]


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        ([True, False], pa.bool_()),
        ([1, 0], pa.int8()),
        ([1.0, 0.0], pa.float32()),
        (["true", "false"], pa.string()),
        (["TRUE", "False"], pa.large_string()),
        (["yes", "no"], pa.string_view()),
        (["Y", "n"], pa.string()),
        (["t", "F"], pa.string()),
        ([" 1 ", "0"], pa.string()),
        (pa.array(["yes", "no"]).dictionary_encode(), None),
    ],
)
def test_booleans_are_read_in_the_usual_words(cells, kind):
    assert read(ILL, cells, kind) == [1, 0]


@pytest.mark.parametrize("column", [AGE, WARD, GRADE, ILL])
@pytest.mark.parametrize(
    "cells", [[[SECRET]], [{"a": SECRET}], pa.array([[1]], pa.list_(pa.int8(), 1))]
)
def test_cells_that_are_no_plain_values_are_refused(column, cells):
    assert refusal(column, cells)


@pytest.mark.parametrize("cell", [datetime.date(2020, 1, 1), datetime.datetime(2020, 1, 1)])
def test_a_date_is_no_number(cell):
    assert "expected a number" in refusal(AGE, [cell])


def test_more_than_256_categories_have_codes():
    column = Categorical("x", tuple(f"v{number}" for number in range(1000)))
    assert read(column, ["v999", "v256", "v0"]) == [999, 256, 0]
    assert decode_codes(column, np.array([999, 256, 0])).to_pylist() == ["v999", "v256", "v0"]


@pytest.mark.parametrize(
    ("column", "scaled", "cells", "kind"),
    [
        (Integer("x", 0, 10), [0, 0.26, 1], [0, 3, 10], pa.int64()),
        (Integer("x", -5, -5), [0, 1], [-5, -5], pa.int64()),
        (Integer("x", -(2**53), 2**53), [0, 0.5, 1], [-(2**53), 0, 2**53], pa.int64()),
        (Float("x", 10, 20, decimals=1), [0, 0.333, 1], [10, 13.3, 20], pa.float64()),
        (Float("x", 0, 1), [0, 0.125, 1], [0, 0.125, 1], pa.float64()),
        (Float("x", 1.5, 1.5), [0, 0], [1.5, 1.5], pa.float64()),
        (Float("x", 0.1, 0.7), [0, 1], [0.1, 0.7], pa.float64()),
    ],
)
def test_scaled_numbers_become_the_numbers_of_the_column(column, scaled, cells, kind):
    for precision in (np.float32, np.float64):
        array = decode_plain_numbers(column, np.array(scaled, precision))
        assert array.type == kind
        assert array.to_pylist() == cells


@pytest.mark.parametrize(
    ("column", "values", "kind"),
    [
        (WARD, ["rest", "a"], pa.string()),
        (GRADE, [3, 1], pa.int64()),
        (DOSE, [2.5, 0.5], pa.float64()),
    ],
)
def test_codes_become_the_values_of_the_column(column, values, kind):
    for precision in (np.uint8, np.int64):
        array = decode_codes(column, np.array([2, 0], precision))
        assert array.type == kind
        assert array.to_pylist() == values


def test_codes_of_booleans_become_booleans():
    array = decode_codes(ILL, np.array([1, 0], np.uint8))
    assert array.type == pa.bool_()
    assert array.to_pylist() == [True, False]
