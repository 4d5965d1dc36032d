"""What was measured, as evidence about weighted rows: noisy counts, and who counts where.

A measurement is a list of noisy counts of cells. Every row, private or made up, falls into a few of
these cells by a public rule. So made-up rows with weights predict the counts, and weights can be
fitted to them (`tabpe.evolve.fit`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tabpe.encode import Records
from tabpe.evolve.fit import Cells, Counted
from tabpe.evolve.guide import Table
from tabpe.search import index

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows that were made up, class by class.

    Args:
        plain: The rows.
        seen: The same with their numbers where distances are measured, in float32.
        classes: The class of each, ascending.
    """

    plain: Records
    seen: Records
    classes: Whole

    def __len__(self) -> int:
        return len(self.classes)

    def take(self, which: NDArray[np.int64]) -> Rows:
        """Return the rows at the given places, which ascend."""
        return Rows(self.plain.take(which), self.seen.take(which), self.classes[which])


@dataclass(frozen=True, eq=False)
class Measurement:
    """Noisy counts of cells.

    Args:
        counts: The counts, in rows. The last one is of a cell without a meaning, for rows that
            fall into fewer cells than others.
        precisions: One over the variance of the noise on each; 0 for the last.
        cells: Returns the cells that rows fall into: a line for each, a place in it for each row.
    """

    counts: Floats
    precisions: Floats
    cells: Callable[[Rows], Cells]

    def of(self, cells: Cells) -> Counted:
        """Return the counts with the cells of some rows."""
        return Counted(cells, self.counts, self.precisions)


def of_table(table: Table) -> Measurement:
    """Return a table of columns as evidence; a row falls into one of its cells."""
    return Measurement(
        np.append(table.counts.ravel(), 0.0),
        _precisions(table.counts.size, table.sigma),
        lambda rows: table.marginal.cells(rows.plain, rows.classes)[None].astype(np.int32),
    )


def of_votes(
    candidates: Sequence[Records],
    votes: Floats,
    sigma: float,
    *,
    each: int,
    category_weight: float,
    jobs: int = 1,
) -> Measurement:
    """Return votes as evidence: a row falls into the cells of its nearest candidates.

    Args:
        candidates: The candidates of each class, all different, where distances are measured.
        votes: The noisy votes for all of them.
        sigma: The noise on each, in rows.
        each: For how many a row votes; for all of its class if there are fewer.
        category_weight: What one differing category adds to a squared distance.
        jobs: Threads that look for the nearest.
    """
    ends = np.cumsum([0, *map(len, candidates)])
    found = [index(part, category_weight, jobs=jobs) if len(part) else None for part in candidates]

    def cells(rows: Rows) -> Cells:
        voted = np.full((each, len(rows)), ends[-1], dtype=np.int32)
        places = np.searchsorted(rows.classes, np.arange(len(candidates) + 1))
        for label, one in enumerate(found):
            mine = slice(places[label], places[label + 1])
            k = min(each, len(candidates[label]))
            if one is not None and mine.start < mine.stop:
                seen = Records(rows.seen.numbers[mine], rows.seen.codes[mine])
                voted[:k, mine] = ends[label] + one.nearest(seen, k).T
        return voted

    return Measurement(np.append(votes, 0.0), _precisions(len(votes), sigma), cells)


@dataclass(frozen=True, eq=False)
class Evidence:
    """All measurements, and where the rows of a pool fall in them.

    Args:
        measurements: The measurements.
        cells: The cells of the rows in each.
    """

    measurements: tuple[Measurement, ...]
    cells: tuple[Cells, ...]

    @staticmethod
    def about(rows: Rows, measurements: Sequence[Measurement]) -> Evidence:
        """Return measurements with the cells of some rows."""
        return Evidence(tuple(measurements), tuple(one.cells(rows) for one in measurements))

    @property
    def counted(self) -> list[Counted]:
        """All counts with the cells of the rows."""
        return [one.of(cells) for one, cells in zip(self.measurements, self.cells, strict=True)]

    def moved(self, rows: Rows, origins: Whole, moves: NDArray[np.bool_]) -> Evidence:
        """Return the same about other rows.

        Args:
            rows: The rows.
            origins: The row that each one was before.
            moves: Which of them are not where they were before.
        """
        where = np.flatnonzero(moves)
        fresh = rows.take(where)
        moved = []
        for one, before in zip(self.measurements, self.cells, strict=True):
            cells = np.take(before, origins, axis=1)
            cells[:, where] = one.cells(fresh)
            moved.append(cells)
        return Evidence(self.measurements, tuple(moved))

    def with_more(self, measurement: Measurement, rows: Rows) -> Evidence:
        """Return all of it and one more measurement."""
        more = measurement.cells(rows)
        return Evidence((*self.measurements, measurement), (*self.cells, more))


def _precisions(cells: int, sigma: float) -> Floats:
    return np.append(np.full(cells, sigma**-2.0), 0.0)
