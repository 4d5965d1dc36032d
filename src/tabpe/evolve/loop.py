"""The rounds: candidates, noisy votes, selection, variation.

Nothing here sees a private row. `vote` is the only door, and what comes through it is noisy
already; everything else is post-processing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from tabpe.encode import Records
from tabpe.evolve.config import Evolution
from tabpe.evolve.schedule import Round, plan
from tabpe.evolve.select import select
from tabpe.evolve.terrain import Terrain
from tabpe.measure import Measured

Vote = Callable[[Sequence[Records], int], Measured]


@dataclass(frozen=True, eq=False)
class Evolved:
    """What an evolution gives.

    Args:
        classes: The synthetic rows of each class.
        history: For each round what it did; public and noisy quantities only.
        votes_help: Whether votes say something about the rows; if not, there are none.
    """

    classes: list[Records]
    history: list[dict[str, Any]]
    votes_help: bool = True


def evolve(
    terrain: Terrain,
    sizes: Sequence[int],
    config: Evolution,
    vote: Vote,
    *,
    seed: int,
    on_round: Callable[[int], None] = lambda _: None,
) -> Evolved:
    """Evolve `sizes[c]` rows for every class c.

    Args:
        terrain: Where rows are made up and moved.
        sizes: How many rows each class gets.
        config: The settings.
        vote: Returns the noisy votes for the candidates of each class; called once a round, with
            its number.
        seed: Drives the random choices here, and none of the noise.
        on_round: Called with the number of rounds done, before each round.

    Returns:
        The selected rows of the last round.
    """
    population = [
        terrain.random(label, size, _generator(seed, 0, label)) for label, size in enumerate(sizes)
    ]
    parents: list[Records] = []
    history = []
    for step in plan(config):
        on_round(step.index)
        measured = vote([terrain.seen(rows) for rows in population], step.index)
        history.append(_record(step, population, measured))
        rngs = [_generator(seed, step.index + 1, label) for label in range(len(sizes))]
        parents = [
            candidates.take(select(counts, size, rng, samples=step.samples))
            for candidates, counts, size, rng in zip(
                population, measured.values, sizes, rngs, strict=True
            )
        ]
        if step.index + 1 < config.rounds:
            vary = partial(terrain.varied, rate=step.mutation_rate, config=config)
            population = [
                _offspring(rows, step, partial(vary, label=label, rng=rng))
                for label, (rows, rng) in enumerate(zip(parents, rngs, strict=True))
            ]
    return Evolved(parents, history)


def _offspring(parents: Records, step: Round, vary: Callable[[Records], Records]) -> Records:
    children = vary(parents.repeat(step.variations))
    return Records.concat([children, parents]) if step.keeps_parents else children


def _record(step: Round, population: Sequence[Records], measured: Measured) -> dict[str, Any]:
    noisy = np.concatenate([*measured.values, np.empty(0, dtype=np.int64)])
    return {
        "round": step.index + 1,
        "selection": "sampling" if step.samples else "ranking",
        "mutation_rate": step.mutation_rate,
        "sigma": measured.sigma,
        "population": sum(len(candidates) for candidates in population),
        "noisy_votes_total": round(int(noisy.sum()) / measured.scale),
        "noisy_votes_largest": round(int(noisy.max(initial=0)) / measured.scale),
    }


def _generator(seed: int, step: int, label: int) -> np.random.Generator:
    """Return the random numbers of one class in one round, whatever else was drawn before."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(step, label)))
