"""`SqlTable`: a table or query of a database, as a value."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote

from tabpe._utils.files import DATABASES, get_scheme, strip_secrets
from tabpe.errors import DataError, ParameterError, did_you_mean, shown
from tabpe.io.batches import Limits
from tabpe.io.sql.source import SqlReader, SqlSelection, SqlSource, check_query, parse_table_name


@dataclass(frozen=True, repr=False, eq=False)
class SqlTable:
    """A table or a query of a database, accepted wherever a table is expected.

    With an address, the rows are read in one read-only transaction that sees one state of the
    database (PostgreSQL, DuckDB, SQLite). A connection of yours is used as it is; set up its
    transaction as you like. In both cases rows that change between two passes over the table are
    detected and refused.

    Privacy: columns that are not declared are not queried. A password is in no error, no
    representation, no file.

    Args:
        database: An address such as `postgresql://ann@db.example/ward`, `duckdb:///ward.duckdb` or
            `sqlite:///ward.db`; or an open connection of ADBC, DuckDB, SQLAlchemy or any other
            driver that follows Python's DB-API.
        table: The table: `visits`, `ward.visits`, or a list of parts. Names are case-sensitive.
        query: A single SELECT instead of a table. End it with ORDER BY if `unit` is used.
        password_env: The environment variable that holds the password. PostgreSQL also reads
            PGPASSWORD and ~/.pgpass.

    Example:
        >>> import sqlite3
        >>> ward = sqlite3.connect(":memory:")
        >>> _ = ward.execute("CREATE TABLE visits (age INTEGER, note TEXT)")
        >>> _ = ward.execute("INSERT INTO visits VALUES (31, 'fine'), (42, NULL)")
        >>> source = open_sql(SqlTable(ward, "visits"))
        >>> [batch.table.to_pylist() for batch in source.batches(["age"])]
        [[{'age': '31'}, {'age': '42'}]]
        >>> ward.close()
        >>> SqlTable("postgresql://ann:secret@db/ward", "visits")
        SqlTable('postgresql://db/ward', table='visits')
    """

    database: Any
    table: str | Sequence[str] | None = None
    query: str | None = None
    password_env: str | None = None

    def __post_init__(self) -> None:
        if (self.table is None) == (self.query is None):
            raise ParameterError("table, query: expected exactly one of the two.")
        _ = self.selection
        if isinstance(self.database, str) and get_scheme(self.database) not in DATABASES:
            raise _make_address_error(self.database)
        if self.password_env is not None and not self._is_server:
            raise ParameterError("password_env: only for an address postgresql://...")

    def __repr__(self) -> str:
        what = f"table={self.table!r}" if self.query is None else f"query={shown(self.query)}"
        return f"SqlTable({self._location!r}, {what})"

    @property
    def selection(self) -> SqlSelection:
        """The checked table or query."""
        if self.query is not None:
            return SqlSelection(query=check_query(self.query))
        return SqlSelection(name=parse_table_name(self.table))

    @property
    def where(self) -> str:
        """Its name in errors, without user and password."""
        return f"{self.selection.title} in {self._location}"

    @property
    def address(self) -> str:
        """The address with the password of the environment: never to be shown."""
        if self.password_env is None:
            return str(self.database)
        password = os.environ.get(self.password_env)
        if not password:
            raise ParameterError(
                f"password_env={self.password_env!r}: the environment has no such variable, or it "
                f"is empty."
            )
        return _add_password(str(self.database), password)

    @property
    def _location(self) -> str:
        if isinstance(self.database, str):
            return strip_secrets(self.database)
        return f"a connection of {type(self.database).__module__.partition('.')[0]}"

    @property
    def _is_server(self) -> bool:
        return isinstance(self.database, str) and str(get_scheme(self.database)).startswith("post")


def open_sql(table: SqlTable, limits: Limits | None = None) -> SqlSource:
    """Return a source for a table in a database.

    Args:
        table: The table or query.
        limits: The most to read; None for the limits of the environment.

    Raises:
        DataError: If the database can not be reached, or has no such table.
    """
    reader = _open_reader(table)
    try:
        return SqlSource(reader, table.where, limits or Limits.from_environment())
    except BaseException:
        reader.close()
        raise


def _open_reader(table: SqlTable) -> SqlReader:
    from tabpe.io.sql import drivers

    selection, where = table.selection, table.where
    if isinstance(table.database, str):
        scheme = get_scheme(table.database)
        if scheme == "sqlite":
            return drivers.open_sqlite(_parse_path(table.database), selection, where)
        if scheme == "duckdb":
            return drivers.open_duckdb(_parse_path(table.database), selection, where)
        return drivers.open_postgres(table.address, selection, where)
    makers: tuple[Callable[..., SqlReader | None], ...] = (
        drivers.read_duckdb,
        drivers.read_adbc,
        drivers.read_connection,
    )
    for make_reader in makers:
        reader = make_reader(table.database, selection, where)
        if reader is not None:
            return reader
    raise DataError(
        f"database: {type(table.database).__name__} is not a connection: expected an address "
        f"such as postgresql://host/name, or an open connection of ADBC, DuckDB, SQLAlchemy or "
        f"DB-API."
    )


def _parse_path(address: str) -> str:
    """Return the path of a file: three slashes for a relative one, four for an absolute one.

    Example:
        >>> _parse_path("sqlite:///ward.db"), _parse_path("sqlite:////data/ward.db")
        ('ward.db', '/data/ward.db')
    """
    host, slash, path = address.partition(":")[2].removeprefix("//").partition("/")
    if host or not slash or not path:
        raise ParameterError(
            f"{strip_secrets(address)}: expected three slashes and the path of a file, such as "
            f"sqlite:///ward.db."
        )
    return unquote(path)


def _add_password(address: str, password: str) -> str:
    scheme, _, rest = address.partition("://")
    authority, slash, path = rest.partition("/")
    user, at, host = authority.rpartition("@")
    if not at or ":" in user:
        raise ParameterError(
            f"{strip_secrets(address)}: with password_env, expected a user and no password in "
            f"the address, such as postgresql://ann@host/name."
        )
    return f"{scheme}://{user}:{quote(password, safe='')}@{host}{slash}{path}"


def _make_address_error(address: str) -> ParameterError:
    scheme, shown_address = get_scheme(address), strip_secrets(address)
    if scheme is None:
        return ParameterError(
            f"database={shown_address!r}: expected an address, such as postgresql://host/name, "
            f"duckdb:///file.duckdb or sqlite:///file.db."
        )
    return ParameterError(f"database={shown_address!r}: {did_you_mean(scheme, DATABASES)}")
