"""`TabPE`: saving and loading."""

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

from facade import NOISY_DELTA, columns, fitted, frames
from tabpe import Adjacency, Categorical, Evolution, Integer, Schema, TabPE
from tabpe._utils.serialization import Archive
from tabpe.accounting import ExactNoise, OpenDPNoise
from tabpe.errors import ArchiveError
from tabpe.evolution import resolve_strategy


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"preset": "paper"},
        {"preset": Evolution(rounds=2, operator="genetic", horizon=4)},
        {"adjacency": Adjacency.REPLACE_ONE},
        {"public_shares": {False: 0.7, True: 0.3}},
        {"random_state": None},
        {"noise": "opendp"},
        NOISY_DELTA | {"label": "ward"},
    ],
)
def test_a_saved_model_is_the_same_model(table, tmp_path, changes):
    model = fitted(table, **changes)
    model.save(tmp_path / "model.tabpe")
    loaded = TabPE.load(str(tmp_path / "model.tabpe"))
    assert loaded.certificate == model.certificate
    assert loaded.history_ == model.history_
    assert loaded.schema_ == model.schema_
    for size in (None, 10, 100):
        assert loaded.sample(size).equals(model.sample(size))
    assert loaded.epsilon == model.epsilon
    assert resolve_strategy(loaded.preset) == resolve_strategy(model.preset)


@pytest.mark.parametrize(
    "changes",
    [{}, {"noise": OpenDPNoise()}, {"noise": ExactNoise()}, {"public_shares": {0: 7, 1: 3}}],
)
def test_a_loaded_model_can_be_fitted_again(table, tmp_path, changes):
    schema = Schema((Integer("age", 0, 100), Categorical("ill", (0, 1))), label="ill")
    numbers = table.set_column(3, "ill", table["ill"].cast(pa.int64()))
    fitted(numbers, schema, **changes).save(tmp_path / "model.tabpe")
    again = TabPE.load(tmp_path / "model.tabpe").fit(numbers, schema)
    assert again.n_evolved_ == 30
    assert again.noise == ("opendp" if "OpenDP" in again.certificate.noise else "exact")


@pytest.mark.parametrize("kind", ["pandas", "polars", "small types", "dictionary"])
def test_a_loaded_model_gives_the_kind_of_frame_that_was_fitted(kind, tmp_path):
    model = fitted(frames(columns())[kind])
    model.save(tmp_path / "model.tabpe")
    found, expected = TabPE.load(tmp_path / "model.tabpe").sample(), model.sample()
    assert type(found) is type(expected)
    assert found.equals(expected)


@pytest.mark.parametrize("content", [b"", b"not a zip", b"PK\x03\x04" + b"\x00" * 40])
def test_what_is_not_a_saved_model_is_refused(tmp_path, content):
    (tmp_path / "model.tabpe").write_bytes(content)
    with pytest.raises(ArchiveError):
        TabPE.load(tmp_path / "model.tabpe")


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(ArchiveError, match="no such file"):
        TabPE.load(tmp_path / "model.tabpe")


@pytest.mark.parametrize(
    "change",
    [
        {"parameters": {"preset": {"rownds": 3}}},
        {"parameters": {"preset": {"rounds": 0}}},
        {"parameters": {"eps": 1}},
    ],
)
def test_a_file_with_foreign_parameters_is_refused(table, tmp_path, change):
    path = tmp_path / "model.tabpe"
    fitted(table).save(path)
    archive = Archive.load(path)
    Archive({**archive.text, **change}, archive.arrays).save(path)
    with pytest.raises(ArchiveError, match="parameters"):
        TabPE.load(path)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda arrays: {name: array[:0] for name, array in arrays.items()},
        lambda arrays: {**arrays, "numbers": arrays["numbers"] + 2},
        lambda arrays: {**arrays, "numbers": arrays["numbers"][:, :1]},
        lambda arrays: {**arrays, "numbers": arrays["numbers"] * np.nan},
        lambda arrays: {**arrays, "codes": arrays["codes"] + 100},
        lambda arrays: {**arrays, "codes": arrays["codes"].astype(int) - 100},
        lambda arrays: {**arrays, "classes": arrays["classes"] + 2},
        lambda arrays: {**arrays, "classes": arrays["classes"][:, None]},
    ],
)
def test_rows_that_do_not_fit_their_schema_are_refused(table, tmp_path, spoil):
    path = tmp_path / "model.tabpe"
    fitted(table).save(path)
    archive = Archive.load(path)
    Archive(archive.text, spoil(archive.arrays)).save(path)
    with pytest.raises(ArchiveError, match="do not fit"):
        TabPE.load(path)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"seed": -1}, "seed=-1"),
        ({"seed": float("inf")}, "not a saved tabpe model"),
        ({"history": [{"sigma": float("nan")}]}, "not a saved tabpe model"),
        ({"history": [1]}, r"history\[0\]=1: expected a mapping"),
        ({"library": "os"}, "library='os'"),
        ({"library": ["pandas"]}, "library="),
        ({"certificate": {"format": 1}}, "certificate: .*: missing"),
        ({"schema": {"columns": []}}, "a schema has at least one column"),
        ({"parameters": []}, "parameters="),
        ({"parameters": {"adjacency": "swap"}}, "its parameters are not those"),
        ({"parameters": {"noise": 5}}, "its parameters are not those"),
        ({"parameters": {"public_shares": [1]}}, "its parameters are not those"),
    ],
)
def test_a_part_that_is_wrong_is_named(table, tmp_path, change, words):
    path = tmp_path / "model.tabpe"
    fitted(table).save(path)
    archive = Archive.load(path)
    Archive({**archive.text, **change}, archive.arrays).save(path)
    with pytest.raises(ArchiveError, match=words):
        TabPE.load(path)


@pytest.mark.parametrize(
    "name", ["schema", "certificate", "history", "library", "seed", "parameters"]
)
def test_a_part_that_is_missing_is_named(table, tmp_path, name):
    path = tmp_path / "model.tabpe"
    fitted(table).save(path)
    archive = Archive.load(path)
    text = {key: value for key, value in archive.text.items() if key != name}
    Archive(text, archive.arrays).save(path)
    with pytest.raises(ArchiveError, match=f"{name} is missing"):
        TabPE.load(path)


@pytest.mark.parametrize("name", ["numbers", "codes", "classes"])
@pytest.mark.parametrize("kind", ["f8", "u1", "i8"])
def test_rows_of_another_type_are_refused(table, tmp_path, name, kind):
    path = tmp_path / "model.tabpe"
    fitted(table).save(path)
    archive = Archive.load(path)
    wrong = np.dtype(kind).kind != archive.arrays[name].dtype.kind
    Archive(archive.text, {**archive.arrays, name: archive.arrays[name].astype(kind)}).save(path)
    if wrong:
        with pytest.raises(ArchiveError, match="do not fit"):
            TabPE.load(path)
    else:
        assert TabPE.load(path).n_evolved_ == 30
