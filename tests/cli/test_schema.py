"""`tabpe schema`, as a person meets it."""

import dataclasses
import json

import pyarrow as pa
import pytest
from pyarrow import csv

from tabpe.io.example import hospital_table
from tabpe.schema import Categorical, Schema

ROWS = 400


def test_init_drafts_and_marks_every_column(tabpe, folder):
    result = tabpe("schema", "init", "data.csv", "-o", "draft.yaml", "--label", "readmitted")
    assert result.exit_code == 0, result.output
    draft = Schema.load(folder / "draft.yaml")
    assert draft.label == "readmitted"
    assert "age.min" in draft.fields_from_data
    assert (folder / "draft.yaml").read_text().startswith("# What is public")
    assert (folder / "draft.yaml").read_text().count("source: data") == 9 + 1


def test_init_leaves_out_dropped_columns(tabpe, folder):
    assert tabpe("schema", "init", "data.csv", "-o", "d.json", "--drop", "age").exit_code == 0
    assert "age" not in Schema.load(folder / "d.json").names


def test_init_overwrites_with_force_only(tabpe, folder):
    before = (folder / "schema.yaml").read_text()
    result = tabpe("schema", "init", "data.csv", "-o", "schema.yaml")
    assert result.exit_code == 2
    assert "--force" in result.stderr
    assert (folder / "schema.yaml").read_text() == before
    assert tabpe("schema", "init", "data.csv", "-o", "schema.yaml", "--force").exit_code == 0
    assert (folder / "schema.yaml").read_text() != before


@pytest.mark.parametrize(
    ("content", "word"),
    [
        ("", "empty"),
        ("a,b\n", "no row"),
        ("a,a\n1,2\n", "same name"),
        ("a,b\n1\n", "cells"),
    ],
)
def test_init_refuses_what_is_no_table(tabpe, folder, content, word):
    (folder / "bad.csv").write_text(content)
    result = tabpe("schema", "init", "bad.csv", "-o", "draft.yaml")
    assert result.exit_code == 2
    assert word in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert not (folder / "draft.yaml").exists()


def test_init_refuses_a_label_that_is_not_there(tabpe, folder):
    result = tabpe("schema", "init", "data.csv", "-o", "draft.yaml", "--label", "readmit")
    assert result.exit_code == 2
    assert "label='readmit' is not a column" in result.stderr


def test_check_of_a_declared_schema(tabpe, folder):
    result = tabpe("schema", "check", "schema.yaml", "data.csv")
    assert result.exit_code == 0
    assert "declared public" in result.stdout
    assert "fits" in result.stdout


def test_check_lists_what_is_from_the_data_and_what_is_left_out(tabpe, folder):
    tabpe("schema", "init", "data.csv", "-o", "draft.yaml", "--drop", "sex")
    result = tabpe("schema", "check", "draft.yaml", "data.csv")
    assert result.exit_code == 0
    assert "age.min" in result.stdout
    assert "left out: sex" in result.stdout
    assert all(len(line) <= 80 for line in result.stdout.splitlines())


def test_check_counts_cells_that_do_not_fit_and_shows_none(tabpe, folder):
    text = (folder / "schema.yaml").read_text().replace("orthopaedics", "another")
    (folder / "schema.yaml").write_text(text)
    table = hospital_table(ROWS)
    ages = pa.array([*map(str, table["age"].to_pylist()[:-3]), "old", "", "999"])
    csv.write_csv(table.set_column(table.schema.get_field_index("age"), "age", ages), "data.csv")
    result = tabpe("schema", "check", "schema.yaml", "data.csv")
    assert result.exit_code == 0, result.output
    said = " ".join(result.stdout.split())
    unlisted = table["ward"].to_pylist().count("orthopaedics")
    assert "2 of 9 columns have cells that do not fit" in said
    assert f"ward: {unlisted} not listed" in said
    assert "age: 1 missing, 1 unreadable, 1 out of bounds" in said
    assert "exact and private" in said
    assert "orthopaedics" not in result.output
    assert "old" not in said.replace("threshold", "").split()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({}, "counts as 'surgery'"),
        ({"other": "heart"}, "counts as 'heart'"),
        ({"default": "heart"}, "counts as 'heart'"),
        ({"nullable": True}, "counts as null"),
    ],
)
def test_check_says_what_a_cell_counts_as(tabpe, folder, change, words):
    ward = Categorical("ward", ("surgery", "heart"), **change)
    Schema((ward,)).save(folder / "schema.yaml")
    result = tabpe("schema", "check", "schema.yaml", "data.csv")
    assert words in " ".join(result.stdout.split())


def with_rules(folder, *rules):
    schema = dataclasses.replace(Schema.load(folder / "schema.yaml"), rules=rules)
    schema.save(folder / "schema.yaml")


def test_check_tells_that_rules_can_be_obeyed(tabpe, folder):
    with_rules(folder, "length_of_stay <= age", "if new_drug then age >= 30")
    result = tabpe("schema", "check", "schema.yaml", "data.csv")
    assert result.exit_code == 0, result.output
    assert "rules" in result.output
    assert "2, which rows of every class can satisfy" in result.output


@pytest.mark.parametrize("command", [("schema", "check", "schema.yaml"), ("synth", "data.csv")])
def test_rules_that_nothing_obeys_are_wrong_use(tabpe, folder, command):
    with_rules(folder, "age > 60", "age < 50")
    more = ("--schema", "schema.yaml", "--delta", "1e-5", "-o", "out.csv")
    result = tabpe(*command, *(more if command[0] == "synth" else ()))
    assert result.exit_code == 2
    assert "no row with readmitted='no' was found" in " ".join(result.output.split())
    assert not (folder / "out.csv").exists()


def test_a_rule_that_can_not_be_read_is_named_with_its_place(tabpe, folder):
    text = (folder / "schema.yaml").read_text()
    (folder / "schema.yaml").write_text(text + "rules:\n- agee > 3\n")
    result = tabpe("schema", "check", "schema.yaml")
    assert result.exit_code == 2
    assert "'agee > 3', character 1: no column 'agee': did you mean 'age'?" in " ".join(
        result.output.split()
    )


def test_synth_keeps_rules(tabpe, folder):
    with_rules(folder, "length_of_stay <= age / 10")
    words = ("--schema", "schema.yaml", "--delta", "1e-5", "--rows", 40, "-o", "out.csv")
    result = tabpe("synth", "data.csv", *words)
    assert result.exit_code == 0, result.output
    made = csv.read_csv(folder / "out.csv").to_pandas()
    assert (made.length_of_stay <= made.age / 10).all()
    certificate = json.loads((folder / "out.certificate.json").read_text())
    assert certificate["schema"]["rules"] == ["length_of_stay <= age / 10"]
    assert tabpe("verify", "out.certificate.json", "out.csv").exit_code == 0
