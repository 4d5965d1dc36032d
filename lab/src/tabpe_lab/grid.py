"""From an experiment to its runs: every combination of data, method, epsilon, setting and seed."""

from __future__ import annotations

import hashlib
import itertools
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from tabpe_lab.experiment import OTHERS, Evaluation, Experiment, Limits, Method, chosen

REAL, TABPE = "real", "tabpe"
# From what takes a moment to what may take hours: a look at the results tells something early.
CHEAP_FIRST = (REAL, TABPE, "independent", "mst", "privsyn", "privgsd", "gem", "rap++", "privmrf")
_NOT_PART_OF_THE_KEY = ("experiment", "variant", "called", "limits")


@dataclass(frozen=True)
class Run:
    """One run: all that its process needs to know, as plain values.

    Args:
        experiment: The name of the experiment.
        variant: Its variant.
        data: The name of the data set.
        data_options: What its loader takes.
        method: The name of the method.
        called: What tables call it.
        settings: The settings of the method.
        epsilon: The budget; None for `real`.
        delta: The delta; None for 1 / (n ln n).
        seed: The seed.
        split: `authors` or `seed`.
        metrics: What is measured.
        limits: What it may take.
        evaluate: How it is measured.
        keep: What is kept beside the record.
        rounds_kept: Which rounds are.
    """

    experiment: str
    variant: str
    data: str
    data_options: dict[str, Any]
    method: str
    called: str
    settings: dict[str, Any]
    epsilon: float | None
    delta: float | None
    seed: int
    split: str
    metrics: tuple[str, ...]
    limits: Limits
    evaluate: Evaluation
    keep: tuple[str, ...]
    rounds_kept: tuple[int, ...]

    @property
    def key(self) -> str:
        """Digest of all that decides what comes out: neither limits nor names of things."""
        told = {k: v for k, v in asdict(self).items() if k not in _NOT_PART_OF_THE_KEY}
        text = json.dumps(told, sort_keys=True, ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def __str__(self) -> str:
        parts = [self.called, _with_options(self.data, self.data_options)]
        if self.epsilon is not None:
            parts.append(f"epsilon {self.epsilon:g}")
        if self.called == self.method:
            parts += [f"{name} {_short(value)}" for name, value in self.settings.items()]
        return ", ".join([*parts, f"seed {self.seed}"])


def runs_of(experiment: Experiment) -> list[Run]:
    """Return the runs of an experiment: by seed, and for each seed cheap methods first.

    Example:
        >>> from tabpe_lab.exhibits import experiment_of
        >>> plain = {"name": "a", "title": "A", "data": ["hospital"], "metrics": ["accuracy"],
        ...          "methods": [{"tabpe": {"rounds": [5, 10]}}, "real"], "seeds": 2}
        >>> for run in runs_of(experiment_of(plain, "full", where="a.yaml")):
        ...     print(run)
        real, hospital, seed 0
        tabpe, hospital, epsilon 1, rounds 5, seed 0
        tabpe, hospital, epsilon 1, rounds 10, seed 0
        real, hospital, seed 1
        tabpe, hospital, epsilon 1, rounds 5, seed 1
        tabpe, hospital, epsilon 1, rounds 10, seed 1
    """
    ways = sorted(_ways(experiment), key=lambda way: _cost(way.method.name))
    runs = [_run(experiment, way, seed) for seed in experiment.seeds for way in ways]
    return list({run.key: run for run in runs}.values())


@dataclass(frozen=True)
class _Way:
    """What is run once for each seed."""

    data: str
    options: dict[str, Any]
    method: Method
    settings: dict[str, Any]
    epsilon: float | None


def _ways(experiment: Experiment) -> Iterator[_Way]:
    for data, method in itertools.product(experiment.data, experiment.methods):
        if method.on is not None and data.name not in method.on:
            continue
        budgets = (None,) if method.name == REAL else experiment.epsilons
        own = _chosen(method, data.name)
        for options, epsilon, settings in itertools.product(
            expanded(data.options), budgets, expanded(own)
        ):
            yield _Way(data.name, options, method, followed(settings, options), epsilon)


def expanded(grid: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return every combination of the entries of lists.

    Example:
        >>> expanded({"a": [1, 2], "b": 3})
        [{'a': 1, 'b': 3}, {'a': 2, 'b': 3}]
    """
    entries = [value if isinstance(value, list) else [value] for value in grid.values()]
    return [dict(zip(grid, values, strict=True)) for values in itertools.product(*entries)]


def followed(settings: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings in which text such as `features + 1` is a number, by an option of the data.

    Example:
        >>> followed({"degree": "features + 1", "bins": "privtree"}, {"features": 5})
        {'degree': 6, 'bins': 'privtree'}
    """
    found = dict(settings)
    for name, value in settings.items():
        match = re.fullmatch(r"(\w+) \+ (\d+)", value) if isinstance(value, str) else None
        if match and isinstance(options.get(match[1]), int):
            found[name] = options[match[1]] + int(match[2])
    return found


def _chosen(method: Method, data: str) -> dict[str, Any]:
    """Return the settings of a method for one data set, without those that are for others."""
    return {
        name: chosen(value, data)
        for name, value in method.settings.items()
        if not isinstance(value, Mapping) or data in value or OTHERS in value
    }


def _run(experiment: Experiment, way: _Way, seed: int) -> Run:
    method = way.method
    by_round = method.name == TABPE
    return Run(
        experiment=experiment.name,
        variant=experiment.variant,
        data=way.data,
        data_options=way.options,
        method=method.name,
        called=method.called or method.name,
        settings=way.settings,
        epsilon=way.epsilon,
        delta=experiment.delta,
        seed=seed,
        split=experiment.split_of(way.data),
        metrics=experiment.metrics,
        limits=experiment.limits,
        evaluate=experiment.evaluate,
        keep=tuple(kept for kept in experiment.keep if by_round or kept != "rounds"),
        rounds_kept=experiment.rounds_kept if by_round else (),
    )


def _cost(method: str) -> int:
    return CHEAP_FIRST.index(method) if method in CHEAP_FIRST else len(CHEAP_FIRST)


def _with_options(name: str, options: Mapping[str, Any]) -> str:
    return " ".join([name, *(f"{option}={_short(value)}" for option, value in options.items())])


def _short(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
