"""Private evolution, the strategy of the paper: candidates, votes, selection, variation.

Privacy: nothing here reads a private row. `vote` is the only access, and what it returns is noisy
already; everything else is post-processing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabpe.encoding import Records
from tabpe.evolution.config import Evolution
from tabpe.evolution.extensions import (
    RoundObserver,
    VotedCandidates,
    apply_rule,
    freeze_array,
    freeze_rows,
    ignore_round,
    is_extension_name,
)
from tabpe.evolution.proposals import Proposal
from tabpe.measurement import NoisyCounts


@dataclass(frozen=True)
class EvolutionRound:
    """One round: a histogram, a selection and, except in the last, variations.

    Args:
        index: Its number, from 0.
        selection: `sampling` in proportion to the votes, `ranking`, which takes the top, or the
            `module:object` of a rule from outside.
        variations: Variations of each selected row.
        keeps_parents: Whether the selected rows are candidates of the next round too.
        mutation_rate: Its mutation rate.
    """

    index: int
    selection: str
    variations: int
    keeps_parents: bool
    mutation_rate: float


def plan_rounds(config: Evolution) -> tuple[EvolutionRound, ...]:
    """Return the rounds of an evolution.

    Example:
        >>> rounds = plan_rounds(Evolution(rounds=4, sampling_rounds=1))
        >>> [(step.selection, step.variations) for step in rounds]
        [('sampling', 1), ('sampling', 3), ('ranking', 3), ('ranking', 3)]
    """
    return tuple(_plan_round(config, index) for index in range(config.rounds))


def compute_mutation_rate(config: Evolution, index: int) -> float:
    """Return the mutation rate of round `index`.

    Example:
        >>> compute_mutation_rate(Evolution(), 0)
        0.5
    """
    gamma = 1.0 if config.schedule == "linear" else config.gamma
    progress = float((index / (config.horizon or config.rounds)) ** gamma)
    return config.mutation_init - (config.mutation_init - config.mutation_final) * progress


def _plan_round(config: Evolution, index: int) -> EvolutionRound:
    grows, selection = index >= config.sampling_rounds, str(config.selection)
    if selection == "two-stage":
        samples = index < config.sampling_rounds + int(config.sample_while_growing)
        selection = "sampling" if samples else "ranking"
    elif not is_extension_name(selection):
        grows = selection == "ranking"
    return EvolutionRound(
        index=index,
        selection=selection,
        variations=config.variations if grows else 1,
        keeps_parents=grows,
        mutation_rate=compute_mutation_rate(config, index),
    )


Votes = NDArray[np.int64]


def sample_by_votes(votes: Votes, size: int, rng: np.random.Generator) -> Votes:
    """Draw with replacement, in proportion to the positive votes; evenly if there are none.

    Example:
        >>> sample_by_votes(np.array([-3, 5, 0]), 4, np.random.default_rng(0))
        array([1, 1, 1, 1])
    """
    if size == 0:
        return np.empty(0, dtype=np.int64)
    positive = np.maximum(votes, 0).astype(np.float64)
    total = positive.sum()
    weights = positive / total if total > 0 else np.full(len(votes), 1 / len(votes))
    return rng.choice(len(votes), size=size, p=weights)


def rank_by_votes(votes: Votes, size: int) -> Votes:
    """Take the candidates with the most votes; of equal ones the lowest index.

    Example:
        >>> rank_by_votes(np.array([2, 9, 2, 4]), 3)
        array([1, 3, 0])
    """
    return np.argsort(-votes, kind="stable")[:size]


def draw_systematic(weights: NDArray[np.float64], size: int, rng: np.random.Generator) -> Votes:
    """Return the indices of `size` draws by weight, ascending, by systematic sampling.

    How often an index is drawn differs from its share of the draws by less than one.

    Example:
        >>> draw_systematic(np.array([1.0, 2.0, 1.0]), 8, np.random.default_rng(0))
        array([0, 0, 1, 1, 1, 1, 2, 2])
    """
    ends = np.cumsum(weights)
    marks = (rng.random() + np.arange(size)) * (ends[-1] / max(size, 1))
    indices: Votes = np.searchsorted(ends, marks, side="right").clip(max=len(weights) - 1)
    return indices


VoteQuery = Callable[[Sequence[Records], int], NoisyCounts]


@dataclass(frozen=True, eq=False)
class SamplingPool:
    """Rows that represent the table, from which more rows can be drawn; all of it is public.

    Args:
        rows: The rows.
        classes: The class of each.
        weights: How likely each is drawn, in proportion.
    """

    rows: Records
    classes: NDArray[np.int64]
    weights: NDArray[np.float64]

    def draw_rows(
        self, size: int, shares: NDArray[np.float64], rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """Return the indices of `size` rows, drawn by weight, in random order.

        Args:
            size: How many.
            shares: How likely a row of each class is, in proportion; 0 for none.
            rng: Source of randomness.
        """
        totals = np.bincount(self.classes, self.weights, minlength=len(shares))
        scale = np.divide(shares, totals, out=np.zeros(len(shares)), where=totals > 0)
        return rng.permutation(draw_systematic(self.weights * scale[self.classes], size, rng))


@dataclass(frozen=True, eq=False)
class EvolutionResult:
    """The result of an evolution.

    Args:
        classes: The synthetic rows of each class.
        history: A record of each round; public and noisy quantities only.
        votes_help: Whether votes carry information about the rows; if not, there are no rows.
        pool: What the rows were drawn from, if they were.
    """

    classes: list[Records]
    history: list[dict[str, Any]]
    votes_help: bool = True
    pool: SamplingPool | None = None


def evolve(
    proposal: Proposal,
    sizes: Sequence[int],
    config: Evolution,
    vote: VoteQuery,
    *,
    seed: int,
    on_round: Callable[[int], None] = lambda _: None,
    observe: RoundObserver = ignore_round,
) -> EvolutionResult:
    """Evolve `sizes[c]` rows for every class c.

    Args:
        proposal: Draws and mutates rows.
        sizes: The number of rows of each class.
        config: The settings.
        vote: Returns the noisy votes for the candidates of each class; called once a round, with
            its number.
        seed: Drives the random choices here, and none of the noise.
        on_round: Called with the number of rounds done, before each round.
        observe: Called with the selected rows, after each round.

    Returns:
        The selected rows of the last round.
    """
    population = [
        proposal.draw_initial(label, size, _make_generator(seed, 0, label))
        for label, size in enumerate(sizes)
    ]
    parents: list[Records] = []
    history = []
    for step in plan_rounds(config):
        on_round(step.index)
        measured = vote([proposal.to_voting_space(rows) for rows in population], step.index)
        history.append(_make_record(step, population, measured))
        rngs = [_make_generator(seed, step.index + 1, label) for label in range(len(sizes))]
        parents = _select_parents(population, measured, sizes, step, rngs)
        classes = np.repeat(np.arange(len(sizes)), [len(rows) for rows in parents])
        observe(Records.concat(parents), classes, np.ones(len(classes)), history[-1])
        if step.index + 1 < config.rounds:
            vary = partial(proposal.vary_rows, rate=step.mutation_rate, config=config)
            population = [
                _make_offspring(rows, step, partial(vary, label=label, rng=rng))
                for label, (rows, rng) in enumerate(zip(parents, rngs, strict=True))
            ]
    return EvolutionResult(parents, history)


def _select_parents(
    population: Sequence[Records],
    measured: NoisyCounts,
    sizes: Sequence[int],
    step: EvolutionRound,
    rngs: Sequence[np.random.Generator],
) -> list[Records]:
    """Return the selected candidates of each class."""
    parents = []
    for label, (candidates, size, rng) in enumerate(zip(population, sizes, rngs, strict=True)):
        votes = measured.values[label]
        if is_extension_name(step.selection):
            rows, shown = freeze_rows(candidates), freeze_array(votes / measured.scale)
            voted = VotedCandidates(rows, shown, measured.sigma, size, label, step.index)
            chosen = apply_rule(step.selection, voted, rng)
        elif step.selection == "sampling":
            chosen = sample_by_votes(votes, size, rng)
        else:
            chosen = rank_by_votes(votes, size)
        parents.append(candidates.take(chosen))
    return parents


def _make_offspring(
    parents: Records, step: EvolutionRound, vary: Callable[[Records], Records]
) -> Records:
    children = vary(parents.repeat(step.variations))
    return Records.concat([children, parents]) if step.keeps_parents else children


def _make_record(
    step: EvolutionRound, population: Sequence[Records], measured: NoisyCounts
) -> dict[str, Any]:
    noisy = np.concatenate([*measured.values, np.empty(0, dtype=np.int64)])
    return {
        "round": step.index + 1,
        "selection": step.selection,
        "mutation_rate": step.mutation_rate,
        "sigma": measured.sigma,
        "population": sum(len(candidates) for candidates in population),
        "noisy_votes_total": round(int(noisy.sum()) / measured.scale),
        "noisy_votes_largest": round(int(noisy.max(initial=0)) / measured.scale),
    }


def _make_generator(seed: int, step: int, label: int) -> np.random.Generator:
    """Return the generator of one class in one round, whatever else was drawn before."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(step, label)))


def apportion(total: int, weights: Sequence[float] | NDArray[np.float64]) -> list[int]:
    """Split `total` in proportion to `weights`, by largest remainder; ties to the lowest index.

    Weights below 0, which noise can make, count as 0; if none is above 0 all are equal.

    Example:
        >>> apportion(10, [3, 3, 1, -2])
        [4, 4, 2, 0]
        >>> apportion(3, [0, 0])
        [2, 1]
    """
    positive = np.maximum(np.asarray(weights, dtype=np.float64), 0)
    if positive.sum() <= 0:
        positive = np.ones(len(positive))
    quota = total * (positive / positive.sum())
    sizes = np.floor(quota).astype(np.int64)
    left = total - int(sizes.sum())
    sizes[np.argsort(sizes - quota, kind="stable")[:left]] += 1
    return [int(size) for size in sizes]


def apportion_with_floor(
    total: int, weights: Sequence[float] | NDArray[np.float64], floor: int
) -> list[int]:
    """Split `total` in proportion to `weights`, with at least `floor` for each weight above 0.

    The floor reduces all others in proportion. If no weight is above 0 all are equal. If there is
    not enough for the floor, all with a weight above 0 get the same.

    Example:
        >>> apportion_with_floor(100, [900, 80, 20, 0], floor=10)
        [80, 10, 10, 0]
        >>> apportion_with_floor(100, [900, 80, 20, 0], floor=20)
        [60, 20, 20, 0]
        >>> apportion_with_floor(100, [900, 80, 20, 0], floor=0)
        [90, 8, 2, 0]
    """
    positive = np.maximum(np.asarray(weights, dtype=np.float64), 0.0)
    if not positive.any():
        positive = np.ones(len(positive))
    present = positive > 0
    floor = min(floor, total // int(present.sum()))
    low = np.zeros(len(positive), dtype=bool)
    while True:
        sizes = np.where(low, floor, 0)
        sizes[~low] = apportion(total - int(sizes.sum()), positive[~low])
        below = present & ~low & (sizes < floor)
        if not below.any():
            return [int(size) for size in sizes]
        low |= below
