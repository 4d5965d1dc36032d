"""Data frames: what comes in goes out."""

import json
from pathlib import Path

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tabpe.errors import DataError
from tabpe.io import FrameLike, open_table

SECRET = "Secret-Cell-4711"
WORDS, TRUTHS = ("a", "b", "c"), (False, True)

NUMPY_WHOLE = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
NULLABLE_WHOLE = ["Int8", "Int16", "Int32", "Int64", "UInt8", "UInt64", "int64[pyarrow]"]
POLARS_WHOLE = [pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64]
ARROW_WHOLE = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint64()]


def form_of(frame):
    _, form = open_table(frame)
    return FrameLike(**json.loads(json.dumps(form.to_dict())))


def restored(frame, cells, values=None):
    """Return `cells`, as the schema made them, in the form of a frame with one column x."""
    categories = {} if values is None else {"x": values}
    return form_of(frame).restore(pa.table({"x": cells}), categories)


def pandas_of(dtype, cells):
    return pd.DataFrame({"x": pd.Series(cells, dtype=dtype)})


def polars_of(dtype, cells):
    return pl.DataFrame({"x": pl.Series(cells, dtype=dtype)})


def arrow_of(kind, cells):
    return pa.table({"x": pa.array(cells, kind)})


@pytest.mark.parametrize("dtype", NUMPY_WHOLE + NULLABLE_WHOLE + ["object"])
def test_whole_numbers_keep_their_pandas_type(dtype):
    frame = pandas_of(dtype, [1, 2, 3])
    pd.testing.assert_frame_equal(restored(frame, [1, 2, 3]), frame)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "Float32", "Float64"])
def test_decimals_keep_their_pandas_type(dtype):
    frame = pandas_of(dtype, [0.1, 2.5, 3.0])
    pd.testing.assert_frame_equal(restored(frame, [0.1, 2.5, 3.0]), frame)


@pytest.mark.parametrize("dtype", ["bool", "boolean", "object", "bool[pyarrow]"])
def test_truths_keep_their_pandas_type(dtype):
    frame = pandas_of(dtype, [True, False])
    pd.testing.assert_frame_equal(restored(frame, [True, False], TRUTHS), frame)


@pytest.mark.parametrize("dtype", [None, "str", "string", "object"])
def test_text_keeps_its_pandas_type(dtype):
    frame = pandas_of(dtype, ["a", "b"])
    pd.testing.assert_frame_equal(restored(frame, ["a", "b"], WORDS), frame)


@pytest.mark.parametrize(("cells", "values"), [(["b", "a"], WORDS), ([2, 1], (1, 2, 3))])
def test_a_pandas_category_gets_the_public_values(cells, values):
    back = restored(pandas_of("category", cells), pa.array(cells), values)
    assert isinstance(back["x"].dtype, pd.CategoricalDtype)
    assert list(back["x"].cat.categories) == list(values)
    assert list(back["x"]) == cells


@pytest.mark.parametrize("dtype", POLARS_WHOLE)
def test_whole_numbers_keep_their_polars_type(dtype):
    frame = polars_of(dtype, [1, 2, 3])
    assert restored(frame, [1, 2, 3]).equals(frame)
    assert restored(frame, [1, 2, 3]).schema == frame.schema


@pytest.mark.parametrize("dtype", [pl.Float32, pl.Float64])
def test_decimals_keep_their_polars_type(dtype):
    frame = polars_of(dtype, [0.1, 2.5])
    assert restored(frame, [0.1, 2.5]).equals(frame)
    assert restored(frame, [0.1, 2.5]).schema == frame.schema


@pytest.mark.parametrize(
    ("dtype", "values"), [(pl.String, WORDS), (pl.Categorical, WORDS), (pl.Boolean, TRUTHS)]
)
def test_listed_values_keep_their_polars_type(dtype, values):
    cells = list(values[:2])
    frame = polars_of(dtype, cells)
    back = restored(frame, cells, values)
    assert back.schema == frame.schema
    assert back["x"].to_list() == cells


def test_a_polars_enum_gets_the_public_values():
    back = restored(polars_of(pl.Enum(["b", "a"]), ["a", "b"]), ["c", "a"], WORDS)
    assert back.schema == {"x": pl.Enum(WORDS)}
    assert back["x"].to_list() == ["c", "a"]


@pytest.mark.parametrize("dtype", [pl.Enum(["yes", "no"]), pl.Categorical, pl.String])
def test_polars_words_that_the_schema_calls_truths_come_back_as_truths(dtype):
    back = restored(polars_of(dtype, ["yes", "no"]), [True, False], TRUTHS)
    assert back["x"].to_list() == [True, False]


def test_a_lazy_frame_comes_back_as_a_frame():
    back = restored(pl.LazyFrame({"x": [1, 2]}), [1, 2])
    assert isinstance(back, pl.DataFrame)
    assert back["x"].to_list() == [1, 2]


@pytest.mark.parametrize("kind", ARROW_WHOLE, ids=str)
def test_whole_numbers_keep_their_arrow_type(kind):
    assert restored(arrow_of(kind, [1, 2]), [1, 2]).equals(arrow_of(kind, [1, 2]))


@pytest.mark.parametrize("kind", [pa.float32(), pa.float64()], ids=str)
def test_decimals_keep_their_arrow_type(kind):
    assert restored(arrow_of(kind, [0.1, 2]), [0.1, 2]).equals(arrow_of(kind, [0.1, 2]))


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()], ids=str)
def test_text_keeps_its_arrow_type(kind):
    frame = arrow_of(kind, ["a", "b"])
    assert restored(frame, ["a", "b"], WORDS).equals(frame)


@pytest.mark.parametrize(("cells", "values"), [(["b", "a"], WORDS), ([2, 1], (1, 2, 3))])
def test_an_arrow_dictionary_gets_the_public_values(cells, values):
    column = restored(pa.table({"x": pa.array(cells).dictionary_encode()}), cells, values)["x"]
    assert pa.types.is_dictionary(column.type)
    assert column.chunk(0).dictionary.to_pylist() == list(values)
    assert column.to_pylist() == cells


@pytest.mark.parametrize(
    "kind",
    [pa.dictionary(pa.int8(), pa.string()), pa.dictionary(pa.int32(), pa.large_string())],
    ids=str,
)
def test_an_arrow_dictionary_keeps_its_types(kind):
    frame = pa.table({"x": pa.array(["a", "b"]).cast(kind)})
    assert restored(frame, ["a", "b"], WORDS).schema.field("x").type == kind


def test_a_dictionary_that_the_schema_calls_a_number_comes_back_as_a_number():
    frame = pa.table({"x": pa.array(["1", "2"]).dictionary_encode()})
    assert restored(frame, [7]).to_pydict() == {"x": [7]}


NARROW = [
    pandas_of("int8", [1]),
    pandas_of("uint8", [1]),
    pandas_of("Int8", [1]),
    polars_of(pl.Int8, [1]),
    polars_of(pl.UInt8, [1]),
    arrow_of(pa.int8(), [1]),
    arrow_of(pa.uint8(), [1]),
]


@pytest.mark.parametrize("frame", NARROW, ids=range(len(NARROW)))
def test_numbers_too_large_for_the_type_get_a_wider_one_instead_of_wrapping_around(frame):
    back = nw.from_native(restored(frame, [-3, 300]), eager_only=True)
    assert back["x"].to_list() == [-3, 300]
    assert back["x"].dtype.is_integer()


@pytest.mark.parametrize(
    "frame",
    [
        pandas_of("float16", [1]),
        pandas_of("float32", [1]),
        polars_of(pl.Float32, [1]),
        arrow_of(pa.float16(), [1]),
        arrow_of(pa.float32(), [1]),
    ],
    ids=["pandas16", "pandas32", "polars32", "arrow16", "arrow32"],
)
def test_decimals_too_large_for_the_type_get_a_wider_one_instead_of_infinity(frame):
    back = nw.from_native(restored(frame, [0.5, 1e300]), eager_only=True)
    assert back["x"].to_list() == [0.5, 1e300]


@pytest.mark.parametrize(
    "frame",
    [pandas_of("int64", [1]), polars_of(pl.Int32, [1]), arrow_of(pa.int8(), [1])],
    ids=["pandas", "polars", "arrow"],
)
def test_decimals_in_a_column_that_held_whole_numbers_stay_decimals(frame):
    back = nw.from_native(restored(frame, [1.5, 2.0]), eager_only=True)
    assert back["x"].to_list() == [1.5, 2.0]


@pytest.mark.parametrize(
    "frame",
    [pandas_of("bool", [True]), polars_of(pl.Boolean, [True]), arrow_of(pa.bool_(), [True])],
    ids=["pandas", "polars", "arrow"],
)
def test_numbers_in_a_column_that_held_truths_stay_numbers(frame):
    back = nw.from_native(restored(frame, [0, 5]), eager_only=True)
    assert back["x"].to_list() == [0, 5]


@pytest.mark.parametrize(
    "frame",
    [pandas_of("str", ["1"]), pandas_of("object", ["1"]), polars_of(pl.String, ["1"])],
    ids=["pandas", "object", "polars"],
)
def test_numbers_in_a_column_that_held_text_stay_numbers(frame):
    back = nw.from_native(restored(frame, [7, 8]), eager_only=True)
    assert back["x"].to_list() == [7, 8]


def test_text_in_a_column_that_held_numbers_stays_text():
    assert list(restored(pd.DataFrame({"x": [1, 2]}), ["1", "2"], ("1", "2"))["x"]) == ["1", "2"]


def test_columns_keep_the_order_of_the_table_and_the_index_of_nobody():
    form = form_of(pd.DataFrame({"b": [1], "a": [2]}, index=["someone"]))
    back = form.restore(pa.table({"a": [1], "b": [2]}), {})
    assert list(back.columns) == ["a", "b"]
    assert list(back.index) == [0]


def test_a_column_that_was_left_out_stays_out():
    form = form_of(pl.DataFrame({"x": [1], "id": pl.Series(["p"], dtype=pl.Enum(["p"]))}))
    assert form.restore(pa.table({"x": [1]}), {}).columns == ["x"]


def test_a_form_knows_nothing_of_the_rows():
    frame = pd.DataFrame({"x": pd.Categorical([SECRET])})
    assert SECRET not in json.dumps(form_of(frame).to_dict())
    enum = polars_of(pl.Enum([SECRET]), [SECRET])
    assert SECRET not in json.dumps(form_of(enum).to_dict())


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"x": pd.Categorical(["a"]), "y": pd.array([1], dtype="Int8")}),
        pl.DataFrame({"x": pl.Series(["a"], dtype=pl.Enum(["a"])), "y": [1.5]}),
        pa.table({"x": pa.array(["a"]).dictionary_encode(), "y": [True]}),
    ],
    ids=["pandas", "polars", "arrow"],
)
def test_a_form_survives_json(frame):
    _, form = open_table(frame)
    assert FrameLike(**json.loads(json.dumps(form.to_dict()))) == form


def test_a_path_gives_text_in_the_form_of_an_arrow_table(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("age,ward\n31,heart\n")
    for given in (path, str(path)):
        table, form = open_table(given)
        assert table.to_pydict() == {"age": ["31"], "ward": ["heart"]}
        assert form.library == "pyarrow"
    back = form.restore(pa.table({"age": [40], "ward": ["heart"]}), {"ward": ("heart",)})
    assert back.schema.types == [pa.int64(), pa.string()]


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


@pytest.mark.parametrize(
    "cells", [[1, SECRET], [SECRET, 1.5], [True, SECRET], [SECRET, b"x", 3], [2**70, 1]]
)
def test_a_column_of_mixed_types_is_refused_without_its_values(cells):
    frame = pd.DataFrame({"fine": [0] * len(cells), "x": pd.Series(cells, dtype=object)})
    with pytest.raises(DataError, match="column 'x' mixes types") as caught:
        open_table(frame)
    assert SECRET not in str(caught.value)
    assert caught.value.__cause__ is None


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
    [pd.DataFrame({"x": []}), pl.DataFrame({"x": []}), pa.table({"x": []}), pd.DataFrame()],
    ids=["pandas", "polars", "arrow", "no column"],
)
def test_a_frame_without_rows_is_refused(frame):
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
