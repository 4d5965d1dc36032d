"""The documented types of released columns: those of the schema, in the words of each library."""

import pandas as pd
import polars as pl
import pyarrow as pa

from tabpe import Boolean, Categorical, Date, Datetime, Float, Id, Integer, Time

LARGEST_INT64 = 2**63 - 1


def library_of(frame):
    """Return the library of a frame."""
    kinds = {pd.DataFrame: "pandas", pl.DataFrame: "polars", pa.Table: "pyarrow"}
    return kinds[type(frame)]


def types_of(frame):
    """Return the types of a frame, by column."""
    if isinstance(frame, pd.DataFrame):
        return {name: str(kind) for name, kind in frame.dtypes.items()}
    if isinstance(frame, pl.DataFrame):
        return dict(frame.schema)
    return dict(zip(frame.schema.names, frame.schema.types, strict=True))


def expected_types(schema, library):
    """Return the types that a release has in a library, by column."""
    kinds = {"pandas": in_pandas, "polars": in_polars, "pyarrow": in_arrow}
    return {column.name: kinds[library](column) for column in schema.columns}


def is_ordered(column):
    """Whether a column is an ordered categorical."""
    return isinstance(column, Categorical) and column.ordered


def in_arrow(column):
    """Return the type of a column in Arrow."""
    if getattr(column, "format", None) is not None:
        return pa.string()
    if isinstance(column, Datetime):
        return pa.timestamp("us", column.timezone)
    if isinstance(column, Categorical):
        return pa.array(list(column.values)).type
    if isinstance(column, Id):
        return pa.int64() if column.prefix is None else pa.string()
    if isinstance(column, Integer):
        return pa.int64() if column.max <= LARGEST_INT64 else pa.uint64()
    return {
        Float: pa.float64(),
        Boolean: pa.bool_(),
        Date: pa.date32(),
        Time: pa.time64("us"),
    }[type(column)]


def in_polars(column):
    """Return the type of a column in polars."""
    if is_ordered(column) and all(isinstance(value, str) for value in column.values):
        return pl.Enum(list(column.values))
    empty = pa.table({"x": pa.array([], in_arrow(column))})
    return pl.from_arrow(empty).schema["x"]


def in_pandas(column):
    """Return the name of the type of a column in pandas."""
    return "category" if is_ordered(column) else _in_pandas_by_arrow(column)


def _in_pandas_by_arrow(column):
    kind = in_arrow(column)
    if pa.types.is_integer(kind):
        name = "uint64" if pa.types.is_unsigned_integer(kind) else "int64"
        return {"int64": "Int64", "uint64": "UInt64"}[name] if column.nullable else name
    if pa.types.is_boolean(kind):
        return "boolean" if column.nullable else "bool"
    if pa.types.is_floating(kind):
        return "float64"
    if pa.types.is_time(kind):
        return "object"
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        zone = getattr(kind, "tz", None)
        return "datetime64[us]" if zone is None else f"datetime64[us, {zone}]"
    return str(pd.Series([], dtype=str).dtype)
