"""`measure_fit`: how a table fits a schema, column by column.

Privacy: the counts are exact. They are for the custodian, who has the table, and for nobody else.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tabpe.encoding.cells import find_column_misfits, read_microseconds
from tabpe.io import use_source
from tabpe.io.canonical import flatten_column, read_numbers
from tabpe.schema import Boolean, Categorical, Column, Id, PartialSchema, Temporal
from tabpe.schema.table_format import TableReading

_MASS = 0.01  # the share of rows that a bound may cut without advice


@dataclass(frozen=True)
class ColumnFit:
    """How many cells of a column do not fit.

    Args:
        column: The column.
        missing: Missing cells, where the column has no nulls.
        unreadable: Cells that are not of its type.
        below: Cells below its lower bound; of a list of values, those that are not listed.
        above: Cells above its upper bound.

    Example:
        >>> from tabpe.schema import Integer
        >>> ColumnFit(Integer("age", 0, 9), missing=2, above=1).describe()
        '2 missing, 1 out of bounds; counts as the nearest bound, or 0'
    """

    column: Column
    missing: int = 0
    unreadable: int = 0
    below: int = 0
    above: int = 0

    @property
    def name(self) -> str:
        """Name of the column."""
        return self.column.name

    @property
    def is_whole(self) -> bool:
        """Whether every cell fits."""
        return not (self.missing or self.unreadable or self.below or self.above)

    def describe(self) -> str:
        """Return the counts in words, and what such cells count as."""
        column = self.column
        listed = isinstance(column, (Categorical, Boolean))
        words = ("missing", "unreadable", "not listed" if listed else "out of bounds")
        shown = (self.missing, self.unreadable, self.below + self.above)
        counts = ", ".join(f"{n:,} {word}" for n, word in zip(shown, words, strict=True) if n)
        without = "null" if column.nullable else _format_default(column)
        becomes = {
            "clamp": f"the nearest bound, or {without}",
            "null": "null" if column.nullable else without,
            "other": f"{getattr(column, 'other', None)!r}",
            "default": _format_default(column),
        }
        return f"{counts}; counts as {becomes[column.on_invalid]}"

    def list_advice(self, rows: int) -> list[str]:
        """Return what to change in the entry of the column, one text for each kind of misfit.

        Args:
            rows: The rows of the table.
        """
        column, advice = self.column, []
        if self.unreadable * 2 > rows:
            advice.append(f"most cells are no {column.type_name}: correct its type or format")
        elif self.unreadable:
            advice.append("state a format, or list the words for a missing value in nulls")
        if self.missing or (self.unreadable and not column.nullable):
            advice.append("write nullable: true, or a default")
        if isinstance(column, (Categorical, Boolean)):
            if self.below + self.above:
                advice.append("list more values, or write other: one of values")
            return advice
        for count, bound, word in ((self.below, "min", "lower"), (self.above, "max", "higher")):
            if count > _MASS * rows:
                advice.append(f"{bound} cuts {count / rows:.1%} of the rows: write a {word} one")
        return advice


@dataclass(frozen=True)
class TableFit:
    """How a table fits a schema.

    Args:
        rows: The rows of the table.
        columns: Every column that is declared in full and is in the table.
        absent: Columns of the schema that the table does not have.
        nested: Columns of lists and the like.
        left_out: Columns of the table that the schema does not name.
    """

    rows: int
    columns: tuple[ColumnFit, ...]
    absent: tuple[str, ...] = ()
    nested: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()

    @property
    def wrong(self) -> tuple[ColumnFit, ...]:
        """The columns that have cells that do not fit."""
        return tuple(one for one in self.columns if not one.is_whole)


def measure_fit(schema: PartialSchema, private: Any) -> TableFit:
    """Return how many cells of each column of a table do not fit a schema.

    Args:
        schema: The schema; its gaps are not compared.
        private: The table, as for `TabPE.fit`.

    Example:
        >>> declared = {"columns": [{"name": "age", "type": "integer", "min": 0, "max": 9}]}
        >>> fit = measure_fit(PartialSchema.from_dict(declared), pa.table({"age": [3, 12, 40]}))
        >>> fit.rows, fit.wrong[0].above
        (3, 2)
    """
    full = [one.fill_gaps() for one in schema.columns if not one.missing]
    columns = {one.name: one for one in full if not isinstance(one, Id)}
    counts = {name: np.zeros(4, dtype=np.int64) for name in columns}
    rows = 0
    # The custodian is told which columns the file has, also where rows name them.
    reading = dataclasses.replace(TableReading.from_schema(schema), names=())
    with use_source(private, reading=reading) as source:
        wanted = [*columns, *(one.name for one in schema.columns if one.missing)]
        absent = [name for name in wanted if name not in source.names]
        nested = [name for name in columns if name in source.nested]
        found = [name for name in columns if name not in (*absent, *nested)]
        for batch in source.batches(found) if found else ():
            rows += batch.table.num_rows
            for name in found:
                counts[name] += _count_misfits(columns[name], batch.table[name])
        named = {one.name for one in schema.columns}
        left_out = [name for name in source.names if name not in named]
    fits = tuple(ColumnFit(columns[name], *map(int, counts[name])) for name in columns)
    return TableFit(rows, fits, tuple(absent), tuple(nested), tuple(left_out))


def _count_misfits(column: Column, cells: pa.ChunkedArray) -> NDArray[np.int64]:
    """Return how many cells are missing without need, unreadable, below and above the bounds."""
    found = find_column_misfits(column, cells)
    missing = 0 if column.nullable else int(found.missing.sum())
    outside = int(found.outside.sum())
    below = outside if isinstance(column, (Categorical, Boolean)) else _count_below(column, cells)
    return np.array([missing, int(found.unreadable.sum()), below, outside - below])


def _count_below(column: Column, cells: pa.ChunkedArray) -> int:
    """Return how many cells are below the lower bound."""
    array = flatten_column(cells, column.name)
    if isinstance(column, Temporal):
        ticks = read_microseconds(column, array)
        return int(pc.sum(pc.less(ticks, column.first)).as_py() or 0)
    return int((read_numbers(array) < getattr(column, "min", -np.inf)).sum())


def _format_default(column: Column) -> str:
    if isinstance(column, Temporal):
        return str(getattr(column, "min") if column.default is None else column.default)  # noqa: B009
    return repr(column.default_value)
