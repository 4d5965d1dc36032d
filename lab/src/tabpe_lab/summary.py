"""From runs to what is shown of them: seeds are averaged, the best setting of a method is taken.

Runs that differ in their seed alone are one candidate. Runs that differ in settings which no row
names are candidates for the same place, and the best of them stands there: by the accuracy on the
validation rows, or, where that was not measured for all of them, by the first measure of the table.

Differences between two methods, seed by seed: how large they are, and how sure that is.

Runs with the same data and seed have the same split and the same real rows to be compared with, so
what they differ by is taken for each seed, and only then averaged. The interval is Student's, for
the mean of those differences. Shares differ by points; distances and times by a factor, which is
the exponential of a difference of logarithms.

The numbers that the paper prints, to stand beside ours.
"""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

from tabpe.errors import ParameterError, did_you_mean
from tabpe_lab.exhibits import Measure, label_of, measure, title_of, value_of
from tabpe_lab.records import Record

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


CONFIDENCE = 0.95


@dataclass(frozen=True)
class Difference:
    """A mean difference with its confidence interval.

    Args:
        mean: The mean.
        low: Where the interval begins; None for one value, which tells nothing of its spread.
        high: Where it ends.
        count: How many values it is of.

    Example:
        >>> found = Difference.of([1.0, 2.0, 3.0])
        >>> round(found.low, 3), found.mean, round(found.high, 3)
        (-0.484, 2.0, 4.484)
    """

    mean: float
    low: float | None = None
    high: float | None = None
    count: int = 1

    @classmethod
    def of(cls, values: Sequence[float]) -> Difference:
        """Return the mean of values, at least one, with Student's interval."""
        mean = statistics.fmean(values)
        if len(values) == 1:
            return cls(mean)
        from scipy.stats import t

        error = statistics.stdev(values) / math.sqrt(len(values))
        reach = float(t.ppf((1 + CONFIDENCE) / 2, len(values) - 1)) * error
        return cls(mean, mean - reach, mean + reach, len(values))

    @property
    def sign(self) -> int:
        """1 if it is above zero for sure, -1 if below, 0 if that can not be told."""
        if self.low is None or self.high is None:
            return 0
        return int(self.low > 0) - int(self.high < 0)


def by_factor(shown: Measure) -> bool:
    """Whether a measure is compared by a factor: all but shares are."""
    return not shown.percent


def paired(runs: Iterable[Record], others: Iterable[Record], shown: Measure) -> Difference | None:
    """Return by how much runs differ from others on the same data; None without a common seed.

    Args:
        runs: Runs of one method, one for each seed.
        others: Runs of the method that they are compared with.
        shown: The measure. Of one that is compared by a factor this is the difference of the
            logarithms; None if one of them is zero.

    Raises:
        ParameterError: If two runs have the same seed.

    Example:
        >>> from tabpe_lab.exhibits import measure
        >>> def run(seed, accuracy):
        ...     return Record("a", "full", "0f", "xor", "aim", "aim", seed, "seed", "done",
        ...                   metrics={"accuracy": accuracy})
        >>> runs, others = [run(0, 0.75), run(1, 0.5)], [run(0, 0.5), run(1, 0.25), run(2, 0.1)]
        >>> paired(runs, others, measure("accuracy"))
        Difference(mean=0.25, low=0.25, high=0.25, count=2)
    """
    ours, theirs = _by_seed(runs, shown), _by_seed(others, shown)
    seeds = [seed for seed in ours if seed in theirs]
    if not seeds:
        return None
    pairs = [(ours[seed], theirs[seed]) for seed in seeds]
    if not by_factor(shown):
        return Difference.of([one - other for one, other in pairs])
    if any(value <= 0 for pair in pairs for value in pair):
        return None
    return Difference.of([math.log(one / other) for one, other in pairs])


def _by_seed(runs: Iterable[Record], shown: Measure) -> dict[int, float]:
    found: dict[int, float] = {}
    for run in runs:
        value = shown.of(run) if run.status == DONE else None
        if value is None:
            continue
        if run.seed in found:
            raise ParameterError(
                f"{run.called} on {run.data}: two runs have seed {run.seed}: differences need one "
                f"setting of each method: name others differently, with `as`."
            )
        found[run.seed] = value
    return found


SPLITS = 3


@dataclass(frozen=True)
class Printed:
    """A table of the paper.

    Args:
        title: What it is about.
        epsilon: The budget.
        metrics: Its columns.
        percent: Whether shares are printed in per cent.
        values: By data set and method, or by a setting: texts as they are printed.

    Example:
        >>> printed("high-order-real").value(("artificial-characters", "tabpe"), "accuracy")
        Spread(mean=0.4938, std=0.0046, count=3)
    """

    title: str
    epsilon: float
    metrics: tuple[str, ...]
    values: Mapping[str, Any]
    percent: bool = True

    def value(self, row: tuple[Any, ...], metric: str) -> Spread | None:
        """Return what is printed in a row for a metric, in our units; None if nothing is."""
        found: Any = self.values
        for part in row:
            found = found.get(_key(part)) if isinstance(found, Mapping) else None
        if metric not in self.metrics or not isinstance(found, list):
            return None
        return self._read(found[self.metrics.index(metric)], metric)

    def _read(self, text: str, metric: str) -> Spread | None:
        if text == "-":
            return None
        scale = measure(metric).scale if self.percent else 1.0
        mean, *std = (round(float(part) / scale, 6) for part in text.split("±"))
        return Spread(mean, std[0], SPLITS) if std else Spread(mean)


@cache
def paper() -> dict[str, Printed]:
    """Return the tables of the paper by their labels.

    Example:
        >>> "scm-table" in paper()
        True
    """
    from tabpe._utils import yaml12

    text = files("tabpe_lab").joinpath("paper.yaml").read_text(encoding="utf-8")
    return {
        label: Printed(**(entry | {"metrics": tuple(entry["metrics"])}))
        for label, entry in yaml12.load(text).items()
    }


def printed(label: str) -> Printed:
    """Return a table of the paper by its label.

    Raises:
        ParameterError: If there is none.

    Example:
        >>> printed("scm-tabel")
        Traceback (most recent call last):
        tabpe.errors.ParameterError: paper='scm-tabel': did you mean 'scm-table'?
    """
    if label not in paper():
        raise ParameterError(f"paper={label!r}: {did_you_mean(label, paper())}")
    return paper()[label]


def _key(value: Any) -> str:
    return value if isinstance(value, str) else f"{value:g}"
