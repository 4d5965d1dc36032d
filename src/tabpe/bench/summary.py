"""From runs to what is shown of them: seeds are averaged, the best setting of a method is taken.

Runs that differ in their seed alone are one candidate. Runs that differ in settings which no row
names are candidates for the same place, and the best of them stands there: by the accuracy on the
validation rows, or, where that was not measured for all of them, by the first measure of the table.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tabpe.bench.fields import label_of, title_of, value_of
from tabpe.bench.measures import Measure, measure
from tabpe.bench.records import Record
from tabpe.errors import ParameterError

DONE, DID_NOT_FIT, FAILED, NOT_RUN = "done", "did not fit", "failed", "not run"
VALIDATION = "validation_accuracy"
_APART = ("data", "epsilon")

Key = tuple[Any, ...]


@dataclass(frozen=True)
class Spread:
    """A mean over seeds.

    Args:
        mean: The mean.
        std: The standard deviation of a sample, n - 1 in its denominator; None for one seed.
        count: How many seeds.

    Example:
        >>> Spread.of([1.0, 3.0])
        Spread(mean=2.0, std=1.4142135623730951, count=2)
    """

    mean: float
    std: float | None = None
    count: int = 1

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Return the spread of values, at least one."""
        std = statistics.stdev(values) if len(values) > 1 else None
        return cls(statistics.fmean(values), std, len(values))


@dataclass(frozen=True)
class Summary:
    """What is shown of the runs in one place.

    Args:
        outcome: How they ended: `done` if any did.
        values: By the name of the measure.
        seeds: How many runs the values are of.
        settings: The settings that were chosen among several, of those in which they differ.
        chosen_by: The measure that they were chosen by; empty if there was no choice.
        reasons: Why runs did not fit or failed.
        limit: What they did not fit into, in a word or two.
    """

    outcome: str
    values: Mapping[str, Spread] = field(default_factory=dict)
    seeds: int = 0
    settings: Mapping[str, Any] = field(default_factory=dict)
    chosen_by: str = ""
    reasons: tuple[str, ...] = ()
    limit: str = ""

    @property
    def chosen(self) -> str:
        """The chosen settings, as text."""
        return ", ".join(
            f"{title_of(name)} {label_of(f'settings.{name}', value)}"
            for name, value in self.settings.items()
        )


def summaries(
    records: Iterable[Record],
    fields: Sequence[str],
    measures: Sequence[str],
    *,
    where: str = "runs",
) -> dict[Key, Summary]:
    """Return what is shown of runs, by their values of some fields, in the order they came.

    Args:
        records: The runs.
        fields: What places are told apart by.
        measures: Names of measures; the first decides where no validation was measured.
        where: What to call the table or figure in errors.

    Raises:
        ParameterError: If runs on different data or budgets would share a place.
    """
    groups = grouped(records, lambda record: tuple(value_of(record, name) for name in fields))
    for group in groups.values():
        _check_alike(group, fields, where)
    return {key: summary_of(group, measures) for key, group in groups.items()}


def summary_of(records: Sequence[Record], measures: Sequence[str]) -> Summary:
    """Return what is shown of runs in one place."""
    candidates = list(grouped(records, _settings_key).values())
    varying = _varying([group[0].settings for group in candidates])
    done = [group for group in candidates if any(run.status == DONE for run in group)]
    if not done:
        return _undone(records)
    judge = _judge(done, measures)
    best = done[0] if len(done) == 1 else _best(done, judge)
    values = {name: spread for name in measures if (spread := _spread(best, measure(name)))}
    return Summary(
        DONE,
        values,
        seeds=sum(run.status == DONE for run in best),
        settings={name: best[0].settings.get(name) for name in varying},
        chosen_by=judge.name if len(candidates) > 1 else "",
        reasons=_reasons(records),
    )


def _undone(records: Sequence[Record]) -> Summary:
    for outcome in (DID_NOT_FIT, FAILED):
        ended = [run for run in records if run.status == outcome]
        if ended:
            limits = dict.fromkeys(limit_of(run) for run in ended)
            return Summary(outcome, reasons=_reasons(ended), limit=", ".join(filter(None, limits)))
    return Summary(NOT_RUN)


def limit_of(record: Record) -> str:
    """Return the limit that a run did not fit into, as far as its reason names one.

    Example:
        >>> limits = {"seconds": 3600.0, "gigabytes": 8.0}
        >>> record = Record("a", "full", "0f", "adult", "aim", "aim", 0, "seed", "did not fit",
        ...                 limits=limits, reason="memory: took more than 8 GB")
        >>> limit_of(record)
        '8 GB'
    """
    words = record.reason.lower()
    if record.status != DID_NOT_FIT:
        return ""
    if any(word in words for word in ("memory", " gb", "gigabytes")):
        return f"{record.limits.get('gigabytes', 0):g} GB"
    if any(word in words for word in ("time", "seconds", "longer")):
        return f"{record.limits.get('seconds', 0):g} s"
    return ""


def grouped(records: Iterable[Record], key: Callable[[Record], Any]) -> dict[Any, list[Record]]:
    """Return records by a key, in the order they came."""
    groups: dict[Any, list[Record]] = {}
    for record in records:
        groups.setdefault(key(record), []).append(record)
    return groups


def _settings_key(record: Record) -> str:
    return json.dumps(record.settings, sort_keys=True)


def _varying(settings: Sequence[Mapping[str, Any]]) -> list[str]:
    names = dict.fromkeys(name for entry in settings for name in entry)
    return [
        name
        for name in names
        if len({json.dumps(entry.get(name), sort_keys=True) for entry in settings}) > 1
    ]


def _judge(candidates: Sequence[Sequence[Record]], measures: Sequence[str]) -> Measure:
    validation = measure(VALIDATION)
    if all(_spread(group, validation) for group in candidates):
        return validation
    return measure(measures[0])


def _best(candidates: Sequence[list[Record]], judge: Measure) -> list[Record]:
    def worth(group: Sequence[Record]) -> float:
        spread = _spread(group, judge)
        if spread is None:
            return float("-inf")
        return -spread.mean if judge.better == "lower" else spread.mean

    return max(candidates, key=worth)


def _spread(group: Sequence[Record], wanted: Measure) -> Spread | None:
    found = [wanted.of(run) for run in group if run.status == DONE]
    values = [value for value in found if value is not None]
    return Spread.of(values) if values else None


def _reasons(records: Iterable[Record]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(run.reason for run in records if run.reason))


def _check_alike(group: Sequence[Record], fields: Sequence[str], where: str) -> None:
    """Refuse to choose among runs whose numbers do not compare."""
    apart = [name for name in _APART if name not in fields]
    apart += [f"data_options.{name}" for name in _varying([run.data_options for run in group])]
    for name in apart:
        values = dict.fromkeys(value_of(run, name) for run in group)
        if name not in fields and len(values) > 1:
            shown = ", ".join(label_of(name, value) for value in list(values)[:3])
            raise ParameterError(
                f"{where}: runs with {name} {shown} share a place: name {name} among the rows or "
                f"series, or fix it in where."
            )
