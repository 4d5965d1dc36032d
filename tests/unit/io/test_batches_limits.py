"""Limits: what unfolds without end is stopped while it is read, and nobody learns where it ends."""

import gzip

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest

from tabpe.errors import DataError, ParameterError
from tabpe.io import Limits, open_source, read_table, text_streams

SECRET = "Secret-Cell-4711"
ROWS = 20_000


def _plain(table):
    """Return a table without the kinds of text that Arrow does not write to CSV."""
    views = [pa.types.is_string_view(field.type) for field in table.schema]
    kinds = [
        pa.string() if view else kind for view, kind in zip(views, table.schema.types, strict=True)
    ]
    return table.cast(pa.schema(list(zip(table.schema.names, kinds, strict=True))))


def write(path, table):
    if path.suffix == ".parquet":
        pq.write_table(table, path)
    elif path.suffix == ".arrow":
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table, max_chunksize=5000)
    elif path.suffix == ".gz":
        with gzip.open(path, "wb") as file:
            pyarrow.csv.write_csv(_plain(table), file)
    else:
        pyarrow.csv.write_csv(_plain(table), path)
    return path


@pytest.fixture(params=[".csv", ".csv.gz", ".parquet", ".arrow", "dataset"])
def kept(request, tmp_path):
    """Write a table as files of every kind, and return what `open_source` takes."""

    def keep(table):
        if request.param == "dataset":
            write(tmp_path / "t.parquet", table)
            return pyarrow.dataset.dataset(tmp_path)
        return write(tmp_path / f"t{request.param}", table)

    return keep


def refusal(data, **limits):
    with pytest.raises(DataError) as caught:
        for _ in open_source(data, limits=Limits(**limits)).batches():
            pass
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert SECRET not in str(caught.value)
    return str(caught.value)


def numbers(rows=ROWS):
    return pa.table({"x": pa.array(range(rows)), "y": ["word"] * rows})


def test_a_table_within_the_limits_is_read(kept):
    limits = Limits(bytes=2**20, rows=ROWS, columns=2, cell_bytes=4 * 2, files=1)
    source = open_source(kept(numbers()), limits=limits)
    assert sum(len(batch.table) for batch in source.batches()) == ROWS


def test_rows_are_counted_while_streaming(kept):
    message = refusal(kept(numbers()), rows=ROWS - 1)
    assert f"more than {ROWS - 1:,} rows; TABPE_MAX_ROWS allows more." in message
    assert f"{ROWS:,}" not in message.replace(f"{ROWS - 1:,}", "")


def test_bytes_are_counted_while_streaming(kept):
    assert "expands to more than 50,000 bytes; TABPE_MAX_BYTES" in refusal(
        kept(numbers()), bytes=50_000
    )


def test_columns_are_counted_before_reading(kept):
    message = refusal(kept(numbers(3)), columns=1)
    assert message.endswith("more than 1 columns; TABPE_MAX_COLUMNS allows more.")


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()], ids=str)
def test_a_long_cell_is_named_by_its_column(kept, kind):
    cells = pa.array(["word", SECRET * 100, "word"]).cast(kind)
    message = refusal(kept(pa.table({"x": [1, 2, 3], "note": cells})), cell_bytes=1000)
    assert "column 'note' holds a cell of more than 1,000 bytes" in message
    assert "1600" not in message


def test_a_long_cell_in_a_dictionary_is_found(tmp_path):
    table = pa.table({"note": pa.array([SECRET * 100] * 3).dictionary_encode()})
    for name in ("t.parquet", "t.arrow"):
        assert "column 'note'" in refusal(write(tmp_path / name, table), cell_bytes=1000)


def test_a_long_cell_in_a_column_that_is_left_out_does_not_matter(tmp_path):
    path = write(tmp_path / "t.csv", pa.table({"x": [1], "note": ["long" * 100]}))
    source = open_source(path, limits=Limits(cell_bytes=10))
    assert [batch.table.to_pydict() for batch in source.batches(["x"])] == [{"x": ["1"]}]


def test_files_are_counted(tmp_path):
    for name in "abc":
        write(tmp_path / f"{name}.csv", numbers(2))
    for data in (tmp_path, str(tmp_path / "*.csv")):
        assert read_table(data, limits=Limits(files=3)).num_rows == 6
        assert refusal(data, files=2) == f"{data}: more than 2 files; TABPE_MAX_FILES allows more."


@pytest.mark.parametrize(
    "content",
    [
        b"a,b\n" + b"1,2\n" * 2**20,
        b"a,b\n1,2\n" + b"\n" * 2**22,
        b"\n" * 2**22,
        b"a" * 2**22,
        b"a,b\n" + b"x" * 2**22,
        b'a,b\n1,"' + b"x" * 2**22,
        b'a,b\n1,"' + b"x\n" * 2**21,
    ],
    ids=["rows", "blank", "no header", "header", "cell", "open quote", "open quote, lines"],
)
def test_a_packed_bomb_is_stopped_at_the_limit_of_bytes(tmp_path, content, monkeypatch):
    path = tmp_path / "bomb.csv.gz"
    path.write_bytes(gzip.compress(content))
    read = 0

    def counted(self, count, plain=text_streams.DecompressedStream._count_bytes):
        nonlocal read
        read = max(read, self._count + count)
        return plain(self, count)

    monkeypatch.setattr(text_streams.DecompressedStream, "_count_bytes", counted)
    assert refusal(path, bytes=2**21).startswith(f"{path}: ")
    assert read <= 2**21 + 2**21


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"a" * (2**20 + 1), "of more than 1,048,576 characters"),
        (b"a,b\n1," + b"x" * 2**22, "of more than 1,048,576 characters"),
        (b"\n" * (2**18 + 1), "no row in 262,144 lines"),
        (b"a,b\n" + b"\n" * 2**18 + b"1,2\n", "no row in 262,144 lines"),
    ],
)
def test_a_file_whose_head_has_no_end_is_refused(tmp_path, content, words):
    (tmp_path / "t.csv").write_bytes(content)
    assert words in refusal(tmp_path / "t.csv")


def test_many_blank_lines_lose_no_row(tmp_path):
    (tmp_path / "t.csv").write_bytes(b"\n" * 5000 + b"a,b\n" + b"\n" * 5000 + b"1,2\n")
    assert read_table(tmp_path / "t.csv").to_pydict() == {"a": ["1"], "b": ["2"]}


def test_many_columns_take_no_time(tmp_path):
    names = [f"c{place}" for place in range(50_000)]
    (tmp_path / "t.csv").write_text(",".join(names) + "\n" + "1," * 49_999 + "1\n")
    assert len(open_source(tmp_path / "t.csv", limits=Limits(columns=50_000)).names) == 50_000
    assert "more than 10,000 columns" in refusal(tmp_path / "t.csv")


@pytest.mark.parametrize("ending", [".parquet", ".arrow"])
def test_text_that_is_not_text_is_refused_before_anybody_reads_it(tmp_path, ending):
    cells = pa.array([b"fine", b"\xff" + SECRET.encode()])
    text = pa.StringArray.from_buffers(2, cells.buffers()[1], cells.buffers()[2])
    path = write(tmp_path / f"t{ending}", pa.table({"x": text}))
    assert refusal(path) == f"{path}: not a sound file."


def test_offsets_beyond_the_end_are_refused_before_anybody_reads_there(tmp_path):
    path = tmp_path / "t.arrow"
    honest = pa.table({"x": ["aaaa", "bbbb"]})
    content = write(path, honest).read_bytes()
    offsets = np.array([0, 4, 8], np.int32).tobytes()
    assert content.count(offsets) == 1
    far = np.array([0, 10**9, 2 * 10**9], np.int32).tobytes()
    path.write_bytes(content.replace(offsets, far))
    assert refusal(path).startswith(f"{path}: not a ")


def test_the_environment_sets_limits(tmp_path, monkeypatch):
    path = write(tmp_path / "t.csv", numbers(3))
    monkeypatch.setenv("TABPE_MAX_ROWS", "2")
    with pytest.raises(DataError, match="more than 2 rows"):
        read_table(path)
    assert read_table(path, limits=Limits()).num_rows == 3


@pytest.mark.parametrize("text", ["0", "-1", "many", "1.5", "²"])
def test_a_limit_of_the_environment_that_is_no_count_is_refused(monkeypatch, text):
    monkeypatch.setenv("TABPE_MAX_ROWS", text)
    with pytest.raises(ParameterError, match=r"TABPE_MAX_ROWS=.*expected a whole number >= 1"):
        open_source("t.csv")


def test_an_empty_variable_is_no_limit():
    assert Limits.from_environment({"TABPE_MAX_ROWS": ""}) == Limits()


@pytest.mark.parametrize("value", [0, -1, 1.5, True, None])
def test_a_limit_is_a_count(value):
    with pytest.raises(ParameterError, match="rows="):
        Limits(rows=value)
