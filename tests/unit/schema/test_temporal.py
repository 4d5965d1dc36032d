"""Dates, times and ids: what a schema may say of them, and what it says when it may not."""

import datetime as dt

import pytest

from tabpe.errors import SchemaError
from tabpe.schema import (
    Boolean,
    Categorical,
    Date,
    Datetime,
    Id,
    Integer,
    PartialSchema,
    Schema,
    Time,
)

ALL = Schema(
    (
        Id("no", prefix="P", first=7),
        Date("born", "1900-02-28", dt.date(1999, 12, 31), format="%d.%m.%Y"),
        Datetime("seen", "2024-01-01T06:00", "2024-12-31T18:00", "minute", "Europe/Berlin"),
        Time("opens", "08:00", dt.time(18)),
        Categorical("grade", ("low", "high"), ordered=True),
        Boolean("ill"),
    ),
    label="ill",
)


@pytest.mark.parametrize("suffix", [".yaml", ".json"])
def test_a_file_gives_back_what_was_written(tmp_path, suffix):
    path = tmp_path / f"schema{suffix}"
    ALL.save(path)
    assert Schema.load(path) == ALL
    assert Schema.load(path).digest == ALL.digest
    assert PartialSchema.from_schema(path).fill_gaps({}) == ALL


@pytest.mark.parametrize(
    ("column", "steps"),
    [
        (Date("x", "2024-02-28", "2024-03-01"), 2),
        (Date("x", "2024-02-28", "2024-02-28"), 0),
        (Datetime("x", "2024-01-01", "2024-01-02"), 86_400),
        (Datetime("x", "2024-01-01", "2024-01-02", "millisecond"), 86_400_000),
        (Datetime("x", "1900-01-01", "2100-01-01", "day"), 73_049),
        (Time("x"), 86_399),
        (Time("x", "08:00", "09:30", "minute"), 90),
    ],
)
def test_values_lie_on_a_grid(column, steps):
    assert column.steps == steps


def test_a_day_has_23_or_25_hours_where_clocks_are_changed():
    def hours(day, zone):
        following = dt.date.fromisoformat(day) + dt.timedelta(days=1)
        return Datetime("x", day, following.isoformat(), "hour", zone).steps

    assert hours("2024-03-31", "Europe/Berlin") == 23
    assert hours("2024-10-27", "Europe/Berlin") == 25
    assert hours("2024-10-27", None) == hours("2024-10-27", "UTC") == 24


def test_a_bound_with_an_offset_is_what_clocks_show_there():
    column = Datetime("x", "2024-07-01T10:00+00:00", "2024-07-02", timezone="Europe/Berlin")
    assert column.min == dt.datetime(2024, 7, 1, 12)


WRONG = {
    "column 'x': min='31.3.2024': expected a date such as '2024-03-31'": (
        lambda: Date("x", "31.3.2024", "2024-12-31")
    ),
    "column 'x': max=5: expected a date such as": lambda: Date("x", "2024-01-01", 5),
    "column 'x': min=datetime.datetime(2024, 1, 1": (
        lambda: Date("x", dt.datetime(2024, 1, 1), "2024-12-31")
    ),
    "column 'x': min is after max: swap them": lambda: Date("x", "2024-01-02", "2024-01-01"),
    "resolution='seconds': did you mean 'second'": (
        lambda: Datetime("x", "2024-01-01", "2024-01-02", "seconds")
    ),
    "not a whole number of hours after min": (
        lambda: Datetime("x", "2024-01-01", "2024-01-01T10:30", "hour")
    ),
    "more than 2**53 microseconds from min to max": (
        lambda: Datetime("x", "1700-01-01", "2100-01-01", "microsecond")
    ),
    "timezone='Mars/North': expected a name such as 'UTC'": (
        lambda: Datetime("x", "2024-01-01", "2024-01-02", timezone="Mars/North")
    ),
    "expected no offset, or declare a timezone": (
        lambda: Datetime("x", "2024-01-01T00:00+01:00", "2024-01-02")
    ),
    "format='dd.mm': expected a pattern such as '%d.%m.%Y'": (
        lambda: Date("x", "2024-01-01", "2024-01-02", format="dd.mm")
    ),
    "expected no offset (%z), or declare a timezone": (
        lambda: Datetime("x", "2024-01-01", "2024-01-02", format="%d.%m.%Y %H:%M %z")
    ),
    "expected a time without offset": lambda: Time("x", "08:00+01:00", "09:00+01:00"),
    "prefix=5: expected a text": lambda: Id("x", prefix=5),
    "first=-1: expected a whole number from 0 on": lambda: Id("x", first=-1),
    "ordered='yes': expected true or false": lambda: Categorical("x", ("a",), ordered="yes"),
    "label='x' is of type date": (
        lambda: Schema((Date("x", "2024-01-01", "2024-01-02"), Boolean("y")), label="x")
    ),
    "label='x' is of type id": lambda: Schema((Id("x"), Boolean("y")), label="x"),
}


@pytest.mark.parametrize("message", WRONG)
def test_what_does_not_fit_is_named(message):
    with pytest.raises(SchemaError) as error:
        WRONG[message]()
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("kind", "advice"),
    [
        ("text", "categorical with its values; free text can not be synthesised"),
        ("timestamp", "write datetime."),
        ("ordinal", "categorical with ordered: true"),
        ("decimal", "float with decimals"),
        ("uuid", "write id."),
        ("duration", "in a unit of your choice"),
        ("datetim", "did you mean 'datetime'"),
    ],
)
def test_what_others_call_a_type_is_told_in_our_words(kind, advice):
    with pytest.raises(SchemaError) as error:
        Schema.from_dict({"columns": [{"name": "x", "type": kind}]})
    assert advice in str(error.value)


def test_an_order_is_no_part_of_a_schema_without_one():
    plain = Schema((Categorical("x", ("a", "b")), Integer("y", 0, 1))).to_dict()
    assert plain["columns"][0] == {
        "name": "x", "type": "categorical", "values": ["a", "b"], "source": "public"
    }  # fmt: skip
