"""The real files, where there are some: what the schemas say of them, and known numbers."""

import gzip
import hashlib

import numpy as np
import pyarrow as pa
import pytest

from tabpe.evaluation.table_arrays import CategoricalCells, build_table_arrays
from tabpe_lab.datasets import load, recorded
from tabpe_lab.datasets.dataset import DataSplit
from tabpe_lab.datasets.download import DataFile, RemoteFile, read_columns
from tabpe_lab.datasets.recorded import ARRAYS, load_schema, read_adult

PARTS = {
    "adult": (33_334, 7_143, 7_144),
    "artificial-characters": (7_152, 1_533, 1_533),
    "bank": (31_647, 6_782, 6_782),
    "breast-cancer": (398, 85, 86),
    "insurance": (936, 201, 201),
    "mnist": (50_000, 10_000, 10_000),
    "monk": (420, 90, 91),
    "monk-1": (389, 83, 84),
    "monk-3": (387, 83, 84),
    "person-activity": (34_620, 7_419, 7_419),
    "walking-activity": (104_532, 22_400, 22_400),
}
FILES = {
    "adult": recorded.ADULT,
    "artificial-characters": recorded.CHARACTERS[0],
    "bank": recorded.BANK,
    "insurance": recorded.INSURANCE,
    "mnist": recorded.MNIST,
    "monk": recorded.MONKS,
    "monk-1": recorded.MONKS,
    "monk-3": recorded.MONKS,
    "person-activity": recorded.PERSON_ACTIVITY,
    "walking-activity": recorded.WALKING,
}


def needs(file):
    if file is not None and file.find_local() is None:
        pytest.skip(f"{file.name} is not here")


@pytest.mark.parametrize("name", PARTS)
def test_the_rows_are_all_there_and_within_what_is_declared(name):
    needs(FILES.get(name))
    data = load(name)
    parts = (data.train, data.validation, data.test)
    assert tuple(part.num_rows for part in parts) == PARTS[name]
    (view,) = build_table_arrays(data.schema, [pa.concat_tables(parts)])
    for cells in view.columns:
        if isinstance(cells, CategoricalCells):
            assert cells.values.min() >= 0
            assert len(cells.names) == cells.column.size
        else:
            assert cells.column.min <= cells.values.min()
            assert cells.values.max() <= cells.column.max


@pytest.mark.parametrize("name", ["adult", "breast-cancer"])
def test_the_split_is_that_of_the_authors(name):
    """Which their files, rebuilt from what can be known of them, show row by row."""
    needs(FILES.get(name))
    stem, unknown = name.replace("-", "_"), RemoteFile((), lambda parts: parts[0], "")
    files = [DataFile(f"{stem}_tabpe_{part}.csv.gz", unknown) for part in ("train", "val", "test")]
    needs(files[0])
    theirs = DataSplit(*(read_columns(file, load_schema(name)) for file in files))
    ours = load(name)
    assert ours.train.equals(theirs.train)
    assert ours.validation.equals(theirs.validation)
    assert ours.test.equals(theirs.test)


TEXTS = sorted({*FILES.values(), *recorded.CHARACTERS} - {recorded.MNIST}, key=lambda f: f.name)


@pytest.mark.parametrize("file", TEXTS, ids=lambda file: file.name)
def test_the_files_here_are_what_a_download_would_bring(file):
    needs(file)
    content = gzip.decompress(file.find_local().read_bytes())
    assert hashlib.sha256(content).hexdigest() == file.remote.sha256


def test_the_images_here_are_what_a_download_would_bring():
    needs(recorded.MNIST)
    with np.load(recorded.MNIST.find_local(), allow_pickle=False) as arrays:
        content = b"".join(arrays[name].tobytes() for name in ARRAYS)
    assert hashlib.sha256(content).hexdigest() == recorded.MNIST.remote.sha256


def test_adult_has_the_rows_that_the_authors_use():
    needs(recorded.ADULT)
    assert read_adult().num_rows == 47_621
