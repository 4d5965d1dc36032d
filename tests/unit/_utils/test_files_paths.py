"""Paths: regular files of this machine are read, and files of their own are written."""

import os
import socket
from pathlib import Path

import pytest

from tabpe import Schema, TabPE
from tabpe._utils import files as atomic
from tabpe._utils.files import check_distinct_files, check_local_path, check_output, open_regular
from tabpe.errors import ArchiveError, DataError, OutputError, SchemaError, TabpeError
from tabpe.io import open_source

ELSEWHERE = ["http://x/t{}", "https://x/t{}", "hdfs:/t{}"]
URLS = [*ELSEWHERE, "s3://b/t{}", "file:///tmp/t{}", "gs://b/t{}"]
# What reads a path, the ending that it asks for, and its error.
READERS = [
    pytest.param(open_source, ".csv", DataError, id="data"),
    pytest.param(Schema.load, ".yaml", SchemaError, id="schema"),
    pytest.param(TabPE.load, ".tabpe", ArchiveError, id="model"),
]
each_reader = pytest.mark.parametrize(("read", "ending", "error"), READERS)


def refused(read, path, error):
    with pytest.raises(error) as caught:
        read(path)
    return str(caught.value)


@each_reader
@pytest.mark.parametrize("url", URLS)
def test_a_path_that_was_a_url_is_not_read(read, ending, error, url):
    message = refused(read, Path(url.format(ending)), error)
    assert "a URL: expected a file; copy it here first." in message


@each_reader
@pytest.mark.parametrize("url", [*ELSEWHERE, "http://ann:secret@x/t{}"])
def test_a_url_is_not_read(read, ending, error, url):
    message = refused(read, url.format(ending), error)
    assert "a URL: expected a file; copy it here first." in message
    assert "secret" not in message


@pytest.mark.parametrize("url", URLS)
def test_a_url_is_not_written(url):
    with pytest.raises(OutputError, match=r"a URL: expected a file; write it here first"):
        atomic.write_text(Path(url.format(".csv")), "text")


@pytest.mark.parametrize("path", ["C:/t.csv", "a:b.csv", "plain/a:/t.csv", "./http:/t.csv"])
def test_what_is_no_url_is_a_path(path):
    check_local_path(path, TabpeError)


@each_reader
@pytest.mark.parametrize("name", ["nul\0", "half\ud800"])
def test_a_name_that_no_file_can_have_is_refused(read, ending, error, name):
    assert "without NUL" in refused(read, name + ending, error)


@each_reader
def test_a_name_that_is_too_long_is_refused(read, ending, error):
    assert "too long" in refused(read, "a" * 5000 + ending, error)


def test_a_name_that_no_file_can_have_is_not_written():
    for name in ("nul\0", "half\ud800", "a" * 5000):
        with pytest.raises(OutputError):
            atomic.write_text(Path(name), "text")


@each_reader
def test_a_missing_file_is_named(read, ending, error, tmp_path):
    assert f"absent{ending}: " in refused(read, tmp_path / f"absent{ending}", error)


def make(kind, path):
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    elif kind == "loop":
        path.symlink_to(path)
    elif kind == "nowhere":
        path.symlink_to(path.with_name("nowhere"))
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(path))


@each_reader
@pytest.mark.parametrize("kind", ["pipe", "device", "loop", "nowhere", "socket"])
def test_what_is_no_regular_file_is_not_read(read, ending, error, kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # The name of a socket is short.
    make(kind, Path(f"t{ending}"))
    assert f"t{ending}: " in refused(read, f"t{ending}", error)


@pytest.mark.parametrize(("read", "ending", "error"), READERS[1:])
def test_a_folder_is_no_file(read, ending, error, tmp_path):
    (tmp_path / f"t{ending}").mkdir()
    assert "expected a file, no folder" in refused(read, tmp_path / f"t{ending}", error)


@pytest.mark.parametrize("kind", ["pipe", "device", "loop", "nowhere"])
@pytest.mark.parametrize("pattern", ["", "*.csv"])
def test_what_is_no_regular_file_in_a_folder_is_not_passed_over(tmp_path, kind, pattern):
    (tmp_path / "a.csv").write_text("a\n1\n")
    make(kind, tmp_path / "b.csv")
    assert "b.csv: not a regular file" in refused(open_source, tmp_path / pattern, DataError)


def test_an_input_may_be_a_link(tmp_path):
    (tmp_path / "real.csv").write_text("a\n1\n")
    (tmp_path / "t.csv").symlink_to("real.csv")
    assert open_source(tmp_path / "t.csv").names == ["a"]
    with open_regular(tmp_path / "t.csv", DataError) as file:
        assert file.read() == b"a\n1\n"


@pytest.mark.parametrize("target", ["there.csv", "nowhere.csv", "t.csv"])
def test_an_output_is_no_link(tmp_path, target):
    (tmp_path / "there.csv").write_text("mine")
    (tmp_path / "t.csv").symlink_to(target)
    with pytest.raises(OutputError, match="links are not written through: name the file"):
        atomic.write_text(tmp_path / "t.csv", "text")
    assert (tmp_path / "t.csv").is_symlink()
    assert (tmp_path / "there.csv").read_text() == "mine"


@pytest.mark.parametrize("kind", ["pipe", "socket"])
def test_an_output_is_a_regular_file(tmp_path, kind, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make(kind, Path("t.csv"))
    with pytest.raises(OutputError, match="not a regular file"):
        check_output(Path("t.csv"))


def test_an_output_is_a_new_file_and_other_names_of_the_old_one_keep_it(tmp_path):
    (tmp_path / "old.txt").write_text("old")
    (tmp_path / "t.txt").hardlink_to(tmp_path / "old.txt")
    with (tmp_path / "t.txt").open() as reader:
        atomic.write_text(tmp_path / "t.txt", "new")
        assert reader.read() == "old"
    assert (tmp_path / "old.txt").read_text() == "old"
    assert (tmp_path / "t.txt").read_text() == "new"


def test_a_link_that_is_put_there_meanwhile_is_not_followed(tmp_path):
    (tmp_path / "victim.txt").write_text("mine")

    def fill(file):
        (tmp_path / "t.txt").symlink_to("victim.txt")
        file.write(b"new")

    atomic.write_file(tmp_path / "t.txt", fill)
    assert (tmp_path / "victim.txt").read_text() == "mine"
    assert (tmp_path / "t.txt").read_text() == "new"
    assert not (tmp_path / "t.txt").is_symlink()


def test_an_input_is_no_output_under_any_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("in.csv").write_text("a\n1\n")
    Path("hard.csv").hardlink_to("in.csv")
    Path("soft.csv").symlink_to("in.csv")
    Path("below").mkdir()
    for output in ("in.csv", "./below/../in.csv", str(tmp_path / "in.csv"), "hard.csv"):
        for given in ("in.csv", "soft.csv"):
            with pytest.raises(OutputError, match="the same file as the input"):
                check_distinct_files([Path("new.csv"), Path(output)], [Path("absent"), Path(given)])
    check_distinct_files([Path("new.csv")], [Path("in.csv"), Path("absent")])
