"""A data folder of made-up files, and no network."""

import gzip
from urllib.error import URLError

import pytest

from tabpe_lab.datasets import download
from tabpe_lab.datasets import download as files


@pytest.fixture
def no_network(monkeypatch):
    def refused(url):
        raise URLError("no network")

    monkeypatch.setattr(download, "opened", refused)


@pytest.fixture
def folder(tmp_path, monkeypatch, no_network):
    """The only place with data: the folder that the environment names, empty at first."""
    monkeypatch.setattr(files, "_SHARED", files.Path("nowhere"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "home"))
    given = tmp_path / "given"
    given.mkdir()
    monkeypatch.setenv("TABPE_DATA", str(given))
    return given


@pytest.fixture
def put(folder):
    """Write a table of text into the data folder."""

    def write(name, header, rows):
        lines = [header, *(",".join(map(str, row)) for row in rows)]
        (folder / name).write_bytes(gzip.compress(("\n".join(lines) + "\n").encode()))

    return write
