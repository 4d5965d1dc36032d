"""Weights of a pool of rows, fitted to noisy counts: arithmetic on what is public already.

A measurement counts rows by cell: a table of a column, or the votes of a round. With weights `w`,
a pool predicts for each cell the weights of its rows, counted as often as they fall into it. The
fit looks for the least

    1/2 * sum over cells of precision * (target - predicted)^2
        + pull * sum over rows of w * (log w - 1 - even)

which is least squares, held back by the entropy of the weights relative to even ones. It is convex
in the weights and, with a pull above 0, has a single minimum. There, for each row,

    sum over its cells of precision * (target - predicted) = pull * (log w - even)

A step moves all logarithms at once, each by the difference of these two sides divided by
`sum of precision * predicted + pull`, and by no more than 1.

No step raises the sum above. After a step to weights `w'`, the count of a cell is an average of
`predicted * w' / w` over its rows, in proportion to what they added before. By convexity the
squared error is at most the same average of squared errors, and equal to it where nothing moves.
Bounded so, each row stands alone. With `a` for the divisor without the pull, `g` for the
difference, and a weight that grows by the factor r = e^s, its part, divided by its weight, changes
by

    -g * (r - 1) + a * (r - 1)^2 / 2 + pull * (r * s - r + 1)

For the step s = g / (a + pull) this is a * (r - 1) * ((r - 1) / 2 - s) + pull * (s + 1 - r), which
is nowhere above 0 as long as e^s - 1 is at most 2s: up to s = 1.256, hence the limit of 1. A step
that is cut to it has a larger g of the same sign, which lowers the change still more. The pull
keeps weights away from 0, so the steps end at the minimum. How many it takes is known from trials
alone: sums over many rows settle soon, and differences of rows that few measurements tell apart
settle late. Some tens of steps stop well before, with weights more even than at the minimum.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tabpe import _native
from tabpe.search.nearest import LAYOUT

LONGEST_STEP = 1.0

Cells = NDArray[np.int32]
Numbers = NDArray[np.float64]


def fitted(
    cells: Cells,
    targets: Numbers,
    precisions: Numbers,
    log_weights: Numbers,
    *,
    even: float,
    pull: float,
    steps: int,
) -> Numbers:
    """Return the logarithms of the weights after some steps towards the noisy counts.

    Args:
        cells: A row for each row of the pool: the places in `targets` of the cells that it falls
            into. All have equally many; cells without precision fill up.
        targets: Noisy counts of the cells of all measurements, one after the other.
        precisions: One over the variance of each; 0 for a cell that says nothing.
        log_weights: Where to begin; left as they are.
        even: What the logarithms are pulled to.
        pull: How strongly; above 0.
        steps: How many steps to take.

    Example:
        >>> cells = np.array([[0, 2], [0, 3], [1, 3]], dtype=np.int32)
        >>> targets = np.array([30.0, 10.0, 20.0, 20.0])
        >>> found = fitted(cells, targets, np.ones(4), np.zeros(3), even=2.5, pull=1e-6, steps=200)
        >>> np.exp(found).round(3)
        array([20., 10., 10.])
    """
    cells = np.require(cells, np.int32, LAYOUT)
    found = np.array(log_weights, dtype=np.float64)
    for _ in range(steps):
        predicted = scatter(cells, np.exp(found), len(targets))
        residuals = (targets - predicted) * precisions
        curvatures = predicted * precisions
        slope, curvature = gather(cells, np.stack([residuals, curvatures], axis=1)).T
        step = (slope - pull * (found - even)) / (curvature + pull)
        found += np.clip(step, -LONGEST_STEP, LONGEST_STEP)
    return found


def scatter(cells: Cells, weights: Numbers, size: int) -> Numbers:
    """Return the sum of the weights in each of `size` cells, added row by row, left to right.

    Example:
        >>> scatter(np.array([[0, 2], [2, 2]], dtype=np.int32), np.array([1.0, 5.0]), 3)
        array([ 1.,  0., 11.])
    """
    if _native.search is not None:
        sums: Numbers = _native.search.scatter(cells, weights, size)
        return sums
    _check_cells(cells, size)
    each = np.repeat(weights, cells.shape[1])
    return np.bincount(cells.ravel(), weights=each, minlength=size).astype(np.float64, copy=False)


def gather(cells: Cells, values: Numbers) -> Numbers:
    """Return for each row the sums of both values of its cells, added left to right.

    Example:
        >>> values = np.array([[1.0, 0.1], [2.0, 0.2], [4.0, 0.4]])
        >>> gather(np.array([[0, 2], [1, 1]], dtype=np.int32), values)
        array([[5. , 0.5],
               [4. , 0.4]])
    """
    if _native.search is not None:
        found: Numbers = _native.search.gather(cells, values)
        return found
    _check_cells(cells, len(values))
    sums = np.zeros((len(cells), 2))
    for column in cells.T:
        sums += values[column]
    return sums


def _check_cells(cells: Cells, size: int) -> None:
    if cells.size and not 0 <= cells.min() <= cells.max() < size:
        raise ValueError("cells: expected places from 0 to below the number of cells.")
