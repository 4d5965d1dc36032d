"""Junction trees: which cliques a graphical model needs, and how they hang together.

Attributes are taken out of the graph one by one, and the neighbours of each are joined before it
goes: it and they are a clique. Attributes whose neighbours are joined already go first, and after
that those with the smallest clique, which is a usual rule of thumb; the best order is hard to find.
Sets of attributes are whole numbers here, a bit for each.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from tabpe.baselines.domain import Clique


def junction_tree(
    sizes: Sequence[int], cliques: Sequence[Clique]
) -> tuple[tuple[Clique, ...], tuple[int | None, ...]]:
    """Return the cliques of a junction tree, parents first, and the place of the parent of each.

    A forest, if attributes fall apart. What a clique shares with any earlier one it shares with its
    parent.

    Args:
        sizes: The number of cells of each attribute.
        cliques: Sets of attributes, each of which is part of a clique of the tree.

    Example:
        >>> junction_tree((2, 3, 4, 5), [(0, 1), (1, 2), (0, 2)])
        (((0, 1, 2), (3,)), (None, None))
        >>> junction_tree((2, 3, 4), [(0, 1), (1, 2)])
        (((0, 1), (1, 2)), (None, 0))
    """
    waiting = sorted(_largest(_eliminated(sizes, cliques)), key=_members)
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
    return tuple(_members(mask) for mask in placed), tuple(parents)


def junction_cells(sizes: Sequence[int], cliques: Sequence[Clique]) -> int:
    """Return the number of cells of all cliques of a junction tree.

    Example:
        >>> junction_cells((2, 3, 4), [(0, 1), (1, 2)])
        18
    """
    found = _largest(_eliminated(sizes, cliques))
    return sum(_cells(mask, sizes) for mask in found)


def _eliminated(sizes: Sequence[int], cliques: Sequence[Clique]) -> Iterator[int]:
    """Take out one attribute after the other, and return the cliques that it takes."""
    near = {a: 1 << a for a in range(len(sizes))}
    for clique in cliques:
        mask = sum(1 << a for a in clique)
        for a in clique:
            near[a] |= mask
    costs = {a: _cost(a, near, sizes) for a in near}
    while near:
        first = min(costs, key=costs.__getitem__)
        mask = near.pop(first)
        del costs[first]
        yield mask
        rest = mask & ~(1 << first)
        reach = rest
        for a in _members(rest):
            near[a] = (near[a] | rest) & ~(1 << first)
            reach |= near[a]
        # Neighbours of those that were joined may have all of theirs joined now.
        for a in _members(reach):
            costs[a] = _cost(a, near, sizes)


def _cost(attribute: int, near: dict[int, int], sizes: Sequence[int]) -> tuple[bool, int, int]:
    """Return what to look at: are its neighbours apart, how large is its clique, which is it."""
    mask = near[attribute]
    apart = any(mask & ~near[a] for a in _members(mask))
    return apart, _cells(mask, sizes), attribute


def _largest(masks: Iterator[int]) -> list[int]:
    """Return the sets that are part of no other."""
    found: list[int] = []
    # A clique is never part of one of an attribute that went later.
    for mask in masks:
        if all(mask & ~other for other in found):
            found.append(mask)
    return found


def _members(mask: int) -> Clique:
    found = []
    while mask:
        low = mask & -mask
        found.append(low.bit_length() - 1)
        mask ^= low
    return tuple(found)


def _cells(mask: int, sizes: Sequence[int]) -> int:
    return math.prod(sizes[a] for a in _members(mask))
