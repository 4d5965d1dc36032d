"""The cells in which columns are counted: as many as the noise lets one tell apart."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from math import isqrt

import numpy as np
from numpy.typing import NDArray

from tabpe.encode import Encoder
from tabpe.encode.axes import ListAxis, Marginal, NumberAxis, axis_of, class_axis

MOST_BINS = 32
# Of a table of two columns. By class it may have a few times as many: noise on a cell is the same.
FEWEST_OF_PAIR, MOST_OF_PAIR, BY_CLASS = 16, 1024, 4
# Of a column of very many listed values, neighbours in the list share a cell of a pair.
MOST_LISTED = 64
# The same by class: every class has noise of its own on each cell, which takes time to draw.
MOST_LISTED_BY_CLASS = 4096
# An average cell holds at least this many times the noise on it.
ABOVE_NOISE = 2.0
_FEWEST, _FEWEST_BY_CLASS = 4, 2


@dataclass(frozen=True, eq=False)
class Bins:
    """How single columns are counted.

    Args:
        fine: The cells of each column over all rows: numbers, then codes.
        coarse: The cells of each column by class, which are groups of the fine ones.
        groups: For each column the coarse cell of every fine one.
        classes: The class of a row; None if columns are not counted by class.
    """

    fine: tuple[NumberAxis | ListAxis, ...]
    coarse: tuple[NumberAxis | ListAxis, ...]
    groups: tuple[NDArray[np.int64], ...]
    classes: ListAxis | None

    @property
    def overall(self) -> list[Marginal]:
        """The tables of all rows."""
        return [Marginal((axis,)) for axis in self.fine]

    @property
    def by_class(self) -> list[Marginal]:
        """The tables by class, if there are any."""
        if self.classes is None:
            return []
        return [Marginal((self.classes, axis)) for axis in self.coarse]


def bins_of(encoder: Encoder, rows: float, sigma: float, *, by_class: bool) -> Bins:
    """Return cells that hold more rows than noise, by public and noisy facts alone.

    Args:
        encoder: Encodes the rows.
        rows: The number of rows, declared or noisy.
        sigma: The noise on each cell.
        by_class: Whether columns are counted by class as well.

    Example:
        >>> from tabpe.schema import Boolean, Integer, Schema
        >>> encoder = Encoder(Schema((Integer("age", 0, 99), Boolean("ill")), label="ill"))
        >>> bins = bins_of(encoder, rows=1000, sigma=50, by_class=True)
        >>> bins.fine[0].size, bins.coarse[0].size
        (10, 5)
    """
    above_noise = rows / (ABOVE_NOISE * sigma)
    most = _held(above_noise, _FEWEST)
    most_by_class = _held(above_noise / encoder.class_count, _FEWEST_BY_CLASS)
    names = [column.name for column in (*encoder.numeric, *encoder.categorical)]
    fine = tuple(axis_of(encoder, name, most=most) for name in names)
    groups = tuple(_groups(axis, most_by_class) for axis in fine)
    return Bins(
        fine,
        tuple(map(_coarser, fine, groups)),
        groups,
        class_axis(encoder) if by_class else None,
    )


def pairs_of(bins: Bins, rows: float, sigma: float) -> list[Marginal]:
    """Return a table of each pair of columns, in cells that hold more rows than noise.

    Listed values stay apart, unless there are very many; bins of numbers join where there would be
    too many cells. A table is by class as well where that does not make too many of them.

    Args:
        bins: How single columns are counted.
        rows: The number of rows, declared or noisy.
        sigma: The noise on each cell.

    Example:
        >>> from tabpe.schema import Boolean, Integer, Schema
        >>> columns = Integer("age", 0, 99), Integer("weight", 0, 200), Boolean("ill")
        >>> encoder = Encoder(Schema(columns, label="ill"))
        >>> bins = bins_of(encoder, rows=10_000, sigma=50, by_class=True)
        >>> pairs_of(bins, rows=10_000, sigma=50)[0].shape
        (2, 10, 10)
    """
    most = int(min(max(rows / (ABOVE_NOISE * sigma), FEWEST_OF_PAIR), MOST_OF_PAIR))
    return [_pair(*pair, bins.classes, most) for pair in combinations(bins.fine, 2)]


def _pair(
    one: NumberAxis | ListAxis, other: NumberAxis | ListAxis, classes: ListAxis | None, most: int
) -> Marginal:
    if one.size * other.size > most:
        even = isqrt(most)
        sides = _joined(one, other, even, most), _joined(other, one, even, most)
    else:
        sides = one, other
    pair = Marginal(sides)
    if classes is None or classes.size * pair.size > BY_CLASS * most:
        return pair
    return Marginal((classes, *sides))


def _joined(
    axis: NumberAxis | ListAxis, other: NumberAxis | ListAxis, even: int, most: int
) -> NumberAxis | ListAxis:
    """Return an axis with fewer bins: what listed values leave it, or else an even part."""
    if isinstance(axis, ListAxis):
        return _coarser(axis, _joined_values(axis, MOST_LISTED))
    left = most // other.size if isinstance(other, ListAxis) else even
    return _coarser(axis, _groups(axis, max(left, _FEWEST)))


def _held(cells: float, fewest: int) -> int:
    return int(min(MOST_BINS, max(fewest, cells)))


def _groups(axis: NumberAxis | ListAxis, most: int) -> NDArray[np.int64]:
    """Return the coarse cell of each cell: neighbouring bins join, as do very many values."""
    if isinstance(axis, ListAxis):
        return _joined_values(axis, MOST_LISTED_BY_CLASS)
    coarse = min(axis.bins, most)
    joined = np.arange(axis.bins) * coarse // axis.bins
    return np.append(joined, coarse) if axis.nullable else joined


def _joined_values(axis: ListAxis, most: int) -> NDArray[np.int64]:
    """Return a cell for each value of a list: its own, or that of its neighbours too."""
    return np.arange(axis.size) * min(axis.size, most) // axis.size


def _coarser(axis: NumberAxis | ListAxis, groups: NDArray[np.int64]) -> NumberAxis | ListAxis:
    if isinstance(axis, ListAxis):
        return replace(axis, groups=tuple(groups.tolist()))
    begins = np.flatnonzero(np.diff(groups[: axis.bins])) + 1
    cuts, edges = np.array(axis.cuts), np.array(axis.edges)
    return NumberAxis(
        axis.name,
        axis.place,
        tuple(cuts[begins - 1].tolist()),
        (axis.edges[0], *edges[begins].tolist(), axis.edges[-1]),
        axis.nullable,
    )
