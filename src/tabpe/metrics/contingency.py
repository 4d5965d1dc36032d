"""How often the codes of two columns occur together, and what follows from it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# Up to so many cells a table is counted whole; beyond it the rows are sorted.
_MOST_CELLS = 2**20


@dataclass(frozen=True, eq=False)
class Contingency:
    """The cells of a contingency table that are not 0.

    Args:
        keys: Their places, row by row, in rising order.
        counts: How many rows of data each has.
        width: Number of columns of the table.
    """

    keys: NDArray[np.int64]
    counts: NDArray[np.int64]
    width: int

    @property
    def total(self) -> int:
        """Number of rows of data."""
        return int(self.counts.sum())

    def without_first(self) -> Contingency:
        """Return the table without its first row and its first column."""
        rest = (self.keys >= self.width) & (self.keys % self.width > 0)
        return Contingency(self.keys[rest], self.counts[rest], self.width)

    def phi_squared(self) -> tuple[float, int, int]:
        """Return chi squared divided by the number of rows; the rows and columns of the table.

        Rows and columns without a count are not there.
        """
        if not len(self.keys):
            return 0.0, 0, 0
        row, column = np.divmod(self.keys, self.width)
        rows = np.bincount(row, weights=self.counts)
        columns = np.bincount(column, weights=self.counts)
        ratio = float((self.counts / rows[row] * self.counts / columns[column]).sum())
        present = [int(np.count_nonzero(sums)) for sums in (rows, columns)]
        return max(0.0, ratio - 1.0), present[0], present[1]


def contingency(
    first: NDArray[np.int64], second: NDArray[np.int64], shape: tuple[int, int]
) -> Contingency:
    """Count how often each two codes occur together.

    Args:
        first: Codes from 0, one a row of data.
        second: Codes of the other column.
        shape: One more than the largest code that each could have.

    Example:
        >>> table = contingency(np.array([0, 0, 1]), np.array([2, 2, 0]), (2, 3))
        >>> table.keys, table.counts
        (array([2, 3]), array([2, 1]))
    """
    height, width = shape
    joint = first * width + second
    if height * width > _MOST_CELLS:
        keys, counts = np.unique(joint, return_counts=True)
    else:
        whole = np.bincount(joint)
        keys = np.flatnonzero(whole)
        counts = whole[keys]
    return Contingency(keys, counts, width)


def cramers_v(table: Contingency) -> float:
    """Return Cramer's V; NaN if one of the columns is constant.

    Example:
        >>> codes = np.array([0, 1, 0, 1])
        >>> cramers_v(contingency(codes, codes, (2, 2)))
        1.0
    """
    phi_squared, rows, columns = table.phi_squared()
    smaller = min(rows, columns) - 1
    return math.sqrt(phi_squared / smaller) if smaller > 0 else math.nan


def corrected_cramers_v(table: Contingency) -> float:
    """Return Cramer's V with Bergsma's correction; NaN if one of the columns is constant.

    Without it, columns with many categories seem to go together by chance. Of a column that has a
    category for each row nothing can be told: 0.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> table = contingency(rng.integers(0, 30, 200), rng.integers(0, 30, 200), (30, 30))
        >>> round(cramers_v(table), 2), round(corrected_cramers_v(table), 2)
        (0.37, 0.0)
    """
    phi_squared, rows, columns = table.phi_squared()
    if min(rows, columns) <= 1:
        return math.nan
    by_chance = (rows - 1) * (columns - 1) / (table.total - 1)
    corrected = [size - 1 - (size - 1) ** 2 / (table.total - 1) for size in (rows, columns)]
    if min(corrected) <= 0:
        return 0.0
    return min(1.0, math.sqrt(max(0.0, phi_squared - by_chance) / min(corrected)))


def overlap(one: Contingency, two: Contingency) -> float:
    """Return 1 less the total variation between the shares of cells.

    Example:
        >>> codes = np.array([0, 1])
        >>> same, other = (contingency(codes, which, (2, 2)) for which in (codes, codes[::-1]))
        >>> overlap(same, same), overlap(same, other)
        (1.0, 0.0)
    """
    keys = np.concatenate([one.keys, two.keys])
    shares = np.concatenate([one.counts / one.total, -(two.counts / two.total)])
    _, place = np.unique(keys, return_inverse=True)
    return float(1.0 - np.abs(np.bincount(place, weights=shares)).sum() / 2)
