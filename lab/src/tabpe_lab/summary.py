"""Summaries of runs: means over seeds, the best setting of a method, paired differences.

Runs that differ in their seed alone are one candidate. Runs that also differ in settings which no
row of a table names are candidates for that row, and the best one is shown: by the accuracy on the
validation rows or, where that is not known for all of them, by the first metric of the table.

Differences between two methods are paired by seed, because runs with the same data and seed share
their split; the interval is Student's, for the mean difference. Percentages differ by points,
distances and times by a factor (a difference of logarithms). `paper.yaml` has the paper's numbers.
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
from tabpe_lab.exhibits import DisplayMetric, find_metric, format_label, get_field_value, get_title
from tabpe_lab.records import RunRecord

DONE, DID_NOT_FIT, FAILED, NOT_RUN = "done", "did not fit", "failed", "not run"
VALIDATION = "validation_accuracy"

GroupKey = tuple[Any, ...]


@dataclass(frozen=True)
class SeedStatistics:
    """A mean over seeds.

    Args:
        mean: The mean.
        std: The standard deviation of a sample, n - 1 in its denominator; None for one seed.
        count: Number of seeds.

    Example:
        >>> SeedStatistics.from_values([1.0, 3.0])
        SeedStatistics(mean=2.0, std=1.4142135623730951, count=2)
    """

    mean: float
    std: float | None = None
    count: int = 1

    @classmethod
    def from_values(cls, values: Sequence[float]) -> SeedStatistics:
        """Return the mean and deviation of at least one value."""
        std = statistics.stdev(values) if len(values) > 1 else None
        return cls(statistics.fmean(values), std, len(values))


@dataclass(frozen=True)
class RunSummary:
    """Summary of the runs of one row.

    Args:
        outcome: How they ended: `done` if any did.
        values: By the name of the metric.
        seeds: Number of runs that the values are of.
        settings: The chosen values of the settings in which candidates differ.
        chosen_by: The metric that chose them; empty if there was no choice.
        nearest: The values of those settings that have the least distance, if that was measured.
        nearest_by: The distance, of the highest order that the table shows; empty if there is none.
        reasons: Why runs did not fit or failed.
        limit: The limit that they exceeded.
    """

    outcome: str
    values: Mapping[str, SeedStatistics] = field(default_factory=dict)
    seeds: int = 0
    settings: Mapping[str, Any] = field(default_factory=dict)
    chosen_by: str = ""
    nearest: Mapping[str, Any] = field(default_factory=dict)
    nearest_by: str = ""
    reasons: tuple[str, ...] = ()
    limit: str = ""

    @property
    def chosen(self) -> str:
        """The chosen settings, as text."""
        return _format_settings(self.settings)

    @property
    def closest(self) -> str:
        """The settings that have the least distance, as text."""
        return _format_settings(self.nearest)


def _format_settings(settings: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{get_title(name)} {format_label(f'settings.{name}', value)}"
        for name, value in settings.items()
    )


def summarize_groups(
    records: Iterable[RunRecord],
    fields: Sequence[str],
    metrics: Sequence[str],
    *,
    where: str,
) -> dict[GroupKey, RunSummary]:
    """Return the summary of runs by their values of some fields, in order of appearance.

    Args:
        records: The runs.
        fields: The fields that distinguish rows.
        metrics: Names of metrics; the first decides where no validation was measured.
        where: The name of the table or figure in errors.

    Raises:
        ParameterError: If runs on different data or budgets would share a row.
    """
    groups = group_records(
        records, lambda record: tuple(get_field_value(record, name) for name in fields)
    )
    for group in groups.values():
        _check_comparable(group, fields, where)
    return {key: summarize_runs(group, metrics) for key, group in groups.items()}


def summarize_runs(records: Sequence[RunRecord], metrics: Sequence[str]) -> RunSummary:
    """Return the summary of runs of one row."""
    candidates = list(group_records(records, make_settings_key).values())
    varying = _find_varying([group[0].settings for group in candidates])
    done = [group for group in candidates if any(run.status == DONE for run in group)]
    if not done:
        return _summarize_undone(records)
    criterion = _choose_criterion(done, metrics)
    best = done[0] if len(done) == 1 else _select_best(done, criterion)
    distance = _choose_distance(done, metrics) if len(done) > 1 else None
    distance = None if distance == criterion else distance
    nearest = [] if distance is None else _select_best(done, distance)
    values = {
        name: spread for name in metrics if (spread := _compute_spread(best, find_metric(name)))
    }
    return RunSummary(
        DONE,
        values,
        seeds=sum(run.status == DONE for run in best),
        settings={name: best[0].settings.get(name) for name in varying},
        chosen_by=criterion.name if len(candidates) > 1 else "",
        nearest={name: nearest[0].settings.get(name) for name in varying} if nearest else {},
        nearest_by="" if distance is None else distance.name,
        reasons=_collect_reasons(records),
    )


def _summarize_undone(runs: Iterable[RunRecord]) -> RunSummary:
    for outcome in (DID_NOT_FIT, FAILED):
        ended = [run for run in runs if run.status == outcome]
        if ended:
            limits = dict.fromkeys(filter(None, map(find_limit, ended)))
            return RunSummary(outcome, reasons=_collect_reasons(ended), limit=", ".join(limits))
    return RunSummary(NOT_RUN)


def find_limit(record: RunRecord) -> str:
    """Return the limit that a run exceeded, if its reason names one.

    Example:
        >>> record = RunRecord("a", "full", "0f", "adult", "aim", "aim", 0, "seed", "did not fit",
        ...                    limits={"gigabytes": 8.0}, reason="memory: took more than 8 GB")
        >>> find_limit(record)
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


def group_records(
    records: Iterable[RunRecord], key: Callable[[RunRecord], Any]
) -> dict[Any, list[RunRecord]]:
    """Return records by a key, in order of appearance."""
    groups: dict[Any, list[RunRecord]] = {}
    for record in records:
        groups.setdefault(key(record), []).append(record)
    return groups


def make_settings_key(record: RunRecord) -> str:
    """Return a text that is equal for runs with equal settings."""
    return json.dumps(record.settings, sort_keys=True)


def _find_varying(settings: Sequence[Mapping[str, Any]]) -> list[str]:
    names = dict.fromkeys(name for entry in settings for name in entry)
    return [
        name
        for name in names
        if len({json.dumps(entry.get(name), sort_keys=True) for entry in settings}) > 1
    ]


def _choose_criterion(
    candidates: Sequence[Sequence[RunRecord]], metrics: Sequence[str]
) -> DisplayMetric:
    validation = find_metric(VALIDATION)
    if all(_compute_spread(group, validation) for group in candidates):
        return validation
    return find_metric(metrics[0])


def _choose_distance(
    candidates: Sequence[Sequence[RunRecord]], metrics: Sequence[str]
) -> DisplayMetric | None:
    """Return the last distance among the metrics that all candidates have."""
    distances = [find_metric(name) for name in metrics if name.endswith(("-wd", "-tv"))]
    known = [one for one in distances if all(_compute_spread(group, one) for group in candidates)]
    return known[-1] if known else None


def _select_best(
    candidates: Sequence[list[RunRecord]], criterion: DisplayMetric
) -> list[RunRecord]:
    def score(group: Sequence[RunRecord]) -> float:
        spread = _compute_spread(group, criterion)
        if spread is None:
            return float("-inf")
        return -spread.mean if criterion.better == "lower" else spread.mean

    return max(candidates, key=score)


def _compute_spread(group: Sequence[RunRecord], metric: DisplayMetric) -> SeedStatistics | None:
    found = [metric.read_value(run) for run in group if run.status == DONE]
    values = [value for value in found if value is not None]
    return SeedStatistics.from_values(values) if values else None


def _collect_reasons(records: Iterable[RunRecord]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(run.reason for run in records if run.reason))


def _check_comparable(group: Sequence[RunRecord], fields: Sequence[str], where: str) -> None:
    """Refuse to choose among runs whose numbers do not compare."""
    options = [f"data_options.{name}" for name in _find_varying([r.data_options for r in group])]
    for name in ("data", "epsilon", *options):
        values = dict.fromkeys(get_field_value(run, name) for run in group)
        if name not in fields and len(values) > 1:
            shown = ", ".join(format_label(name, value) for value in list(values)[:3])
            raise ParameterError(
                f"{where}: runs with {name} {shown} share a row: name {name} among the rows or "
                f"series, or fix it in where."
            )


CONFIDENCE = 0.95


@dataclass(frozen=True)
class MeanDifference:
    """A mean difference with its confidence interval.

    Args:
        mean: The mean.
        low: Lower end of the interval; None for one value.
        high: Upper end.
        count: Number of values.

    Example:
        >>> found = MeanDifference.from_values([1.0, 2.0, 3.0])
        >>> round(found.low, 3), found.mean, round(found.high, 3)
        (-0.484, 2.0, 4.484)
    """

    mean: float
    low: float | None = None
    high: float | None = None
    count: int = 1

    @classmethod
    def from_values(cls, values: Sequence[float]) -> MeanDifference:
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
        """1 if the interval is above zero, -1 if below, 0 if it contains zero."""
        if self.low is None or self.high is None:
            return 0
        return int(self.low > 0) - int(self.high < 0)


def is_compared_by_factor(metric: DisplayMetric) -> bool:
    """Return whether a metric is compared by a factor: all but percentages are."""
    return not metric.percent


def compare_pairs(
    runs: Iterable[RunRecord], others: Iterable[RunRecord], metric: DisplayMetric
) -> MeanDifference | None:
    """Return the paired difference of runs on the same data; None without a common seed.

    Args:
        runs: Runs of one method, one for each seed.
        others: Runs of the method that they are compared with.
        metric: The metric. For one that is compared by a factor it is the difference of the
            logarithms; None if one of them is zero.

    Raises:
        ParameterError: If two runs have the same seed.

    Example:
        >>> def run(seed, accuracy):
        ...     return RunRecord("a", "full", "0f", "xor", "aim", "aim", seed, "seed", "done",
        ...                   metrics={"accuracy": accuracy})
        >>> runs, others = [run(0, 0.75), run(1, 0.5)], [run(0, 0.5), run(1, 0.25), run(2, 0.1)]
        >>> compare_pairs(runs, others, find_metric("accuracy"))
        MeanDifference(mean=0.25, low=0.25, high=0.25, count=2)
    """
    ours, theirs = _collect_by_seed(runs, metric), _collect_by_seed(others, metric)
    seeds = [seed for seed in ours if seed in theirs]
    if not seeds:
        return None
    pairs = [(ours[seed], theirs[seed]) for seed in seeds]
    if not is_compared_by_factor(metric):
        return MeanDifference.from_values([one - other for one, other in pairs])
    if any(value <= 0 for pair in pairs for value in pair):
        return None
    return MeanDifference.from_values([math.log(one / other) for one, other in pairs])


def _collect_by_seed(runs: Iterable[RunRecord], metric: DisplayMetric) -> dict[int, float]:
    found: dict[int, float] = {}
    for run in runs:
        value = metric.read_value(run) if run.status == DONE else None
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
class PaperTable:
    """A table of the paper.

    Args:
        title: Its title.
        epsilon: The budget.
        metrics: Its columns.
        percent: Whether shares are printed in per cent.
        values: By data set and method, or by a setting: texts as printed.

    Example:
        >>> row = ("artificial-characters", "tabpe")
        >>> find_paper_table("high-order-real").find_value(row, "accuracy")
        SeedStatistics(mean=0.4938, std=0.0046, count=3)
    """

    title: str
    epsilon: float
    metrics: tuple[str, ...]
    values: Mapping[str, Any]
    percent: bool = True

    def find_value(self, row: tuple[Any, ...], metric: str) -> SeedStatistics | None:
        """Return the printed value of a row for a metric, in our units; None if there is none."""
        found: Any = self.values
        for part in row:
            found = found.get(_format_key(part)) if isinstance(found, Mapping) else None
        if metric not in self.metrics or not isinstance(found, list):
            return None
        return self._parse_cell(found[self.metrics.index(metric)], metric)

    def _parse_cell(self, text: str, metric: str) -> SeedStatistics | None:
        if text == "-":
            return None
        scale = find_metric(metric).scale if self.percent else 1.0
        mean, *std = (round(float(part) / scale, 6) for part in text.split("±"))
        return SeedStatistics(mean, std[0], SPLITS) if std else SeedStatistics(mean)


@cache
def load_paper_tables() -> dict[str, PaperTable]:
    """Return the tables of the paper by their labels.

    Example:
        >>> "scm-table" in load_paper_tables()
        True
    """
    from tabpe._utils import yaml12

    text = files("tabpe_lab").joinpath("paper.yaml").read_text(encoding="utf-8")
    return {
        label: PaperTable(**(entry | {"metrics": tuple(entry["metrics"])}))
        for label, entry in yaml12.load(text).items()
    }


def find_paper_table(label: str) -> PaperTable:
    """Return a table of the paper by its label.

    Raises:
        ParameterError: If there is none.

    Example:
        >>> find_paper_table("scm-tabel")
        Traceback (most recent call last):
        tabpe.errors.ParameterError: paper='scm-tabel': did you mean 'scm-table'?
    """
    if label not in load_paper_tables():
        raise ParameterError(f"paper={label!r}: {did_you_mean(label, load_paper_tables())}")
    return load_paper_tables()[label]


def _format_key(value: Any) -> str:
    return value if isinstance(value, str) else f"{value:g}"
