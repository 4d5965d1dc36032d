"""Readers for database drivers: DB-API and SQLite, DuckDB, ADBC, PostgreSQL.

- DB-API, SQLAlchemy and SQLite: drivers report column types in words of their own or, like SQLite,
  not at all. Types guessed from cells would read private rows without a charge. So all cells become
  text, as in a CSV file, and the schema says what they mean.
- DuckDB: files, connections and relations, streamed and run again in each pass.
- ADBC: any connection that returns Arrow.
- PostgreSQL: streamed by ADBC, in one transaction that sees one state of the table.
"""

from __future__ import annotations

import itertools
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.compute as pc

from tabpe.errors import DataError, ParameterError
from tabpe.io.batches import Limits
from tabpe.io.canonical import format_cell
from tabpe.io.sql.source import (
    ResultSchema,
    SqlReader,
    SqlSelection,
    SqlSource,
    build_result_schema,
    connect_safely,
    is_plain_type,
    query_safely,
    quote_name,
)

_CELLS_AT_ONCE = 2**13
# Rows in storage order, whichever columns are selected.
_SQLITE_ORDER = " NOT INDEXED"


@dataclass(frozen=True, eq=False)
class TextReader:
    """A table or a query of a connection that follows Python's DB-API, as text.

    Args:
        execute: Runs a statement, in batches where the driver can, and returns its cursor.
        selection: The table or the query.
        where: The name of the table in errors.
        close: Closes the connection.
        cancel: Cancels a query from another thread, if several threads may use the connection.
    """

    execute: Callable[[str], Any]
    selection: SqlSelection
    where: str
    close: Callable[[], None]
    cancel: Callable[[], object] | None = None

    @property
    def result_schema(self) -> ResultSchema:
        """Names of the columns, all of them text."""
        cursor = query_safely(self.where, lambda: self.execute(self.selection.select_none()))
        names = [column[0] for column in cursor.description]
        cursor.close()
        return ResultSchema(pa.schema([(name, pa.string()) for name in names]), {})

    def read(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Query some columns of all rows."""
        cursor = self.execute(self.selection.select_columns(names))
        try:
            while rows := cursor.fetchmany(_CELLS_AT_ONCE):
                columns = zip(*rows, strict=True)
                cells = [pa.array(map(format_cell, column), pa.string()) for column in columns]
                yield pa.RecordBatch.from_arrays(cells, list(names))
        finally:
            cursor.close()


def open_sqlite(path: str, selection: SqlSelection, where: str) -> TextReader:
    """Open a file of SQLite read-only, in one transaction."""
    import sqlite3

    if not Path(path).is_file():
        raise DataError(f"{where}: no such file.")
    connection = connect_safely(
        where,
        lambda: sqlite3.connect(
            f"file:{quote(path)}?mode=ro",
            uri=True,
            check_same_thread=False,
            isolation_level=None,
        ),
    )
    query_safely(where, lambda: connection.execute("BEGIN"))
    in_order = replace(selection, after=_SQLITE_ORDER)
    return TextReader(connection.execute, in_order, where, connection.close, connection.interrupt)


def read_connection(connection: Any, selection: SqlSelection, where: str) -> TextReader | None:
    """Return a reader for a connection of SQLAlchemy or DB-API; None for anything else."""
    if type(connection).__module__.startswith("sqlalchemy."):
        return _read_sqlalchemy(connection, selection, where)
    if not callable(getattr(connection, "cursor", None)):
        return None
    if type(connection).__module__ == "sqlite3":
        selection = replace(selection, after=_SQLITE_ORDER)
    return TextReader(_make_executor(connection), selection, where, close=lambda: None)


def _make_executor(connection: Any) -> Callable[[str], Any]:
    """Return a function that runs statements; for psycopg with a server-side cursor."""
    module, numbers = type(connection).__module__, itertools.count(1)
    # Such a cursor needs a transaction, and has no columns before its first row.
    streams = module.startswith("psycopg") and not getattr(connection, "autocommit", False)

    def ask(statement: str) -> Any:
        on_server = streams and not statement.endswith("WHERE 1 = 0")
        cursor = connection.cursor(f"tabpe_{next(numbers)}") if on_server else connection.cursor()
        cursor.execute(statement)
        return cursor

    return ask


def _read_sqlalchemy(given: Any, selection: SqlSelection, where: str) -> TextReader | None:
    is_engine = callable(getattr(given, "connect", None))
    if not is_engine and not callable(getattr(given, "exec_driver_sql", None)):
        return None
    connection = connect_safely(where, given.connect) if is_engine else given
    options = {"stream_results": True, "no_parameters": True}

    def ask(statement: str) -> Any:
        result = connection.exec_driver_sql(statement, execution_options=options)
        return (
            result
            if result.cursor is None
            else _SqlAlchemyCursor(result, result.cursor.description)
        )

    marked = replace(selection, mark=connection.dialect.identifier_preparer.initial_quote)
    return TextReader(ask, marked, where, connection.close if is_engine else lambda: None)


@dataclass(frozen=True, eq=False)
class _SqlAlchemyCursor:
    """A result of SQLAlchemy that looks like a cursor."""

    result: Any
    description: Any

    def fetchmany(self, count: int) -> Any:
        return self.result.fetchmany(count)

    def close(self) -> None:
        self.result.close()


_ROWS_AT_ONCE = 2**16
# Access to nothing but the file: no other file, no address, no extension, no Python variable.
_ISOLATED_CONFIG: dict[str, Any] = {
    "enable_external_access": "false",
    "autoload_known_extensions": "false",
    "autoinstall_known_extensions": "false",
    "python_enable_replacements": "false",
    "lock_configuration": "true",
    # A view may need more than the machine has.
    "memory_limit": "1GiB",
    "max_temp_directory_size": "16GiB",
}
# Arrow returns them as text, or without their zone.
_DUCKDB_REFUSED = ("JSON", "TIME WITH TIME ZONE", "VARIANT")


@dataclass(frozen=True, eq=False)
class RelationReader:
    """A relation of DuckDB.

    Args:
        relation: Run each time that rows are read.
        where: The name of the table in errors.
        close: Closes the connection.
        cancel: Cancels a query. A relation alone has no way to cancel it.
    """

    relation: Any
    where: str
    close: Callable[[], None] = lambda: None
    cancel: Callable[[], object] = lambda: None

    @property
    def result_schema(self) -> ResultSchema:
        """Names and types of the columns."""
        schema = query_safely(self.where, self._fetch_schema)
        kinds = zip(schema.names, map(str, self.relation.types), strict=True)
        return build_result_schema(
            schema, {name: kind for name, kind in kinds if kind in _DUCKDB_REFUSED}
        )

    def read(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Run the relation for some of its columns."""
        with _open_arrow_stream(self.relation.project(", ".join(map(quote_name, names)))) as reader:
            yield from reader

    def _fetch_schema(self) -> pa.Schema:
        with _open_arrow_stream(self.relation.limit(0)) as reader:
            return reader.schema


def open_duckdb(path: str, selection: SqlSelection, where: str) -> RelationReader:
    """Open a file of DuckDB read-only, without access to anything else.

    Privacy: a view in a file of unknown origin could read any file of the user, or a variable of
    this process.
    """
    try:
        import duckdb
    except ImportError:
        raise ParameterError("a file of DuckDB: install duckdb to read it.") from None
    if not Path(path).is_file():
        raise DataError(f"{where}: no such file.")
    connection = connect_safely(
        where, lambda: duckdb.connect(path, read_only=True, config=_ISOLATED_CONFIG)
    )
    return _select_relation(connection, selection, where, connection.close)


def read_duckdb(connection: Any, selection: SqlSelection, where: str) -> RelationReader | None:
    """Return a reader for a connection of DuckDB; None for anything else."""
    duckdb = sys.modules.get("duckdb")
    if duckdb is None or not isinstance(connection, duckdb.DuckDBPyConnection):
        return None
    return _select_relation(connection, selection, where, lambda: None)


def is_relation(data: Any) -> bool:
    """Return whether `data` is a relation of DuckDB."""
    duckdb = sys.modules.get("duckdb")
    return duckdb is not None and isinstance(data, duckdb.DuckDBPyRelation)


def open_relation(relation: Any, limits: Limits) -> SqlSource:
    """Return a source for a relation, which is run again in each pass."""
    return SqlSource(RelationReader(relation, "data"), "data", limits)


def _select_relation(
    connection: Any, selection: SqlSelection, where: str, close: Callable[[], None]
) -> RelationReader:
    statement = selection.select_terms(["*"])
    try:
        relation = query_safely(where, lambda: connection.sql(statement))
        return RelationReader(relation, where, close, connection.interrupt)
    except DataError:
        close()
        raise


def _open_arrow_stream(relation: Any) -> Any:
    """Return a record batch reader, under the name of the installed version."""
    read = getattr(relation, "to_arrow_reader", None) or relation.fetch_arrow_reader
    return read(_ROWS_AT_ONCE)


# Databases that quote names differently from standard SQL.
_QUOTE_MARKS = {"MySQL": "`", "MariaDB": "`", "BigQuery": "`", "Databricks": "`"}


class AdbcReader:
    """A table or a query of a connection of ADBC.

    Args:
        connection: The connection.
        selection: The table or the query.
        where: The name of the table in errors.
        owns: Whether the connection is closed with the reader.
    """

    def __init__(
        self, connection: Any, selection: SqlSelection, where: str, *, owns: bool = False
    ) -> None:
        self._connection, self._selection, self._where = connection, selection, where
        self._owns = owns
        self._open_cursors: list[Any] = []

    @property
    def result_schema(self) -> ResultSchema:
        """Names and types of the columns."""
        return build_result_schema(self.fetch_schema(self._selection))

    def read(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Query some columns of all rows."""
        return self.stream_statement(self._selection.select_columns(names))

    def fetch_schema(self, selection: SqlSelection) -> pa.Schema:
        """Return names and types of the columns from the driver."""

        def fetch() -> pa.Schema:
            with self._connection.cursor() as cursor:
                cursor.execute(selection.select_none())
                return cursor.fetch_record_batch().schema

        return query_safely(self._where, fetch)

    def stream_statement(self, statement: str) -> Iterator[pa.RecordBatch]:
        """Yield the result of a statement as it arrives."""
        # One query at a time: a result that was not read to its end is closed.
        self._close_cursors()
        with self._connection.cursor() as cursor:
            self._open_cursors.append(cursor)
            cursor.execute(statement)
            yield from cursor.fetch_record_batch()

    def cancel(self) -> None:
        """Cancel the running query."""
        self._connection.adbc_cancel()

    def close(self) -> None:
        """Close results, and the connection if the reader owns it."""
        self._close_cursors()
        if self._owns:
            self._connection.close()

    def _close_cursors(self) -> None:
        while self._open_cursors:
            self._open_cursors.pop().close()


def read_adbc(connection: Any, selection: SqlSelection, where: str) -> SqlReader | None:
    """Return a reader for a connection of ADBC; None for anything else."""
    if not callable(getattr(connection, "adbc_get_info", None)):
        return None
    vendor = query_safely(where, connection.adbc_get_info).get("vendor_name")
    if vendor == "SQLite":
        raise DataError(
            f"{where}: ADBC infers the types of SQLite from cells: pass the address "
            f"sqlite:///FILE, or a connection of sqlite3."
        )
    if vendor == "PostgreSQL":
        return PostgresReader(connection, selection, where)
    return AdbcReader(connection, replace(selection, mark=_QUOTE_MARKS.get(vendor, '"')), where)


# Types that are read as text.
_TEXTS = ("bpchar", "citext", "cidr", "inet", "macaddr", "macaddr8", "uuid")
# Types that arrive in a plain Arrow type with another meaning.
_REFUSED = ("money", "json", "jsonb")
_UNNAMED = re.compile(r"unnamed<oid:(\d+)>")
# The first day of PostgreSQL's calendar, in 4714 BC. Values that are infinite, or too late for
# Arrow, arrive as earlier ones.
_FIRST_DAY = -2_440_588
_MICROSECONDS_A_DAY = 86_400_000_000
_FIRST = {32: _FIRST_DAY, 64: _FIRST_DAY * _MICROSECONDS_A_DAY}


@dataclass(frozen=True)
class PostgresColumn:
    """How a column of PostgreSQL is converted to Arrow.

    Args:
        kind: Its type in Arrow.
        as_text: Whether it is cast to text in the query.
        refused: PostgreSQL's name of its type, if it can not be read.
        is_number: Whether its cells are exact numbers as text.
    """

    kind: pa.DataType
    as_text: bool = False
    refused: str | None = None
    is_number: bool = False

    def format_term(self, name: str) -> str:
        """Return the SQL term to select, for a quoted name."""
        return f"{name}::text" if self.as_text else name

    def convert_cells(self, column: pa.Array) -> pa.Array:
        """Convert received cells to the type of the column.

        A date or time that is infinite, or beyond the range of Arrow, becomes null.
        """
        if pa.types.is_timestamp(self.kind) or pa.types.is_date(self.kind):
            column = _drop_infinite(column)
        if isinstance(column, pa.ExtensionArray):
            column = column.storage
        return _drop_nan(column) if self.is_number else column


def plan_column(field: pa.Field, enums: Set[str]) -> PostgresColumn:
    """Return how to read a column.

    Args:
        field: The column as the driver reports it.
        enums: The enum types, by name and by number.
    """
    kind, name = field.type, _get_type_name(field)
    if name in _REFUSED:
        return PostgresColumn(pa.string(), refused=name)
    if name == "numeric":
        return PostgresColumn(pa.string(), is_number=True)
    if name in _TEXTS or name in enums:
        return PostgresColumn(pa.string(), as_text=True)
    if is_plain_type(kind):
        return PostgresColumn(kind)
    return PostgresColumn(pa.string(), refused=name)


def _get_type_name(field: pa.Field) -> str:
    """Return PostgreSQL's name of a type; its number if it is newer than the connection."""
    metadata = dict(field.metadata or {})
    name = metadata.get(b"POSTGRESQL:type") or metadata.get(b"ADBC:postgresql:typname") or b""
    found = name.decode() or getattr(field.type, "extension_name", str(field.type))
    unnamed = _UNNAMED.fullmatch(found)
    return unnamed[1] if unnamed else found.removeprefix("arrow.")


def _drop_nan(text: pa.Array) -> pa.Array:
    """Return numbers as text, with null for NaN."""
    missing = pc.fill_null(pc.equal(pc.utf8_lower(text), "nan"), True)  # noqa: FBT003
    return pc.if_else(missing, pa.scalar(None, text.type), text)


def _drop_infinite(column: pa.Array) -> pa.Array:
    """Return dates or times, with null for those that are infinite or too late for Arrow."""
    bits = column.type.bit_width
    numbers = column.view(pa.int32() if bits == 32 else pa.int64())  # noqa: PLR2004
    beyond = pc.less(numbers, _FIRST[bits])
    return pc.if_else(pc.fill_null(beyond, False), pa.scalar(None, column.type), column)  # noqa: FBT003


# Seconds to wait for a server that does not answer.
_TIMEOUT_SECONDS = 10
_BEGIN = (
    "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
    # The transaction is idle between two rounds.
    "SET LOCAL idle_in_transaction_session_timeout = 0",
    "SET LOCAL standard_conforming_strings = on",
)
# Rows in storage order from the first on, whichever columns are selected.
_POSTGRES_ORDER = (
    "SET LOCAL synchronize_seqscans = off",
    "SET LOCAL max_parallel_workers_per_gather = 0",
    "SET LOCAL enable_indexscan = off",
    "SET LOCAL enable_indexonlyscan = off",
)
# Tables, materialized views and partitioned tables; a view is a query.
_STORED = ("r", "m", "p")


class PostgresReader(AdbcReader):
    """A table or a query of a connection to PostgreSQL.

    Args:
        connection: The connection, of ADBC.
        selection: The table or the query.
        where: The name of the table in errors.
        owns: Whether the connection is closed with the reader.
    """

    def __init__(
        self, connection: Any, selection: SqlSelection, where: str, *, owns: bool = False
    ) -> None:
        super().__init__(connection, selection, where, owns=owns)
        self._columns: dict[str, PostgresColumn] = {}

    @property
    def result_schema(self) -> ResultSchema:
        """Names of the columns, and the types they are converted to."""
        schema, enums = self.fetch_schema(self._selection), self._fetch_enums()
        columns = [(field.name, plan_column(field, enums)) for field in schema]
        self._columns = dict(columns)
        refused = {name: one.refused for name, one in columns if one.refused}
        return ResultSchema(pa.schema([(name, one.kind) for name, one in columns]), refused)

    def read(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Query some columns of all rows."""
        columns = [self._columns[name] for name in names]
        terms = [
            one.format_term(quote_name(name)) for name, one in zip(names, columns, strict=True)
        ]
        for batch in self.stream_statement(self._selection.select_terms(terms)):
            cells = [
                one.convert_cells(cell) for one, cell in zip(columns, batch.columns, strict=True)
            ]
            yield pa.RecordBatch.from_arrays(cells, list(names))

    def _fetch_enums(self) -> set[str]:
        """Return the enum types, by name and by number."""
        statement = "SELECT typname::text, oid::int8 FROM pg_catalog.pg_type WHERE typtype = 'e'"
        batches = query_safely(self._where, lambda: list(self.stream_statement(statement)))
        return {
            str(cell) for batch in batches for row in batch.to_pylist() for cell in row.values()
        }


def open_postgres(address: str, selection: SqlSelection, where: str) -> PostgresReader:
    """Connect, and begin a read-only transaction that sees one state of the database.

    Privacy: a table is read in one order, so that the assignment of rows to users stays valid from
    one pass to the next. Messages of the driver, which hold the address, are dropped.
    """
    try:
        from adbc_driver_postgresql import dbapi
    except ImportError:
        raise ParameterError(
            "postgresql://...: pip install 'tabpe[sql]' to read from PostgreSQL."
        ) from None
    connection = connect_safely(
        where, lambda: dbapi.connect(_add_timeout(address), autocommit=True)
    )
    try:
        ordered = query_safely(where, lambda: _begin_transaction(connection, selection))
    except BaseException:
        connection.close()
        raise
    return PostgresReader(connection, ordered, where, owns=True)


@dataclass(frozen=True)
class _MaterializedQuery(SqlSelection):
    """A query that is planned the same way, whichever columns are selected."""

    def select_terms(self, terms: Sequence[str]) -> str:
        rows = super().select_terms(["*"])
        listed = ", ".join(terms)
        return f"WITH tabpe_all AS MATERIALIZED ({rows}) SELECT {listed} FROM tabpe_all"  # noqa: S608


def _begin_transaction(connection: Any, selection: SqlSelection) -> SqlSelection:
    with connection.cursor() as cursor:
        for statement in _BEGIN:
            cursor.execute(statement)
        if selection.query is not None or not _is_stored(cursor, selection):
            return _MaterializedQuery(selection.name, selection.query)
        for statement in _POSTGRES_ORDER:
            cursor.execute(statement)
        return selection


def _is_stored(cursor: Any, selection: SqlSelection) -> bool:
    """Whether a relation stores rows itself; a missing one is reported later."""
    name = selection.table.replace("'", "''")
    cursor.execute(
        f"SELECT relkind::text FROM pg_catalog.pg_class WHERE oid = to_regclass('{name}')"  # noqa: S608
    )
    return [kind for (kind,) in cursor.fetchall() if kind not in _STORED] == []


def _add_timeout(address: str) -> str:
    """Return an address with a timeout for a server that does not answer."""
    if "connect_timeout=" in address or "PGCONNECT_TIMEOUT" in os.environ:
        return address
    return f"{address}{'&' if '?' in address else '?'}connect_timeout={_TIMEOUT_SECONDS}"
