"""What columns of every type are made of: numbers, listed values and truths.

All that comes after the encoder knows these three alone. A date is a whole number of days since
the first one, a value of an ordered list is its place in the list, a number on a bent scale is
where it lies there. How a cell is translated depends
on the schema and on that cell, and on no other row.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tabpe.encode import cells, large, moments
from tabpe.encode.cells import Misfits
from tabpe.encode.large import is_large
from tabpe.encode.scales import scale_of
from tabpe.io.canonical import find_missing, flat, read_numbers
from tabpe.schema import Categorical, Column, Float, Id, Integer, Schema, Temporal

Number = Integer | Float


def number_of(column: Column, label: str | None) -> Number | None:
    """Return the number that a column is encoded as; None if it is none.

    Args:
        column: A column.
        label: Name of the label, whose values are classes.

    Example:
        >>> from tabpe.schema import Date
        >>> days = number_of(Date("seen", "2024-01-01", "2024-01-31"), None)
        >>> days.type_name, days.min, days.max
        ('integer', 0, 30)
    """
    if is_large(column) and isinstance(column, Integer):
        return Integer(column.name, 0, column.steps, nullable=column.nullable)
    if isinstance(column, (Integer, Float)):
        if scale_of(column) is None:
            return column
        return Float(column.name, 0.0, 1.0, nullable=column.nullable)
    if isinstance(column, Temporal):
        return Integer(column.name, 0, column.steps, nullable=column.nullable)
    if isinstance(column, Categorical) and column.ordered and column.name != label:
        return Integer(column.name, 0, column.size - 1, nullable=column.nullable)
    return None


def plain_schema(schema: Schema) -> Schema:
    """Return a schema of numbers, lists and truths alone, as rows are encoded by.

    Example:
        >>> from tabpe.schema import Date
        >>> plain_schema(Schema((Id("no"), Date("seen", "2024-01-01", "2024-01-31")))).names
        ('seen',)
    """
    columns = (
        number_of(column, column.name if column.name in schema.labels else None) or column
        for column in schema.columns
        if not isinstance(column, Id)
    )
    return dataclasses.replace(
        schema, columns=tuple(columns), label_cuts=_places_of_cuts(schema), rules=()
    )


def _places_of_cuts(schema: Schema) -> tuple[float, ...] | None:
    """Return where the classes of a numeric label begin, as its values are encoded."""
    if schema.label_cuts is None or not isinstance(schema.label, str):
        return None
    label = schema[schema.label]
    cuts = tuple(cut - origin_of(label) for cut in schema.label_cuts)
    scale = scale_of(label)
    return cuts if scale is None else tuple(scale.of(np.array(cuts, dtype=np.float64)).tolist())


def origin_of(column: Column) -> int:
    """Return the value from which the numbers of a column are counted: 0 for most."""
    return column.min if isinstance(column, Integer) and is_large(column) else 0


def numbers_of(
    column: Column, found: pa.ChunkedArray, *, strict: bool = False
) -> NDArray[np.float64]:
    """Return the cells of a column that is encoded as a number, within its bounds; NaN for null.

    Numbers are as they are, whatever their scale; those beyond 2^53 are counted from the smallest.
    """
    if is_large(column) and isinstance(column, Integer):
        return large.steps_of(column, found, strict=strict)
    if isinstance(column, (Integer, Float)):
        return cells.numbers_of(column, found, strict=strict)
    if isinstance(column, Temporal):
        return moments.steps_of(column, found, strict=strict)
    if not isinstance(column, Categorical):
        raise TypeError(type(column).__name__)
    places = cells.codes_of(column, found, strict=strict).astype(np.float64)
    return np.where(places == column.size, np.nan, places)


def fitting(column: Number | Temporal, found: pa.ChunkedArray) -> NDArray[np.bool_]:
    """Return where cells are values of a column to the letter: within bounds, and on its grid.

    A null is one, if the column is nullable.

    Example:
        >>> fitting(Integer("age", 0, 99), pa.chunked_array([[20.0, 20.5, 100.0]]))
        array([ True, False, False])
    """
    array = flat(found, column.name)
    missing = find_missing(array)
    if isinstance(column, Temporal):
        ticks = moments.microseconds(column, array)
        since = pc.fill_null(ticks, column.first - 1).to_numpy(zero_copy_only=False) - column.first
        inside = (since >= 0) & (since <= column.last - column.first) & (since % column.tick == 0)
    elif is_large(column) and isinstance(column, Integer):
        inside = large.fitting(column, found)
    else:
        values = read_numbers(array)
        inside = (values >= column.min) & (values <= column.max)
        if column.decimals is not None:
            inside &= np.round(values, column.decimals) == values
    return np.asarray(np.where(missing, column.nullable, inside))


def misfits_of(column: Column, found: pa.ChunkedArray) -> Misfits:
    """Return which cells do not fit a column of any type, for those who may see the table.

    Example:
        >>> from tabpe.schema import Date
        >>> seen = Date("seen", "2024-01-01", "2024-12-31")
        >>> misfits_of(seen, pa.chunked_array([["31.12.2024", "2025-01-01"]])).unreadable
        array([ True, False])
    """
    if not isinstance(column, Temporal):
        return cells.find_misfits(column, found)
    array = flat(found, column.name)
    missing, ticks = find_missing(array), moments.microseconds(column, array)
    unread = pc.is_null(ticks).to_numpy(zero_copy_only=False) & ~missing
    since = pc.fill_null(ticks, column.first).to_numpy(zero_copy_only=False)
    return Misfits(missing, unread, (since < column.first) | (since > column.last))


def places_of(column: Column, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return numbers as they are encoded: as they are, or where they lie on a bent scale."""
    scale = scale_of(column)
    if scale is None or not isinstance(column, (Integer, Float)):
        return values
    return scale.of(cells.on_grid(column, values))


def cells_of_numbers(column: Column, plain: Number, scaled: NDArray[Any]) -> pa.Array:
    """Return scaled numbers as the cells that the column holds."""
    scale = scale_of(column)
    if scale is not None and isinstance(column, (Integer, Float)):
        return cells.cells_of_values(column, scale.back(scaled.astype(np.float64)))
    numbers = cells.cells_of_numbers(plain, scaled)
    if is_large(column) and isinstance(column, Integer):
        return large.cells_of_steps(column, numbers)
    if isinstance(column, Temporal):
        return moments.cells_of_steps(column, numbers)
    if isinstance(column, Categorical):
        return pc.take(pa.array(column.values), numbers)
    return numbers


def ids_of(column: Id, rows: int) -> pa.Array:
    """Return as many ids, each of them once.

    Example:
        >>> ids_of(Id("patient", prefix="P", first=9), 2).to_pylist()
        ['P9', 'P10']
    """
    numbers = pa.array(np.arange(column.first, column.first + rows, dtype=np.int64))
    if column.prefix is None:
        return numbers
    return pc.binary_join_element_wise(column.prefix, numbers.cast(pa.string()), "")
