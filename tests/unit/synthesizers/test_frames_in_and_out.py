"""`TabPE`: frames in and out."""

import io

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from facade import (
    SCHEMA,
    columns,
    fake_fit,
    fitted,
    frames,
    rows_of,
)
from output_types import expected_types, library_of, types_of
from tabpe import Evolution


@pytest.mark.parametrize("kind", frames(columns(5)))
def test_every_kind_of_frame_gives_the_same_rows(kind):
    data = columns()
    expected = fake_fit(pa.table(data)).sample()
    found = fake_fit(frames(data)[kind]).sample()
    assert rows_of(found) == rows_of(expected)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("pyarrow", pa.Table), ("pandas", pd.DataFrame), ("polars", pl.DataFrame)],
)
def test_what_comes_in_goes_out(kind, expected):
    given = frames(columns())[kind]
    found = fitted(given).sample()
    assert isinstance(found, expected)
    assert list(found.schema.names if kind == "pyarrow" else found.columns) == list(SCHEMA.names)


@pytest.mark.parametrize("kind", frames(columns(5)))
def test_types_are_those_of_the_schema_and_the_library(kind):
    made = fitted(frames(columns())[kind]).sample()
    assert types_of(made) == expected_types(SCHEMA, library_of(made))


def test_paths_to_csv_and_parquet_give_the_same_rows_as_the_table(table, tmp_path):
    pa.csv.write_csv(table, tmp_path / "rows.csv")
    pq.write_table(table, tmp_path / "rows.parquet")
    expected = rows_of(fake_fit(table).sample())
    for data in (tmp_path / "rows.csv", str(tmp_path / "rows.csv"), tmp_path / "rows.parquet"):
        assert rows_of(fake_fit(data).sample()) == expected


def test_a_relation_of_duckdb_gives_the_same_rows_as_the_table(table):
    relation = duckdb.from_arrow(table).order("age")
    expected = fake_fit(table.sort_by("age")).sample()
    assert fake_fit(relation).sample().to_pylist() == expected.to_pylist()


def test_a_schema_may_be_a_path(table, tmp_path):
    SCHEMA.save(tmp_path / "schema.yaml")
    for schema in (tmp_path / "schema.yaml", str(tmp_path / "schema.yaml")):
        assert fitted(table, schema).schema_ == SCHEMA


def as_bytes(frame):
    out = io.BytesIO()
    pa.csv.write_csv(frame, out)
    return out.getvalue()


@pytest.mark.parametrize("preset", ["paper", "reference", Evolution(rounds=4, operator="genetic")])
def test_the_same_seed_and_fake_noise_give_the_same_bytes(table, preset):
    one, other = (fake_fit(table, preset=preset) for _ in range(2))
    assert as_bytes(one.sample()) == as_bytes(other.sample())
    assert as_bytes(one.sample(77)) == as_bytes(other.sample(77))
    assert one.history_ == other.history_


def test_another_seed_gives_other_rows(table):
    assert rows_of(fake_fit(table).sample()) != rows_of(fake_fit(table, random_state=1).sample())


def test_without_a_seed_every_run_differs(table):
    one, other = (fake_fit(table, random_state=None) for _ in range(2))
    assert rows_of(one.sample()) != rows_of(other.sample())


def test_the_fitted_frame_is_not_changed():
    given = frames(columns())["pandas"]
    before = given.copy(deep=True)
    fitted(given)
    pd.testing.assert_frame_equal(given, before)
