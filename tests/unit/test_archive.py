"""Saved models: plain values and arrays, and nothing that runs on load."""

import io
import json
import pickle
import zipfile

import numpy as np
import pytest

from tabpe.archive import FORMAT, Archive
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


def test_a_part_that_unfolds_without_end_is_refused(saved, monkeypatch):
    monkeypatch.setattr("tabpe.archive.LARGEST_ARCHIVE", 10)
    with pytest.raises(ArchiveError, match="unfolds to more than 10 bytes"):
        Archive.load(saved)


def test_arrays_that_unfold_without_end_are_refused(tmp_path, monkeypatch):
    path = tmp_path / "model.tabpe"
    Archive({}, {"rows": np.zeros(10**6)}).save(path)
    monkeypatch.setattr("tabpe.archive.LARGEST_ARCHIVE", 10**6)
    with pytest.raises(ArchiveError, match="unfolds to more than"):
        Archive.load(path)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ArchiveError, match=r"absent.tabpe: no such file"):
        Archive.load(tmp_path / "absent.tabpe")


def test_a_folder_is_no_archive(tmp_path):
    with pytest.raises(ArchiveError, match="not a regular file"):
        Archive.load(tmp_path)


def test_a_missing_folder_is_an_output_error(tmp_path):
    with pytest.raises(OutputError, match="can not write"):
        Archive(TEXT, ARRAYS).save(tmp_path / "absent" / "model.tabpe")
