"""The strategy that the settings of a run of Tab-PE name: a preset, and fields that replace its."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from tabpe.errors import ParameterError
from tabpe.evolve import Evolution, Strategy, strategy_of

# What experiments mean that name no preset: they remake the paper.
PRESET = "paper"


def strategy_in(settings: Mapping[str, Any]) -> Strategy:
    """Return the strategy that settings name; what is no field of it is left alone.

    Example:
        >>> strategy_in({"rounds": 20}).sampling_rounds
        5
        >>> strategy_in({"preset": "best", "votes": 1, "n_samples": 100}).votes
        1
    """
    preset = strategy_of(settings.get("preset", PRESET))
    changed = {name: settings[name] for name in fields_of(preset) if name in settings}
    return dataclasses.replace(preset, **changed)


def fields_of(strategy: Strategy) -> tuple[str, ...]:
    """Return the names of what can be set in a strategy."""
    return tuple(each.name for each in dataclasses.fields(strategy))


def shortest(strategy: Strategy) -> Strategy:
    """Return a strategy that does all that another does, once and on little.

    Example:
        >>> shortest(strategy_of("best")).rounds, shortest(strategy_of("best")).votes
        (1, 4)
    """
    rounds = min(1, strategy.rounds)
    if isinstance(strategy, Evolution):
        return dataclasses.replace(strategy, rounds=rounds, sampling_rounds=rounds)
    return dataclasses.replace(strategy, rounds=rounds, candidates=20, pool=100)


def evolution_only(strategy: Strategy, what: str) -> Evolution:
    """Return a strategy whose rounds have a population each.

    Args:
        strategy: The strategy.
        what: What needs such rounds, for the error.

    Raises:
        ParameterError: If it is another one.

    Example:
        >>> evolution_only(strategy_of("best"), "keep: rounds")
        Traceback (most recent call last):
        tabpe.errors.ParameterError: keep: rounds: needs rounds that each have a population...
    """
    if isinstance(strategy, Evolution):
        return strategy
    raise ParameterError(
        f"{what}: needs rounds that each have a population, which a {type(strategy).__name__} has "
        f"not: use a preset that is an Evolution, 'paper' or 'reference'."
    )


def replayable(strategy: Strategy, what: str) -> Evolution:
    """Return a strategy whose rounds follow from their noisy votes alone.

    Args:
        strategy: The strategy.
        what: What needs that, for the error.

    Raises:
        ParameterError: If it is another one.

    Example:
        >>> replayable(Evolution(tables=0.1), "keep: rounds")
        Traceback (most recent call last):
        tabpe.errors.ParameterError: keep: rounds: tables=0.1: expected 0: rounds are made again...
    """
    config = evolution_only(strategy, what)
    if config.tables:
        raise ParameterError(
            f"{what}: tables={config.tables:g}: expected 0: rounds are made again from their votes "
            f"alone, without tables of columns."
        )
    return config
