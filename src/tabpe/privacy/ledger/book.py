"""The state of a ledger: what its events come to, and which events may follow."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from tabpe.errors import LedgerError, did_you_mean
from tabpe.privacy.ledger.chain import NO_EVENT, Event
from tabpe.privacy.ledger.entries import (
    Bill,
    Budget,
    Entry,
    Progress,
    digest_of,
    printable,
    read_bill,
)

BUDGET, RESERVED, SPENT, REFUNDED = "budget", "reserved", "spent", "refunded"
STARTED, MEASURED = "started", "measured"
_SHOWN = 8


class Book:
    """Budgets by data set, entries by id and hashes of all events, after the events so far.

    The same rules serve who writes and who verifies: an event that may not follow raises an error
    and changes nothing.

    Example:
        >>> budget = Budget("patients", 2.0, 1e-6)
        >>> book = Book.of([Event.after(None, BUDGET, budget.to_dict())])
        >>> book.budgets["patients"].epsilon
        2.0
    """

    def __init__(self) -> None:
        self.budgets: dict[str, Budget] = {}
        self.entries: dict[str, Entry] = {}
        self.digests: list[str] = []

    @classmethod
    def of(cls, events: Sequence[Event], known: Book | None = None) -> Book:
        """Return what the events of a file come to.

        Args:
            events: All of them.
            known: What the first of them come to, if that was found before.

        Raises:
            LedgerError: If one may not follow, or says nothing that makes sense.
        """
        book, done = cls(), 0
        if known is not None and known.leads_to(events):
            done = len(known.digests)
            book.budgets, book.entries = dict(known.budgets), dict(known.entries)
            book.digests = list(known.digests)
        for event in events[done:]:
            try:
                book.add(event)
            except (KeyError, TypeError, OverflowError):
                raise LedgerError(f"event {event.seq}: parts are missing or wrong.") from None
            except ValueError as error:
                raise LedgerError(f"event {event.seq}: {error}") from None
        return book

    def leads_to(self, events: Sequence[Event]) -> bool:
        """Whether these are the events so far, and perhaps more: a chain is known by its end."""
        done = len(self.digests)
        return not done or (done <= len(events) and events[done - 1].digest == self.head)

    def add(self, event: Event) -> None:
        """Take one more event in."""
        steps = {
            BUDGET: self._set_budget,
            RESERVED: self._reserve,
            STARTED: self._start,
            MEASURED: self._measure,
            SPENT: self._spend,
            REFUNDED: self._refund,
        }
        if event.kind not in steps:
            raise LedgerError(f"{event.kind!r} is no kind of event.")
        steps[event.kind](event.content, printable("time", event.time))
        self.digests.append(event.digest)

    @property
    def head(self) -> str:
        """The hash of the last event."""
        return self.digests[-1] if self.digests else NO_EVENT

    def entry(self, entry_id: str) -> Entry:
        """Return the entry of that id."""
        if entry_id not in self.entries:
            raise LedgerError(f"entry {entry_id!r}: not in this ledger.")
        return self.entries[entry_id]

    def of_dataset(self, dataset: str) -> tuple[Entry, ...]:
        """Return the entries of a data set, oldest first."""
        return tuple(entry for entry in self.entries.values() if entry.dataset == dataset)

    def counted(self, dataset: str) -> tuple[Entry, ...]:
        """Return the entries of a data set that are a part of what was spent."""
        return tuple(entry for entry in self.of_dataset(dataset) if entry.counts)

    @property
    def datasets(self) -> tuple[str, ...]:
        """The names of all data sets, in the order of their first event."""
        named = [*self.budgets, *(entry.dataset for entry in self.entries.values())]
        return tuple(dict.fromkeys(named))

    def known(self, dataset: str) -> str:
        """Return the name of a data set that is in the ledger."""
        if dataset not in self.datasets:
            hint = did_you_mean(dataset, self.datasets) if self.datasets else "it is empty."
            raise LedgerError(f"data set {dataset!r}: not in this ledger; {hint}")
        return dataset

    def _set_budget(self, content: dict[str, Any], time: str) -> None:
        budget = Budget.from_dict(content, time)
        for entry in self.counted(budget.dataset):
            check_relation(budget, entry)
        self.budgets[budget.dataset] = budget

    def _reserve(self, content: dict[str, Any], time: str) -> None:
        entry = Entry.from_dict(content, time)
        if entry.id in self.entries:
            raise LedgerError(f"entry {entry.id!r} is there already.")
        budget = self.budgets.get(entry.dataset)
        if budget is not None:
            check_relation(budget, entry)
        self.entries[entry.id] = entry

    def _start(self, content: dict[str, Any], _: str) -> None:
        entry, now = self._open(content), Progress.from_dict(content)
        known = entry.progress
        if known is not None:
            if now.token == known.token or now.measurements < known.measurements:
                raise LedgerError(f"entry {entry.id[:_SHOWN]}: does not go on from its last start.")
            now = dataclasses.replace(now, starts=known.starts + 1)
        self.entries[entry.id] = dataclasses.replace(entry, progress=now)

    def _measure(self, content: dict[str, Any], _: str) -> None:
        entry, now = self._open(content), Progress.from_dict(content)
        known = entry.progress
        if known is None or (now.token, now.measurements) != (known.token, known.measurements + 1):
            raise LedgerError(f"entry {entry.id[:_SHOWN]}: is not the next of its last start.")
        now = dataclasses.replace(now, starts=known.starts)
        self.entries[entry.id] = dataclasses.replace(entry, progress=now)

    def _spend(self, content: dict[str, Any], time: str) -> None:
        certificate = digest_of("certificate_sha256", content["certificate_sha256"])
        self._close(content, time, read_bill(content["bill"]), certificate)

    def _refund(self, content: dict[str, Any], time: str) -> None:
        known = self._open(content).progress
        if known is not None and (known.measurements or known.starts > 1):
            raise LedgerError(f"entry {content['entry'][:_SHOWN]}: may have read rows: it counts.")
        self._close(content, time, None, None)

    def _close(
        self, content: dict[str, Any], time: str, bill: Bill | None, certificate: str | None
    ) -> None:
        entry = self._open(content)
        self.entries[entry.id] = dataclasses.replace(
            entry,
            state="refunded" if bill is None else "spent",
            bill=entry.bill if bill is None else bill,
            certificate_sha256=certificate,
            closed_at=time,
        )

    def _open(self, content: dict[str, Any]) -> Entry:
        entry = self.entry(content["entry"])
        if entry.state != "reserved":
            raise LedgerError(f"entry {entry.id[:_SHOWN]} is {entry.state}: expected reserved.")
        return entry


def check_relation(budget: Budget, entry: Entry) -> None:
    """Refuse an entry that can not be counted in a budget.

    A run for add-remove can be counted under replace-one: the same noise, a distance of two rows.
    Not the other way round, because such a run may take the number of rows as known.
    """
    given = Budget(
        budget.dataset, budget.epsilon, budget.delta, entry.neighbours.adjacency, entry.unit
    )
    if given.unit == budget.unit and (
        given.adjacency is budget.adjacency or budget.neighbours.squared_distance > 1
    ):
        return
    raise LedgerError(
        f"data set {budget.dataset!r}: its budget is for {budget.relation}, and this run is for "
        f"{given.relation}. Pass adjacency={budget.adjacency.value!r} and unit={budget.unit!r}."
    )
