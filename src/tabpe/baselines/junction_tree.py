"""Junction trees: cliques, marginals and rows of a graphical model.

`CliqueForest`: a graphical model as a forest of cliques, to take marginals of and to draw rows
from.

Neighbours in the forest agree about the attributes that they share, so the whole is made of parts:
the share of a cell is that of a first clique, times those of its neighbours given what they share.

Junction trees: which cliques a graphical model needs, and how they hang together.

Attributes are taken out of the graph one by one, and the neighbours of each are joined before it
goes: it and they are a clique. Attributes whose neighbours are joined already go first, and after
that those with the smallest clique, which is a usual rule of thumb; the best order is hard to find.
Sets of attributes are whole numbers here, a bit for each.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tabpe.baselines.domain import Clique, Codes, Floats

_Factor = tuple[Clique, Floats]


@dataclass(frozen=True, eq=False)
class CliqueForest:
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
        >>> forest = CliqueForest((2, 2, 2), ((0, 1), (1, 2)), (None, 0), (ill_by_ward, age_by_ill))
        >>> forest.compute_marginal((0, 2)).round(3)
        array([[0.075, 0.425],
               [0.225, 0.275]])
        >>> forest.sample(4, np.random.default_rng(0)).shape
        (4, 3)
    """

    sizes: tuple[int, ...]
    cliques: tuple[Clique, ...]
    parents: tuple[int | None, ...]
    shares: tuple[Floats, ...]

    def compute_marginal(self, clique: Clique) -> Floats:
        """Return which part of all rows is in each cell of some attributes, in their shape."""
        wanted, parts = set(clique), []
        while wanted:
            part = self._gather_branch(self._find_start(wanted), None, frozenset(wanted))
            if part is None:  # pragma: no cover - the first place has a wanted attribute
                break
            parts.append(part)
            wanted -= set(part[0])
        return _multiply_factors(parts, clique)

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
            shared = self._get_shared(place, self.parents[place])
            new = tuple(a for a in clique if a not in shared)
            if not new:
                continue
            table = self._project_clique(place, shared + new)
            groups = _ravel_codes(codes, shared, self.sizes)
            cells = _assign_cells(table.reshape(-1, math.prod(self._get_shape(new))), groups, rng)
            codes[:, new] = np.stack(np.unravel_index(cells, self._get_shape(new)), axis=1)
        return codes

    @cached_property
    def _neighbours(self) -> tuple[tuple[int, ...], ...]:
        found: list[list[int]] = [[] for _ in self.cliques]
        for place, parent in enumerate(self.parents):
            if parent is not None:
                found[place].append(parent)
                found[parent].append(place)
        return tuple(tuple(places) for places in found)

    def _find_start(self, wanted: set[int]) -> int:
        """Return the clique that has most of the wanted attributes, the smallest of them."""
        return min(
            range(len(self.cliques)),
            key=lambda place: (-len(wanted & set(self.cliques[place])), self.shares[place].size),
        )

    def _gather_branch(
        self, place: int, origin: int | None, wanted: frozenset[int]
    ) -> _Factor | None:
        """Return all that a branch says about wanted attributes, given what it shares.

        None if it has none but those that it shares with where it is seen from.
        """
        shared = self._get_shared(place, origin)
        branches = [
            branch
            for other in self._neighbours[place]
            if other != origin and (branch := self._gather_branch(other, place, wanted)) is not None
        ]
        own = {a for a in self.cliques[place] if a in wanted and a not in shared}
        if not branches and not own:
            return None
        covered = own.union(*(set(attributes) for attributes, _ in branches))
        needed = tuple(a for a in self.cliques[place] if a in covered or a in shared)
        kept = tuple(sorted(set(shared) | (covered & wanted)))
        return kept, _multiply_factors(
            [(needed, self._condition_shares(place, shared, needed)), *branches], kept
        )

    def _condition_shares(self, place: int, shared: Clique, needed: Clique) -> Floats:
        """Return the shares of needed attributes of a clique, given those that are shared."""
        table = self._project_clique(place, shared + tuple(a for a in needed if a not in shared))
        if shared:
            whole = table.sum(axis=tuple(range(len(shared), table.ndim)), keepdims=True)
            table = np.divide(table, whole, out=np.zeros_like(table), where=whole > 0)
        order = shared + tuple(a for a in needed if a not in shared)
        return table.transpose([order.index(a) for a in needed])

    def _project_clique(self, place: int, attributes: Clique) -> Floats:
        """Return the shares of some attributes of one clique, in the order that is asked for."""
        own = self.cliques[place]
        others = tuple(axis for axis, a in enumerate(own) if a not in attributes)
        kept = [a for a in own if a in attributes]
        summed: Floats = self.shares[place].sum(axis=others) if others else self.shares[place]
        return summed.transpose([kept.index(a) for a in attributes])

    def _get_shared(self, place: int, other: int | None) -> Clique:
        if other is None:
            return ()
        return tuple(a for a in self.cliques[place] if a in self.cliques[other])

    def _get_shape(self, clique: Clique) -> tuple[int, ...]:
        return tuple(self.sizes[a] for a in clique)


def _multiply_factors(factors: Sequence[_Factor], kept: Clique) -> Floats:
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


def _ravel_codes(codes: Codes, attributes: Clique, sizes: Sequence[int]) -> NDArray[np.int64]:
    """Return the cell of each row in the table of some attributes; 0 without any."""
    cells = np.zeros(len(codes), dtype=np.int64)
    for attribute in attributes:
        cells = cells * sizes[attribute] + codes[:, attribute]
    return cells


def _assign_cells(
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


def build_junction_tree(
    sizes: Sequence[int], cliques: Sequence[Clique]
) -> tuple[tuple[Clique, ...], tuple[int | None, ...]]:
    """Return the cliques of a junction tree, parents first, and the place of the parent of each.

    A forest, if attributes fall apart. What a clique shares with any earlier one it shares with its
    parent.

    Args:
        sizes: The number of cells of each attribute.
        cliques: Sets of attributes, each of which is part of a clique of the tree.

    Example:
        >>> build_junction_tree((2, 3, 4, 5), [(0, 1), (1, 2), (0, 2)])
        (((0, 1, 2), (3,)), (None, None))
        >>> build_junction_tree((2, 3, 4), [(0, 1), (1, 2)])
        (((0, 1), (1, 2)), (None, 0))
    """
    waiting = sorted(_keep_maximal(_eliminate_attributes(sizes, cliques)), key=_list_members)
    placed: list[int] = []
    parents: list[int | None] = []
    # The place of the parent so far of each that waits, and how many attributes it shares with it.
    best: list[tuple[int, int | None]] = [(0, None)] * len(waiting)
    while waiting:
        nearest = max(range(len(waiting)), key=lambda place: best[place][0])
        mask, parent = waiting.pop(nearest), best.pop(nearest)[1]
        best = [
            max(known, ((mask & other).bit_count(), len(placed)), key=lambda one: one[0])
            for known, other in zip(best, waiting, strict=True)
        ]
        placed.append(mask)
        parents.append(parent)
    return tuple(_list_members(mask) for mask in placed), tuple(parents)


def count_junction_cells(sizes: Sequence[int], cliques: Sequence[Clique]) -> int:
    """Return the number of cells of all cliques of a junction tree.

    Example:
        >>> count_junction_cells((2, 3, 4), [(0, 1), (1, 2)])
        18
    """
    found = _keep_maximal(_eliminate_attributes(sizes, cliques))
    return sum(_count_cells(mask, sizes) for mask in found)


def _eliminate_attributes(sizes: Sequence[int], cliques: Sequence[Clique]) -> Iterator[int]:
    """Take out one attribute after the other, and return the cliques that it takes."""
    near = {a: 1 << a for a in range(len(sizes))}
    for clique in cliques:
        mask = sum(1 << a for a in clique)
        for a in clique:
            near[a] |= mask
    costs = {a: _compute_cost(a, near, sizes) for a in near}
    while near:
        first = min(costs, key=costs.__getitem__)
        mask = near.pop(first)
        del costs[first]
        yield mask
        rest = mask & ~(1 << first)
        reach = rest
        for a in _list_members(rest):
            near[a] = (near[a] | rest) & ~(1 << first)
            reach |= near[a]
        # Neighbours of those that were joined may have all of theirs joined now.
        for a in _list_members(reach):
            costs[a] = _compute_cost(a, near, sizes)


def _compute_cost(
    attribute: int, near: dict[int, int], sizes: Sequence[int]
) -> tuple[bool, int, int]:
    """Return what to look at: are its neighbours apart, how large is its clique, which is it."""
    mask = near[attribute]
    apart = any(mask & ~near[a] for a in _list_members(mask))
    return apart, _count_cells(mask, sizes), attribute


def _keep_maximal(masks: Iterator[int]) -> list[int]:
    """Return the sets that are part of no other."""
    found: list[int] = []
    # A clique is never part of one of an attribute that went later.
    for mask in masks:
        if all(mask & ~other for other in found):
            found.append(mask)
    return found


def _list_members(mask: int) -> Clique:
    found = []
    while mask:
        low = mask & -mask
        found.append(low.bit_length() - 1)
        mask ^= low
    return tuple(found)


def _count_cells(mask: int, sizes: Sequence[int]) -> int:
    return math.prod(sizes[a] for a in _list_members(mask))
