"""Noisy counts as evidence about a pool of rows, and weights fitted to them.

A measurement counts rows by cell: a marginal, or the votes of a round. Every row, private or of the
pool, falls into a few of these cells by a public rule. With weights `w`, a pool predicts for each
cell the weights of its rows, counted as often as they fall into it. The fit minimises

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

and by no more than 1 / width, where a row falls into `width` of its cells. For a marginal, where
width is 1, that is iterative proportional fitting that accounts for noise. Many marginals are met
to within their noise after some ten sweeps, where steps that move all of them together would have
to be shorter by their number. The minimum itself is further off: which of two counts has more
precision shows only as multipliers grow towards it.

No step lowers the dual. The weight of a row changes by e to the sum of the steps `s` of its cells,
which by convexity is at most the mean of e^(width * s) over these. Bounded so, each cell stands
alone. With a = pull / precision and x = width * s, a cell adds at least

    a * s^2 / 2 + predicted / width * (x^2 + x + 1 - e^x)

to the dual, which is nowhere below 0 as long as x is at most 1.79: hence the limit. A step that is
cut to it would have to be longer, in the same direction, which adds still more.

Privacy: counts are noisy already; the fit is post-processing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tabpe import native
from tabpe.backends.nearest import LAYOUT, build_index
from tabpe.encoding import Records
from tabpe.evolution.marginal_prior import NoisyMarginal

LONGEST_STEP = 1.0

Cells = NDArray[np.int32]
Floats = NDArray[np.float64]
Whole = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class CellCounts:
    """Noisy counts, and which of them each row of a pool adds to.

    Args:
        cells: The cells of the rows, of shape (cells of a row, rows). Rows that fall into fewer
            cells are padded with cells without precision.
        targets: The noisy count of each cell.
        precisions: One over the variance of each; 0 for a padding cell.
    """

    cells: Cells
    targets: Floats
    precisions: Floats


def fit_weights(
    measured: Sequence[CellCounts], rows: int, *, even: float | Floats, pull: float, sweeps: int
) -> Floats:
    """Return the weights of rows after some sweeps through noisy counts.

    Args:
        measured: All measurements, with the cells of the rows.
        rows: The number of rows.
        even: The logarithm of the weight that rows start from and are pulled to; one for all, or
            for each.
        pull: How strongly; above 0.
        sweeps: The number of sweeps.

    Example:
        >>> one = CellCounts(np.array([[0, 0, 1]], np.int32), np.array([30.0, 10.0]), np.ones(2))
        >>> other = CellCounts(np.array([[0, 1, 1]], np.int32), np.array([20.0, 20.0]), np.ones(2))
        >>> fit_weights([one, other], 3, even=2.5, pull=1e-6, sweeps=50).round(3)
        array([20., 10., 10.])
    """
    weights = np.full(rows, np.exp(even))
    multipliers = [np.zeros(len(counts.targets)) for counts in measured]
    for _ in range(sweeps):
        for index, counts in enumerate(measured):
            predicted = sum_by_cell(counts.cells, weights, len(counts.targets))
            step = _compute_step(counts, predicted, multipliers[index], pull)
            multipliers[index] += step
            weights = scale_weights(counts.cells, weights, np.exp(step))
    return weights


def _compute_step(counts: CellCounts, predicted: Floats, multiplier: Floats, pull: float) -> Floats:
    width = max(len(counts.cells), 1)
    wanted = counts.precisions * (counts.targets - predicted) - pull * multiplier
    step = wanted / (pull + width * counts.precisions * predicted)
    limit = LONGEST_STEP / width
    return np.clip(step, -limit, limit)


def sum_by_cell(cells: Cells, weights: Floats, size: int) -> Floats:
    """Return the sum of the weights in each of `size` cells, added in C order.

    Example:
        >>> sum_by_cell(np.array([[0, 2], [2, 2]], dtype=np.int32), np.array([1.0, 5.0]), 3)
        array([ 1.,  0., 11.])
    """
    cells = np.require(cells, np.int32, LAYOUT)
    if native.search is not None:
        sums: Floats = native.search.scatter(cells, weights, size)
        return sums
    _check_cells(cells, weights, size)
    repeated = np.tile(weights, len(cells))
    found = np.bincount(cells.ravel(), weights=repeated, minlength=size)
    return found.astype(np.float64, copy=False)


def scale_weights(cells: Cells, weights: Floats, factors: Floats) -> Floats:
    """Return the weight of each row times the factors of its cells, in order.

    Example:
        >>> cells = np.array([[0, 2], [2, 2]], dtype=np.int32)
        >>> scale_weights(cells, np.array([1.0, 5.0]), np.array([2.0, 1.0, 3.0]))
        array([ 6., 45.])
    """
    cells = np.require(cells, np.int32, LAYOUT)
    if native.search is not None:
        found: Floats = native.search.scale(cells, weights, factors)
        return found
    _check_cells(cells, weights, len(factors))
    scaled = weights.copy()
    for line in cells:
        scaled *= factors[line]
    return scaled


def _check_cells(cells: Cells, weights: Floats, size: int) -> None:
    if weights.shape != cells.shape[1:]:
        raise ValueError("weights: expected one for each row of cells.")
    if cells.size and not 0 <= cells.min() <= cells.max() < size:
        raise ValueError("cells: expected indices from 0 to below the number of cells.")


@dataclass(frozen=True, eq=False)
class PoolRows:
    """The rows of a pool, class by class.

    Args:
        plain: The rows.
        in_voting_space: The rows in the space where distances are measured, in float32.
        classes: The class of each, ascending.
    """

    plain: Records
    in_voting_space: Records
    classes: Whole

    def __len__(self) -> int:
        return len(self.classes)

    def take(self, which: NDArray[np.int64]) -> PoolRows:
        """Return the rows at the given indices, which ascend."""
        return PoolRows(
            self.plain.take(which), self.in_voting_space.take(which), self.classes[which]
        )


@dataclass(frozen=True, eq=False)
class Measurement:
    """Noisy counts of cells.

    Args:
        counts: The counts, in rows. The last one is of a padding cell, for rows that fall into
            fewer cells than others.
        precisions: One over the variance of the noise on each; 0 for the last.
        cells: Returns the cells of rows, of shape (cells of a row, rows).
    """

    counts: Floats
    precisions: Floats
    cells: Callable[[PoolRows], Cells]

    def with_cells(self, cells: Cells) -> CellCounts:
        """Return the counts with the cells of some rows."""
        return CellCounts(cells, self.counts, self.precisions)


def build_table_evidence(table: NoisyMarginal) -> Measurement:
    """Return a marginal as evidence; a row falls into one of its cells."""
    return Measurement(
        np.append(table.counts.ravel(), 0.0),
        _compute_precisions(table.counts.size, table.sigma),
        lambda rows: table.marginal.find_cells(rows.plain, rows.classes)[None].astype(np.int32),
    )


def build_vote_evidence(
    candidates: Sequence[Records],
    votes: Floats,
    sigma: float,
    *,
    votes_per_row: int,
    category_weight: float,
    jobs: int = 1,
) -> Measurement:
    """Return votes as evidence: a row falls into the cells of its nearest candidates.

    Args:
        candidates: The distinct candidates of each class, in the voting space.
        votes: The noisy votes for all of them.
        sigma: The noise on each, in rows.
        votes_per_row: How many candidates a row votes for; all of its class if there are fewer.
        category_weight: What one differing category adds to a squared distance.
        jobs: Threads that search the nearest.
    """
    ends = np.cumsum([0, *map(len, candidates)])
    indices = [
        build_index(part, category_weight, jobs=jobs) if len(part) else None for part in candidates
    ]

    def cells(rows: PoolRows) -> Cells:
        voted = np.full((votes_per_row, len(rows)), ends[-1], dtype=np.int32)
        starts = np.searchsorted(rows.classes, np.arange(len(candidates) + 1))
        for label, index in enumerate(indices):
            mine = slice(starts[label], starts[label + 1])
            k = min(votes_per_row, len(candidates[label]))
            if index is not None and mine.start < mine.stop:
                numbers, codes = rows.in_voting_space.numbers, rows.in_voting_space.codes
                nearest = index.find_nearest(Records(numbers[mine], codes[mine]), k)
                voted[:k, mine] = ends[label] + nearest.T
        return voted

    return Measurement(np.append(votes, 0.0), _compute_precisions(len(votes), sigma), cells)


@dataclass(frozen=True, eq=False)
class Evidence:
    """All measurements, and the cells of the rows of a pool in them.

    Args:
        measurements: The measurements.
        cells: The cells of the rows in each.
    """

    measurements: tuple[Measurement, ...]
    cells: tuple[Cells, ...]

    @staticmethod
    def from_rows(rows: PoolRows, measurements: Sequence[Measurement]) -> Evidence:
        """Return measurements with the cells of some rows."""
        return Evidence(tuple(measurements), tuple(one.cells(rows) for one in measurements))

    @property
    def counted(self) -> list[CellCounts]:
        """All counts with the cells of the rows."""
        return [
            one.with_cells(cells) for one, cells in zip(self.measurements, self.cells, strict=True)
        ]

    def update_cells(self, rows: PoolRows, origins: Whole, moves: NDArray[np.bool_]) -> Evidence:
        """Return the same measurements with the cells of other rows.

        Args:
            rows: The rows.
            origins: The index of the row that each one was before.
            moves: Which of them changed since.
        """
        where = np.flatnonzero(moves)
        fresh = rows.take(where)
        moved = []
        for one, before in zip(self.measurements, self.cells, strict=True):
            cells = np.take(before, origins, axis=1)
            cells[:, where] = one.cells(fresh)
            moved.append(cells)
        return Evidence(self.measurements, tuple(moved))

    def add_measurement(self, measurement: Measurement, rows: PoolRows) -> Evidence:
        """Return the evidence with one more measurement."""
        more = measurement.cells(rows)
        return Evidence((*self.measurements, measurement), (*self.cells, more))


def _compute_precisions(cells: int, sigma: float) -> Floats:
    return np.append(np.full(cells, sigma**-2.0), 0.0)
