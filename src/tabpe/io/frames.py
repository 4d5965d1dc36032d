"""Data frames in, and frames of the same library out.

A frame of any library becomes an Arrow table of canonical cells (`tabpe.io.canonical`). On the way
out only the library is remembered: the types of the columns follow from the schema.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tabpe._utils import validation
from tabpe._utils.arrays import try_call
from tabpe.errors import DataError
from tabpe.io.batches import check_names
from tabpe.io.canonical import EXACT_INTEGERS, format_cell, normalize_texts
from tabpe.schema.table_format import CellRules

if TYPE_CHECKING:
    import narwhals as nw


ARROW, PANDAS, POLARS, SPARK = "pyarrow", "pandas", "polars", "pyspark"
# Names that pandas gives to columns of objects of one type, which Arrow has as well.
_ONE_TYPE = frozenset({"string", "boolean", "integer", "decimal"})
_LONG_INTEGERS = pa.decimal256(40, 0)
_NULLABLE = {pa.bool_(): "boolean", pa.int64(): "Int64", pa.uint64(): "UInt64"}


def read_frame(data: Any, rules: Mapping[str, CellRules] | None = None) -> tuple[pa.Table, str]:
    """Return the rows of a data frame as an Arrow table, and the name of its library.

    Args:
        data: The frame.
        rules: How text of some columns is read, by name. Cells of other types are not text, also
            where a column of pandas holds both.

    Example:
        >>> table, library = read_frame(pa.table({"age": [31, 42]}))
        >>> table.num_rows, library
        (2, 'pyarrow')
    """
    frame = _open_frame(data)
    table = _convert_to_arrow(frame, rules or {})
    check_names(table.schema.names, where="data")
    return table, str(frame.implementation.value)


def convert_to_frame(
    table: pa.Table,
    library: str,
    *,
    nullable: frozenset[str] = frozenset(),
    orders: Mapping[str, Sequence[Any]] | None = None,
) -> Any:
    """Return a table as a frame of a library.

    The types of its columns follow from the types of the table and from `nullable`, never from a
    cell. In pandas, whole numbers and booleans are `int64` and `bool`, or `Int64` and
    `boolean` where the column is nullable, whether or not there is a null; dates and instants are
    `datetime64[us]`. Ordered values are an ordered categorical in pandas, and an enum in polars if
    they are text.

    Args:
        table: The rows.
        library: The name of the library, as narwhals has it.
        nullable: The columns that may hold a null.
        orders: The values of ordered columns, from the lowest to the highest.

    Example:
        >>> rows = pa.table({"age": [31, 42]})
        >>> convert_to_frame(rows, "pandas", nullable=frozenset({"age"})).dtypes["age"]
        Int64Dtype()
    """
    if library == ARROW:
        return table
    if library == PANDAS:
        return _convert_to_pandas(table, nullable, orders or {})
    if library == SPARK:
        from tabpe.io.clusters import make_spark_frame

        return make_spark_frame(table)
    import narwhals as nw

    backend: Any = library
    native = nw.from_arrow(table, backend=backend).to_native()
    return _order_in_polars(native, orders or {}) if library == POLARS else native


def check_library(given: Any) -> str:
    """Return the name of a data frame library; refuse an unknown one."""
    if given in (ARROW, PANDAS, POLARS, SPARK):
        return str(given)
    import narwhals as nw

    return validation.check_one_of("library", given, [kind.value for kind in nw.Implementation])


def _open_frame(data: Any) -> nw.DataFrame[Any]:
    import narwhals as nw

    try:
        frame = nw.from_native(data, allow_series=False)
    except TypeError:
        raise DataError(
            f"data: {type(data).__name__} is not a table: expected a pandas, polars or pyarrow "
            f"frame, a pyarrow dataset, a tabpe.SqlTable, or a path to CSV, Parquet or Arrow files."
        ) from None
    except nw.exceptions.NarwhalsError:
        names = list(getattr(data, "column_names", getattr(data, "columns", ())))
        if all(isinstance(name, str) for name in names):
            check_names(names, where="data")
        raise DataError("data: a column name is duplicated or is not text.") from None
    return frame.collect() if isinstance(frame, nw.LazyFrame) else frame


def _convert_to_arrow(frame: nw.DataFrame[Any], rules: Mapping[str, CellRules]) -> pa.Table:
    import narwhals as nw

    names = frame.columns
    if not all(isinstance(name, str) for name in names):
        raise DataError("data: column names must be text; rename the others.")
    if frame.implementation.is_pandas():
        native = frame.to_native()
        return pa.table(
            {name: _convert_pandas_column(native[name], rules.get(name)) for name in names}
        )
    objects = {name: kind == nw.Object for name, kind in frame.schema.items()}
    columns = {
        name: _convert_python_objects(frame.get_column(name).to_list(), rules.get(name))
        if objects[name]
        else _convert_typed_column(frame.get_column(name))
        for name in names
    }
    return normalize_texts(
        pa.table(columns), {name: rule for name, rule in rules.items() if not objects.get(name)}
    )


def _convert_typed_column(column: nw.Series[Any]) -> pa.Array | pa.ChunkedArray:
    """Return a column in Arrow, which has no integers of 128 bits.

    polars makes them of all integers of a column as soon as one is too long for 64 bits.
    """
    import narwhals as nw

    if column.dtype in (nw.Int128, nw.UInt128):
        return column.cast(nw.String).to_arrow().cast(pa.string()).cast(_LONG_INTEGERS)
    return column.to_arrow()


def _convert_python_objects(cells: Sequence[Any], rules: CellRules | None) -> pa.Array:
    """Return objects of Python as text, each by itself; Arrow would take their addresses."""
    if rules is not None and rules.numbers is not None:
        cells = _normalize_cells(cells, rules)
    return pa.array([format_cell(cell) for cell in cells], pa.string())


def _normalize_cells(cells: Sequence[Any], rules: CellRules) -> list[Any]:
    """Return cells with those that are text normalised."""
    return [rules.normalize(cell) if isinstance(cell, str) else cell for cell in cells]


def _convert_pandas_column(
    column: Any, rules: CellRules | None = None
) -> pa.Array | pa.ChunkedArray:
    import pandas as pd

    if rules is not None and rules.numbers is not None:
        column = _normalize_objects(column, rules)

    dtype = column.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        codes = pa.array(column.cat.codes.to_numpy(), mask=(column.cat.codes == -1).to_numpy())
        listed = _convert_pandas_column(column.cat.categories.to_series())
        return pc.take(listed, codes.cast(pa.int32()))
    if dtype == np.dtype(object):
        return _convert_objects(column)
    if isinstance(dtype, np.dtype) and dtype.kind in "iu":
        return _convert_whole_numbers(column.to_numpy())
    found = try_call(lambda: pa.array(column), TypeError, ValueError, OverflowError)
    return _convert_to_texts(column) if found is None else found


def _normalize_objects(column: Any, rules: CellRules) -> Any:
    """Return a column of pandas with its text normalised, each object by itself."""
    import pandas as pd

    dtype = column.dtype
    if isinstance(dtype, np.dtype) and dtype.kind != "O":
        return column
    if isinstance(dtype, pd.CategoricalDtype):
        column = column.astype(object)
    cells = _normalize_cells(column.tolist(), rules)
    return pd.Series(cells, index=column.index, dtype=object)


def _convert_objects(column: Any) -> pa.Array:
    """Return objects in their common Arrow type, or else each one as text.

    Both are the same canonical cells (`tabpe.io.canonical`), so one cell of another type changes
    no other cell.
    """
    found = None
    if _are_of_one_type(column):
        found = try_call(
            lambda: pa.array(column, from_pandas=True), TypeError, ValueError, OverflowError
        )
    return _convert_to_texts(column) if found is None else found


def _are_of_one_type(column: Any) -> bool:
    """Whether all objects fit one Arrow type unchanged."""
    import pandas as pd

    kind = pd.api.types.infer_dtype(column, skipna=True)
    if kind == "date":  # Arrow would truncate datetimes among them
        return not any(isinstance(cell, dt.datetime) for cell in column)
    if kind in {"datetime", "time"}:  # Arrow uses the zone of one for all
        return all(getattr(cell, "tzinfo", None) is None for cell in column)
    return kind in _ONE_TYPE


def _convert_to_texts(column: Any) -> pa.Array:
    return _convert_python_objects(column.tolist(), None)


def _convert_whole_numbers(values: Any) -> pa.Array:
    """Return integers of numpy, as floats if one of them exceeds what a float holds exactly.

    pandas itself turns such a column into floats as soon as one cell is missing. Rounding in both
    cases keeps one row from changing the others.
    """
    bits = values.dtype.itemsize * 8
    if bits == 64 and len(values):  # noqa: PLR2004
        low, high = int(values.min()), int(values.max())
        if max(-low, high) > EXACT_INTEGERS:
            return pa.array(values.astype(np.float64))
    return pa.array(values)


def _order_in_polars(frame: Any, orders: Mapping[str, Sequence[Any]]) -> Any:
    import polars as pl

    texts = {
        name: pl.Enum(list(values))
        for name, values in orders.items()
        if all(isinstance(value, str) for value in values)
    }
    return frame.cast(texts) if texts else frame


def _convert_to_pandas(
    table: pa.Table, nullable: frozenset[str], orders: Mapping[str, Sequence[Any]]
) -> Any:
    import pandas as pd

    columns = {}
    for name, cells in zip(table.schema.names, table.columns, strict=True):
        kind = cells.type
        if name in orders:
            cells = cells.to_pandas()  # noqa: PLW2901
            columns[name] = pd.Series(pd.Categorical(cells, list(orders[name]), ordered=True))
        elif pa.types.is_date(kind):
            columns[name] = cells.cast(pa.timestamp("us")).to_pandas()
        elif name in nullable and kind in _NULLABLE:
            columns[name] = _make_nullable(cells, _NULLABLE[kind])
        else:
            columns[name] = cells.to_pandas()
    return pd.DataFrame(columns)


def _make_nullable(cells: pa.ChunkedArray, dtype: str) -> Any:
    import pandas as pd

    missing = cells.is_null().to_numpy()
    filled = cells.fill_null(False if dtype == "boolean" else 0).to_numpy()
    masked = pd.arrays.BooleanArray if dtype == "boolean" else pd.arrays.IntegerArray
    return pd.Series(masked(np.array(filled), np.array(missing)))
