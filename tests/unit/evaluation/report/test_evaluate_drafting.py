"""Schemas for tables that come without one."""

from datetime import timedelta

import pyarrow as pa
import pytest

from tabpe import Boolean, Integer, Schema
from tabpe.errors import DataError, ParameterError
from tabpe.evaluation.report.evaluate import draft_from_table, keep_shared_columns, set_label


def test_a_drafted_schema_passes_over_nulls_and_blanks():
    table = pa.table({"n": ["1", "", "3"], "t": ["x", None, "y"], "f": [0.5, float("nan"), None]})
    schema, notes = draft_from_table(table, None)
    assert schema["n"] == Integer("n", 1, 3, source=schema["n"].source)
    assert schema["t"].values == ("x", "y")
    assert (schema["f"].min, schema["f"].max) == (0.5, 0.5)
    assert len(notes) == 1


def test_a_drafted_schema_leaves_out_what_can_not_be_measured():
    ids = [f"id {i}" for i in range(1200)]
    table = pa.table({"id": ids, "age": list(range(1200)), "no": pa.nulls(1200, pa.int64())})
    schema, notes = draft_from_table(table, None)
    assert schema.names == ("age",)
    assert [note.split(":")[0] for note in notes[1:]] == ["left out", "left out"]
    assert "id 7" not in " ".join(notes)


def test_a_label_that_can_not_be_measured_is_an_error():
    table = pa.table({"id": [f"id {i}" for i in range(1200)], "age": list(range(1200))})
    with pytest.raises(DataError, match="'id'"):
        draft_from_table(table, "id")
    with pytest.raises(ParameterError, match="label='aeg'"):
        draft_from_table(table, "aeg")


def test_a_table_with_nothing_to_measure_is_refused():
    with pytest.raises(DataError):
        draft_from_table(pa.table({"no": pa.nulls(3, pa.int64())}), None)


def test_another_numeric_label_gets_classes_from_the_table():
    schema = Schema((Integer("age", 0, 100), Boolean("ill")))
    table = pa.table({"age": [*range(100), 0.5], "ill": [True] * 101})
    assert len(set_label(schema, "age", table).label_cuts) == 3
    few = set_label(schema, "age", table.slice(0, 5))
    assert few.class_names == ("0", "1", "2", "3", "4")
    assert set_label(schema, "ill", table).label_cuts is None
    assert set_label(schema, None, table) is schema


def test_a_column_of_nulls_is_named_as_that():
    table = pa.table({"no": pa.nulls(3, pa.int64()), "blank": ["", " ", None], "age": [1, 2, 3]})
    schema, notes = draft_from_table(table, None)
    assert schema.names == ("age",)
    assert notes[1:] == (
        "left out: column 'no' holds no value at all.",
        "left out: column 'blank' holds no value at all.",
    )
    with pytest.raises(DataError, match="'no'"):
        draft_from_table(table, "no")


def test_how_long_something_took_is_a_number_of_seconds():
    table = pa.table({"took": [timedelta(hours=1), timedelta(hours=2)], "age": [1, 2]})
    schema, _ = draft_from_table(table, None)
    assert (schema["took"].min, schema["took"].max) == (3600, 7200)


@pytest.mark.parametrize(
    "cells", [pa.array(["a", "b"]), pa.array([[1], [2]]), pa.array([1.0, float("inf")])]
)
def test_a_column_that_is_another_thing_in_the_synthetic_table_is_left_out(cells):
    schema, _ = draft_from_table(pa.table({"dose": [0.5, 1.5], "age": [1, 2]}), None)
    kept, notes = keep_shared_columns(schema, pa.table({"dose": cells, "age": [1, 2]}))
    assert kept.names == ("age",)
    assert notes[0].startswith("left out: the synthetic table: column 'dose' ")
    with pytest.raises(DataError):
        keep_shared_columns(schema, pa.table({"other": [1]}))
