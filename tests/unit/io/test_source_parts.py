"""Parts of a table: each row in one of them, with the number that it has in its file."""

import itertools

import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tabpe.io import batches, open_source
from tabpe.io.batches import group_evenly
from tabpe.io.source import divide_source

ROWS = 100
TABLE = pa.table({"age": list(range(ROWS)), "ward": ["eye", "lung"] * (ROWS // 2)})


@pytest.fixture
def tables(tmp_path):
    """The same rows as frames, files of all kinds and datasets, uneven in size."""
    folders = {kind: tmp_path / kind for kind in ("parquet", "csv", "arrow")}
    for kind, folder in folders.items():
        folder.mkdir()
        ends = [0, 70, 70, 90, ROWS]
        for number, (start, end) in enumerate(itertools.pairwise(ends)):
            part, path = TABLE.slice(start, end - start), folder / f"{number}.{kind}"
            if kind == "parquet":
                pq.write_table(part, path, row_group_size=16)
            elif kind == "csv":
                pa.csv.write_csv(part, path)
            else:
                pa.feather.write_feather(part, path)
    parquet = folders["parquet"]
    return {
        "frame": TABLE,
        **folders,
        "dataset": pa.dataset.dataset(parquet),
        "dataset in memory": pa.dataset.dataset(TABLE),
        "dataset, filtered": pa.dataset.dataset(parquet).filter(pa.compute.field("age") >= 0),
    }


KINDS = ["frame", "parquet", "csv", "arrow", "dataset", "dataset in memory", "dataset, filtered"]


def read(source):
    """Every row with its file and its number in it."""
    return [
        (batch.file, batch.first_row + place, int(row["age"]), row["ward"])
        for batch in source.batches(["age", "ward"])
        for place, row in enumerate(batch.table.to_pylist())
    ]


@pytest.mark.parametrize("most", [1, 2, 3, 7, 30])
@pytest.mark.parametrize("kind", KINDS)
def test_every_row_is_in_one_part_and_keeps_its_number(kind, most, tables, monkeypatch):
    monkeypatch.setattr(batches, "ROWS_A_BATCH", 9)
    source = open_source(tables[kind])
    parts = divide_source(source, most)
    assert 1 <= len(parts) <= most
    assert [row for part in parts for row in read(part)] == read(source)
    assert {tuple(part.names) for part in parts} == {tuple(source.names)}


@pytest.mark.parametrize("kind", ["frame", "parquet", "dataset"])
def test_few_large_files_give_many_parts(kind, tables):
    sizes = [len(read(part)) for part in divide_source(open_source(tables[kind]), 4)]
    assert len(sizes) == 4
    assert max(sizes) <= 40


def test_parts_know_about_how_large_they_are(tables):
    for kind in ("frame", "parquet", "csv"):
        source = open_source(tables[kind])
        parts = divide_source(source, 3)
        assert all(part.most_rows >= len(read(part)) for part in parts)
        assert sum(part.most_rows for part in parts) == source.most_rows


def test_what_can_not_be_cut_is_one_part():
    source = object()
    assert divide_source(source, 5) == [source]


@given(sizes=st.lists(st.integers(0, 50), min_size=1, max_size=20), most=st.integers(1, 8))
def test_pieces_are_dealt_in_order_and_about_evenly(sizes, most):
    groups = group_evenly(range(len(sizes)), sizes, most)
    assert [piece for group in groups for piece in group] == list(range(len(sizes)))
    assert all(groups)
    assert len(groups) <= most
    fair = (sum(sizes) + len(sizes)) / most
    assert all(sum(sizes[piece] for piece in group) <= fair + 51 for group in groups)
