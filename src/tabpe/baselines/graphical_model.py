"""A graphical model that explains noisy marginals.

Mirror descent for a graphical model in numpy: what `mbi` does, without a compiler.

With a junction tree, marginals follow from potentials by one pass of messages up to the roots and
one down again (Lauritzen and Spiegelhalter 1988). For models of up to a million cells a few hundred
passes take less time than the compilation of one.

Mirror descent for a graphical model by the package `mbi`, as one compiled program.

`mbi` passes the messages, once a step. A new set of cliques is a new program, and for models of a
usual size the compiler takes far longer than the program: so little work is compiled with little
effort.

From noisy marginals to a graphical model that explains them.

The model is the distribution of largest entropy among those whose marginals are nearest to what was
measured, in squares over variances: mirror descent (McKenna, Sheldon, Miklau 2019, algorithm 1) in
a junction tree. The package `mbi` passes its messages (`compiled`), or with `inference="numpy"` our
own code does (`beliefs`): the steps are the same, and nothing is compiled.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from tabpe._utils import validation
from tabpe.baselines.domain import Clique, Codes, Floats
from tabpe.baselines.junction_tree import CliqueForest, build_junction_tree, count_junction_cells

Tables = list[Floats]
Shape = tuple[int, ...]

# How the step grows after success and shrinks after failure.
GROWTH, SHRINKAGE = 1.1, 0.5


class NoisyMarginalLike(Protocol):
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
class TreeEdge:
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
class MessagePasser:
    """Passes of messages in a junction tree.

    Args:
        edges: From each clique to its parent, parents first.
        rows: What the cells of each marginal add up to.
    """

    edges: tuple[TreeEdge, ...]
    rows: float

    def compute_marginals(self, potentials: Sequence[Floats]) -> Tables:
        """Return the counts of all cliques."""
        beliefs = [table.copy() for table in potentials]
        sent: dict[int, Floats] = {}
        for edge in reversed(self.edges):
            sent[edge.child] = _sum_logs(beliefs[edge.child], edge.summed)
            beliefs[edge.parent] += sent[edge.child].reshape(edge.parent_shape)
        for edge in self.edges:
            heard = _sum_logs(beliefs[edge.parent], edge.parent_summed).reshape(edge.shape)
            beliefs[edge.child] += heard - sent[edge.child].reshape(edge.shape)
        return [self._normalise_belief(belief) for belief in beliefs]

    def _normalise_belief(self, belief: Floats) -> Floats:
        cells: Floats = np.exp(belief - belief.max())
        cells *= self.rows / cells.sum()
        return cells


@dataclass(frozen=True, eq=False)
class LossTerm:
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

    def add_gradient(self, slopes: Tables, marginals: Tables) -> float:
        """Add the slope of its part of the loss, and return that part."""
        off = marginals[self.place].sum(axis=self.summed, keepdims=True) - self.counts
        pull = off * self.weights
        slopes[self.place] += pull
        return 0.5 * float(np.vdot(off, pull))


@dataclass(frozen=True, eq=False)
class DescentTask:
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
    measured: Sequence[NoisyMarginalLike]
    begin: Tables
    rows: float
    step: float
    iterations: int


def descend_numpy(task: DescentTask) -> tuple[Tables, Tables]:
    """Return potentials and counts of all cliques at the end of mirror descent.

    A step is tried, and taken if the loss falls by at least half of what its slope says.
    """
    begin, step = task.begin, task.step
    passes = MessagePasser(_build_edges(task.cliques, task.parents, begin), task.rows)
    terms = [_build_term(one, task.cliques, begin) for one in task.measured]
    at, trial = begin, begin
    marginals = slopes = [np.zeros_like(table) for table in begin]
    value = np.inf
    for _ in range(task.iterations):
        reached = passes.compute_marginals(trial)
        uphill = [np.zeros_like(table) for table in begin]
        found = sum(term.add_gradient(uphill, reached) for term in terms)
        hoped = sum(
            float(np.vdot(s, m - r)) for s, m, r in zip(slopes, marginals, reached, strict=True)
        )
        if good := value - found >= 0.5 * step * hoped:
            at, marginals, value, slopes = trial, reached, found, uphill
        step *= GROWTH if good else SHRINKAGE
        trial = [table - step * slope for table, slope in zip(at, slopes, strict=True)]
    return at, marginals


def _build_edges(
    cliques: Sequence[Clique], parents: Sequence[int | None], tables: Tables
) -> tuple[TreeEdge, ...]:
    return tuple(
        _build_edge(place, parent, cliques, tables)
        for place, parent in enumerate(parents)
        if parent is not None
    )


def _build_edge(child: int, parent: int, cliques: Sequence[Clique], tables: Tables) -> TreeEdge:
    shared = set(cliques[child]) & set(cliques[parent])
    return TreeEdge(
        child,
        parent,
        *(_find_summed_axes(cliques[place], shared) for place in (child, parent)),
        *(
            _make_broadcast_shape(cliques[place], shared, tables[place])
            for place in (child, parent)
        ),
    )


def _build_term(one: NoisyMarginalLike, cliques: Sequence[Clique], tables: Tables) -> LossTerm:
    """Return what a noisy marginal says about the smallest clique that has it."""
    wanted = set(one.clique)
    place = min(
        (place for place, clique in enumerate(cliques) if wanted <= set(clique)),
        key=lambda place: tables[place].size,
    )
    shape = _make_broadcast_shape(cliques[place], wanted, tables[place])
    weights = np.broadcast_to(np.power(one.sigma, -2.0), one.counts.shape)
    return LossTerm(
        place,
        _find_summed_axes(cliques[place], wanted),
        one.counts.reshape(shape),
        weights.reshape(shape),
    )


def _find_summed_axes(clique: Clique, attributes: set[int]) -> Shape:
    return tuple(axis for axis, a in enumerate(clique) if a not in attributes)


def _make_broadcast_shape(clique: Clique, attributes: set[int], table: Floats) -> Shape:
    return tuple(
        size if a in attributes else 1 for a, size in zip(clique, table.shape, strict=True)
    )


def _sum_logs(table: Floats, summed: Shape) -> Floats:
    """Return the logarithm of sums over some axes, of a table of logarithms."""
    top = table.max(axis=summed, keepdims=True)
    found: Floats = top + np.log(np.exp(table - top).sum(axis=summed, keepdims=True))
    return found


# Steps times cells from which optimised code saves more than its compilation costs.
_MUCH_WORK = 3e7
_LITTLE_EFFORT = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}


def descend_mbi(task: DescentTask) -> tuple[Tables, Tables]:
    """Return potentials and counts of all cliques at the end of mirror descent.

    The same steps as those of `beliefs.descended`.
    """
    with load_mbi() as mbi:
        domain = _make_mbi_domain(task)
        factors = {
            clique: mbi.Factor(domain.project(clique), table)
            for clique, table in zip(task.cliques, task.begin, strict=True)
        }
        found = _run_mbi(task, mbi.CliqueVector(domain, task.cliques, factors))
        first, second = ([np.asarray(each[c].values) for c in task.cliques] for each in found)
    return first, second


def _make_mbi_domain(task: DescentTask) -> Any:
    import mbi

    sizes: dict[int, int] = {}
    for clique, table in zip(task.cliques, task.begin, strict=True):
        sizes.update(zip(clique, table.shape, strict=True))
    return mbi.Domain(sorted(sizes), [sizes[a] for a in sorted(sizes)])


def _run_mbi(task: DescentTask, begin: Any) -> Any:
    import jax
    import jax.numpy as jnp
    import mbi

    tree = _build_graph(task)
    loss = mbi.marginal_loss.from_linear_measurements(
        [_make_linear_measurement(one) for one in task.measured], begin.domain
    )

    def tried(state: Any, data: Any) -> Any:
        at, marginals, value, slope, trial, step = state
        reached = mbi.marginal_oracles.message_passing_hugin(trial, task.rows, jtree=tree)
        found, uphill = jax.value_and_grad(lambda m: loss.loss_fn(m, data))(reached)
        good = value - found >= 0.5 * step * slope.dot(marginals - reached)
        old, new = (at, marginals, value, slope), (trial, reached, found, uphill)
        at, marginals, value, slope = jax.tree.map(lambda o, n: jnp.where(good, n, o), old, new)
        step = step * jnp.where(good, GROWTH, SHRINKAGE)
        return at, marginals, value, slope, at - step * slope, step

    def descend(begin: Any, data: Any, step: float, steps: int) -> Any:
        zero = jax.tree.map(jnp.zeros_like, begin)
        first = (begin, zero, jnp.inf, zero, begin, step)
        return jax.lax.fori_loop(0, steps, lambda _, state: tried(state, data), first)[:2]

    much = task.iterations * begin.size() > _MUCH_WORK
    program = jax.jit(descend, compiler_options=None if much else _LITTLE_EFFORT)
    return program(begin, loss.data, task.step, task.iterations)


def _build_graph(task: DescentTask) -> Any:
    import networkx as nx

    tree = nx.Graph()
    tree.add_nodes_from(task.cliques)
    tree.add_edges_from(
        (clique, task.cliques[up])
        for clique, up in zip(task.cliques, task.parents, strict=True)
        if up is not None
    )
    return tree


def _make_linear_measurement(one: NoisyMarginalLike) -> Any:
    """Return a measurement as `mbi` has it: where noise differs, cells are in units of theirs."""
    import mbi

    if np.ndim(one.sigma) == 0:
        return mbi.LinearMeasurement(one.counts.ravel(), one.clique, one.sigma)
    weights = np.ravel(1 / one.sigma)
    query = mbi.WeightedQuery(weights)
    return mbi.LinearMeasurement(one.counts.ravel() * weights, one.clique, 1.0, query)


@contextmanager
def load_mbi() -> Iterator[Any]:
    """Import `mbi`, and let it count in double precision as long as this lasts."""
    import jax

    with jax.enable_x64(new_val=True), warnings.catch_warnings():
        # `mbi` warns of a cache of programs that nobody has turned on.
        warnings.filterwarnings("ignore", message="JAX persistent compilation cache")
        import mbi

        yield mbi


INFERENCE = {"mbi": descend_mbi, "numpy": descend_numpy}
_MEGABYTE = 2**20


@dataclass(frozen=True, eq=False)
class MarginalMeasurement:
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
class GraphicalModel:
    """A graphical model of a table.

    Args:
        forest: Its junction tree.
        rows: The number of rows that it speaks of.
        potentials: Its parameters, a table for each clique: where a later fit may begin.
    """

    forest: CliqueForest
    rows: float
    potentials: Sequence[Floats]

    def compute_marginal(self, clique: Clique) -> Floats:
        """Return the counts of a marginal, whether or not it was measured."""
        return self.rows * self.forest.compute_marginal(clique)

    def sample(self, size: int, rng: np.random.Generator) -> Codes:
        """Return rows whose marginals are those of the model, but for rounding."""
        return self.forest.sample(size, rng)


def fit_model(
    sizes: Sequence[int],
    measured: Sequence[MarginalMeasurement],
    *,
    rows: float,
    iterations: int,
    start: GraphicalModel | None = None,
    inference: str = "mbi",
) -> GraphicalModel:
    """Return the model that explains noisy marginals.

    Args:
        sizes: The number of cells of each attribute.
        measured: What is known. Attributes of which nothing is are uniform.
        rows: The number of rows.
        iterations: Steps of mirror descent.
        start: The model to begin with; None for the uniform one.
        inference: Who passes the messages: `mbi` or `numpy`.

    Example:
        >>> by_ward = MarginalMeasurement((0, 1), np.array([[40.0, 10.0], [10.0, 40.0]]), 1.0)
        >>> model = fit_model((2, 2, 3), [by_ward], rows=100, iterations=200, inference="numpy")
        >>> model.compute_marginal((0, 1)).round(1)
        array([[40., 10.],
               [10., 40.]])
        >>> model.compute_marginal((2,)).round(1)
        array([33.3, 33.3, 33.3])
    """
    descended = INFERENCE[validation.check_one_of("inference", inference, list(INFERENCE))]
    known = combine_measurements(measured)
    cliques, parents = build_junction_tree(sizes, [one.clique for one in known])
    begin = [np.zeros([sizes[a] for a in clique]) for clique in cliques]
    if start is not None:
        _add_potentials(start, cliques, begin)
    step = 2 / (_bound_steepness(known) * rows)
    potentials, counts = descended(
        DescentTask(cliques, parents, known, begin, rows, step, iterations)
    )
    shares = tuple(table / rows for table in counts)
    return GraphicalModel(CliqueForest(tuple(sizes), cliques, parents, shares), rows, potentials)


def combine_measurements(measured: Sequence[MarginalMeasurement]) -> list[MarginalMeasurement]:
    """Return one measurement for each clique: the mean of all, by their variances.

    Example:
        >>> twice = [
        ...     MarginalMeasurement((0,), np.array([4.0]), 1.0),
        ...     MarginalMeasurement((0,), np.array([9.0]), 2.0),
        ... ]
        >>> [(m.counts, float(m.sigma.round(3))) for m in combine_measurements(twice)]
        [(array([5.]), 0.894)]
    """
    grouped: dict[Clique, list[MarginalMeasurement]] = {}
    for one in measured:
        grouped.setdefault(one.clique, []).append(one)
    return [_average_measurements(clique, several) for clique, several in grouped.items()]


def _average_measurements(
    clique: Clique, several: Sequence[MarginalMeasurement]
) -> MarginalMeasurement:
    weights = [np.power(one.sigma, -2.0) for one in several]
    counts = sum((w * one.counts for w, one in zip(weights, several, strict=True)), np.zeros(()))
    return MarginalMeasurement(clique, counts / sum(weights), np.power(sum(weights), -0.5))


def compute_model_megabytes(sizes: Sequence[int], cliques: Sequence[Clique]) -> float:
    """Return how large the junction tree of a model of some cliques is, at 8 bytes a cell.

    Example:
        >>> round(compute_model_megabytes((64, 64, 64), [(0, 1), (1, 2)]) * 2**20 / 8) == 2 * 64**2
        True
    """
    return count_junction_cells(sizes, cliques) * 8 / _MEGABYTE


def _add_potentials(
    model: GraphicalModel, cliques: Sequence[Clique], tables: Sequence[Floats]
) -> None:
    """Add the potentials of a model to tables of other cliques, each where there is room for it."""
    for old, potential in zip(model.forest.cliques, model.potentials, strict=True):
        hosts = [place for place, clique in enumerate(cliques) if set(old) <= set(clique)]
        if hosts:
            place = min(hosts, key=lambda host: tables[host].size)
            tables[place][...] += np.expand_dims(
                potential, [axis for axis, a in enumerate(cliques[place]) if a not in old]
            )


def _bound_steepness(known: Sequence[MarginalMeasurement]) -> float:
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
