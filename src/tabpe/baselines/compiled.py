"""Mirror descent for a graphical model by the package `mbi`, as one compiled program.

`mbi` passes the messages, once a step. A new set of cliques is a new program, and for models of a
usual size the compiler takes far longer than the program: so little work is compiled with little
effort.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from tabpe.baselines.beliefs import GROWTH, SHRINKAGE, Descent, Noisy, Tables

# Steps times cells from which optimised code saves more than its compilation costs.
_MUCH_WORK = 3e7
_LITTLE_EFFORT = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}


def descended(task: Descent) -> tuple[Tables, Tables]:
    """Return potentials and counts of all cliques at the end of mirror descent.

    The same steps as those of `beliefs.descended`.
    """
    with loaded() as mbi:
        domain = _domain(task)
        factors = {
            clique: mbi.Factor(domain.project(clique), table)
            for clique, table in zip(task.cliques, task.begin, strict=True)
        }
        found = _run(task, mbi.CliqueVector(domain, task.cliques, factors))
        first, second = ([np.asarray(each[c].values) for c in task.cliques] for each in found)
    return first, second


def _domain(task: Descent) -> Any:
    import mbi

    sizes: dict[int, int] = {}
    for clique, table in zip(task.cliques, task.begin, strict=True):
        sizes.update(zip(clique, table.shape, strict=True))
    return mbi.Domain(sorted(sizes), [sizes[a] for a in sorted(sizes)])


def _run(task: Descent, begin: Any) -> Any:
    import jax
    import jax.numpy as jnp
    import mbi

    tree = _graph(task)
    loss = mbi.marginal_loss.from_linear_measurements(
        [_linear(one) for one in task.measured], begin.domain
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


def _graph(task: Descent) -> Any:
    import networkx as nx

    tree = nx.Graph()
    tree.add_nodes_from(task.cliques)
    tree.add_edges_from(
        (clique, task.cliques[up])
        for clique, up in zip(task.cliques, task.parents, strict=True)
        if up is not None
    )
    return tree


def _linear(one: Noisy) -> Any:
    """Return a measurement as `mbi` has it: where noise differs, cells are in units of theirs."""
    import mbi

    if np.ndim(one.sigma) == 0:
        return mbi.LinearMeasurement(one.counts.ravel(), one.clique, one.sigma)
    weights = np.ravel(1 / one.sigma)
    query = mbi.WeightedQuery(weights)
    return mbi.LinearMeasurement(one.counts.ravel() * weights, one.clique, 1.0, query)


@contextmanager
def loaded() -> Iterator[Any]:
    """Import `mbi`, and let it count in double precision as long as this lasts."""
    import jax

    with jax.enable_x64(new_val=True), warnings.catch_warnings():
        # `mbi` warns of a cache of programs that nobody has turned on.
        warnings.filterwarnings("ignore", message="JAX persistent compilation cache")
        import mbi

        yield mbi
