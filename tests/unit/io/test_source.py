"""Sources: tables of any kind in batches, as often as asked, and where each row is from."""

import gzip

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from tabpe.errors import DataError
from tabpe.io import Limits, batches, open_source, open_table, read_table
from tabpe.io.canonical import flatten_column, read_texts
from tabpe.io.files import ParquetFile, open_table_file

SECRET = "Secret-Cell-4711"
TABLE = pa.table({"age": [31, 42, 53, 64, 75], "ward": ["a", "b", "c", "d", "e"]})


def write(path, table=TABLE):
    """Write a table in the format that the ending asks for."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.name.endswith((".parquet", ".pq")):
        pq.write_table(table, path)
    elif path.name.endswith(".csv"):
        pyarrow.csv.write_csv(table, path)
    elif path.name.endswith(".csv.gz"):
        with gzip.open(path, "wb") as file:
            pyarrow.csv.write_csv(table, file)
    elif path.name.endswith(".feather"):
        pyarrow.feather.write_feather(table, path)
    else:
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table)
    return path


ENDINGS = [".csv", ".csv.gz", ".parquet", ".pq", ".arrow", ".feather", ".ipc"]
each_ending = pytest.mark.parametrize("ending", ENDINGS)


@pytest.fixture
def small_batches(monkeypatch):
    monkeypatch.setattr(batches, "ROWS_A_BATCH", 2)


def places(source, names=None):
    return [(batch.file, batch.first_row, len(batch.table)) for batch in source.batches(names)]


def text(table):
    return {name: [str(cell) for cell in column] for name, column in table.to_pydict().items()}


def refusal(data):
    with pytest.raises(DataError) as caught:
        for _ in open_source(data).batches():
            pass
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert SECRET not in str(caught.value)
    return str(caught.value)


@each_ending
def test_every_kind_of_file_is_read_in_batches_as_often_as_asked(tmp_path, ending, small_batches):
    path = write(tmp_path / f"table{ending}")
    source = open_source(path)
    for _ in range(2):
        assert places(source) == [(str(path), 0, 2), (str(path), 2, 2), (str(path), 4, 1)]
    joined = pa.concat_tables(batch.table for batch in source.batches())
    assert text(joined) == text(TABLE)
    assert text(read_table(path)) == text(TABLE)


@each_ending
def test_the_names_are_those_of_the_table_read_as_a_whole(tmp_path, ending):
    path = write(tmp_path / f"table{ending}")
    source = open_source(path)
    table, library = open_table(path)
    assert source.library == library == "pyarrow"
    assert source.names == table.schema.names


@each_ending
def test_the_size_is_known_or_guessed_high(tmp_path, ending):
    most = open_source(write(tmp_path / f"table{ending}")).most_rows
    assert most >= 5
    if ".csv" not in ending:
        assert most == 5


@pytest.mark.parametrize(
    "content", ["a\n1\n2\n3\n4\n5\n6", "a,b\n,\n,\n,", "a,b,c\r\n,,\r\n,,\r\n"]
)
def test_even_the_shortest_rows_are_not_more_than_guessed(tmp_path, content):
    (tmp_path / "t.csv").write_text(content)
    source = open_source(tmp_path / "t.csv")
    assert sum(len(batch.table) for batch in source.batches()) <= source.most_rows


def test_the_guess_holds_for_a_file_that_unfolds_a_thousand_times(tmp_path):
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(b"a,b\n" + b",\n" * 10**6))
    assert open_source(tmp_path / "t.csv.gz").most_rows >= 10**6


@each_ending
def test_only_the_columns_asked_for_are_read_in_their_order(tmp_path, ending):
    source = open_source(write(tmp_path / f"table{ending}"))
    (batch,) = source.batches(["ward"])
    assert batch.table.schema.names == ["ward"]
    (batch,) = source.batches(["ward", "age"])
    assert batch.table.schema.names == ["ward", "age"]


@pytest.mark.parametrize("ending", [".parquet", ".arrow"])
def test_columns_that_are_not_asked_for_are_not_even_unfolded(tmp_path, ending):
    path = write(tmp_path / f"t{ending}")
    assert [
        batch.schema.names for batch in open_table_file(path, Limits()).read_batches(["ward"])
    ] == [["ward"]]


@pytest.mark.parametrize(
    "frame",
    [TABLE, TABLE.to_pandas(), pl.from_arrow(TABLE), pl.from_arrow(TABLE).lazy()],
    ids=["arrow", "pandas", "polars", "lazy"],
)
def test_a_frame_is_read_in_slices(frame, small_batches):
    source = open_source(frame)
    assert source.most_rows == 5
    for _ in range(2):
        assert places(source, ["age"]) == [(None, 0, 2), (None, 2, 2), (None, 4, 1)]


def test_batches_are_large_where_the_pieces_of_a_file_are_small(tmp_path, monkeypatch):
    path = tmp_path / "t.arrow"
    with pa.ipc.new_file(path, TABLE.schema) as writer:
        writer.write_table(TABLE, max_chunksize=1)
    assert places(open_source(path)) == [(str(path), 0, 5)]
    monkeypatch.setattr(batches, "BYTES_A_BATCH", 40)
    assert len(places(open_source(path))) > 1


@pytest.mark.parametrize("ending", [".parquet", ".arrow"])
def test_names_that_look_like_paths_are_names(tmp_path, ending):
    table = pa.table({"a": [1], "a.b": [2], "s": [{"b": 3, "c": 4}], "s.b": [5], "x[0]": [6]})
    source = open_source(write(tmp_path / f"t{ending}", table))
    for name in ("a", "a.b", "s.b", "x[0]"):
        (batch,) = source.batches([name])
        assert batch.table.to_pydict() == {name: table[name].to_pylist()}


# Folders, patterns, keys.


def test_a_folder_is_read_to_its_depth_in_the_order_of_names(tmp_path):
    for place, name in enumerate(["b.csv", "a/z.csv", "a/y/x.csv", "c.csv.gz"]):
        write(tmp_path / name, pa.table({"age": [place]}))
    assert read_table(tmp_path)["age"].to_pylist() == ["2", "1", "0", "3"]
    files = [batch.file for batch in open_source(tmp_path).batches()]
    assert files == [str(tmp_path / n) for n in ["a/y/x.csv", "a/z.csv", "b.csv", "c.csv.gz"]]


@pytest.mark.parametrize(
    "name", [".hidden.csv", "_SUCCESS", "_metadata", ".part.csv.crc", "_tmp/x.csv", ".git/x.csv"]
)
def test_what_is_hidden_in_a_folder_is_passed_over(tmp_path, name):
    write(tmp_path / "t.csv")
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text(f"other\n{SECRET}\n")
    assert read_table(tmp_path).num_rows == 5


def test_what_is_no_table_in_a_folder_is_refused(tmp_path):
    write(tmp_path / "t.csv")
    (tmp_path / "notes.md").write_text(SECRET)
    assert "notes.md: expected a file that ends in .csv" in refusal(tmp_path)


@pytest.mark.parametrize("content", [None, "_SUCCESS", "below/.hidden"])
def test_a_folder_without_a_file_is_refused(tmp_path, content):
    if content:
        (tmp_path / content).parent.mkdir(exist_ok=True)
        (tmp_path / content).write_text("")
    assert refusal(tmp_path) == f"{tmp_path}: no file in this folder."


@each_ending
def test_keys_of_folders_become_columns_of_text(tmp_path, ending, small_batches):
    for year, ward in [("2023", "heart%20unit"), ("2024", "__HIVE_DEFAULT_PARTITION__")]:
        write(tmp_path / f"year={year}" / "plain" / f"the%2Fward={ward}" / f"t{ending}")
    source = open_source(tmp_path)
    assert source.names == ["age", "ward", "year", "the/ward"]
    table = read_table(tmp_path)
    assert table["year"].to_pylist() == ["2023"] * 5 + ["2024"] * 5
    assert table["the/ward"].to_pylist() == ["heart unit"] * 5 + [None] * 5
    assert [rows for _, _, rows in places(source, ["year"])] == [2, 2, 1] * 2


def test_keys_hold_for_patterns_and_not_above_the_root(tmp_path):
    write(tmp_path / "above=1" / "year=2023" / "t.csv")
    write(tmp_path / "above=1" / "year=2024" / "t.csv")
    folder = tmp_path / "above=1"
    assert open_source(folder / "year=*" / "*.csv").names == ["age", "ward", "year"]
    assert open_source(folder).names == ["age", "ward", "year"]
    assert open_source(folder / "year=2023").names == ["age", "ward"]
    assert open_source(folder / "year=2023" / "t.csv").names == ["age", "ward"]


def test_a_key_that_begins_with_a_line_is_a_key(tmp_path):
    write(tmp_path / "_year=2023" / "t.csv")
    assert open_source(tmp_path).names == ["age", "ward", "_year"]


@pytest.mark.parametrize(
    ("folders", "words"),
    [
        (["age=1"], "have the same name"),
        (["year=1/year=2"], "have the same name"),
        (["year=1", "month=2"], "its columns differ from those of"),
        (["year=1", "plain"], "its columns differ from those of"),
        (["year=%FF"], "the name of a folder is not UTF-8"),
    ],
)
def test_keys_that_contradict_are_refused(tmp_path, folders, words):
    for folder in folders:
        write(tmp_path / folder / "t.csv")
    assert words in refusal(tmp_path)


def test_a_file_that_is_there_twice_is_refused(tmp_path):
    write(tmp_path / "a" / "t.csv")
    (tmp_path / "b.csv").symlink_to(tmp_path / "a" / "t.csv")
    assert "its rows would count twice" in refusal(tmp_path)
    (tmp_path / "c.csv").symlink_to(tmp_path / "b.csv")
    assert "its rows would count twice" in refusal(str(tmp_path / "*.csv"))


def test_a_folder_that_leads_back_is_refused(tmp_path):
    write(tmp_path / "a" / "t.csv")
    (tmp_path / "a" / "again").symlink_to(tmp_path)
    assert "leads back" in refusal(tmp_path)


def test_a_linked_folder_is_read(tmp_path):
    write(tmp_path / "elsewhere" / "t.csv")
    (tmp_path / "table").mkdir()
    (tmp_path / "table" / "linked").symlink_to(tmp_path / "elsewhere")
    assert read_table(tmp_path / "table").num_rows == 5


# What must agree between files.


def test_a_file_without_rows_is_fine_beside_others(tmp_path):
    (tmp_path / "a.csv").write_text("age,ward\n")
    (tmp_path / "b.csv").write_text("age,ward\n1,x\n")
    (tmp_path / "c.csv").write_text("age,ward")
    assert read_table(tmp_path).to_pydict() == {"age": ["1"], "ward": ["x"]}
    write(tmp_path / "p" / "a.parquet", TABLE.slice(0, 0))
    write(tmp_path / "p" / "b.parquet")
    assert read_table(tmp_path / "p").num_rows == 5


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".arrow"])
def test_files_may_have_no_row_at_all(tmp_path, ending):
    for name in "ab":
        write(tmp_path / f"{name}{ending}", TABLE.slice(0, 0))
    source = open_source(tmp_path)
    assert source.names == TABLE.column_names
    assert sum(batch.table.num_rows for batch in source.batches()) == 0


def test_a_file_without_a_header_is_refused_even_beside_others(tmp_path):
    write(tmp_path / "a.csv")
    (tmp_path / "b.csv").write_text("")
    assert refusal(tmp_path) == f"{tmp_path / 'b.csv'}: the file is empty."


def test_files_of_different_types_hold_the_cells_that_they_hold_alone(tmp_path):
    parts = [pa.array([1], pa.int8()), pa.array([2.5]), pa.array([2**53 + 1]), pa.array(["x"])]
    for number, cells in enumerate(parts):
        write(tmp_path / f"{number}.{'arrow' if number % 2 else 'parquet'}", pa.table({"x": cells}))
    for _ in range(2):
        assert read_texts(flatten_column(read_table(tmp_path)["x"])).to_pylist() == [
            "1",
            "2.5",
            str(2**53 + 1),
            "x",
        ]


def test_lists_are_told_before_a_row_is_read(tmp_path):
    write(tmp_path / "a.parquet", pa.table({"x": [1], "tags": [1]}))
    write(tmp_path / "b.parquet", pa.table({"x": [1], "tags": [[1]]}))
    assert open_source(tmp_path).nested == {"tags"}
    assert open_source(pa.table({"x": [[1]]})).nested == {"x"}


@pytest.mark.parametrize("fault", ["ragged", "encoding", "quote"])
def test_a_fault_in_the_second_file_is_named_by_that_file(tmp_path, fault, small_batches):
    content = {
        "ragged": f"age,ward\n1,x\n2,y\n3,{SECRET},1\n".encode(),
        "encoding": f"age,ward\n1,x\n2,{SECRET}".encode() + b"\xff\n",
        "quote": f'age,ward\n1,x\n2,"{SECRET}\n'.encode(),
    }[fault]
    words = {"ragged": "row 3 has 3 cells", "encoding": "not UTF-8", "quote": "quot"}[fault]
    write(tmp_path / "a.csv")
    (tmp_path / "b.csv").write_bytes(content)
    message = refusal(tmp_path)
    assert message.startswith(f"{tmp_path / 'b.csv'}: ")
    assert words in message


def test_a_ragged_row_in_a_column_that_is_not_asked_for_is_refused(tmp_path):
    (tmp_path / "t.csv").write_text("age,ward\n1,x\n2,y,z\n")
    with pytest.raises(DataError, match="row 2 has 3 cells"):
        list(open_source(tmp_path / "t.csv").batches(["age"]))


@pytest.mark.parametrize("ending", [".parquet", ".arrow", ".feather", ".ipc", ".csv.gz"])
@pytest.mark.parametrize("content", [b"", b"PAR1" + SECRET.encode() + b"PAR1", b"ARROW1\0\0" * 9])
def test_a_damaged_file_is_refused(tmp_path, ending, content):
    path = tmp_path / f"t{ending}"
    path.write_bytes(content)
    assert refusal(path).startswith(f"{path}: ")


@pytest.mark.parametrize("ending", [".parquet", ".arrow"])
def test_a_file_that_is_damaged_further_down_is_refused(tmp_path, ending):
    size = 50_000
    path = write(tmp_path / f"t{ending}", pa.table({"x": [f"{SECRET}{n}" for n in range(size)]}))
    content = bytearray(path.read_bytes())
    if ending == ".parquet":
        content[1000:9000] = np.random.default_rng(0).bytes(8000)
    else:
        content = content[: len(content) // 2]
    path.write_bytes(content)
    assert refusal(path).startswith(f"{path}: ")


def test_columns_that_change_after_opening_are_refused(tmp_path):
    path = write(tmp_path / "t.parquet")
    source = open_source(path)
    write(path, TABLE.rename_columns(["age", SECRET]))
    with pytest.raises(DataError, match="its columns changed"):
        list(source.batches(["ward"]))


@pytest.mark.parametrize("ending", [".parquet", ".arrow"])
def test_duplicate_columns_are_refused_by_their_places(tmp_path, ending):
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["age", "age"])
    assert "columns 1 and 2 have the same name" in refusal(write(tmp_path / f"t{ending}", table))


def test_dictionaries_that_differ_between_files_go_together(tmp_path):
    for name, cells in [("a", ["x", "y"]), ("b", ["z", "x"])]:
        table = pa.table({"ward": pa.array(cells).dictionary_encode()})
        write(tmp_path / f"{name}.arrow", table)
        write(tmp_path / "pq" / f"{name}.parquet", table)
    for path in (tmp_path / "*.arrow", tmp_path / "pq"):
        assert read_table(path)["ward"].to_pylist() == ["x", "y", "z", "x"]


def test_the_limit_of_a_whole_table_counts_all_files(tmp_path):
    for name in "abcd":
        write(tmp_path / f"{name}.parquet", pa.table({"x": np.arange(1000)}))
    assert read_table(tmp_path, limits=Limits(whole_bytes=40_000)).num_rows == 4000
    with pytest.raises(DataError, match="expands to more than 20,000 bytes"):
        read_table(tmp_path, limits=Limits(whole_bytes=20_000))


def test_a_file_is_closed_when_its_reading_is_given_up(tmp_path, monkeypatch, small_batches):
    opened, plain = [], ParquetFile._open
    monkeypatch.setattr(ParquetFile, "_open", lambda self: opened.append(plain(self)) or opened[-1])
    reading = open_source(write(tmp_path / "t.parquet")).batches()
    next(reading)
    reading.close()
    assert len(opened) == 2
    assert all(file.closed for file in opened)


# Datasets of Arrow.


def test_a_dataset_is_read_by_its_files(tmp_path, small_batches):
    for year in ("2023", "2024"):
        write(tmp_path / f"year={year}" / "t.parquet")
    dataset = pyarrow.dataset.dataset(tmp_path, partitioning="hive")
    source = open_source(dataset)
    assert source.names == ["age", "ward", "year"]
    assert source.most_rows == 10
    first, second = (str(tmp_path / f"year={year}" / "t.parquet") for year in ("2023", "2024"))
    parts = [(0, 2), (2, 2), (4, 1)]
    expected = [(file, start, rows) for file in (first, second) for start, rows in parts]
    for _ in range(2):
        assert places(source, ["year", "age"]) == expected
    table, _ = open_table(dataset)
    assert table["year"].to_pylist() == [2023] * 5 + [2024] * 5


def test_files_of_a_dataset_are_read_in_their_own_types(tmp_path):
    write(tmp_path / "a.parquet", pa.table({"x": [1]}))
    write(tmp_path / "b.parquet", pa.table({"x": [2.5]}))
    table, _ = open_table(pyarrow.dataset.dataset(tmp_path))
    assert read_texts(flatten_column(table["x"])).to_pylist() == ["1", "2.5"]


@pytest.mark.parametrize(
    ("kind", "rows"), [("parquet", 5), ("arrow", 5), ("ipc", 5), ("feather", 5), ("csv", None)]
)
def test_a_dataset_knows_its_size_if_its_files_do(tmp_path, kind, rows):
    dataset = pyarrow.dataset.dataset(write(tmp_path / f"t.{kind}"), format=kind)
    assert open_source(dataset).most_rows == rows


@pytest.mark.parametrize(
    "dataset",
    [
        lambda path: pyarrow.dataset.dataset(path).filter(pyarrow.dataset.field("age") > 40),
        lambda path: pyarrow.dataset.dataset(TABLE.slice(1)),
    ],
    ids=["filtered", "in memory"],
)
def test_a_dataset_without_files_counts_its_rows(tmp_path, dataset, small_batches):
    source = open_source(dataset(write(tmp_path / "t.parquet")))
    assert source.most_rows is None
    read = list(source.batches())
    assert [batch.file for batch in read] == [None] * len(read)
    assert pa.concat_tables(batch.table for batch in read)["age"].to_pylist() == [42, 53, 64, 75]
    lengths = [len(batch.table) for batch in read]
    assert [batch.first_row for batch in read] == [sum(lengths[:n]) for n in range(len(read))]


def test_a_dataset_may_be_empty():
    dataset = pyarrow.dataset.dataset(TABLE.slice(0, 0))
    assert sum(len(batch.table) for batch in open_source(dataset).batches()) == 0


@pytest.mark.parametrize(
    "table", [TABLE.rename_columns(["age", "age"]), TABLE.rename_columns(["age", " "])]
)
def test_a_dataset_is_checked_like_a_frame(table):
    assert refusal(pyarrow.dataset.dataset(table)).startswith("data: ")


def test_a_damaged_dataset_is_refused_without_a_cell(tmp_path):
    path = write(tmp_path / "t.csv")
    dataset = pyarrow.dataset.dataset(tmp_path, format="csv")
    path.write_text(f"age,ward\n1,2\n{SECRET}\n")
    assert refusal(dataset) == f"{path}: not readable by Arrow."
