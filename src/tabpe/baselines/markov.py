"""From noisy marginals to a graphical model that explains them, by the package `mbi`.

The model is the distribution of largest entropy among those whose marginals are nearest to what was
measured, in squares over variances. `mbi` knows the junction tree and passes the messages; the loop
around it is mirror descent (McKenna, Sheldon, Miklau 2019, algorithm 1), compiled as one program
with one pass of messages a step. A new set of cliques is a new program, and for models of a usual
size the compiler takes far longer than the program: so little work is compiled with little effort.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from tabpe.baselines.domain import Clique, Codes, Floats
from tabpe.baselines.junction import Forest

# Steps times cells from which optimised code saves more than its compilation costs.
_MUCH_WORK = 3e7
_LITTLE_EFFORT = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}
# How the step grows after success and shrinks after failure.
_GROWTH, _SHRINKAGE = 1.1, 0.5
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
        potentials: Its parameters, as `mbi` keeps them: where a later fit may begin.
    """

    forest: Forest
    rows: float
    potentials: Any

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
) -> Model:
    """Return the model that explains noisy marginals.

    Args:
        sizes: The number of cells of each attribute.
        measured: What is known. Attributes of which nothing is are uniform.
        rows: The number of rows.
        iterations: Steps of mirror descent.
        start: The model to begin with; None for the uniform one.

    Example:
        >>> by_ward = Measured((0, 1), np.array([[40.0, 10.0], [10.0, 40.0]]), 1.0)
        >>> model = fit_model((2, 2, 3), [by_ward], rows=100, iterations=200)
        >>> model.marginal((0, 1)).round(1)
        array([[40., 10.],
               [10., 40.]])
        >>> model.marginal((2,)).round(1)
        array([33.3, 33.3, 33.3])
    """
    with _mbi() as mbi:
        domain = mbi.Domain(range(len(sizes)), sizes)
        known = [_linear(one) for one in combined(measured)]
        tree = _tree(domain, [m.clique for m in known])
        cliques, parents = _ordered(tree)
        begin = mbi.CliqueVector.zeros(domain, cliques)
        if start is not None:
            begin = start.potentials.expand(cliques)
        potentials, marginals = _descended(tree, known, begin, rows, iterations)
        shares = tuple(np.asarray(marginals[clique].values) / rows for clique in cliques)
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


def _linear(one: Measured) -> Any:
    """Return a measurement as `mbi` has it: where noise differs, cells are in units of theirs."""
    import mbi

    if np.ndim(one.sigma) == 0:
        return mbi.LinearMeasurement(one.counts.ravel(), one.clique, one.sigma)
    weights = np.ravel(1 / one.sigma)
    query = mbi.WeightedQuery(weights)
    return mbi.LinearMeasurement(one.counts.ravel() * weights, one.clique, 1.0, query)


def model_megabytes(sizes: Sequence[int], cliques: Sequence[Clique]) -> float:
    """Return how large the junction tree of a model of some cliques is, at 8 bytes a cell.

    Example:
        >>> round(model_megabytes((64, 64, 64), [(0, 1), (1, 2)]) * 2**20 / 8) == 2 * 64**2
        True
    """
    with _mbi() as mbi:
        nodes = _tree(mbi.Domain(range(len(sizes)), sizes), cliques).nodes
    cells: int = sum(math.prod(sizes[a] for a in node) for node in nodes)
    return cells * 8 / _MEGABYTE


def _tree(domain: Any, cliques: Sequence[Clique]) -> Any:
    """Return the junction tree as a graph of cliques; a forest, if attributes fall apart."""
    import mbi

    return mbi.junction_tree.make_junction_tree(domain, cliques)[0]


def _ordered(tree: Any) -> tuple[tuple[Clique, ...], tuple[int | None, ...]]:
    """Return the cliques of a forest, parents first, and the place of the parent of each."""
    import networkx as nx

    parent: dict[Clique, Clique | None] = {}
    for clique in tree.nodes:
        if clique not in parent:
            parent[clique] = None
            parent.update((child, upper) for upper, child in nx.bfs_edges(tree, clique))
    places = {clique: place for place, clique in enumerate(parent)}
    return tuple(parent), tuple(None if up is None else places[up] for up in parent.values())


def _descended(
    tree: Any, known: Sequence[Any], begin: Any, rows: float, iterations: int
) -> tuple[Any, Any]:
    """Return the parameters and the marginals at the end of mirror descent.

    A step is tried, and taken if the loss falls by at least half of what its slope says.
    """
    import jax
    import jax.numpy as jnp
    import mbi

    loss = mbi.marginal_loss.from_linear_measurements(list(known), begin.domain)

    def tried(state: Any, data: Any) -> Any:
        at, marginals, value, slope, trial, step = state
        reached = mbi.marginal_oracles.message_passing_hugin(trial, rows, jtree=tree)
        found, uphill = jax.value_and_grad(lambda m: loss.loss_fn(m, data))(reached)
        good = value - found >= 0.5 * step * slope.dot(marginals - reached)
        old, new = (at, marginals, value, slope), (trial, reached, found, uphill)
        at, marginals, value, slope = jax.tree.map(lambda o, n: jnp.where(good, n, o), old, new)
        step = step * jnp.where(good, _GROWTH, _SHRINKAGE)
        return at, marginals, value, slope, at - step * slope, step

    def descend(begin: Any, data: Any, step: float, steps: int) -> Any:
        zero = jax.tree.map(jnp.zeros_like, begin)
        first = (begin, zero, jnp.inf, zero, begin, step)
        return jax.lax.fori_loop(0, steps, lambda _, state: tried(state, data), first)[:2]

    much = iterations * begin.size() > _MUCH_WORK
    program = jax.jit(descend, compiler_options=None if much else _LITTLE_EFFORT)
    found: tuple[Any, Any] = program(begin, loss.data, 2 / (loss.lipschitz * rows), iterations)
    return found


@contextmanager
def _mbi() -> Iterator[Any]:
    """Import `mbi`, and let it count in double precision as long as this lasts."""
    import jax

    with jax.enable_x64(new_val=True), warnings.catch_warnings():
        # `mbi` warns of a cache of programs that nobody has turned on.
        warnings.filterwarnings("ignore", message="JAX persistent compilation cache")
        import mbi

        yield mbi
