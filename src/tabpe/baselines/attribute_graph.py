"""Which attributes a Markov random field may join: PrivMRF's graph and the marginals inside of it.

The graph has an edge where two attributes depend on each other. It is triangulated, because a model
holds one table for each maximal clique of the triangulated graph: these decide how large the model
can become. Marginals are chosen inside of cliques, so that the model can hold any of them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tabpe.baselines.domain import Clique

Dependence = Mapping[Clique, float]


@dataclass(frozen=True)
class Limits:
    """How large a model may become.

    Args:
        clique_cells: The most cells of one clique.
        model_cells: The most cells of all cliques together.
        penalty: How much dependence a cell must be worth.
    """

    clique_cells: float
    model_cells: float
    penalty: float


def attribute_graph(dependence: Dependence, sizes: Sequence[int], limits: Limits) -> list[Clique]:
    """Return the maximal cliques of a graph that joins attributes which depend on each other.

    Edges are tried once each, those of the largest dependence first. One stays if the triangulated
    graph keeps within the limits, and if the dependence inside of its cliques, less the penalty for
    their cells, grows by it.

    Args:
        dependence: How much each pair depends on each other, as a share of rows, noisy.
        sizes: Number of values of each attribute.
        limits: How large the model may become.

    Example:
        >>> strong = {(0, 1): 0.5, (1, 2): 0.4, (0, 2): 0.3}
        >>> attribute_graph(strong, [10, 10, 10], Limits(100, 1000, 1e-8))
        [(0, 1), (1, 2)]
        >>> attribute_graph(strong, [10, 10, 10], Limits(1000, 1000, 1e-8))
        [(0, 1, 2)]
    """
    cliques = triangulated([], sizes)
    worth = _worth(cliques, dependence, sizes, limits)
    for pair in sorted(dependence, key=lambda pair: (-dependence[pair], pair)):
        if dependence[pair] <= 0:
            break
        if inside(pair, cliques):
            continue
        grown = triangulated(_edges(cliques) | {pair}, sizes)
        more = _worth(grown, dependence, sizes, limits)
        if more > worth:
            cliques, worth = grown, more
    return cliques


def triangulated(edges: Iterable[Clique], sizes: Sequence[int]) -> list[Clique]:
    """Return the maximal cliques of a graph, after edges were added to make it triangulated.

    Attributes are eliminated one after the other, always the one with the smallest clique.

    Example:
        >>> triangulated([(0, 1), (1, 2), (2, 3), (0, 3)], [2, 2, 2, 2])
        [(0, 1, 3), (1, 2, 3)]
    """
    near: dict[int, set[int]] = {place: set() for place in range(len(sizes))}
    for one, other in edges:
        near[one].add(other)
        near[other].add(one)
    cliques: list[frozenset[int]] = []
    while near:
        first = min(near, key=lambda place: _cells((place, *near[place]), sizes))
        friends = near.pop(first)
        for friend in friends:
            near[friend] |= friends
            near[friend] -= {first, friend}
        clique = frozenset(friends | {first})
        if not any(clique <= known for known in cliques):
            cliques.append(clique)
    return sorted(tuple(sorted(clique)) for clique in cliques)


def first_marginals(
    cliques: Iterable[Clique],
    dependence: Dependence,
    sizes: Sequence[int],
    *,
    most_cells: float,
    degree: int,
    rng: np.random.Generator,
) -> list[Clique]:
    """Return marginals to begin with: for each attribute the one that says most about it.

    Inside of each clique attributes are put in a random order, and each gets those before it as
    parents that together say most about it. Attributes without any are marginals by themselves.

    Args:
        cliques: The maximal cliques of the graph.
        dependence: How much each pair depends on each other.
        sizes: Number of values of each attribute.
        most_cells: The most cells of a marginal of two attributes or more.
        degree: The most attributes of a marginal.
        rng: Decides on the order.

    Example:
        >>> first_marginals([(0, 1), (2,)], {(0, 1): 0.5}, [2, 2, 2], most_cells=9, degree=2,
        ...     rng=np.random.default_rng(0))
        [(0, 1), (2,)]
    """
    best: dict[int, tuple[float, Clique]] = {}
    for clique in cliques:
        order = [int(place) for place in rng.permutation(clique)]
        for at, child in enumerate(order):
            found = _parents(
                child, order[:at], dependence, sizes, most_cells=most_cells, degree=degree
            )
            best[child] = max(best.get(child, found), found)
    marginals = {clique for score, clique in best.values() if score > 0}
    held = set(itertools.chain.from_iterable(marginals))
    alone = {(place,) for place in range(len(sizes)) if place not in held}
    return without_parts(marginals | alone)


def candidates(
    cliques: Iterable[Clique], sizes: Sequence[int], *, most_cells: float, degree: int
) -> dict[Clique, float]:
    """Return the marginals that may be measured later, and how much each weighs in a draw.

    All candidates of a clique together weigh its number of attributes, squared: so large cliques,
    which have by far the most, do not crowd out the others.

    Args:
        cliques: The maximal cliques of the graph.
        sizes: Number of values of each attribute.
        most_cells: The most cells of a marginal of two attributes or more.
        degree: The most attributes of a marginal.

    Example:
        >>> candidates([(0, 1), (1, 2)], [2, 3, 9], most_cells=10, degree=2)
        {(0,): 1.3..., (1,): 3.3..., (0, 1): 1.3..., (2,): 2.0}
    """
    weights: dict[Clique, float] = {}
    for clique in cliques:
        parts = [
            part
            for length in range(1, min(degree, len(clique)) + 1)
            for part in itertools.combinations(clique, length)
            if length == 1 or _cells(part, sizes) <= most_cells
        ]
        for part in parts:
            weights[part] = weights.get(part, 0.0) + len(clique) ** 2 / len(parts)
    return weights


def without_parts(cliques: Iterable[Clique]) -> list[Clique]:
    """Return the cliques that are no part of another one.

    Example:
        >>> without_parts([(0, 1), (1,), (1, 2, 3), (1, 3)])
        [(0, 1), (1, 2, 3)]
    """
    kept: list[Clique] = []
    for clique in sorted(set(cliques), key=len, reverse=True):
        if not inside(clique, kept):
            kept.append(clique)
    return sorted(kept)


def _parents(
    child: int,
    before: Sequence[int],
    dependence: Dependence,
    sizes: Sequence[int],
    *,
    most_cells: float,
    degree: int,
) -> tuple[float, Clique]:
    """Return how much a child depends on its best parents, and the marginal of them all.

    Parents join one by one, as long as that makes the score larger.
    """
    score = 0.0
    parents: list[int] = []
    while len(parents) + 1 < degree:
        options = [
            (_merit(child, [*parents, one], dependence), one)
            for one in before
            if one not in parents and _cells((child, one, *parents), sizes) <= most_cells
        ]
        if not options or max(options)[0] <= score:
            break
        score, chosen = max(options)
        parents.append(chosen)
    return score, tuple(sorted([child, *parents]))


def _merit(child: int, parents: Sequence[int], dependence: Dependence) -> float:
    """Return how much parents say about a child; what they say twice counts less.

    The merit of a set of features in correlation-based feature selection (Hall, 1999).
    """
    said = sum(_between(child, one, dependence) for one in parents)
    twice = sum(_between(*pair, dependence) for pair in itertools.combinations(parents, 2))
    return said / math.sqrt(max(len(parents) + twice, 1.0))


def _between(one: int, other: int, dependence: Dependence) -> float:
    return dependence.get((min(one, other), max(one, other)), 0.0)


def _worth(
    cliques: Sequence[Clique], dependence: Dependence, sizes: Sequence[int], limits: Limits
) -> float:
    """Return the dependence inside of cliques less the penalty; nothing is worse than too large."""
    cells = [_cells(clique, sizes) for clique in cliques]
    if max(cells) > limits.clique_cells or sum(cells) > limits.model_cells:
        return -math.inf
    inner = sum(dependence.get(pair, 0.0) for pair in _edges(cliques))
    return inner - limits.penalty * sum(cells)


def _edges(cliques: Iterable[Clique]) -> set[Clique]:
    return {pair for clique in cliques for pair in itertools.combinations(clique, 2)}


def inside(part: Clique, cliques: Iterable[Clique]) -> bool:
    """Return whether a clique is part of one of some others."""
    return any(set(part) <= set(clique) for clique in cliques)


def _cells(clique: Iterable[int], sizes: Sequence[int]) -> int:
    return math.prod(sizes[place] for place in clique)
