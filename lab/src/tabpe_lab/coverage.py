"""What of the paper was run: the state of every exhibit, and a reason for every empty cell.

An exhibit is a table or a figure of the paper. `paper_exhibits.yaml` lists all of them with the
experiments that remake them. The state of an experiment follows from its file and its records:

- `full`: every run of the variant `full` has ended
- `reduced`: every run of a smaller variant has ended
- `partly run`: some runs of the variant are missing
- `not run`: there is no record

A missing run has a reason: it waits in the queue, for an estimated time, or the file says why it is
not to be run (`left_out`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from tabpe.errors import ParameterError
from tabpe_lab.exhibits import (
    METHODS,
    TableEntry,
    format_label,
    format_labels,
    get_field_value,
    keep_records,
    parse_tables,
    read_suite,
)
from tabpe_lab.experiment import Experiment, MethodEntry
from tabpe_lab.grid import list_runs
from tabpe_lab.page import PageSources, load_status
from tabpe_lab.records import RunRecord, get_results_path, read_all_records
from tabpe_lab.runner import RunTimeEstimator, format_duration
from tabpe_lab.summary import (
    DONE,
    NOT_RUN,
    PaperTable,
    RunSummary,
    find_paper_table,
    group_records,
    summarize_groups,
)

State = Literal["full", "reduced", "partly run", "not run", "nothing to run"]
VARIANTS = ("full", "small")
ENOUGH_SEEDS = 3


@dataclass(frozen=True)
class PaperExhibit:
    """A table or a figure of the paper.

    Args:
        label: Its label in the source of the paper.
        title: What it shows.
        experiments: The experiments that remake it.
        nothing: Why there is nothing to run; empty if there is.

    Example:
        >>> PaperExhibit("fig:xor", "Stress test", ("xor",)).kind
        'figure'
    """

    label: str
    title: str
    experiments: tuple[str, ...] = ()
    nothing: str = ""

    def __post_init__(self) -> None:
        if bool(self.experiments) == bool(self.nothing):
            raise ParameterError(
                f"{self.label}: expected experiments, or in `nothing` why there is nothing to run."
            )

    @property
    def kind(self) -> str:
        """`table` or `figure`."""
        return "table" if self.label.startswith("tab:") else "figure"


@cache
def load_paper_exhibits() -> tuple[PaperExhibit, ...]:
    """Return every table and figure of the paper, in its order.

    Example:
        >>> load_paper_exhibits()[0].label
        'fig:xor'
    """
    from tabpe._utils import yaml12

    text = files("tabpe_lab").joinpath("paper_exhibits.yaml").read_text(encoding="utf-8")
    return tuple(
        PaperExhibit(label, entry["title"], tuple(entry.get("experiments", ())), *_nothing(entry))
        for label, entry in yaml12.load(text).items()
    )


def _nothing(entry: Mapping[str, Any]) -> tuple[str, ...]:
    return (entry["nothing"],) if "nothing" in entry else ()


@dataclass(frozen=True, eq=False)
class ExperimentCoverage:
    """What was run of an experiment, in the variant that says most.

    Args:
        full: The experiment as in the paper.
        shown: The experiment in the variant that was run, or waits in the queue.
        records: A record of every run of that variant; missing ones have the status `not run`.
        is_queued: Whether its missing runs wait in the queue.
        known: The records of all experiments, for estimates of time.
    """

    full: Experiment
    shown: Experiment
    records: tuple[RunRecord, ...]
    is_queued: bool
    known: tuple[RunRecord, ...] = ()

    @property
    def missing(self) -> list[RunRecord]:
        """The runs that have no record."""
        return [record for record in self.records if record.status == NOT_RUN]

    @property
    def state(self) -> State:
        """How much of it was run."""
        missing = len(self.missing)
        if missing == len(self.records):
            return "not run"
        if missing:
            return "partly run"
        return "full" if self.shown.variant == "full" else "reduced"

    @property
    def counts(self) -> str:
        """How the runs ended, as text."""
        ended = [record.status for record in self.records]
        parts = [f"{ended.count(each)} {each}" for each in dict.fromkeys(sorted(ended))]
        return f"{self.shown.variant}: {', '.join(parts)}"

    def estimate_time(self, missing: Sequence[RunRecord]) -> str:
        """Return about how long missing runs take, from runs of the same kind."""
        keys = {record.key for record in missing}
        todo = [run for run in list_runs(self.shown) if run.key in keys]
        seconds = RunTimeEstimator(todo, self.known).seconds_left
        return "an unknown time" if seconds is None else f"about {format_duration(seconds)}"

    def explain_missing(self, missing: Sequence[RunRecord]) -> str:
        """Return why runs are missing, which must be runs of one method."""
        reason = self.shown.left_out.get(missing[0].method, "")
        if reason:
            return reason
        if not self.is_queued:
            return ""
        return f"waits in the queue, {self.estimate_time(missing)} of computing"


def read_coverage(sources: PageSources, queue: Path) -> dict[str, ExperimentCoverage]:
    """Return what was run of each experiment of a page, by its name.

    Args:
        sources: The experiments and their records.
        queue: The suite of what is to be run.
    """
    waiting = {each.name: each.variant for each in read_suite(queue).experiments}
    known = tuple(read_all_records(sources.results))
    found = {}
    for name in sources.names:
        shown = _read_variant(name, _choose_variant(name, sources, waiting), sources)
        found[name] = ExperimentCoverage(
            full=_read_variant(name, "full", sources),
            shown=shown,
            records=load_status(shown, sources.results).records,
            is_queued=waiting.get(name) == shown.variant,
            known=known,
        )
    return found


def _read_variant(name: str, variant: str, sources: PageSources) -> Experiment:
    (found,) = read_suite(sources.experiments / f"{name}.yaml", variant).experiments
    return found


def _choose_variant(name: str, sources: PageSources, waiting: Mapping[str, str]) -> str:
    """Return the largest variant with records; where there is none, that of the queue."""
    for variant in VARIANTS:
        if get_results_path(name, variant, sources.results).exists():
            return variant
    return waiting.get(name, VARIANTS[0])


def describe_reduction(full: Experiment, shown: Experiment) -> list[str]:
    """Return how a variant is smaller than the paper's setting.

    Example:
        >>> from tabpe_lab.exhibits import parse_experiment
        >>> plain = {"name": "a", "title": "A", "data": ["xor"], "metrics": ["accuracy"],
        ...          "methods": ["real", {"gem": {"degree": [2, 3]}}],
        ...          "variants": {"full": {}, "small": {"seeds": 1, "methods": [{"gem": {}}]}}}
        >>> full, small = (parse_experiment(plain, name, where="a") for name in ("full", "small"))
        >>> describe_reduction(full, small)
        ['1 seed instead of 3', 'without Real rows', 'GEM: degree by default instead of 2, 3']
    """
    changes = []
    if len(shown.seeds) != len(full.seeds):
        some = len(shown.seeds)
        changes.append(f"{some} seed{'s' * (some > 1)} instead of {len(full.seeds)}")
    lacking = [each for each in full.epsilons if each not in shown.epsilons]
    if lacking:
        changes.append(f"without epsilon {', '.join(f'{each:g}' for each in lacking)}")
    if shown.limits.seconds != full.limits.seconds:
        changes.append(
            f"at most {format_duration(shown.limits.seconds)} a run instead of "
            f"{format_duration(full.limits.seconds)}"
        )
    ours = {_name_method(each): each for each in shown.methods}
    for each in full.methods:
        name = _name_method(each)
        if name in ours:
            changes += _describe_settings(name, each, ours[name])
        else:
            changes.append(f"without {name}")
    return changes


def _name_method(entry: MethodEntry) -> str:
    return format_label("method", entry.called or entry.name)


def _describe_settings(name: str, full: MethodEntry, shown: MethodEntry) -> list[str]:
    names = dict.fromkeys([*full.settings, *shown.settings])
    return [
        f"{name}: {key} {_format_setting(shown.settings.get(key))} instead of "
        f"{_format_setting(full.settings.get(key))}"
        for key in names
        if shown.settings.get(key) != full.settings.get(key) and key != "inference"
    ]


def _format_setting(value: Any) -> str:
    if value is None:
        return "by default"
    if isinstance(value, Mapping):
        parts = (f"{_format_setting(each)} ({name})" for name, each in value.items())
        return " and ".join(parts)
    if isinstance(value, list):
        return ", ".join(map(_format_setting, value))
    return f"{value:,}" if isinstance(value, int) else str(value)


@dataclass(frozen=True)
class EmptyCells:
    """Cells of a row of a table that have no number of ours.

    Args:
        table: The label of the table in the paper.
        row: The heads of the row.
        metrics: The columns.
        reason: Why; empty if nobody knows.
    """

    table: str
    row: str
    metrics: tuple[str, ...]
    reason: str


@dataclass(frozen=True)
class TableCoverage:
    """How much of a table of the paper has numbers of ours.

    Args:
        table: The label of the table in the paper.
        experiment: The experiment that remakes it.
        cells: Its cells: rows by columns.
        rows: Its rows.
        repeated: Rows that are of at least `ENOUGH_SEEDS` seeds.
        empty: The cells without a number.
        unprinted: What the paper has no number for, with the reason.
    """

    table: str
    experiment: str
    cells: int
    rows: int
    repeated: int
    empty: tuple[EmptyCells, ...]
    unprinted: tuple[str, ...]

    @property
    def filled(self) -> int:
        """The number of cells with a number."""
        return self.cells - sum(len(each.metrics) for each in self.empty)


def measure_tables(coverage: ExperimentCoverage) -> list[TableCoverage]:
    """Return how much of the paper's tables an experiment fills."""
    entries = parse_tables(coverage.shown.tables, where=coverage.shown.name)
    return [_measure_table(entry, coverage) for entry in entries if entry.paper]


def _measure_table(entry: TableEntry, coverage: ExperimentCoverage) -> TableCoverage:
    records = keep_records(coverage.records, entry.where)
    rows = summarize_groups(records, entry.rows, entry.metrics, where=entry.name)
    empty = []
    for key, summary in rows.items():
        lacking = tuple(name for name in entry.metrics if name not in summary.values)
        if lacking:
            row = ", ".join(format_labels(key, entry.rows))
            of_row = [r for r in records if _matches_row(r, key, entry.rows)]
            reason = _explain_row(summary, of_row, coverage)
            empty.append(EmptyCells(entry.paper, row, lacking, reason))
    paper = find_paper_table(entry.paper)
    return TableCoverage(
        entry.paper,
        coverage.shown.name,
        cells=len(rows) * len(entry.metrics),
        rows=len(rows),
        repeated=sum(each.outcome == DONE and each.seeds >= ENOUGH_SEEDS for each in rows.values()),
        empty=tuple(empty),
        unprinted=tuple(_explain_unprinted(entry, paper, list(rows))),
    )


def _matches_row(record: RunRecord, key: Sequence[Any], fields: Sequence[str]) -> bool:
    return all(get_field_value(record, name) == one for name, one in zip(fields, key, strict=True))


def _explain_row(
    summary: RunSummary, records: Sequence[RunRecord], coverage: ExperimentCoverage
) -> str:
    if summary.outcome == NOT_RUN:
        return coverage.explain_missing(records)
    if summary.outcome == DONE:
        return "not defined for this data"
    why = "; ".join(each.rstrip(".") for each in summary.reasons)
    return f"{summary.outcome}: {why}" if why else ""


def _explain_unprinted(
    entry: TableEntry, paper: PaperTable, rows: Sequence[tuple[Any, ...]]
) -> Iterable[str]:
    """Yield which numbers the paper does not print: of methods, of columns, of single cells."""
    printed = {
        key: [name for name in entry.metrics if paper.find_value(key, name) is not None]
        for key in rows
    }
    absent = dict.fromkeys(
        key[-1]
        for key in rows
        if not any(of for other, of in printed.items() if other[-1] == key[-1])
    )
    if absent:
        names = ", ".join(METHODS.get(name, str(name)) for name in absent)
        yield f"{names}: not in this table of the paper"
    columns = [name for name in entry.metrics if not any(name in of for of in printed.values())]
    if columns:
        yield f"{', '.join(columns)}: not a column of this table of the paper"
    single = [
        f"{', '.join(format_labels(key, entry.rows))} ({name})"
        for key, of in printed.items()
        if key[-1] not in absent
        for name in entry.metrics
        if name not in of and name not in columns
    ]
    if single:
        yield f"{'; '.join(single)}: a dash there, or not printed"


def write_coverage_page(sources: PageSources, queue: Path) -> str:
    """Return the page on what of the paper was run, as Markdown."""
    found = read_coverage(sources, queue)
    tables = [table for each in found.values() for table in measure_tables(each)]
    parts = [
        _HEAD,
        _summarize(found, tables),
        "## Every table and figure\n\n" + _write_exhibits(found),
        "## Smaller than the paper\n\n" + _write_reductions(found),
        "## Runs that are missing\n\n" + _write_missing(found),
        "## Cells of the paper's tables\n\n" + _write_cells(tables),
        "## Empty cells\n\n" + _write_empty(tables),
        "## Cells without a number in the paper\n\n" + _write_unprinted(tables),
    ]
    return "\n\n".join(parts) + "\n"


_HEAD = """\
# What of the paper was run

Made by `python lab/pages.py` from the experiment files and the records. `tabpe-lab run
lab/experiments/queue.yaml` makes the missing runs, the most informative first, and goes on where it
stopped. Estimates of time are means of runs of the same kind on this kind of machine."""


def _summarize(found: Mapping[str, ExperimentCoverage], tables: Sequence[TableCoverage]) -> str:
    states = [_find_exhibit_state(each, found) for each in load_paper_exhibits()]
    counted = ", ".join(f"{states.count(state)} {state}" for state in _STATES if state in states)
    cells, filled = sum(each.cells for each in tables), sum(each.filled for each in tables)
    rows, repeated = sum(each.rows for each in tables), sum(each.repeated for each in tables)
    return (
        f"{len(states)} tables and figures: {counted}. "
        f"{filled} of {cells} cells of the paper's tables have a number of ours; "
        f"{repeated} of {rows} rows are of {ENOUGH_SEEDS} seeds or more."
    )


# From the least to the most, so that the state of several experiments is that of the least.
_STATES: tuple[State, ...] = ("not run", "partly run", "reduced", "full", "nothing to run")


def _find_exhibit_state(exhibit: PaperExhibit, found: Mapping[str, ExperimentCoverage]) -> State:
    if exhibit.nothing:
        return "nothing to run"
    states = [found[name].state for name in exhibit.experiments]
    some = any(state != "not run" for state in states)
    least = min(states, key=_STATES.index)
    return "partly run" if least == "not run" and some else least


def _write_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _write_exhibits(found: Mapping[str, ExperimentCoverage]) -> str:
    def write_row(exhibit: PaperExhibit) -> list[str]:
        runs = "; ".join(found[name].counts for name in exhibit.experiments)
        names = ", ".join(f"`{name}`" for name in exhibit.experiments)
        state = _find_exhibit_state(exhibit, found)
        return [f"`{exhibit.label}`", exhibit.title, names, state, exhibit.nothing or runs]

    heads = ["paper", "what it shows", "experiment", "state", "runs"]
    return _write_table(heads, map(write_row, load_paper_exhibits()))


def _write_reductions(found: Mapping[str, ExperimentCoverage]) -> str:
    rows = [
        [f"`{name}`", "; ".join(describe_reduction(each.full, each.shown)), each.shown.reduced]
        for name, each in found.items()
        if each.shown.variant != "full"
    ]
    return _write_table(["experiment", "how", "why"], rows)


def _write_missing(found: Mapping[str, ExperimentCoverage]) -> str:
    rows = []
    for name, each in found.items():
        for called, runs in group_records(each.missing, lambda run: run.called).items():
            counts = Counter(format_label("data", run.data) for run in runs)
            where = ", ".join(f"{data} ({count})" for data, count in counts.items())
            label = format_label("method", called)
            rows.append([f"`{name}`", label, where, each.explain_missing(runs)])
    if not rows:
        return "None."
    return _write_table(["experiment", "method", "data (runs)", "why"], rows)


def _write_cells(tables: Sequence[TableCoverage]) -> str:
    rows = [
        [f"`{t.table}`", f"`{t.experiment}`", *map(str, (t.cells, t.filled, t.rows, t.repeated))]
        for t in tables
    ]
    heads = ["table", "experiment", "cells", "with a number", "rows", f"of {ENOUGH_SEEDS} seeds"]
    return _write_table(heads, rows)


def _write_empty(tables: Sequence[TableCoverage]) -> str:
    rows = [
        [f"`{each.table}`", each.row, ", ".join(each.metrics), each.reason]
        for table in tables
        for each in table.empty
    ]
    if not rows:
        return "None."
    return _write_table(["table", "row", "columns", "why"], rows)


def _write_unprinted(tables: Sequence[TableCoverage]) -> str:
    return "\n".join(f"- `{t.table}`: {'. '.join(t.unprinted)}." for t in tables if t.unprinted)
