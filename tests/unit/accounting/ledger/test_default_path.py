"""Where the ledger of a user is."""

from pathlib import Path

import pytest

from tabpe.accounting.ledger import Ledger, get_default_path
from tabpe.errors import OutputError


@pytest.fixture
def on(monkeypatch, tmp_path):
    """Pretend to be on a platform, with a home and some variables."""

    def pretend(platform, **variables):
        monkeypatch.setattr("sys.platform", platform)
        monkeypatch.setattr(Path, "home", lambda: tmp_path)
        for name in ("XDG_DATA_HOME", "LOCALAPPDATA"):
            monkeypatch.delenv(name, raising=False)
        for name, value in variables.items():
            monkeypatch.setenv(name, str(value))
        return str(get_default_path().relative_to(tmp_path).as_posix())

    return pretend


def test_each_platform_has_its_data_folder(on):
    assert on("linux") == ".local/share/tabpe/ledger.db"
    assert on("darwin") == "Library/Application Support/tabpe/ledger.db"
    assert on("win32") == "AppData/Local/tabpe/ledger.db"


def test_a_variable_may_name_another(on, tmp_path):
    assert on("linux", XDG_DATA_HOME=tmp_path / "data") == "data/tabpe/ledger.db"
    assert on("win32", LOCALAPPDATA=tmp_path / "local") == "local/tabpe/ledger.db"


def test_a_relative_variable_is_ignored(on):
    assert on("linux", XDG_DATA_HOME="data") == ".local/share/tabpe/ledger.db"


def test_a_user_without_a_home_has_to_name_a_file(monkeypatch):
    def no_home():
        raise RuntimeError

    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.setattr(Path, "home", no_home)
    with pytest.raises(OutputError, match="name a file"):
        Ledger()


def test_a_data_folder_that_can_not_be_made_is_named(on, tmp_path):
    (tmp_path / "file").write_text("")
    on("linux", XDG_DATA_HOME=tmp_path / "file")
    with pytest.raises(OutputError, match="folder"):
        Ledger().set_budget("patients", epsilon=1, delta=1e-6)
