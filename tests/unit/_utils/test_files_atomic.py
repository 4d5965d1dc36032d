"""Files are written whole or not at all."""

import hashlib
import os
import stat

import pytest

from tabpe._utils import files as atomic
from tabpe.errors import OutputError


def content(text):
    return lambda file: file.write(text.encode())


def broken(error):
    def fill(file):
        file.write(b"half a file")
        raise error

    return fill


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_file_is_written_in_full(tmp_path):
    atomic.write_file(tmp_path / "a.txt", content("whole"))
    assert (tmp_path / "a.txt").read_text() == "whole"
    assert names(tmp_path) == ["a.txt"]


def test_text_is_written_in_utf8(tmp_path):
    atomic.write_text(tmp_path / "a.txt", "é\n")
    assert (tmp_path / "a.txt").read_bytes() == b"\xc3\xa9\n"


def test_a_file_that_is_there_is_replaced(tmp_path):
    (tmp_path / "a.txt").write_text("old and longer")
    atomic.write_text(tmp_path / "a.txt", "new")
    assert (tmp_path / "a.txt").read_text() == "new"


def test_a_path_without_a_folder_is_written_here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    atomic.write_text(atomic.Path("a.txt"), "here")
    assert names(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("error", [RuntimeError("no"), ValueError("no"), KeyboardInterrupt()])
def test_nothing_is_left_when_the_writer_is_stopped(tmp_path, error):
    with pytest.raises(type(error)):
        atomic.write_file(tmp_path / "a.txt", broken(error))
    assert names(tmp_path) == []


@pytest.mark.parametrize("error", [RuntimeError("no"), KeyboardInterrupt(), OSError(28, "full")])
def test_the_old_file_stays_when_the_writer_is_stopped(tmp_path, error):
    (tmp_path / "a.txt").write_text("old")
    with pytest.raises((type(error), OutputError)):
        atomic.write_file(tmp_path / "a.txt", broken(error))
    assert names(tmp_path) == ["a.txt"]
    assert (tmp_path / "a.txt").read_text() == "old"


def test_a_full_disk_is_an_output_error_that_names_the_file(tmp_path):
    with pytest.raises(OutputError, match=r"a.txt: can not write .No space left"):
        atomic.write_file(tmp_path / "a.txt", broken(OSError(28, "No space left on device")))
    assert names(tmp_path) == []


def test_several_files_are_written_together(tmp_path):
    files = {tmp_path / "a.txt": content("a"), tmp_path / "b.txt": content("b")}
    atomic.write_files(files)
    assert names(tmp_path) == ["a.txt", "b.txt"]


@pytest.mark.parametrize("error", [RuntimeError("no"), KeyboardInterrupt(), OSError(28, "full")])
def test_several_files_are_written_all_or_none(tmp_path, error):
    (tmp_path / "a.txt").write_text("old")
    files = {tmp_path / "a.txt": content("new"), tmp_path / "b.txt": broken(error)}
    with pytest.raises((type(error), OutputError)):
        atomic.write_files(files)
    assert names(tmp_path) == ["a.txt"]
    assert (tmp_path / "a.txt").read_text() == "old"


def test_a_later_file_can_speak_of_the_bytes_of_an_earlier_one(tmp_path):
    told = []
    atomic.write_files(
        {
            tmp_path / "a.txt": atomic.make_hashing_filler(
                content("abc"), lambda *facts: told.append(facts)
            ),
            tmp_path / "b.txt": lambda file: file.write(repr(told[0]).encode()),
        }
    )
    assert told == [(hashlib.sha256(b"abc").hexdigest(), 3)]
    assert (tmp_path / "b.txt").read_text() == repr(told[0])


@pytest.mark.parametrize("there", [False, True])
def test_what_speaks_of_a_file_takes_its_place_before_the_file_does(tmp_path, monkeypatch, there):
    """A file that can not take its place leaves what speaks of it, and nothing else."""
    if there:
        (tmp_path / "a.txt").write_text("old")
    for name in ("link", "replace", "rename"):
        monkeypatch.setattr(os, name, refusing("a.txt", getattr(os, name)))
    with pytest.raises(OutputError):
        atomic.write_files({tmp_path / "a.txt": content("a"), tmp_path / "b.txt": content("b")})
    assert names(tmp_path) == ["a.txt", "b.txt"] if there else ["b.txt"]
    assert (tmp_path / "b.txt").read_text() == "b"
    assert not there or (tmp_path / "a.txt").read_text() == "old"


def refusing(name, move):
    def refuse(source, target, **options):
        if os.fspath(target).endswith(name):
            raise PermissionError
        return move(source, target, **options)

    return refuse


@pytest.mark.skipif(not hasattr(os, "O_TMPFILE"), reason="files without a name")
@pytest.mark.parametrize("there", [False, True])
def test_a_file_has_no_name_while_it_is_written(tmp_path, there):
    """A process that is killed meanwhile leaves nothing behind."""
    seen = []
    if there:
        (tmp_path / "a.txt").write_text("old")
    atomic.write_file(
        tmp_path / "a.txt", lambda file: seen.extend(names(tmp_path)) or file.write(b"a")
    )
    assert seen == (["a.txt"] if there else [])
    assert names(tmp_path) == ["a.txt"]


def test_outputs_need_no_links(tmp_path, monkeypatch):
    """There are none on the file systems of many USB sticks."""

    def no_link(*_, **__):
        raise PermissionError

    monkeypatch.setattr(os, "link", no_link)
    for text in ("one", "two"):
        atomic.write_text(tmp_path / "a.txt", text)
        assert (tmp_path / "a.txt").read_text() == text
    assert names(tmp_path) == ["a.txt"]


@pytest.mark.usefixtures("system")
def test_a_file_takes_the_place_of_another_on_every_system(tmp_path):
    (tmp_path / "a.txt").write_text("old")
    linked = tmp_path / "linked.txt"
    os.link(tmp_path / "a.txt", linked)
    for text in ("one", "two"):
        atomic.write_text(tmp_path / "a.txt", text)
        assert (tmp_path / "a.txt").read_text() == text
    assert linked.read_text() == "old"
    assert names(tmp_path) == ["a.txt", "linked.txt"]


def test_a_missing_folder_of_the_second_file_stops_the_first(tmp_path):
    files = {tmp_path / "a.txt": content("a"), tmp_path / "absent" / "b.txt": content("b")}
    with pytest.raises(OutputError, match=r"absent/b.txt"):
        atomic.write_files(files)
    assert names(tmp_path) == []


def test_a_folder_in_the_place_of_the_second_file_stops_the_first(tmp_path):
    (tmp_path / "b.txt").mkdir()
    files = {tmp_path / "a.txt": content("a"), tmp_path / "b.txt": content("b")}
    with pytest.raises(OutputError, match=r"b.txt"):
        atomic.write_files(files)
    assert names(tmp_path) == ["b.txt"]


def test_a_missing_folder_is_an_output_error(tmp_path):
    with pytest.raises(OutputError, match=r"absent/a.txt: can not write .No such file") as caught:
        atomic.write_text(tmp_path / "absent" / "a.txt", "text")
    assert caught.value.exit_code == 2
    assert names(tmp_path) == []


def test_a_folder_that_is_a_file_is_an_output_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="can not write"):
        atomic.write_text(tmp_path / "file" / "a.txt", "text")


def test_a_folder_in_the_place_of_the_file_is_an_output_error(tmp_path):
    (tmp_path / "a.txt").mkdir()
    with pytest.raises(OutputError, match=r"a.txt: is a folder"):
        atomic.write_text(tmp_path / "a.txt", "text")
    assert names(tmp_path) == ["a.txt"]


@pytest.mark.skipif(os.name == "nt", reason="permissions of POSIX")
@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_permissions_follow_the_umask(tmp_path, mask, mode):
    before = os.umask(mask)
    try:
        atomic.write_text(tmp_path / "a.txt", "text")
        assert os.umask(mask) == mask
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a.txt").stat().st_mode) == mode


@pytest.fixture(params=["as it is", "without unnamed files", "without /proc"])
def system(request, monkeypatch):
    """A system that has what it takes for a file without a name, or lacks a part of it."""
    if request.param == "without unnamed files":
        monkeypatch.delattr("os.O_TMPFILE", raising=False)
    if request.param == "without /proc":
        link = os.link

        def no_proc(source, target, **options):
            if str(source).startswith("/proc"):
                raise FileNotFoundError
            link(source, target, **options)

        monkeypatch.setattr("os.link", no_proc)


@pytest.mark.usefixtures("system")
def test_a_new_file_is_whole_and_for_its_owner_alone(tmp_path):
    path = tmp_path / "new"
    atomic.create_file(path, atomic.make_filler(b"hello"))
    assert path.read_bytes() == b"hello"
    assert path.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.usefixtures("system")
def test_a_new_file_never_takes_the_place_of_another(tmp_path):
    path = tmp_path / "old"
    path.write_text("old")
    with pytest.raises(OutputError, match="exists already"):
        atomic.create_file(path, atomic.make_filler(b"new"))
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.usefixtures("system")
def test_a_new_file_that_can_not_be_filled_leaves_nothing(tmp_path):
    def fail(file):
        file.write(b"half")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        atomic.create_file(tmp_path / "new", fail)
    assert list(tmp_path.iterdir()) == []


def test_a_staged_folder_appears_at_the_end_with_usual_permissions(tmp_path):
    target = tmp_path / "release"
    with atomic.track_written_files() as written, atomic.stage_folder(target) as staged:
        atomic.write_text(staged / "note.txt", "hello")
        assert not target.exists()
    assert (target / "note.txt").read_text() == "hello"
    assert written == [target]
    plain = tmp_path / "plain"
    plain.mkdir()
    assert target.stat().st_mode == plain.stat().st_mode
    assert {path.name for path in tmp_path.iterdir()} == {"release", "plain"}


def test_a_staged_folder_of_a_failed_block_is_removed(tmp_path):
    def fail():
        with atomic.stage_folder(tmp_path / "release") as staged:
            atomic.write_text(staged / "note.txt", "hello")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert list(tmp_path.iterdir()) == []


def test_a_staged_folder_never_replaces_an_empty_one(tmp_path):
    target = tmp_path / "release"
    with pytest.raises(OutputError, match="exists already"), atomic.stage_folder(target):
        target.mkdir()
    assert [path.name for path in tmp_path.iterdir()] == ["release"]
