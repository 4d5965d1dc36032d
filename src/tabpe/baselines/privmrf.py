"""PrivMRF: a Markov random field over marginals chosen by their error (Cai et al., 2021).

Which attributes a Markov random field may join: PrivMRF's graph and the marginals inside of it.

The graph has an edge where two attributes depend on each other. It is triangulated, because a model
holds one table for each maximal clique of the triangulated graph: these decide how large the model
can become. Marginals are chosen inside of cliques, so that the model can hold any of them.

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

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tabpe._utils import validation
from tabpe.accounting.calibration import BudgetShare, compute_sigma
from tabpe.baselines.domain import Clique, SyntheticRows
from tabpe.baselines.graphical_model import (
    INFERENCE,
    GraphicalModel,
    MarginalMeasurement,
    fit_model,
)
from tabpe.baselines.privsyn import measure_dependence, measure_marginals, measure_one_ways
from tabpe.baselines.session import BaselineSession

Dependence = Mapping[Clique, float]


@dataclass(frozen=True)
class ModelLimits:
    """How large a model may become.

    Args:
        clique_cells: The most cells of one clique.
        model_cells: The most cells of all cliques together.
        penalty: How much dependence a cell must be worth.
    """

    clique_cells: float
    model_cells: float
    penalty: float


def build_attribute_graph(
    dependence: Dependence, sizes: Sequence[int], limits: ModelLimits
) -> list[Clique]:
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
        >>> build_attribute_graph(strong, [10, 10, 10], ModelLimits(100, 1000, 1e-8))
        [(0, 1), (1, 2)]
        >>> build_attribute_graph(strong, [10, 10, 10], ModelLimits(1000, 1000, 1e-8))
        [(0, 1, 2)]
    """
    cliques = triangulate_graph([], sizes)
    worth = _score_cliques(cliques, dependence, sizes, limits)
    for pair in sorted(dependence, key=lambda pair: (-dependence[pair], pair)):
        if dependence[pair] <= 0:
            break
        if is_inside(pair, cliques):
            continue
        grown = triangulate_graph(_list_edges(cliques) | {pair}, sizes)
        more = _score_cliques(grown, dependence, sizes, limits)
        if more > worth:
            cliques, worth = grown, more
    return cliques


def triangulate_graph(edges: Iterable[Clique], sizes: Sequence[int]) -> list[Clique]:
    """Return the maximal cliques of a graph, after edges were added to make it triangulated.

    Attributes are eliminated one after the other, always the one with the smallest clique.

    Example:
        >>> triangulate_graph([(0, 1), (1, 2), (2, 3), (0, 3)], [2, 2, 2, 2])
        [(0, 1, 3), (1, 2, 3)]
    """
    near: dict[int, set[int]] = {place: set() for place in range(len(sizes))}
    for one, other in edges:
        near[one].add(other)
        near[other].add(one)
    cliques: list[frozenset[int]] = []
    while near:
        first = min(near, key=lambda place: _count_cells((place, *near[place]), sizes))
        friends = near.pop(first)
        for friend in friends:
            near[friend] |= friends
            near[friend] -= {first, friend}
        clique = frozenset(friends | {first})
        if not any(clique <= known for known in cliques):
            cliques.append(clique)
    return sorted(tuple(sorted(clique)) for clique in cliques)


def choose_first_marginals(
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
        >>> choose_first_marginals([(0, 1), (2,)], {(0, 1): 0.5}, [2, 2, 2], most_cells=9, degree=2,
        ...     rng=np.random.default_rng(0))
        [(0, 1), (2,)]
    """
    best: dict[int, tuple[float, Clique]] = {}
    for clique in cliques:
        order = [int(place) for place in rng.permutation(clique)]
        for at, child in enumerate(order):
            found = _choose_parents(
                child, order[:at], dependence, sizes, most_cells=most_cells, degree=degree
            )
            best[child] = max(best.get(child, found), found)
    marginals = {clique for score, clique in best.values() if score > 0}
    held = set(itertools.chain.from_iterable(marginals))
    alone = {(place,) for place in range(len(sizes)) if place not in held}
    return keep_maximal(marginals | alone)


def weigh_candidates(
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
        >>> weigh_candidates([(0, 1), (1, 2)], [2, 3, 9], most_cells=10, degree=2)
        {(0,): 1.3..., (1,): 3.3..., (0, 1): 1.3..., (2,): 2.0}
    """
    weights: dict[Clique, float] = {}
    for clique in cliques:
        parts = [
            part
            for length in range(1, min(degree, len(clique)) + 1)
            for part in itertools.combinations(clique, length)
            if length == 1 or _count_cells(part, sizes) <= most_cells
        ]
        for part in parts:
            weights[part] = weights.get(part, 0.0) + len(clique) ** 2 / len(parts)
    return weights


def keep_maximal(cliques: Iterable[Clique]) -> list[Clique]:
    """Return the cliques that are no part of another one.

    Example:
        >>> keep_maximal([(0, 1), (1,), (1, 2, 3), (1, 3)])
        [(0, 1), (1, 2, 3)]
    """
    kept: list[Clique] = []
    for clique in sorted(set(cliques), key=len, reverse=True):
        if not is_inside(clique, kept):
            kept.append(clique)
    return sorted(kept)


def _choose_parents(
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
            (_compute_merit(child, [*parents, one], dependence), one)
            for one in before
            if one not in parents and _count_cells((child, one, *parents), sizes) <= most_cells
        ]
        if not options or max(options)[0] <= score:
            break
        score, chosen = max(options)
        parents.append(chosen)
    return score, tuple(sorted([child, *parents]))


def _compute_merit(child: int, parents: Sequence[int], dependence: Dependence) -> float:
    """Return how much parents say about a child; what they say twice counts less.

    The merit of a set of features in correlation-based feature selection (Hall, 1999).
    """
    said = sum(_get_dependence(child, one, dependence) for one in parents)
    twice = sum(_get_dependence(*pair, dependence) for pair in itertools.combinations(parents, 2))
    return said / math.sqrt(max(len(parents) + twice, 1.0))


def _get_dependence(one: int, other: int, dependence: Dependence) -> float:
    return dependence.get((min(one, other), max(one, other)), 0.0)


def _score_cliques(
    cliques: Sequence[Clique], dependence: Dependence, sizes: Sequence[int], limits: ModelLimits
) -> float:
    """Return the dependence inside of cliques less the penalty; nothing is worse than too large."""
    cells = [_count_cells(clique, sizes) for clique in cliques]
    if max(cells) > limits.clique_cells or sum(cells) > limits.model_cells:
        return -math.inf
    inner = sum(dependence.get(pair, 0.0) for pair in _list_edges(cliques))
    return inner - limits.penalty * sum(cells)


def _list_edges(cliques: Iterable[Clique]) -> set[Clique]:
    return {pair for clique in cliques for pair in itertools.combinations(clique, 2)}


def is_inside(part: Clique, cliques: Iterable[Clique]) -> bool:
    """Return whether a clique is part of one of some others."""
    return any(set(part) <= set(clique) for clique in cliques)


def _count_cells(clique: Iterable[int], sizes: Sequence[int]) -> int:
    return math.prod(sizes[place] for place in clique)


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
            validation.check_integer(name, getattr(self, name), least=1)
        for name in ("theta", "max_clique_size"):
            validation.check_real(name, getattr(self, name), above=0)
        validation.check_real("size_penalty", self.size_penalty, above=0, least=True)
        validation.check_one_of("inference", self.inference, list(INFERENCE))

    def parts(self, attributes: int) -> tuple[BudgetShare, ...]:  # noqa: ARG002
        """Return nothing: what is measured, and how well, follows from what was measured before."""
        return ()

    def synthesise(self, session: BaselineSession, size: int) -> SyntheticRows:
        """Return `size` rows of a model of noisy marginals."""
        loss = session.left
        known = measure_one_ways(session, loss * _GRAPH / 2)
        dependence = measure_dependence(session, known, loss * _GRAPH / 2)
        plan = self._make_plan(session, dependence, loss)
        known += measure_marginals(session, _MARGINALS, plan.first, plan.sigma)
        model = self._fit_model(session, known, None, last=not plan.numbers)
        weights = plan.later
        for turn, number in enumerate(plan.numbers, start=1):
            asked = _draw_candidates(weights, self.sample_size, session.rng)
            part = f"errors, round {turn}"
            worst = _find_worst(session, model, asked, number, part=part, loss=plan.asking)
            weights = _update_candidates(weights, asked, worst)
            known += measure_marginals(session, _MARGINALS, worst, plan.sigma)
            model = self._fit_model(session, known, model, last=turn == len(plan.numbers))
        return session.rows_of(model.sample(size, session.rng))

    def _make_plan(
        self, session: BaselineSession, dependence: Mapping[Clique, float], loss: float
    ) -> _MeasurementPlan:
        """Return what will be measured: marginals to begin with, and candidates for later."""
        sizes, rows = session.domain.sizes, max(session.rows, 1.0)
        shares = {pair: distance / (2 * rows) for pair, distance in dependence.items()}
        limits = ModelLimits(self.max_clique_size, _MODEL_CELLS, self.size_penalty)
        cliques = build_attribute_graph(shares, sizes, limits)
        most = self.compute_useful_cells(rows, session.left - loss * _ERRORS, len(sizes))
        first = choose_first_marginals(
            cliques, shares, sizes, most_cells=most, degree=self.degree, rng=session.rng
        )
        every = weigh_candidates(cliques, sizes, most_cells=most, degree=self.degree)
        later = {one: weight for one, weight in every.items() if not is_inside(one, first)}
        numbers = plan_rounds(len(sizes), len(later))
        asking = loss * _ERRORS if sum(numbers) < len(later) else 0.0
        sigma = compute_sigma(session.left - asking, len(first) + sum(numbers))
        return _MeasurementPlan(first, later, numbers, sigma, asking / max(len(numbers), 1))

    def compute_useful_cells(self, rows: float, loss: float, attributes: int) -> float:
        """Return the most cells of a marginal whose counts stand out from their noise.

        Args:
            rows: The number of rows.
            loss: What all marginals may cost.
            attributes: The number of attributes, which decides how many marginals there will be.

        Example:
            >>> round(PrivMRF(theta=6).compute_useful_cells(30_000, 0.04, 15))
            241
        """
        sigma = compute_sigma(loss, attributes + int(_CHOSEN * attributes))
        return rows / (self.theta * sigma * math.sqrt(2 / math.pi))

    def _fit_model(
        self,
        session: BaselineSession,
        known: Sequence[MarginalMeasurement],
        start: GraphicalModel | None,
        *,
        last: bool,
    ) -> GraphicalModel:
        iterations = self.iterations if last else max(round(self.iterations * _BETWEEN), 1)
        return fit_model(
            session.domain.sizes,
            known,
            rows=max(session.rows, 1.0),
            iterations=iterations,
            start=start,
            inference=self.inference,
        )


@dataclass(frozen=True)
class _MeasurementPlan:
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


def plan_rounds(attributes: int, available: int) -> tuple[int, ...]:
    """Return how many marginals are chosen by their error in each round.

    Example:
        >>> plan_rounds(15, 200)
        (2, 2, 2, 2, 2, 1, 1)
        >>> plan_rounds(15, 5)
        (5,)
    """
    number = min(int(_CHOSEN * attributes), available)
    if number == available:
        return (number,) if number else ()
    rounds = min(max(attributes // 2, 1), _ROUNDS, number)
    return tuple(len(part) for part in np.array_split(np.arange(number), rounds)) if number else ()


def _draw_candidates(
    weights: Mapping[Clique, float], most: int, rng: np.random.Generator
) -> list[Clique]:
    """Return some of the candidates, drawn by their weights; all if they are few."""
    every = list(weights)
    if len(every) <= most:
        return every
    chances = np.array(list(weights.values()))
    drawn = rng.choice(len(every), most, replace=False, p=chances / chances.sum())
    return [every[place] for place in sorted(drawn.tolist())]


def _find_worst(
    session: BaselineSession,
    model: GraphicalModel,
    cliques: Sequence[Clique],
    number: int,
    *,
    part: str,
    loss: float,
) -> list[Clique]:
    """Return the marginals that a model gets most wrong, by noisy distances."""
    if number >= len(cliques):
        return list(cliques)
    estimates = [model.compute_marginal(clique) for clique in cliques]
    errors = session.measure_distances(
        part, cliques, estimates, sigma=compute_sigma(loss, len(cliques))
    )
    chosen: list[Clique] = []
    for place in np.argsort(-errors, kind="stable").tolist():
        # Whoever knows a marginal knows all parts of it.
        if len(chosen) < number and not is_inside(cliques[place], chosen):
            chosen.append(cliques[place])
    return chosen


def _update_candidates(
    weights: Mapping[Clique, float], asked: Sequence[Clique], chosen: Sequence[Clique]
) -> dict[Clique, float]:
    """Return the candidates for the next round: those that were asked about weigh half."""
    seen = set(asked)
    return {
        clique: weight / 2 if clique in seen else weight
        for clique, weight in weights.items()
        if not is_inside(clique, chosen)
    }
