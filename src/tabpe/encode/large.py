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

from tabpe.encode import cells
from tabpe.io.canonical import flat, read_integers
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


def steps_of(
    column: Integer, found: pa.ChunkedArray, *, strict: bool = False
) -> NDArray[np.float64]:
    """Return how far each cell is from the smallest value, within the bounds; NaN for null.

    Example:
        >>> steps_of(Integer("no", 2**60, 2**60 + 9), pa.chunked_array([[2**60 + 1, 5]]))
        array([1., 0.])
    """
    array = flat(found, column.name)
    whole, (low, high) = read_integers(array), _scalars(column)
    # A step beyond each bound is enough to know that a cell is outside.
    near = pc.min_element_wise(
        pc.max_element_wise(whole, _moved(low, -1), skip_nulls=False),
        _moved(high, 1),
        skip_nulls=False,
    )
    since = pc.subtract(near, low).cast(pa.int64())
    steps: NDArray[np.float64] = (
        since.fill_null(0).to_numpy(zero_copy_only=False).astype(np.float64)
    )
    steps[pc.is_null(whole).to_numpy(zero_copy_only=False)] = np.nan
    default = float(column.default_value - column.min)
    bounds = 0.0, float(column.steps)
    return cells.fitted(column, array, steps, bounds=bounds, default=default, strict=strict)


def fitting(column: Integer, found: pa.ChunkedArray) -> NDArray[np.bool_]:
    """Return where cells are whole numbers within the bounds, or null if they may be."""
    whole, (low, high) = read_integers(flat(found, column.name)), _scalars(column)
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


def _scalars(column: Integer) -> tuple[pa.Scalar, pa.Scalar]:
    return pa.scalar(Decimal(column.min), _DIGITS), pa.scalar(Decimal(column.max), _DIGITS)


def _moved(bound: pa.Scalar, by: int) -> pa.Scalar:
    return pa.scalar(bound.as_py() + by, _DIGITS)
