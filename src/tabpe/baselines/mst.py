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
from tabpe.accounting.calibration import Part
from tabpe.accounting.spend import EXPONENTIAL
from tabpe.baselines.domain import Clique, Codes, Domain, Floats, Rows
from tabpe.baselines.graphical_model import INFERENCE, Measured, Model, fit_model
from tabpe.baselines.session import Desk
from tabpe.encoding import Records
from tabpe.encoding.marginals import Axis

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
        validation.whole("iterations", self.iterations, least=1)
        validation.real("hidden_below", self.hidden_below, above=0, least=True)
        validation.one_of("inference", self.inference, list(INFERENCE))

    def parts(self, attributes: int) -> tuple[Part, ...]:
        """Return the plan: all attributes, and the choice and the pair of each edge of a tree."""
        edges = attributes - 1
        if not edges:
            return (Part(ONE_WAYS, 1.0),)
        return (
            Part(ONE_WAYS, 1 / 3, attributes),
            Part(CHOICES, 1 / 3, edges, EXPONENTIAL),
            Part(PAIRS, 1 / 3, edges),
        )

    def synthesise(self, desk: Desk, size: int) -> Rows:
        """Measure attributes, choose a tree of pairs, measure those, draw from their model."""
        alone = [(place,) for place in range(desk.domain.attributes)]
        counts, sigma = desk.marginals(ONE_WAYS, alone), desk.sigma_of(ONE_WAYS)
        groups = [merged_cells(one, self.hidden_below * sigma) for one in counts]
        narrow = narrowed(desk, groups)
        known = [
            merged_counts(clique, one, group, sigma)
            for clique, one, group in zip(alone, counts, groups, strict=True)
        ]
        model = self._fitted(narrow, known)
        if len(alone) > 1:
            edges = chosen_tree(narrow, model)
            noise = desk.sigma_of(PAIRS)
            pairs = narrow.marginals(PAIRS, edges)
            known += [Measured(edge, pair, noise) for edge, pair in zip(edges, pairs, strict=True)]
            model = self._fitted(narrow, known)
        return desk.rows_of(widened(model.sample(size, desk.rng), groups, desk.rng))

    def _fitted(self, desk: Desk, known: Sequence[Measured]) -> Model:
        return fit_model(
            desk.domain.sizes,
            known,
            rows=desk.rows,
            iterations=self.iterations,
            inference=self.inference,
        )


def chosen_tree(desk: Desk, model: Model) -> list[Clique]:
    """Choose edges one by one: pairs that the model is far from, and that make no circle."""
    pairs = list(itertools.combinations(range(desk.domain.attributes), 2))
    estimates = {pair: model.marginal(pair) for pair in pairs}
    part_of = list(range(desk.domain.attributes))
    edges: list[Clique] = []
    while open_pairs := [(a, b) for a, b in pairs if part_of[a] != part_of[b]]:
        place = desk.choose(CHOICES, open_pairs, [estimates[pair] for pair in open_pairs])
        one, other = open_pairs[place]
        edges.append((one, other))
        joined, gone = part_of[one], part_of[other]
        part_of = [joined if part == gone else part for part in part_of]
    return edges


def merged_cells(counts: Floats, least: float) -> Whole:
    """Return a new cell for each cell: one of its own from a noisy count on, the last for the rest.

    Example:
        >>> merged_cells(np.array([90.0, -4.0, 40.0, 7.0]), least=10.0)
        array([0, 2, 1, 2])
    """
    seen = counts >= least
    return np.where(seen, np.cumsum(seen) - 1, seen.sum()).astype(np.int64)


def merged_counts(clique: Clique, counts: Floats, group: Whole, sigma: float) -> Measured:
    """Return the noisy counts of an attribute after cells were merged, and their noise.

    Example:
        >>> merged = merged_counts((0,), np.array([90.0, -4.0, 7.0]), np.array([0, 1, 1]), 2.0)
        >>> merged.counts, merged.sigma
        (array([90.,  3.]), array([2.        , 2.82842712]))
    """
    summed: Floats = np.bincount(group, counts).astype(np.float64)
    return Measured(clique, summed, sigma * np.sqrt(np.bincount(group)))


def widened(codes: Codes, groups: Sequence[Whole], rng: np.random.Generator) -> Codes:
    """Return codes from before cells were merged: of merged ones each is as likely.

    Example:
        >>> widened(np.array([[0], [1]]), [np.array([1, 0])], np.random.default_rng(0))
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

    axis: Axis
    groups: tuple[int, ...]

    @property
    def name(self) -> str:
        """The name of the attribute."""
        return self.axis.name

    @property
    def size(self) -> int:
        """The number of new cells."""
        return max(self.groups) + 1

    def cells(self, rows: Records, classes: Whole) -> Whole:
        """Return the new cell of each row."""
        cells: Whole = np.array(self.groups)[self.axis.cells(rows, classes)]
        return cells


def narrowed(desk: Desk, groups: Sequence[Whole]) -> Desk:
    """Return the desk for questions about merged cells: the same rows, noise and account."""
    axes = tuple(
        MergedAxis(axis, tuple(group.tolist()))
        for axis, group in zip(desk.domain.axes, groups, strict=True)
    )
    return dataclasses.replace(desk, domain=Domain(axes, desk.domain.label))
