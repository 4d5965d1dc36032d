"""The runs of an experiment: each combination of data, method, epsilon, setting and seed."""

from __future__ import annotations

import functools
import hashlib
import itertools
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tabpe_lab.datasets.catalog import is_file_name
from tabpe_lab.experiment import (
    OTHERS,
    EvaluationSettings,
    Experiment,
    MethodEntry,
    RunLimits,
    select_by_data,
)

REAL, TABPE = "real", "tabpe"
# From seconds to hours, so that results are informative early.
CHEAP_FIRST = (REAL, TABPE, "independent", "mst", "privsyn", "privgsd", "gem", "rap++", "privmrf")
_NOT_PART_OF_THE_KEY = ("experiment", "variant", "called", "limits")


@dataclass(frozen=True)
class ExperimentRun:
    """One run: everything that its process needs, as plain values.

    The fields are those of `tabpe_lab.records.RunRecord` and `tabpe_lab.experiment.Experiment`.
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
    limits: RunLimits
    evaluate: EvaluationSettings
    keep: tuple[str, ...]
    rounds_kept: tuple[int, ...]

    @property
    def key(self) -> str:
        """Digest of everything that determines the result: neither limits nor display names."""
        inputs = {k: v for k, v in asdict(self).items() if k not in _NOT_PART_OF_THE_KEY}
        if is_file_name(self.data):
            files = Path(self.data), Path(str(self.data_options.get("schema")))
            inputs["content"] = [
                _compute_digest(file, file.stat().st_mtime_ns) for file in files if file.is_file()
            ]
        text = json.dumps(inputs, sort_keys=True, ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def __str__(self) -> str:
        parts = [self.called, _format_data(self.data, self.data_options)]
        if self.epsilon is not None:
            parts.append(f"epsilon {self.epsilon:g}")
        if self.called == self.method:
            parts += [f"{name} {_format_value(value)}" for name, value in self.settings.items()]
        return ", ".join([*parts, f"seed {self.seed}"])


def list_runs(experiment: Experiment) -> list[ExperimentRun]:
    """Return the runs of an experiment: by seed, and for each seed cheap methods first.

    Example:
        >>> from tabpe_lab.exhibits import parse_experiment
        >>> plain = {"name": "a", "title": "A", "data": ["hospital"], "metrics": ["accuracy"],
        ...          "methods": [{"tabpe": {"rounds": [5, 10]}}, "real"], "seeds": 2}
        >>> for run in list_runs(parse_experiment(plain, "full", where="a.yaml")):
        ...     print(run)
        real, hospital, seed 0
        tabpe, hospital, epsilon 1, rounds 5, seed 0
        tabpe, hospital, epsilon 1, rounds 10, seed 0
        real, hospital, seed 1
        tabpe, hospital, epsilon 1, rounds 5, seed 1
        tabpe, hospital, epsilon 1, rounds 10, seed 1
    """
    configurations = sorted(
        _iterate_configurations(experiment), key=lambda each: _rank_by_cost(each.method.name)
    )
    runs = [
        _make_run(experiment, each, seed) for seed in experiment.seeds for each in configurations
    ]
    return list({run.key: run for run in runs}.values())


@dataclass(frozen=True)
class _Configuration:
    """What is run once for each seed."""

    data: str
    options: dict[str, Any]
    method: MethodEntry
    settings: dict[str, Any]
    epsilon: float | None


def _iterate_configurations(experiment: Experiment) -> Iterator[_Configuration]:
    for data, method in itertools.product(experiment.data, experiment.methods):
        if method.on is not None and data.name not in method.on:
            continue
        budgets = (None,) if method.name == REAL else experiment.epsilons
        own = _select_settings(method, data.name)
        for options, epsilon, settings in itertools.product(
            expand_grid(data.options), budgets, expand_grid(own)
        ):
            yield _Configuration(
                data.name, options, method, resolve_references(settings, options), epsilon
            )


def expand_grid(grid: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return every combination of the entries of lists.

    Example:
        >>> expand_grid({"a": [1, 2], "b": 3})
        [{'a': 1, 'b': 3}, {'a': 2, 'b': 3}]
    """
    entries = [value if isinstance(value, list) else [value] for value in grid.values()]
    return [dict(zip(grid, values, strict=True)) for values in itertools.product(*entries)]


def resolve_references(settings: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings in which text such as `features + 1` is replaced by its number.

    Example:
        >>> resolve_references({"degree": "features + 1", "bins": "privtree"}, {"features": 5})
        {'degree': 6, 'bins': 'privtree'}
    """
    found = dict(settings)
    for name, value in settings.items():
        match = re.fullmatch(r"(\w+) \+ (\d+)", value) if isinstance(value, str) else None
        if match and isinstance(options.get(match[1]), int):
            found[name] = options[match[1]] + int(match[2])
    return found


def _select_settings(method: MethodEntry, data: str) -> dict[str, Any]:
    """Return the settings of a method for one data set, without those for others."""
    return {
        name: select_by_data(value, data)
        for name, value in method.settings.items()
        if not isinstance(value, Mapping) or data in value or OTHERS in value
    }


def _make_run(experiment: Experiment, configuration: _Configuration, seed: int) -> ExperimentRun:
    method = configuration.method
    by_round = method.name == TABPE
    shared = ("variant", "delta", "metrics", "limits", "evaluate")
    return ExperimentRun(
        experiment=experiment.name,
        data=configuration.data,
        data_options=configuration.options,
        method=method.name,
        called=method.called or method.name,
        settings=configuration.settings,
        epsilon=configuration.epsilon,
        seed=seed,
        split=experiment.get_split(configuration.data),
        keep=tuple(kept for kept in experiment.keep if by_round or kept != "rounds"),
        rounds_kept=experiment.rounds_kept if by_round else (),
        **{name: getattr(experiment, name) for name in shared},
    )


@functools.cache
def _compute_digest(file: Path, _changed: int) -> str:
    """Return the SHA-256 of a file, computed once for each time that it was changed."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _rank_by_cost(method: str) -> int:
    return CHEAP_FIRST.index(method) if method in CHEAP_FIRST else len(CHEAP_FIRST)


def _format_data(name: str, options: Mapping[str, Any]) -> str:
    return " ".join(
        [name, *(f"{option}={_format_value(value)}" for option, value in options.items())]
    )


def _format_value(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
