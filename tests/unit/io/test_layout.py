"""The layout of text files: detected from the look of it, and read as it is stated."""

import gzip
import io
import zipfile

import pyarrow as pa
import pytest

from tabpe.errors import DataError
from tabpe.io import open_source, open_table
from tabpe.io.detect import draft_table
from tabpe.io.layout import detect_encoding, detect_layout, detect_text_layout
from tabpe.schema.table_format import TableFormat, TableReading

SECRET = "Secret-Cell-4711"


def cells(path, **layout):
    return open_table(path, TableReading(TableFormat(**layout)))[0].to_pylist()


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "cp1252"])
def test_every_layout_is_detected_and_gives_the_same_cells(tmp_path, end, mark, encoding):
    rows = [["größe", "ort"], ["1,5", f'Köln{mark} "am" Rhein'], ["2,5", "Zürich\nSee"]]
    lines = [
        mark.join('"' + cell.replace('"', '""') + '"' for cell in row) for row in [*rows, *rows[1:]]
    ]
    path = tmp_path / "t.csv"
    path.write_bytes((end.join(lines) + end).encode(encoding))
    found = detect_layout(path)
    table = open_table(path, TableReading(found))[0]
    assert table.to_pylist() == [dict(zip(rows[0], row, strict=True)) for row in rows[1:] * 2]


def test_mixed_line_ends_are_line_ends(tmp_path):
    (tmp_path / "t.csv").write_bytes(b"a;b\r\n1;2\n3;4\r\n")
    found = detect_layout(tmp_path / "t.csv")
    assert found.delimiter == ";"
    assert cells(tmp_path / "t.csv", delimiter=";") == [{"a": "1", "b": "2"}, {"a": "3", "b": "4"}]


def test_one_odd_row_does_not_change_the_layout():
    text = "a;b\n" + "1,5;2\n" * 50 + "x,y,z,1,2,3;4\n" + "2,5;2\n" * 50
    assert detect_text_layout(text).delimiter == ";"


def test_a_huge_field_does_not_stop_the_detection(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a;b\n1;2\n" + "x" * 500_000 + ";3\n")
    assert detect_layout(path).delimiter == ";"


@pytest.mark.parametrize("content", [b"", b"\n\n", b"a\n1\n", b"\xff\xfe", b'"', b"\x00\x00\x00"])
def test_what_has_no_layout_is_none_of_our_errors(tmp_path, content):
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    assert detect_layout(path) is not None


def test_comments_are_left_out_except_in_quotes(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('# made today\na,b\n1,"x\n# kept"\n# left out\n2,y\n')
    assert detect_layout(path).comment == "#"
    assert cells(path, comment="#") == [{"a": "1", "b": "x\n# kept"}, {"a": "2", "b": "y"}]


def test_lines_above_the_header_are_skipped(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("Report of the ward\nmade 2024\na,b\n1,2\n3,4\n")
    assert detect_layout(path).skip == 2
    assert [row["b"] for row in cells(path, skip=2)] == ["2", "4"]


def test_without_quotes_a_quotation_mark_is_text(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('a,b\n1,5" pipe\n')
    assert cells(path, quote=None) == [{"a": "1", "b": '5" pipe'}]


@pytest.mark.parametrize("suffix", ["gz", "zip", "xz", "bz2"])
def test_compressed_text_has_a_layout_too(tmp_path, suffix):
    import bz2
    import lzma

    content = "größe;b\n1,5;2\n".encode("cp1252")
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("t.csv", content)
    packed = {
        "gz": gzip.compress(content),
        "zip": archive.getvalue(),
        "xz": lzma.compress(content),
        "bz2": bz2.compress(content),
    }[suffix]
    path = tmp_path / f"t.csv.{suffix}"
    path.write_bytes(packed)
    assert detect_layout(path).delimiter == ";"
    assert cells(path, delimiter=";", encoding="cp1252") == [{"größe": "1,5", "b": "2"}]
    path.write_bytes(packed[: len(packed) // 2])
    with pytest.raises(DataError) as caught:
        cells(path, delimiter=";", encoding="cp1252")
    assert caught.value.__cause__ is None


def test_an_archive_of_two_files_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "t.csv.zip", "w") as file:
        file.writestr("a.csv", "a\n1\n")
        file.writestr("b.csv", "a\n1\n")
    with pytest.raises(DataError, match="an archive of 2 files"):
        open_source(tmp_path / "t.csv.zip")


@pytest.mark.parametrize(("mark", "word"), [(";", "semicolon"), ("\t", "tab"), ("|", "pipe")])
def test_another_delimiter_is_named_in_the_error(tmp_path, mark, word):
    path = tmp_path / "t.csv"
    path.write_text(f"age{mark}ward\n1{mark}{SECRET}\n")
    with pytest.raises(DataError, match=f"pass --delimiter {word}") as caught:
        open_source(path)
    assert SECRET not in str(caught.value)


def test_a_wrong_encoding_is_named_without_a_cell(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(f"a,b\n1,{SECRET}ö\n".encode("cp1252"))
    with pytest.raises(DataError, match=r"not UTF-8 text.*--encoding") as caught:
        open_table(path)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    "text", ["Größe, Übung, Straße, ça été", "naïve façade — “quotes” €5", "Ærø og Åse på ferie"]
)
def test_european_text_is_not_taken_for_japanese(text):
    assert detect_encoding((text * 20).encode("cp1252")) == "windows-1252"


@pytest.mark.parametrize(
    "text", ["zażółć gęślą jaźń, położnictwo", "pacientka má chuť, Anna Ťoupalová"]
)
def test_polish_and_czech_text_is_not_taken_for_western(text):
    assert detect_encoding((text * 20).encode("cp1250")) == "windows-1250"


@pytest.mark.parametrize("text", ["5 m³ a", "¿qué?", "x¹ y², m³/h", "cœur, señor, Århus"])
def test_western_signs_are_not_taken_for_polish(text):
    assert detect_encoding((text * 20).encode("cp1252")) == "windows-1252"


def test_detection_is_marked_and_counts_as_data(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("age;fee\n" + "31;1,5\n58;2,5\n" * 20)
    layout = draft_table(path).layout
    assert layout.fields_from_data == ("format.delimiter", "format.decimal")


def test_a_format_is_refused_where_it_says_nothing(tmp_path):
    import sqlite3

    from tabpe.io import SqlTable
    from tabpe.schema import Integer

    with sqlite3.connect(tmp_path / "w.db") as database:
        database.execute("create table t (age integer)")
        database.execute("insert into t values (1)")
    database.close()
    reading = TableReading.from_columns([Integer("age", 0, 9, nulls=(9,))])
    with pytest.raises(DataError, match="column 'age': nulls: is for files and frames"):
        open_source(SqlTable(f"sqlite:///{tmp_path}/w.db", "t"), reading=reading)


def test_arrow_tables_are_not_files():
    assert draft_table(pa.table({"x": [1, 2]})).layout is None
