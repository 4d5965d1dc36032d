"""Into which bins the numbers of a column are put, so that people see something.

The bins divide the declared range, widened to cells that lie outside. If nearly all cells of every
table lie in a sliver of that, as incomes do below one fortune, the bins divide the sliver, and the
first and the last one also hold what lies beyond. Numbers with declared decimals get bins of
equally many values each, and where these are few, a bin for each value.

Edges depend on the cells that are given: they are as private as these.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tabpe.schema import Float, Integer
from tabpe.schema.whole import EXACT_INTEGERS

# The middle of a table that must be seen well, and the share of the range that is a sliver.
_MIDDLE = (0.01, 0.99)
_SLIVER = 0.25
_MARGIN = 0.05
_FAR = 2.0**1000

Values = NDArray[np.float64]


def edges_for(column: Integer | Float, tables: Sequence[Values], bins: int) -> Values:
    """Return the edges of at most `bins` bins of equal width.

    Args:
        column: What is declared.
        tables: The cells of each table, without nulls.
        bins: At most so many.

    Example:
        >>> edges_for(Integer("children", 0, 3), [], 24)
        array([-0.5,  0.5,  1.5,  2.5,  3.5])
        >>> edges_for(Integer("income", 0, 10**9), [np.arange(0.0, 1001, 100)], 5)
        array([   0.,  201.,  402.,  603.,  804., 1005.])
    """
    low, high = _window(column, [cells for cells in tables if len(cells)])
    if column.decimals is not None and max(-low, high) * 10.0**column.decimals < EXACT_INTEGERS:
        return _on_grid(low, high, column.decimals, bins)
    edges = np.linspace(low, high, bins + 1)
    return edges if (np.diff(edges) > 0).all() else _around(low)


def placed(values: Values, edges: Values) -> NDArray[np.int64]:
    """Return the bin of each number; the end bins hold what lies beyond the edges too.

    Example:
        >>> placed(np.array([-9.0, 0.0, 1.0, 2.0, 9.0]), np.array([0.0, 1.0, 2.0]))
        array([0, 0, 1, 1, 1])
    """
    places: NDArray[np.int64] = np.searchsorted(edges[1:-1], values, side="right")
    return places


def _window(column: Integer | Float, tables: Sequence[Values]) -> tuple[float, float]:
    """Return what the bins divide: the whole range, or the middle of the tables."""
    least = min((float(cells.min()) for cells in tables), default=column.min)
    most = max((float(cells.max()) for cells in tables), default=column.max)
    low, high = max(-_FAR, min(least, column.min)), min(_FAR, max(most, column.max))
    if not tables:
        return low, high
    quantiles = np.array([np.quantile(np.clip(c, -_FAR, _FAR), _MIDDLE) for c in tables])
    first, last = quantiles[:, 0].min(), quantiles[:, 1].max()
    width = last - first
    if not 0 < width < _SLIVER * (high - low):
        return low, high
    margin = _MARGIN * width
    return max(least, first - margin), min(most, last + margin)


def _on_grid(low: float, high: float, decimals: int, bins: int) -> Values:
    """Return edges between which lie equally many values that have so many decimals."""
    step = 10.0**-decimals
    start, stop = math.floor(round(low / step, 3)), math.ceil(round(high / step, 3))
    values = stop - start + 1
    each = -(-values // bins)
    if each == 1:
        return np.round((start - 0.5 + np.arange(values + 1)) * step, decimals + 1)
    return np.round((start + each * np.arange(-(-values // each) + 1.0)) * step, decimals)


def _around(value: float) -> Values:
    """Return one bin, for numbers that do not vary, or too little to divide."""
    margin = max(0.5, abs(value) / 1e6)
    return np.array([value - margin, value + margin])
