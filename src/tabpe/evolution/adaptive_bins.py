"""Cells that follow noisy counts: which public points are atoms, and finer bins where rows are.

The marginals of all rows have bins of equal width, and perhaps a cell for each public point. What
they say decides in which cells rows are counted next, by class: a point is an atom if clearly more
rows are there than at its neighbours, and bins are split or joined until each has about as many
rows as any other. Where they split a bin, the second counts say how its rows are divided.

Privacy: all of it follows from noisy counts. A row still falls into exactly one cell of a marginal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tabpe.encoding import RecordSpace
from tabpe.encoding.atoms import Atoms
from tabpe.encoding.marginals import ListAxis, Marginal, NumberAxis
from tabpe.evolution.marginal_prior import (
    ABOVE_NOISE,
    MarginalBins,
    NoisyMarginal,
    coarsen_axis,
    group_cells,
    project_counts,
)

# The rows at an atom are beyond so many times the noise on them, at least this part of all rows,
# and so many times what a value beside it has.
_SIGMAS, _LEAST_SHARE, _TIMES_OTHERS = 4.0, 0.01, 3.0
MOST_ADAPTED, _FEWEST_ADAPTED = 128, 4

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
Axis = NumberAxis | ListAxis


@dataclass(frozen=True, eq=False)
class AdaptedBins:
    """Cells for the second counts, and how they relate to the first ones.

    Args:
        bins: The cells; the fine ones are those of the first counts, split where the second are.
        parents: For each column the cell of the first counts that each fine cell is part of.
        counts: For each column the first counts, without points that are no atoms.
    """

    bins: MarginalBins
    parents: tuple[Whole, ...]
    counts: tuple[Floats, ...]

    @property
    def second(self) -> list[Marginal]:
        """The marginals that are counted next: by class, if there are classes."""
        if self.bins.classes is not None:
            return self.bins.by_class
        return [Marginal((axis,)) for axis in self.bins.coarse]

    def split_counts(self, second: Sequence[NoisyMarginal]) -> list[Floats]:
        """Return the counts of the fine cells, by the first counts and the second ones."""
        found = []
        for index, groups in enumerate(self.bins.groups):
            totals = second[index].counts
            totals = totals.sum(axis=0) if self.bins.classes is not None else totals
            parents, counts = self.parents[index], self.counts[index]
            held = np.maximum(totals, 0.0)[groups]
            inside = np.bincount(parents, held, minlength=len(counts))[parents]
            pieces = np.bincount(parents, minlength=len(counts))[parents]
            part = np.where(inside > 0, held / np.where(inside > 0, inside, 1.0), 1.0 / pieces)
            found.append(counts[parents] * np.where(pieces > 1, part, 1.0))
        return found


def adapt_bins(
    bins: MarginalBins,
    overall: Sequence[NoisyMarginal],
    space: RecordSpace,
    declared: Atoms,
    *,
    rows: float,
    even_mass: bool,
) -> AdaptedBins:
    """Return cells for the second counts, by the first ones.

    Args:
        bins: The cells of the first counts.
        overall: The first counts, one marginal a column.
        space: Where rows lie.
        declared: The special values of each numeric column, which are atoms in any case.
        rows: The number of rows, declared or noisy.
        even_mass: Whether bins are split and joined to have about equally many rows.
    """
    classes = bins.classes.size if bins.classes is not None else 1
    parts: list[tuple[Axis, Axis, Whole, Whole, Floats]] = []
    for axis, coarse, groups, first in zip(
        bins.fine, bins.coarse, bins.groups, overall, strict=True
    ):
        if isinstance(axis, ListAxis):
            parts.append((axis, coarse, groups, np.arange(axis.size), first.counts))
            continue
        steps = float(space.steps[axis.index])
        kept, counts = _select_atoms(axis, first, steps, declared[axis.index], rows)
        most = rows / (ABOVE_NOISE * first.sigma * classes)
        if even_mass and axis.cuts:
            parts.append((*_split_and_join(kept, counts, steps, most), counts))
        else:
            same = group_cells(kept, coarse.size - (axis.size - axis.bins))
            joined = coarsen_axis(kept, same)
            parts.append((kept, joined, same, np.arange(kept.size), counts))
    cells = MarginalBins(
        tuple(part[0] for part in parts),
        tuple(part[1] for part in parts),
        tuple(part[2] for part in parts),
        bins.classes,
    )
    return AdaptedBins(cells, tuple(part[3] for part in parts), tuple(part[4] for part in parts))


def _select_atoms(
    axis: NumberAxis, first: NoisyMarginal, steps: float, declared: Sequence[float], rows: float
) -> tuple[NumberAxis, Floats]:
    """Return an axis with the points that are atoms, and its counts.

    Example:
        >>> axis = NumberAxis("x", 0, (0.5,), (0.0, 5.0, 10.0), atoms=(0.0, 0.5))
        >>> counts = np.array([40.0, 50.0, 900.0, 2.0])
        >>> first = NoisyMarginal(Marginal((axis,)), counts, 10.0)
        >>> found, left = _select_atoms(axis, first, 0.0, (), 992.0)
        >>> found.atoms, left
        ((0.0,), array([ 40.,  52., 900.]))
    """
    plain = axis.bins + axis.nullable
    ends = np.array([0.0, *axis.cuts, 1.0])
    places = np.array(axis.atoms)
    home = np.searchsorted(np.array(axis.cuts), places, side="right")
    held = first.counts[plain:]
    usual = first.counts[home] / np.maximum(np.diff(ends)[home] * steps, 1.0) if steps else 0.0
    least = max(_SIGMAS * first.sigma, _LEAST_SHARE * rows)
    are = (held > least) & (held > _TIMES_OTHERS * usual) | np.isin(places, np.array(declared))
    counts = first.counts[:plain].copy()
    counts += np.bincount(home[~are], held[~are], minlength=plain)
    kept = replace(axis, atoms=tuple(places[are].tolist()))
    return kept, np.append(counts, held[are])


def _split_and_join(
    axis: NumberAxis, counts: Floats, steps: float, most: float
) -> tuple[NumberAxis, NumberAxis, Whole, Whole]:
    """Return fine cells, cells of about equal mass, the group of each fine cell, and its parent."""
    likely = project_counts(counts, max(float(counts.sum()), 1.0))[: axis.bins]
    bins = int(min(max(most, _FEWEST_ADAPTED), MOST_ADAPTED))
    joined = _choose_cuts(axis, likely, max(float(likely.sum()), 1.0) / bins, steps)
    fine = sorted({*axis.cuts, *joined})
    begins = np.array([0.0, *fine])
    own = np.arange(axis.size - axis.bins)
    groups = np.searchsorted(np.array(joined), begins, side="right")
    parents = np.searchsorted(np.array(axis.cuts), begins, side="right")
    return (
        _cut_axis(axis, fine),
        _cut_axis(axis, joined),
        np.append(groups, len(joined) + 1 + own),
        np.append(parents, axis.bins + own),
    )


def _choose_cuts(axis: NumberAxis, counts: Floats, wanted: float, steps: float) -> list[float]:
    """Return cuts between which about `wanted` rows lie, as far as the grid allows it."""
    cuts: list[float] = []
    held = 0.0
    for rows, (low, high) in zip(counts, pairwise([0.0, *axis.cuts, 1.0]), strict=True):
        parts = int(rows / wanted)
        if parts > 1:
            inner = np.linspace(low, high, parts + 1)[1:-1]
            if steps:
                inner = np.unique((np.floor(inner * steps) + 0.5) / steps)
                inner = inner[(inner > low) & (inner < high)]
            cuts += [low, *inner.tolist(), high]
            held = 0.0
        else:
            held += rows
            if held >= wanted:
                cuts.append(high)
                held = 0.0
    return sorted({cut for cut in cuts if 0 < cut < 1})


def _cut_axis(axis: NumberAxis, cuts: Sequence[float]) -> NumberAxis:
    ends = [0.0, *axis.cuts, 1.0]
    edges = np.interp([0.0, *cuts, 1.0], ends, axis.edges)
    return replace(axis, cuts=tuple(cuts), edges=tuple(edges.tolist()))
