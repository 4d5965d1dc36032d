"""Dates and times: every kind of cell to steps on a grid and back, each cell by itself."""

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tabpe.encoding.cells import (
    decode_temporal,
    encode_temporal,
    format_axis_labels,
    format_temporal,
)
from tabpe.errors import CellError, DataError
from tabpe.schema import Date, Datetime, Time

DAY = Date("x", "2024-01-01", "2024-12-31")
POINT = Datetime("x", "2024-01-01", "2025-01-01")
BERLIN = Datetime("x", "2024-01-01", "2025-01-01", timezone="Europe/Berlin")
OFFSET = Datetime(
    "x", "2024-01-01", "2025-01-01", timezone="Europe/Berlin", format="%d.%m.%Y %H:%M %z"
)
CLOCK = Time("x", resolution="minute", max="23:59")
EACH = (
    DAY,
    Date("x", "1850-01-01", "2150-01-01", format="%d/%m/%Y"),
    POINT,
    Datetime("x", "1950-01-01", "2150-01-01", "day"),
    Datetime("x", "2024-01-01", "2025-01-01", "millisecond", "UTC"),
    CLOCK,
    Time("x", "08:00", "18:00"),
)


def steps(column, cells, kind=None, *, strict=False):
    return encode_temporal(
        column, pa.chunked_array([pa.array(cells, kind)]), strict=strict
    ).tolist()


@given(data=st.data(), column=st.sampled_from(EACH))
@settings(deadline=None, max_examples=200)
def test_there_and_back_is_the_same(data, column):
    places = data.draw(st.lists(st.integers(0, column.steps), min_size=1, max_size=5))
    cells = decode_temporal(column, pa.array(places))
    assert encode_temporal(column, pa.chunked_array([cells])).tolist() == places


@pytest.mark.parametrize("column", [each for each in EACH if each.tick >= 10**6], ids=repr)
def test_text_and_back_is_the_same(column):
    places = np.unique(np.linspace(0, column.steps, 50).astype(np.int64))
    text = format_temporal(column, decode_temporal(column, pa.array(places)))
    assert encode_temporal(column, pa.chunked_array([text])).tolist() == places.tolist()


@pytest.mark.parametrize(
    ("column", "cells", "kind", "expected"),
    [
        (DAY, [dt.date(2024, 3, 1)], pa.date32(), 60),
        (DAY, [dt.date(2024, 3, 1)], pa.date64(), 60),
        (DAY, [dt.datetime(2024, 3, 1, 23, 59)], pa.timestamp("ns"), 60),
        (DAY, ["2024-03-01"], pa.large_string(), 60),
        (DAY, [" 2024-03-01 "], pa.string(), 60),
        (DAY, ["1999-01-01"], pa.string(), 0),
        (DAY, [dt.date(2100, 1, 1)], None, 365),
        (POINT, ["2024-01-01 00:01"], None, 60),
        (POINT, ["2024-01-01T00:01:00.9"], None, 60),
        (POINT, [dt.datetime(2024, 1, 1, 0, 1)], pa.timestamp("s"), 60),
        (POINT, [dt.date(2024, 1, 2)], None, 86_400),
        (BERLIN, ["2024-01-01T00:01"], None, 60),
        (BERLIN, ["2023-12-31T23:01Z"], None, 60),
        (BERLIN, ["2024-01-01T02:01+03:00"], None, 60),
        (BERLIN, [dt.datetime(2024, 1, 1, 0, 1)], pa.timestamp("us"), 60),
        (BERLIN, [dt.datetime(2023, 12, 31, 23, 1)], pa.timestamp("us", "UTC"), 60),
        (BERLIN, [dt.datetime(2023, 12, 31, 23, 1)], pa.timestamp("us", "America/New_York"), 60),
        (BERLIN, [dt.date(2024, 1, 2)], pa.date32(), 86_400),
        (OFFSET, ["01.01.2024 01:01 +0200"], None, 60),
        (CLOCK, [dt.time(1, 30, 59)], pa.time64("us"), 90),
        (CLOCK, [dt.time(1, 30)], pa.time32("s"), 90),
        (CLOCK, ["01:30"], None, 90),
        (CLOCK, ["01:30:59"], None, 90),
    ],
)
def test_each_kind_of_cell_is_read(column, cells, kind, expected):
    assert steps(column, cells, kind) == [expected]


def test_a_format_is_kept_in_both_directions():
    column = Date("x", "2024-01-01", "2024-12-31", format="%d.%m.%Y")
    assert steps(column, ["31.01.2024"]) == [30]
    assert format_temporal(column, decode_temporal(column, pa.array([30]))).to_pylist() == [
        "31.01.2024"
    ]


@pytest.mark.parametrize(
    ("column", "step", "text"),
    [
        (DAY, 1, "2024-01-02"),
        (POINT, 61, "2024-01-01T00:01:01"),
        (Datetime("x", "2024-01-01", "2025-01-01", "day"), 1, "2024-01-02"),
        (Datetime("x", "2024-01-01", "2025-01-01", "millisecond"), 1, "2024-01-01T00:00:00.001000"),
        (BERLIN, 1, "2024-01-01T00:00:01+01:00"),
        (CLOCK, 90, "01:30"),
        (Time("x"), 90, "00:01:30"),
    ],
)
def test_text_is_written_as_people_write_it(column, step, text):
    assert format_temporal(column, decode_temporal(column, pa.array([step]))).to_pylist() == [text]


@pytest.mark.parametrize(
    ("column", "cells"),
    [
        (DAY, ["2024-03-01", "soon"]),
        (DAY, ["2024-03-01", "2024-02-30"]),
        (CLOCK, ["10:00", "25:00"]),
        (Date("x", "2024-01-01", "2024-12-31", format="%d.%m.%Y"), ["31.01.2024", "01/31/2024"]),
    ],
)
def test_what_can_not_be_read_is_named_by_its_row_and_never_shown(column, cells):
    assert steps(column, cells)[1] == 0
    with pytest.raises(CellError) as error:
        steps(column, cells, strict=True)
    message = str(error.value)
    assert "column 'x'" in message
    assert "row 2" in message
    assert "outside the schema: expected " in message
    assert cells[1] not in message


def test_a_missing_cell_is_the_first_value_or_refused():
    assert steps(DAY, ["2024-03-01", None])[1] == 0
    with pytest.raises(DataError, match="row 2"):
        steps(DAY, ["2024-03-01", None], strict=True)


@pytest.mark.parametrize("cells", [[5], [True], [dt.time(5)]])
def test_cells_of_another_type_have_no_value(cells):
    assert steps(DAY, cells) == [0]
    with pytest.raises(DataError, match="expected dates"):
        steps(DAY, cells, strict=True)


SEEN = Date("x", "2024-01-01", "2024-12-31", format="%d.%m.%Y")


@pytest.mark.parametrize(
    "cells", [["31.01.2024"], ["2024-01-31"], [dt.date(2024, 1, 31)], [dt.datetime(2024, 1, 31)]]
)
def test_a_date_is_the_same_in_its_format_and_as_a_date(cells):
    assert steps(SEEN, cells) == [30]


def test_numbers_are_dates_in_a_format_of_digits():
    column = Date("x", "2024-01-01", "2024-12-31", format="%Y%m%d")
    for cells in ([20240131], [20240131.0], ["20240131"]):
        assert steps(column, cells) == [30]


def test_a_cell_is_read_the_same_whatever_the_others_are():
    alone = steps(BERLIN, ["2024-03-31T02:30"])
    beside = steps(BERLIN, ["2024-03-31T02:30", "2024-03-31T02:30Z", "2024-10-27T02:30"])
    assert beside[:1] == alone


@pytest.mark.parametrize("column", EACH, ids=repr)
def test_marks_are_short(column):
    assert max(map(len, format_axis_labels(column, pa.array([0, column.steps])))) <= len(
        "2024-01-01 "
    )


def test_marks_of_few_days_tell_the_hour():
    column = Datetime("x", "2024-01-01", "2024-01-02")
    assert format_axis_labels(column, pa.array([3600])) == ["01-01 01:00"]
