"""From noisy marginals to a graphical model that explains them.

The model is the distribution of largest entropy among those whose marginals are nearest to what was
measured, in squares over variances: mirror descent (McKenna, Sheldon, Miklau 2019, algorithm 1) in
a junction tree. The package `mbi` passes its messages (`compiled`), or with `inference="numpy"` our
own code does (`beliefs`): the steps are the same, and nothing is compiled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tabpe import _validate
from tabpe.baselines import beliefs, compiled
from tabpe.baselines.beliefs import Descent
from tabpe.baselines.domain import Clique, Codes, Floats
from tabpe.baselines.junction import Forest
from tabpe.baselines.triangulation import junction_cells, junction_tree

INFERENCE = {"mbi": compiled.descended, "numpy": beliefs.descended}
_MEGABYTE = 2**20


@dataclass(frozen=True, eq=False)
class Measured:
    """A noisy marginal.

    Args:
        clique: Its attributes, in ascending order.
        counts: Noisy counts in its shape.
        sigma: The standard deviation of the noise on each cell; in its shape, if they differ.
    """

    clique: Clique
    counts: Floats
    sigma: float | Floats


@dataclass(frozen=True, eq=False)
class Model:
    """A graphical model of a table.

    Args:
        forest: Its junction tree.
        rows: The number of rows that it speaks of.
        potentials: Its parameters, a table for each clique: where a later fit may begin.
    """

    forest: Forest
    rows: float
    potentials: Sequence[Floats]

    def marginal(self, clique: Clique) -> Floats:
        """Return the counts of a marginal, whether or not it was measured."""
        return self.rows * self.forest.marginal(clique)

    def sample(self, size: int, rng: np.random.Generator) -> Codes:
        """Return rows whose marginals are those of the model, but for rounding."""
        return self.forest.sample(size, rng)


def fit_model(
    sizes: Sequence[int],
    measured: Sequence[Measured],
    *,
    rows: float,
    iterations: int,
    start: Model | None = None,
    inference: str = "mbi",
) -> Model:
    """Return the model that explains noisy marginals.

    Args:
        sizes: The number of cells of each attribute.
        measured: What is known. Attributes of which nothing is are uniform.
        rows: The number of rows.
        iterations: Steps of mirror descent.
        start: The model to begin with; None for the uniform one.
        inference: Who passes the messages: `mbi` or `numpy`.

    Example:
        >>> by_ward = Measured((0, 1), np.array([[40.0, 10.0], [10.0, 40.0]]), 1.0)
        >>> model = fit_model((2, 2, 3), [by_ward], rows=100, iterations=200, inference="numpy")
        >>> model.marginal((0, 1)).round(1)
        array([[40., 10.],
               [10., 40.]])
        >>> model.marginal((2,)).round(1)
        array([33.3, 33.3, 33.3])
    """
    descended = INFERENCE[_validate.one_of("inference", inference, list(INFERENCE))]
    known = combined(measured)
    cliques, parents = junction_tree(sizes, [one.clique for one in known])
    begin = [np.zeros([sizes[a] for a in clique]) for clique in cliques]
    if start is not None:
        _add(start, cliques, begin)
    step = 2 / (_steepness(known) * rows)
    potentials, counts = descended(Descent(cliques, parents, known, begin, rows, step, iterations))
    shares = tuple(table / rows for table in counts)
    return Model(Forest(tuple(sizes), cliques, parents, shares), rows, potentials)


def combined(measured: Sequence[Measured]) -> list[Measured]:
    """Return one measurement for each clique: the mean of all, by their variances.

    Example:
        >>> twice = [Measured((0,), np.array([4.0]), 1.0), Measured((0,), np.array([9.0]), 2.0)]
        >>> [(m.counts, float(m.sigma.round(3))) for m in combined(twice)]
        [(array([5.]), 0.894)]
    """
    grouped: dict[Clique, list[Measured]] = {}
    for one in measured:
        grouped.setdefault(one.clique, []).append(one)
    return [_mean(clique, several) for clique, several in grouped.items()]


def _mean(clique: Clique, several: Sequence[Measured]) -> Measured:
    weights = [np.power(one.sigma, -2.0) for one in several]
    counts = sum((w * one.counts for w, one in zip(weights, several, strict=True)), np.zeros(()))
    return Measured(clique, counts / sum(weights), np.power(sum(weights), -0.5))


def model_megabytes(sizes: Sequence[int], cliques: Sequence[Clique]) -> float:
    """Return how large the junction tree of a model of some cliques is, at 8 bytes a cell.

    Example:
        >>> round(model_megabytes((64, 64, 64), [(0, 1), (1, 2)]) * 2**20 / 8) == 2 * 64**2
        True
    """
    return junction_cells(sizes, cliques) * 8 / _MEGABYTE


def _add(model: Model, cliques: Sequence[Clique], tables: Sequence[Floats]) -> None:
    """Add the potentials of a model to tables of other cliques, each where there is room for it."""
    for old, potential in zip(model.forest.cliques, model.potentials, strict=True):
        hosts = [place for place, clique in enumerate(cliques) if set(old) <= set(clique)]
        if hosts:
            place = min(hosts, key=lambda host: tables[host].size)
            tables[place][...] += np.expand_dims(
                potential, [axis for axis, a in enumerate(cliques[place]) if a not in old]
            )


def _steepness(known: Sequence[Measured]) -> float:
    """Return how fast the slope of the loss changes at most: the largest sum over one clique.

    A marginal tells about the largest one measured that it is part of. The slope there is the
    same for all cells that are summed up.
    """
    cells = {one.clique: one.counts.size for one in known}
    sums = dict.fromkeys(cells, 0.0)
    for one in known:
        most = max(
            (clique for clique in cells if set(one.clique) <= set(clique)),
            key=lambda clique: cells[clique],
        )
        sums[most] += float(np.max(np.power(one.sigma, -2.0))) * cells[most] / one.counts.size
    return max(sums.values(), default=1.0)
