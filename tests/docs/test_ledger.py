"""What the page on ledgers shows works as it stands there."""

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tabpe.accounting.ledger import Ledger
from tabpe.cli.app import app

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "ledger.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", PAGE, flags=re.DOTALL)


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_the_commands_run():
    commands, later = blocks("sh")
    for command in commands.splitlines():
        result = CliRunner().invoke(app, shlex.split(command)[1:])
        assert result.exit_code == 0, result.output
    assert Path("ledger.json").exists()
    result = CliRunner().invoke(app, shlex.split(later)[1:])
    assert result.exit_code == 1
    assert "cut off or replaced" in result.stdout


def test_the_python_example_runs():
    (code,) = blocks("python")
    exec(code, {})
    (entry,) = Ledger(Path("ledger.db")).entries("patients")
    assert (entry.state, entry.histograms) == ("spent", 15)
