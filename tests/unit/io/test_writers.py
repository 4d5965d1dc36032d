"""Tables to CSV and Parquet."""

import csv
import io
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tabpe._utils import files as atomic
from tabpe.errors import OutputError
from tabpe.io import make_table_writer, read_table

TABLE = pa.table({"age": [31, 42], "bmi": [20.5, 31.25], "ill": [True, False], "ward": ["a", "b"]})


def written(table, name="table.csv", **options):
    buffer = io.BytesIO()
    make_table_writer(table, Path(name), **options)(buffer)
    return buffer.getvalue()


def read_csv(table, **options):
    text = io.StringIO(written(table, **options).decode(), newline="")
    return list(csv.reader(text, strict=True))


def cells_of(table, **options):
    return read_csv(table, **options)[1:]


def test_csv_is_plain_text():
    assert read_csv(TABLE) == [
        ["age", "bmi", "ill", "ward"],
        ["31", "20.5", "true", "a"],
        ["42", "31.25", "false", "b"],
    ]


@pytest.mark.parametrize("name", ["table.parquet", "table.pq"])
def test_parquet_keeps_the_table(tmp_path, name):
    atomic.write_file(tmp_path / name, make_table_writer(TABLE, tmp_path / name))
    assert pq.read_table(tmp_path / name).equals(TABLE)


@pytest.mark.parametrize(
    "kind",
    [
        pa.string(),
        pa.large_string(),
        pa.string_view(),
        pa.dictionary(pa.int8(), pa.string()),
        pa.dictionary(pa.int32(), pa.large_string()),
    ],
    ids=str,
)
def test_text_of_every_type_becomes_the_same_csv(kind):
    cells = ["plain", "comma,", 'quote"', "line\nbreak", ""]
    assert cells_of(pa.table({"x": pa.array(cells).cast(kind)})) == [[cell] for cell in cells]


def test_a_dictionary_of_numbers_becomes_numbers():
    table = pa.table({"x": pa.array([2, 1]).dictionary_encode()})
    assert cells_of(table) == [["2"], ["1"]]


@pytest.mark.parametrize("kind", [pa.float32(), pa.float64()], ids=str)
def test_decimals_are_written_with_the_digits_of_their_type(kind):
    assert cells_of(pa.table({"x": pa.array([0.1, 2.5]).cast(kind)})) == [["0.1"], ["2.5"]]


def test_dictionary_columns_stay_so_in_parquet():
    table = pa.table({"x": pa.array(["a", "b"]).dictionary_encode()})
    back = pq.read_table(io.BytesIO(written(table, "table.parquet")))
    assert back.equals(table)


@settings(deadline=None, max_examples=60)
@given(
    st.lists(
        st.tuples(*[st.text(st.characters(exclude_categories=["Cs"]), max_size=8)] * 2),
        min_size=1,
        max_size=5,
    )
)
def test_csv_comes_back_as_it_went_out(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("csv") / "table.csv"
    table = pa.table({"first, name": [a for a, _ in rows], "second": [b for _, b in rows]})
    atomic.write_file(path, make_table_writer(table, path))
    assert read_table(path).equals(table)


FULL_WIDTH = ["\uff1d", "\uff0b", "\uff0d", "\uff20"]
STARTS = [*"=+-@\t\r\n", *FULL_WIDTH, " =", "\x00=", "\u3000=", "'="]


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize(
    "kind",
    [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())],
    ids=str,
)
def test_a_cell_that_starts_a_formula_gets_an_apostrophe(start, kind):
    table = pa.table({"x": pa.array([f"{start}1+1", "usual", f"a{start}b"]).cast(kind)})
    cells = cells_of(table, escape_formulas=True)
    assert cells == [[f"'{start}1+1"], ["usual"], [f"a{start}b"]]


@pytest.mark.parametrize("start", STARTS)
def test_a_name_of_a_column_that_starts_a_formula_gets_an_apostrophe(start):
    table = pa.table({f"{start}1+1": [1], "usual": [2]})
    assert read_csv(table, escape_formulas=True)[0] == [f"'{start}1+1", "usual"]
    assert read_csv(table)[0] == [f"{start}1+1", "usual"]


formula_like = st.text(st.sampled_from("'=+@\uff1d \t\r\n\x00\u3000a,\""), max_size=5)


@settings(deadline=None, max_examples=60)
@given(st.lists(formula_like.filter(str.strip), min_size=1, max_size=5, unique=True))
def test_escaped_text_is_safe_and_comes_back_without_its_apostrophe(tmp_path_factory, texts):
    path = tmp_path_factory.mktemp("csv") / "table.csv"
    table = pa.table({text: [text] for text in texts})
    atomic.write_file(path, make_table_writer(table, path, escape_formulas=True))
    back = read_table(path)
    assert back.schema.names == [cells[0] for cells in back.to_pydict().values()]
    for text, found in zip(texts, back.schema.names, strict=True):
        starts = text.lstrip(" \t\r\n\x00\u3000'")[:1]
        assert found in {text, f"'{text}"}
        assert found.startswith("'") or starts not in ("=", "+", "@", "\uff1d")


@pytest.mark.parametrize("column", [pa.array([-1]), pa.array([-1]).dictionary_encode()])
def test_negative_numbers_are_no_formulas(column):
    assert cells_of(pa.table({"x": column}), escape_formulas=True) == [["-1"]]


def test_formulas_are_left_alone_unless_asked():
    assert cells_of(pa.table({"x": ["=1+1"]})) == [["=1+1"]]


def test_formulas_are_left_alone_in_parquet():
    content = written(pa.table({"x": ["=1+1"]}), "table.parquet", escape_formulas=True)
    assert pq.read_table(io.BytesIO(content)).to_pydict() == {"x": ["=1+1"]}


@pytest.mark.parametrize("name", ["table.xlsx", "table", "table.csv.gz", ".csv"])
def test_a_name_that_tells_no_format_is_refused(name):
    with pytest.raises(OutputError, match=r"ends in .csv, .parquet, .pq"):
        make_table_writer(TABLE, Path(name))
