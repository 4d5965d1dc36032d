"""PrivMRF: a Markov random field over marginals chosen by their error (Cai et al., 2021).

A graph of attributes that depend on each other says which marginals a model can hold. It begins
with the marginal that says most about each attribute, and goes on with those that the model gets
most wrong. Marginals that noise would drown are never measured: a count in them must be, on
average, `theta` times as large as its noise.

What differs from the published method:

- Dependence (the R-score) is the distance of a pair from the product of noisy 1-way marginals,
  which is public when it is asked for. So a row changes it by at most 1, not 4 (the authors halve
  it, and have 2). The 1-way marginals take half of what the graph may cost, and the model knows
  them too.
- Edges of the graph are tried once each, by their dependence. The authors try all of them anew for
  each that joins.
- Parents of an attribute join one by one. The authors look through all sets of them.
- Marginals inside one that was chosen are candidates no more, and edges that were filled in stay.
- Attributes have no hierarchies of values. The authors gave some to columns of Adult.
- The model is fitted by `mbi`, for the marginals that were measured, not for whole cliques of the
  graph: it is the same model, with fewer cells. Only the last fit takes all iterations; those
  before begin where the one before them ended, and take a sixth.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tabpe import _validate
from tabpe.baselines.attribute_graph import (
    Limits,
    attribute_graph,
    candidates,
    first_marginals,
    inside,
)
from tabpe.baselines.dependence import measured, measured_singles, pair_dependence
from tabpe.baselines.desk import Desk
from tabpe.baselines.domain import Clique, Rows
from tabpe.baselines.markov import INFERENCE, Measured, Model, fit_model
from tabpe.privacy.plan import Part, sigma_for

# Parts of the loss: for the graph, and to ask which marginals the model gets wrong. The rest is for
# the marginals.
_GRAPH, _ERRORS = 0.1, 0.1
# Marginals that are chosen by their error, for each attribute; and in how many rounds at most.
_CHOSEN, _ROUNDS = 0.8, 8
# The part of all iterations that a fit between two rounds takes.
_BETWEEN = 1 / 6
# The most cells of all cliques of the graph.
_MODEL_CELLS = 5e7
_MARGINALS = "marginals"


@dataclass(frozen=True)
class PrivMRF:
    """PrivMRF, with the settings of the paper.

    Args:
        degree: The most attributes of a marginal.
        theta: How many times its noise a count should be, on average over a marginal.
        sample_size: Of how many marginals the error is asked in a round.
        iterations: Steps of the last fit.
        size_penalty: How much dependence a cell of the graph's cliques must be worth.
        max_clique_size: The most cells of a clique of the graph. A large epsilon fills that up; 1e5
            keeps the model of a table like Adult small enough for a laptop.
        inference: Who passes the messages of the model: `mbi` or `numpy`.

    Example:
        >>> PrivMRF(degree=2).theta
        6.0
    """

    name: ClassVar[str] = "PrivMRF"
    adaptive: ClassVar[bool] = True
    binned: ClassVar[bool] = True

    degree: int = 3
    theta: float = 6.0
    sample_size: int = 400
    iterations: int = 3000
    size_penalty: float = 1e-8
    max_clique_size: float = 1e7
    inference: str = "mbi"

    def __post_init__(self) -> None:
        for name in ("degree", "sample_size", "iterations"):
            _validate.whole(name, getattr(self, name), least=1)
        for name in ("theta", "max_clique_size"):
            _validate.real(name, getattr(self, name), above=0)
        _validate.real("size_penalty", self.size_penalty, above=0, least=True)
        _validate.one_of("inference", self.inference, list(INFERENCE))

    def parts(self, attributes: int) -> tuple[Part, ...]:  # noqa: ARG002
        """Return nothing: what is measured, and how well, follows from what was measured before."""
        return ()

    def synthesise(self, desk: Desk, size: int) -> Rows:
        """Return `size` rows of a model of noisy marginals."""
        loss = desk.left
        known = measured_singles(desk, loss * _GRAPH / 2)
        dependence = pair_dependence(desk, known, loss * _GRAPH / 2)
        plan = self._plan(desk, dependence, loss)
        known += measured(desk, _MARGINALS, plan.first, plan.sigma)
        model = self._fitted(desk, known, None, last=not plan.numbers)
        weights = plan.later
        for turn, number in enumerate(plan.numbers, start=1):
            asked = _drawn(weights, self.sample_size, desk.rng)
            part = f"errors, round {turn}"
            worst = _worst(desk, model, asked, number, part=part, loss=plan.asking)
            weights = _after(weights, asked, worst)
            known += measured(desk, _MARGINALS, worst, plan.sigma)
            model = self._fitted(desk, known, model, last=turn == len(plan.numbers))
        return desk.rows_of(model.sample(size, desk.rng))

    def _plan(self, desk: Desk, dependence: Mapping[Clique, float], loss: float) -> _Plan:
        """Return what will be measured: marginals to begin with, and candidates for later."""
        sizes, rows = desk.domain.sizes, max(desk.rows, 1.0)
        shares = {pair: distance / (2 * rows) for pair, distance in dependence.items()}
        limits = Limits(self.max_clique_size, _MODEL_CELLS, self.size_penalty)
        cliques = attribute_graph(shares, sizes, limits)
        most = self.useful_cells(rows, desk.left - loss * _ERRORS, len(sizes))
        first = first_marginals(
            cliques, shares, sizes, most_cells=most, degree=self.degree, rng=desk.rng
        )
        every = candidates(cliques, sizes, most_cells=most, degree=self.degree)
        later = {one: weight for one, weight in every.items() if not inside(one, first)}
        numbers = rounds_of(len(sizes), len(later))
        asking = loss * _ERRORS if sum(numbers) < len(later) else 0.0
        sigma = sigma_for(desk.left - asking, len(first) + sum(numbers))
        return _Plan(first, later, numbers, sigma, asking / max(len(numbers), 1))

    def useful_cells(self, rows: float, loss: float, attributes: int) -> float:
        """Return the most cells of a marginal whose counts stand out from their noise.

        Args:
            rows: The number of rows.
            loss: What all marginals may cost.
            attributes: The number of attributes, which decides how many marginals there will be.

        Example:
            >>> round(PrivMRF(theta=6).useful_cells(30_000, 0.04, 15))
            241
        """
        sigma = sigma_for(loss, attributes + int(_CHOSEN * attributes))
        return rows / (self.theta * sigma * math.sqrt(2 / math.pi))

    def _fitted(
        self, desk: Desk, known: Sequence[Measured], start: Model | None, *, last: bool
    ) -> Model:
        iterations = self.iterations if last else max(round(self.iterations * _BETWEEN), 1)
        return fit_model(
            desk.domain.sizes,
            known,
            rows=max(desk.rows, 1.0),
            iterations=iterations,
            start=start,
            inference=self.inference,
        )


@dataclass(frozen=True)
class _Plan:
    """What will be measured, and with which noise.

    Args:
        first: The marginals to begin with.
        later: Candidates for the rounds, with their weights.
        numbers: How many of them are measured in each round.
        sigma: The noise on all marginals.
        asking: What a round may cost to find them; 0 if all are taken.
    """

    first: list[Clique]
    later: Mapping[Clique, float]
    numbers: tuple[int, ...]
    sigma: float
    asking: float


def rounds_of(attributes: int, available: int) -> tuple[int, ...]:
    """Return how many marginals are chosen by their error in each round.

    Example:
        >>> rounds_of(15, 200)
        (2, 2, 2, 2, 2, 1, 1)
        >>> rounds_of(15, 5)
        (5,)
    """
    number = min(int(_CHOSEN * attributes), available)
    if number == available:
        return (number,) if number else ()
    rounds = min(max(attributes // 2, 1), _ROUNDS, number)
    return tuple(len(part) for part in np.array_split(np.arange(number), rounds)) if number else ()


def _drawn(weights: Mapping[Clique, float], most: int, rng: np.random.Generator) -> list[Clique]:
    """Return some of the candidates, drawn by their weights; all if they are few."""
    every = list(weights)
    if len(every) <= most:
        return every
    chances = np.array(list(weights.values()))
    drawn = rng.choice(len(every), most, replace=False, p=chances / chances.sum())
    return [every[place] for place in sorted(drawn.tolist())]


def _worst(
    desk: Desk, model: Model, asked: Sequence[Clique], number: int, *, part: str, loss: float
) -> list[Clique]:
    """Return the marginals that a model gets most wrong, by noisy distances."""
    if number >= len(asked):
        return list(asked)
    estimates = [model.marginal(clique) for clique in asked]
    errors = desk.distances(part, asked, estimates, sigma=sigma_for(loss, len(asked)))
    chosen: list[Clique] = []
    for place in np.argsort(-errors, kind="stable").tolist():
        # Whoever knows a marginal knows all parts of it.
        if len(chosen) < number and not inside(asked[place], chosen):
            chosen.append(asked[place])
    return chosen


def _after(
    weights: Mapping[Clique, float], asked: Sequence[Clique], chosen: Sequence[Clique]
) -> dict[Clique, float]:
    """Return the candidates for the next round: those that were asked about weigh half."""
    seen = set(asked)
    return {
        clique: weight / 2 if clique in seen else weight
        for clique, weight in weights.items()
        if not inside(clique, chosen)
    }
