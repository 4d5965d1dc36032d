"""What the page about the audit says is so."""

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tabpe.audit import AuditEffort, AuditReport, PrivacyClaim
from tabpe.audit.bounds import ALARM
from tabpe.audit.systems import BROKEN
from tabpe.cli import audit as command
from tabpe.cli.app import app

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "audit.md").read_text()
COMMANDS = re.findall(r"^tabpe (.*)$", PAGE, flags=re.MULTILINE)


@pytest.mark.parametrize("words", COMMANDS)
def test_its_commands_are_understood(words, tmp_path, monkeypatch):
    """The audit itself has tests of its own, so it finds nothing here."""
    nothing = AuditReport("as shipped", PrivacyClaim(1.0, 1e-5), ())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(command, "audit_shipped", lambda *_, on_test: nothing)
    monkeypatch.setattr(command, "audit_broken", lambda *_, on_test: ())
    result = CliRunner().invoke(app, shlex.split(words))
    assert result.exit_code == 0, result.output


def test_its_numbers_are_those_of_the_code():
    effort = AuditEffort()
    for number in (
        f"{effort.channel.cells:,} candidates ({effort.opendp_channel.cells:,} with",
        f"{2 * effort.game.runs} whole runs",
        f"{effort.places.canaries:,} rows",
        f"probability {ALARM:g}".replace("e-08", "e-8"),
    ):
        assert number in PAGE
    assert len(COMMANDS) == 2
    assert len(BROKEN) == 6
    assert f"{effort.user_channel.samples:,} users" in PAGE


def test_all_findings_together_are_wrong_less_than_once_in_a_million():
    """Four a channel, four of the game and two of canaries."""
    assert (3 * 4 + 4 + 2) * ALARM < 1e-6
