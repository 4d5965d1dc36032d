"""What each round does."""

from __future__ import annotations

from dataclasses import dataclass

from tabpe.evolve.config import Evolution


@dataclass(frozen=True)
class Round:
    """One round: a histogram, a selection and, but for the last, variations.

    Args:
        index: Its number, from 0.
        samples: Whether it draws in proportion to the votes, or takes the top.
        variations: Variations of each selected row.
        keeps_parents: Whether the selected rows are candidates of the next round too.
        mutation_rate: How strongly it mutates.
    """

    index: int
    samples: bool
    variations: int
    keeps_parents: bool
    mutation_rate: float


def plan(config: Evolution) -> tuple[Round, ...]:
    """Return the rounds of an evolution.

    Example:
        >>> [(r.samples, r.variations) for r in plan(Evolution(rounds=4, sampling_rounds=1))]
        [(True, 1), (True, 3), (False, 3), (False, 3)]
    """
    return tuple(_round(config, index) for index in range(config.rounds))


def mutation_rate(config: Evolution, index: int) -> float:
    """Return how strongly round `index` mutates.

    Example:
        >>> mutation_rate(Evolution(), 0)
        0.5
    """
    gamma = 1.0 if config.schedule == "linear" else config.gamma
    progress = float((index / (config.horizon or config.rounds)) ** gamma)
    return config.mutation_init - (config.mutation_init - config.mutation_final) * progress


def _round(config: Evolution, index: int) -> Round:
    grows = index >= config.sampling_rounds
    samples = index < config.sampling_rounds + int(config.sample_while_growing)
    if config.selection != "two-stage":
        samples = config.selection == "sampling"
        grows = not samples
    return Round(
        index=index,
        samples=samples,
        variations=config.variations if grows else 1,
        keeps_parents=grows,
        mutation_rate=mutation_rate(config, index),
    )
