"""Tables behind an address: S3 on a real server of its own, and `file://`."""

import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from pyarrow import fs

import store as s3_server
from facade import columns, fake_fit
from tabpe.errors import DataError
from tabpe.io import Limits, open_source, read_table

pytestmark = pytest.mark.xdist_group("store")


@pytest.fixture(scope="module")
def table():
    return pa.table(columns(1500))


class Store:
    """A store, its files and their addresses."""

    def __init__(self, options):
        self.options = options
        self.files, _ = fs.FileSystem.from_uri(self.address("ward"))
        self.files.create_dir("ward")

    def address(self, path, keys=""):
        """The address of a file or a folder."""
        return f"s3://{keys}{path}?{self.options}"

    def put(self, path, content):
        """Write a file."""
        with self.files.open_output_stream(f"ward/{path}") as stream:
            stream.write(content)


@pytest.fixture(scope="module")
def store():
    with s3_server.running() as options:
        yield Store(options)


def content(table, ending):
    sink = pa.BufferOutputStream()
    if ending == ".csv":
        pa.csv.write_csv(table, sink)
    elif ending == ".parquet":
        pq.write_table(table, sink)
    else:
        pa.feather.write_feather(table, sink)
    return sink.getvalue().to_pybytes()


def read(address, names=None):
    return pa.concat_tables(batch.table for batch in open_source(address).batches(names))


@pytest.mark.parametrize("ending", [".parquet", ".feather", ".csv"])
def test_a_file_is_read_as_one_of_this_machine(store, table, tmp_path, ending):
    store.put(f"one{ending}", content(table, ending))
    (tmp_path / f"one{ending}").write_bytes(content(table, ending))
    expected = read_table(tmp_path / f"one{ending}")
    address = store.address(f"ward/one{ending}")
    assert read(address).equals(expected)
    assert read(address, ["ward"]).equals(expected.select(["ward"]))
    assert read(f"file://{tmp_path}/one{ending}").equals(expected)


def test_a_folder_is_read_as_one_of_this_machine(store, table, tmp_path):
    parts = {
        "year=2023/ward%20a=x%2Fy/a.parquet": table.slice(0, 700),
        "year=2024/ward%20a=__HIVE_DEFAULT_PARTITION__/b.parquet": table.slice(700),
        "_SUCCESS": None,
        ".hidden/c.parquet": None,
        "_old/d.parquet": None,
    }
    for name, rows in parts.items():
        held = b"" if rows is None else content(rows, ".parquet")
        path = tmp_path / "visits" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(held)
        store.put(f"visits/{name}", held)
    expected = read_table(tmp_path / "visits")
    assert expected.column_names[-2:] == ["year", "ward a"]
    found = read(store.address("ward/visits"))
    assert found.equals(expected)
    assert open_source(store.address("ward/visits")).most_rows == 1500
    assert read(f"file://{tmp_path}/visits").equals(expected)


def test_a_run_straight_from_a_store(store, table):
    store.put("run/a.parquet", content(table, ".parquet"))
    expected = fake_fit(table).sample().to_pylist()
    assert fake_fit(store.address("ward/run/")).sample().to_pylist() == expected


def test_missing_cells_of_csv_are_blank_text_and_ragged_rows_refused(store):
    store.put("blank.csv", b"a,b\n1,\n,NA\n")
    assert read(store.address("ward/blank.csv")).to_pydict() == {"a": ["1", ""], "b": ["", "NA"]}
    store.put("ragged.csv", b"a,b\n1,2\nzzcellqx\n")
    with pytest.raises(DataError, match=r"ward/ragged.csv: not readable by Arrow") as caught:
        read(store.address("ward/ragged.csv"))
    assert "zzcellqx" not in str(caught.value)


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "no such file"),
        ({"_SUCCESS": b""}, "no file in this folder"),
        ({"a.txt": b"x"}, "expected a file that ends in .csv"),
        ({"a.csv": b""}, "the file is empty"),
        ({"a.csv.gz": b"x"}, "decompress it, or use Parquet"),
        ({"a.csv": b"a\n1\n", "b.csv": b"b\n1\n"}, "columns differ"),
        ({"a.csv": b"a,a\n1,1\n"}, "have the same name"),
        ({"a.csv": b"a\n1\n", "b.parquet": b"PAR1"}, "of one kind"),
        ({"a.parquet": b"PAR1zzcellqx"}, "can not be read"),
        ({"x=1/a.csv": b"x\n1\n"}, "have the same name"),
    ],
)
def test_what_is_no_table_is_refused(store, request, files, message):
    folder = f"bad{abs(hash(request.node.name))}"
    for name, held in files.items():
        store.put(f"{folder}/{name}", held)
    with pytest.raises(DataError) as caught:
        read(store.address(f"ward/{folder}"))
    assert message in str(caught.value)
    assert "zzcellqx" not in str(caught.value)
    assert "endpoint" not in str(caught.value)


def test_keys_are_never_shown(store):
    keys = f"{s3_server.KEY}:{s3_server.SECRET}@"
    store.put("kept/a.csv", b"age\n31\n")
    assert read(store.address("ward/kept", keys)).to_pydict() == {"age": ["31"]}
    for path in ("nothing/here", "ward/nothing"):
        with pytest.raises(DataError) as caught:
            open_source(store.address(path, keys))
        assert s3_server.KEY not in str(caught.value)
        assert s3_server.SECRET not in str(caught.value)
        assert caught.value.__context__ is None
        assert path in str(caught.value)


def test_limits_hold(store):
    for name in ("a", "b", "c"):
        store.put(f"many/{name}.csv", b"age\n31\n")
    with pytest.raises(DataError, match="more than 2 files"):
        open_source(store.address("ward/many"), limits=Limits(files=2))


@pytest.mark.parametrize("address", ["file://elsewhere/a.csv", "file:///a.csv?x=1"])
def test_a_file_address_is_of_this_machine(address):
    with pytest.raises(DataError, match="the path of a file on this machine"):
        open_source(address)
