"""Any connection of Python, and SQLite: cells become text, and the schema says what they mean.

Such a driver tells the types of columns in words of its own or, like that of SQLite, not at all.
Types that are guessed from cells would be a look at private rows that nobody pays for. So they are
all read as those of a CSV file are.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa

from tabpe.errors import DataError
from tabpe.io.canonical import text_of
from tabpe.io.sql.faults import asked, reached
from tabpe.io.sql.reader import Offer
from tabpe.io.sql.statements import Selection

_ROWS_AT_ONCE = 2**13
# Rows as they lie in the table, whichever columns are asked for.
_IN_ORDER = " NOT INDEXED"


@dataclass(frozen=True, eq=False)
class TextReader:
    """A table or a query of a connection that follows Python's DB-API, as text.

    Args:
        ask: Runs a statement, in batches where the driver can, and returns its cursor.
        selection: The table or the query.
        where: How errors call it.
        close: What lets go of the connection.
        cancel: What stops the database from another thread, if the connection may be used by
            several.
    """

    ask: Callable[[str], Any]
    selection: Selection
    where: str
    close: Callable[[], None]
    cancel: Callable[[], object] | None = None

    @property
    def offer(self) -> Offer:
        """Its columns; all of them are text."""
        cursor = asked(self.where, lambda: self.ask(self.selection.select_none()))
        names = [column[0] for column in cursor.description]
        cursor.close()
        return Offer(pa.schema([(name, pa.string()) for name in names]), {})

    def read(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Ask for some columns of all rows."""
        cursor = self.ask(self.selection.select(names))
        try:
            while rows := cursor.fetchmany(_ROWS_AT_ONCE):
                columns = zip(*rows, strict=True)
                cells = [pa.array(map(text_of, column), pa.string()) for column in columns]
                yield pa.RecordBatch.from_arrays(cells, list(names))
        finally:
            cursor.close()


def open_sqlite(path: str, selection: Selection, where: str) -> TextReader:
    """Open a file of SQLite to be read only, in one transaction."""
    import sqlite3

    if not Path(path).is_file():
        raise DataError(f"{where}: no such file.")
    connection = reached(
        where,
        lambda: sqlite3.connect(
            f"file:{quote(path)}?mode=ro",
            uri=True,
            check_same_thread=False,
            isolation_level=None,
        ),
    )
    asked(where, lambda: connection.execute("BEGIN"))
    in_order = replace(selection, after=_IN_ORDER)
    return TextReader(connection.execute, in_order, where, connection.close, connection.interrupt)


def reader_of(connection: Any, selection: Selection, where: str) -> TextReader | None:
    """Return what reads from a connection of SQLAlchemy or DB-API; None if it is none."""
    if type(connection).__module__.startswith("sqlalchemy."):
        return _of_sqlalchemy(connection, selection, where)
    if not callable(getattr(connection, "cursor", None)):
        return None
    if type(connection).__module__ == "sqlite3":
        selection = replace(selection, after=_IN_ORDER)
    return TextReader(_asking(connection), selection, where, close=lambda: None)


def _asking(connection: Any) -> Callable[[str], Any]:
    """Return what runs statements; for PostgreSQL with a cursor that stays on the server."""
    module, numbers = type(connection).__module__, itertools.count(1)
    # Such a cursor lives in a transaction, and has no columns before its first row.
    stays = module.startswith("psycopg") and not getattr(connection, "autocommit", False)

    def ask(statement: str) -> Any:
        on_server = stays and not statement.endswith("WHERE 1 = 0")
        cursor = connection.cursor(f"tabpe_{next(numbers)}") if on_server else connection.cursor()
        cursor.execute(statement)
        return cursor

    return ask


def _of_sqlalchemy(given: Any, selection: Selection, where: str) -> TextReader | None:
    is_engine = callable(getattr(given, "connect", None))
    if not is_engine and not callable(getattr(given, "exec_driver_sql", None)):
        return None
    connection = reached(where, given.connect) if is_engine else given
    options = {"stream_results": True, "no_parameters": True}

    def ask(statement: str) -> Any:
        result = connection.exec_driver_sql(statement, execution_options=options)
        return result if result.cursor is None else _Described(result, result.cursor.description)

    marked = replace(selection, mark=connection.dialect.identifier_preparer.initial_quote)
    return TextReader(ask, marked, where, connection.close if is_engine else lambda: None)


@dataclass(frozen=True, eq=False)
class _Described:
    """A result of SQLAlchemy that looks like a cursor."""

    result: Any
    description: Any

    def fetchmany(self, count: int) -> Any:
        return self.result.fetchmany(count)

    def close(self) -> None:
        self.result.close()
