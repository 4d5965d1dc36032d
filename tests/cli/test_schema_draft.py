"""`tabpe schema init` and `check` on tables as people have them, and what may leave."""

import json

import pytest
import yaml
from typer.testing import CliRunner

from tabpe.cli.app import app

SECRET = "Secret-Cell-4711"
FAST = ("--delta", "1e-5", "--epsilon", 8, "--rows", 20, "--preset", "paper", "--seed", 0)


@pytest.fixture
def ward(folder):
    """A small export with semicolons, and a column that must not leave."""
    lines = [
        f"{n % 70};{'ja' if n % 3 else 'nein'};{n % 9},5;{SECRET} {n} told us a lot more"
        for n in range(300)
    ]
    (folder / "ward.csv").write_text("age;smoker;fee;notes\n" + "\n".join(lines) + "\n")
    return "ward.csv"


def load(folder, name="draft.yaml"):
    return yaml.safe_load((folder / name).read_text())


def test_a_draft_says_what_each_column_is_and_shows_no_cell(tabpe, folder, ward):
    result = tabpe("schema", "init", ward, "-o", "draft.yaml")
    assert result.exit_code == 0, result.output
    said = " ".join(result.stdout.split())
    assert "column type why; what to check" in said
    assert "notes drop free text" in said
    assert "smoker categorical words for yes and no" in said
    assert "delimiter ';'" in said
    assert SECRET not in result.output + (folder / "draft.yaml").read_text()
    assert load(folder)["format"] == {"delimiter": ";", "decimal": ",", "source": "data"}
    assert load(folder)["columns"][1]["values"] == ["ja", "nein"]


@pytest.mark.parametrize(
    ("answers", "age", "smoker"),
    [
        (["y", "public", "drop", "later"], "public", "dropped"),
        (["n", "estimate", "estimate", "p"], "estimate", "estimate"),
        (["y", "what?", "e", "public", ""], "estimate", "public"),
    ],
)
def test_a_person_decides_on_each_column(folder, ward, answers, age, smoker):
    words = ["schema", "init", ward, "-o", "draft.yaml", "--interactive"]
    result = CliRunner().invoke(app, words, input="\n".join(answers) + "\n")
    assert result.exit_code == 0, result.output
    plain = load(folder)
    entries = {entry["name"]: entry for entry in plain["columns"]}
    assert plain["format"]["source"] == ("public" if answers[0] == "y" else "data")
    expected = {
        "public": lambda entry: (
            entry["source"] == "public" and ("max" in entry or "values" in entry)
        ),
        "estimate": lambda entry: (
            entry["source"] == "public" and not {"max", "values"} & set(entry)
        ),
        "dropped": lambda entry: "drop" in entry,
    }
    assert expected[age](entries["age"])
    assert expected[smoker](entries["smoker"])
    assert "drop" in entries["notes"]


def test_check_understands_gaps_and_tells_everything_at_once(tabpe, folder, ward):
    (folder / "gaps.yaml").write_text(
        "format: {delimiter: ;, decimal: ','}\n"
        "columns:\n"
        "- {name: age, type: integer, min: 30, max: 60}\n"
        "- {name: smoker, type: categorical, values: [ja]}\n"
        "- {name: fee, type: float}\n"
        "- {name: height, type: integer, min: 0, max: 9}\n"
        "- {name: weight, type: integer, min: 0, max: 9}\n"
    )
    result = tabpe("schema", "check", "gaps.yaml", ward)
    said = " ".join(result.output.split())
    assert result.exit_code == 2
    assert "age: 176 out of bounds; counts as the nearest bound" in said
    assert "age: min cuts 46.7% of the rows" in said
    assert "age: max cuts 12.0% of the rows" in said
    assert "smoker: 100 not listed; counts as 'ja'" in said
    assert "smoker: list more values, or write other: one of values" in said
    assert "estimates 2 fields privately, with --private-schema: fee.min, fee.max" in said
    assert "2 columns of the schema are not in the table: 'height', 'weight'" in said
    assert "left out: notes" in said
    assert SECRET not in result.output


def test_options_say_how_the_file_is_written(tabpe, folder, ward):
    (folder / "plain.yaml").write_text(
        "columns:\n- {name: age, type: integer, min: 0, max: 99}\n"
        "- {name: fee, type: float, min: 0, max: 20, decimals: 1}\n"
    )
    refused = tabpe("synth", ward, "--schema", "plain.yaml", "-o", "out.csv", *FAST)
    assert refused.exit_code == 2
    assert "--delimiter semicolon" in refused.stderr
    words = ("--delimiter", "semicolon", "--decimal", ",", "--encoding", "utf-8")
    checked = tabpe("schema", "check", "plain.yaml", ward, *words)
    assert "fits" in checked.stdout
    made = tabpe("synth", ward, "--schema", "plain.yaml", "-o", "out.csv", *FAST, *words)
    assert made.exit_code == 0, made.output
    certificate = json.loads((folder / "out.certificate.json").read_text())
    assert certificate["schema"]["format"] == {
        "delimiter": ";",
        "decimal": ",",
        "source": "public",
    }
    assert certificate["status"] == "private"
    assert (folder / "out.csv").read_text().startswith("age,fee\n")


def test_a_column_that_is_not_named_is_left_out_also_if_the_schema_is_estimated(
    tabpe, folder, ward
):
    (folder / "gaps.yaml").write_text(
        "format: {delimiter: ;}\ncolumns:\n- {name: age, type: integer, min: 0, max: 99}\n"
        "- {name: smoker}\n"
    )
    words = ("--schema", "gaps.yaml", "--private-schema", "--schema-budget", 0.3, "-o", "out.csv")
    made = tabpe("synth", ward, *words, *FAST)
    assert made.exit_code == 0, made.output
    assert (folder / "out.csv").read_text().splitlines()[0] == "age,smoker"
    said = made.stdout.splitlines()
    assert said[0].startswith("estimates 1 field privately, before a row is read")
    assert said[1].split() == ["smoker.type"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "names no column, and a column that is not named is left out"),
        (("--estimate-columns", "all"), "column 'notes': holds free text, by its name"),
        (("--estimate-columns", "agee"), "'agee' is not a column of the table"),
    ],
)
def test_what_can_not_be_estimated_is_refused_before_anything_is_charged(
    tabpe, folder, ward, words, message
):
    tabpe("ledger", "set-budget", "ward", "--epsilon", 9, "--delta", "1e-4", "--ledger", "l.jsonl")
    before = (folder / "l.jsonl").read_bytes()
    charged = ("--ledger", "l.jsonl", "--dataset", "ward", "-o", "out.csv", "--delimiter", ";")
    result = tabpe("synth", ward, "--private-schema", *words, *charged, *FAST)
    assert result.exit_code == 2
    assert message in result.stderr
    assert (folder / "l.jsonl").read_bytes() == before
    assert not (folder / "out.csv").exists()


def test_all_columns_or_a_list_of_them_are_estimated_if_that_is_said(tabpe, folder, ward):
    usual = ("--private-schema", "--schema-budget", 0.3, "--delimiter", ";", "--decimal", ",")
    every = ("--estimate-columns", "all", "--drop", "notes", "-o", "all.csv")
    made = tabpe("synth", ward, *usual, *every, *FAST)
    assert made.exit_code == 0, made.output
    assert (folder / "all.csv").read_text().splitlines()[0] == "age,smoker,fee"
    some = ("--estimate-columns", "smoker", "--estimate-columns", "age", "-o", "some.csv")
    made = tabpe("synth", ward, *usual, *some, *FAST)
    assert made.exit_code == 0, made.output
    assert (folder / "some.csv").read_text().splitlines()[0] == "age,smoker"


def test_a_report_reads_the_real_table_as_its_schema_says(tabpe, folder, ward):
    pytest.importorskip("ot")
    assert tabpe("schema", "init", ward, "-o", "draft.yaml").exit_code == 0
    assert tabpe("synth", ward, "--schema", "draft.yaml", "-o", "out.csv", *FAST).exit_code == 0
    result = tabpe("evaluate", ward, "out.csv", "-o", "report.html", "-q")
    assert result.exit_code == 0, result.output


def test_a_report_reads_the_real_table_as_options_say(tabpe, folder, ward):
    pytest.importorskip("ot")
    assert tabpe("schema", "init", ward, "-o", "draft.yaml").exit_code == 0
    assert tabpe("synth", ward, "--schema", "draft.yaml", "-o", "out.csv", *FAST).exit_code == 0
    other = (folder / ward).read_text().replace(";", "|")
    (folder / "other.csv").write_text(other)
    usual = ("other.csv", "out.csv", "-o", "report.html", "-q")
    assert tabpe("evaluate", *usual).exit_code == 2
    result = tabpe("evaluate", *usual, "--delimiter", "pipe")
    assert result.exit_code == 0, result.output
