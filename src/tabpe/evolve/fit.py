"""Weights of a pool of rows, fitted to noisy counts: arithmetic on what is public already.

A measurement counts rows by cell: a table of columns, or the votes of a round. With weights `w`, a
pool predicts for each cell the weights of its rows, counted as often as they fall into it. The fit
looks for the least

    1/2 * sum over cells of precision * (target - predicted)^2
        + pull * sum over rows of w * (log w - 1 - even)

which is least squares, held back by the entropy of the weights relative to even ones. It is convex
in the weights and, with a pull above 0, has a single minimum. There each cell has a multiplier with

    log w = even + sum of the multipliers of its cells, for each row
    pull * multiplier = precision * (target - predicted), for each cell

So it is enough to look for the multipliers, which belong to the greatest value of the dual

    sum over cells of (target * multiplier - pull / precision * multiplier^2 / 2) - sum of all w

A sweep goes through the measurements, and moves all multipliers of one of them at a time, by

    (precision * (target - predicted) - pull * multiplier) / (pull + width * precision * predicted)

and by no more than 1 / width, where a row falls into `width` of its cells. For a table, where width
is 1, that is iterative proportional fitting with a regard for noise. Many tables are met to within
their noise after some ten sweeps, where steps that move all of them together would have to be as
much shorter as there are tables. The minimum itself is further off: which of two counts has more
precision shows only as multipliers grow towards it.

No step lowers the dual. The weight of a row changes by e to the sum of the steps `s` of its cells,
which by convexity is at most the mean of e^(width * s) over these. Bounded so, each cell stands
alone. With a = pull / precision and x = width * s, a cell adds at least

    a * s^2 / 2 + predicted / width * (x^2 + x + 1 - e^x)

to the dual, which is nowhere below 0 as long as x is at most 1.79: hence the limit. A step that is
cut to it would have to be longer, in the same direction, which adds still more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tabpe import _native
from tabpe.search.nearest import LAYOUT

LONGEST_STEP = 1.0

Cells = NDArray[np.int32]
Numbers = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Counted:
    """Noisy counts, and which of them each row of a pool adds to.

    Args:
        cells: The cells of each row: one line for each cell that a row falls into, and one place in
            it for each row. Cells without precision fill up.
        targets: The noisy count of each cell.
        precisions: One over the variance of each; 0 for a cell that says nothing.
    """

    cells: Cells
    targets: Numbers
    precisions: Numbers


def fitted(
    measured: Sequence[Counted], rows: int, *, even: float | Numbers, pull: float, sweeps: int
) -> Numbers:
    """Return the weights of rows after some sweeps through noisy counts, beginning with even ones.

    Args:
        measured: All that was measured, with the cells of the rows in it.
        rows: The number of rows.
        even: The logarithm of the weight that rows are pulled to; one for all, or for each.
        pull: How strongly; above 0.
        sweeps: How many sweeps to make.

    Example:
        >>> one = Counted(np.array([[0, 0, 1]], np.int32), np.array([30.0, 10.0]), np.ones(2))
        >>> other = Counted(np.array([[0, 1, 1]], np.int32), np.array([20.0, 20.0]), np.ones(2))
        >>> fitted([one, other], 3, even=2.5, pull=1e-6, sweeps=50).round(3)
        array([20., 10., 10.])
    """
    weights = np.full(rows, np.exp(even))
    multipliers = [np.zeros(len(each.targets)) for each in measured]
    for _ in range(sweeps):
        for place, each in enumerate(measured):
            predicted = scatter(each.cells, weights, len(each.targets))
            step = _step(each, predicted, multipliers[place], pull)
            multipliers[place] += step
            weights = scale(each.cells, weights, np.exp(step))
    return weights


def _step(each: Counted, predicted: Numbers, multiplier: Numbers, pull: float) -> Numbers:
    width = max(len(each.cells), 1)
    wanted = each.precisions * (each.targets - predicted) - pull * multiplier
    step = wanted / (pull + width * each.precisions * predicted)
    limit = LONGEST_STEP / width
    return np.clip(step, -limit, limit)


def scatter(cells: Cells, weights: Numbers, size: int) -> Numbers:
    """Return the sum of the weights in each of `size` cells, added line by line, left to right.

    Example:
        >>> scatter(np.array([[0, 2], [2, 2]], dtype=np.int32), np.array([1.0, 5.0]), 3)
        array([ 1.,  0., 11.])
    """
    cells = np.require(cells, np.int32, LAYOUT)
    if _native.search is not None:
        sums: Numbers = _native.search.scatter(cells, weights, size)
        return sums
    _check(cells, weights, size)
    each = np.tile(weights, len(cells))
    return np.bincount(cells.ravel(), weights=each, minlength=size).astype(np.float64, copy=False)


def scale(cells: Cells, weights: Numbers, factors: Numbers) -> Numbers:
    """Return the weight of each row times the factors of its cells, one after the other.

    Example:
        >>> cells = np.array([[0, 2], [2, 2]], dtype=np.int32)
        >>> scale(cells, np.array([1.0, 5.0]), np.array([2.0, 1.0, 3.0]))
        array([ 6., 45.])
    """
    cells = np.require(cells, np.int32, LAYOUT)
    if _native.search is not None:
        found: Numbers = _native.search.scale(cells, weights, factors)
        return found
    _check(cells, weights, len(factors))
    scaled = weights.copy()
    for line in cells:
        scaled *= factors[line]
    return scaled


def _check(cells: Cells, weights: Numbers, size: int) -> None:
    if weights.shape != cells.shape[1:]:
        raise ValueError("weights: expected one for each row of cells.")
    if cells.size and not 0 <= cells.min() <= cells.max() < size:
        raise ValueError("cells: expected places from 0 to below the number of cells.")
