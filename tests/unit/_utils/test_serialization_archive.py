"""Saved models: plain values and arrays, and nothing that runs on load."""

import copy
import io
import json
import os
import pickle
import resource
import subprocess
import sys
import zipfile

import numpy as np
import pytest

from tabpe._utils.serialization import FORMAT, Archive
from tabpe.errors import ArchiveError, OutputError

TEXT = {"seed": 7, "label": "é", "nested": {"list": [1, 2.5, None, True]}}
ARRAYS = {
    "numbers": np.array([[0.1, 1.0], [0.25, 0.0]]),
    "codes": np.array([[0], [255]], dtype=np.uint8),
    "classes": np.array([], dtype=np.int64),
}


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "model.tabpe"
    Archive(TEXT, ARRAYS).save(path)
    return path


def test_an_archive_does_not_say_when_it_was_written(saved):
    """A certificate says when a run began: both times together would tell how long it took."""
    with zipfile.ZipFile(saved) as archive:
        rows = io.BytesIO(archive.read("rows.npz"))
        parts = [*archive.infolist(), *zipfile.ZipFile(rows).infolist()]
    assert {part.date_time for part in parts} == {(1980, 1, 1, 0, 0, 0)}
    assert {part.compress_type for part in parts} == {zipfile.ZIP_STORED}


def rewrite(path, **parts):
    """Put other contents in place of parts of an archive; None leaves a part out."""
    with zipfile.ZipFile(path) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    contents.update({"model.json": parts.get("text", contents["model.json"])})
    contents.update({"rows.npz": parts.get("rows", contents["rows.npz"])})
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in contents.items():
            if content is not None:
                archive.writestr(name, content)


def npz_of(**arrays):
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def test_what_is_saved_is_loaded(saved):
    loaded = Archive.load(saved)
    assert loaded.text == {"format": FORMAT, **TEXT}
    assert loaded.arrays.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(loaded.arrays[name], array, strict=True)


def test_an_archive_is_a_zip_of_json_and_arrays(saved, tmp_path):
    with zipfile.ZipFile(saved) as archive:
        assert sorted(archive.namelist()) == ["model.json", "rows.npz"]
        assert json.loads(archive.read("model.json"))["format"] == FORMAT
    assert [path.name for path in tmp_path.iterdir()] == [saved.name]


@pytest.mark.parametrize("number", [0, FORMAT + 1, str(FORMAT), None])
def test_another_format_is_refused(saved, number):
    rewrite(saved, text=json.dumps({**TEXT, "format": number}))
    with pytest.raises(ArchiveError, match=f"model.tabpe: .*another format: expected {FORMAT}"):
        Archive.load(saved)


@pytest.mark.parametrize("text", ["[]", "{}", "null", '"text"'])
def test_text_without_a_format_is_refused(saved, text):
    rewrite(saved, text=text)
    with pytest.raises(ArchiveError, match="another format"):
        Archive.load(saved)


@pytest.mark.parametrize(
    "parts",
    [
        {"text": None},
        {"rows": None},
        {"text": "{not json"},
        {"text": b"\xff\xfe"},
        {"text": "[" * 100_000},
        {"rows": b"no arrays"},
        {"rows": b""},
        {"rows": npz_of(a=np.arange(9))[:100]},
    ],
    ids=["no text", "no rows", "bad json", "bad utf-8", "deep json", "bad rows", "empty", "cut"],
)
def test_a_missing_or_damaged_part_is_refused(saved, parts):
    rewrite(saved, **parts)
    with pytest.raises(ArchiveError, match=r"model.tabpe: not a saved tabpe model"):
        Archive.load(saved)


def test_an_array_of_objects_is_refused_and_not_run(saved, tmp_path):
    class Trap:
        def __reduce__(self):
            return (open, (str(tmp_path / "sprung"), "w"))

    rewrite(saved, rows=npz_of(numbers=np.array([Trap()], dtype=object)))
    with pytest.raises(ArchiveError, match="not a saved tabpe model"):
        Archive.load(saved)
    assert not (tmp_path / "sprung").exists()


def test_a_pickle_in_the_place_of_the_arrays_is_refused(saved):
    rewrite(saved, rows=pickle.dumps({"numbers": [1]}))
    with pytest.raises(ArchiveError, match="not a saved tabpe model"):
        Archive.load(saved)


def test_an_array_of_objects_is_not_saved(tmp_path):
    path = tmp_path / "model.tabpe"
    with pytest.raises(ValueError, match=r"[Oo]bject"):
        Archive({}, {"rows": np.array([{}], dtype=object)}).save(path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", [b"", b"no zip at all", b"PK\x03\x04 nor this"])
def test_a_file_that_is_no_zip_is_refused(tmp_path, content):
    path = tmp_path / "model.tabpe"
    path.write_bytes(content)
    with pytest.raises(ArchiveError, match=r"model.tabpe: not a saved tabpe model"):
        Archive.load(path)


def test_a_cut_file_is_refused_wherever_it_is_cut(saved):
    whole = saved.read_bytes()
    for length in range(len(whole)):
        saved.write_bytes(whole[:length])
        with pytest.raises(ArchiveError):
            Archive.load(saved)


def test_a_damaged_byte_gives_the_same_or_an_archive_error(saved):
    whole = saved.read_bytes()
    for place in range(len(whole)):
        damaged = bytearray(whole)
        damaged[place] ^= 0xFF
        saved.write_bytes(damaged)
        try:
            loaded = Archive.load(saved)
        except ArchiveError:
            continue
        assert loaded.text == {"format": FORMAT, **TEXT}


def test_more_than_the_largest_archive_is_refused(saved, monkeypatch):
    monkeypatch.setattr("tabpe._utils.serialization.LARGEST_ARCHIVE", 10)
    with pytest.raises(ArchiveError, match="than 10 bytes"):
        Archive.load(saved)


def zip_of(parts, packing):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", packing) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def overlapping(content, names):
    """Return a zip in which one content has many names."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(names[0], content)
        (part,) = archive.infolist()
        for name in names[1:]:
            other = copy.copy(part)
            other.filename = name
            archive.filelist.append(other)
    return buffer.getvalue()


PACKED = {
    "rows": lambda rows: {"rows.npz": zip_of({"numbers.npy": rows}, zipfile.ZIP_STORED)},
    "arrays": lambda rows: {"rows.npz": zip_of({"numbers.npy": rows}, zipfile.ZIP_DEFLATED)},
    "overlapping": lambda rows: {"rows.npz": overlapping(rows, [f"{i}.npy" for i in range(4)])},
}


@pytest.mark.parametrize("packed", PACKED)
def test_a_small_file_does_not_unfold_in_memory(tmp_path, packed):
    most, path = 2 * 2**30, tmp_path / "bomb.tabpe"
    size = 30 * 2**20
    rows = header(f"({size},)") + bytes(8 * size)
    text = json.dumps({"format": FORMAT, **TEXT})
    path.write_bytes(zip_of({"model.json": text, **PACKED[packed](rows)}, zipfile.ZIP_DEFLATED))
    assert path.stat().st_size < 10**6
    del rows
    program = f"""
import resource
from pathlib import Path
from tabpe._utils.serialization import Archive
from tabpe.errors import ArchiveError
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
before = peak()
try:
    Archive.load(Path({str(path)!r}))
except ArchiveError as error:
    print(peak() - before, error)
"""
    found = subprocess.run(
        [sys.executable, "-c", program],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (most, most)),
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    kilobytes, message = found.stdout.split(maxsplit=1)
    assert int(kilobytes) < 100_000
    assert "compressed" in message


def test_parts_that_lie_in_each_other_are_refused_unread(saved):
    """Stored parts are together longer than the file only if several are the same bytes."""
    content = bytes(1000)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name in ("a.npy", "b.npy"):
            archive.writestr(name, content)
        outer, inner = archive.infolist()
        outer.file_size = outer.compress_size = inner.header_offset + len(content)
    rewrite(saved, rows=buffer.getvalue())
    with pytest.raises(ArchiveError, match="longer than the file"):
        Archive.load(saved)


def header(shape, kind="<f8"):
    text = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}"
    return b"\x93NUMPY\x01\x00\x76\x00" + text.ljust(117).encode() + b"\n"


def npz_with(content, name="numbers.npy"):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(name, content)
    return buffer.getvalue()


@pytest.mark.parametrize(
    "content",
    [
        header("(1000000000000,)"),
        header("(1000000000000,)") + bytes(80),
        header(f"({'9' * 60},)"),
        header(f"(0, {'9' * 60})"),
        header("(-1,)") + bytes(8),
        header("(2,)") + bytes(24),
        header("(1,)", "|O") + bytes(8),
        header("(1,)", "<f1") + bytes(1),
        header("(1,)", "<U2") + bytes(8),
        header("(1,)", "<M8[s]") + bytes(8),
        header("__import__('os')") + bytes(8),
        b"\x93NUMPY\x03\x00" + bytes(100),
    ],
)
def test_an_array_that_is_not_what_it_says_is_refused(saved, content):
    rewrite(saved, rows=npz_with(content))
    with pytest.raises(ArchiveError, match="not a saved tabpe model"):
        Archive.load(saved)


def test_a_part_that_is_no_array_is_refused(saved):
    rewrite(saved, rows=npz_with(header("(1,)") + bytes(8), "../../numbers"))
    with pytest.raises(ArchiveError, match="not a saved tabpe model"):
        Archive.load(saved)


@pytest.mark.parametrize(
    "array", [np.ones((2, 3)), np.asfortranarray(np.arange(6.0).reshape(2, 3))]
)
@pytest.mark.parametrize("kind", ["<f4", ">f8", "|u1", "<u2", "<i8"])
def test_arrays_come_back_as_numpy_wrote_them(tmp_path, array, kind):
    Archive({}, {"rows": array.astype(kind, order="K")}).save(tmp_path / "a.tabpe")
    loaded = Archive.load(tmp_path / "a.tabpe").arrays["rows"]
    np.testing.assert_array_equal(loaded, array.astype(kind), strict=True)


@pytest.mark.parametrize("name", ["../../evil", "/etc/evil", "more.json", "MODEL.JSON"])
def test_a_part_that_is_not_ours_is_refused(saved, name):
    with zipfile.ZipFile(saved, "a") as archive:
        archive.writestr(name, "{}")
    with pytest.raises(ArchiveError, match="not a saved tabpe model"):
        Archive.load(saved)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_part_that_stands_twice_is_refused(saved):
    with zipfile.ZipFile(saved, "a") as archive:
        archive.writestr("model.json", json.dumps({"format": FORMAT}))
    with pytest.raises(ArchiveError, match="is duplicated"):
        Archive.load(saved)


@pytest.mark.parametrize("packing", [zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_other_ways_of_packing_are_refused(tmp_path, packing):
    path = tmp_path / "model.tabpe"
    with zipfile.ZipFile(path, "w", packing) as archive:
        archive.writestr("model.json", json.dumps({"format": FORMAT}))
        archive.writestr("rows.npz", npz_of(a=np.arange(3)))
    with pytest.raises(ArchiveError, match="compressed"):
        Archive.load(path)


def test_text_without_end_is_refused(saved, monkeypatch):
    monkeypatch.setattr("tabpe._utils.serialization.LARGEST_TEXT", 10)
    with pytest.raises(ArchiveError, match="more than 10 bytes"):
        Archive.load(saved)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ArchiveError, match=r"absent.tabpe: no such file"):
        Archive.load(tmp_path / "absent.tabpe")


def test_a_folder_is_no_archive(tmp_path):
    with pytest.raises(ArchiveError, match="not a regular file"):
        Archive.load(tmp_path)


def test_a_missing_folder_is_an_output_error(tmp_path):
    with pytest.raises(OutputError, match="can not write"):
        Archive(TEXT, ARRAYS).save(tmp_path / "absent" / "model.tabpe")
