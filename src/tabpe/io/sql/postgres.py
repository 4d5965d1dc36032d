"""PostgreSQL: streamed by ADBC, in one transaction that sees one state of the table."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from tabpe.errors import ParameterError
from tabpe.io.sql.adbc import AdbcReader
from tabpe.io.sql.faults import asked, reached
from tabpe.io.sql.postgres_types import Translated, translated
from tabpe.io.sql.reader import Offer
from tabpe.io.sql.statements import Selection, quoted

# How many seconds to wait for a server that does not answer.
_PATIENCE = 10
_BEGIN = (
    "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
    # Between two rounds nobody asks for a while.
    "SET LOCAL idle_in_transaction_session_timeout = 0",
    "SET LOCAL standard_conforming_strings = on",
)
# Rows as they lie in the table, from the first on, whichever columns are asked for.
_IN_ORDER = (
    "SET LOCAL synchronize_seqscans = off",
    "SET LOCAL max_parallel_workers_per_gather = 0",
    "SET LOCAL enable_indexscan = off",
    "SET LOCAL enable_indexonlyscan = off",
)
# Tables, materialized views and tables in parts; a view is a query.
_STORED = ("r", "m", "p")


class PostgresReader(AdbcReader):
    """A table or a query of a connection to PostgreSQL.

    Args:
        connection: The connection, of ADBC.
        selection: The table or the query.
        where: How errors call it.
        owns: Whether the connection is closed with the reader.
    """

    def __init__(
        self, connection: Any, selection: Selection, where: str, *, owns: bool = False
    ) -> None:
        super().__init__(connection, selection, where, owns=owns)
        self._columns: dict[str, Translated] = {}

    @property
    def offer(self) -> Offer:
        """Its columns, in the types that they are translated to."""
        schema, enums = self.schema_of(self._selection), self._enums()
        columns = [(field.name, translated(field, enums)) for field in schema]
        self._columns = dict(columns)
        refused = {name: one.refused for name, one in columns if one.refused}
        return Offer(pa.schema([(name, one.kind) for name, one in columns]), refused)

    def read(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Ask for some columns of all rows."""
        columns = [self._columns[name] for name in names]
        terms = [one.term(quoted(name)) for name, one in zip(names, columns, strict=True)]
        for batch in self.asked_for(self._selection.select_terms(terms)):
            cells = [one.cells(cell) for one, cell in zip(columns, batch.columns, strict=True)]
            yield pa.RecordBatch.from_arrays(cells, list(names))

    def _enums(self) -> set[str]:
        """Return the types that list their values, by name and by number."""
        statement = "SELECT typname::text, oid::int8 FROM pg_catalog.pg_type WHERE typtype = 'e'"
        batches = asked(self._where, lambda: list(self.asked_for(statement)))
        return {
            str(cell) for batch in batches for row in batch.to_pylist() for cell in row.values()
        }


def open_address(address: str, selection: Selection, where: str) -> PostgresReader:
    """Connect, and begin a transaction that can not write and sees no change.

    Privacy: a table is read in one order, so that whose a row is stays true from one way through
    the table to the next. The words of the driver, which hold the address, are dropped.
    """
    try:
        from adbc_driver_postgresql import dbapi
    except ImportError:
        raise ParameterError(
            "postgresql://...: pip install 'tabpe[sql]' to read from PostgreSQL."
        ) from None
    connection = reached(where, lambda: dbapi.connect(_patient(address), autocommit=True))
    try:
        steady = asked(where, lambda: _begun(connection, selection))
    except BaseException:
        connection.close()
        raise
    return PostgresReader(connection, steady, where, owns=True)


@dataclass(frozen=True)
class _Materialized(Selection):
    """A query that is planned the same way, whichever of its columns are asked for."""

    def select_terms(self, terms: Sequence[str]) -> str:
        rows = super().select_terms(["*"])
        asked = ", ".join(terms)
        return f"WITH tabpe_all AS MATERIALIZED ({rows}) SELECT {asked} FROM tabpe_all"  # noqa: S608


def _begun(connection: Any, selection: Selection) -> Selection:
    with connection.cursor() as cursor:
        for statement in _BEGIN:
            cursor.execute(statement)
        if selection.query is not None or not _is_stored(cursor, selection):
            return _Materialized(selection.name, selection.query)
        for statement in _IN_ORDER:
            cursor.execute(statement)
        return selection


def _is_stored(cursor: Any, selection: Selection) -> bool:
    """Whether a table has its rows by itself; one that is not there will be missed later."""
    name = selection.table.replace("'", "''")
    cursor.execute(
        f"SELECT relkind::text FROM pg_catalog.pg_class WHERE oid = to_regclass('{name}')"  # noqa: S608
    )
    return [kind for (kind,) in cursor.fetchall() if kind not in _STORED] == []


def _patient(address: str) -> str:
    """Return an address that gives up on a server that does not answer."""
    if "connect_timeout=" in address or "PGCONNECT_TIMEOUT" in os.environ:
        return address
    return f"{address}{'&' if '?' in address else '?'}connect_timeout={_PATIENCE}"
