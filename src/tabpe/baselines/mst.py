"""MST: a tree of pairs (McKenna, Miklau, Sheldon 2021, "Winning the NIST contest").

Attributes are measured one by one, and cells that the noise hides are merged. Then pairs are chosen
that attributes by themselves explain worst, as long as they make no circle: in the end a spanning
tree. They are measured, and rows are drawn from the graphical model of all that. One-ways, choices
and pairs take a third of the budget each. As published, but for the bins that columns of numbers
come in (`tabpe.baselines.base`).
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tabpe._utils import validation
from tabpe.accounting.calibration import BudgetShare
from tabpe.accounting.spend import EXPONENTIAL
from tabpe.baselines.domain import Clique, Codes, Domain, Floats, SyntheticRows
from tabpe.baselines.graphical_model import (
    INFERENCE,
    GraphicalModel,
    MarginalMeasurement,
    fit_model,
)
from tabpe.baselines.session import BaselineSession
from tabpe.encoding import Records
from tabpe.encoding.marginals import MarginalAxis

ONE_WAYS, CHOICES, PAIRS = "one-ways", "choices", "pairs"

Whole = NDArray[np.int64]


@dataclass(frozen=True)
class MST:
    """A tree of pairs.

    Args:
        iterations: Steps of mirror descent for the model.
        hidden_below: Cells are merged whose noisy count is below so many standard deviations.
        inference: Who passes the messages of the model: `mbi` or `numpy`.
    """

    iterations: int = 1000
    hidden_below: float = 3.0
    inference: str = "mbi"
    name: ClassVar[str] = "MST"
    adaptive: ClassVar[bool] = False
    binned: ClassVar[bool] = True

    def __post_init__(self) -> None:
        validation.check_integer("iterations", self.iterations, least=1)
        validation.check_real("hidden_below", self.hidden_below, above=0, least=True)
        validation.check_one_of("inference", self.inference, list(INFERENCE))

    def parts(self, attributes: int) -> tuple[BudgetShare, ...]:
        """Return the plan: all attributes, and the choice and the pair of each edge of a tree."""
        edges = attributes - 1
        if not edges:
            return (BudgetShare(ONE_WAYS, 1.0),)
        return (
            BudgetShare(ONE_WAYS, 1 / 3, attributes),
            BudgetShare(CHOICES, 1 / 3, edges, EXPONENTIAL),
            BudgetShare(PAIRS, 1 / 3, edges),
        )

    def synthesise(self, session: BaselineSession, size: int) -> SyntheticRows:
        """Measure attributes, choose a tree of pairs, measure those, draw from their model."""
        alone = [(place,) for place in range(session.domain.attributes)]
        counts, sigma = session.marginals(ONE_WAYS, alone), session.get_sigma(ONE_WAYS)
        groups = [merge_cells(one, self.hidden_below * sigma) for one in counts]
        narrow = narrow_session(session, groups)
        known = [
            merge_counts(clique, one, group, sigma)
            for clique, one, group in zip(alone, counts, groups, strict=True)
        ]
        model = self._fit_model(narrow, known)
        if len(alone) > 1:
            edges = choose_tree(narrow, model)
            noise = session.get_sigma(PAIRS)
            pairs = narrow.marginals(PAIRS, edges)
            known += [
                MarginalMeasurement(edge, pair, noise)
                for edge, pair in zip(edges, pairs, strict=True)
            ]
            model = self._fit_model(narrow, known)
        return session.rows_of(unmerge_codes(model.sample(size, session.rng), groups, session.rng))

    def _fit_model(
        self, session: BaselineSession, known: Sequence[MarginalMeasurement]
    ) -> GraphicalModel:
        return fit_model(
            session.domain.sizes,
            known,
            rows=session.rows,
            iterations=self.iterations,
            inference=self.inference,
        )


def choose_tree(session: BaselineSession, model: GraphicalModel) -> list[Clique]:
    """Choose edges one by one: pairs that the model is far from, and that make no circle."""
    pairs = list(itertools.combinations(range(session.domain.attributes), 2))
    estimates = {pair: model.compute_marginal(pair) for pair in pairs}
    part_of = list(range(session.domain.attributes))
    edges: list[Clique] = []
    while open_pairs := [(a, b) for a, b in pairs if part_of[a] != part_of[b]]:
        place = session.choose_marginal(
            CHOICES, open_pairs, [estimates[pair] for pair in open_pairs]
        )
        one, other = open_pairs[place]
        edges.append((one, other))
        joined, gone = part_of[one], part_of[other]
        part_of = [joined if part == gone else part for part in part_of]
    return edges


def merge_cells(counts: Floats, least: float) -> Whole:
    """Return a new cell for each cell: one of its own from a noisy count on, the last for the rest.

    Example:
        >>> merge_cells(np.array([90.0, -4.0, 40.0, 7.0]), least=10.0)
        array([0, 2, 1, 2])
    """
    seen = counts >= least
    return np.where(seen, np.cumsum(seen) - 1, seen.sum()).astype(np.int64)


def merge_counts(clique: Clique, counts: Floats, group: Whole, sigma: float) -> MarginalMeasurement:
    """Return the noisy counts of an attribute after cells were merged, and their noise.

    Example:
        >>> merged = merge_counts((0,), np.array([90.0, -4.0, 7.0]), np.array([0, 1, 1]), 2.0)
        >>> merged.counts, merged.sigma
        (array([90.,  3.]), array([2.        , 2.82842712]))
    """
    summed: Floats = np.bincount(group, counts).astype(np.float64)
    return MarginalMeasurement(clique, summed, sigma * np.sqrt(np.bincount(group)))


def unmerge_codes(codes: Codes, groups: Sequence[Whole], rng: np.random.Generator) -> Codes:
    """Return codes from before cells were merged: of merged ones each is as likely.

    Example:
        >>> unmerge_codes(np.array([[0], [1]]), [np.array([1, 0])], np.random.default_rng(0))
        array([[1],
               [0]])
    """
    columns = []
    for column, group in zip(codes.T, groups, strict=True):
        order, sizes = np.argsort(group, kind="stable"), np.bincount(group)
        first = np.cumsum(sizes) - sizes
        columns.append(order[first[column] + rng.integers(sizes[column])])
    return np.stack(columns, axis=1).astype(np.int64)


@dataclass(frozen=True)
class MergedAxis:
    """An attribute some of whose cells were merged.

    Guarantee: the cell of a row depends on that row alone, as that of the axis does.

    Args:
        axis: The attribute.
        groups: The new cell of each of its cells.
    """

    axis: MarginalAxis
    groups: tuple[int, ...]

    @property
    def name(self) -> str:
        """The name of the attribute."""
        return self.axis.name

    @property
    def size(self) -> int:
        """The number of new cells."""
        return max(self.groups) + 1

    def find_cells(self, rows: Records, classes: Whole) -> Whole:
        """Return the new cell of each row."""
        cells: Whole = np.array(self.groups)[self.axis.find_cells(rows, classes)]
        return cells


def narrow_session(session: BaselineSession, groups: Sequence[Whole]) -> BaselineSession:
    """Return the session for queries about merged cells: the same rows, noise and account."""
    axes = tuple(
        MergedAxis(axis, tuple(group.tolist()))
        for axis, group in zip(session.domain.axes, groups, strict=True)
    )
    return dataclasses.replace(session, domain=Domain(axes, session.domain.label))
