"""Data frames: what comes in goes out.

A frame of any library becomes an Arrow table on the way in. `FrameLike` remembers which library
and which types it had, as plain words without anything of the data, and gives a table that
form again on the way out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tabpe import _plain, _validate
from tabpe._arrow import attempt, is_text
from tabpe.errors import DataError
from tabpe.io.faults import check_names

if TYPE_CHECKING:
    import narwhals as nw

_COMMON = ("pandas", "polars", "pyarrow")
_DICTIONARY = re.compile(
    r"dictionary<values=(?P<values>\w+), indices=(?P<indices>u?int\d+), ordered=(?P<ordered>\d)"
)

# Types of pandas that hold no null, and those that hold the same and nulls.
_WITH_NULLS = {
    "bool": "boolean",
    **{
        f"{sign}int{bits}": f"{sign.upper()}Int{bits}"
        for sign in ("", "u")
        for bits in (8, 16, 32, 64)
    },
}

_DECIMAL = re.compile(r"(?P<kind>decimal(32|64|128|256))\((?P<digits>\d+), (?P<scale>-?\d+)\)")
# How many digits decimals of Python have is known from their cells alone, and no part of a form.
_OBJECTS = "decimal"
_ZONED = re.compile(r"timestamp\[(?P<unit>s|ms|us|ns), tz=(?P<zone>.+)\]")


@dataclass(frozen=True)
class FrameLike:
    """Library and column types of a data frame.

    Args:
        library: `pandas`, `polars`, `pyarrow` or another name that narwhals knows.
        arrow_types: Arrow type of each column.
        native_types: Type of each column in the words of the library.
    """

    library: str
    arrow_types: Mapping[str, str]
    native_types: Mapping[str, str]

    @property
    def stored_types(self) -> dict[str, str]:
        """Type of each column, as far as its cells have no say in it.

        What is in a pandas column of objects, only its cells can tell; if all are text it is one.
        """
        return {
            name: "object" if self._is_guessed(name) else kind
            for name, kind in self.arrow_types.items()
        }

    def _is_guessed(self, name: str) -> bool:
        text = self.arrow_types[name] in {"string", "large_string", "null"}
        return self.native_types.get(name) == "object" and not text

    def is_text(self, name: str) -> bool:
        """Whether a column came in as text, in any kind of it."""
        kind = self.arrow_types.get(name, "").removeprefix("dictionary<values=")
        return kind.startswith(("string", "large_string"))

    def restore(self, table: pa.Table, categories: Mapping[str, Sequence[Any]]) -> Any:
        """Return `table` as a frame like the one that came in.

        Args:
            table: The rows.
            categories: The public values of the columns that have a list of them.
        """
        shaped = pa.table(
            {
                name: _as_arrow(column, self.arrow_types.get(name, ""), categories.get(name))
                for name, column in zip(table.schema.names, table.columns, strict=True)
            }
        )
        if self.library == "pyarrow":
            return shaped
        if self.library == "pandas":
            return _as_pandas(shaped, self.native_types, self.arrow_types)
        if self.library == "polars":
            return _as_polars(shaped, self.native_types, categories)
        if self.library == "pyspark":
            from tabpe.io.spark_tables import spark_frame

            return spark_frame(shaped)
        import narwhals as nw

        backend: Any = self.library
        return nw.from_arrow(shaped, backend=backend).to_native()

    def only(self, names: Sequence[str]) -> FrameLike:
        """Return the same without a trace of other columns: their names are not public."""
        return FrameLike(
            self.library,
            {name: kind for name, kind in self.arrow_types.items() if name in names},
            {name: kind for name, kind in self.native_types.items() if name in names},
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a file."""
        return asdict(self)

    @classmethod
    def from_dict(cls, plain: Any) -> FrameLike:
        """Read from plain values; a library that nobody knows is refused."""
        form = _plain.read(cls, plain, where="frame")
        if form.library not in _COMMON:
            import narwhals as nw

            _validate.one_of(
                "frame.library", form.library, [kind.value for kind in nw.Implementation]
            )
        return form

    @classmethod
    def of_schema(cls, schema: pa.Schema) -> FrameLike:
        """Describe an Arrow table."""
        return cls("pyarrow", _arrow_types(schema), {})


def frame_table(data: Any) -> tuple[pa.Table, FrameLike]:
    """Return the rows of a data frame as an Arrow table, and what it looked like.

    Example:
        >>> table, form = frame_table(pa.table({"age": [31, 42]}))
        >>> table.num_rows, form.library
        (2, 'pyarrow')
    """
    frame = _eager(data)
    table = _to_arrow(frame)
    check_names(table.schema.names, where="data")
    if table.num_rows == 0:
        raise DataError("data: the table has no rows.")
    native = {name: _native_type(dtype, frame) for name, dtype in _native_types(frame).items()}
    kinds = {
        name: _OBJECTS if native.get(name) == "object" and kind.startswith(_OBJECTS) else kind
        for name, kind in _arrow_types(table.schema).items()
    }
    return table, FrameLike(frame.implementation.value, kinds, native)


def _eager(data: Any) -> nw.DataFrame[Any]:
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
        raise DataError("data: a column name stands there twice or is not text.") from None
    return frame.collect() if isinstance(frame, nw.LazyFrame) else frame


def _to_arrow(frame: nw.DataFrame[Any]) -> pa.Table:
    names = frame.columns
    if not all(isinstance(name, str) for name in names):
        raise DataError("data: column names must be text; rename the others.")
    columns = {}
    for name in names:
        column = attempt(frame.get_column(name).to_arrow, TypeError, ValueError, OverflowError)
        if column is None:
            raise DataError(f"data: column {name!r} mixes types: give it one.")
        columns[name] = column
    return pa.table(columns)


def _native_types(frame: nw.DataFrame[Any]) -> dict[str, Any]:
    native = frame.to_native()
    if frame.implementation.is_pandas():
        return {str(name): native[name].dtype for name in native.columns}
    if frame.implementation.is_polars():
        return dict(native.schema)
    return {}


def _native_type(dtype: Any, frame: nw.DataFrame[Any]) -> str:
    return type(dtype).__name__ if frame.implementation.is_polars() else str(dtype)


def _arrow_types(schema: pa.Schema) -> dict[str, str]:
    return {field.name: str(field.type) for field in schema}


def _as_arrow(
    column: pa.Array | pa.ChunkedArray, wanted: str, values: Sequence[Any] | None
) -> pa.Array:
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    encoded = _DICTIONARY.match(wanted)
    if encoded and values is not None:
        dictionary = pa.array(values)
        codes = pc.index_in(array, dictionary)
        return pa.DictionaryArray.from_arrays(
            _as_arrow(codes, encoded["indices"], None),
            _as_arrow(dictionary, encoded["values"], None),
            ordered=encoded["ordered"] == "1",
        )
    target = attempt(lambda: _type_of(wanted), ValueError)
    # Text that was read as numbers or truths stays what the schema made of it.
    if target is None or is_text(target) != is_text(array.type):
        return array
    if pa.types.is_decimal(target):
        return _as_decimals(array, target)
    if pa.types.is_timestamp(target) and target.tz is None and pa.types.is_timestamp(array.type):
        # What clocks show where the schema says that the table is.
        array = array if array.type.tz is None else pc.local_timestamp(array)
    cast = attempt(lambda: array.cast(target, safe=not pa.types.is_floating(target)))
    return cast if cast is not None and _same(cast, array) else array


def _as_decimals(array: pa.Array, target: pa.DataType) -> pa.Array:
    """Return numbers as decimals; as they are if the type has too few digits for one of them."""
    whole = pa.types.is_integer(array.type)
    numbers = array.cast(pa.decimal128(19, 0)) if whole else array
    cast = attempt(lambda: numbers.cast(target))
    return array if cast is None else cast


def _type_of(alias: str) -> pa.DataType:
    """Return the type of that name; of those with parameters, decimals and moments in a zone."""
    decimals = _DECIMAL.fullmatch(alias)
    if decimals:
        make = getattr(pa, decimals["kind"])
        return make(int(decimals["digits"]), int(decimals["scale"]))
    zoned = _ZONED.fullmatch(alias)
    if zoned:
        return pa.timestamp(zoned["unit"], zoned["zone"])
    return pa.type_for_alias(alias)


def _same(cast: pa.Array, array: pa.Array) -> bool:
    """Whether a cast lost nothing but digits that its type never had."""
    if pa.types.is_floating(cast.type):
        return bool(pc.all(pc.is_finite(cast.cast(pa.float64()))).as_py())
    return bool(cast.cast(array.type).equals(array))


def _as_pandas(table: pa.Table, wanted: Mapping[str, str], arrow: Mapping[str, str]) -> Any:
    frame = table.to_pandas()
    for name, kind in wanted.items():
        if name in frame and arrow.get(name) == _OBJECTS and frame[name].dtype.kind in "if":
            known = frame[name].notna()
            decimals = [Decimal(repr(value)) for value in frame.loc[known, name].tolist()]
            frame[name] = frame[name].astype(object).where(known, None)
            frame.loc[known, name] = decimals
        if name not in frame or str(frame[name].dtype) == kind or kind == "category":
            continue
        for one in (kind, _WITH_NULLS.get(kind)):
            cast = None if one is None else _cast_series(frame[name], one)
            if cast is not None:
                frame[name] = cast
                break
    return frame


def _cast_series(cells: Any, kind: str) -> Any | None:
    """Return a column of pandas as one of another type; None if that can not hold its cells."""
    try:
        with np.errstate(over="ignore"):
            cast = cells.astype(_pandas_type(kind))
    except (TypeError, ValueError, OverflowError, NotImplementedError):
        return None
    known = cells.notna()
    kept = bool((cast.notna() == known).all()) and bool((cast[known] == cells[known]).all())
    return cast if kept else None


def _pandas_type(kind: str) -> Any:
    """Return the type of that name; pandas itself does not know those of decimals by theirs."""
    arrow = kind.removesuffix("[pyarrow]")
    if arrow == kind or not _DECIMAL.fullmatch(arrow):
        return kind
    import pandas as pd

    return pd.ArrowDtype(_type_of(arrow))


def _as_polars(
    table: pa.Table, wanted: Mapping[str, str], categories: Mapping[str, Sequence[Any]]
) -> Any:
    import polars as pl

    frame: Any = pl.from_arrow(table)
    return frame.with_columns(
        pl.col(name).cast(pl.String).cast(pl.Enum([str(value) for value in values]))
        for name, values in categories.items()
        if wanted.get(name) == "Enum" and not isinstance(values[0], bool)
    )
