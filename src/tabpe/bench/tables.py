"""From runs to a table: means over seeds, ranked, with notes on what they are of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tabpe.bench.cells import NOTHING, Cell, Column, Mark, Row, Table
from tabpe.bench.comparing import Comparison
from tabpe.bench.exhibits import TableEntry, kept
from tabpe.bench.fields import is_real, labels_of, ordered, title_of
from tabpe.bench.measures import Measure, measure
from tabpe.bench.notes import notes_of
from tabpe.bench.paper import Printed, printed
from tabpe.bench.records import Record
from tabpe.bench.summary import DONE, Key, Spread, Summary, summaries


def table_of(entry: TableEntry, records: Sequence[Record], *, beside_paper: bool = False) -> Table:
    """Return a table of runs.

    Args:
        entry: What it shall hold.
        records: The runs, those that are planned and were not made among them.
        beside_paper: Whether the numbers of the paper stand beside ours.
    """
    wanted = kept(records, entry.where)
    compared = Comparison.of(entry, wanted) if entry.against else None
    found = _in_order(
        compared.found
        if compared
        else summaries(wanted, entry.rows, entry.metrics, where=entry.name)
    )
    paper = printed(entry.paper) if beside_paper and entry.paper else None
    columns: list[tuple[Column, dict[Key, Cell]]] = []
    for name in _measured(entry, found):
        columns.append(_ours(measure(name), found, entry.rows, is_first=not columns))
        if compared:
            columns += compared.columns(measure(name))
        if paper is not None:
            columns.append(_theirs(measure(name), found, entry.rows, paper))
    return Table(
        title=entry.title,
        heads=tuple(title_of(name).capitalize() for name in entry.rows),
        columns=tuple(column for column, _ in columns),
        rows=tuple(
            Row(labels_of(key, entry.rows), tuple(cells[key] for _, cells in columns))
            for key in found
        ),
        notes=(
            *notes_of(entry, found, wanted, beside_paper=paper is not None),
            *(compared.notes if compared else ()),
        ),
    )


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


def _in_order(found: Mapping[Key, Summary]) -> dict[Key, Summary]:
    """Return what was found as it came, what belongs together after each other, sizes rising."""
    order: dict[Key, list[Key]] = {}
    for key in found:
        order.setdefault(key[:-1], []).append(key)
    return {
        (*rest, last): found[*rest, last]
        for rest, group in order.items()
        for last in ordered(key[-1] for key in group)
    }


def _measured(entry: TableEntry, found: Mapping[Key, Summary]) -> Sequence[str]:
    """Return the measures that any run has; all of them while none is done."""
    known = {name for summary in found.values() for name in summary.values}
    return [name for name in entry.metrics if name in known] or entry.metrics


def _ours(
    shown: Measure, found: Mapping[Key, Summary], fields: Sequence[str], *, is_first: bool
) -> tuple[Column, dict[Key, Cell]]:
    """Return the column of a measure. How runs ended is said in the first one alone."""
    title = f"{shown.title} ({shown.unit})" if shown.unit else shown.title
    cells: dict[Key, Cell] = {}
    for key, summary in found.items():
        spread = summary.values.get(shown.name)
        if spread is not None:
            cells[key] = Cell(written(spread, shown), "bound" if is_real(key, fields) else "plain")
        else:
            cells[key] = Cell(_ending(summary) if is_first else NOTHING, "words")
    return Column(title, shown.arrow), cells | _marked(cells, shown)


def _marked(cells: Mapping[Key, Cell], shown: Measure) -> dict[Key, Cell]:
    """Return the cells that rank first or second among their peers."""
    peers: dict[Key, dict[Key, float]] = {}
    for key, cell in cells.items():
        if cell.mark == "plain":
            # As shown: what the table can not tell apart shares a rank.
            peers.setdefault(key[:-1], {})[key] = float(cell.text.partition(" ")[0])
    return {
        key: replace(cells[key], mark=mark)
        for group in peers.values()
        if len(group) > 1
        for key, mark in ranked(group, shown.better).items()
    }


def _ending(summary: Summary) -> str:
    if summary.outcome == DONE:
        return NOTHING
    return f"{summary.outcome} ({summary.limit})" if summary.limit else summary.outcome


def _theirs(
    shown: Measure, found: Mapping[Key, Summary], fields: Sequence[str], paper: Printed
) -> tuple[Column, dict[Key, Cell]]:
    """Return the column of the paper's numbers, which are not ranked again."""
    cells = {key: Cell(NOTHING, "words") for key in found}
    for key in found:
        spread = paper.value(key, shown.name)
        if spread is not None:
            cells[key] = Cell(written(spread, shown), "bound" if is_real(key, fields) else "plain")
    return Column("paper", beside=True), cells
