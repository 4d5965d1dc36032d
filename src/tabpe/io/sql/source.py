"""`SqlSource`: the rows of a database as batches."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence

import pyarrow as pa

from tabpe.errors import DataError
from tabpe.io.batches import Batch, regrouped
from tabpe.io.faults import check_names
from tabpe.io.frames import ARROW
from tabpe.io.limits import Limits
from tabpe.io.sql.faults import asked_each
from tabpe.io.sql.interrupts import interruptible, interruptible_each
from tabpe.io.sql.reader import Reader
from tabpe.io.sql.steady import Watch


class SqlSource:
    """A table or a query of a database.

    Privacy: columns that nobody asks for do not leave the database. Rows that are others than
    before, or in another order, are an error.

    Args:
        reader: What asks the database. It is closed with the source.
        where: How errors call the table, without a user or a password.
        limits: The most to read.
    """

    lives_on = "a database"

    def __init__(self, reader: Reader, where: str, limits: Limits) -> None:
        self._reader, self._where, self._limits = reader, where, limits
        self._offer = interruptible(lambda: reader.offer, reader.cancel)
        self._watch = Watch(where)
        # However a run ends: a connection that nobody closes holds a transaction open.
        self.close = weakref.finalize(self, reader.close)
        limits.check("columns", len(self.names), where=where)
        check_names(self.names, where=where)

    @property
    def library(self) -> str:
        """Arrow's."""
        return ARROW

    @property
    def nested(self) -> frozenset[str]:
        """None: a database tells which of its types can not be read (`_check_types`)."""
        return frozenset()

    @property
    def names(self) -> list[str]:
        """Its columns."""
        return list(self._offer.schema.names)

    @property
    def most_rows(self) -> None:
        """Not known: to count rows takes as long as to read them."""
        return None

    def batches(self, names: Sequence[str] | None = None) -> Iterator[Batch]:
        """Ask the database for the rows."""
        # A question without a column would have no rows.
        wanted = self.names if names is None else list(names) or self.names[:1]
        self._check_types(wanted)
        return self._limits.held(self._batches(wanted), where=self._where)

    def _batches(self, wanted: list[str]) -> Iterator[Batch]:
        first = 0
        for table in regrouped(self._read(wanted)):
            yield Batch(table, self._where, first)
            first += table.num_rows

    def _read(self, wanted: list[str]) -> Iterator[pa.RecordBatch]:
        asked = self._watch.wanted(wanted)
        reader = self._reader
        batches = asked_each(self._where, interruptible_each(reader.read(asked), reader.cancel))
        for batch in self._watch.watched(batches, wanted):
            self._limits.check_cells(batch, where=self._where)
            yield batch

    def _check_types(self, wanted: Sequence[str]) -> None:
        for name in wanted:
            kind = self._offer.refused.get(name)
            if kind is not None:
                raise DataError(
                    f"{self._where}: column {name!r} is of type {kind}: leave it out, or cast it "
                    f"in a query: expected text, numbers, truths, dates or times."
                )
