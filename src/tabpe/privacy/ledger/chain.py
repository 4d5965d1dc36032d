"""Events that hold on to each other: each carries the hash of the one before.

Whoever changes, drops, inserts or swaps an event breaks the chain at that place. Whoever cuts off
its end, or writes a whole new one, does not: that shows only against a head that was noted
elsewhere before.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from tabpe.errors import LedgerError

NO_EVENT = "0" * 64


@dataclass(frozen=True)
class Event:
    """One line of the ledger.

    Args:
        seq: Its number, from 1.
        time: When it was written, in UTC; for people, nothing depends on it.
        kind: What happened.
        payload: The rest, as canonical JSON.
        previous: Hash of the event before, or `NO_EVENT`.
        digest: SHA-256 of all of that.

    Example:
        >>> first = Event.after(None, "refunded", {"entry": "a"})
        >>> second = Event.after(first, "refunded", {"entry": "b"})
        >>> second.previous == first.digest, first_break([first, second]), first_break([second])
        (True, None, 'event 2: expected event 1.')
    """

    seq: int
    time: str
    kind: str
    payload: str
    previous: str
    digest: str

    @classmethod
    def after(cls, last: Event | None, kind: str, content: Mapping[str, Any]) -> Event:
        """Return the event that follows `last`."""
        seq, previous = (1, NO_EVENT) if last is None else (last.seq + 1, last.digest)
        time, payload = datetime.now(UTC).isoformat(timespec="seconds"), canonical(content)
        return cls(seq, time, kind, payload, previous, _digest(seq, time, kind, payload, previous))

    @property
    def content(self) -> dict[str, Any]:
        """The payload as plain values."""
        return parse(self.payload)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a file."""
        return {
            "seq": self.seq,
            "time": self.time,
            "kind": self.kind,
            "payload": self.content,
            "previous": self.previous,
            "sha256": self.digest,
        }


def first_break(events: Sequence[Event], last: Event | None = None) -> str | None:
    """Return where the chain that goes on after `last` breaks first, in words; None if it holds."""
    previous, first = (NO_EVENT, 1) if last is None else (last.digest, last.seq + 1)
    for seq, event in enumerate(events, start=first):
        if event.seq != seq:
            return f"event {event.seq!r}: expected event {seq}."
        if event.previous != previous:
            return f"event {seq}: does not follow the event before it."
        if not _is_intact(event):
            return f"event {seq}: differs from its hash."
        previous = event.digest
    return None


def canonical(content: Any) -> str:
    """Return the one way to write plain values as JSON: sorted, without spaces."""
    return json.dumps(
        content, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )


def parse(text: str) -> dict[str, Any]:
    """Read canonical JSON, and nothing else.

    Raises:
        LedgerError: If it is no JSON, not canonical, or not an object.
    """
    try:
        content = json.loads(text)
        if not isinstance(content, dict) or canonical(content) != text:
            raise LedgerError("is not canonical JSON.")
    except (ValueError, RecursionError):
        raise LedgerError("is not canonical JSON.") from None
    return content


def _is_intact(event: Event) -> bool:
    texts = (event.time, event.kind, event.payload, event.previous)
    return all(isinstance(text, str) for text in texts) and event.digest == _digest(
        event.seq, *texts
    )


def _digest(seq: int, time: str, kind: str, payload: str, previous: str) -> str:
    whole = canonical([seq, time, kind, payload, previous])
    return hashlib.sha256(whole.encode()).hexdigest()
