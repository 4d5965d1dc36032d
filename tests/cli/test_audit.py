"""`tabpe audit`: what it prints and writes, and how it ends."""

import json
from pathlib import Path

import pytest

from tabpe import audit as package
from tabpe.audit import AuditReport, EpsilonLowerBound, NoiseRepetition, PrivacyClaim
from tabpe.cli import audit as command

CLAIM = PrivacyClaim(1.0, 1e-5)
UNDER = EpsilonLowerBound("votes: Gaussian DP", CLAIM, epsilon=0.9, visible=50.0, samples=1000)
ABOVE = EpsilonLowerBound("votes: Gaussian DP", CLAIM, epsilon=1.4, visible=50.0, samples=1000)
ALIKE = NoiseRepetition("votes: noise over rounds", p_value=0.0, samples=1000)


def report(*findings, system="as shipped"):
    return AuditReport(system, CLAIM, findings)


@pytest.fixture
def found(monkeypatch, tmp_path):
    """Let the audit find what is given, at once; in a folder of its own."""
    monkeypatch.chdir(tmp_path)

    def find(*reports):
        asked = []

        def shipped(*guarantee, on_test):
            asked.append(guarantee)
            on_test("votes")
            return reports[0]

        def broken(*guarantee, on_test):
            asked.append(guarantee)
            return reports

        monkeypatch.setattr(command, "audit_shipped", shipped)
        monkeypatch.setattr(command, "audit_broken", broken)
        return asked

    return find


def test_a_guarantee_that_nothing_refutes_ends_well(tabpe, found):
    asked = found(report(UNDER))
    result = tabpe("audit", "--epsilon", 2, "--delta", "1e-6")
    assert result.exit_code == 0, result.output
    assert asked == [(2.0, 1e-6)]
    assert "0.90" in result.stdout
    assert "under the claim" in result.stdout


@pytest.mark.parametrize("bad", [ABOVE, ALIKE])
def test_a_guarantee_that_is_refuted_ends_with_1_and_is_written_all_the_same(tabpe, found, bad):
    found(report(UNDER, bad))
    result = tabpe("audit", "--json", "found.json")
    assert result.exit_code == 1
    assert "REFUTED" in result.stdout
    assert json.loads(Path("found.json").read_text())["holds"] is False


def test_broken_systems_that_are_all_noticed_end_well(tabpe, found):
    found(report(ABOVE, ALIKE, system="votes twice"), report(UNDER, ALIKE, system="reused noise"))
    result = tabpe("audit", "--broken", "--json", "found.json")
    assert result.exit_code == 0
    assert "votes: Gaussian DP" in result.stdout
    written = json.loads(Path("found.json").read_text())
    assert [entry["holds"] for entry in written] == [False, False]


def test_a_broken_system_that_goes_unnoticed_ends_with_1(tabpe, found):
    found(report(ABOVE, system="votes twice"), report(UNDER, system="reused noise"))
    result = tabpe("audit", "--broken")
    assert result.exit_code == 1
    assert "NOTHING" in result.stdout


def test_quiet_prints_nothing(tabpe, found):
    found(report(ABOVE))
    result = tabpe("audit", "--quiet", "--json", "found.json")
    assert (result.exit_code, result.output) == (1, "")


def test_a_file_is_not_overwritten_unasked(tabpe, found, tmp_path):
    asked = found(report(UNDER))
    (tmp_path / "found.json").write_text("mine")
    refused = tabpe("audit", "--json", "found.json")
    assert refused.exit_code == 2
    assert "--force" in refused.stderr
    assert asked == []
    assert (tmp_path / "found.json").read_text() == "mine"
    assert tabpe("audit", "--json", "found.json", "--force").exit_code == 0


def test_an_epsilon_that_is_none_is_wrong_use(tabpe):
    result = tabpe("audit", "--epsilon", -1)
    assert result.exit_code == 2
    assert "epsilon" in result.stderr


def test_the_command_runs_the_audit_of_the_package():
    assert command.audit_shipped is package.audit
    assert command.audit_broken is package.audit_broken
