"""`Forest`: a graphical model as a forest of cliques, to take marginals of and to draw rows from.

Neighbours in the forest agree about the attributes that they share, so the whole is made of parts:
the share of a cell is that of a first clique, times those of its neighbours given what they share.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tabpe.baselines.domain import Clique, Codes, Floats

_Factor = tuple[Clique, Floats]


@dataclass(frozen=True, eq=False)
class Forest:
    """Cliques whose marginals agree with each other.

    Args:
        sizes: The number of cells of each attribute.
        cliques: Sets of attributes, each in ascending order. The attributes that a clique shares
            with any earlier one it shares with its parent.
        parents: The place of the parent of each clique, which is an earlier one; None for roots.
        shares: Which part of all rows is in each cell of each clique.

    Example:
        >>> ill_by_ward = np.array([[0.1, 0.4], [0.3, 0.2]])
        >>> age_by_ill = np.array([[0.3, 0.1], [0.0, 0.6]])
        >>> forest = Forest((2, 2, 2), ((0, 1), (1, 2)), (None, 0), (ill_by_ward, age_by_ill))
        >>> forest.marginal((0, 2)).round(3)
        array([[0.075, 0.425],
               [0.225, 0.275]])
        >>> forest.sample(4, np.random.default_rng(0)).shape
        (4, 3)
    """

    sizes: tuple[int, ...]
    cliques: tuple[Clique, ...]
    parents: tuple[int | None, ...]
    shares: tuple[Floats, ...]

    def marginal(self, clique: Clique) -> Floats:
        """Return which part of all rows is in each cell of some attributes, in their shape."""
        wanted, parts = set(clique), []
        while wanted:
            part = self._gathered(self._place(wanted), None, frozenset(wanted))
            if part is None:  # pragma: no cover - the first place has a wanted attribute
                break
            parts.append(part)
            wanted -= set(part[0])
        return _product(parts, clique)

    def sample(self, size: int, rng: np.random.Generator) -> Codes:
        """Return rows whose marginals are those of the cliques, but for rounding.

        Among rows that agree about what a clique shares with its parent, each cell of the clique
        gets its share of them, rounded up or down at random.

        Args:
            size: The number of rows.
            rng: The randomness.
        """
        codes = np.zeros((size, len(self.sizes)), dtype=np.int64)
        for place, clique in enumerate(self.cliques):
            shared = self._shared(place, self.parents[place])
            new = tuple(a for a in clique if a not in shared)
            if not new:
                continue
            table = self._projected(place, shared + new)
            groups = _raveled(codes, shared, self.sizes)
            cells = _spread(table.reshape(-1, math.prod(self._shape(new))), groups, rng)
            codes[:, new] = np.stack(np.unravel_index(cells, self._shape(new)), axis=1)
        return codes

    @cached_property
    def _neighbours(self) -> tuple[tuple[int, ...], ...]:
        found: list[list[int]] = [[] for _ in self.cliques]
        for place, parent in enumerate(self.parents):
            if parent is not None:
                found[place].append(parent)
                found[parent].append(place)
        return tuple(tuple(places) for places in found)

    def _place(self, wanted: set[int]) -> int:
        """Return the clique that has most of the wanted attributes, the smallest of them."""
        return min(
            range(len(self.cliques)),
            key=lambda place: (-len(wanted & set(self.cliques[place])), self.shares[place].size),
        )

    def _gathered(self, place: int, origin: int | None, wanted: frozenset[int]) -> _Factor | None:
        """Return all that a branch says about wanted attributes, given what it shares.

        None if it has none but those that it shares with where it is seen from.
        """
        shared = self._shared(place, origin)
        branches = [
            branch
            for other in self._neighbours[place]
            if other != origin and (branch := self._gathered(other, place, wanted)) is not None
        ]
        own = {a for a in self.cliques[place] if a in wanted and a not in shared}
        if not branches and not own:
            return None
        told = own.union(*(set(attributes) for attributes, _ in branches))
        needed = tuple(a for a in self.cliques[place] if a in told or a in shared)
        kept = tuple(sorted(set(shared) | (told & wanted)))
        return kept, _product([(needed, self._given(place, shared, needed)), *branches], kept)

    def _given(self, place: int, shared: Clique, needed: Clique) -> Floats:
        """Return the shares of needed attributes of a clique, given those that are shared."""
        table = self._projected(place, shared + tuple(a for a in needed if a not in shared))
        if shared:
            whole = table.sum(axis=tuple(range(len(shared), table.ndim)), keepdims=True)
            table = np.divide(table, whole, out=np.zeros_like(table), where=whole > 0)
        order = shared + tuple(a for a in needed if a not in shared)
        return table.transpose([order.index(a) for a in needed])

    def _projected(self, place: int, attributes: Clique) -> Floats:
        """Return the shares of some attributes of one clique, in the order that is asked for."""
        own = self.cliques[place]
        others = tuple(axis for axis, a in enumerate(own) if a not in attributes)
        kept = [a for a in own if a in attributes]
        summed: Floats = self.shares[place].sum(axis=others) if others else self.shares[place]
        return summed.transpose([kept.index(a) for a in attributes])

    def _shared(self, place: int, other: int | None) -> Clique:
        if other is None:
            return ()
        return tuple(a for a in self.cliques[place] if a in self.cliques[other])

    def _shape(self, clique: Clique) -> tuple[int, ...]:
        return tuple(self.sizes[a] for a in clique)


def _product(factors: Sequence[_Factor], kept: Clique) -> Floats:
    """Return the product of some factors, summed over all attributes but those that are kept."""
    if not factors:
        return np.ones(())
    letters: dict[int, int] = {}
    for attributes, _ in factors:
        for attribute in attributes:
            letters.setdefault(attribute, len(letters))
    operands: list[object] = []
    for attributes, values in factors:
        operands += [values, [letters[a] for a in attributes]]
    found: Floats = np.einsum(
        *operands,  # type: ignore[call-overload]
        [letters[a] for a in kept],
        optimize=len(factors) > 1,
    )
    return found


def _raveled(codes: Codes, attributes: Clique, sizes: Sequence[int]) -> NDArray[np.int64]:
    """Return the cell of each row in the table of some attributes; 0 without any."""
    cells = np.zeros(len(codes), dtype=np.int64)
    for attribute in attributes:
        cells = cells * sizes[attribute] + codes[:, attribute]
    return cells


def _spread(
    table: Floats, groups: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return a cell for each row, so that the rows of a group are spread by a row of the table."""
    used, group, counts = np.unique(groups, return_inverse=True, return_counts=True)
    sums = np.cumsum(table[used], axis=1)
    # A group without any share has no cells to prefer.
    sums[sums[:, -1] <= 0] = np.arange(1, table.shape[1] + 1)
    steps = sums / sums[:, -1:] + np.arange(len(used))[:, None]
    shuffled = rng.permutation(len(groups))
    order = shuffled[np.argsort(group[shuffled], kind="stable")]
    rank = np.empty(len(groups))
    rank[order] = np.arange(len(groups)) - np.repeat(np.cumsum(counts) - counts, counts)
    place = group + (rank + rng.random(len(groups))) / counts[group]
    cells = np.searchsorted(steps.ravel(), place, side="right") - group * table.shape[1]
    inside: NDArray[np.int64] = np.clip(cells, 0, table.shape[1] - 1)
    return inside
