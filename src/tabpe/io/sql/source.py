"""`SqlSource`: the rows of a database as batches, the same in every pass.

Errors: a driver quotes what it was given, such as the address with the password, the query, or a
cell that it could not read. So an error is dropped whole where it happens. Only its class and its
SQLSTATE are kept, five characters that the SQL standard lists.

Interrupts: while a driver waits for its database, Python handles no signal. So the driver runs on a
thread of its own, and on Ctrl-C the main thread cancels the query.

Row order: a database guarantees no order. But which rows belong to a user is found in one pass over
the table and used in another, row by row; and the accounting is about one table. So the columns of
the first pass are read again in every later one, and must be unchanged.

Statements: a statement is a single SELECT of named columns. Names are quoted, never pasted. A query
is checked to be one reading statement, and stands in parentheses as a subquery.
"""

from __future__ import annotations

import hashlib
import re
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tabpe._utils.arrays import is_text
from tabpe.errors import DataError, ParameterError, TabpeError
from tabpe.io.batches import Batch, Limits, check_names, regroup_batches
from tabpe.io.frames import ARROW

T = TypeVar("T")
_STATE = re.compile(r"[0-9A-Z]{5}")

# Explanations by prefix of the SQLSTATE; the longest prefix counts.
_MEANINGS = {
    "28": "user or password was refused: see --password-env, PGPASSWORD or ~/.pgpass",
    "3D000": "there is no such database",
    "3F000": "there is no such schema in the database",
    "42P01": "there is no such table: names are case-sensitive",
    "42703": "there is no such column",
    "42501": "the user may not read it: ask for the SELECT privilege",
    "38004": "it reads another file or address, which is disabled: copy those rows into a table of "
    "the database, or open it yourself and pass the connection",
    "42601": "this database does not understand the query",
    "25006": "the query would write, and is only allowed to read",
    "25P02": "an earlier query failed: open it again",
    "53200": "the query needs more memory or disk space than allowed: write its rows into a table, "
    "or open the database yourself and pass the connection",
    "53300": "it has too many connections: try again later",
    "57014": "the query took too long, or was cancelled",
    "57P": "the server was shut down",
    "08": "the server can not be reached, or the connection was lost",
    "22": "a cell can not be read as the query says: correct the query",
    "HYT": "the query took too long",
}
# SQLite has codes of its own, and DuckDB classes.
_STATES = {
    "SQLITE_CANTOPEN": "08001",
    "SQLITE_READONLY": "25006",
    "CatalogException": "42P01",
    "BinderException": "42703",
    "ParserException": "42601",
    "ConversionException": "22000",
    "PermissionException": "38004",
    "OutOfMemoryException": "53200",
}
# Some drivers give no state, only an English message.
_STATES_IN_MESSAGES = {"no such table": "42P01", "read-only transaction": "25006"}
_STATES_IN_CONNECTION_MESSAGES = {
    "password authentication failed": "28P01",
    "no password supplied": "28P01",
    "no pg_hba.conf entry": "28000",
    "does not exist": "3D000",
    "too many": "53300",
}
_UNKNOWN = "the database refused, was lost, or has a cell that can not be read as the query says"


def query_safely(where: str, call: Callable[[], T]) -> T:
    """Return the result of `call`, which queries a database.

    Privacy: of an error only its class and its SQLSTATE are kept.

    Args:
        where: The table, to name in errors.
        call: Queries the database.

    Raises:
        DataError: If `call` fails.
    """
    try:
        return call()
    except (TabpeError, MemoryError, StopIteration):
        raise
    except Exception as error:
        problem = _describe_error(error)
    raise DataError(f"{where}: {problem}.")


def iterate_query_safely(where: str, items: Iterator[T]) -> Iterator[T]:
    """Yield the items read from a database, each under `query_safely`."""
    while (item := query_safely(where, lambda: next(items, None))) is not None:
        yield item


def connect_safely(where: str, call: Callable[[], T]) -> T:
    """Return the result of `call`, which connects; an error without a state means no server."""
    try:
        return call()
    except (TabpeError, MemoryError):
        raise
    except Exception as error:
        state = (
            _get_sqlstate(error) or _find_sqlstate(error, _STATES_IN_CONNECTION_MESSAGES) or "08001"
        )
        problem = _explain_sqlstate(state) or "the database can not be opened"
    raise DataError(f"{where}: {problem}.")


def _describe_error(error: Exception) -> str:
    """Describe an error by its class and its state only."""
    state, name = (
        _get_sqlstate(error) or _find_sqlstate(error, _STATES_IN_MESSAGES),
        type(_unwrap_error(error)).__name__,
    )
    detail = name if state is None else f"{name}, SQLSTATE {state}"
    return f"{_explain_sqlstate(state) or _UNKNOWN} ({detail})"


def _get_sqlstate(error: Exception) -> str | None:
    """Return the SQLSTATE of an error, under the names that drivers use."""
    cause = _unwrap_error(error)
    for name in ("sqlstate", "pgcode"):
        state = getattr(cause, name, None)
        if isinstance(state, str) and _STATE.fullmatch(state):
            return state
    return _STATES.get(getattr(cause, "sqlite_errorname", None) or type(cause).__name__)


def _unwrap_error(error: Any) -> Any:
    """Return the driver's error inside one of SQLAlchemy."""
    return getattr(error, "orig", None) or error


def _explain_sqlstate(state: str | None) -> str | None:
    if state is None:
        return None
    prefixes = [known for known in _MEANINGS if state.startswith(known)]
    return _MEANINGS[max(prefixes, key=len)] if prefixes else None


def _find_sqlstate(error: Exception, words: Mapping[str, str]) -> str | None:
    """Return the state that the message of an error implies; the message is not kept."""
    message = str(error)
    return next((state for known, state in words.items() if known in message), None)


# Seconds that a database gets to stop, and between two checks for signals: a signal does not end a
# wait on every system, nor with every driver.
_STOP_SECONDS = 10.0
_POLL_SECONDS = 0.2


def run_interruptible(call: Callable[[], T], cancel: Callable[[], object] | None) -> T:
    """Return the result of `call`; Ctrl-C cancels it, as in `iterate_interruptible`.

    Example:
        >>> run_interruptible(lambda: 5, lambda: None)
        5
    """
    (answer,) = iterate_interruptible((ask() for ask in (call,)), cancel)
    return answer


def iterate_interruptible(items: Iterator[T], cancel: Callable[[], object] | None) -> Iterator[T]:
    """Yield items read from a database; on Ctrl-C, cancel the query and stop.

    Args:
        items: Queries the database for each item.
        cancel: Cancels the query, from another thread; None if the driver may only be used by the
            thread that opened it.
    """
    if cancel is None or threading.current_thread() is not threading.main_thread():
        yield from items
        return
    thread = _QueryThread(items)
    try:
        while (item := thread.get_next()) is not None:
            yield item
    except KeyboardInterrupt:
        with suppress(Exception):
            cancel()
        raise
    finally:
        thread.stop_thread()


class _QueryThread(Generic[T]):
    """A thread that reads one item for each request."""

    def __init__(self, items: Iterator[T]) -> None:
        self._items = items
        self._requests: SimpleQueue[bool] = SimpleQueue()
        self._answers: SimpleQueue[tuple[T | None, BaseException | None]] = SimpleQueue()
        self._ended: SimpleQueue[bool] = SimpleQueue()
        threading.Thread(target=self._run, daemon=True).start()

    def get_next(self) -> T | None:
        """Return the next item; None after the last one."""
        self._requests.put(True)  # noqa: FBT003
        while True:
            with suppress(Empty):
                item, error = self._answers.get(timeout=_POLL_SECONDS)
                break
        if error is not None:
            raise error
        return item

    def stop_thread(self) -> None:
        """Stop after the current item, and close the iterator."""
        self._requests.put(False)  # noqa: FBT003
        with suppress(Empty):
            self._ended.get(timeout=_STOP_SECONDS)

    def _run(self) -> None:
        while self._requests.get():
            try:
                self._answers.put((next(self._items, None), None))
            except BaseException as error:
                self._answers.put((None, error))
        with suppress(Exception):
            getattr(self._items, "close", lambda: None)()
        self._ended.put(True)  # noqa: FBT003


# Types of columns that can be read.
_PLAIN_TYPES: tuple[Callable[[pa.DataType], bool], ...] = (
    is_text,
    pa.types.is_boolean,
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_decimal,
    pa.types.is_date,
    pa.types.is_timestamp,
    pa.types.is_time,
    pa.types.is_null,
)


@dataclass(frozen=True)
class ResultSchema:
    """The columns of a table or a query.

    Args:
        schema: Their names and types, as in batches.
        refused: The database's names of types that can not be read, by column.
    """

    schema: pa.Schema
    refused: Mapping[str, str]


class SqlReader(Protocol):
    """A table or a query of an open database."""

    @property
    def result_schema(self) -> ResultSchema:
        """Its columns, found without reading a row."""
        ...

    def read(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Query some columns of all rows, in batches; nothing else leaves the database."""
        ...

    @property
    def cancel(self) -> Callable[[], object] | None:
        """Cancels a query from another thread; None if only one thread may use the driver."""
        ...

    def close(self) -> None:
        """Close what was opened."""
        ...


def build_result_schema(
    schema: pa.Schema, refused: Mapping[str, str] | None = None
) -> ResultSchema:
    """Return the columns of a result; those of a type that is not plain are refused."""
    nested = {field.name: str(field.type) for field in schema if not is_plain_type(field.type)}
    return ResultSchema(schema.remove_metadata(), {**nested, **(refused or {})})


def is_plain_type(kind: pa.DataType) -> bool:
    """Return whether cells of a type are plain: text, booleans, numbers, dates or times."""
    if pa.types.is_dictionary(kind):
        return is_plain_type(kind.value_type)
    return any(is_one(kind) for is_one in _PLAIN_TYPES)


class RowChangeGuard:
    """Refuses rows that differ from those of the first pass, by a private digest of them.

    Args:
        where: The table, to name in errors.
    """

    def __init__(self, where: str) -> None:
        self._where = where
        self._names: tuple[str, ...] = ()
        self._digest: bytes | None = None

    def add_guarded_columns(self, names: Sequence[str]) -> list[str]:
        """Return the columns to read for `names`: these and the guarded ones."""
        return [*names, *(name for name in self._names if name not in names)]

    def guard_batches(
        self, batches: Iterable[pa.RecordBatch], names: Sequence[str]
    ) -> Iterator[pa.RecordBatch]:
        """Yield the columns `names` of batches; refuse rows that changed since the first pass.

        Privacy: the rows of a user that count are chosen by their position in the table. Another
        order would let more of them count than the guarantee allows.

        Raises:
            DataError: After the last batch, if rows changed, or their order.
        """
        seen = self._names if self._digest is not None else tuple(names)
        digests = {name: _ColumnDigest() for name in seen}
        for batch in batches:
            for name in seen:
                digests[name].add(batch.column(name))
            yield batch.select(list(names))
        self._check_digest(seen, b"".join(digests[name].value for name in seen))

    def _check_digest(self, names: tuple[str, ...], digest: bytes) -> None:
        if self._digest is not None and digest != self._digest:
            raise DataError(
                f"{self._where}: the rows changed, or their order, while they were read: keep the "
                f"table as it is during a run, and end a query with ORDER BY."
            )
        self._names, self._digest = names, digest


class _ColumnDigest:
    """A digest of a column that does not depend on its division into batches."""

    def __init__(self) -> None:
        self._lengths, self._cells = hashlib.blake2b(), hashlib.blake2b()

    def add(self, column: pa.Array) -> None:
        plain = _convert_to_plain(column)
        if not is_text(plain.type):
            present = pc.is_valid(plain).cast(pa.int8())
            self._lengths.update(_get_number_bytes(present))
            self._cells.update(_get_number_bytes(pc.fill_null(plain, 0)))
            return
        # -1 is the length of a missing cell.
        self._lengths.update(
            _get_number_bytes(pc.fill_null(pc.binary_length(plain), -1).cast(pa.int64()))
        )
        self._cells.update(_get_text_bytes(plain.drop_null()))

    @property
    def value(self) -> bytes:
        return self._lengths.digest() + self._cells.digest()


def _convert_to_plain(column: pa.Array) -> pa.Array:
    """Return a column as text or numbers, without loss."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        return _convert_to_plain(column.dictionary_decode())
    if is_text(kind) or pa.types.is_decimal(kind):
        return column.cast(pa.large_string())
    if pa.types.is_temporal(kind):
        return column.view(pa.int64() if kind.bit_width == 64 else pa.int32())  # noqa: PLR2004
    return column.cast(pa.int8()) if pa.types.is_boolean(kind) else column


def _get_text_bytes(text: pa.Array) -> memoryview:
    """Return the bytes of all text cells, concatenated."""
    _, offsets, content = text.buffers()
    if not len(text) or content is None:
        return memoryview(b"")
    starts = np.frombuffer(offsets, np.int64)[text.offset : text.offset + len(text) + 1]
    return memoryview(content)[int(starts[0]) : int(starts[-1])]


def _get_number_bytes(numbers: pa.Array) -> bytes:
    return bytes(numbers.to_numpy(zero_copy_only=False).tobytes())


class SqlSource:
    """A table or a query of a database.

    Privacy: columns that are not requested do not leave the database. Rows that changed since the
    first pass, or their order, are an error.

    Args:
        reader: Queries the database. It is closed with the source.
        where: The name of the table in errors, without user and password.
        limits: The most to read.
    """

    lives_on = "a database"

    def __init__(self, reader: SqlReader, where: str, limits: Limits) -> None:
        self._reader, self._where, self._limits = reader, where, limits
        self._result_schema = run_interruptible(lambda: reader.result_schema, reader.cancel)
        self._guard = RowChangeGuard(where)
        # However a run ends, since an open connection keeps its transaction open.
        self.close = weakref.finalize(self, reader.close)
        limits.check_limit("columns", len(self.names), where=where)
        check_names(self.names, where=where)

    @property
    def library(self) -> str:
        """The library of the output frames: pyarrow."""
        return ARROW

    @property
    def nested(self) -> frozenset[str]:
        """Empty: types that can not be read are refused when they are read."""
        return frozenset()

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return list(self._result_schema.schema.names)

    @property
    def most_rows(self) -> None:
        """Not known: counting rows takes as long as reading them."""
        return None

    def batches(self, names: Sequence[str] | None = None) -> Iterator[Batch]:
        """Query the rows."""
        # A query without columns would have no rows.
        wanted = self.names if names is None else list(names) or self.names[:1]
        self._check_types(wanted)
        return self._limits.check_batches(self._iterate_batches(wanted), where=self._where)

    def _iterate_batches(self, wanted: list[str]) -> Iterator[Batch]:
        first = 0
        for table in regroup_batches(self._read_batches(wanted)):
            yield Batch(table, self._where, first)
            first += table.num_rows

    def _read_batches(self, wanted: list[str]) -> Iterator[pa.RecordBatch]:
        queried = self._guard.add_guarded_columns(wanted)
        reader = self._reader
        batches = iterate_query_safely(
            self._where, iterate_interruptible(reader.read(queried), reader.cancel)
        )
        for batch in self._guard.guard_batches(batches, wanted):
            self._limits.check_cells(batch, where=self._where)
            yield batch

    def _check_types(self, wanted: Sequence[str]) -> None:
        for name in wanted:
            kind = self._result_schema.refused.get(name)
            if kind is not None:
                raise DataError(
                    f"{self._where}: column {name!r} is of type {kind}: leave it out, or cast it "
                    f"in a query: expected text, numbers, booleans, dates or times."
                )


# Quoted text and comments, which are not part of the grammar.
_OPAQUE = re.compile(
    r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|`[^`]*`|\$(?P<tag>\w*)\$.*?\$(?P=tag)\$|--[^\n]*|/\*.*?\*/""",
    re.DOTALL,
)
_READS = ("select", "with", "values", "table", "from")
_NAME = re.compile(r'"((?:[^"]|"")+)"|([^".]+)')


def quote_name(name: str, mark: str = '"') -> str:
    """Return a name as a quoted SQL identifier, whatever characters it has.

    Example:
        >>> print(quote_name('visits"; DROP TABLE visits; --'))
        "visits""; DROP TABLE visits; --"
    """
    if "\x00" in name:
        raise ParameterError(f"table: {name!r}: expected a name without NUL.")
    return f"{mark}{name.replace(mark, 2 * mark)}{mark}"


def parse_table_name(given: Any) -> tuple[str, ...]:
    """Return the parts of a qualified table name, the table last.

    Example:
        >>> parse_table_name('ward."visits.2024"'), parse_table_name(["a.b"])
        (('ward', 'visits.2024'), ('a.b',))
    """
    if isinstance(given, str):
        parts = _parse_name_parts(given)
    else:
        parts = tuple(given) if isinstance(given, Sequence) else ()
    if not parts or not all(isinstance(part, str) and part for part in parts):
        raise ParameterError(
            f"table={given!r}: expected a name such as visits or ward.visits; put a part with a "
            f"dot in double quotes."
        )
    return parts


def _parse_name_parts(name: str) -> tuple[str, ...]:
    parts, position = [], 0
    while found := _NAME.match(name, position):
        parts.append(found[2] if found[1] is None else found[1].replace('""', '"'))
        position = found.end()
        if position == len(name):
            return tuple(parts)
        if name[position] != ".":
            break
        position += 1
    return ()


def check_query(given: Any) -> str:
    """Return the text of a query that is a single reading statement.

    This is a first check, which refuses what is clearly something else. Databases are opened
    read-only where possible.

    Raises:
        ParameterError: If it is not text, or not one SELECT.

    Example:
        >>> check_query("SELECT age FROM visits WHERE ward = 'a;b' ;")
        "SELECT age FROM visits WHERE ward = 'a;b'"
    """
    if not isinstance(given, str):
        raise ParameterError(f"query: expected text, not {type(given).__name__}.")
    query = given.strip().rstrip(";").strip()
    bare = _OPAQUE.sub(" ", query)
    first = re.match(r"[\s(]*(\w*)", bare)
    if first is None or first[1].lower() not in _READS or ";" in bare or "\x00" in query:
        raise ParameterError("query: expected a single SELECT.")
    if not _is_closed(bare):
        raise ParameterError("query: a parenthesis, a quotation mark or a comment is not closed.")
    return query


def _is_closed(bare: str) -> bool:
    """Whether parentheses balance, so that a query can not close the ones around it."""
    depth = 0
    for character in bare:
        depth += {"(": 1, ")": -1}.get(character, 0)
        if depth < 0:
            return False
    return depth == 0 and not any(mark in bare for mark in ("'", '"', "`", "/*"))


@dataclass(frozen=True)
class SqlSelection:
    """A table or a query from which columns are selected.

    Args:
        name: The parts of the name of a table; empty for a query.
        query: A checked query; None for a table.
        mark: The quotation mark for names in this database.
        after: SQL that this database needs after the name of a table.

    Example:
        >>> print(SqlSelection(("ward", "visits")).select_columns(["age", "sex"]))
        SELECT "age", "sex" FROM "ward"."visits"
    """

    name: tuple[str, ...] = ()
    query: str | None = None
    mark: str = '"'
    after: str = ""

    @property
    def title(self) -> str:
        """Its name in errors."""
        return "query" if self.query is not None else ".".join(self.name)

    @property
    def table(self) -> str:
        """The table with its name quoted, or the query in parentheses on lines of its own."""
        if self.query is not None:
            return f"(\n{self.query}\n) tabpe_rows"
        return ".".join(quote_name(part, self.mark) for part in self.name) + self.after

    def select_columns(self, names: Sequence[str]) -> str:
        """Return a SELECT of some columns."""
        return self.select_terms([quote_name(name, self.mark) for name in names])

    def select_terms(self, terms: Sequence[str]) -> str:
        """Return a SELECT of SQL terms over its columns."""
        return f"SELECT {', '.join(terms)} FROM {self.table}"  # noqa: S608 - names are quoted

    def select_none(self) -> str:
        """Return a SELECT of all columns and no row."""
        return f"{self.select_terms(['*'])} WHERE 1 = 0"
