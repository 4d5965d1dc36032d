"""Pearson correlation of many columns at once, nulls left out pair by pair."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_ROWS_AT_ONCE = 8192
# Below this share of its second moment a variance that is the difference of two sums is too
# inexact, and is computed anew around the mean of the pair's own rows.
_CANCELLED = 1e-6


def pearson(columns: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return the correlation of each pair of columns, over the rows where neither is null.

    NaN where one of the two does not vary over these rows.

    Args:
        columns: The cells of each column; NaN for a null.

    Example:
        >>> nan = float("nan")
        >>> pearson([np.array([1.0, 2, 3, nan]), np.array([2.0, 4, 6, 5]), np.ones(4)]).round(9)
        array([[ 1.,  1., nan],
               [ 1.,  1., nan],
               [nan, nan, nan]])
    """
    products, sums, squares, counts = _moments([standardised(column) for column in columns])
    with np.errstate(invalid="ignore", divide="ignore"):
        variances = squares - sums**2 / counts
        covariances = products - sums * sums.T / counts
        matrix: NDArray[np.float64] = covariances / np.sqrt(variances * variances.T)
    inexact = ~(variances > _CANCELLED * squares)
    for one, two in np.argwhere(np.triu(inexact | inexact.T)):
        matrix[one, two] = matrix[two, one] = _of_pair(columns[one], columns[two])
    np.clip(matrix, -1.0, 1.0, out=matrix)
    np.fill_diagonal(matrix, np.where(np.isnan(matrix.diagonal()), np.nan, 1.0))
    return matrix


def standardised(column: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the cells with mean 0, the largest of size 1; all 0 if they do not vary.

    Sums of squares of them neither overflow nor lose their digits.

    Args:
        column: The cells; NaN for a null.

    Example:
        >>> standardised(np.array([1e200, 3e200, np.nan]))
        array([-1.,  1., nan])
    """
    known = ~np.isnan(column)
    present = column[known]
    if not len(present) or present.min() == present.max():
        return column * 0.0
    # A power of two: no digit is lost, and no sum overflows.
    _, exponent = np.frexp(np.abs(present).max())
    centred = np.ldexp(present, -exponent)
    for _ in range(2):  # the first mean of numbers far from 0 is rounded
        centred -= centred.mean()
    deviations = np.full(len(column), np.nan)
    deviations[known] = centred / np.abs(centred).max()
    return deviations


def _moments(columns: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return sums over the rows where both are present: products, values, squares, ones.

    In row i and column j, the last three are about values of column i.
    """
    totals = np.zeros((4, len(columns), len(columns)))
    rows = len(columns[0]) if columns else 0
    for start in range(0, rows, _ROWS_AT_ONCE):
        block = np.array([column[start : start + _ROWS_AT_ONCE] for column in columns])
        present = (~np.isnan(block)).astype(np.float64)
        values = np.nan_to_num(block)
        totals[0] += values @ values.T
        for place, power in enumerate((values, values**2, present), start=1):
            totals[place] += power @ present.T
    return totals


def _of_pair(one: NDArray[np.float64], two: NDArray[np.float64]) -> float:
    both = ~(np.isnan(one) | np.isnan(two))
    first, second = standardised(one[both]), standardised(two[both])
    size = np.linalg.norm(first) * np.linalg.norm(second)
    return float(first @ second / size) if size > 0 else np.nan
