"""Rows that meet conditions, and rows that go with known cells: choices among the rows made.

Privacy: they cost nothing. The rows are public already, and conditions are about them alone.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tabpe.encode import Encoder, Records
from tabpe.encode.forms import fitting, numbers_of
from tabpe.encode.sight import with_marks
from tabpe.errors import CellError, ParameterError, ThinSupportWarning, did_you_mean, shown
from tabpe.schema import Categorical, Column, Float, Id, Integer, Schema, Temporal
from tabpe.search.nearest import MOST_NEAREST, index

Places = NDArray[np.int64]
CATEGORY_WEIGHT = 1 / 3
# Rows that are this much farther than the nearest go with known cells as well as it does: a tenth
# of the range of one column.
_AS_NEAR = 0.01
_PAIR = 2


def meeting(table: pa.Table, schema: Schema, conditions: Mapping[str, Any]) -> Places:
    """Return the places of rows that meet all conditions.

    Args:
        table: Rows of the schema.
        schema: The schema.
        conditions: For each column a value, None for null; or, of numbers, dates, times and
            ordered values, a pair: the smallest and the largest.

    Raises:
        ParameterError: If a column or a value is not one of the schema, or no row is like that.

    Example:
        >>> from tabpe.schema import Boolean, Integer
        >>> schema = Schema((Integer("age", 0, 99), Boolean("ill")))
        >>> table = pa.table({"age": [20, 40, 60], "ill": [True, True, False]})
        >>> meeting(table, schema, {"age": (30, 99), "ill": True})
        array([1])
    """
    if not isinstance(conditions, Mapping) or not conditions:
        raise ParameterError(f"conditions={shown(conditions)}: expected values of columns by name.")
    met = np.ones(table.num_rows, dtype=bool)
    for name, wanted in conditions.items():
        met &= _meets(_column(schema, name), table[name], wanted)
    if not met.any():
        raise ParameterError(
            f"conditions={shown(dict(conditions))}: none of the {table.num_rows:,} rows made is "
            f"like that. Ask for less, for a range as a pair, or for the nearest rows by "
            f"sample_remaining_columns."
        )
    return np.flatnonzero(met)


def warn_of_repeats(size: int, places: Places) -> None:
    """Warn if rows that meet conditions are fewer than those asked for."""
    if size > len(places):
        warnings.warn(
            f"{len(places):,} of the rows made meet the conditions: a sample of {size:,} repeats "
            f"them. It knows no more about such rows than they say.",
            ThinSupportWarning,
            stacklevel=3,
        )


def nearest_to(
    known: pa.Table, table: pa.Table, schema: Schema, rng: np.random.Generator
) -> Places:
    """Return for each known row the places of rows near to it, by its columns: the best first.

    Args:
        known: Cells of some columns.
        table: Rows of the schema.
        schema: The schema.
        rng: Which of several rows that are as near it is.
    """
    encoder = Encoder(_about(schema, known.schema.names), strict=True)
    order = rng.permutation(table.num_rows)
    rows, _ = encoder.encode(table.select(encoder.names).take(order))
    rows = with_marks(rows, encoder.space.can_miss)
    wanted = with_marks(_encoded(encoder, known), encoder.space.can_miss)
    nearest = index(rows, CATEGORY_WEIGHT).nearest(wanted, min(MOST_NEAREST, len(rows)))
    distances = _distances(wanted, rows, nearest)
    _warn_of_strangers(distances[:, 0])
    as_near = distances <= distances[:, :1] + _AS_NEAR
    lots = np.where(as_near, rng.random(nearest.shape), -1.0 - distances)
    best = np.argsort(-lots, axis=1, kind="stable")
    return order[np.take_along_axis(nearest, best, axis=1)]


def _column(schema: Schema, name: Any) -> Column:
    if name not in schema.names:
        raise ParameterError(
            f"there is no column {shown(name)}: {did_you_mean(str(name), schema.names)}"
        )
    column = schema[name]
    if isinstance(column, Id):
        raise ParameterError(f"column {name!r} is an id: these are numbered anew in each sample.")
    return column


def _about(schema: Schema, names: Sequence[str]) -> Schema:
    for name in names:
        _column(schema, name)
    return Schema(tuple(column for column in schema.columns if column.name in names))


def _meets(column: Column, cells: pa.ChunkedArray, wanted: Any) -> NDArray[np.bool_]:
    encoder = Encoder(Schema((column,)), strict=True)
    is_range = isinstance(wanted, (tuple, list)) and len(wanted) == _PAIR and encoder.numeric
    if is_range:
        low, high = (_position(column, end) for end in wanted)
        numbers = numbers_of(column, cells)
        return np.asarray((numbers >= low) & (numbers <= high))
    cell = _cell(column, wanted)
    if isinstance(column, (Integer, Float, Temporal)) and wanted is not None:
        same = numbers_of(column, cells) == _position(column, wanted)
        # Values beyond the bounds or between two of the grid are read as the nearest.
        return np.asarray(same & fitting(column, pa.chunked_array([cell])))
    asked = _encoded(encoder, pa.table({column.name: cell}))
    rows, _ = encoder.encode(pa.table({column.name: cells}))
    if np.isnan(asked.numbers).any():
        return np.asarray(np.isnan(rows.numbers).all(axis=1))
    same = (rows.numbers == asked.numbers).all(axis=1) & (rows.codes == asked.codes).all(axis=1)
    return np.asarray(same)


def _cell(column: Column, wanted: Any) -> pa.Array:
    if wanted is None and not column.nullable:
        raise ParameterError(f"conditions: {column.name!r}=None: the column is not nullable.")
    if isinstance(column, Categorical) and wanted is not None and wanted not in column.values:
        hint = did_you_mean(str(wanted), [str(value) for value in column.values])
        raise ParameterError(f"conditions: {column.name!r}={shown(wanted)}: {hint}")
    try:
        return pa.array([wanted])
    except (pa.ArrowException, TypeError, ValueError):
        raise ParameterError(
            f"conditions: {column.name!r}={shown(wanted)}: expected a value of that column."
        ) from None


def _encoded(encoder: Encoder, table: pa.Table) -> Records:
    try:
        return encoder.encode(table)[0]
    except CellError as error:
        raise ParameterError(str(error)) from None


def _position(column: Column, end: Any) -> float:
    try:
        cell = pa.chunked_array([_cell(column, end)])
        return float(numbers_of(column, cell, strict=True)[0])
    except CellError as error:
        raise ParameterError(str(error)) from None


def _distances(wanted: Records, rows: Records, nearest: Places) -> NDArray[np.float64]:
    numbers = np.nansum((rows.numbers[nearest] - wanted.numbers[:, None, :]) ** 2, axis=2)
    codes = (rows.codes[nearest] != wanted.codes[:, None, :]).sum(axis=2)
    distances: NDArray[np.float64] = numbers.astype(np.float64) + CATEGORY_WEIGHT * codes
    return distances


def _warn_of_strangers(distances: NDArray[np.float64]) -> None:
    far = int((distances >= CATEGORY_WEIGHT).sum())
    if far:
        warnings.warn(
            f"{far:,} of {len(distances):,} known rows are like none of the rows made: a category "
            f"is another one, or numbers are far off. What is put beside them is a guess.",
            ThinSupportWarning,
            stacklevel=4,
        )
