"""The file of a ledger: events in SQLite, appended one by one and never changed.

Each operation is one connection and one transaction. A writer locks the file before it reads
(`BEGIN IMMEDIATE`), so what it checks still holds when it writes. With a rollback journal and
`synchronous=EXTRA` an event is on the disk, and so is the removal of the journal, when its
transaction returns: a process that is killed leaves all of an event or nothing.

A new ledger is built in memory and written as a whole, without events. So an empty file is a ledger
that lost all its events, and is refused.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, TypeVar

from tabpe._utils import files
from tabpe.accounting.ledger.events import LedgerEvent, find_break
from tabpe.errors import LedgerError, OutputError

T = TypeVar("T")

FORMAT = 1
APPLICATION_ID = 0x7461_6C67
LONGEST_VALUE = 4 * 2**20
PATIENCE = 60.0  # seconds to wait for another process

_SCHEMA = (
    """CREATE TABLE events (
    seq INTEGER PRIMARY KEY, time TEXT NOT NULL, kind TEXT NOT NULL, payload TEXT NOT NULL,
    previous TEXT NOT NULL, sha256 TEXT NOT NULL
)""",
    "CREATE TABLE head (one INTEGER PRIMARY KEY, sha256 TEXT NOT NULL)",
    """CREATE TRIGGER events_are_not_changed BEFORE UPDATE ON events
BEGIN SELECT RAISE(ABORT, 'a ledger is only added to'); END""",
    """CREATE TRIGGER events_are_not_deleted BEFORE DELETE ON events
BEGIN SELECT RAISE(ABORT, 'a ledger is only added to'); END""",
)
_SETTINGS = (
    "PRAGMA trusted_schema = OFF",
    "PRAGMA cell_size_check = ON",
    "PRAGMA synchronous = EXTRA",
    "PRAGMA fullfsync = ON",
)
_FOREIGN = "not a ledger of tabpe, or damaged."
_EMPTY = (
    "is empty, which a ledger never is: it is damaged. Put a good copy of it back; if no run was "
    "ever charged to it, delete it."
)
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_DAMAGED = (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT)


class EventFile:
    """A file of events.

    Args:
        path: Where; created with the first event, readable by its user only.

    Example:
        >>> import tempfile
        >>> file = EventFile(Path(tempfile.mkdtemp()) / "ledger.db")
        >>> file.read()
        []
        >>> file.append_events(lambda _: ([LedgerEvent.create_after(None, "refunded", {})], "done"))
        'done'
        >>> [event.kind for event in file.read()]
        ['refunded']
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        # The rows that were read last, and their events, whose chain was checked.
        self._rows: list[tuple[Any, ...]] = []
        self._checked: list[LedgerEvent] = []

    def exists(self) -> bool:
        """Whether the file is there."""
        try:
            exists = self.path.exists()
        except OSError as error:
            raise LedgerError(f"{self.path}: can not be opened ({error.strerror}).") from None
        if exists and not self.path.is_file():
            raise LedgerError(f"{self.path}: not a file: expected a ledger.")
        return exists

    def read(self) -> list[LedgerEvent]:
        """Return all events, after checking their hash chain.

        Raises:
            LedgerError: If the file can not be read, or the chain is broken.
        """
        if not self.exists():
            return []
        with self._open_transaction("BEGIN") as connection:
            return self._read_events(connection)

    def append_events(
        self, decide: Callable[[list[LedgerEvent]], tuple[list[LedgerEvent], T]]
    ) -> T:
        """Call `decide` with all events, append the events it returns, and return its result.

        The file is locked meanwhile. If `decide` raises, nothing is appended.
        """
        self._create_file()
        with self._open_transaction("BEGIN IMMEDIATE") as connection:
            added, result = decide(self._read_events(connection))
            for event in added:
                _insert_event(connection, event)
        return result

    def check_integrity(self) -> str | None:
        """Return what SQLite finds wrong with the file itself; None if nothing."""
        if not self.exists():
            return None
        with self._open_transaction("BEGIN") as connection:
            (found,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
        return None if found == "ok" else f"the file is damaged: {found}"

    def _read_events(self, connection: sqlite3.Connection) -> list[LedgerEvent]:
        self._check_format(connection)
        columns = "seq, time, kind, payload, previous, sha256"
        rows = connection.execute(f"SELECT {columns} FROM events ORDER BY seq").fetchall()  # noqa: S608
        # All rows are read each time; those that were checked before are only compared.
        known = self._checked if rows[: len(self._rows)] == self._rows else []
        new = [LedgerEvent(*row) for row in rows[len(known) :]]
        events = [*known, *new]
        broken = find_break(new, known[-1] if known else None) or _find_lost_end(connection, events)
        if broken is not None:
            raise LedgerError(f"{self.path}: the chain is broken. {broken[0].upper()}{broken[1:]}")
        self._rows, self._checked = rows, events
        return list(events)

    def _check_format(self, connection: sqlite3.Connection) -> None:
        # The first read rolls back what a killed process left half done.
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if self.path.stat().st_size == 0:
            raise LedgerError(f"{self.path}: {_EMPTY}")
        if _read_pragma(connection, "application_id") != APPLICATION_ID:
            raise LedgerError(f"{self.path}: {_FOREIGN}")
        version = _read_pragma(connection, "user_version")
        if version != FORMAT:
            raise LedgerError(
                f"{self.path}: a ledger of format {version}, expected {FORMAT}. Use the version of "
                f"tabpe that wrote it, or a newer one."
            )
        (journal,) = connection.execute("PRAGMA journal_mode").fetchone()
        found = {sql for (sql,) in connection.execute("SELECT sql FROM sqlite_master")}
        if found != set(_SCHEMA) or journal != "delete":
            raise LedgerError(f"{self.path}: the tables of the ledger have been altered.")

    def _create_file(self) -> None:
        """Create a ledger without events, readable by its user only, if there is none."""
        if self.exists():
            return
        try:
            files.create_file(self.path, files.make_filler(_build_empty_ledger()))
        except (OutputError, ValueError, sqlite3.Error) as error:
            if not self.exists():  # else another process was faster
                raise LedgerError(f"can not create the ledger: {error}") from None

    @contextmanager
    def _open_transaction(self, begin: str) -> Iterator[sqlite3.Connection]:
        """Open a transaction; commit at the end, or roll back on any error."""
        try:
            with closing(self._connect()) as connection:
                for setting in _SETTINGS:
                    connection.execute(setting)
                connection.execute(begin)
                # Closing a connection rolls back what was not committed.
                yield connection
                connection.execute("COMMIT")
        except sqlite3.Error as error:
            raise LedgerError(f"{self.path}: {_describe_error(error)}") from None
        except UnicodeDecodeError:  # of an error that quotes a damaged file
            raise LedgerError(f"{self.path}: {_FOREIGN}") from None

    def _connect(self) -> sqlite3.Connection:
        # Without 'c' in the mode, SQLite makes no file of its own.
        address = f"{self.path.absolute().as_uri()}?mode=rw"
        connection = sqlite3.connect(address, uri=True, timeout=PATIENCE, isolation_level=None)
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_VALUE)
        return connection


def _build_empty_ledger() -> bytes:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {FORMAT}")
        for statement in _SCHEMA:
            connection.execute(statement)
        return connection.serialize()


def _read_pragma(connection: sqlite3.Connection, name: str) -> int:
    (value,) = connection.execute(f"PRAGMA {name}").fetchone()
    return int(value)


def _insert_event(connection: sqlite3.Connection, event: LedgerEvent) -> None:
    connection.execute(
        "INSERT INTO events VALUES (?, ?, ?, ?, ?, ?)",
        (event.seq, event.time, event.kind, event.payload, event.previous, event.digest),
    )
    connection.execute("REPLACE INTO head VALUES (1, ?)", (event.digest,))


def _find_lost_end(connection: sqlite3.Connection, events: list[LedgerEvent]) -> str | None:
    """Return what is wrong if the chain does not end at the recorded head.

    That is damage, not an attack: an attacker changes both. See `tabpe.accounting.ledger.events`.
    """
    noted = connection.execute("SELECT sha256 FROM head").fetchall()
    last = [(events[-1].digest,)] if events else []
    if noted == last:
        return None
    return f"after event {len(events)}: the end is not the one that was noted."


def _describe_error(error: sqlite3.Error) -> str:
    # Extended codes hold the kind of error in their last byte.
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in _BUSY:
        return f"another process has held it for {PATIENCE:g} seconds. Try again."
    if code in _DAMAGED:
        return _FOREIGN
    return f"can not be used as a ledger ({error})."
