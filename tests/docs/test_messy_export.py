"""The tutorial of a messy export, run as it is written."""

import json
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from clinic_export import write_clinic_export
from tabpe.cli.app import app
from tabpe.schema.dictionaries import DICTIONARIES
from tabpe.schema.table_format import TableFormat

FOLDER = Path(__file__).parents[2] / "docs" / "how-to"
PAGE = (FOLDER / "messy-export.md").read_text()
COMMANDS = re.findall(r"```sh\n(.*?)\n```", PAGE, re.DOTALL)
MOST_COMMANDS = 12
ROWS = 8_000


def edit(path: Path) -> None:
    """Make the three edits of the page."""
    text = path.read_text()
    text = re.sub(
        r"(- name: Alter\n  type: integer\n  min: )\d+(\n  max: )\d+", r"\g<1>0\g<2>120", text
    )
    assert "# rules:\n# - Entlassung >= Aufnahme" in text
    text = text.replace("# rules:\n# - Entlassung", "rules:\n- Entlassung")
    path.write_text(text.replace("source: data", "source: public"))


def test_the_story_has_no_dead_end(tmp_path, monkeypatch):
    pytest.importorskip("ot")
    assert len(COMMANDS) <= MOST_COMMANDS
    monkeypatch.chdir(tmp_path)
    write_clinic_export(tmp_path / "export.csv", ROWS)
    said = []
    for number, command in enumerate(COMMANDS):
        program, *words = shlex.split(command)
        assert program == "tabpe"
        result = CliRunner().invoke(app, words)
        assert result.exit_code == 0, (command, result.output)
        said.append(result.stdout)
        if number == 1:
            edit(tmp_path / "schema.yaml")
    assert "all declared fields are declared public" in said[2]
    certificate = json.loads((tmp_path / "synthetic.certificate.json").read_text())
    assert certificate["status"] == "private"
    assert certificate["fields_from_data"] == []
    names = [column["name"] for column in certificate["schema"]["columns"]]
    assert not {"Patient_ID", "Nachname", "Vorname", "E-Mail", "Telefon", "Notiz"} & set(names)
    assert len(names) == 15
    for line in re.findall(r"```text\n(.*?)\n```", PAGE, re.DOTALL)[0].splitlines():
        assert line in said[0], line


def test_every_field_of_a_format_and_every_dictionary_is_told():
    page = (FOLDER / "schema-cells.md").read_text()
    for name in TableFormat.__dataclass_fields__:
        assert f"`{name}`" in page
    for name in DICTIONARIES:
        assert f"`{name}`" in page
