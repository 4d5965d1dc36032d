"""What only the custodian may see: first rows, exact counts, rows of persons.

The one module of the studio that opens the private table. What it returns goes into one response,
which no cache keeps, and is never stored or logged.

Privacy: NOT PRIVATE. Whoever decides by these figures decides by the data. The pages say so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from tabpe.cli.table_fit import TableFit, measure_fit
from tabpe.errors import DataError
from tabpe.io import use_source
from tabpe.io.detect import TableDraft, draft_table
from tabpe.io.layout import detect_layout
from tabpe.schema import PartialSchema
from tabpe.schema.table_format import TableFormat, TableReading
from tabpe.studio.project import DataChoice

SHOWN_ROWS, SHOWN_COLUMNS, SHOWN_LETTERS = 8, 40, 60
BOUNDS = (1, 2, 3, 5, 10, 20, 50)


@dataclass(frozen=True)
class TablePreview:
    """The first rows of a table.

    Args:
        names: Its columns.
        rows: Cells as text, shortened.
        more_columns: How many columns are not shown.
    """

    names: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    more_columns: int


@dataclass(frozen=True)
class BoundShare:
    """What a contribution bound keeps.

    Args:
        bound: The most rows of a person.
        kept: The share of rows that count.
    """

    bound: int
    kept: float


def find_layout(choice: DataChoice) -> TableFormat | None:
    """Return how a text file is laid out; None if the table is something else."""
    private = choice.open_table()
    return detect_layout(private) if isinstance(private, str) and "://" not in private else None


def preview_table(choice: DataChoice, layout: TableFormat | None) -> TablePreview:
    """Return the first rows of the table."""
    with use_source(choice.open_table(), reading=TableReading(layout)) as source:
        names = [name for name in source.names if name not in source.nested]
        shown = names[:SHOWN_COLUMNS]
        first = next(iter(source.batches(shown)), None) if shown else None
        table = pa.table({}) if first is None else first.table.slice(0, SHOWN_ROWS)
    rows = tuple(tuple(_shorten_cell(row[name]) for name in shown) for row in table.to_pylist())
    return TablePreview(tuple(shown), rows, len(names) - len(shown))


def draft_columns(choice: DataChoice, label: str | None, layout: TableFormat | None) -> TableDraft:
    """Return the draft of a schema for the table, as `tabpe schema init` makes it."""
    return draft_table(choice.open_table(), label=label, layout=layout)


def measure_table_fit(choice: DataChoice, schema: Mapping[str, Any]) -> TableFit:
    """Return how the table fits a schema, as `tabpe schema check` counts it."""
    return measure_fit(PartialSchema.from_schema(schema), choice.open_table())


def measure_bounds(
    choice: DataChoice, schema: Mapping[str, Any], unit: str, more: Sequence[int] = ()
) -> tuple[BoundShare, ...]:
    """Return the share of rows that each contribution bound keeps.

    Args:
        choice: The table.
        schema: The plain values of its schema, which say how it is laid out.
        unit: The column of persons.
        more: More bounds to look at.
    """
    reading = TableReading.from_schema(PartialSchema.from_schema(schema), unit)
    with use_source(choice.open_table(), reading=reading) as source:
        if unit not in source.names:
            raise DataError(f"unit={unit!r}: is not a column of the table: choose one that is.")
        parts = [batch.table[unit] for batch in source.batches([unit])]
    chunks = [chunk for part in parts for chunk in part.chunks]
    if not chunks:
        raise DataError("The table has no rows.")
    counts = np.asarray(pa.chunked_array(chunks).value_counts().field("counts"))
    total = int(counts.sum())
    return tuple(
        BoundShare(bound, float(np.minimum(counts, bound).sum()) / total)
        for bound in sorted({*BOUNDS, *more})
    )


def _shorten_cell(cell: Any) -> str:
    text = "" if cell is None else str(cell)
    return (
        text
        if len(text) <= SHOWN_LETTERS
        else text[: SHOWN_LETTERS - 1] + "\N{HORIZONTAL ELLIPSIS}"
    )
