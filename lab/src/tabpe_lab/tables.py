"""Tables of runs: means over seeds, ranked, with notes; for a terminal, Markdown and LaTeX.

    tables:
      - {name: gain, title: Gain, rows: [case, method], metrics: [accuracy, 1-wd], against: Paper}
      - {name: overall, title: Over all data, rows: [method], metrics: [accuracy], against: Paper}

With `against`, each mean has its difference from one method beside it. Where rows name no data,
means are over data sets: each counts once, whatever its seeds, and the interval shows how the
difference varies from data set to data set. Text is escaped in every format.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

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
    PaperTable,
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
    from rich.text import Text


Mark = Literal["plain", "best", "second", "bound", "words"]
NOTHING = "-"


@dataclass(frozen=True)
class ResultCell:
    """One cell.

    Args:
        text: Its text.
        mark: `best`, `second`, `bound` for what is not ranked, `words` for what is no number.
    """

    text: str
    mark: Mark = "plain"


@dataclass(frozen=True)
class ResultColumn:
    """The head of a column.

    Args:
        title: The name of a metric.
        arrow: The better direction.
        beside: Whether it belongs to the column before it.
    """

    title: str
    arrow: str = ""
    beside: bool = False

    def __str__(self) -> str:
        return f"{self.title} {self.arrow}".rstrip()


@dataclass(frozen=True)
class ResultRow:
    """A row: its heads, and its cells."""

    heads: tuple[str, ...]
    cells: tuple[ResultCell, ...]


@dataclass(frozen=True)
class ResultTable:
    """A table, before it is written in any format.

    Args:
        title: Its title.
        heads: Titles of the columns of row heads.
        columns: Heads of the other columns.
        rows: The rows; those that differ in their last head alone are ranked together.
        notes: Notes below the table.
    """

    title: str
    heads: tuple[str, ...]
    columns: tuple[ResultColumn, ...]
    rows: tuple[ResultRow, ...]
    notes: tuple[str, ...]


CellsByKey = dict[GroupKey, ResultCell]
EACH_BY_ITSELF = f"each of {CONFIDENCE:.0%} by itself, whatever their number"


@dataclass(frozen=True)
class MethodComparison:
    """Runs grouped by the rows of a table and by their data.

    Args:
        entry: The table.
        groups: The runs; the first part of a key is the data, where the rows name none.

    Example:
        >>> entry = TableEntry("a", "A", ("accuracy",), rows=("case", "method"), against="Paper")
        >>> MethodComparison.from_records(entry, []).found
        {}
    """

    entry: TableEntry
    groups: Mapping[GroupKey, Sequence[RunRecord]]

    @classmethod
    def from_records(cls, entry: TableEntry, records: Sequence[RunRecord]) -> MethodComparison:
        """Return the comparison of a table.

        Raises:
            ParameterError: If no run is of the method that the others are compared with.
        """
        known = dict.fromkeys(record.called for record in records)
        if records and entry.against not in known:
            hint = did_you_mean(entry.against, known)
            raise ParameterError(f"{entry.name}: against={entry.against!r}: no such method: {hint}")
        fields = _get_fields(entry)
        return cls(
            entry,
            group_records(records, lambda run: tuple(get_field_value(run, f) for f in fields)),
        )

    @property
    def found(self) -> dict[GroupKey, RunSummary]:
        """The summary of the runs of each row."""
        runs = [run for group in self.groups.values() for run in group]
        found = summarize_groups(
            runs, _get_fields(self.entry), self.entry.metrics, where=self.entry.name
        )
        if not self.entry.over_data:
            return found
        return {
            key: _average_over_data([found[each] for each in keys])
            for key, keys in self._group_over_data()
        }

    def build_columns(self, metric: DisplayMetric) -> list[tuple[ResultColumn, CellsByKey]]:
        """Return the columns beside the means of a metric."""
        apart = f"against {format_label('method', self.entry.against)}"
        if not self.entry.over_data:
            cells = {
                key: _make_difference_cell(self._compute_difference(key, metric), metric)
                for key in self.groups
            }
            return [(ResultColumn(apart, beside=True), cells)]
        means: CellsByKey = {}
        counts: CellsByKey = {}
        for key, keys in self._group_over_data():
            each = [found for one in keys if (found := self._compute_difference(one, metric))]
            over = MeanDifference.from_values([one.mean for one in each]) if each else None
            means[key], counts[key] = (
                _make_difference_cell(over, metric),
                _make_count_cell(each, metric),
            )
        return [
            (ResultColumn(apart, beside=True), means),
            (ResultColumn("better / worse / data", beside=True), counts),
        ]

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on these columns."""
        against = format_label("method", self.entry.against)
        kinds = dict.fromkeys(
            is_compared_by_factor(find_metric(name)) for name in self.entry.metrics
        )
        how = " or ".join("as a factor" if factor else "in points" for factor in kinds)
        if not self.entry.over_data:
            note = f"Against {against}: seed by seed, {how}, with Student's interval for the mean"
            return (f"{note}, {EACH_BY_ITSELF}.",)
        note = f"Against {against}: the mean over data sets of their mean differences, {how}"
        better = (
            "Better and worse: data sets whose own interval over seeds leaves out no difference"
        )
        return (f"{note}, with Student's interval over data sets.", f"{better}, {EACH_BY_ITSELF}.")

    def _group_over_data(self) -> list[tuple[GroupKey, list[GroupKey]]]:
        rows: dict[GroupKey, list[GroupKey]] = {}
        for key in self.groups:
            rows.setdefault(key[1:], []).append(key)
        return list(rows.items())

    def _compute_difference(self, key: GroupKey, metric: DisplayMetric) -> MeanDifference | None:
        """Return the difference of the runs of one row; None for the method compared with."""
        other = (*key[:-1], self.entry.against)
        if key == other or other not in self.groups:
            return None
        return compare_pairs(self.groups[key], self.groups[other], metric)


def _get_fields(entry: TableEntry) -> tuple[str, ...]:
    return ("case", *entry.rows) if entry.over_data else entry.rows


def _average_over_data(summaries: Sequence[RunSummary]) -> RunSummary:
    """Return the mean over data sets, each of which counts once."""
    done = [each for each in summaries if each.outcome == DONE]
    if not done:
        return summaries[0]
    names = dict.fromkeys(name for each in done for name in each.values)
    values = {
        name: SeedStatistics(
            SeedStatistics.from_values([e.values[name].mean for e in done if name in e.values]).mean
        )
        for name in names
    }
    return RunSummary(DONE, values, seeds=min(each.seeds for each in done))


def _make_difference_cell(found: MeanDifference | None, metric: DisplayMetric) -> ResultCell:
    return (
        ResultCell(NOTHING, "words")
        if found is None
        else ResultCell(format_difference(found, metric))
    )


def format_difference(found: MeanDifference, metric: DisplayMetric) -> str:
    """Return a difference as text: in points, or as a factor.

    Example:
        >>> format_difference(MeanDifference(0.052, 0.041, 0.063, 5), find_metric("accuracy"))
        '+5.20 (+4.10 to +6.30)'
        >>> format_difference(MeanDifference(math.log(0.5)), find_metric("1-wd"))
        'x 0.50'
    """

    def written(value: float) -> str:
        return (
            f"{math.exp(value):.2f}"
            if is_compared_by_factor(metric)
            else f"{metric.scale * value:+.2f}"
        )

    sign = "x " if is_compared_by_factor(metric) else ""
    interval = ""
    if found.low is not None and found.high is not None:
        interval = f" ({written(found.low)} to {written(found.high)})"
    return f"{sign}{written(found.mean)}{interval}"


def _make_count_cell(found: Sequence[MeanDifference], metric: DisplayMetric) -> ResultCell:
    """Return on how many data sets a method is better, and on how many worse."""
    if not found:
        return ResultCell(NOTHING, "words")
    up, down = (sum(each.sign == sign for each in found) for sign in (1, -1))
    better, worse = (down, up) if metric.better == "lower" else (up, down)
    return ResultCell(f"{better} / {worse} / {len(found)}")


QUICK = "quick"
BOUND = f"{METHODS[REAL]}: trained on the real rows, not private, not ranked."
CUT = "Variant quick: few rows and cheap settings, not to be compared with others."
PRINTED = "The paper's numbers are as printed there, of three splits."


def build_notes(
    entry: TableEntry,
    found: Mapping[GroupKey, RunSummary],
    records: Sequence[RunRecord],
    *,
    beside_paper: bool = False,
) -> tuple[str, ...]:
    """Return the notes of a table.

    Args:
        entry: The table.
        found: The summaries, by the values of its rows.
        records: Its runs.
        beside_paper: Whether the numbers of the paper are shown beside ours.
    """
    return (
        _describe_seeds(entry, found, records),
        *([BOUND] if any(is_real(key, entry.rows) for key in found) else []),
        *_describe_choices(entry, found),
        *_describe_endings(entry, found),
        *([CUT] if any(run.variant == QUICK for run in records) else []),
        *([PRINTED] if beside_paper else []),
    )


def _describe_seeds(
    entry: TableEntry, found: Mapping[GroupKey, RunSummary], records: Sequence[RunRecord]
) -> str:
    done = {key: summary.seeds for key, summary in found.items() if summary.outcome == DONE}
    if not done:
        return "No run is done yet."
    usual = max(done.values())
    epsilons = sorted({run.epsilon for run in records if run.epsilon is not None})
    budget = f" at epsilon {epsilons[0]:g}" if len(epsilons) == 1 else ""
    many = f"Means of {usual} seeds with the standard deviation of a sample"
    if entry.over_data:
        many = f"Means over data sets, of {usual} seeds each{',' if budget else ''}"
    fewer = [
        f"{_format_group(key, entry)}: {count}" for key, count in done.items() if count < usual
    ]
    note = f"{many if usual > 1 else 'Of one seed'}{budget}."
    return note + (f" Fewer seeds: {'; '.join(fewer)}." if fewer else "")


def _describe_choices(entry: TableEntry, found: Mapping[GroupKey, RunSummary]) -> list[str]:
    """Return which settings were chosen, by which metric."""
    chosen: dict[str, list[str]] = {}
    for key, summary in found.items():
        if summary.chosen_by and summary.chosen:
            setting = f"{_format_group(key, entry)}: {summary.chosen}"
            chosen.setdefault(_lowercase_first(find_metric(summary.chosen_by).title), []).append(
                setting
            )
    return [
        f"Best setting of each method by {metric}: {'; '.join(settings)}."
        for metric, settings in chosen.items()
    ]


def _describe_endings(entry: TableEntry, found: Mapping[GroupKey, RunSummary]) -> list[str]:
    """Return why runs did not fit or failed, where no other run of the row is done."""
    ended: dict[str, list[str]] = {}
    for key, summary in found.items():
        for reason in summary.reasons if summary.outcome in {DID_NOT_FIT, FAILED} else ():
            ended.setdefault(f"{summary.outcome}: {reason}", []).append(_format_group(key, entry))
    return [f"{'; '.join(rows)}: {how.rstrip('.')}." for how, rows in ended.items()]


def _format_group(key: GroupKey, entry: TableEntry) -> str:
    return ", ".join(format_labels(key, entry.rows))


def _lowercase_first(title: str) -> str:
    return title if title.isupper() else title[0].lower() + title[1:]


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
    compared = MethodComparison.from_records(entry, wanted) if entry.against else None
    found = _order_groups(
        compared.found
        if compared
        else summarize_groups(wanted, entry.rows, entry.metrics, where=entry.name)
    )
    paper = find_paper_table(entry.paper) if beside_paper and entry.paper else None
    columns: list[tuple[ResultColumn, dict[GroupKey, ResultCell]]] = []
    for name in _select_metrics(entry, found):
        columns.append(
            _build_own_column(find_metric(name), found, entry.rows, is_first=not columns)
        )
        if compared:
            columns += compared.build_columns(find_metric(name))
        if paper is not None:
            columns.append(_build_paper_column(find_metric(name), found, entry.rows, paper))
    return ResultTable(
        title=entry.title,
        heads=tuple(get_title(name).capitalize() for name in entry.rows),
        columns=tuple(column for column, _ in columns),
        rows=tuple(
            ResultRow(format_labels(key, entry.rows), tuple(cells[key] for _, cells in columns))
            for key in found
        ),
        notes=(
            *build_notes(entry, found, wanted, beside_paper=paper is not None),
            *(compared.notes if compared else ()),
        ),
    )


def rank_values(values: Mapping[GroupKey, float], better: str) -> dict[GroupKey, Mark]:
    """Return which values are best and second; equal ones share their mark.

    Example:
        >>> rank_values({("a",): 0.5, ("b",): 0.5, ("c",): 0.4}, "higher")
        {('a',): 'best', ('b',): 'best', ('c',): 'second'}
    """
    if better == "neither":
        return dict.fromkeys(values, "plain")
    order = sorted(set(values.values()), reverse=better == "higher")
    marks: dict[float, Mark] = dict(zip(order, ("best", "second"), strict=False))
    return {key: marks.get(value, "plain") for key, value in values.items()}


def format_spread(spread: SeedStatistics, metric: DisplayMetric) -> str:
    """Return a mean and its spread as text.

    Example:
        >>> format_spread(SeedStatistics(0.4938, 0.0046, 3), find_metric("accuracy"))
        '49.38 ± 0.46'
        >>> format_spread(SeedStatistics(12.34), find_metric("seconds"))
        '12.3'
    """
    mean = metric.format_value(spread.mean)
    return mean if spread.std is None else f"{mean} ± {metric.format_value(spread.std)}"


def _order_groups(found: Mapping[GroupKey, RunSummary]) -> dict[GroupKey, RunSummary]:
    """Return summaries in order of appearance, those of a group together, numbers rising."""
    order: dict[GroupKey, list[GroupKey]] = {}
    for key in found:
        order.setdefault(key[:-1], []).append(key)
    return {
        (*rest, last): found[*rest, last]
        for rest, group in order.items()
        for last in sort_distinct(key[-1] for key in group)
    }


def _select_metrics(entry: TableEntry, found: Mapping[GroupKey, RunSummary]) -> Sequence[str]:
    """Return the metrics that any run has; all of them while none is done."""
    known = {name for summary in found.values() for name in summary.values}
    return [name for name in entry.metrics if name in known] or entry.metrics


def _build_own_column(
    metric: DisplayMetric,
    found: Mapping[GroupKey, RunSummary],
    fields: Sequence[str],
    *,
    is_first: bool,
) -> tuple[ResultColumn, dict[GroupKey, ResultCell]]:
    """Return the column of a metric. Only the first one shows how runs ended."""
    title = f"{metric.title} ({metric.unit})" if metric.unit else metric.title
    cells: dict[GroupKey, ResultCell] = {}
    for key, summary in found.items():
        spread = summary.values.get(metric.name)
        if spread is not None:
            cells[key] = ResultCell(
                format_spread(spread, metric), "bound" if is_real(key, fields) else "plain"
            )
        else:
            cells[key] = ResultCell(_format_ending(summary) if is_first else NOTHING, "words")
    return ResultColumn(title, metric.arrow), cells | _mark_best(cells, metric)


def _mark_best(
    cells: Mapping[GroupKey, ResultCell], metric: DisplayMetric
) -> dict[GroupKey, ResultCell]:
    """Return the cells that rank first or second among their peers."""
    peers: dict[GroupKey, dict[GroupKey, float]] = {}
    for key, cell in cells.items():
        if cell.mark == "plain":
            # As shown: values that look equal share a rank.
            peers.setdefault(key[:-1], {})[key] = float(cell.text.partition(" ")[0])
    return {
        key: replace(cells[key], mark=mark)
        for group in peers.values()
        if len(group) > 1
        for key, mark in rank_values(group, metric.better).items()
    }


def _format_ending(summary: RunSummary) -> str:
    if summary.outcome == DONE:
        return NOTHING
    return f"{summary.outcome} ({summary.limit})" if summary.limit else summary.outcome


def _build_paper_column(
    metric: DisplayMetric,
    found: Mapping[GroupKey, RunSummary],
    fields: Sequence[str],
    paper: PaperTable,
) -> tuple[ResultColumn, dict[GroupKey, ResultCell]]:
    """Return the column of the paper's numbers, which are not ranked again."""
    cells = {key: ResultCell(NOTHING, "words") for key in found}
    for key in found:
        spread = paper.find_value(key, metric.name)
        if spread is not None:
            cells[key] = ResultCell(
                format_spread(spread, metric), "bound" if is_real(key, fields) else "plain"
            )
    return ResultColumn("paper", beside=True), cells


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


def markdown(table: ResultTable, *, title: bool = True) -> str:
    r"""Return a table as Markdown.

    Example:
        >>> rows = (ResultRow(("a|b",), (ResultCell("1.00", "best"),)),
        ...         ResultRow(("c",), (ResultCell("0.50", "second"),)))
        >>> table = ResultTable("T", ("Method",), (ResultColumn("AUC", "↑"),), rows, ())
        >>> print(markdown(table), end="")
        **T**
        <BLANKLINE>
        | Method | AUC ↑ |
        |---|---:|
        | a\|b | **1.00** |
        | c | <u>0.50</u> |
    """
    heads = [*map(_escape_markdown, table.heads), *(str(column) for column in table.columns)]
    lines = [f"**{_escape_markdown(table.title)}**", ""] if title else []
    lines += [f"| {' | '.join(heads)} |"]
    lines += ["|" + "---|" * len(table.heads) + "---:|" * len(table.columns)]
    for heads_shown, row in _blank_repeated_heads(table.rows):
        cells = [_format_cell(cell, _MARKDOWN, _escape_markdown) for cell in row.cells]
        lines.append(f"| {' | '.join([*map(_escape_markdown, heads_shown), *cells])} |")
    lines += ["", *(f"{_escape_markdown(note)}  " for note in table.notes)] if table.notes else []
    return "\n".join(lines) + "\n"


def latex(table: ResultTable) -> str:
    r"""Return a table as LaTeX, for the package booktabs.

    Example:
        >>> rows = (ResultRow(("a_b",), (ResultCell("1.00 ± 0.10", "best"),)),)
        >>> text = latex(ResultTable("50%", ("Method",), (ResultColumn("AUC", "↑"),), rows, ()))
        >>> "a\\_b & \\textbf{1.00 $\\pm$ 0.10}" in text
        True
    """
    letters = "l" * len(table.heads) + "r" * len(table.columns)
    heads = [*table.heads, *(str(column) for column in table.columns)]
    lines = [r"\begin{table}", r"  \centering", rf"  \begin{{tabular}}{{{letters}}}"]
    lines += [r"    \toprule", f"    {' & '.join(map(_escape_latex, heads))} \\\\", r"    \midrule"]
    for index, (heads_shown, row) in enumerate(_blank_repeated_heads(table.rows)):
        if index and len(heads_shown) > 1 and heads_shown[0]:
            lines.append(r"    \midrule")
        cells = [_format_cell(cell, _LATEX, _escape_latex) for cell in row.cells]
        lines.append(f"    {' & '.join([*map(_escape_latex, heads_shown), *cells])} \\\\")
    caption = " ".join((f"{table.title}.", *table.notes))
    lines += [r"    \bottomrule", r"  \end{tabular}", rf"  \caption{{{_escape_latex(caption)}}}"]
    return "\n".join([*lines, r"\end{table}"]) + "\n"


def print_table(table: ResultTable, console: Console) -> None:
    """Print a table in a terminal; columns that do not fit its width go below the first.

    Args:
        table: The table.
        console: The terminal.
    """
    from rich.text import Text

    console.print(Text(table.title, style="bold"))
    for block in _split_columns(table, console):
        console.print(_build_rich_table(table, block))
        console.print()
    for note in table.notes:
        console.print(Text(note, style="dim"))


def _split_columns(table: ResultTable, console: Console) -> Iterator[list[int]]:
    """Yield indices of columns, as many at a time as the terminal is wide."""
    from rich.measure import Measurement

    options = console.options.update(max_width=10_000)
    block: list[int] = []
    for together in _group_columns(table):
        grown = _build_rich_table(table, [*block, *together])
        if block and Measurement.get(console, options, grown).maximum > console.width:
            yield block
            block = []
        block += together
    yield block


def _group_columns(table: ResultTable) -> list[list[int]]:
    """Return indices of columns that must stay together."""
    groups: list[list[int]] = []
    for index, column in enumerate(table.columns):
        if column.beside:
            groups[-1].append(index)
        else:
            groups.append([index])
    return groups


def _build_rich_table(table: ResultTable, indices: Sequence[int]) -> RichTable:
    from rich import box
    from rich.table import Table as RichTable
    from rich.text import Text

    drawn = RichTable(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    for head in table.heads:
        drawn.add_column(Text(head))
    for index in indices:
        drawn.add_column(Text(str(table.columns[index])), justify="right", no_wrap=True)
    sparse = list(_blank_repeated_heads(table.rows))
    starts = [index for index, (heads, _) in enumerate(sparse) if heads[0]]
    stacked = _stack_heads([heads for heads, _ in sparse])
    for index, (_, row) in enumerate(sparse):
        cells = (_style_cell(row.cells[column]) for column in indices)
        is_last = len(table.heads) > 1 and index + 1 in starts
        drawn.add_row(*map(Text, stacked[index]), *cells, end_section=is_last)
    return drawn


def _stack_heads(rows: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Return heads whose first one continues in the empty cells below it, to be narrow."""
    found: list[tuple[str, ...]] = []
    words: list[str] = []
    for index, heads in enumerate(rows):
        if heads[0]:
            below = itertools.takewhile(lambda later: not later[0], rows[index + 1 :])
            words = heads[0].split()
            if len(words) > 1 + sum(1 for _ in below):
                words = [heads[0]]
        found.append((words.pop(0) if words else "", *heads[1:]))
    return found


def _style_cell(cell: ResultCell) -> Text:
    from rich.text import Text

    return Text(cell.text, style=_STYLES.get(cell.mark, ""))


def _blank_repeated_heads(rows: Sequence[ResultRow]) -> Iterator[tuple[tuple[str, ...], ResultRow]]:
    """Yield rows with their heads, without a head that repeats the one above."""
    before: tuple[str, ...] = ()
    for row in rows:
        same = 0
        while same < len(row.heads) - 1 and row.heads[: same + 1] == before[: same + 1]:
            same += 1
        yield ("",) * same + row.heads[same:], row
        before = row.heads


def _format_cell(cell: ResultCell, marks: dict[str, str], escape: Callable[[str], str]) -> str:
    return marks.get(cell.mark, "{}").format(escape(cell.text))


def _escape_markdown(text: str) -> str:
    return _MARKDOWN_ANY.sub(r"\\\1", text)


def _escape_latex(text: str) -> str:
    return _LATEX_ANY.sub(lambda match: _LATEX_SIGNS[match[0]], text)
