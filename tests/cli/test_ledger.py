"""`tabpe ledger`: set a budget, see what is spent, check and export."""

import json
import os
import sqlite3

import pytest

from tabpe.accounting import Spend
from tabpe.accounting.ledger import Ledger

SPENDS = [Spend("class counts", 60.0, 1), Spend("votes", 17.3, 15)]
DIGEST = "ab12cd34" * 8


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty working directory, and a data folder that is not that of the user."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
    monkeypatch.setattr("sys.platform", "linux")
    return tmp_path


@pytest.fixture
def filled(here):
    """A ledger with a run of each state, and a data set without a budget."""
    ledger = Ledger(here / "l.db")
    ledger.set_budget("patients", epsilon=2, delta=1e-6)
    spent, refunded, _ = (ledger.reserve("patients", SPENDS) for _ in range(3))
    ledger.spend(spent.id, SPENDS, DIGEST)
    ledger.refund(refunded.id)
    ledger.reserve("visits", [Spend(f"item {i}", 20.0 + i, 1) for i in range(9)])
    return ledger


def test_a_budget_is_set_and_shown(here, tabpe):
    words = ("--epsilon", 2, "--delta", 1e-6, "--ledger", "l.db")
    result = tabpe("ledger", "set-budget", "patients", *words)
    assert result.exit_code == 0, result.output
    assert "epsilon 2 at delta 1e-06, add-remove, rows" in result.stdout
    assert Ledger(here / "l.db").budget("patients").epsilon == 2


def test_a_budget_for_users(here, tabpe):
    words = ("--epsilon", 2, "--delta", 1e-6, "--adjacency", "replace-one", "--unit", "person")
    assert tabpe("ledger", "set-budget", "patients", *words, "--ledger", "l.db").exit_code == 0
    assert Ledger(here / "l.db").budget("patients").relation == "replace-one, users by 'person'"


@pytest.mark.skipif(os.name == "nt", reason="permissions of POSIX")
def test_without_a_file_the_ledger_is_in_the_data_folder_of_the_user(here, tabpe):
    assert tabpe("ledger", "set-budget", "a", "--epsilon", 1, "--delta", 1e-6).exit_code == 0
    assert (here / "share" / "tabpe" / "ledger.db").stat().st_mode & 0o777 == 0o600
    assert "epsilon 1 at delta" in tabpe("ledger", "show").stdout


def test_what_is_shown_fits_a_terminal_and_says_it_all(filled, tabpe):
    result = tabpe("ledger", "show", "--ledger", "l.db")
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert f"left    epsilon {filled.left('patients'):g}" in result.stdout
    assert "no budget: runs are recorded, not limited" in result.stdout
    states = [line.split()[2] for line in lines if line.startswith("  20")]
    assert states == ["spent", "refunded", "reserved", "reserved"]
    assert "spent     ab12cd34  1 x class counts (sigma 60)," in result.stdout
    assert "1 x item 8 (sigma 28)" in result.stdout


def test_one_data_set_is_shown_by_name(filled, tabpe):
    shown = tabpe("ledger", "show", "visits", "--ledger", "l.db").stdout
    assert "visits" in shown
    assert "patients" not in shown


def test_a_name_that_is_not_there_gets_a_hint(filled, tabpe):
    result = tabpe("ledger", "show", "patient", "--ledger", "l.db")
    assert result.exit_code == 2
    assert "did you mean 'patients'?" in result.stderr


def test_what_is_shown_as_json_is_what_the_ledger_says(filled, tabpe):
    shown = json.loads(tabpe("ledger", "show", "--json", "--ledger", "l.db").stdout)
    patients, visits = shown["datasets"]
    assert (patients["spent"], patients["left"]) == (
        filled.spent("patients"),
        filled.left("patients"),
    )
    assert patients["budget"]["epsilon"] == 2
    assert [entry["state"] for entry in patients["entries"]] == ["spent", "refunded", "reserved"]
    assert patients["entries"][0]["certificate_sha256"] == DIGEST
    assert (visits["budget"], visits["spent"], visits["left"]) == (None, None, None)


def test_a_total_below_what_is_spent_is_shown_as_over(filled, tabpe):
    words = ("--epsilon", 0.5, "--delta", 1e-6, "--ledger", "l.db")
    result = tabpe("ledger", "set-budget", "patients", *words)
    assert result.exit_code == 0
    assert "OVER THE BUDGET" in result.stdout
    assert "left    epsilon 0\n" in result.stdout


def test_a_good_ledger_verifies_against_its_head(filled, tabpe):
    result = tabpe("ledger", "verify", "--ledger", "l.db")
    assert result.exit_code == 0
    assert filled.head() in result.stdout
    noted = ("--head", filled.head().upper())
    assert tabpe("ledger", "verify", "--ledger", "l.db", *noted).exit_code == 0


def test_a_head_that_is_not_in_it_is_exit_code_1(filled, tabpe):
    result = tabpe("ledger", "verify", "--ledger", "l.db", "--head", DIGEST)
    assert result.exit_code == 1
    assert "cut off or replaced" in result.stdout
    assert tabpe("ledger", "verify", "--ledger", "l.db", "--head", "ab").exit_code == 2


def test_a_changed_ledger_is_exit_code_1_and_nothing_else_works(filled, tabpe):
    connection = sqlite3.connect("l.db")
    connection.execute("DROP TRIGGER events_are_not_changed")
    connection.commit()
    connection.close()
    result = tabpe("ledger", "verify", "--ledger", "l.db")
    assert result.exit_code == 1
    assert "altered" in result.stdout
    for command in ("show", "export"):
        assert tabpe("ledger", command, "--ledger", "l.db").exit_code == 2


def test_an_export_is_printed_or_written_whole(filled, tabpe, here):
    printed = tabpe("ledger", "export", "--ledger", "l.db").stdout
    assert json.loads(printed) == filled.export()
    assert tabpe("ledger", "export", "--ledger", "l.db", "-o", "out.json").exit_code == 0
    assert (here / "out.json").read_text(encoding="utf-8") == printed
    again = tabpe("ledger", "export", "--ledger", "l.db", "-o", "out.json")
    assert again.exit_code == 2
    assert "--force" in again.stderr


@pytest.mark.parametrize("command", ["show", "verify", "export"])
def test_a_ledger_that_is_not_there_is_not_made_by_looking(here, tabpe, command):
    result = tabpe("ledger", command, "--ledger", "absent.db")
    assert result.exit_code == 2
    assert "no such ledger" in result.stderr
    assert list(here.iterdir()) == []


@pytest.mark.parametrize(
    "words",
    [
        ("a", "--epsilon", 0, "--delta", 1e-6),
        ("a", "--epsilon", 1, "--delta", 2),
        ("a", "--epsilon", "nan", "--delta", 1e-6),
        ("a", "--epsilon", 1, "--delta", 1e-6, "--adjacency", "add"),
        ("", "--epsilon", 1, "--delta", 1e-6),
        ("a", "--epsilon", 1, "--delta", 1e-6, "--unit", ""),
        ("a", "--epsilon", 1),
    ],
)
def test_a_wrong_budget_is_refused(here, tabpe, words):
    assert tabpe("ledger", "set-budget", *words, "--ledger", "l.db").exit_code == 2
    assert list(here.iterdir()) == []
