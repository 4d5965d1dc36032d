"""The file of a ledger: events in SQLite, added one by one and never changed.

One connection and one transaction an operation. A writer locks the file before it reads
(`BEGIN IMMEDIATE`), so what it checks still holds when it writes. With a rollback journal and
`synchronous=EXTRA` an event is on the disk, and so is the removal of the journal, when its
transaction returns: a process that is killed leaves all of an event or nothing.

A new ledger is made in memory and appears whole, without events. So a file of no bytes was never a
ledger: it is one that lost all its events, and is refused.
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
        path: Where; made with the first event, for its user alone.

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
        # What was read last, and held.
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
        """Return all events, after checking that they are a chain.

        Raises:
            LedgerError: If the file can not be read, or the chain does not hold.
        """
        if not self.exists():
            return []
        with self._open_transaction("BEGIN") as connection:
            return self._read_events(connection)

    def append_events(
        self, decide: Callable[[list[LedgerEvent]], tuple[list[LedgerEvent], T]]
    ) -> T:
        """Let `decide` see all events and return the ones to add, and a result.

        Nobody else writes meanwhile. If it raises, nothing is added.
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
        # All rows are read each time; those that were found to hold before are only compared.
        known = self._checked if rows[: len(self._rows)] == self._rows else []
        new = [LedgerEvent(*row) for row in rows[len(known) :]]
        events = [*known, *new]
        broken = find_break(new, known[-1] if known else None) or _find_lost_end(connection, events)
        if broken is not None:
            raise LedgerError(f"{self.path}: the chain is broken. {broken[0].upper()}{broken[1:]}")
        self._rows, self._checked = rows, events
        return list(events)

    def _check_format(self, connection: sqlite3.Connection) -> None:
        # The first look into a file undoes what a process left half done when it died.
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
        """Make a ledger without events that its user alone can read, if there is none."""
        if self.exists():
            return
        try:
            files.create_file(self.path, files.make_filler(_build_empty_ledger()))
        except (OutputError, ValueError, sqlite3.Error) as error:
            if not self.exists():  # else another process was faster
                raise LedgerError(f"can not make the ledger: {error}") from None

    @contextmanager
    def _open_transaction(self, begin: str) -> Iterator[sqlite3.Connection]:
        """Hold the file; commit at the end, or roll back on any error."""
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
    """Return the bytes of a ledger without events."""
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
    """Say so if the chain does not end where it did: that is damage, not an attack.

    Who attacks changes both places. See `tabpe.accounting.ledger.events`.
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
