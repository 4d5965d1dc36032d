"""A data dictionary, and Croissant metadata that its own validator accepts and reads rows by."""

import datetime as dt
import hashlib
import json
import subprocess
import sys

import pyarrow as pa
import pytest

from tabpe.io import make_table_writer, read_table
from tabpe.io.exporters import ReleasedFile, build_croissant, describe_values, make_dictionary
from tabpe.schema import (
    Boolean,
    Categorical,
    Date,
    Datetime,
    Float,
    Id,
    Integer,
    Schema,
    Source,
    Time,
)

EVIL = "=cmd|\"<b>'é,"
SCHEMA = Schema(
    (
        Integer("age", 0, 99, nullable=True),
        Integer("visits", 0, 5),
        Float("bmi", 10.0, 60.0, decimals=1, nullable=True),
        Boolean("ill", nullable=True),
        Categorical(EVIL, ("heart", "lung"), nullable=True),
        Categorical("grade", (1, 2), nullable=True),
        Date("born", "1990-01-01", "2020-01-01", nullable=True),
        Datetime("seen", "2020-01-01T00:00", "2021-01-01T00:00", nullable=True),
        Time("at"),
        Id("patient", prefix="P"),
        Integer("weight", 0, 300, source=Source.ESTIMATED, estimated=("max",)),
        Integer("height", 0, 300, source=Source.DATA),
    ),
    label="ill",
)
ROWS = pa.table(
    {
        "age": [40, None],
        "visits": [1, 2],
        "bmi": [21.5, None],
        "ill": [True, None],
        EVIL: ["heart", None],
        "grade": [1, None],
        "born": [dt.date(2000, 1, 2), None],
        "seen": [dt.datetime(2020, 3, 4, 5, 6), None],
        "at": [dt.time(7, 8), dt.time(9, 10)],
        "patient": ["P1", "P2"],
        "weight": [70, 80],
        "height": [170, 180],
    }
)
# A process of its own: threads that the validator starts do not end with it.
READ = """
import json, os, sys, warnings
warnings.simplefilter("ignore")
import mlcroissant
found = mlcroissant.Dataset(sys.argv[1])
issues = found.metadata.issues
rows = [
    {key.split("/")[1]: str(cell) for key, cell in row.items()} for row in found.records("rows")
]
version = str(found.metadata.conforms_to)
print(json.dumps({"errors": list(issues.errors), "rows": rows, "version": version}))
sys.stdout.flush()
os._exit(0)
"""


def write(folder, name, *, escape_formulas=False):
    path = folder / name
    with path.open("wb") as file:
        make_table_writer(ROWS, path, escape_formulas=escape_formulas)(file)
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    return ReleasedFile(name, sha256, path.stat().st_size, escape_formulas)


@pytest.mark.parametrize("name", ["out.csv", "out.parquet"])
@pytest.mark.parametrize("escape", [False, True])
def test_the_validator_of_croissant_reads_the_rows(tmp_path, name, escape):
    if escape and name == "out.parquet":
        pytest.skip("only CSV has formulas")
    table = write(tmp_path, name, escape_formulas=escape)
    metadata = build_croissant(
        SCHEMA, table, description="Two rows", published="2026-01-31", creator="Data office"
    )
    path = tmp_path / "croissant.json"
    path.write_text(json.dumps(metadata))
    run = subprocess.run(
        [sys.executable, "-c", READ, path], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout.splitlines()[-1])
    assert found["errors"] == []
    assert "1.1" in found["version"]
    assert [row["1"] for row in found["rows"]] == ["1", "2"]
    assert found["rows"][0]["4"] == "b'heart'"
    assert found["rows"][1]["0"] == "None"


def test_a_changed_file_is_noticed_by_its_hash(tmp_path):
    table = write(tmp_path, "out.csv")
    metadata = build_croissant(SCHEMA, table, description="d", published="2026-01-31")
    assert metadata["distribution"][0]["sha256"] == table.sha256
    assert "creator" not in metadata


def test_the_dictionary_has_a_row_for_each_column_and_says_where_its_domain_is_from():
    found = {row["column"]: row for row in make_dictionary(SCHEMA).to_pylist()}
    assert tuple(found) == SCHEMA.names
    assert found["age"]["may be missing"] == "yes"
    assert found["ill"]["role"] == "label"
    assert "estimated" in found["weight"]["domain"]
    assert "max" in found["weight"]["domain"]
    assert "not covered" in found["height"]["domain"]
    assert "declared" in found["age"]["domain"]


def test_a_dictionary_of_hostile_names_runs_nothing_in_a_spreadsheet(tmp_path):
    path = tmp_path / "dictionary.csv"
    with path.open("wb") as file:
        make_table_writer(make_dictionary(SCHEMA), path, escape_formulas=True)(file)
    assert f"'{EVIL}" in read_table(path)["column"].to_pylist()


def test_many_and_long_values_are_cut():
    many = Categorical("code", tuple(f"{number}{'x' * 500}" for number in range(5000)))
    words = describe_values(many)
    assert len(words) < 6000
    assert "4,950 more" in words
