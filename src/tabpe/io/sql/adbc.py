"""Connections of ADBC, which give Arrow as it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from tabpe.errors import DataError
from tabpe.io.sql.faults import asked
from tabpe.io.sql.reader import Offer, Reader, offer_of
from tabpe.io.sql.statements import Selection

# Databases that quote names in a way of their own.
_MARKS = {"MySQL": "`", "MariaDB": "`", "BigQuery": "`", "Databricks": "`"}


class AdbcReader:
    """A table or a query of a connection of ADBC.

    Args:
        connection: The connection.
        selection: The table or the query.
        where: How errors call it.
        owns: Whether the connection is closed with the reader.
    """

    def __init__(
        self, connection: Any, selection: Selection, where: str, *, owns: bool = False
    ) -> None:
        self._connection, self._selection, self._where = connection, selection, where
        self._owns = owns
        self._open: list[Any] = []

    @property
    def offer(self) -> Offer:
        """Its columns."""
        return offer_of(self.schema_of(self._selection))

    def read(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Ask for some columns of all rows."""
        return self.asked_for(self._selection.select(names))

    def schema_of(self, selection: Selection) -> pa.Schema:
        """Return the columns as the driver tells them."""

        def told() -> pa.Schema:
            with self._connection.cursor() as cursor:
                cursor.execute(selection.select_none())
                return cursor.fetch_record_batch().schema

        return asked(self._where, told)

    def asked_for(self, statement: str) -> Iterator[pa.RecordBatch]:
        """Yield what a statement gives, as it comes in."""
        # One question at a time: an answer that nobody reads to its end is let go.
        self._let_go()
        with self._connection.cursor() as cursor:
            self._open.append(cursor)
            cursor.execute(statement)
            yield from cursor.fetch_record_batch()

    def cancel(self) -> None:
        """Stop the database in what it was asked."""
        self._connection.adbc_cancel()

    def close(self) -> None:
        """Let go of answers, and of the connection if it is ours."""
        self._let_go()
        if self._owns:
            self._connection.close()

    def _let_go(self) -> None:
        while self._open:
            self._open.pop().close()


def reader_of(connection: Any, selection: Selection, where: str) -> Reader | None:
    """Return what reads from a connection of ADBC; None if it is none."""
    if not callable(getattr(connection, "adbc_get_info", None)):
        return None
    vendor = asked(where, connection.adbc_get_info).get("vendor_name")
    if vendor == "SQLite":
        raise DataError(
            f"{where}: ADBC takes the types of SQLite from cells: give the address "
            f"sqlite:///FILE, or a connection of sqlite3."
        )
    if vendor == "PostgreSQL":
        from tabpe.io.sql.postgres import PostgresReader

        return PostgresReader(connection, selection, where)
    return AdbcReader(connection, replace(selection, mark=_MARKS.get(vendor, '"')), where)
