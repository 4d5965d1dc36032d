"""What cells mean by the rules of a schema: each by itself, however it is stored."""

import datetime as dt
import json

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tabpe import TabPE
from tabpe.encoding import Encoder
from tabpe.errors import DataError, ParameterError
from tabpe.io import open_source, open_table
from tabpe.schema import Categorical, Float, Integer, Schema
from tabpe.schema.table_format import TableFormat, TableReading

SCHEMA = Schema(
    (
        Float("fee", 0, 5000, 2, nullable=True, format="1.234,56 EUR", nulls=("free", 999)),
        Categorical("ward", ("eye", "skin"), nullable=True, nulls=("unknown",)),
    ),
    format=TableFormat(delimiter=";"),
)
READING = TableReading.from_schema(SCHEMA)


def encode(data):
    table, _ = open_table(data, READING)
    rows, classes = Encoder(SCHEMA).encode(table)
    return json.dumps([str(rows), classes.tolist()])


fees = st.sampled_from(["1.125,50 EUR", "7,5", "free", "999", "", "none", "1.125", "3.000"])
wards = st.sampled_from(["eye", "skin", "unknown", "", "else"])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(fees, wards), min_size=1, max_size=6))
def test_text_means_the_same_in_every_storage(tmp_path_factory, rows):
    folder = tmp_path_factory.mktemp("forms")
    columns = {"fee": [fee for fee, _ in rows], "ward": [ward for _, ward in rows]}
    table = pa.table(columns)
    (folder / "t.csv").write_text("fee;ward\n" + "".join(f"{a};{b}\n" for a, b in rows))
    pq.write_table(table, folder / "t.parquet")
    lines = [json.dumps({"fee": fee, "ward": ward}) for fee, ward in rows]
    (folder / "t.jsonl").write_text("\n".join(lines))
    encoded = pa.table(
        {
            name: cells.combine_chunks().dictionary_encode()
            for name, cells in zip(table.schema.names, table.columns, strict=True)
        }
    )
    forms = [
        table,
        encoded,
        pd.DataFrame(columns),
        pd.DataFrame(columns).astype(object),
        pd.DataFrame(columns).astype("category"),
        pl.DataFrame(columns),
        folder / "t.csv",
        folder / "t.parquet",
        folder / "t.jsonl",
    ]
    assert len({encode(form) for form in forms}) == 1


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from([1.125, 7.5, 999, 2, None]), min_size=1, max_size=5))
def test_one_text_beside_numbers_changes_no_number(rows):
    """A number is that number; text that joins it makes pandas store objects."""
    alone = open_table(pd.DataFrame({"fee": rows, "ward": "eye"}), READING)[0]["fee"].to_pylist()
    mixed = open_table(pd.DataFrame({"fee": [*rows, "1.125,50 EUR"], "ward": "eye"}), READING)[0][
        "fee"
    ].to_pylist()
    both = [None if cell is None else float(cell) for cell in alone]
    assert [None if cell is None else float(cell) for cell in mixed] == [*both, 1125.5]


@given(st.lists(fees, min_size=1, max_size=8), st.integers(0, 7))
@settings(max_examples=60, deadline=None)
def test_a_cell_is_read_by_itself(cells, place):
    index = place % len(cells)
    table = pa.table({"fee": cells, "ward": ["eye"] * len(cells)})
    whole = open_table(table, READING)[0]["fee"].to_pylist()
    alone = open_table(table.slice(index, 1), READING)[0]["fee"].to_pylist()
    assert whole[index] == alone[0]


def test_excel_cells_have_types_of_their_own(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.append(["fee", "ward", None])
    for row in (["1.125,50 EUR", "eye"], [1.125, "unknown"], [999, None], [None, "skin"]):
        book.active.append(row)
    book.active.append([None, None])
    extra = book.create_sheet("more")
    extra.append(["day", "at"])
    extra.append([dt.date(2024, 2, 29), dt.time(12, 30)])
    book.save(tmp_path / "t.xlsx")
    table = open_table(tmp_path / "t.xlsx", READING)[0]
    assert table.to_pydict() == {
        "fee": ["1125.50", "1.125", None, None],
        "ward": ["eye", None, None, "skin"],
    }
    more = open_table(tmp_path / "t.xlsx", TableReading(TableFormat(sheet="more")))[0]
    assert more.to_pylist() == [{"day": "2024-02-29T00:00:00", "at": "12:30:00"}]
    with pytest.raises(DataError, match="no sheet 'less'"):
        open_table(tmp_path / "t.xlsx", TableReading(TableFormat(sheet="less")))


@pytest.mark.parametrize("name", ["t.xlsx", "t.dta", "t.sav", "t.sas7bdat", "t.jsonl"])
def test_what_is_no_such_file_is_refused_without_a_cell(tmp_path, name):
    (tmp_path / name).write_text("Secret-Cell-4711")
    with pytest.raises(DataError) as caught:
        open_table(tmp_path / name)
    assert "Secret" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


@pytest.mark.parametrize("kind", ["dta", "sav", "xpt"])
def test_statistics_files_are_read(tmp_path, kind):
    pyreadstat = pytest.importorskip("pyreadstat")
    frame = pd.DataFrame({"AGE": [31.0, None, 58.5], "WARD": ["eye", "skin", ""]})
    path = tmp_path / f"t.{kind}"
    write = {"dta": "write_dta", "sav": "write_sav", "xpt": "write_xport"}[kind]
    getattr(pyreadstat, write)(frame, str(path))
    table = open_table(path)[0]
    assert table["AGE"].to_pylist() == ["31", None, "58.5"]
    assert table["WARD"].to_pylist()[:2] == ["eye", "skin"]


def test_json_lines_have_the_keys_of_all_rows(tmp_path):
    path = tmp_path / "t.ndjson"
    path.write_text('{"a": 1}\n\n{"b": "x", "a": 2.50}\n{"b": null, "c": [1]}\n')
    assert open_table(path)[0].to_pydict() == {
        "a": ["1", "2.5", None],
        "b": [None, "x", None],
        "c": [None, None, "\N{REPLACEMENT CHARACTER}"],
    }
    path.write_text('{"a": 1}\n[2]\n')
    with pytest.raises(DataError, match="row 2 is not a JSON object"):
        open_table(path)


def test_a_workbook_that_unpacks_to_too_much_is_refused(tmp_path, monkeypatch):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.append(["a"])
    for _ in range(2000):
        book.active.append(["x" * 50])
    book.save(tmp_path / "t.xlsx")
    monkeypatch.setenv("TABPE_MAX_WHOLE_BYTES", "10000")
    with pytest.raises(DataError, match="expands to more than 10,000 bytes"):
        open_table(tmp_path / "t.xlsx")


def test_a_declared_null_is_null_in_numbers_of_any_type():
    schema = Schema((Integer("age", 0, 99, nullable=True, nulls=(99, "unknown")),))
    reading = TableReading.from_schema(schema)
    for cells in ([99, 5], [99.0, 5.0], ["99", "5"], ["99.0", "5"]):
        assert open_table(pa.table({"age": cells}), reading)[0]["age"].is_null().to_pylist() == [
            True,
            False,
        ]


def write_lines(path, *objects):
    path.write_text("".join(f"{json.dumps(one)}\n" for one in objects))
    return path


def test_no_row_decides_which_columns_json_lines_have(tmp_path):
    """A declared column is there if no row has it, and one row cannot add another."""
    plain = write_lines(tmp_path / "a.jsonl", {"fee": 1}, {"fee": 2})
    more = write_lines(tmp_path / "b.jsonl", {"fee": 1}, {"ward": "eye", "else": 3}, {"fee": 2})
    empty = write_lines(tmp_path / "c.jsonl")
    for path in (plain, more, empty):
        source = open_source(path, reading=READING)
        assert source.names == ["fee", "ward"]
    folder = tmp_path / "folder"
    folder.mkdir()
    write_lines(folder / "1.jsonl", {"fee": 1})
    write_lines(folder / "2.jsonl", {"else": 1, "ward": "eye"})
    found = open_table(folder, READING)[0].to_pylist()
    assert found == [{"fee": "1", "ward": None}, {"fee": None, "ward": "eye"}]


@pytest.mark.parametrize("changes", [{}, {"unit": "person"}])
def test_json_lines_are_released_whatever_their_keys_are(tmp_path, changes):
    plain = [{"fee": place, "person": place} for place in range(30)]
    without = [{"fee": place} for place in range(30)]
    more = [*plain, {"ward": "eye", "else": "x"}]
    for rows in (plain, without, more):
        path = write_lines(tmp_path / "t.jsonl", *rows)
        model = TabPE(epsilon=5, delta=1e-3, preset="paper,rounds=2", **changes)
        released = model.fit(path, SCHEMA).sample(1)
        assert released.schema.names == ["fee", "ward"]


def test_all_columns_of_json_lines_can_not_be_estimated(tmp_path):
    path = write_lines(tmp_path / "t.jsonl", *({"age": age} for age in range(50)))
    model = TabPE(schema="private", estimate_columns="all")
    with pytest.raises(ParameterError, match="estimate_columns"):
        model.fit(path)
    listed = TabPE(schema="private", estimate_columns=["age", "size"], drop=["notes"])
    assert [one.name for one in listed.outline_schema(path).columns] == ["age", "size"]
