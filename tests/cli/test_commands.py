"""The list of commands says of each what its own help says, though it does not load it."""

import pytest
import typer
from typer.testing import CliRunner

from tabpe.cli.app import COMMANDS, app


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_is_listed_with_the_first_line_of_its_help(name):
    command = typer.main.get_command(app).commands[name]
    assert command.help.splitlines()[0] == COMMANDS[name].help
    assert command.name == name


def test_the_list_shows_all_of_them():
    output = CliRunner().invoke(app, ["--help"]).output
    assert [name for name in COMMANDS if f"│ {name} " not in output] == []


def test_an_unknown_command_is_refused_and_a_near_one_named():
    result = CliRunner().invoke(app, ["synht"])
    assert result.exit_code == 2
    assert "'synth'" in result.output
