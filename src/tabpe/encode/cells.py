"""The cells of one column: canonical cells to numbers and codes, and back.

Encoding is total: a cell that does not fit its column counts by the rule that the schema states
(`Column.on_invalid`). In strict mode a cell for which the schema states no rule is refused instead,
with an error that names the column and the first such row. It never shows the cell: the reader of a
log is not always one who may see the table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tabpe.errors import CellError, missing_value
from tabpe.io.canonical import (
    NOT_LISTED,
    find_missing,
    find_values,
    flat,
    read_booleans,
    read_numbers,
)
from tabpe.schema import Boolean, Categorical, Column, Float, Integer

Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Misfits:
    """Which cells of a column do not fit it.

    Args:
        missing: Where a cell is missing.
        unreadable: Where it has no value that the type of the column could have.
        outside: Where its value is beyond the bounds, or not in the list.
    """

    missing: Mask
    unreadable: Mask
    outside: Mask

    @property
    def without_value(self) -> Mask:
        """Where there is nothing to clamp."""
        return np.asarray(self.missing | self.unreadable)


def numbers_of(
    column: Integer | Float, cells: pa.ChunkedArray, *, strict: bool = False
) -> NDArray[np.float64]:
    """Return the cells as numbers within the bounds of the column; NaN for null."""
    array = flat(cells, column.name)
    bounds = float(column.min), float(column.max)
    default = float(column.default_value)
    values = read_numbers(array)
    return fitted(column, array, values, bounds=bounds, default=default, strict=strict)


def codes_of(
    column: Categorical | Boolean, cells: pa.ChunkedArray, *, strict: bool = False
) -> NDArray[np.int64]:
    """Return the index of each cell in the values of the column; null comes after them."""
    array = flat(cells, column.name)
    found = _indices(column, array)
    unlisted = found == NOT_LISTED
    if not unlisted.any():
        return found
    missing = _missing_in(column, array) & unlisted
    if strict:
        _refuse_codes(column, missing, unlisted & ~missing)
    found[unlisted] = _code_of_invalid(column)
    if column.nullable:
        found[missing] = column.size
    return found


def fitted(
    column: Column,
    array: pa.Array,
    values: NDArray[np.float64],
    *,
    bounds: tuple[float, float],
    default: float,
    strict: bool,
) -> NDArray[np.float64]:
    """Return numbers as the rule of their column says: within bounds, null or a default.

    Args:
        column: The column.
        array: The cells.
        values: The same as numbers; NaN where one is missing or can not be read.
        bounds: The smallest and the largest number.
        default: What stands for a cell without a value where there is no null.
        strict: Whether to refuse a cell for which the column states no rule.
    """
    unread = np.isnan(values)
    if unread.any():
        missing = find_missing(array)
        if strict:
            _refuse_numbers(column, missing, unread & ~missing)
        without = np.nan if column.nullable else default
        values = np.where(unread, without, values)
        if column.on_invalid == "default":
            values[unread & ~missing] = default
    if column.on_invalid == "clamp":
        return np.clip(values, *bounds)
    outside = (values < bounds[0]) | (values > bounds[1])
    return np.where(outside, default if column.on_invalid == "default" else np.nan, values)


def find_misfits(column: Column, cells: pa.ChunkedArray) -> Misfits:
    """Return which cells of a column of numbers, listed values or booleans do not fit it.

    Example:
        >>> misfits = find_misfits(Integer("age", 0, 99), pa.chunked_array([["7", "x", "120", ""]]))
        >>> misfits.unreadable.sum(), misfits.outside.sum(), misfits.missing.sum()
        (np.int64(1), np.int64(1), np.int64(1))
    """
    array = flat(cells, column.name)
    if isinstance(column, (Categorical, Boolean)):
        unlisted = _indices(column, array) == NOT_LISTED
        missing = _missing_in(column, array) & unlisted
        nowhere = np.zeros(len(array), dtype=bool)
        return Misfits(missing, nowhere, unlisted & ~missing)
    values, missing = read_numbers(array), find_missing(array)
    low, high = getattr(column, "min", -np.inf), getattr(column, "max", np.inf)
    return Misfits(missing, np.isnan(values) & ~missing, (values < low) | (values > high))


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
    indices = codes.astype(np.int64)
    return pc.take(pa.array(column.values), pa.array(indices, mask=indices == column.size))


def _indices(column: Categorical | Boolean, array: pa.Array) -> NDArray[np.int64]:
    if isinstance(column, Boolean):
        return read_booleans(array).astype(np.int64)
    return find_values(array, column.values)


def _missing_in(column: Categorical | Boolean, array: pa.Array) -> Mask:
    """Return which cells have no value; blank text is one if the column lists such a value."""
    if isinstance(column, Categorical) and not all(str(one).strip() for one in column.values):
        return np.asarray(array.is_null().to_numpy(zero_copy_only=False), dtype=bool)
    return find_missing(array)


def _code_of_invalid(column: Categorical | Boolean) -> int:
    """Return the code of a cell that is not listed."""
    if column.on_invalid == "null":
        return column.size
    if isinstance(column, Categorical) and column.on_invalid == "other":
        return column.values.index(column.other)
    return column.values.index(column.default_value)


def _refuse_numbers(column: Column, missing: Mask, unreadable: Mask) -> None:
    if column.invalid is not None or column.default is not None:
        return
    if not column.nullable:
        refuse(column.name, missing, None)
    refuse(column.name, unreadable, f"expected {_EXPECTED.get(column.type_name, 'a number')}")


def _refuse_codes(column: Categorical | Boolean, missing: Mask, unlisted: Mask) -> None:
    stated = column.invalid is not None or column.default is not None
    if stated or getattr(column, "other", None) is not None:
        return
    if not column.nullable:
        refuse(column.name, missing, None)
    listed = isinstance(column, Categorical)
    hint = "declare it in values, or declare an other" if listed else _EXPECTED["boolean"]
    refuse(column.name, unlisted, hint)


_EXPECTED = {
    "boolean": "expected true or false, yes or no, 1 or 0",
    "date": "dates such as 2024-03-31, or declare a format",
    "datetime": "points in time such as 2024-03-31T18:30, or declare a format",
    "time": "times such as 18:30, or declare a format",
}


def refuse(name: str, bad: Mask, hint: str | None) -> None:
    """Refuse a column of which a cell is bad, with what was expected; None if it is missing."""
    if not bad.any():
        return
    row = int(np.argmax(bad)) + 1
    if hint is None:
        raise missing_value(name, row)
    raise CellError(f"column {name!r}: the value", row, f" is outside the schema: {hint}.")
