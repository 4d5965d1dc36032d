"""Data frames: the same cells come in from every type, and types follow from the schema."""

import datetime as dt
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tabpe.errors import DataError, ParameterError
from tabpe.io import open_source, open_table
from tabpe.io.canonical import canonicalize_table, flatten_column, hash_rows, read_texts
from tabpe.io.frames import check_library, convert_to_frame, read_frame
from tabpe.schema.number_format import NumberFormat
from tabpe.schema.table_format import CellRules

SECRET = "Secret-Cell-4711"
TYPED = pa.table(
    {
        "whole": pa.array([1, 2]),
        "float": pa.array([0.5, 1.0]),
        "flag": pa.array([True, False]),
        "text": pa.array(["a", "b"]),
        "day": pa.array([dt.date(2024, 3, 31)] * 2),
        "moment": pa.array([dt.datetime(2024, 3, 31, 18, 30)] * 2),
        "zoned": pa.array([dt.datetime(2024, 3, 31, tzinfo=dt.UTC)] * 2),
        "clock": pa.array([dt.time(18, 30)] * 2),
    }
)
EVERY = frozenset(TYPED.schema.names)
HOLES = pa.table(
    {
        name: pa.array([TYPED[name][0].as_py(), None], TYPED[name].type)
        for name in TYPED.schema.names
    }
)


def test_types_of_pandas_follow_from_the_table():
    assert convert_to_frame(TYPED, "pandas").dtypes.astype(str).to_dict() == {
        "whole": "int64",
        "float": "float64",
        "flag": "bool",
        "text": str(pd.Series(["a"]).dtype),
        "day": "datetime64[us]",
        "moment": "datetime64[us]",
        "zoned": "datetime64[us, UTC]",
        "clock": "object",
    }


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_types_of_nullable_columns_do_not_follow_from_nulls(library):
    with_nulls, without = (
        convert_to_frame(rows, library, nullable=EVERY) for rows in (HOLES, TYPED)
    )
    if library == "pandas":
        assert with_nulls.dtypes.astype(str).to_dict() == without.dtypes.astype(str).to_dict()
        assert (str(without.dtypes["whole"]), str(without.dtypes["flag"])) == ("Int64", "boolean")
        assert with_nulls["whole"].tolist() == [1, pd.NA]
    else:
        assert with_nulls.schema == without.schema


def test_types_of_polars_and_arrow_are_those_of_the_table():
    assert convert_to_frame(TYPED, "pyarrow").schema == TYPED.schema
    assert convert_to_frame(TYPED, "polars").schema == pl.from_arrow(TYPED).schema


def pandas_forms():
    whole = [3, 1, 2]
    for dtype in ("int8", "uint16", "int64", "float32", "float64", "Int64", "Float64", "object"):
        yield dtype, pd.Series(whole, dtype=dtype)
    for dtype in ("int64[pyarrow]", "double[pyarrow]", "string[pyarrow]", "str", "category"):
        yield dtype, pd.Series(whole).astype(dtype)
    yield "decimals", pd.Series([Decimal(f"{one}.00") for one in whole])
    yield "mixed", pd.Series([3, Decimal("1.0"), "2"], dtype=object)


@pytest.mark.parametrize("form", dict(pandas_forms()))
def test_the_same_cells_come_in_from_every_type_of_pandas(form):
    column = dict(pandas_forms())[form]
    table, library = open_table(pd.DataFrame({"x": column}))
    assert library == "pandas"
    assert read_texts(flatten_column(table["x"])).to_pylist() == ["3", "1", "2"]


def test_one_missing_cell_turns_whole_numbers_of_pandas_into_floats_and_changes_none():
    ids = [2**53 + 1, 2**60 + 1, 5]
    whole, _ = open_table(pd.DataFrame({"x": ids}))
    floats, _ = open_table(pd.DataFrame({"x": [*ids, None]}))
    assert str(pd.Series([*ids, None]).dtype) == "float64"
    texts = [read_texts(flatten_column(table["x"])).to_pylist() for table in (whole, floats)]
    assert texts[0] == texts[1][:3]


def test_types_that_never_turn_into_floats_keep_long_numbers():
    ids = [2**53 + 1, 2**60 + 1]
    for frame in (
        pd.DataFrame({"x": pd.array([*ids, None], dtype="Int64")}),
        pd.DataFrame({"x": [str(one) for one in ids]}),
        pl.DataFrame({"x": ids}),
        pa.table({"x": ids}),
    ):
        table, _ = open_table(frame)
        assert read_texts(flatten_column(table["x"])).to_pylist()[:2] == [str(one) for one in ids]


@pytest.mark.parametrize(
    "cells", [[1, SECRET], [SECRET, 1.5], [True, SECRET], [SECRET, b"x", 3], [2**70, 1], [[1], 2]]
)
def test_cells_of_several_types_are_each_what_they_are(cells):
    table, _ = open_table(pd.DataFrame({"x": pd.Series(cells, dtype=object)}))
    for place, cell in enumerate(cells):
        if not isinstance(cell, list):
            alone, _ = open_table(pd.DataFrame({"x": pd.Series([cell], dtype=object)}))
            found = hash_rows(table.select(["x"]).slice(place, 1), b"")
            assert found.tolist() == hash_rows(alone, b"").tolist()


def test_a_lazy_frame_is_read():
    table, library = open_table(pl.LazyFrame({"x": [1, 2]}))
    assert (table["x"].to_pylist(), library) == ([1, 2], "polars")


def test_the_index_of_a_frame_is_nobodys_business():
    table, _ = open_table(pd.DataFrame({"b": [1], "a": [2]}, index=["someone"]))
    assert table.schema.names == ["b", "a"]
    assert list(convert_to_frame(table, "pandas").index) == [0]


def test_a_library_that_nobody_knows_is_refused():
    assert check_library("polars") == "polars"
    with pytest.raises(ParameterError, match="library"):
        check_library("excel")


def test_a_path_gives_text_and_the_library_of_arrow(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("age,ward\n31,heart\n")
    for given in (path, str(path)):
        table, library = open_table(given)
        assert table.to_pydict() == {"age": ["31"], "ward": ["heart"]}
        assert library == "pyarrow"


def test_a_missing_path_is_a_data_error(tmp_path):
    with pytest.raises(DataError, match="no such file"):
        open_table(Path(tmp_path / "absent.csv"))


@pytest.mark.parametrize(
    "thing",
    [None, 3, b"x", [1], {"x": [1]}, np.ones((2, 2)), pd.Series([1]), pl.Series([1]), object()],
    ids=lambda thing: type(thing).__name__,
)
def test_what_is_no_frame_is_refused_by_its_type(thing):
    with pytest.raises(DataError, match=f"{type(thing).__name__} is not a table.*pandas, polars"):
        open_table(thing)


@pytest.mark.parametrize("columns", [[0, 1], ["a", 1], [("a", "b"), ("a", "c")], [None, "a"]])
def test_column_names_that_are_no_text_are_refused(columns):
    with pytest.raises(DataError, match="names must be text"):
        open_table(pd.DataFrame([[1, 2]], columns=columns))


def test_levels_of_column_names_are_refused():
    columns = pd.MultiIndex.from_tuples([("a", "b"), ("a", "c")])
    with pytest.raises(DataError, match="names must be text"):
        open_table(pd.DataFrame([[1, 2]], columns=columns))


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame([[1, 2]], columns=["age", "age"]),
        pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["age", "age"]),
    ],
    ids=["pandas", "arrow"],
)
def test_a_duplicate_column_is_refused_by_its_places(frame):
    with pytest.raises(DataError, match="columns 1 and 2 have the same name"):
        open_table(frame)


def test_a_column_without_a_name_is_refused():
    with pytest.raises(DataError, match="column 2 has no name"):
        open_table(pl.DataFrame({"age": [1], " ": [2]}))


@pytest.mark.parametrize(
    "frame",
    [pd.DataFrame({"x": []}), pl.DataFrame({"x": []}), pa.table({"x": []})],
    ids=["pandas", "polars", "arrow"],
)
def test_a_frame_without_rows_can_be_counted_and_is_refused_as_a_whole(frame):
    source = open_source(frame)
    assert source.names == ["x"]
    assert sum(batch.table.num_rows for batch in source.batches()) == 0
    with pytest.raises(DataError, match="the table has no rows"):
        open_table(frame)


def test_missing_cells_are_nulls_whatever_the_library():
    frames = [
        pd.DataFrame({"x": ["a", None]}),
        pd.DataFrame({"x": [1.5, np.nan]}),
        pd.DataFrame({"x": pd.array([1, None], dtype="Int64")}),
        pl.DataFrame({"x": [1, None]}),
        pa.table({"x": [1, None]}),
    ]
    assert [open_table(frame)[0]["x"].null_count for frame in frames] == [1] * len(frames)


def test_integers_of_128_bits_of_polars_are_the_same_integers():
    """Their library makes them of a column as soon as one integer is too long for 64 bits."""
    frame = pl.DataFrame({"x": pl.Series([7, None, 2**64], dtype=pl.Int128)})
    assert cells_of(frame) == ["7", None, "18446744073709551616"]
    assert cells_of(frame.head(2)) == ["7", None]


def test_objects_of_polars_are_read_each_by_itself():
    cells = [7, "2.815,43", None, Decimal("2.5"), [1, 2]]
    frame = pl.DataFrame({"x": pl.Series(cells, dtype=pl.Object)})
    assert cells_of(frame) == ["7", "2.815,43", None, "2.5", "\N{REPLACEMENT CHARACTER}"]
    euro = {"x": CellRules(numbers=NumberFormat(",", "."))}
    assert cells_of(frame, euro)[:2] == ["7", "2815.43"]


def cells_of(frame, rules=None):
    table, _ = read_frame(frame, rules)
    return canonicalize_table(table)["x"].to_pylist()
