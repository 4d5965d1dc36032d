"""Columns of two tables as axes of one space, and the distance of rows in it.

`codes`, as the paper's authors do: a category is its place in the list of names, scaled to [0, 1],
and all columns are numbers. Neighbours in the list are close, whatever they mean.

`mismatch`: a category that differs costs 1. The distance of two rows is the square root of the sum
of squared differences of scaled numbers and of the number of categories that differ: Euclidean
distance, with each category one-hot and divided by the square root of 2. A null is a category like
any other, and a number is 1 away from a null. So that this is a metric, numbers are never further
apart than 2, by way of a null; only numbers far beyond their bounds are. Each column is then a
metric by itself, and so is the Euclidean norm of their distances.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tabpe.metrics.joint import Digits
from tabpe.metrics.view import Cells, Labels, Numbers, View

_FURTHEST = 2.0


@dataclass(frozen=True, eq=False)
class Axis:
    """A column of two tables, one after the other.

    Args:
        positions: Where the cell of each row is; NaN for a null. Codes of names on a `nominal` one.
        digits: The same number for the same cell.
        nominal: Whether cells either differ or not.
        bent: Whether a null or a number far out makes the way between two cells shorter than the
            difference of their positions.
    """

    positions: NDArray[np.float64]
    digits: Digits
    nominal: bool = False
    bent: bool = False

    @property
    def straight(self) -> bool:
        """Whether distances are differences of positions."""
        return not (self.nominal or self.bent)


def axes_of(real: View, synthetic: View, categories: str) -> tuple[Axis, ...]:
    """Return the columns of two tables as axes, for `codes` or `mismatch`."""
    make = _by_code if categories == "codes" else _by_mismatch
    return tuple(make(one, two) for one, two in zip(real, synthetic, strict=True))


def distances(
    axes: Sequence[Axis], some: NDArray[np.int64], others: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the distance of each of some rows from each of others."""
    from scipy.spatial.distance import cdist

    straight = [axis for axis in axes if axis.straight]
    if len(straight) == len(axes):
        return np.asarray(cdist(_points(axes, some), _points(axes, others)))
    squared = np.zeros((len(some), len(others)))
    if straight:
        squared += cdist(_points(straight, some), _points(straight, others), "sqeuclidean")
    for axis in axes:
        if not axis.straight:
            squared += _apart(axis, some, others)
    return np.sqrt(squared, out=squared)


def _points(axes: Sequence[Axis], rows: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.stack([axis.positions[rows] for axis in axes], axis=1)


def _apart(
    axis: Axis, some: NDArray[np.int64], others: NDArray[np.int64]
) -> NDArray[np.float64] | NDArray[np.bool_]:
    if axis.nominal:
        differ: NDArray[np.bool_] = np.not_equal.outer(
            axis.digits.values[some], axis.digits.values[others]
        )
        return differ
    one, two = axis.positions[some], axis.positions[others]
    gap = np.minimum(np.abs(np.subtract.outer(one, two)), _FURTHEST)
    here, there = np.isnan(one), np.isnan(two)
    gap[here] = gap[:, there] = 1.0
    gap[np.ix_(here, there)] = 0.0
    return np.square(gap)


def _by_code(real: Cells, synthetic: Cells) -> Axis:
    positions = np.concatenate([_on_line(real), _on_line(synthetic)])
    return Axis(positions, Digits.of_distinct(positions))


def _on_line(cells: Cells) -> NDArray[np.float64]:
    if isinstance(cells, Numbers):
        return cells.scaled
    last = max(1, len(cells.names) - 1)
    return np.where(cells.missing, np.nan, cells.codes / last)


def _by_mismatch(real: Cells, synthetic: Cells) -> Axis:
    if isinstance(real, Labels) and isinstance(synthetic, Labels):
        codes = np.concatenate([real.codes, synthetic.codes])
        return Axis(codes.astype(np.float64), Digits.of_distinct(codes), nominal=True)
    line = _by_code(real, synthetic)
    highest = line.positions.max(initial=0.0)
    lowest = line.positions.min(initial=0.0)
    # With a null the comparison is false. To call a straight axis bent costs time, no more.
    return Axis(line.positions, line.digits, bent=not highest - lowest <= _FURTHEST)
