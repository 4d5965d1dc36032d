"""A first schema from a table: one rule at a time."""

import dataclasses
import datetime
import decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tabpe.errors import DataError, SchemaError
from tabpe.io import draft_schema
from tabpe.schema import Boolean, Categorical, Date, Datetime, Float, Integer, Source, Time

SECRET = "Secret-Cell-4711"
DATA = Source.DATA


def drafted(cells, **options):
    return draft_schema(pa.table({"x": cells}), **options)["x"]


@pytest.mark.parametrize(
    "cells", [[True, False], ["true", "false"], ["TRUE", "False"], ["true", "true"]]
)
def test_truths_become_boolean(cells):
    assert drafted(cells) == Boolean("x", source=DATA)


@pytest.mark.parametrize(
    "cells",
    [[3, -1], ["3", "-1"], ["+3", "-1"], pa.array([3, -1], pa.int8())],
    ids=["numbers", "text", "signs", "int8"],
)
def test_whole_numbers_become_integer(cells):
    assert drafted(cells) == Integer("x", -1, 3, source=DATA)


@pytest.mark.parametrize(
    ("cells", "decimals"),
    [
        ([1.5, 2.25], 2),
        (["1.5", "2.25"], 2),
        (["1.50", ".5", "2."], 1),
        (["1e3", "2.5e-2"], 3),
        ([1 / 3, 2 / 3], None),
        (["0.5", "-0.25"], 2),
        ([decimal.Decimal("1.50"), decimal.Decimal("2.25")], 2),
    ],
)
def test_decimals_become_float_with_the_fewest_digits(cells, decimals):
    numbers = [float(cell) for cell in cells]
    assert drafted(cells) == Float("x", min(numbers), max(numbers), decimals, source=DATA)


@pytest.mark.parametrize(
    "cells",
    [[1, 2], [1.0, 2.0], ["1", "2"], ["1.0", "2.00"], [decimal.Decimal("1.0"), decimal.Decimal(2)]],
)
def test_whole_numbers_are_integers_however_they_are_stored(cells):
    assert drafted(cells) == Integer("x", 1, 2, source=DATA)


def test_a_constant_becomes_a_constant_column():
    assert drafted([7, 7]) == Integer("x", 7, 7, source=DATA)


@pytest.mark.parametrize(
    "cells",
    [
        ["007", "010"],
        ["01", "12"],
        ["01.5", "2.5"],
        ["-01", "-02"],
        ["1", "x"],
        ["1,5", "2,5"],
        ["0x1F", "1"],
        ["yes", "no"],
    ],
)
def test_codes_and_words_stay_text(cells):
    assert drafted(cells) == Categorical("x", tuple(sorted(cells)), source=DATA)


@pytest.mark.parametrize(
    "cells",
    [
        pa.array(["b", "a", "b"], pa.large_string()),
        pa.array(["b", "a", "b"], pa.string_view()),
        pa.array(["b", "a", "b"]).dictionary_encode(),
        pa.chunked_array([pa.array([x]).dictionary_encode() for x in "bab"]),
    ],
    ids=["large", "view", "dictionary", "chunks"],
)
def test_text_of_every_type_becomes_sorted_values(cells):
    assert drafted(cells) == Categorical("x", ("a", "b"), source=DATA)


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"age": [31, 42], "sex": pd.Categorical(["m", "f"])}),
        pl.DataFrame({"age": [31, 42], "sex": pl.Series(["m", "f"], dtype=pl.Categorical)}),
        pa.table({"age": ["31", "42"], "sex": ["m", "f"]}),
    ],
    ids=["pandas", "polars", "text"],
)
def test_every_library_drafts_the_same(frame):
    expected = (Integer("age", 31, 42, source=DATA), Categorical("sex", ("f", "m"), source=DATA))
    assert draft_schema(frame).columns == expected


def test_a_file_drafts_like_its_table(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("age,ill\n31,true\n42,false\n")
    assert draft_schema(path).columns == (
        Integer("age", 31, 42, source=DATA),
        Boolean("ill", source=DATA),
    )


def test_dates_and_times_keep_their_type():
    day, later = datetime.date(2020, 1, 31), datetime.date(2020, 2, 29)
    assert drafted([later, day]) == Date("x", day, later, source=DATA)
    noon, one = datetime.time(12), datetime.time(13, 30)
    assert drafted([one, noon]) == Time("x", noon, one, "minute", source=DATA)


@pytest.mark.parametrize(
    ("points", "resolution"),
    [
        (["2020-01-31T10:00", "2020-02-01T00:00"], "hour"),
        (["2020-01-31T10:00:01", "2020-02-01T00:00"], "second"),
        (["2020-01-31T10:00:00.000001", "2020-02-01T00:00"], "microsecond"),
    ],
)
def test_points_in_time_have_the_coarsest_resolution_that_holds_them(points, resolution):
    moments = [datetime.datetime.fromisoformat(point) for point in points]
    assert drafted(moments) == Datetime("x", *moments, resolution, source=DATA)


def test_points_in_time_that_are_all_midnight_are_dates():
    days = [datetime.date(2020, 1, 31), datetime.date(2020, 2, 1)]
    midnights = [datetime.datetime.combine(day, datetime.time()) for day in days]
    for cells in (days, midnights, [str(day) for day in days], [str(one) for one in midnights]):
        assert drafted(cells) == Date("x", *days, source=DATA)


def test_points_in_time_with_a_zone_are_in_utc():
    array = pa.array([0, 3600], pa.timestamp("s", "Europe/Berlin"))
    column = draft_schema(pa.table({"x": array})).columns[0]
    assert (column.timezone, column.min.hour, column.resolution) == ("UTC", 0, "hour")
    assert column.first == 0


def test_text_that_holds_nothing_but_dates_is_read_as_such():
    assert drafted(["2020-02-29", "2020-01-31"]).min == datetime.date(2020, 1, 31)
    assert drafted(["2020-02-29 12:30", "2020-01-31T00:00:15"]).resolution == "second"
    zoned = drafted(["2020-01-01 02:00:00+01:00", "2020-07-01T02:00:00Z"])
    assert (zoned.timezone, zoned.min.hour, zoned.resolution) == ("UTC", 1, "hour")
    for text in (["2020-02-30"], ["2020-02-29", "never"], ["29.02.2020"]):
        assert isinstance(drafted(text), Categorical)


def test_everything_is_marked_as_taken_from_the_data():
    table = pa.table({"a": [1], "b": [0.5], "c": ["x"], "d": [True]})
    schema = draft_schema(table)
    assert {column.source for column in schema.columns} == {DATA}
    fields = ("a.min", "a.max", "b.min", "b.max", "b.decimals", "c.values", "d.type")
    assert schema.fields_from_data == fields


@pytest.mark.parametrize(
    ("cells", "values"),
    [([3, 1, 2], (1, 2, 3)), (["3", "1"], (1, 3)), ([2.5, 1.0], (1.0, 2.5)), ([-0.0, 0.0], (0.0,))],
)
def test_a_label_of_few_numbers_becomes_categorical(cells, values):
    schema = draft_schema(pa.table({"x": cells}), label="x")
    assert schema.label == "x"
    assert schema["x"] == Categorical("x", values, source=DATA)


@pytest.mark.parametrize(("cells", "kind"), [([True], Boolean), (["a", "b"], Categorical)])
def test_a_label_of_truths_or_words_stays_what_it_is(cells, kind):
    assert isinstance(drafted(cells, label="x"), kind)


@pytest.mark.parametrize("scale", [1, 0.5])
def test_a_label_of_many_numbers_is_cut_at_its_quartiles(scale):
    numbers = [scale * number for number in range(201)]
    schema = draft_schema(pa.table({"x": numbers}), label="x")
    assert schema.label_cuts == (50 * scale, 100 * scale, 150 * scale)
    assert {type(cut) for cut in schema.label_cuts} == {type(scale)}
    assert "x.label_cuts" in schema.fields_from_data


def test_a_label_of_many_numbers_that_are_mostly_one_is_cut_somewhere_inside():
    schema = draft_schema(pa.table({"x": [0] * 1000 + list(range(150))}), label="x")
    assert len(schema.class_names) > 1
    assert all(0 < cut < 149 for cut in schema.label_cuts)


def test_without_a_label_numbers_stay_numbers():
    assert draft_schema(pa.table({"x": [1, 2]})).label is None
    assert isinstance(drafted([1, 2]), Integer)


def test_dropped_columns_are_left_out_whatever_they_hold():
    table = pa.table({"id": [str(n) for n in range(2000)], "x": [1] * 2000, "none": pa.nulls(2000)})
    assert draft_schema(table, drop=["id", "none"]).names == ("x",)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"label": "outcom"}, "label='outcom' is not a column: no declared column is there"),
        ({"drop": ["nam"], "label": "outcome"}, "drop='nam' is not a column: did you mean 'name'"),
        ({"label": "name", "drop": ["name"]}, "label='name' is not a column"),
        ({"drop": ["name", "outcome"]}, "at least one column"),
    ],
)
def test_a_label_or_drop_that_is_no_column_is_refused(options, message):
    with pytest.raises(SchemaError, match=message):
        draft_schema(pa.table({"name": ["a"], "outcome": [1]}), **options)


def test_too_many_different_texts_are_refused_without_one_of_them():
    with pytest.raises(
        DataError, match=r"column 'x' holds more than 1000 .*drop the col.*values.*top"
    ) as caught:
        drafted([f"{SECRET}-{number}" for number in range(1001)])
    assert SECRET not in str(caught.value)


def test_as_many_different_texts_as_allowed_are_kept():
    assert drafted([f"t{number}" for number in range(1000)]).size == 1000


@pytest.mark.parametrize(
    ("cells", "known"),
    [
        ([1, None], [1]),
        (["a", None], ["a"]),
        ([True, None], [True]),
        ([0.5, np.nan], [0.5]),
        (["1", ""], ["1"]),
        (["1.5", " "], ["1.5"]),
        (["a", ""], ["a"]),
        (["true", ""], ["true"]),
        (["2024-01-31", ""], ["2024-01-31"]),
        (pa.array([0.5, np.nan], pa.float32()), [0.5]),
        (pa.array(["a", None]).dictionary_encode(), ["a"]),
        (pa.chunked_array([[1], [None, 2]]), [1, 2]),
    ],
    ids=[
        *("null", "text", "truth", "nan", "empty", "blank", "empty text", "empty truth", "day"),
        *("float32", "dictionary", "chunks"),
    ],
)
def test_a_missing_cell_makes_a_column_nullable_and_changes_nothing_else(cells, known):
    found = drafted(cells)
    assert found == dataclasses.replace(drafted(known), nullable=True)


def test_a_label_with_missing_cells_has_a_class_for_them():
    table = pa.table({"x": ["a", None, "b"], "y": [1, 2, 3]})
    assert draft_schema(table, label="x").class_names == ("a", "b", "null")
    numbers = pa.table({"x": [*map(float, range(500)), None]})
    assert len(draft_schema(numbers, label="x").class_names) == 5


def test_that_cells_are_missing_is_told_to_be_read_off_the_data():
    fields = draft_schema(pa.table({"x": ["a", None], "y": [True, None]})).fields_from_data
    assert fields == ("x.values", "x.nullable", "y.type", "y.nullable")


def test_an_infinite_cell_is_named_by_column_and_row():
    with pytest.raises(DataError, match=r"column 'x' .* row 2"):
        drafted([0.5, np.inf])


@pytest.mark.parametrize(
    "cells",
    [pa.nulls(2), pa.nulls(2, pa.int64()), pa.nulls(2, pa.string()), ["", ""], [" ", ""]],
    ids=["null", "int64", "string", "empty text", "blank text"],
)
def test_a_column_without_any_value_is_refused(cells):
    with pytest.raises(DataError, match="column 'x' has no value"):
        drafted(cells)


@pytest.mark.parametrize("number", [2**53 + 1, -(2**63)])
def test_whole_numbers_beyond_a_float_are_refused_without_showing_them(number):
    for cells in ([1, number], ["1", str(number)]):
        with pytest.raises(DataError, match=r"column 'x' .* beyond 2\*\*53.*type: id") as caught:
            drafted(cells)
        assert str(number) not in str(caught.value)


def test_a_range_beyond_a_float_is_refused_without_showing_it():
    with pytest.raises((DataError, SchemaError), match="column 'x'") as caught:
        drafted([-1.7e308, 1.7e308])
    assert "1.7e" not in str(caught.value)


@pytest.mark.parametrize("cells", [[[1]], [{"a": SECRET}]], ids=["list", "map"])
def test_cells_that_are_no_plain_values_are_refused(cells):
    with pytest.raises(DataError, match=r"column 'x' is of type .*: expected") as caught:
        drafted(cells)
    assert SECRET not in str(caught.value)


SPREAD = np.round(np.linspace(3, 90, 200), 2).tolist()


@pytest.mark.parametrize(
    ("cells", "special"),
    [
        ([0.0] * 50 + SPREAD, (0.0,)),
        ([None] * 50 + [0.0] * 50 + [99.5] * 20 + SPREAD, (0.0, 99.5)),
        ([0] * 50 + list(range(200)), (0,)),
        ([0.0] * 10 + SPREAD, None),
        ([0.0] * 20 + SPREAD[:40], None),  # too few rows to tell
        (list(range(15)) * 20 + [7] * 200, None),  # each value has a cell anyway
        ([n % 25 for n in range(500)], None),  # each has 4%, and none stands out
        (
            [n for n in range(30) for _ in range(int(200 * 0.8**n) + 1)],
            None,  # counts that fall by and by
        ),
    ],
)
def test_numbers_that_very_many_rows_share_are_special(cells, special):
    drafted_column = drafted(cells)
    assert drafted_column.special == special
    marked = draft_schema(pa.table({"x": cells})).fields_from_data
    assert ("x.special" in marked) == (special is not None)


def test_a_label_has_classes_and_no_special_values():
    schema = draft_schema(pa.table({"x": [0.0] * 80 + SPREAD}), label="x")
    assert schema["x"].special is None
