"""A table against its certificate: the very bytes, the number of rows, every row."""

import dataclasses
import hashlib
import json

import pyarrow as pa
import pytest

from certificates import SCHEMA, honest
from tabpe.accounting import WrittenTable
from tabpe.errors import DataError
from tabpe.io import make_table_writer
from tabpe.verification import FAILED, GIVEN, verify_plain

CELLS = {"age": [0, 99, 30], "bmi": [10.0, 60.0, 22.5], "ward": ["heart", "lung", "else"]}


def written(folder, cells, name="out.csv"):
    path = folder / name
    with path.open("wb") as file:
        make_table_writer(pa.table(cells), path)(file)
    return path


def named(path, rows=3, **changes):
    content = path.read_bytes()
    sha256 = hashlib.sha256(content).hexdigest()
    table = WrittenTable(path.name, sha256, rows, len(content))
    return json.loads(honest(release=dataclasses.replace(table, **changes)).to_json())


def failed(plain, path):
    return {check.name for check in verify_plain(plain, path).checks if check.outcome == FAILED}


@pytest.mark.parametrize("name", ["out.csv", "out.parquet"])
def test_the_table_that_was_certified_is_known_again(tmp_path, name):
    path = written(tmp_path, CELLS, name)
    assert verify_plain(named(path), path).holds


@pytest.mark.parametrize("change", [lambda b: b + b"\n", lambda b: b.replace(b"30", b"31")])
def test_a_changed_byte_is_seen(tmp_path, change):
    path = written(tmp_path, CELLS)
    plain = named(path)
    path.write_bytes(change(path.read_bytes()))
    assert failed(plain, path) == {"table"}


@pytest.mark.parametrize(
    ("changes", "seen"),
    [({"sha256": "0" * 64}, "table"), ({"size_bytes": 7}, "table"), ({"rows": 4}, "rows")],
)
def test_a_changed_field_is_seen(tmp_path, changes, seen):
    path = written(tmp_path, CELLS)
    assert failed(named(path, **changes), path) == {seen}


@pytest.mark.parametrize(
    "change",
    [
        {"age": [0, 100, 30]},
        {"age": [0, -1, 30]},
        {"age": ["0", "1.5", "3"]},
        {"age": [0, None, 30]},
        {"bmi": [10.0, 60.0, 22.55]},
        {"bmi": ["10", "inf", "22"]},
        {"ward": ["heart", "lung", "liver"]},
    ],
)
def test_a_row_that_does_not_fit_the_schema_is_seen_and_not_shown(tmp_path, change):
    path = written(tmp_path, CELLS | change)
    assert failed(named(path), path) == {"rows"}
    words = [check.words for check in verify_plain(named(path), path).checks if "row" in check.name]
    assert "in row " in words[0]
    assert "liver" not in words[0]


@pytest.mark.parametrize(
    "cells",
    [
        CELLS | {"more": [1, 2, 3]},
        {"bmi": CELLS["bmi"], "age": CELLS["age"], "ward": CELLS["ward"]},
        {"age": CELLS["age"]},
    ],
)
def test_other_columns_are_seen(tmp_path, cells):
    path = written(tmp_path, cells)
    assert failed(named(path), path) == {"rows"}


def test_what_is_no_table_is_seen(tmp_path):
    path = tmp_path / "out.csv"
    path.write_bytes(b"\xff\x00")
    assert failed(named(path), path) == {"rows"}


def test_escaped_formulas_are_not_held_to_the_schema(tmp_path):
    path = written(tmp_path, CELLS | {"ward": ["'=1", "lung", "else"]})
    found = verify_plain(named(path, formulas_escaped=True), path)
    assert found.holds
    assert [check.name for check in found.checks if check.outcome == GIVEN] == ["rows"]


def test_a_certificate_that_names_no_table_is_of_none(tmp_path):
    path = written(tmp_path, CELLS)
    assert failed(json.loads(honest().to_json()), path) == {"table"}


def test_a_damaged_schema_holds_no_rows(tmp_path):
    path = written(tmp_path, CELLS)
    assert failed(named(path) | {"schema": {"columns": []}}, path) == {"schema", "rows"}


def test_a_missing_table_is_an_error(tmp_path):
    with pytest.raises(DataError, match=r"gone\.csv"):
        verify_plain(named(written(tmp_path, CELLS)), tmp_path / "gone.csv")


def test_the_schema_of_these_tests_has_an_other():
    assert SCHEMA["ward"].other == "else"
