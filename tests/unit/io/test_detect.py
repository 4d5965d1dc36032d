"""A whole draft of a messy table: one detection at a time, and nothing that stops it."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tabpe.errors import SchemaError
from tabpe.io.detect import draft_table
from tabpe.schema import PartialSchema, Schema

ROWS = 200


def draft(cells, name="x", **options):
    (found,) = draft_table(pa.table({name: cells}), **options).columns
    return found


def repeat(*values):
    return [values[n % len(values)] for n in range(ROWS)]


@pytest.mark.parametrize(
    ("cells", "kind", "fields"),
    [
        (repeat("31.12.2024", "01.02.2023"), "date", {"format": "%d.%m.%Y"}),
        (repeat("12/31/2024", "02/01/2023"), "date", {"format": "%m/%d/%Y"}),
        (repeat("31/12/2024", "02/01/2023"), "date", {"format": "%d/%m/%Y"}),
        (repeat("31.12.24", "01.02.23"), "date", {"format": "%d.%m.%y"}),
        (repeat("20241231", "20230201"), "date", {"format": "%Y%m%d"}),
        (repeat("Dec 31, 2024", "Feb 01, 2023"), "date", {"format": "%b %d, %Y"}),
        (repeat("31.12.2024 18:30", "01.02.2023 07:15"), "datetime", {"format": "%d.%m.%Y %H:%M"}),
        (repeat("2024-12-31", "2023-02-01"), "date", {}),
        (repeat("18:30", "07:15"), "time", {}),
        (repeat("ja", "nein"), "categorical", {"values": ["ja", "nein"]}),
        (repeat("0", "1"), "categorical", {"values": [0, 1]}),
        (repeat("true", "FALSE"), "boolean", {}),
        (repeat("01067", "80331"), "categorical", {"values": ["01067", "80331"]}),
        (repeat("low", "high", "medium"), "categorical", {"values": ["low", "medium", "high"]}),
        (repeat("65+", "18-24", "25-64"), "categorical", {"values": ["18-24", "25-64", "65+"]}),
        (repeat("DE", "FR", "JP", "NA"), "categorical", {"values": "iso-3166"}),
        (repeat("12 %", "7 %", "55 %"), "integer", {"format": "1234%"}),
        (repeat("1,234.50 USD", "7.25 USD"), "float", {"format": "1,234.56 USD"}),
        (repeat("1.5e-3", "2.5e+2"), "float", {}),
        (repeat("3", "unknown", "5", "8"), "integer", {"nulls": ["unknown"], "nullable": True}),
        (repeat("red", "n/a", "blue"), "categorical", {"nulls": ["n/a"]}),
        (repeat("none", "mild", "severe"), "categorical", {"values": ["none", "mild", "severe"]}),
        (repeat("A12.1", "B07.0"), "categorical", {"values": ["A12.1", "B07.0"]}),
        (repeat(7, 7), "integer", {"min": 7, "max": 7}),
        ([float(n) ** 4 for n in range(ROWS)], "integer", {"scale": "log"}),
        ([[1], [2]] * 100, "drop", {}),
        ([None] * ROWS, "drop", {}),
        ([str(n) for n in range(ROWS)], "drop", {}),
        ([f"K{n:07d}" for n in range(ROWS)], "drop", {}),
        ([f"p{n}@example.org" for n in range(ROWS)], "drop", {}),
        ([f"+49 30 {5_550_000 + n * 7}" for n in range(ROWS)], "drop", {}),
        ([str(90_000_000_000 + 7919 * n) for n in range(ROWS)], "drop", {}),
        ([f"Seen for {n}.5 days, to be observed" for n in range(ROWS)], "drop", {}),
        (repeat("19-feb-2018", "03-dic-1957"), "date", {"format": "%d-%b-%Y (es)"}),
        (repeat("3 de abril de 2018", "1 de enero de 1957"), "date", {}),
        (repeat("31. Oktober 2024", "1. März 2024"), "date", {"format": "%d. %B %Y (de)"}),
        (repeat("19 févr. 2018", "03 août 1957"), "date", {"format": "%d %b %Y (fr)"}),
        (repeat("sí", "no", "s/d"), "categorical", {"nulls": ["s/d"], "values": ["no", "sí"]}),
        (repeat("nulo", "leve", "intenso"), "categorical", {"ordered": True}),
        ([f"Mr Smith came in with {n} things to say" for n in range(ROWS)], "drop", {}),
        ([2.0**80 * n for n in range(ROWS)], "drop", {}),
    ],
)
def test_a_column_is_drafted_as_what_it_is(cells, kind, fields):
    found = draft(cells)
    assert found.kind == kind, found
    assert {name: found.entry.get(name) for name in fields} == fields
    if kind != "drop":
        assert found.entry["source"] == "data"
        assert Schema.from_dict({"columns": [dict(found.entry)]}).fields_from_data


@pytest.mark.parametrize("word", ["puuttuu", "nežinoma", "n.b.", "not asked"])
def test_a_word_of_any_language_among_numbers_is_missing(word):
    found = draft([word if n % 20 == 0 else str(18 + n % 70) for n in range(ROWS)])
    assert (found.kind, found.entry["nulls"]) == ("integer", [word])
    assert "do the nulls mean missing?" in found.check


@pytest.mark.parametrize(
    "cells",
    [
        repeat("1", "2", "3", "none of these"),
        [*map(str, range(ROWS // 2)), *["many"] * ROWS],
        [f"A{n:02d}" if n % 2 else "healthy" for n in range(40)] * 5,
    ],
)
def test_a_word_among_codes_or_as_common_as_numbers_is_a_value(cells):
    assert "nulls" not in draft(cells).entry


def test_numbers_that_were_measured_are_no_keys():
    rng = np.random.default_rng(0)
    for cells in (rng.lognormal(15, 2, 5000).astype(int), rng.integers(100, 1000, 5000)):
        assert draft(cells.tolist()).kind == "integer"
    days = [f"{2000 + n % 24}{1 + n % 12:02d}{1 + n % 28:02d}" for n in range(ROWS)]
    assert draft(days).kind == "date"


def make_visits(persons, rows=600):
    rng = np.random.default_rng(0)
    who = rng.integers(0, persons, rows)
    return {
        "ward": rng.integers(0, 150, rows),
        "Kennung": [f"K{100 + 7 * one}" for one in who],
        "Vorname": [f"N{one % 40}" for one in who],
        "cost": rng.integers(0, 200, rows),
    }


def test_a_key_of_persons_is_seen_by_what_goes_with_it_whatever_it_is_called():
    found = draft_table(pa.table(make_visits(150)))
    assert found.unit == "Kennung"
    assert [one.kind for one in found.columns] == ["integer", "drop", "drop", "integer"]


def test_a_column_that_names_do_not_follow_is_no_key():
    visits = make_visits(150)
    visits["Vorname"] = np.random.default_rng(1).permutation(visits["Vorname"])
    assert draft_table(pa.table(visits)).unit is None


@pytest.mark.parametrize(
    "name",
    [
        "Nachname",
        "first_name",
        "patientName",
        "E-Mail",
        "phone",
        "Straße",
        "street",
        "Móvil",
        "pt_name",
    ],
)
def test_names_and_addresses_are_left_out_however_few_there_are(name):
    assert draft(repeat("Ott", "Kern", "Lang"), name).kind == "drop"
    assert draft(repeat("yes", "no"), name).kind != "drop"


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["31.12.2024"] * 300 + ["soon"], "date"),
        (["2,5"] * 300 + ["broken"], "float"),
        (["17"] * 300 + ["1e999"], "integer"),
        ([5] * 300 + [None], "integer"),
    ],
)
def test_one_row_does_not_change_what_a_column_is(cells, kind):
    found = draft(cells)
    assert found.kind == kind
    assert found.entry["nullable"] is True


def test_a_date_that_may_be_either_way_round_is_to_be_checked():
    found = draft(repeat("01/02/2024", "03/04/2024"))
    assert found.kind == "date"
    assert "is the day first" in found.check


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_ordered_categories_of_a_frame_keep_their_order(library):
    order = ["small", "tall", "huge"]
    if library == "pandas":
        kind = pd.CategoricalDtype(order, ordered=True)
        frame = pd.DataFrame({"x": pd.Series(repeat(*order), dtype=kind)})
    else:
        frame = pl.DataFrame({"x": pl.Series(repeat(*order), dtype=pl.Enum(order))})
    (found,) = draft_table(frame).columns
    assert found.entry["values"] == order
    assert found.entry["ordered"] is True


def test_wide_codes_are_left_to_an_estimate():
    found = draft([f"{chr(65 + n % 26)}{n % 300:03d}" for n in range(3000)] * 3)
    assert found.entry == {"name": "x", "type": "categorical", "top": 100, "other": "other"}
    assert PartialSchema.from_dict({"columns": [dict(found.entry)]}).missing == ("x.values",)


def test_persons_and_rules_are_proposed_in_words():
    days = [dt.date(2024, 1, 1) + dt.timedelta(n % 90) for n in range(ROWS)]
    table = pa.table(
        {
            "patient_id": [f"P{n % 70}" for n in range(ROWS)],
            "admission": days,
            "discharge": [day + dt.timedelta(n % 5) for n, day in enumerate(days)],
        }
    )
    found = draft_table(table)
    assert found.unit == "patient_id"
    assert found.rules == ("discharge >= admission",)
    assert "rules" not in found.to_dict()


def test_labels_become_classes_or_are_cut():
    table = pa.table({"x": [n % 3 for n in range(ROWS)], "y": np.arange(ROWS) * 1.5})
    assert draft_table(table, label="x").to_dict()["columns"][0]["values"] == [0, 1, 2]
    cut = draft_table(table, label="y").to_dict()
    assert len(cut["label_cuts"]) == 3
    Schema.from_dict(cut)


@pytest.mark.parametrize("options", [{"label": "no"}, {"drop": ["no"]}])
def test_a_name_that_is_not_there_is_refused(options):
    with pytest.raises(SchemaError, match="'no' is not a column"):
        draft_table(pa.table({"x": [1]}), **options)


cell = st.one_of(
    st.none(),
    st.text(max_size=8),
    st.sampled_from(["1,5", "2.5", "31.12.2024", "-", "ja", "0012", "$5", "1e9", "a@b.co", "inf"]),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(cell, min_size=1, max_size=40), st.sampled_from(["x", "id", "name", "patient_id"]))
def test_whatever_a_column_holds_it_gets_an_entry_that_can_be_loaded(cells, name):
    table = pa.table({name: pa.array(cells, pa.string()), "age": [1] * len(cells)})
    drafted = draft_table(table)
    assert [one.name for one in drafted.columns] == [name, "age"]
    PartialSchema.from_dict(drafted.to_dict())
    for one in drafted.columns:
        assert one.why
        assert not any(text and len(text) > 3 and text in one.why + one.check for text in cells)


def test_a_second_row_of_the_header_does_not_hide_dates():
    for pattern in ("%m/%d/%Y", "%Y-%m-%d"):
        days = [(dt.date(2024, 1, 1) + dt.timedelta(day)).strftime(pattern) for day in range(200)]
        found = draft(["(the day of the visit, as text)", *days])
        assert (found.kind, found.entry["nullable"]) == ("date", True)
        assert found.entry["format"] == pattern


def test_dates_in_several_formats_are_left_out_for_that_reason():
    days = [dt.date(2024, 1, 1) + dt.timedelta(day) for day in range(200)]
    texts = [day.strftime(("%d.%m.%Y", "%Y-%m-%d")[day.day % 2]) for day in days]
    assert draft(texts).entry["drop"] == "dates in several formats"


@pytest.mark.parametrize("write", [str, lambda value: f"{value:.2f} EUR".replace(".", ",")])
def test_amounts_that_pile_up_are_special_and_say_so(write):
    cells = [write(value) for value in [0.0] * 80 + np.linspace(2, 80, ROWS).round(2).tolist()]
    found = draft(cells)
    assert found.entry["special"] == [0.0]
    assert "special values" in found.why
    assert found.entry["source"] == "data"
