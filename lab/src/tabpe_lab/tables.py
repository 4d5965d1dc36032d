"""Tables of runs: means over seeds, ranked, with notes; for a terminal, Markdown and LaTeX.

    tables:
      - {name: gain, title: Gain, rows: [case, method], metrics: [accuracy, 1-wd], against: Paper}
      - {name: overall, title: Over all data, rows: [method], metrics: [accuracy], against: Paper}

With `against`, each mean has its difference from one method beside it. Where rows name no data,
means are over data sets: each contributes once, whatever its seeds, and the interval shows how the
difference varies from data set to data set. Text is escaped in every format.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd

from tabpe.errors import ParameterError, did_you_mean
from tabpe_lab.exhibits import (
    METHODS,
    REAL,
    DisplayMetric,
    TableEntry,
    find_metric,
    format_label,
    format_labels,
    get_field_value,
    get_title,
    is_real,
    keep_records,
    lowercase_first,
    sort_distinct,
)
from tabpe_lab.records import RunRecord
from tabpe_lab.summary import (
    CONFIDENCE,
    DID_NOT_FIT,
    DONE,
    FAILED,
    GroupKey,
    MeanDifference,
    RunSummary,
    SeedStatistics,
    compare_pairs,
    find_paper_table,
    group_records,
    is_compared_by_factor,
    summarize_groups,
)

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as RichTable

NOTHING = "-"
EACH_BY_ITSELF = f"each of {CONFIDENCE:.0%} by itself, whatever their number"
BOUND = f"{METHODS[REAL]}: trained on the real rows, not private, not ranked."
QUICK = "Variant quick: few rows and cheap settings, not to be compared with others."
PRINTED = "The paper's numbers are as printed there, of three splits."

Summaries = Mapping[GroupKey, RunSummary]


@dataclass(frozen=True, eq=False)
class ResultColumn:
    """A column of a table.

    Args:
        title: The name of a metric, with an arrow in the better direction.
        texts: The cells.
        marks: `best`, `second`, `bound` (not ranked), `words` (not a number) or `plain`.
        beside: Whether it belongs to the column before it.
    """

    title: str
    texts: list[str]
    marks: list[str]
    beside: bool = False


@dataclass(frozen=True, eq=False)
class ResultTable:
    """A table, before it is written in any format.

    Args:
        title: Its title.
        texts: The cells; the levels of the index are the row heads.
        marks: The mark of each cell, see `ResultColumn`.
        beside: The columns that belong to the one before, by position.
        notes: Notes below the table.
    """

    title: str
    texts: pd.DataFrame
    marks: pd.DataFrame
    beside: tuple[bool, ...]
    notes: tuple[str, ...] = ()

    @classmethod
    def from_columns(
        cls, title: str, index: pd.MultiIndex, columns: Sequence[ResultColumn], notes: Sequence[str]
    ) -> ResultTable:
        """Return the table of some columns."""
        titles = [column.title for column in columns]
        texts, marks = (
            pd.DataFrame(list(zip(*cells, strict=True)), index, titles, dtype=object)
            for cells in ([c.texts for c in columns], [c.marks for c in columns])
        )
        return cls(title, texts, marks, tuple(c.beside for c in columns), tuple(notes))

    @property
    def heads(self) -> list[str]:
        """Titles of the columns of row heads."""
        return [str(name) for name in self.texts.index.names]

    def iterate_rows(self) -> Iterator[tuple[list[str], list[tuple[str, str]]]]:
        """Yield row heads, without those that repeat the row above, and cells with their marks."""
        before: tuple[str, ...] = ()
        marks = self.marks.itertuples(index=False, name=None)
        cells = self.texts.itertuples(index=False, name=None)
        for heads, texts, styles in zip(self.texts.index, cells, marks, strict=True):
            same = 0
            while same < len(heads) - 1 and heads[: same + 1] == before[: same + 1]:
                same += 1
            yield [*[""] * same, *heads[same:]], list(zip(texts, styles, strict=True))
            before = heads


def build_table(
    entry: TableEntry, records: Sequence[RunRecord], *, beside_paper: bool = False
) -> ResultTable:
    """Return a table of runs.

    Args:
        entry: The table.
        records: The runs, with those that are missing.
        beside_paper: Whether the numbers of the paper are shown beside ours.
    """
    wanted = keep_records(records, entry.where)
    found = _order_groups(_summarize_rows(entry, wanted))
    paper = find_paper_table(entry.paper) if beside_paper and entry.paper else None
    known = {name for summary in found.values() for name in summary.values}
    columns: list[ResultColumn] = []
    for name in [name for name in entry.metrics if name in known] or entry.metrics:
        metric = find_metric(name)
        columns.append(_build_own_column(metric, found, entry.rows, is_first=not columns))
        if entry.against:
            columns += _build_comparison(metric, entry, wanted, list(found))
        if paper is not None:
            printed = {key: paper.find_value(key, name) for key in found}
            columns.append(_build_paper_column(metric, printed, entry.rows))
    heads = [get_title(name).capitalize() for name in entry.rows]
    labels = [format_labels(key, entry.rows) for key in found]
    index = pd.MultiIndex.from_tuples(labels or [("",) * len(heads)], names=heads)[: len(labels)]
    notes = [
        _describe_seeds(entry, found, wanted),
        *([BOUND] if any(is_real(key, entry.rows) for key in found) else []),
        *_describe_choices(entry, found),
        *_describe_endings(entry, found),
        *([QUICK] if any(run.variant == "quick" for run in wanted) else []),
        *([PRINTED] if paper is not None else []),
        *(_describe_comparison(entry) if entry.against else []),
    ]
    return ResultTable.from_columns(entry.title, index, columns, notes)


def _get_fields(entry: TableEntry) -> tuple[str, ...]:
    return ("case", *entry.rows) if entry.over_data else entry.rows


def _summarize_rows(entry: TableEntry, records: Sequence[RunRecord]) -> Summaries:
    """Return the summary of each row; over data sets, each contributes once to the mean."""
    found = summarize_groups(records, _get_fields(entry), entry.metrics, where=entry.name)
    if not entry.over_data:
        return found
    rows: dict[GroupKey, list[RunSummary]] = {}
    for key, summary in found.items():
        rows.setdefault(key[1:], []).append(summary)
    return {key: _average_over_data(summaries) for key, summaries in rows.items()}


def _average_over_data(summaries: Sequence[RunSummary]) -> RunSummary:
    done = [each for each in summaries if each.outcome == DONE]
    if not done:
        return summaries[0]
    means = pd.DataFrame([{name: s.mean for name, s in each.values.items()} for each in done])
    values = {str(name): SeedStatistics(float(mean)) for name, mean in means.mean().items()}
    return RunSummary(DONE, values, seeds=min(each.seeds for each in done))


def _order_groups(found: Summaries) -> Summaries:
    """Return summaries in order of appearance, those of a group together, numbers rising."""
    order: dict[GroupKey, list[GroupKey]] = {}
    for key in found:
        order.setdefault(key[:-1], []).append(key)
    return {
        (*rest, last): found[*rest, last]
        for rest, group in order.items()
        for last in sort_distinct(key[-1] for key in group)
    }


def _build_own_column(
    metric: DisplayMetric, found: Summaries, fields: Sequence[str], *, is_first: bool
) -> ResultColumn:
    """Return the column of a metric. Only the first one shows how runs ended."""
    spreads = {key: summary.values.get(metric.name) for key, summary in found.items()}
    column = _build_paper_column(metric, spreads, fields)
    if is_first:
        endings = map(_format_ending, found.values())
        column.texts[:] = [
            ending if spread is None else text
            for text, spread, ending in zip(column.texts, spreads.values(), endings, strict=True)
        ]
    title = f"{metric.title} ({metric.unit})" if metric.unit else metric.title
    marks = rank_cells(column.texts, column.marks, [key[:-1] for key in found], metric.better)
    return ResultColumn(f"{title} {metric.arrow}".rstrip(), column.texts, marks)


def _build_paper_column(
    metric: DisplayMetric, spreads: Mapping[GroupKey, SeedStatistics | None], fields: Sequence[str]
) -> ResultColumn:
    """Return a column of means and deviations, which are not ranked."""
    texts = [NOTHING if s is None else format_spread(s, metric) for s in spreads.values()]
    marks = [
        "words" if spread is None else "bound" if is_real(key, fields) else "plain"
        for key, spread in spreads.items()
    ]
    return ResultColumn("paper", texts, marks, beside=True)


def rank_cells(
    texts: Sequence[str], marks: Sequence[str], groups: Sequence[GroupKey], better: str
) -> list[str]:
    """Return marks in which plain cells are the best or second of their group.

    Cells are compared as shown: those that look equal share a mark. A cell alone has none.

    Example:
        >>> rank_cells(["0.5 ± 0.1", "0.5", "0.4"], ["plain"] * 3, [()] * 3, "higher")
        ['best', 'best', 'second']
    """
    frame = pd.DataFrame({"mark": list(marks), "group": pd.Series(list(groups), dtype=object)})
    if better == "neither" or frame.empty:
        return list(marks)
    plain = frame[frame["mark"] == "plain"]
    shown = pd.Series([float(texts[n].partition(" ")[0]) for n in plain.index], plain.index)
    by_group = shown.groupby(plain["group"].map(repr))
    ranks = by_group.rank(method="dense", ascending=better == "lower")
    ranks = ranks[by_group.transform("size") > 1]
    for rank, mark in ((1, "best"), (2, "second")):
        frame.loc[ranks[ranks == rank].index, "mark"] = mark
    return list(frame["mark"])


def format_spread(spread: SeedStatistics, metric: DisplayMetric) -> str:
    """Return a mean and its deviation as text.

    Example:
        >>> format_spread(SeedStatistics(0.4938, 0.0046, 3), find_metric("accuracy"))
        '49.38 ± 0.46'
    """
    mean = metric.format_value(spread.mean)
    return mean if spread.std is None else f"{mean} ± {metric.format_value(spread.std)}"


def _format_ending(summary: RunSummary) -> str:
    if summary.outcome == DONE:
        return NOTHING
    return f"{summary.outcome} ({summary.limit})" if summary.limit else summary.outcome


def _build_comparison(
    metric: DisplayMetric, entry: TableEntry, records: Sequence[RunRecord], keys: list[GroupKey]
) -> list[ResultColumn]:
    """Return the columns of differences from one method, beside the means of a metric.

    Raises:
        ParameterError: If no run is of that method.
    """
    known = dict.fromkeys(record.called for record in records)
    if records and entry.against not in known:
        hint = did_you_mean(entry.against, known)
        raise ParameterError(f"{entry.name}: against={entry.against!r}: no such method: {hint}")
    fields = _get_fields(entry)
    groups = group_records(records, lambda run: tuple(get_field_value(run, f) for f in fields))
    found: dict[GroupKey, list[MeanDifference]] = {key: [] for key in keys}
    for key, runs in groups.items():
        other = (*key[:-1], entry.against)
        if key != other and other in groups:
            difference = compare_pairs(runs, groups[other], metric)
            found[key[1:] if entry.over_data else key] += [] if difference is None else [difference]
    title = f"against {format_label('method', entry.against)}"
    if not entry.over_data:
        return [_build_text_column(title, [_format_first(each, metric) for each in found.values()])]
    means = [
        [MeanDifference.from_values([d.mean for d in each])] if each else []
        for each in found.values()
    ]
    counts = [_count_signs(each, metric) for each in found.values()]
    return [
        _build_text_column(title, [_format_first(each, metric) for each in means]),
        _build_text_column("better / worse / data", counts),
    ]


def _build_text_column(title: str, texts: list[str]) -> ResultColumn:
    marks = ["words" if text == NOTHING else "plain" for text in texts]
    return ResultColumn(title, texts, marks, beside=True)


def _format_first(found: Sequence[MeanDifference], metric: DisplayMetric) -> str:
    return format_difference(found[0], metric) if found else NOTHING


def format_difference(found: MeanDifference, metric: DisplayMetric) -> str:
    """Return a difference as text: in points, or as a factor.

    Example:
        >>> format_difference(MeanDifference(0.052, 0.041, 0.063, 5), find_metric("accuracy"))
        '+5.20 (+4.10 to +6.30)'
        >>> format_difference(MeanDifference(math.log(0.5)), find_metric("1-wd"))
        'x 0.50'
    """
    factor = is_compared_by_factor(metric)

    def form(value: float) -> str:
        return f"{math.exp(value):.2f}" if factor else f"{metric.scale * value:+.2f}"

    text = f"{'x ' if factor else ''}{form(found.mean)}"
    if found.low is None or found.high is None:
        return text
    return f"{text} ({form(found.low)} to {form(found.high)})"


def _count_signs(found: Sequence[MeanDifference], metric: DisplayMetric) -> str:
    """Return on how many data sets a method is better, and on how many worse."""
    if not found:
        return NOTHING
    up, down = (sum(each.sign == sign for each in found) for sign in (1, -1))
    better, worse = (down, up) if metric.better == "lower" else (up, down)
    return f"{better} / {worse} / {len(found)}"


def _describe_comparison(entry: TableEntry) -> list[str]:
    against = format_label("method", entry.against)
    kinds = dict.fromkeys(is_compared_by_factor(find_metric(name)) for name in entry.metrics)
    how = " or ".join("as a factor" if factor else "in points" for factor in kinds)
    if not entry.over_data:
        note = f"Against {against}: seed by seed, {how}, with Student's interval for the mean"
        return [f"{note}, {EACH_BY_ITSELF}."]
    note = f"Against {against}: the mean over data sets of their mean differences, {how}"
    better = "Better and worse: data sets whose own interval over seeds leaves out no difference"
    return [f"{note}, with Student's interval over data sets.", f"{better}, {EACH_BY_ITSELF}."]


def _describe_seeds(entry: TableEntry, found: Summaries, records: Sequence[RunRecord]) -> str:
    done = {key: summary.seeds for key, summary in found.items() if summary.outcome == DONE}
    if not done:
        return "No run is done yet."
    usual = max(done.values())
    epsilons = sorted({run.epsilon for run in records if run.epsilon is not None})
    budget = f" at epsilon {epsilons[0]:g}" if len(epsilons) == 1 else ""
    many = f"Means of {usual} seeds with the standard deviation of a sample"
    if entry.over_data:
        many = f"Means over data sets, of {usual} seeds each{',' if budget else ''}"
    fewer = [f"{_format_row(key, entry)}: {n}" for key, n in done.items() if n < usual]
    note = f"{many if usual > 1 else 'Of one seed'}{budget}."
    return note + (f" Fewer seeds: {'; '.join(fewer)}." if fewer else "")


def _describe_choices(entry: TableEntry, found: Summaries) -> list[str]:
    """Return which settings were chosen, by which metric, and which are the nearest."""
    chosen: dict[str, list[str]] = {}
    nearest: dict[str, list[str]] = {}
    for key, summary in found.items():
        row = _format_row(key, entry)
        if summary.chosen_by and summary.chosen:
            metric = lowercase_first(find_metric(summary.chosen_by).title)
            chosen.setdefault(metric, []).append(f"{row}: {summary.chosen}")
        if summary.nearest_by and summary.closest:
            metric = find_metric(summary.nearest_by).title
            nearest.setdefault(metric, []).append(f"{row}: {summary.closest}")
    return [
        *(f"Best setting of each method by {m}: {'; '.join(each)}." for m, each in chosen.items()),
        *(f"Nearest setting by {m}: {'; '.join(each)}." for m, each in nearest.items()),
    ]


def _describe_endings(entry: TableEntry, found: Summaries) -> list[str]:
    """Return why runs did not fit or failed, where no other run of the row is done."""
    ended: dict[str, list[str]] = {}
    for key, summary in found.items():
        for reason in summary.reasons if summary.outcome in {DID_NOT_FIT, FAILED} else ():
            ended.setdefault(f"{summary.outcome}: {reason}", []).append(_format_row(key, entry))
    return [f"{'; '.join(rows)}: {how.rstrip('.')}." for how, rows in ended.items()]


def _format_row(key: GroupKey, entry: TableEntry) -> str:
    return ", ".join(format_labels(key, entry.rows))


FORMATS = ("terminal", "markdown", "latex")
_STYLES = {"best": "bold", "second": "underline", "bound": "italic", "words": "dim"}
_MARKDOWN = {"best": "**{}**", "second": "<u>{}</u>", "bound": "*{}*"}
_LATEX = {"best": r"\textbf{{{}}}", "second": r"\underline{{{}}}", "bound": r"\textit{{{}}}"}
_LATEX_SIGNS = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "↑": r"$\uparrow$",
    "↓": r"$\downarrow$",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
} | {sign: f"\\{sign}" for sign in "&%$#_{}"}
_LATEX_ANY = re.compile("|".join(map(re.escape, _LATEX_SIGNS)))
_MARKDOWN_ANY = re.compile(r"([\\|*_<>`\[\]])")


def markdown(table: ResultTable) -> str:
    """Return a table as Markdown."""
    heads = [*map(_escape_markdown, table.heads), *table.texts.columns]
    lines = [f"**{_escape_markdown(table.title)}**", "", f"| {' | '.join(heads)} |"]
    lines += ["|" + "---|" * len(table.heads) + "---:|" * len(table.texts.columns)]
    lines += [f"| {' | '.join(row)} |" for row in _format_rows(table, _MARKDOWN, _escape_markdown)]
    lines += ["", *(f"{_escape_markdown(note)}  " for note in table.notes)] if table.notes else []
    return "\n".join(lines) + "\n"


def latex(table: ResultTable) -> str:
    """Return a table as LaTeX, for the package booktabs."""
    letters = "l" * len(table.heads) + "r" * len(table.texts.columns)
    heads = map(_escape_latex, [*table.heads, *table.texts.columns])
    lines = [r"\begin{table}", r"  \centering", rf"  \begin{{tabular}}{{{letters}}}"]
    lines += [r"    \toprule", f"    {' & '.join(heads)} \\\\", r"    \midrule"]
    for index, row in enumerate(_format_rows(table, _LATEX, _escape_latex)):
        lines += [r"    \midrule"] if index and len(table.heads) > 1 and row[0] else []
        lines.append(f"    {' & '.join(row)} \\\\")
    caption = _escape_latex(" ".join((f"{table.title}.", *table.notes)))
    lines += [r"    \bottomrule", r"  \end{tabular}", rf"  \caption{{{caption}}}", r"\end{table}"]
    return "\n".join(lines) + "\n"


def _format_rows(
    table: ResultTable, marks: Mapping[str, str], escape: Callable[[str], str]
) -> Iterator[list[str]]:
    for heads, cells in table.iterate_rows():
        shown = [marks.get(mark, "{}").format(escape(text)) for text, mark in cells]
        yield [*map(escape, heads), *shown]


def _escape_markdown(text: str) -> str:
    return _MARKDOWN_ANY.sub(r"\\\1", text)


def _escape_latex(text: str) -> str:
    return _LATEX_ANY.sub(lambda match: _LATEX_SIGNS[match[0]], text)


def print_table(table: ResultTable, console: Console) -> None:
    """Print a table in a terminal; columns that do not fit its width go below the first."""
    from rich.text import Text

    console.print(Text(table.title, style="bold"))
    for block in _split_columns(table, console):
        console.print(_build_rich_table(table, block))
        console.print()
    for note in table.notes:
        console.print(Text(note, style="dim"))


def _split_columns(table: ResultTable, console: Console) -> Iterator[list[int]]:
    """Yield positions of columns, as many at a time as the terminal is wide."""
    from rich.measure import Measurement

    options = console.options.update(max_width=10_000)
    starts = [n for n, beside in enumerate(table.beside) if not beside]
    block: list[int] = []
    for first, end in itertools.pairwise([*starts, len(table.beside)]):
        together = [*range(first, end)]
        grown = _build_rich_table(table, [*block, *together])
        if block and Measurement.get(console, options, grown).maximum > console.width:
            yield block
            block = []
        block += together
    yield block


def _build_rich_table(table: ResultTable, positions: Sequence[int]) -> RichTable:
    from rich import box
    from rich.table import Table as RichTable
    from rich.text import Text

    drawn = RichTable(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    for head in table.heads:
        drawn.add_column(Text(head))
    for position in positions:
        drawn.add_column(Text(table.texts.columns[position]), justify="right", no_wrap=True)
    rows = list(table.iterate_rows())
    stacked = _stack_heads([heads for heads, _ in rows])
    for index, (_, cells) in enumerate(rows):
        shown = (
            Text(text, style=_STYLES.get(mark, "")) for text, mark in (cells[p] for p in positions)
        )
        is_last = len(table.heads) > 1 and index + 1 < len(rows) and bool(rows[index + 1][0][0])
        drawn.add_row(*map(Text, stacked[index]), *shown, end_section=is_last)
    return drawn


def _stack_heads(rows: Sequence[list[str]]) -> list[list[str]]:
    """Return heads whose first one continues in the empty cells below it, to be narrow."""
    found: list[list[str]] = []
    words: list[str] = []
    for index, heads in enumerate(rows):
        if heads[0]:
            below = itertools.takewhile(lambda later: not later[0], rows[index + 1 :])
            words = heads[0].split()
            if len(words) > 1 + sum(1 for _ in below):
                words = [heads[0]]
        found.append([words.pop(0) if words else "", *heads[1:]])
    return found
