"""Small files that unfold to more than a machine has: read in bounded memory, or refused."""

import functools
import gzip
import sys

import numpy as np
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest

from bounded import read_bounded
from tabpe.errors import DataError
from tabpe.io import Limits, files, open_source

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits are those of Linux")

LONG = 2**17  # the longest cell that is read
DATASET = "return pa.dataset.dataset(path)"
FORMS = pytest.mark.parametrize("opening", ["return path", DATASET], ids=["file", "dataset"])


def folded(length, rows, letter="x"):
    """Return a column that holds one long value once, for all rows."""
    places = pa.array([0] * rows, pa.int32())
    return pa.DictionaryArray.from_arrays(places, pa.array([letter * length]))


def write(path, columns, groups=1, **options):
    """Write columns as a Parquet file, whose dictionaries may be as long as they like."""
    table = pa.table(columns)
    options = {"store_schema": False, "dictionary_pagesize_limit": 2**30} | options
    with pq.ParquetWriter(path, table.schema, compression="zstd", **options) as writer:
        for _ in range(groups):
            writer.write_table(table, row_group_size=table.num_rows)
    return path


@FORMS
def test_a_long_value_that_is_stored_once_does_not_fill_the_memory(tmp_path, opening):
    path = write(tmp_path / "t.parquet", {"a": folded(LONG, 24_000)})
    assert path.stat().st_size < 4096
    assert read_bounded(path, opening).rows == 24_000


@FORMS
def test_nor_do_many_such_columns(tmp_path, opening):
    columns = {f"c{place}": folded(LONG, 1200) for place in range(20)}
    path = write(tmp_path / "t.parquet", columns)
    assert read_bounded(path, opening).rows == 1200


@FORMS
def test_nor_do_many_groups_of_rows(tmp_path, opening):
    path = write(tmp_path / "t.parquet", {"a": folded(LONG, 6000)}, groups=4)
    assert read_bounded(path, opening).rows == 24_000


@FORMS
def test_nor_does_a_column_that_stays_a_dictionary(tmp_path, opening):
    path = write(tmp_path / "t.parquet", {"a": folded(LONG, 24_000)}, store_schema=True)
    assert read_bounded(path, opening).rows == 24_000


@FORMS
def test_a_value_that_is_larger_than_all_cells_is_refused_by_its_column(tmp_path, opening):
    path = write(tmp_path / "t.parquet", {"a": folded(2**26, 1000)})
    outcome = read_bounded(path, opening)
    assert outcome.is_refused, outcome
    assert "column 'a' holds a cell of more than 131,072 bytes" in outcome.said


@FORMS
def test_pages_that_do_not_fit_together_are_refused_before_they_are_unpacked(tmp_path, opening):
    columns = {f"c{place}": folded(2**26, 1000) for place in range(20)}
    path = write(tmp_path / "t.parquet", columns)
    outcome = read_bounded(path, opening)
    assert outcome.is_refused, outcome
    assert "TABPE_MAX_PAGE_BYTES allows more" in outcome.said


@FORMS
def test_values_that_repeat_the_one_before_do_not_fill_the_memory(tmp_path, opening):
    column = folded(LONG, 8000).dictionary_decode()
    path = write(
        tmp_path / "t.parquet",
        {"a": column},
        use_dictionary=False,
        column_encoding={"a": "DELTA_BYTE_ARRAY"},
        data_page_size=2**31 - 1,
    )
    del column
    outcome = read_bounded(path, opening, gigabytes=0.75)
    assert outcome.rows == 8000


def test_a_list_without_end_is_refused(tmp_path):
    cells = pa.ListArray.from_arrays([0, 20_000], folded(LONG, 20_000))
    path = write(tmp_path / "t.parquet", {"a": cells})
    outcome = read_bounded(path)
    assert outcome.is_refused, outcome
    assert "TABPE_MAX_PAGE_BYTES allows more" in outcome.said


ENCODINGS = {
    "dictionary": {},
    "small dictionary": {"dictionary_pagesize_limit": 2000},
    "plain": {"use_dictionary": False},
    "lengths": {"use_dictionary": False, "column_encoding": {"a": "DELTA_LENGTH_BYTE_ARRAY"}},
    "prefixes": {"use_dictionary": False, "column_encoding": {"a": "DELTA_BYTE_ARRAY"}},
}


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("compression", ["none", "gzip", "zstd"])
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_batches_are_small_whatever_the_encoding_and_hold_the_same_rows(
    tmp_path, monkeypatch, encoding, compression, version
):
    most = 2**15
    monkeypatch.setattr(files, "_BYTES_AT_ONCE", most)
    rng = np.random.default_rng(20)
    lengths = rng.integers(0, 40, 3000) + 900 * (rng.random(3000) < 0.1)
    texts = [None if not length else f"{length % 7}" * length for length in lengths]
    table = pa.table({"a": texts, "b": rng.random(3000), "c": pa.array(range(3000))})
    path = tmp_path / "t.parquet"
    options = ENCODINGS[encoding] | {"data_page_size": 2000, "data_page_version": version}
    pq.write_table(table, path, compression=compression, row_group_size=1700, **options)
    with files.ParquetReader(pa.OSFile(str(path)), "t", Limits()) as file:
        batches = list(file.read_batches(["a", "b"]))
    assert pa.Table.from_batches(batches).equals(table.select(["a", "b"]))
    # Arrow's batches have offsets, and its buffers are rounded up.
    assert max(batch.nbytes for batch in batches) <= 1.2 * most


def test_the_footer_is_not_believed(tmp_path):
    path = write(tmp_path / "t.parquet", {"a": folded(2**19, 100)})
    told = pq.ParquetFile(path).metadata.row_group(0).column(0).total_uncompressed_size
    path.write_bytes(path.read_bytes().replace(varint(told), varint(2**15 + 1)))
    lying = pq.ParquetFile(path).metadata.row_group(0).column(0)
    assert lying.total_uncompressed_size == 2**15 + 1
    with pytest.raises(DataError, match="TABPE_MAX_PAGE_BYTES"):
        list(open_source(path, limits=Limits(page_bytes=2**18)).batches())


def varint(number):
    """Return a number as the footer of Parquet has it, in three bytes."""
    zigzag = number * 2
    return bytes([zigzag & 127 | 128, zigzag >> 7 & 127 | 128, zigzag >> 14])


def test_headers_that_are_no_headers_are_refused(tmp_path):
    path = write(tmp_path / "t.parquet", {"a": folded(10, 100)})
    content = bytearray(path.read_bytes())
    for change in (b"\x1c" * 40, b"\xff" * 40, b"\x19" * 40, bytes(40)):
        content[4:44] = change
        path.write_bytes(content)
        with pytest.raises(DataError, match="not a readable Parquet file"):
            list(open_source(path).batches())


WIDE = b"b," * 2**19  # a line of which no limit is reached
LINE = b'y",' + WIDE[: 2**20 - 8] + b'"y\n'  # one that begins and ends in a quoted cell
ENDLESS = {
    "header": (b"", b"x" * 2**20),
    "quoted header": (b'"', b"x" * 2**20),
    "quoted header of lines": (b'"', b"xxxxxxx\n" * 2**17),
    "header of many cells": (b'"', LINE),
    "cell": (b"a,b\n1,2\n3,", b"x" * 2**20),
    "quoted cell": (b'a,b\n1,2\n3,"', b"x" * 2**20),
    "quoted cell of lines": (b'a,b\n1,2\n3,"', b"xxxxxxx\n" * 2**17),
    "row of many cells": (b'a,b\n1,2\n3,"', LINE),
}


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz"])
@pytest.mark.parametrize("case", ENDLESS)
def test_a_row_of_csv_without_end_is_refused(tmp_path, case, name):
    """Each would take more than the limit if it were held as a whole."""
    begin, again = ENDLESS[case]
    path = tmp_path / name
    opened = functools.partial(gzip.open, compresslevel=1) if path.suffix == ".gz" else open
    with opened(path, "wb") as file:
        file.write(begin)
        for _ in range(448):
            file.write(again)
    outcome = read_bounded(path, gigabytes=1)
    assert outcome.is_refused, outcome
    assert "does not fit into memory" not in outcome.said
