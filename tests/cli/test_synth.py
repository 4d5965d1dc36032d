"""`tabpe synth`, as a person meets it."""

import hashlib
import json

import pyarrow.parquet as pq
import pytest
from pyarrow import csv

from tabpe.io.example import hospital_schema


def test_it_writes_rows_and_a_certificate_and_says_so_in_three_lines(synth, folder):
    result = synth("--epsilon", 2, "--seed", 1)
    assert result.exit_code == 0, result.output
    table = csv.read_csv(folder / "out.csv")
    assert table.num_rows == 40
    assert tuple(table.schema.names) == hospital_schema().names
    certificate = json.loads((folder / "out.certificate.json").read_text())
    assert certificate["epsilon"] <= 2
    assert certificate["status"] == "private"
    assert len(result.stdout.splitlines()) == 3
    assert all(len(line) <= 80 for line in result.stdout.splitlines())


@pytest.mark.parametrize("name", ["out.csv", "out.parquet"])
def test_the_certificate_names_the_very_bytes_of_the_table(synth, folder, name):
    assert synth("-o", name).exit_code == 0
    written = (folder / name).read_bytes()
    assert json.loads((folder / "out.certificate.json").read_text())["release"] == {
        "file": name,
        "sha256": hashlib.sha256(written).hexdigest(),
        "rows": 40,
        "size_bytes": len(written),
        "formulas_escaped": False,
    }


def test_parquet_keeps_types(synth, folder):
    assert synth("-o", "out.parquet").exit_code == 0
    types = {field.name: str(field.type) for field in pq.read_schema(folder / "out.parquet")}
    assert types["age"] == "int64"
    assert types["new_drug"] == "bool"
    assert types["kidney_function"] == "double"
    assert types["ward"] == "string"


def test_quiet_says_nothing(synth):
    result = synth("--quiet")
    assert result.exit_code == 0
    assert result.output == ""


def test_more_rows_than_are_evolved(synth, folder):
    assert synth("--rows", 100, "--evolve", 30).exit_code == 0
    assert csv.read_csv(folder / "out.csv").num_rows == 100
    configuration = json.loads((folder / "out.certificate.json").read_text())["configuration"]
    assert configuration["n_samples"] == 30


@pytest.mark.parametrize(
    ("preset", "asked"),
    [("best", ["1-way marginals", "2-way marginals", "votes"]), ("paper", ["votes"])],
)
def test_declared_shares_and_rows_are_named_in_the_certificate(synth, folder, preset, asked):
    words = ("--class-share", "no=1", "--class-share", "yes=1", "--public-rows", 400)
    assert synth(*words, "--preset", preset).exit_code == 0
    certificate = json.loads((folder / "out.certificate.json").read_text())
    assert [item["name"] for item in certificate["spends"]] == asked
    assert any("400" in fact for fact in certificate["assumed_public"])


def test_noise_of_opendp(synth, folder):
    assert synth("--noise", "opendp").exit_code == 0
    certificate = json.loads((folder / "out.certificate.json").read_text())
    assert certificate["status"] == "private"
    assert "OpenDP" in certificate["noise"]
    assert certificate["sampling_delta"] == 0
    assert certificate["delta"] == 1e-5


def test_thin_votes_and_a_drafted_schema_are_warned_of_in_one_line_each(tabpe, folder):
    tabpe("schema", "init", "data.csv", "-o", "draft.yaml", "--label", "readmitted")
    words = ("--schema", "draft.yaml", "--delta", "1e-5", "--rows", 300, "-o", "out.csv")
    result = tabpe("synth", "data.csv", *words, "--public-rows", 400, "--preset", "paper")
    assert result.exit_code == 0
    warnings = [line for line in result.stderr.splitlines() if line.startswith("warning: ")]
    assert len(warnings) == 2
    assert "read off the data" in result.stderr
    assert "more than a fifth" in result.stderr


def test_force_overwrites(synth, folder):
    (folder / "out.csv").write_text("mine")
    assert synth("--force").exit_code == 0
    assert (folder / "out.csv").read_text() != "mine"


def test_formulas_can_be_defused(tabpe, folder):
    (folder / "sums.csv").write_text("cell\n" + "=1+1\n" * 50)
    (folder / "sums.yaml").write_text(
        "columns:\n- {name: cell, type: categorical, values: ['=1+1']}\n"
    )
    words = ("--schema", "sums.yaml", "--delta", "1e-5", "--rows", 5, "--escape-formulas")
    assert tabpe("synth", "sums.csv", *words, "-o", "out.csv").exit_code == 0
    assert (folder / "out.csv").read_text().splitlines()[1] == "'=1+1"


@pytest.mark.parametrize("preset", ["paper", "reference"])
def test_presets(synth, folder, preset):
    assert synth("--preset", preset).exit_code == 0
    configuration = json.loads((folder / "out.certificate.json").read_text())["configuration"]
    assert configuration["rounds"] == {"paper": 15, "reference": 14}[preset]


@pytest.mark.parametrize(
    "words",
    [
        ["--engine", "local", "--jobs", "1"],
        ["--engine", "stream", "--spill-dir", "spilt"],
        ["--engine", "stream", "--no-spill", "--jobs", "-1"],
        ["--memory-limit", "1kB"],
    ],
)
def test_a_folder_is_read_by_every_engine(tabpe, folder, words):
    (folder / "in").mkdir()
    (folder / "spilt").mkdir()
    lines = (folder / "data.csv").read_text().splitlines()
    for name, rows in [("a", lines[1:150]), ("b", lines[150:])]:
        (folder / "in" / f"{name}.csv").write_text("\n".join([lines[0], *rows]) + "\n")
    usual = ("--schema", "schema.yaml", "--delta", "1e-5", "--rows", 40, "-o", "out.csv")
    result = tabpe("synth", "in", *usual, *words)
    assert result.exit_code == 0, result.output
    assert csv.read_csv(folder / "out.csv").num_rows == 40
    assert list((folder / "spilt").iterdir()) == []
