"""`tabpe synth` for users and with an estimated schema, as a person meets it."""

import json

import pytest
from pyarrow import csv

from tabpe.io import make_table_writer
from tabpe.io.example import hospital_table

# Large enough to tell bounds and values under noise.
ROWS = 4000


@pytest.fixture
def people(folder):
    """The same table, larger, with a column of user ids."""
    path = folder / "data.csv"
    table = hospital_table(ROWS)
    table = table.append_column("patient", [[f"p{row % 1300}" for row in range(ROWS)]])
    with path.open("wb") as file:
        make_table_writer(table, path)(file)
    return table


def certificate(folder):
    return json.loads((folder / "out.certificate.json").read_text())


def test_users_are_protected(synth, folder, people):
    result = synth("--unit", "patient", "--max-rows-per-user", 2, "--epsilon", 2)
    assert result.exit_code == 0, result.output
    assert "patient" not in csv.read_csv(folder / "out.csv").schema.names
    guaranteed = certificate(folder)
    assert (guaranteed["unit"], guaranteed["max_rows_per_user"]) == ("patient", 2)
    assert 0.99 * 2 <= guaranteed["epsilon"] <= 2


def test_small_classes_get_a_floor(synth, folder, people):
    result = synth("--class-floor", 15, "--preset", "paper", "--epsilon", 2)
    assert result.exit_code == 0, result.output
    assert certificate(folder)["configuration"]["class_floor"] == 15


def test_several_labels(synth, tabpe, folder, people):
    result = synth("--label", "ward", "--label", "readmitted", "--preset", "paper", "--epsilon", 2)
    assert result.exit_code == 0, result.output
    stated = certificate(folder)["schema"]
    assert stated["label"] == ["ward", "readmitted"]
    assert [i["name"] for i in certificate(folder)["spends"]][:2] == ["row count", "class counts"]
    assert tabpe("verify", "out.certificate.json", "out.csv").exit_code == 0


@pytest.mark.parametrize(("preset", "first"), [("best", ["row count"]), ("paper", [])])
def test_a_schema_is_estimated(tabpe, folder, people, preset, first):
    words = (
        "--private-schema",
        "--estimate-columns",
        "all",
        "--drop",
        "patient",
        "--label",
        "ward",
        "--epsilon",
        6,
    )
    words = (*words, "--preset", preset)
    result = tabpe("synth", "data.csv", *words, "--delta", "1e-5", "--rows", 60, "-o", "out.csv")
    assert result.exit_code == 0, result.output
    names = [item["name"] for item in certificate(folder)["spends"]]
    assert names[: len(first) + 2] == [*first, "kinds of columns", "categories"]
    assert 0.99 * 6 <= certificate(folder)["epsilon"] <= 6
    assert tabpe("verify", "out.certificate.json", "out.csv").exit_code == 0


def test_a_schema_is_estimated_for_users(tabpe, folder, people):
    words = (
        "--private-schema",
        "--estimate-columns",
        "all",
        "--unit",
        "patient",
        "--schema-budget",
        0.3,
        "--epsilon",
        8,
    )
    result = tabpe("synth", "data.csv", *words, "--delta", "1e-5", "--rows", 60, "-o", "out.csv")
    assert result.exit_code == 0, result.output
    assert "patient" not in csv.read_csv(folder / "out.csv").schema.names


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--unit", "nobody"), "unit='nobody'"),
        (("--unit", "ward"), "is a column of the schema too"),
        (("--max-rows-per-user", 3), "needs unit"),
        (("--unit", "patient", "--max-rows-per-user", 0), "max_rows_per_user=0"),
        (("--unit", "patient", "--max-rows-per-user", 10**9), "at most 10,000"),
        (("--drop", "ward"), "schema='private'"),
        (("--preset", "papr"), "did you mean 'paper'"),
        (("--preset", "paper,round=3"), "did you mean 'rounds'"),
        (("--preset", "no_such_module:mine"), "can not import 'no_such_module'"),
        (("--preset", "paper,operator=json:nothing"), "the module has no 'nothing'"),
        (("--on-round", "print"), "on_round='print'"),
        (
            ("--private-schema", "--estimate-columns", "all", "--drop", "wrad"),
            "did you mean 'ward'",
        ),
        (
            ("--private-schema", "--estimate-columns", "all", "--schema-budget", 0),
            "schema_budget=0",
        ),
        (
            ("--private-schema", "--estimate-columns", "all", "--schema-budget", 1),
            "schema_budget=1",
        ),
        (("--private-schema", "--estimate-columns", "all", "--unit", "nobody"), "unit='nobody'"),
        (
            ("--private-schema", "--estimate-columns", "all", "--unit", "ward"),
            "is a column of the schema too",
        ),
    ],
)
def test_bad_words_are_one_line(synth, folder, people, words, said):
    result = synth(*words)
    assert result.exit_code == 2, result.output
    [line] = result.stderr.splitlines()
    assert line.startswith("error: ")
    assert said in line
    assert result.stdout == ""
    assert not (folder / "out.csv").exists()


def test_ids_can_not_be_estimated(tabpe, folder, people):
    words = (
        "--private-schema",
        "--estimate-columns",
        "all",
        "--epsilon",
        6,
        "--delta",
        "1e-5",
        "--rows",
        60,
        "-o",
        "out.csv",
    )
    result = tabpe("synth", "data.csv", *words)
    assert result.exit_code == 2
    [line] = result.stderr.splitlines()
    assert "'patient'" in line
    assert "drop the column" in line
    assert "p1299" not in line


def test_an_empty_id_counts_for_nobody_and_a_strict_run_names_its_row(synth, folder, people):
    lines = (folder / "data.csv").read_text().splitlines()
    lines[7] = lines[7].rpartition(",")[0] + ","
    (folder / "data.csv").write_text("\n".join(lines) + "\n")
    result = synth("--unit", "patient", "--strict")
    assert result.exit_code == 2
    assert "column 'patient' has no value in row 7" in result.stderr
    assert synth("--unit", "patient").exit_code == 0


def test_without_a_schema_it_says_what_to_do(tabpe, folder):
    result = tabpe("synth", "data.csv", "-o", "out.csv")
    assert result.exit_code == 2
    assert "tabpe schema init" in result.stderr
    assert "--private-schema" in result.stderr


def test_the_help_fits_a_terminal_and_names_all(tabpe, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    text = tabpe("synth", "--help").stdout
    assert all(len(line) <= 80 for line in text.splitlines())
    for word in ("private-schema", "schema-budget", "drop", "strict", "unit", "max-rows-per-user"):
        assert f"--{word} " in text
    for word in ("run-dir", "dataset", "ledger", "adjacency"):
        assert f"--{word} " in text
    assert "…" not in text


GAPS = """
columns:
- {name: length_of_stay, type: integer, min: 0, max: 60, scale: quantile}
- {name: ward, type: categorical, top: 2, other: elsewhere}
"""


def test_quantiles_and_top_values_are_estimated(tabpe, folder, people):
    (folder / "gaps.yaml").write_text(GAPS)
    words = ("--schema", "gaps.yaml", "--private-schema", "--drop", "patient", "--epsilon", 6)
    words = (*words, "--delta", "1e-5", "--rows", 60, "-o", "out.csv")
    result = tabpe("synth", "data.csv", *words)
    assert result.exit_code == 0, result.output
    assert {"quantiles", "categories"} <= {item["name"] for item in certificate(folder)["spends"]}
    wards = set(csv.read_csv(folder / "out.csv")["ward"].to_pylist())
    assert "elsewhere" in wards
    assert len(wards) <= 3
    assert tabpe("verify", "out.certificate.json", "out.csv").exit_code == 0


def test_gaps_without_the_word_to_buy_are_refused_with_it(tabpe, folder, people):
    (folder / "gaps.yaml").write_text(GAPS.replace(", scale: quantile", ""))
    result = tabpe("synth", "data.csv", "--schema", "gaps.yaml", "--epsilon", 6, "-o", "out.csv")
    assert result.exit_code == 2
    assert "'ward': top needs a private estimate" in " ".join(result.stderr.split())
    assert "--private-schema" in result.stderr
