"""From runs to a table: means over seeds, ranked, with notes on what they are of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from tabpe.bench.exhibits import TableEntry, kept
from tabpe.bench.fields import METHODS, REAL, label_of, title_of
from tabpe.bench.measures import Measure, measure
from tabpe.bench.paper import Printed, printed
from tabpe.bench.records import Record
from tabpe.bench.summary import DID_NOT_FIT, DONE, FAILED, Key, Spread, Summary, summaries

Mark = Literal["plain", "best", "second", "bound", "words"]
NOTHING = "-"
QUICK = "quick"


@dataclass(frozen=True)
class Cell:
    """One cell: what it says, and how it stands among the others of its column.

    Args:
        text: What it says.
        mark: `best`, `second`, `bound` for what is not ranked, `words` for what is no number.
    """

    text: str
    mark: Mark = "plain"


@dataclass(frozen=True)
class Column:
    """The head of a column.

    Args:
        title: The name of a measure.
        arrow: Which way is better.
        beside: Whether it belongs to the column before it.
    """

    title: str
    arrow: str = ""
    beside: bool = False

    def __str__(self) -> str:
        return f"{self.title} {self.arrow}".rstrip()


@dataclass(frozen=True)
class Row:
    """A row: what it is about, and its cells."""

    heads: tuple[str, ...]
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Table:
    """A table, before it is written in any format.

    Args:
        title: What it shows.
        heads: Titles of the columns that say what a row is about.
        columns: Heads of the other columns.
        rows: The rows; those that differ in their last head alone are ranked together.
        notes: What the numbers are of.
    """

    title: str
    heads: tuple[str, ...]
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...]


def table_of(entry: TableEntry, records: Sequence[Record], *, beside_paper: bool = False) -> Table:
    """Return a table of runs.

    Args:
        entry: What it shall hold.
        records: The runs, those that are planned and were not made among them.
        beside_paper: Whether the numbers of the paper stand beside ours.
    """
    wanted = kept(records, entry.where)
    found = summaries(wanted, entry.rows, entry.metrics, where=entry.name)
    keys = _ordered(found, entry)
    paper = printed(entry.paper) if beside_paper and entry.paper else None
    columns: list[Column] = []
    cells: dict[Key, list[Cell]] = {key: [] for key in keys}
    for name in _measured(entry, found):
        shown = measure(name)
        columns.append(Column(_with_unit(shown), shown.arrow))
        for key, cell in _column(keys, found, shown, entry.rows).items():
            # How runs ended is said once in a row.
            ended = cells[key] and found[key].outcome != DONE
            cells[key].append(Cell(NOTHING, "words") if ended else cell)
        if paper is not None:
            columns.append(Column("paper", beside=True))
            for key in keys:
                cells[key].append(_printed_cell(paper, key, entry.rows, shown))
    rows = tuple(Row(_heads(key, entry.rows), tuple(cells[key])) for key in keys)
    notes = _notes(entry, found, wanted, paper)
    return Table(entry.title, _titles(entry.rows), tuple(columns), rows, notes)


def ranked(values: Mapping[Key, float], better: str) -> dict[Key, Mark]:
    """Return which values are best and second; equal ones share their mark.

    Example:
        >>> ranked({("a",): 0.5, ("b",): 0.5, ("c",): 0.4}, "higher")
        {('a',): 'best', ('b',): 'best', ('c',): 'second'}
    """
    if better == "neither":
        return dict.fromkeys(values, "plain")
    order = sorted(set(values.values()), reverse=better == "higher")
    marks: dict[float, Mark] = dict(zip(order, ("best", "second"), strict=False))
    return {key: marks.get(value, "plain") for key, value in values.items()}


def written(spread: Spread, shown: Measure) -> str:
    """Return a mean and its spread as text.

    Example:
        >>> written(Spread(0.4938, 0.0046, 3), measure("accuracy"))
        '49.38 ± 0.46'
        >>> written(Spread(12.34), measure("seconds"))
        '12.3'
    """
    mean = shown.written(spread.mean)
    return mean if spread.std is None else f"{mean} ± {shown.written(spread.std)}"


def _measured(entry: TableEntry, found: Mapping[Key, Summary]) -> Sequence[str]:
    """Return the measures that any run has; all of them while none is done."""
    known = {name for summary in found.values() for name in summary.values}
    return [name for name in entry.metrics if name in known] or entry.metrics


def _column(
    keys: Sequence[Key], found: Mapping[Key, Summary], shown: Measure, fields: Sequence[str]
) -> dict[Key, Cell]:
    cells = {key: _cell(found[key], shown) for key in keys}
    for key in keys:
        if _is_bound(key, fields) and cells[key].mark != "words":
            cells[key] = replace(cells[key], mark="bound")
    peers: dict[Key, dict[Key, float]] = {}
    for key in keys:
        if cells[key].mark == "plain":
            # As shown: what the table can not tell apart shares a rank.
            mean = float(shown.written(found[key].values[shown.name].mean))
            peers.setdefault(key[:-1], {})[key] = mean
    for group in peers.values():
        if len(group) > 1:
            for key, mark in ranked(group, shown.better).items():
                cells[key] = replace(cells[key], mark=mark)
    return cells


def _cell(summary: Summary, shown: Measure) -> Cell:
    if summary.outcome != DONE:
        return Cell(_ending(summary), "words")
    spread = summary.values.get(shown.name)
    return Cell(NOTHING, "words") if spread is None else Cell(written(spread, shown))


def _ending(summary: Summary) -> str:
    return f"{summary.outcome} ({summary.limit})" if summary.limit else summary.outcome


def _printed_cell(paper: Printed, key: Key, fields: Sequence[str], shown: Measure) -> Cell:
    spread = paper.value(key, shown.name)
    if spread is None:
        return Cell(NOTHING, "words")
    return Cell(written(spread, shown), "bound" if _is_bound(key, fields) else "plain")


def _is_bound(key: Key, fields: Sequence[str]) -> bool:
    """Whether a row is of real rows, which are not private and not ranked."""
    return any(name == "method" and value == REAL for name, value in zip(fields, key, strict=True))


def _ordered(found: Mapping[Key, Summary], entry: TableEntry) -> list[Key]:
    """Return the keys as they came, those that belong together after each other."""
    order: dict[Any, list[Key]] = {}
    for key in found:
        order.setdefault(key[:-1], []).append(key)
    if entry.rows[-1] in {"method", "data"}:
        return [key for group in order.values() for key in group]
    return [key for group in order.values() for key in sorted(group, key=_size)]


def _size(key: Key) -> tuple[bool, float, str]:
    last = key[-1]
    is_number = isinstance(last, (int, float))
    return (not is_number, float(last) if is_number else 0.0, str(last))


def _titles(fields: Sequence[str]) -> tuple[str, ...]:
    return tuple(title_of(name).capitalize() for name in fields)


def _named(key: Key, fields: Sequence[str]) -> str:
    return ", ".join(_heads(key, fields))


def _heads(key: Key, fields: Sequence[str]) -> tuple[str, ...]:
    return tuple(label_of(name, value) for name, value in zip(fields, key, strict=True))


def _with_unit(shown: Measure) -> str:
    return f"{shown.title} ({shown.unit})" if shown.unit else shown.title


def _notes(
    entry: TableEntry,
    found: Mapping[Key, Summary],
    records: Sequence[Record],
    paper: Printed | None,
) -> tuple[str, ...]:
    notes = [_seeds_note(entry, found, records)]
    if any(_is_bound(key, entry.rows) for key in found):
        notes.append(f"{METHODS[REAL]}: trained on the real rows, not private, not ranked.")
    notes += _choice_notes(entry, found)
    notes += _ending_notes(entry, found)
    if any(run.variant == QUICK for run in records):
        notes.append("Variant quick: few rows and cheap settings, not to be compared with others.")
    if paper is not None:
        notes.append("The paper's numbers are as printed there, of three splits.")
    return tuple(note for note in notes if note)


def _seeds_note(entry: TableEntry, found: Mapping[Key, Summary], records: Sequence[Record]) -> str:
    done = {key: summary.seeds for key, summary in found.items() if summary.outcome == DONE}
    if not done:
        return "No run is done yet."
    usual = max(done.values())
    epsilons = sorted({run.epsilon for run in records if run.epsilon is not None})
    budget = f" at epsilon {epsilons[0]:g}" if len(epsilons) == 1 else ""
    spread = " with the standard deviation of a sample" if usual > 1 else ""
    note = f"{f'Means of {usual} seeds' if usual > 1 else 'Of one seed'}{spread}{budget}."
    fewer = [f"{_named(key, entry.rows)}: {count}" for key, count in done.items() if count < usual]
    return note + (f" Fewer seeds: {'; '.join(fewer)}." if fewer else "")


def _ending_notes(entry: TableEntry, found: Mapping[Key, Summary]) -> list[str]:
    ended: dict[str, list[str]] = {}
    for key, summary in found.items():
        for reason in summary.reasons if summary.outcome in {DID_NOT_FIT, FAILED} else ():
            ended.setdefault(f"{summary.outcome}: {reason}", []).append(_named(key, entry.rows))
    return [f"{'; '.join(places)}: {how.rstrip('.')}." for how, places in ended.items()]


def _choice_notes(entry: TableEntry, found: Mapping[Key, Summary]) -> list[str]:
    notes = []
    for rule in dict.fromkeys(summary.chosen_by for summary in found.values()):
        chosen = [
            f"{_named(key, entry.rows)}: {summary.chosen}"
            for key, summary in found.items()
            if summary.chosen_by == rule and summary.chosen
        ]
        if rule and chosen:
            by = measure(rule).title
            notes.append(f"Best setting of each method by {_low(by)}: {'; '.join(chosen)}.")
    return notes


def _low(title: str) -> str:
    return title if title.isupper() else title[0].lower() + title[1:]
