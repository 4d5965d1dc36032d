"""The commands and the code of the page about databases run as they stand there."""

import json
import re
import shlex
import sqlite3
from pathlib import Path

import duckdb
import pytest
from typer.testing import CliRunner

from tabpe.cli.app import app
from tabpe.io.example import hospital_schema, hospital_table

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "how-to" / "databases.md").read_text()


@pytest.fixture
def ward(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    patients = hospital_table(2000)
    with duckdb.connect("ward.duckdb") as base:
        base.register("made", patients)
        base.execute("CREATE TABLE patients AS SELECT * FROM made")
    with sqlite3.connect("ward.db") as base:
        patients.to_pandas().to_sql("patients", base, index=False)
    base.close()


def test_the_commands_run(ward):
    (commands,) = re.findall(r"```sh\n(.*?)```", PAGE, flags=re.DOTALL)
    for command in commands.splitlines():
        result = CliRunner().invoke(app, shlex.split(command)[1:])
        assert result.exit_code == 0, result.output
        hospital_schema().save("schema.yaml")
    for name in ("synthetic", "adults"):
        assert Path(f"{name}.csv").exists()


def test_the_code_runs(ward):
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    names = {"schema": hospital_schema()}
    exec(code, names)
    assert names["model"].sample().num_rows == 100


def test_the_figures_are_those_of_the_result():
    found = json.loads((ROOT / "lab" / "benchmarks" / "results" / "warehouse.json").read_text())
    text = " ".join(PAGE.split())
    assert found["identical_rows_with_fake_noise"]
    assert f"{found['runs']['PostgreSQL']['seconds']:.0f} s" in text
    assert f"{found['runs']['PostgreSQL']['peak_mb']} MB" in text
    assert f"{found['time_ratio_to_parquet']:g} times" in text
