"""Noisy tables of counts that overlap, made to agree: PrivSyn's post-processing.

Two marginals that share attributes say the same thing twice, each with noise of its own. The better
estimate is the average of both, weighted by how much noise each has in it; and a count below zero
is noise for certain.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tabpe.baselines.domain import Clique, Floats
from tabpe.baselines.markov import Measured

# In rows: what is this little below zero counts as zero.
_HARDLY = 0.01


def consistent(tables: Sequence[Measured], *, rounds: int = 501) -> list[Floats]:
    """Return the counts of tables that agree where they overlap, none below zero.

    Agreement and counts above zero disturb each other, so they are made in turns, until both hold
    to a hundredth of a row or the rounds are over. The last word has the sign.

    Args:
        tables: Noisy counts of the same rows.
        rounds: The most turns.

    Example:
        >>> by_age = Measured((0,), np.array([6.0, 4.0]), sigma=1.0)
        >>> by_both = Measured((0, 1), np.array([[3.0, 5.0], [1.0, 1.0]]), sigma=1.0)
        >>> alone, both = consistent([by_age, by_both])
        >>> bool(np.allclose(alone, both.sum(axis=1))), round(float(alone.sum()), 6)
        (True, 10.0)
    """
    overlaps = _overlaps(tables)
    counts = [table.counts.astype(np.float64) for table in tables]
    for _ in range(rounds):
        for overlap in overlaps:
            overlap.agree(counts)
        if all(float(some.min()) >= -_HARDLY for some in counts):
            break
        counts = [norm_sub(some, max(float(some.sum()), 1.0)) for some in counts]
    return [np.maximum(some, 0.0) for some in counts]


def norm_sub(counts: Floats, total: float) -> Floats:
    """Return the closest counts (in squares) that are at least zero and have a sum.

    The same number is taken from every count, and what falls below zero is zero.

    Args:
        counts: Noisy counts.
        total: What they should add up to, above zero.

    Example:
        >>> norm_sub(np.array([5.0, 3.0, -2.0]), total=6.0)
        array([4., 2., 0.])
    """
    falling = np.sort(counts, axis=None)[::-1]
    taken = (np.cumsum(falling) - total) / np.arange(1, counts.size + 1)
    last = int(np.flatnonzero(falling > taken)[-1])
    closest: Floats = np.maximum(counts - taken[last], 0.0)
    return closest


def shared_parts(cliques: Sequence[Clique]) -> list[Clique]:
    """Return what any of the cliques have in common, smaller parts first.

    With every two parts their own common part is among them. So tables that agree on the parts
    before still do after they are made to agree on the next.

    Example:
        >>> shared_parts([(0, 1), (1, 2), (1,)])
        [(), (1,)]
    """
    closed: set[frozenset[int]] = {frozenset()}
    sets = [frozenset(clique) for clique in cliques]
    for one in sets:
        closed |= {one & part for part in closed} | {one}
    common = [part for part in closed if sum(part <= one for one in sets) > 1 or not part]
    return sorted((tuple(sorted(part)) for part in common), key=lambda part: (len(part), part))


@dataclass(frozen=True)
class _Side:
    """How one table takes part in an overlap: the axes summed away, and how many cells they are."""

    table: int
    axes: tuple[int, ...]
    spread: int
    weight: float


@dataclass(frozen=True)
class _Overlap:
    """Attributes that several tables have in common."""

    sides: tuple[_Side, ...]

    def agree(self, counts: list[Floats]) -> None:
        """Move all tables to the average of what they say about the common attributes."""
        said = [counts[side.table].sum(axis=side.axes) for side in self.sides]
        whole = sum(side.weight for side in self.sides)
        average = sum(
            (side.weight / whole) * one for side, one in zip(self.sides, said, strict=True)
        )
        for side, one in zip(self.sides, said, strict=True):
            counts[side.table] = counts[side.table] + np.expand_dims(
                (average - one) / side.spread, side.axes
            )


def _overlaps(tables: Sequence[Measured]) -> list[_Overlap]:
    """Return the overlaps of tables in the order in which they can be made to agree."""
    parts = shared_parts([table.clique for table in tables])
    return [
        _Overlap(
            tuple(
                _side(place, table, part)
                for place, table in enumerate(tables)
                if set(part) <= set(table.clique)
            )
        )
        for part in parts
    ]


def _side(place: int, table: Measured, part: Clique) -> _Side:
    """Return how a table takes part; a sum of many noisy cells weighs little."""
    axes = tuple(axis for axis, one in enumerate(table.clique) if one not in part)
    spread = math.prod(table.counts.shape[axis] for axis in axes)
    return _Side(place, axes, spread, 1.0 / (spread * table.sigma**2))
