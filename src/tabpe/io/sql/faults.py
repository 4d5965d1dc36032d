"""What a database refused, said without its words.

A driver quotes what it was given: the address with the password, the query, the cell that it
could not read. So a failure is dropped whole where it happens. What is kept of it is the class of
the error and its SQLSTATE, five letters that the SQL standard lists.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from tabpe.errors import DataError, TabpeError

T = TypeVar("T")
_STATE = re.compile(r"[0-9A-Z]{5}")

# What a state means, the longest beginning first.
_MEANINGS = {
    "28": "user or password was refused: see --password-env, PGPASSWORD or ~/.pgpass",
    "3D000": "there is no such database",
    "3F000": "there is no such schema in the database",
    "42P01": "there is no such table: names are taken letter by letter, also large and small ones",
    "42703": "there is no such column",
    "42501": "the user may not read it: ask for the right to SELECT",
    "38004": "it reads a file or an address beside itself, which is switched off: copy those rows "
    "into a table of it, or open it yourself and give the connection",
    "42601": "the query is not one that this database understands",
    "25006": "the query would write, and is only allowed to read",
    "25P02": "an earlier question failed: open it again",
    "53200": "it takes more memory, or room on the disk, than it is given: write the rows that it "
    "selects into a table, or open it yourself and give the connection",
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
# Some say it in English, and give no state.
_WORDS = {"no such table": "42P01", "read-only transaction": "25006"}
_WORDS_OF_CONNECTING = {
    "password authentication failed": "28P01",
    "no password supplied": "28P01",
    "no pg_hba.conf entry": "28000",
    "does not exist": "3D000",
    "too many": "53300",
}
_UNKNOWN = "the database refused, went away, or has a cell that can not be read as the query says"


def asked(where: str, call: Callable[[], T]) -> T:
    """Return what `call` gets from a database.

    Privacy: of a failure nothing is kept but its class and its SQLSTATE.

    Args:
        where: The table, to name in errors.
        call: What asks the database.

    Raises:
        DataError: If `call` fails, in our own words.
    """
    try:
        return call()
    except (TabpeError, MemoryError, StopIteration):
        raise
    except Exception as error:
        problem = _told(error)
    raise DataError(f"{where}: {problem}.")


def asked_each(where: str, items: Iterator[T]) -> Iterator[T]:
    """Yield what `items` gets from a database, each under `asked`."""
    while (item := asked(where, lambda: next(items, None))) is not None:
        yield item


def reached(where: str, call: Callable[[], T]) -> T:
    """Return what `call` connects to; what fails without a state was not reached."""
    try:
        return call()
    except (TabpeError, MemoryError):
        raise
    except Exception as error:
        state = _state(error) or _state_in(error, _WORDS_OF_CONNECTING) or "08001"
        problem = _meaning(state) or "the database can not be opened"
    raise DataError(f"{where}: {problem}.")


def _told(error: Exception) -> str:
    """Return what may be said of an error: whether it is known, its class and its state."""
    state, name = _state(error) or _state_in(error, _WORDS), type(_cause(error)).__name__
    detail = name if state is None else f"{name}, SQLSTATE {state}"
    return f"{_meaning(state) or _UNKNOWN} ({detail})"


def _state(error: Exception) -> str | None:
    """Return the SQLSTATE of an error, by whichever name a driver has it."""
    cause = _cause(error)
    for name in ("sqlstate", "pgcode"):
        state = getattr(cause, name, None)
        if isinstance(state, str) and _STATE.fullmatch(state):
            return state
    return _STATES.get(getattr(cause, "sqlite_errorname", None) or type(cause).__name__)


def _cause(error: Any) -> Any:
    """Return the error of the driver that SQLAlchemy wraps."""
    return getattr(error, "orig", None) or error


def _meaning(state: str | None) -> str | None:
    if state is None:
        return None
    begins = [known for known in _MEANINGS if state.startswith(known)]
    return _MEANINGS[max(begins, key=len)] if begins else None


def _state_in(error: Exception, words: Mapping[str, str]) -> str | None:
    """Return the state that the message of an error tells; of the message nothing is kept."""
    message = str(error)
    return next((state for known, state in words.items() if known in message), None)
