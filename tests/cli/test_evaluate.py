"""`tabpe evaluate`, as a person meets it."""

import json

import pytest

from tabpe.evolution import PRESETS


@pytest.fixture
def released(synth, folder):
    assert synth("--save", "run.tabpe", "--preset", "paper").exit_code == 0
    return folder


def test_a_page_and_its_figures(released, tabpe):
    result = tabpe("evaluate", "data.csv", "out.csv", "--json", "r.json", "--test", "data.csv")
    assert result.exit_code == 0, result.output
    page = (released / "report.html").read_text()
    assert "do not release" in page.lower()
    plain = json.loads((released / "r.json").read_text())
    assert plain["certificate"]["epsilon"] <= 1
    assert plain["verification"]["checks"]
    assert "do not release" in result.stdout
    assert "report.html" in result.stdout
    assert all(len(line) <= 80 for line in result.stdout.splitlines())


def test_the_certificate_beside_the_table_is_found_and_checked(released, tabpe):
    (released / "out.csv").write_text((released / "out.csv").read_text() + "\n")
    result = tabpe("evaluate", "data.csv", "out.csv", "-o", "r.html", "--json", "r.json")
    assert result.exit_code == 0, result.output
    checks = json.loads((released / "r.json").read_text())["verification"]["checks"]
    assert any(check["outcome"] == "FAILED" for check in checks)
    assert "does not hold" in result.stderr


@pytest.mark.parametrize("preset", ["best", "paper"])
def test_a_saved_run_shows_its_rounds(synth, folder, tabpe, preset):
    assert synth("--save", "run.tabpe", "--preset", preset).exit_code == 0
    words = ("--run", "run.tabpe", "-o", "r.html", "--json", "r.json", "--quiet")
    result = tabpe("evaluate", "data.csv", "out.csv", *words)
    assert (result.exit_code, result.stdout) == (0, "")
    plain = json.loads((folder / "r.json").read_text())
    assert len(plain["history"]) == PRESETS[preset].rounds


def test_a_page_that_may_be_released_costs_nothing(released, tabpe):
    result = tabpe("evaluate", "-", "out.csv", "--public", "-o", "p.html", "--json", "p.json")
    assert result.exit_code == 0, result.output
    plain = json.loads((released / "p.json").read_text())
    assert plain["mode"] == "public"
    assert plain["rows"] == {"synthetic": 40}
    assert all(column["real"] is None for column in plain["columns"])
    page = (released / "p.html").read_text().lower()
    assert "do not release" not in page[page.index("<body") :]
    assert "may be released" in page[page.index("<body") :]
    assert "do not release" not in result.stdout


def test_without_epsilon_a_public_page_does_not_read_the_real_rows(released, tabpe):
    (released / "other.csv").write_bytes(b"\xff\x00 not a table")
    result = tabpe("evaluate", "other.csv", "out.csv", "--public", "-o", "p.html")
    assert result.exit_code == 0, result.output


def test_a_public_page_of_the_real_rows_is_warned_of_however_quiet(released, tabpe):
    """As happens to those who mix up the two tables."""
    words = ("--public", "--run", "run.tabpe", "-o", "p.html", "--quiet")
    result = tabpe("evaluate", "-", "data.csv", *words)
    assert (result.exit_code, result.stdout) == (0, "")
    assert "not compared" in result.stderr
    assert "May be released: holds" not in (released / "p.html").read_text()


def test_measures_are_estimated_and_charged(released, tabpe):
    tabpe("ledger", "set-budget", "patients", "--epsilon", 3, "--delta", 1e-4)
    words = (
        "--public",
        "--epsilon",
        1,
        "--dataset",
        "patients",
        "-o",
        "p.html",
        "--json",
        "p.json",
    )
    result = tabpe("evaluate", "data.csv", "out.csv", *words)
    assert result.exit_code == 0, result.output
    plain = json.loads((released / "p.json").read_text())
    assert plain["private_measures"]["certificate"]["epsilon"] <= 1
    assert all(column["real"] is not None for column in plain["columns"])
    shown = tabpe("ledger", "show", "patients").stdout
    assert "spent" in shown
    again = tabpe("evaluate", "data.csv", "out.csv", *words, "--epsilon", 9, "--force")
    assert again.exit_code == 3
    assert json.loads((released / "p.json").read_text()) == plain


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["none.csv", "out.csv"], "none.csv"),
        (["data.csv", "none.csv"], "none.csv"),
        (["-", "out.csv"], "only with --public"),
        (["data.csv", "out.csv", "-o", "r.pdf"], "ends in .html"),
        (["data.csv", "out.csv", "--json", "r.html"], "ends in .json"),
        (["data.csv", "out.csv", "-o", "no/r.html"], "does not exist"),
        (["data.csv", "out.csv", "-o", "data.csv"], "ends in .html"),
        (["data.csv", "out.csv", "--epsilon", 1], "--epsilon: only with --public"),
        (["data.csv", "out.csv", "--public", "--test", "data.csv"], "--test: not together"),
        (["data.csv", "out.csv", "--label", "ag"], "did you mean 'age'"),
        (["data.csv", "out.csv", "--learner", "xgboost"], "learner"),
        (["data.csv", "out.csv", "--categories", "x"], "categories"),
        (["data.csv", "out.csv", "--certificate", "data.csv"], "data.csv: not a certificate"),
        (["data.csv", "out.csv", "--run", "data.csv"], "data.csv"),
        (["data.csv", "out.csv", "--audit", "out.certificate.json"], "out.certificate.json"),
        (["data.csv", "out.csv", "--schema", "data.csv"], "data.csv"),
        (["data.csv", "out.csv", "--public", "--epsilon", -1], "epsilon"),
        (["-", "out.csv", "--public", "--epsilon", 1], "real table"),
    ],
)
def test_bad_input_is_one_line_and_writes_nothing(released, tabpe, words, message):
    before = sorted(path.name for path in released.iterdir())
    result = tabpe("evaluate", *words)
    assert result.exit_code == 2, result.output
    assert message in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
    assert sorted(path.name for path in released.iterdir()) == before


def test_an_existing_page_is_not_overwritten_unasked(released, tabpe):
    (released / "report.html").write_text("mine")
    assert tabpe("evaluate", "data.csv", "out.csv").exit_code == 2
    assert (released / "report.html").read_text() == "mine"
    assert tabpe("evaluate", "data.csv", "out.csv", "--force").exit_code == 0


def test_cells_of_the_real_table_are_not_in_errors(released, tabpe):
    rows = (released / "data.csv").read_text().splitlines()
    rows[5] = "secretcell" + rows[5][rows[5].index(",") :]
    (released / "data.csv").write_text("\n".join(rows))
    result = tabpe("evaluate", "data.csv", "out.csv")
    assert result.exit_code == 2
    assert "secretcell" not in result.output
    assert "'age'" in result.stderr


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--public", "--delta", "1e-6"), "--delta: only with --epsilon"),
        (("--public", "--dataset", "d"), "--dataset: only with --epsilon"),
        (("--public", "--categories", "mismatch"), "--categories: not together with --public"),
        (("--delta", "1e-6"), "--delta: only with --public"),
    ],
)
def test_options_that_would_do_nothing_are_refused(released, tabpe, words, told):
    result = tabpe("evaluate", "data.csv", "out.csv", "-o", "p.html", *words)
    assert result.exit_code == 2
    assert told in result.stderr
    assert not (released / "p.html").exists()


def test_what_was_tested_on_is_told_as_wide_as_the_terminal(released, tabpe, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    result = tabpe("evaluate", "data.csv", "out.csv", "-o", "p.html")
    told = " ".join(line[10:] for line in result.stdout.splitlines())
    assert "There were no test rows: 30% of the real rows were held out" in told
    notes = result.stdout[result.stdout.index("verdict") : result.stdout.index("wrote")]
    assert all(len(line) <= 40 for line in notes.splitlines())
