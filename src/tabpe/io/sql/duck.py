"""DuckDB: its files, connections and relations, streamed and asked anew each time."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from tabpe.errors import DataError, ParameterError
from tabpe.io.limits import Limits
from tabpe.io.sql.faults import asked, reached
from tabpe.io.sql.reader import Offer, offer_of
from tabpe.io.sql.source import SqlSource
from tabpe.io.sql.statements import Selection, quoted

_ROWS_AT_ONCE = 2**16
# Nothing but the file: no other file, no address, no extension, no variable of Python.
_BY_ITSELF: dict[str, Any] = {
    "enable_external_access": "false",
    "autoload_known_extensions": "false",
    "autoinstall_known_extensions": "false",
    "python_enable_replacements": "false",
    "lock_configuration": "true",
    # A view may ask for more than the machine has.
    "memory_limit": "1GiB",
    "max_temp_directory_size": "16GiB",
}
# Arrow has them as text, or without their zone.
_REFUSED = ("JSON", "TIME WITH TIME ZONE", "VARIANT")


@dataclass(frozen=True, eq=False)
class RelationReader:
    """A relation of DuckDB.

    Args:
        relation: What is run each time that rows are asked for.
        where: How errors call it.
        close: What lets go of the connection.
        cancel: What stops the database. Nobody can stop a relation alone: it is left to itself.
    """

    relation: Any
    where: str
    close: Callable[[], None] = lambda: None
    cancel: Callable[[], object] = lambda: None

    @property
    def offer(self) -> Offer:
        """Its columns."""
        schema = asked(self.where, self._schema)
        kinds = zip(schema.names, map(str, self.relation.types), strict=True)
        return offer_of(schema, {name: kind for name, kind in kinds if kind in _REFUSED})

    def read(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Run the relation for some of its columns."""
        with _streamed(self.relation.project(", ".join(map(quoted, names)))) as reader:
            yield from reader

    def _schema(self) -> pa.Schema:
        with _streamed(self.relation.limit(0)) as reader:
            return reader.schema


def open_file(path: str, selection: Selection, where: str) -> RelationReader:
    """Open a file of DuckDB to be read only, which reads nothing beside itself.

    Privacy: a view of a file from elsewhere could name any file that the user may read, or a
    variable of this process.
    """
    try:
        import duckdb
    except ImportError:
        raise ParameterError("a file of DuckDB: install duckdb to read it.") from None
    if not Path(path).is_file():
        raise DataError(f"{where}: no such file.")
    connection = reached(where, lambda: duckdb.connect(path, read_only=True, config=_BY_ITSELF))
    return _selected(connection, selection, where, connection.close)


def reader_of(connection: Any, selection: Selection, where: str) -> RelationReader | None:
    """Return what reads from a connection of DuckDB; None if it is none."""
    duckdb = sys.modules.get("duckdb")
    if duckdb is None or not isinstance(connection, duckdb.DuckDBPyConnection):
        return None
    return _selected(connection, selection, where, lambda: None)


def is_relation(data: Any) -> bool:
    """Whether something is a relation of DuckDB."""
    duckdb = sys.modules.get("duckdb")
    return duckdb is not None and isinstance(data, duckdb.DuckDBPyRelation)


def open_relation(relation: Any, limits: Limits) -> SqlSource:
    """Return what reads the rows of a relation, which is run anew each time."""
    return SqlSource(RelationReader(relation, "data"), "data", limits)


def _selected(
    connection: Any, selection: Selection, where: str, close: Callable[[], None]
) -> RelationReader:
    statement = selection.select_terms(["*"])
    try:
        relation = asked(where, lambda: connection.sql(statement))
        return RelationReader(relation, where, close, connection.interrupt)
    except DataError:
        close()
        raise


def _streamed(relation: Any) -> Any:
    """Return a reader of record batches, by the name that this version has for it."""
    read = getattr(relation, "to_arrow_reader", None) or relation.fetch_arrow_reader
    return read(_ROWS_AT_ONCE)
