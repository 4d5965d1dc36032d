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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
import pandas as pd

from tabpe.errors import ParameterError, did_you_mean
from tabpe_lab.exhibits import DisplayMetric, find_metric, format_label, get_field_value, get_title
from tabpe_lab.records import RunRecord

DONE, DID_NOT_FIT, FAILED, NOT_RUN = "done", "did not fit", "failed", "not run"
VALIDATION = "validation_accuracy"
CONFIDENCE = 0.95
SPLITS = 3
RUN, SETTING = "run", "setting"

GroupKey = tuple[Any, ...]


@dataclass(frozen=True)
class SeedStatistics:
    """A mean over seeds.

    Args:
        mean: The mean.
        std: The sample standard deviation (n - 1); None for one seed.
        count: Number of seeds.
    """

    mean: float
    std: float | None = None
    count: int = 1

    @classmethod
    def from_values(cls, values: Iterable[float]) -> SeedStatistics:
        """Return the mean and deviation of at least one value.

        Example:
            >>> SeedStatistics.from_values([1.0, 3.0])
            SeedStatistics(mean=2.0, std=1.4142135623730951, count=2)
        """
        found = pd.Series(list(values), dtype=float)
        std = float(found.std()) if len(found) > 1 else None
        return cls(float(found.mean()), std, len(found))


@dataclass(frozen=True)
class RunSummary:
    """Summary of the runs of one row.

    Args:
        outcome: `done` if any run is, else how they ended.
        values: By the name of the metric.
        seeds: Number of runs behind the values.
        settings: The chosen values of the settings in which candidates differ.
        chosen_by: The metric that chose them; empty if there was no choice.
        reasons: Why runs did not fit or failed.
        limit: The limit that they exceeded.
    """

    outcome: str
    values: Mapping[str, SeedStatistics] = field(default_factory=dict)
    seeds: int = 0
    settings: Mapping[str, Any] = field(default_factory=dict)
    chosen_by: str = ""
    reasons: tuple[str, ...] = ()
    limit: str = ""

    @property
    def chosen(self) -> str:
        """The chosen settings, as text."""
        return ", ".join(
            f"{get_title(name)} {format_label(f'settings.{name}', value)}"
            for name, value in self.settings.items()
        )


def make_frame(
    records: Iterable[RunRecord], fields: Sequence[str] = (), metrics: Sequence[str] = ()
) -> pd.DataFrame:
    """Return runs as a table: a row for each, with the given fields and metrics as columns.

    Metrics of runs that are not done are NaN. `run` holds the record, `setting` its settings.

    Example:
        >>> run = RunRecord("a", "full", "0f", "xor", "aim", "aim", 0, "seed", "done",
        ...                 metrics={"auc": 0.5})
        >>> make_frame([run], ["method"], ["auc"])[["method", "auc"]].values.tolist()
        [['aim', 0.5]]
    """
    runs = list(records)
    columns: dict[str, Any] = {
        RUN: runs,
        "seed": [run.seed for run in runs],
        "status": [run.status for run in runs],
        SETTING: [json.dumps(run.settings, sort_keys=True) for run in runs],
    }
    columns |= {name: [get_field_value(run, name) for run in runs] for name in fields}
    frame = pd.DataFrame(columns, dtype=object)
    for metric in map(find_metric, metrics):
        values = [metric.read_value(run) if run.status == DONE else None for run in runs]
        frame[metric.name] = np.array(values, dtype=float)
    return frame


def iterate_groups(
    frame: pd.DataFrame, fields: Sequence[str]
) -> Iterator[tuple[GroupKey, pd.DataFrame]]:
    """Yield the runs with equal values of some fields, in order of appearance."""
    groups: Any = frame.groupby(list(fields), sort=False, dropna=False)
    for key, group in groups:
        yield tuple(None if pd.isna(value) else value for value in key), group


def summarize_groups(
    records: Iterable[RunRecord], fields: Sequence[str], metrics: Sequence[str], *, where: str
) -> dict[GroupKey, RunSummary]:
    """Return the summary of runs by their values of some fields, in order of appearance.

    Args:
        records: The runs.
        fields: The fields that distinguish rows.
        metrics: Names of metrics; the first one chooses settings where validation is unknown.
        where: The name of the table or figure in errors.

    Raises:
        ParameterError: If runs on different data or budgets would share a row.
    """
    frame = make_frame(records, fields)
    found = {}
    for key, group in iterate_groups(frame, fields):
        _check_comparable(list(group[RUN]), fields, where)
        found[key] = summarize_runs(group[RUN], metrics)
    return found


def summarize_runs(records: Iterable[RunRecord], metrics: Sequence[str]) -> RunSummary:
    """Return the summary of runs of one row: the means of its best setting."""
    names = list(dict.fromkeys([*metrics, VALIDATION]))
    frame = make_frame(records, metrics=names)
    done = frame[frame["status"] == DONE]
    if done.empty:
        return _summarize_undone(frame[RUN])
    means = done.groupby(SETTING, sort=False)[names].mean()
    criterion = find_metric(VALIDATION if means[VALIDATION].notna().all() else metrics[0])
    sign = -1 if criterion.better == "lower" else 1
    best = done[done[SETTING] == (sign * means[criterion.name]).fillna(-math.inf).idxmax()]
    candidates = frame.drop_duplicates(SETTING)[RUN]
    varying = _find_varying([run.settings for run in candidates])
    return RunSummary(
        DONE,
        {
            name: SeedStatistics.from_values(best[name].dropna())
            for name in metrics
            if best[name].notna().any()
        },
        seeds=len(best),
        settings={name: best[RUN].iloc[0].settings.get(name) for name in varying},
        chosen_by=criterion.name if len(candidates) > 1 else "",
        reasons=_collect_reasons(frame[RUN]),
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


def _find_varying(mappings: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the keys whose values differ."""
    frame = pd.DataFrame(
        [{name: json.dumps(value) for name, value in each.items()} for each in mappings]
    )
    return [str(name) for name in frame if frame[name].nunique(dropna=False) > 1]


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
    def from_values(cls, values: Iterable[float]) -> MeanDifference:
        """Return the mean of values, at least one, with Student's interval."""
        found = pd.Series(list(values), dtype=float)
        mean = float(found.mean())
        if len(found) == 1:
            return cls(mean)
        from scipy.stats import t

        error = float(found.std()) / math.sqrt(len(found))
        reach = float(t.ppf((1 + CONFIDENCE) / 2, len(found) - 1)) * error
        return cls(mean, mean - reach, mean + reach, len(found))

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

    For a metric that is compared by a factor it is the difference of the logarithms; None if a
    value is zero.

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
    both = [_index_by_seed(each, metric) for each in (runs, others)]
    pairs = pd.concat(both, axis=1, join="inner", keys=["ours", "theirs"])
    if pairs.empty:
        return None
    if not is_compared_by_factor(metric):
        return MeanDifference.from_values(pairs["ours"] - pairs["theirs"])
    if (pairs <= 0).any(axis=None):
        return None
    return MeanDifference.from_values(np.log(pairs["ours"] / pairs["theirs"]))


def _index_by_seed(runs: Iterable[RunRecord], metric: DisplayMetric) -> pd.Series:
    frame = make_frame(runs, metrics=[metric.name]).dropna(subset=[metric.name])
    twice = frame[frame["seed"].duplicated()]
    if not twice.empty:
        run = twice[RUN].iloc[0]
        raise ParameterError(
            f"{run.called} on {run.data}: two runs have seed {run.seed}: differences need one "
            f"setting of each method: name others differently, with `as`."
        )
    return frame.set_index("seed")[metric.name]


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
