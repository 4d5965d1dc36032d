"""The cells of one column: Arrow to numbers and codes, and back.

What can not be read is an error that names the column and the first such row. It never shows
the cell: the reader of a log is not always one who may see the table.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tabpe._arrow import attempt, is_text, without_decimals
from tabpe.errors import CellError, DataError, missing_value
from tabpe.schema import Boolean, Categorical, Column, Float, Integer
from tabpe.schema.whole import EXACT_INTEGERS

TRUTHS = {"true": True, "t": True, "yes": True, "y": True, "1": True} | {
    "false": False, "f": False, "no": False, "n": False, "0": False
}  # fmt: skip
VALUE_TYPES = {str: pa.string(), int: pa.int64(), float: pa.float64()}


def numbers_of(column: Integer | Float, cells: pa.ChunkedArray) -> NDArray[np.float64]:
    """Return the cells as numbers, clamped to the bounds of the column; NaN for null."""
    array = known_cells(column, cells)
    if is_text(array.type):
        array = pc.utf8_trim_whitespace(array.cast(pa.large_string()))
    values = _cast(column.name, without_decimals(array), pa.float64(), "a number")
    result = values.to_numpy(zero_copy_only=False)
    if not column.nullable:
        refuse(column.name, pc.is_nan(values), None)  # the text "nan" is read as one
    clamped: NDArray[np.float64] = np.clip(result, column.min, column.max)
    return clamped


def codes_of(column: Categorical | Boolean, cells: pa.ChunkedArray) -> NDArray[np.int64]:
    """Return the place of each cell in the values of the column; null comes after them."""
    array = known_cells(column, cells)
    found = _truths(column, array) if isinstance(column, Boolean) else _places(column, array)
    placed = pc.if_else(pc.is_null(array), column.size, found)
    codes: NDArray[np.int64] = placed.to_numpy(zero_copy_only=False).astype(np.int64)
    return codes


def cells_of_numbers(column: Integer | Float, scaled: NDArray[Any]) -> pa.Array:
    """Return scaled numbers as the numbers that the column holds."""
    return cells_of_values(
        column, column.min + scaled.astype(np.float64) * (column.max - column.min)
    )


def cells_of_values(column: Integer | Float, values: NDArray[np.float64]) -> pa.Array:
    """Return numbers as the column holds them: on its grid, and within its bounds."""
    missing = np.isnan(values)
    values = np.where(missing, column.min, values)
    if isinstance(column, Integer):
        whole = np.clip(np.rint(values), column.min, column.max).astype(np.int64)
        return pa.array(whole, mask=missing)
    if column.decimals is not None:
        values = np.round(values, column.decimals)
    return pa.array(np.clip(values, column.min, column.max), mask=missing)


def on_grid(column: Integer | Float, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return numbers with the digits after the point that the column has."""
    return values if column.decimals is None else np.round(values, column.decimals)


def cells_of_codes(column: Categorical | Boolean, codes: NDArray[Any]) -> pa.Array:
    """Return codes as the values that they stand for."""
    places = codes.astype(np.int64)
    return pc.take(pa.array(column.values), pa.array(places, mask=places == column.size))


def _places(column: Categorical, array: pa.Array) -> pa.Array:
    kind = VALUE_TYPES[type(column.values[0])]
    found = pc.index_in(comparable(array, kind), value_set=pa.array(column.values, type=kind))
    if column.other is not None:
        found = pc.fill_null(found, column.values.index(column.other))
    unlisted = pc.and_(pc.is_null(found), pc.is_valid(array))
    refuse(column.name, unlisted, "declare it in values, or declare an other")
    return found


def _truths(column: Boolean, array: pa.Array) -> pa.Array:
    if pa.types.is_boolean(array.type):
        return array.cast(pa.int32())
    text = pc.utf8_lower(pc.utf8_trim_whitespace(comparable(array, pa.string())))
    place = pc.index_in(text, value_set=pa.array(list(TRUTHS)))
    unread = pc.and_(pc.is_null(place), pc.is_valid(array))
    refuse(column.name, unread, "expected true or false, yes or no, 1 or 0")
    return pc.take(pa.array([int(truth) for truth in TRUTHS.values()], pa.int32()), place)


def comparable(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return the cells in the type of the declared values; null where they can not be.

    Each cell by itself, whatever the others are.
    """
    if pa.types.is_floating(array.type) and pa.types.is_string(kind):
        return _number_text(array)
    if pa.types.is_floating(kind):
        array = without_decimals(array)
    cast = attempt(lambda: array.cast(kind))
    return _cast_each(array, kind) if cast is None else cast


def _number_text(array: pa.Array) -> pa.Array:
    """Return numbers as text, whole ones without `.0`, each cell by itself.

    How a row is encoded must not depend on any other row: one row more would move many votes.
    """
    numbers = array.cast(pa.float64())
    whole = pc.and_(pc.equal(numbers, pc.floor(numbers)), pc.less(pc.abs(numbers), EXACT_INTEGERS))
    digits = pc.if_else(whole, numbers, 0.0).cast(pa.int64()).cast(pa.string())
    return pc.if_else(whole, digits, numbers.cast(pa.string()))


def _cast_each(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """Cast the distinct cells one by one; the rest is looking them up."""
    encoded = array.dictionary_encode()
    values = [_cast_or_none(value, kind) for value in encoded.dictionary]
    return pc.take(pa.array(values, type=kind), encoded.indices)


def _cast_or_none(value: pa.Scalar, kind: pa.DataType) -> Any:
    return attempt(lambda: value.cast(kind).as_py(), ValueError, TypeError)


def known_cells(column: Column, cells: pa.ChunkedArray) -> pa.Array:
    """Return plain cells, with null for every one that is missing.

    That is a null, not a number, or blank text unless that is a listed value.

    Raises:
        CellError: If one is missing and the column is not nullable.
        DataError: If they are lists or the like.
    """
    array = cells.combine_chunks()
    if isinstance(array, pa.ChunkedArray):
        array = pa.concat_arrays(array.chunks)
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_null(array.type):
        array = array.cast(pa.string())  # a column of nothing but nulls is of any type
    missing = pc.is_null(array, nan_is_null=True)
    if is_text(array.type) and _takes_blanks(column):
        blank = pc.equal(pc.utf8_trim_whitespace(array.cast(pa.large_string())), "")
        missing = pc.or_(missing, pc.fill_null(blank, True))  # noqa: FBT003
    if not missing.true_count:
        return _unnested(column.name, array)
    if not column.nullable:
        raise missing_value(column.name, _first(missing))
    if is_text(array.type):
        array = array.cast(pa.large_string())
    return pc.if_else(missing, pa.scalar(None, array.type), _unnested(column.name, array))


def _takes_blanks(column: Column) -> bool:
    """Whether blank text in a column is a cell without a value."""
    if isinstance(column, Categorical):
        return column.nullable and all(str(value).strip() for value in column.values)
    return True


def _unnested(name: str, array: pa.Array) -> pa.Array:
    if pa.types.is_nested(array.type):
        raise DataError(f"column {name!r} is of type {array.type}: expected plain values.")
    return array


def _cast(name: str, array: pa.Array, kind: pa.DataType, expected: str) -> pa.Array:
    cast = attempt(lambda: array.cast(kind, safe=False))
    if cast is None:
        unread = pc.and_(pc.is_null(_cast_each(array, kind)), pc.is_valid(array))
        refuse(name, unread, f"expected {expected}")
        raise DataError(f"column {name!r} is of type {array.type}: expected {expected}.")
    return cast


def refuse(name: str, bad: pa.Array, hint: str | None) -> None:
    """Refuse a column of which a cell is bad, with what was expected; None if it is missing."""
    if not bad.true_count:
        return
    if hint is None:
        raise missing_value(name, _first(bad))
    raise CellError(f"column {name!r}: the value", _first(bad), f" is outside the schema: {hint}.")


def _first(where: pa.BooleanArray) -> int:
    return int(pc.index(where, value=True).as_py()) + 1
