"""The tutorial about clusters runs as it is written, on fewer rows."""

import re
import shlex
from pathlib import Path

from typer.testing import CliRunner

from tabpe.cli.app import app

PAGE = (Path(__file__).parents[2] / "docs" / "tutorials" / "cluster.md").read_text()
CODES, COMMANDS = (
    re.findall(rf"^```{language}\n(.*?)\n```", PAGE, flags=re.DOTALL | re.MULTILINE)
    for language in ("python", "sh")
)


def test_workers_measure_what_one_machine_measures(ray, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    script, compare = CODES
    exec(script.replace("ROWS = 20_000", "ROWS = 2_000"), {})
    commands = [line for line in COMMANDS if line.startswith("tabpe ")]
    assert len(commands) == 3
    for line in commands:  # workers of a cluster that runs already have another folder
        result = CliRunner().invoke(
            app, shlex.split(line.replace("visits/", f"{tmp_path}/visits/"))[1:]
        )
        assert result.exit_code == 0, (line, result.output)
    exec(compare, {})
    assert "votes" in capsys.readouterr().out
