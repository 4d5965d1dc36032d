"""Mirror descent for a graphical model in numpy: what `mbi` does, without a compiler.

With a junction tree, marginals follow from potentials by one pass of messages up to the roots and
one down again (Lauritzen and Spiegelhalter 1988). For models of up to a million cells a few hundred
passes take less time than the compilation of one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from tabpe.baselines.domain import Clique, Floats

Tables = list[Floats]
Shape = tuple[int, ...]

# How the step grows after success and shrinks after failure.
GROWTH, SHRINKAGE = 1.1, 0.5


class Noisy(Protocol):
    """A noisy marginal."""

    @property
    def clique(self) -> Clique:
        """Its attributes, in ascending order."""
        ...

    @property
    def counts(self) -> Floats:
        """Noisy counts in its shape."""
        ...

    @property
    def sigma(self) -> float | Floats:
        """The standard deviation of the noise, of each cell or of all."""
        ...


@dataclass(frozen=True)
class Edge:
    """How a clique and its parent meet.

    Args:
        child: The place of the clique.
        parent: The place of its parent.
        summed: The axes of the clique that its parent does not have.
        parent_summed: The axes of the parent that the clique does not have.
        shape: The cells that they share, as cells of the clique.
        parent_shape: The cells that they share, as cells of the parent.
    """

    child: int
    parent: int
    summed: Shape
    parent_summed: Shape
    shape: Shape
    parent_shape: Shape


@dataclass(frozen=True, eq=False)
class Passes:
    """Passes of messages in a junction tree.

    Args:
        edges: From each clique to its parent, parents first.
        rows: What the cells of each marginal add up to.
    """

    edges: tuple[Edge, ...]
    rows: float

    def marginals(self, potentials: Sequence[Floats]) -> Tables:
        """Return the counts of all cliques."""
        beliefs = [table.copy() for table in potentials]
        told: dict[int, Floats] = {}
        for edge in reversed(self.edges):
            told[edge.child] = _log_sum(beliefs[edge.child], edge.summed)
            beliefs[edge.parent] += told[edge.child].reshape(edge.parent_shape)
        for edge in self.edges:
            heard = _log_sum(beliefs[edge.parent], edge.parent_summed).reshape(edge.shape)
            beliefs[edge.child] += heard - told[edge.child].reshape(edge.shape)
        return [self._normal(belief) for belief in beliefs]

    def _normal(self, belief: Floats) -> Floats:
        cells: Floats = np.exp(belief - belief.max())
        cells *= self.rows / cells.sum()
        return cells


@dataclass(frozen=True, eq=False)
class Term:
    """What a noisy marginal says about the marginal of a clique.

    Args:
        place: The place of the clique.
        summed: The axes of the clique that were not measured.
        counts: The noisy counts, as cells of the clique.
        weights: One over the variance of each.
    """

    place: int
    summed: Shape
    counts: Floats
    weights: Floats

    def add_to(self, slopes: Tables, marginals: Tables) -> float:
        """Add the slope of its part of the loss, and return that part."""
        off = marginals[self.place].sum(axis=self.summed, keepdims=True) - self.counts
        pull = off * self.weights
        slopes[self.place] += pull
        return 0.5 * float(np.vdot(off, pull))


@dataclass(frozen=True, eq=False)
class Descent:
    """What mirror descent is about.

    Args:
        cliques: The junction tree.
        parents: The place of the parent of each clique, which is an earlier one; None for roots.
        measured: What is known.
        begin: The potentials to begin with.
        rows: The number of rows.
        step: The first step.
        iterations: How many steps are tried.
    """

    cliques: tuple[Clique, ...]
    parents: tuple[int | None, ...]
    measured: Sequence[Noisy]
    begin: Tables
    rows: float
    step: float
    iterations: int


def descended(task: Descent) -> tuple[Tables, Tables]:
    """Return potentials and counts of all cliques at the end of mirror descent.

    A step is tried, and taken if the loss falls by at least half of what its slope says.
    """
    begin, step = task.begin, task.step
    passes = Passes(_edges(task.cliques, task.parents, begin), task.rows)
    terms = [_term(one, task.cliques, begin) for one in task.measured]
    at, trial = begin, begin
    marginals = slopes = [np.zeros_like(table) for table in begin]
    value = np.inf
    for _ in range(task.iterations):
        reached = passes.marginals(trial)
        uphill = [np.zeros_like(table) for table in begin]
        found = sum(term.add_to(uphill, reached) for term in terms)
        hoped = sum(
            float(np.vdot(s, m - r)) for s, m, r in zip(slopes, marginals, reached, strict=True)
        )
        if good := value - found >= 0.5 * step * hoped:
            at, marginals, value, slopes = trial, reached, found, uphill
        step *= GROWTH if good else SHRINKAGE
        trial = [table - step * slope for table, slope in zip(at, slopes, strict=True)]
    return at, marginals


def _edges(
    cliques: Sequence[Clique], parents: Sequence[int | None], tables: Tables
) -> tuple[Edge, ...]:
    return tuple(
        _edge(place, parent, cliques, tables)
        for place, parent in enumerate(parents)
        if parent is not None
    )


def _edge(child: int, parent: int, cliques: Sequence[Clique], tables: Tables) -> Edge:
    shared = set(cliques[child]) & set(cliques[parent])
    return Edge(
        child,
        parent,
        *(_others(cliques[place], shared) for place in (child, parent)),
        *(_shape(cliques[place], shared, tables[place]) for place in (child, parent)),
    )


def _term(one: Noisy, cliques: Sequence[Clique], tables: Tables) -> Term:
    """Return what a noisy marginal says about the smallest clique that has it."""
    wanted = set(one.clique)
    place = min(
        (place for place, clique in enumerate(cliques) if wanted <= set(clique)),
        key=lambda place: tables[place].size,
    )
    shape = _shape(cliques[place], wanted, tables[place])
    weights = np.broadcast_to(np.power(one.sigma, -2.0), one.counts.shape)
    return Term(
        place, _others(cliques[place], wanted), one.counts.reshape(shape), weights.reshape(shape)
    )


def _others(clique: Clique, attributes: set[int]) -> Shape:
    return tuple(axis for axis, a in enumerate(clique) if a not in attributes)


def _shape(clique: Clique, attributes: set[int], table: Floats) -> Shape:
    return tuple(
        size if a in attributes else 1 for a, size in zip(clique, table.shape, strict=True)
    )


def _log_sum(table: Floats, summed: Shape) -> Floats:
    """Return the logarithm of sums over some axes, of a table of logarithms."""
    top = table.max(axis=summed, keepdims=True)
    found: Floats = top + np.log(np.exp(table - top).sum(axis=summed, keepdims=True))
    return found
