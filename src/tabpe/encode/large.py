"""Whole numbers beyond 2^53, which a float does not hold: as steps from the smallest one.

The steps are counted in decimals of 38 digits, so none is lost; there are at most 2^53 of them,
which a float holds exactly. How a cell is read depends on that cell alone.
"""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tabpe._arrow import is_text
from tabpe.encode import cells
from tabpe.schema import Column, Integer
from tabpe.schema.whole import EXACT_INTEGERS

_DIGITS = pa.decimal128(37, 0)
_BEYOND_INT64 = 2**63


def is_large(column: Column) -> bool:
    """Whether a column holds whole numbers that a float does not.

    Example:
        >>> is_large(Integer("no", 0, 10**6)), is_large(Integer("no", 2**60, 2**60 + 9))
        (False, True)
    """
    return isinstance(column, Integer) and max(-column.min, column.max) > EXACT_INTEGERS


def steps_of(column: Integer, found: pa.ChunkedArray) -> NDArray[np.float64]:
    """Return how far each cell is from the smallest value, clamped to the bounds; NaN for null.

    Example:
        >>> steps_of(Integer("no", 2**60, 2**60 + 9), pa.chunked_array([[2**60 + 1, 5]]))
        array([1., 0.])
    """
    whole = _whole(column, found)
    low, high = _scalars(column)
    inside = pc.min_element_wise(pc.max_element_wise(whole, low), high)
    since = pc.subtract(inside, low).cast(pa.int64())
    steps: NDArray[np.float64] = since.to_numpy(zero_copy_only=False).astype(np.float64)
    return np.where(pc.is_null(whole).to_numpy(zero_copy_only=False), np.nan, steps)


def fitting(column: Integer, found: pa.ChunkedArray) -> NDArray[np.bool_]:
    """Return where cells are whole numbers within the bounds, or null if they may be."""
    whole, (low, high) = _whole(column, found), _scalars(column)
    inside = pc.and_(pc.greater_equal(whole, low), pc.less_equal(whole, high))
    known = pc.fill_null(inside, True)  # noqa: FBT003
    return np.asarray(known.to_numpy(zero_copy_only=False), dtype=bool)


def cells_of_steps(column: Integer, steps: pa.Array) -> pa.Array:
    """Return steps as the whole numbers that they stand for.

    Example:
        >>> cells_of_steps(Integer("no", 2**63, 2**63 + 9), pa.array([1])).to_pylist()
        [9223372036854775809]
    """
    kind = np.uint64 if column.max >= _BEYOND_INT64 else np.int64
    since = pc.fill_null(steps, 0).to_numpy(zero_copy_only=False)
    missing = pc.is_null(steps).to_numpy(zero_copy_only=False)
    # A negative smallest value goes with int64, and a step never leaves the bounds.
    return pa.array(since.astype(kind) + kind(column.min), mask=missing)


def _whole(column: Integer, found: pa.ChunkedArray) -> pa.Array:
    array = cells.known_cells(column, found)
    if is_text(array.type):
        array = pc.utf8_trim_whitespace(array.cast(pa.large_string()))
    whole = cells.comparable(array, _DIGITS)
    unread = pc.and_(pc.is_null(whole), pc.is_valid(array))
    cells.refuse(column.name, unread, "expected a whole number of at most 37 digits")
    return whole


def _scalars(column: Integer) -> tuple[pa.Scalar, pa.Scalar]:
    return pa.scalar(Decimal(column.min), _DIGITS), pa.scalar(Decimal(column.max), _DIGITS)
