"""How a generator is fitted to the marginals that were measured, and averaged over rounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabpe.baselines import relaxed
from tabpe.baselines.generator import Generator, Step, Weights, stepper
from tabpe.baselines.relaxed import Layout

Shares = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Answers:
    """What was measured: the share of all rows in each cell of some marginals of one degree.

    Args:
        layout: The attributes.
        cliques: The attributes of each marginal.
        shares: The shares in the cells of each.

    Example:
        >>> answers = Answers(Layout((2, 2))).joined((0,), np.array([0.25, 0.75]))
        >>> rows = relaxed.one_hot(np.array([[0, 0], [1, 1]]), (2, 2))
        >>> answers.errors(rows).tolist()
        [0.25, 0.25]
    """

    layout: Layout
    cliques: tuple[tuple[int, ...], ...] = ()
    shares: tuple[Shares, ...] = ()

    def joined(self, clique: Sequence[int], shares: Shares) -> Answers:
        """Return these answers and one more."""
        return Answers(self.layout, (*self.cliques, tuple(clique)), (*self.shares, shares))

    @cached_property
    def cells(self) -> NDArray[np.int64]:
        """All cells, as places of the values that make them up."""
        return np.concatenate([self.layout.cells(clique) for clique in self.cliques])

    @cached_property
    def wanted(self) -> Shares:
        """The share of all rows in each of the cells."""
        return np.concatenate(self.shares)

    def errors(self, rows: relaxed.Probabilities) -> Shares:
        """Return how far the share of relaxed rows in each cell is from what was measured."""
        found = np.concatenate([relaxed.marginal(rows, clique) for clique in self.cliques])
        return np.abs(found - self.wanted)

    def worst(self, rows: relaxed.Probabilities, above: float, most: int) -> NDArray[np.int64]:
        """Return the cells whose errors are not below `above`: the `most` largest of them."""
        errors = self.errors(rows)
        places = np.flatnonzero(errors >= above)
        if len(places) <= most:
            return places
        return places[np.argpartition(errors[places], -most)[-most:]]


@dataclass(frozen=True, eq=False)
class Training:
    """A network and how it learns.

    Args:
        generator: The network.
        rate: The first rate of learning.
        steps: The most steps of a fit.
        most: The most cells that a step looks at.
    """

    generator: Generator
    rate: float
    steps: int
    most: int

    @cached_property
    def _compiled(self) -> tuple[Step, Any, Any]:
        import jax

        step, start = stepper(self.generator, self.rate, self.steps)
        return step, start, jax.jit(self.generator.relaxed)

    def rows(self, weights: Weights) -> list[NDArray[np.float32]]:
        """Return the relaxed rows that the network makes with these weights."""
        made = self._compiled[2]
        return self.generator.layout.split(np.asarray(made(weights)))

    def fitted(self, weights: Weights, answers: Answers, above: float) -> Weights:
        """Return the weights after they were fitted to answers, as long as errors stand out.

        Args:
            weights: What to start from.
            answers: What to fit to.
            above: Errors below it are left alone.
        """
        step, start, _ = self._compiled
        state, rows = start(weights), self.rows(weights)
        for _ in range(self.steps):
            worst = answers.worst(rows, above, self.most)
            if not len(worst):
                break
            weights, state, made = step(weights, state, *self._padded(answers, worst))
            rows = self.generator.layout.split(np.asarray(made))
        return weights

    def _padded(self, answers: Answers, worst: NDArray[np.int64]) -> tuple[Any, Any, Any]:
        """Return cells, what is wanted, and what counts, always of the same shapes."""
        places = np.resize(worst, self.most)
        counts = (np.arange(self.most) < len(worst)).astype(np.float32)
        return answers.cells[places], answers.wanted[places].astype(np.float32), counts


@dataclass(frozen=True, eq=False)
class Average:
    """A moving average of weights.

    Args:
        smoothing: How much of it stays when weights join; less at first, when few have joined.
        weights: The average.
        joined_by: How many weights it is of.

    Example:
        >>> average = Average(0.9).joined([np.array(1.0)]).joined([np.array(2.0)])
        >>> float(average.weights[0])
        1.5
    """

    smoothing: float
    weights: Weights = None
    joined_by: int = 0

    def joined(self, weights: Weights) -> Average:
        """Return the average with these weights."""
        import jax

        if not self.joined_by:
            return Average(self.smoothing, weights, 1)
        stays = min(self.smoothing, self.joined_by / (self.joined_by + 1))
        mixed = jax.tree.map(lambda a, b: stays * a + (1 - stays) * b, self.weights, weights)
        return Average(self.smoothing, mixed, self.joined_by + 1)
