"""CSV and Parquet files: what is read, and what is refused without showing a cell."""

import gzip
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tabpe.errors import DataError
from tabpe.io import Limits, open_source, read_table
from tabpe.schema.table_format import TableFormat, TableReading

SECRET = "Secret-Cell-4711"


@pytest.fixture
def file(tmp_path):
    def write(content, name="table.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def refusal(path, **options):
    with pytest.raises(DataError) as caught:
        read_table(path, **options)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert len(message.splitlines()) == 1
    assert SECRET not in message
    assert caught.value.__cause__ is None
    return message.removeprefix(f"{path}: ")


def test_csv_cells_are_text(file):
    table = read_table(file("age,code,note\n31,007,\n42,1e3,NA\n"))
    assert table.to_pydict() == {"age": ["31", "42"], "code": ["007", "1e3"], "note": ["", "NA"]}
    assert set(table.schema.types) == {pa.string()}


def test_a_path_may_be_text(file):
    assert read_table(str(file("a\n1\n"))).num_rows == 1


@pytest.mark.parametrize(
    "content",
    [
        "a,b\n1,x\n",
        "a,b\n1,x",
        "a,b\r\n1,x\r\n",
        '"a","b"\n"1","x"\n',
        "\na,b\n\n1,x\n\n",
        b"\xef\xbb\xbfa,b\n1,x\n",
        b'\xef\xbb\xbf"a","b"\n1,x\n',
    ],
)
def test_the_same_table_in_other_clothes_is_the_same(file, content):
    assert read_table(file(content)).to_pydict() == {"a": ["1"], "b": ["x"]}


def test_quoted_cells_may_hold_commas_quotes_and_newlines(file):
    table = read_table(file('a,"b,c"\n"x\ny","p,""q"""\n'))
    assert table.to_pydict() == {"a": ["x\ny"], "b,c": ['p,"q"']}


def test_cells_may_hold_any_letter(file):
    assert read_table(file("naïve,中文\nÅ,🙂\n")).to_pydict() == {"naïve": ["Å"], "中文": ["🙂"]}


@pytest.mark.parametrize("name", ["table.CSV", "table.csv.gz", "TABLE.Csv.Gz"])
def test_the_ending_may_be_large_or_compressed(file, name):
    content = b"a,b\n1,x\n"
    path = file(gzip.compress(content) if name.lower().endswith("gz") else content, name)
    assert read_table(path).to_pydict() == {"a": ["1"], "b": ["x"]}


@pytest.mark.parametrize("content", ["", "\n\n", b"\xef\xbb\xbf"])
def test_an_empty_file_is_refused(file, content):
    assert refusal(file(content)) == "the file is empty."


@pytest.mark.parametrize("content", ["a,b\n", "a,b", '"a","b"\r\n'])
def test_a_header_without_rows_is_refused(file, content):
    assert "the table has no rows" in refusal(file(content))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (f"a,b\n1,2\n3,{SECRET},4\n", "row 2 has 3 cells where the header has 2."),
        (f"a,b\n1,2\n3,4\n{SECRET}\n", "row 3 has 1 cells where the header has 2."),
        (f'a,b\n"x\ny",2\n3,{SECRET},4\n', "row 2 has 3 cells where the header has 2."),
        (f"a,b\n{SECRET}\n1,2\n", "row 1 has 1 cells where the header has 2."),
    ],
)
def test_a_ragged_row_is_named_and_not_shown(file, content, message):
    assert refusal(file(content)) == message


def test_a_ragged_row_far_down_is_named(file):
    content = "a,b\n" + "1,2\n" * 400_000 + f"1,{SECRET},3\n"
    assert refusal(file(content)).startswith("row 400001 has 3 cells")


def test_a_quote_that_is_never_closed_does_not_swallow_the_rest(file):
    assert "quot" in refusal(file(f'a,b\n1,"{SECRET}\n3,4\n5,6\n'))


@pytest.mark.parametrize("content", ["a,b,a\n1,2,3\n", 'a,b,"a"\n1,2,3\n'])
def test_a_duplicate_header_is_refused_by_its_places(file, content):
    assert "columns 1 and 3 have the same name" in refusal(file(content))


@pytest.mark.parametrize("content", ["a,,c\n1,2,3\n", "a, ,c\n1,2,3\n", 'a,"",c\n1,2,3\n'])
def test_a_column_without_a_name_is_refused_by_place(file, content):
    assert refusal(file(content)).startswith("column 2 has no name")


@pytest.mark.parametrize(
    "content",
    [
        f"a,b\n1,{SECRET}é\n".encode("latin-1"),
        f"a,é\n1,{SECRET}\n".encode("latin-1"),
        f"a,b\n1,{SECRET}\n".encode("utf-16"),
        b"a,b\n" + b"1,2\n" * 300_000 + b"1,\xff\n",
    ],
    ids=["cell", "header", "utf-16", "far down"],
)
def test_a_foreign_encoding_is_refused(file, content):
    assert "not UTF-8" in refusal(file(content))


@pytest.mark.parametrize("limit", ["bytes", "whole_bytes"])
def test_a_compressed_file_that_unfolds_without_end_is_stopped(file, limit):
    path = file(gzip.compress(b"a,b\n" + b"1,2\n" * 500_000), "bomb.csv.gz")
    assert path.stat().st_size < 10_000
    assert refusal(path, limits=Limits(**{limit: 100_000})) == (
        f"expands to more than 100,000 bytes; TABPE_MAX_{limit.upper()} allows more."
    )


@pytest.mark.parametrize("limit", ["bytes", "whole_bytes"])
def test_a_parquet_file_that_unfolds_without_end_is_stopped(tmp_path, limit):
    path = tmp_path / "bomb.parquet"
    pq.write_table(pa.table({"a": pa.array([7] * 500_000)}), path)
    assert path.stat().st_size < 10_000
    assert refusal(path, limits=Limits(**{limit: 100_000})) == (
        f"expands to more than 100,000 bytes; TABPE_MAX_{limit.upper()} allows more."
    )


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("plain.csv.gz", f"a,b\n1,{SECRET}\n".encode()),
        ("cut.csv.gz", gzip.compress(b"a,b\n" + b"1,2\n" * 100_000, mtime=0)[:-20]),
        ("cut.csv.gz", gzip.compress(bytes(range(256)) * 99, mtime=0)[:30]),
        ("text.parquet", f"a,b\n1,{SECRET}\n".encode()),
        ("empty.parquet", b""),
        ("magic.parquet", b"PAR1" + SECRET.encode() + b"PAR1"),
    ],
)
def test_a_damaged_file_is_refused(file, name, content):
    assert refusal(file(content, name))


@pytest.mark.parametrize("part", [slice(None, 5000), slice(5000, None)])
def test_a_parquet_file_cut_in_two_is_refused(file, tmp_path, part):
    pq.write_table(pa.table({"a": [str(number) for number in range(5000)]}), tmp_path / "whole.pq")
    content = (tmp_path / "whole.pq").read_bytes()
    assert refusal(file(content[part], "part.parquet"))


@pytest.mark.parametrize("name", ["table.doc", "table.parquet.gz", "table", "csv"])
def test_a_foreign_ending_is_refused(file, name):
    message = refusal(file(f"a\n{SECRET}\n", name))
    known = ".csv, .tsv, .tab, .txt, .parquet, .pq, .arrow, .feather, .ipc, .xlsx"
    assert message.startswith(f"expected a file that ends in {known}")


@pytest.mark.parametrize("name", ["absent.csv", "absent-*.parquet"])
def test_a_missing_file_is_refused(tmp_path, name):
    assert refusal(tmp_path / name) == "no such file."


@pytest.mark.parametrize("name", ["table.parquet", "table.pq"])
def test_parquet_keeps_its_cells(tmp_path, name):
    table = pa.table({"age": pa.array([31, 42], pa.int8()), "ill": [True, False]})
    pq.write_table(table, tmp_path / name)
    assert read_table(tmp_path / name).to_pydict() == table.to_pydict()


def test_parquet_without_rows_is_refused(tmp_path):
    pq.write_table(pa.table({"a": pa.array([], pa.int64())}), tmp_path / "none.parquet")
    assert "no row" in refusal(tmp_path / "none.parquet")


def test_a_duplicate_column_in_parquet_is_refused_by_its_places(tmp_path):
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["age", "age"])
    pq.write_table(table, tmp_path / "twice.parquet")
    assert "columns 1 and 2 have the same name" in refusal(tmp_path / "twice.parquet")


def test_a_pattern_reads_all_files_in_the_order_of_their_names(file, tmp_path):
    file("a,b\n3,z\n", "part-2.csv")
    file("a,b\n1,x\n2,y\n", "part-1.csv")
    file("other\n9\n", "rest.csv")
    table = read_table(tmp_path / "part-*.csv")
    assert table.to_pydict() == {"a": ["1", "2", "3"], "b": ["x", "y", "z"]}


def test_a_file_whose_name_looks_like_a_pattern_is_that_file(file):
    assert read_table(file("a\n1\n", "table[1].csv")).num_rows == 1


@pytest.mark.parametrize("header", ["a,c", "b,a", "a,b,c"])
def test_files_with_different_columns_are_refused(file, tmp_path, header):
    first = file("a,b\n1,2\n", "part-1.csv")
    second = file(f"{header}\n{','.join([SECRET] * len(header.split(',')))}\n", "part-2.csv")
    with pytest.raises(DataError) as caught:
        read_table(tmp_path / "part-*.csv")
    assert str(caught.value) == f"{second}: its columns differ from those of {first}."


def test_files_with_different_types_go_together(tmp_path):
    pq.write_table(pa.table({"a": [1]}), tmp_path / "part-1.parquet")
    pq.write_table(pa.table({"a": [SECRET]}), tmp_path / "part-2.parquet")
    assert read_table(tmp_path / "part-*.parquet").to_pydict() == {"a": ["1", SECRET]}


def test_files_with_wider_and_narrower_numbers_go_together(tmp_path):
    pq.write_table(pa.table({"a": pa.array([1], pa.int8())}), tmp_path / "part-1.parquet")
    pq.write_table(pa.table({"a": pa.array([300], pa.int32())}), tmp_path / "part-2.parquet")
    assert read_table(tmp_path / "part-*.parquet").to_pydict() == {"a": [1, 300]}


def test_a_file_that_may_not_be_read_is_named(file, monkeypatch):
    path = file("a\n1\n")

    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(pa, "input_stream", refuse)
    assert refusal(path) == "can not read (Permission denied)."


def test_the_limit_holds_for_plain_text_too(file):
    assert "expands to more than" in refusal(
        file("a\n" + "1\n" * 10_000), limits=Limits(bytes=1000)
    )


def test_the_path_of_a_pattern_may_be_text(file, tmp_path):
    file("a\n1\n", "x.csv")
    assert read_table(str(Path(tmp_path) / "*.csv")).num_rows == 1


def test_a_delimiter_at_the_end_of_lines_is_no_column(file):
    path = file(b"a;b;\n1;2;\r\n3;4;x\n")
    source = open_source(path, reading=TableReading(TableFormat(delimiter=";")))
    (batch,) = source.batches()
    assert source.names == ["a", "b"]
    assert batch.table.to_pydict() == {"a": ["1", "3"], "b": ["2", "4"]}
    with pytest.raises(DataError, match="row 1 has 2 cells where the header has 3"):
        list(open_source(file(b"a,b,\n1,2\n")).batches())
