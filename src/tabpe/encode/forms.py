"""What columns of every type are made of: numbers, listed values and truths.

All that comes after the encoder knows these three alone. A date is a whole number of days since
the first one, a value of an ordered list is its place in the list. How a cell is translated depends
on the schema and on that cell, and on no other row.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tabpe.encode import cells, moments
from tabpe.schema import Categorical, Column, Float, Id, Integer, Schema, Temporal

Number = Integer | Float
# Numbers are clamped to the bounds of their column; to these as good as none is.
_LARGEST = 1e307


def number_of(column: Column, label: str | None) -> Number | None:
    """Return the number that a column is encoded as; None if it is none.

    Args:
        column: A column.
        label: Name of the label, whose values are classes.

    Example:
        >>> from tabpe.schema import Date
        >>> number_of(Date("seen", "2024-01-01", "2024-01-31"), None)
        Integer(name='seen', source=<Source.PUBLIC: 'public'>, bought=(), min=0, max=30)
    """
    if isinstance(column, (Integer, Float)):
        return column
    if isinstance(column, Temporal):
        return Integer(column.name, 0, column.steps)
    if isinstance(column, Categorical) and column.ordered and column.name != label:
        return Integer(column.name, 0, column.size - 1)
    return None


def plain_schema(schema: Schema) -> Schema:
    """Return a schema of numbers, lists and truths alone, as rows are encoded by.

    Example:
        >>> from tabpe.schema import Date
        >>> plain_schema(Schema((Id("no"), Date("seen", "2024-01-01", "2024-01-31")))).names
        ('seen',)
    """
    columns = (
        number_of(column, schema.label) or column
        for column in schema.columns
        if not isinstance(column, Id)
    )
    return Schema(tuple(columns), label=schema.label, label_cuts=schema.label_cuts)


def numbers_of(column: Column, found: pa.ChunkedArray) -> NDArray[np.float64]:
    """Return the cells of a column that is encoded as a number, within its bounds."""
    if isinstance(column, (Integer, Float)):
        return cells.numbers_of(column, found)
    if isinstance(column, Temporal):
        return moments.steps_of(column, found)
    if not isinstance(column, Categorical):
        raise TypeError(type(column).__name__)
    return cells.codes_of(column, found).astype(np.float64)


def fitting(column: Number | Temporal, found: pa.ChunkedArray) -> NDArray[np.bool_]:
    """Return where cells are values of a column to the letter: within bounds, and on its grid.

    Example:
        >>> fitting(Integer("age", 0, 99), pa.chunked_array([[20.0, 20.5, 100.0]]))
        array([ True, False, False])
    """
    if isinstance(column, Temporal):
        array = cells.without_missing(column.name, found)
        since = moments.microseconds(column, array).to_numpy(zero_copy_only=False) - column.first
        inside = (since >= 0) & (since <= column.last - column.first)
        return np.asarray(inside & (since % column.tick == 0))
    values = cells.numbers_of(Float(column.name, -_LARGEST, _LARGEST), found)
    inside = (values >= column.min) & (values <= column.max)
    if column.decimals is not None:
        inside &= np.round(values, column.decimals) == values
    return np.asarray(inside)


def cells_of_numbers(column: Column, plain: Number, scaled: NDArray[Any]) -> pa.Array:
    """Return scaled numbers as the cells that the column holds."""
    numbers = cells.cells_of_numbers(plain, scaled)
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
