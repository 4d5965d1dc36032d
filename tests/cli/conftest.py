"""What the command line tests share: a small table, its schema, and a way to run a command."""

from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tabpe.cli.app import app
from tabpe.io import make_table_writer
from tabpe.io.example import hospital_schema, hospital_table

ROWS = 400


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with `data.csv` and `schema.yaml`; the data folder is inside too."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    path = tmp_path / "data.csv"
    with path.open("wb") as file:
        make_table_writer(hospital_table(ROWS), path)(file)
    hospital_schema().save(tmp_path / "schema.yaml")
    return tmp_path


@pytest.fixture
def tabpe() -> Callable[..., Result]:
    """Run `tabpe` with the given words and return its result."""
    return lambda *words: CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture
def synth(folder: Path, tabpe: Callable[..., Result]) -> Callable[..., Result]:
    """Run `tabpe synth` on the table of the folder; given words come last, so they win."""
    usual = ("--schema", "schema.yaml", "--delta", "1e-5", "--rows", 40, "-o", "out.csv")
    return lambda *words: tabpe("synth", "data.csv", *usual, *words)
