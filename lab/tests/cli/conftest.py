"""What the tests of `tabpe-lab` share: a way to run a command."""

from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tabpe_lab.cli import app


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory; the data folder of the user is inside too."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    return tmp_path


@pytest.fixture
def lab() -> Callable[..., Result]:
    """Run `tabpe-lab` with the given words and return its result."""
    return lambda *words: CliRunner().invoke(app, [str(word) for word in words])
