"""Events of a ledger, each with the hash of the one before.

What a ledger knows: budgets, entries of what was reserved, spent or given back, and progress.

Events that hold on to each other: each carries the hash of the one before.

Whoever changes, drops, inserts or swaps an event breaks the chain at that place. Whoever cuts off
its end, or writes a whole new one, does not: that shows only against a head that was noted
elsewhere before.

How far a run in a folder has got: what keeps one charge from paying for two draws of noise.

A run that goes on after a crash keeps its entry, because measurements that are on the disk are used
again and not made again. That is only true of the folder that holds them. An old copy of it would
measure the same things under fresh noise, and one charge would cover both. So the ledger remembers
which start of a run was the last, and which measurements it has made.

**Protocol.** The folder has a log. A measurement is named by its number and by the digest of all
measurements up to it (`tabpe.measurement.terms`).

1. A process that begins or goes on with a run draws a random token, and puts it into the log of the
   folder. When it is on the disk, the ledger gets the event `started`: the token, and number and
   digest of the measurements in the folder. It refuses if the token of the last start is not in the
   log, or the folder lacks a measurement that the ledger knows, or holds another in its place.
2. Before each measurement the process asks the ledger whether its start is still the last.
3. A measurement is in the folder, on the disk, before the ledger gets the event `measured`, and
   that is there before anything is made of the measurement. The ledger refuses if the start is not
   the last any more.
4. The entry is spent by the last start alone, with a certificate that has the digest of all
   measurements.

**A crash in the same folder never locks a run out.** Whenever it happens, the token of the last
`started` is in the log, because it was put there first (1). And the folder holds every measurement
that the ledger knows, because each was put there first (3); it may hold one more, which the next
start tells the ledger. So all checks of (1) hold. A token that never got to the ledger is of no
harm in the log.

**Of several copies one goes on.** A start puts a new token into the ledger that is in one log only.
All other copies, made before it, lack that token: they are refused when they start (1), before they
measure (2), and when they end (4). A copy made after it is refused in the same way as soon as the
other of the two starts again. A folder that was wiped, or an old state that was put back, lacks a
token or a measurement (1).

**What remains.** A measurement that is being made while another copy starts is refused when it is
done (3), and was seen by nobody. Someone who stops the process in the moment between the file of a
measurement and its event, reads the file and deletes it, gets that one measurement a second time;
the ledger shows the starts that it took. Someone who may change the ledger can do anything.

The state of a ledger: what its events come to, and which events may follow.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from tabpe._utils import validation
from tabpe.accounting.neighboring import ROW_LEVEL, Adjacency, NeighboringRelation
from tabpe.accounting.pld import LARGEST_SIGMA, check_guarantee
from tabpe.accounting.spend import GAUSSIAN, Spend
from tabpe.errors import BudgetError, LedgerError, ParameterError, did_you_mean

LONGEST_TEXT = 200
MOST_ITEMS = 1_000
MOST_TIMES = 100_000
SMALLEST_SIGMA = 1e-3
LARGEST_LIMIT = 1e6

State = Literal["reserved", "spent", "refunded"]
Spends = tuple[Spend, ...]


@dataclass(frozen=True)
class Budget:
    """The total that all runs on a data set may come to.

    Args:
        dataset: The name that its user gives the data set.
        epsilon: The total.
        delta: The delta that all runs are composed at.
        adjacency: Whether neighbours have one more or less, or another in the place of one.
        unit: None to protect rows, or the column that names users.
        set_at: When, in UTC.

    Example:
        >>> print(Budget("patients", 2.0, 1e-6).relation)
        add-remove, rows
    """

    dataset: str
    epsilon: float
    delta: float
    adjacency: Adjacency = Adjacency.ADD_REMOVE
    unit: str | None = None
    set_at: str = ""

    def __post_init__(self) -> None:
        check_printable("dataset", self.dataset)
        check_guarantee(self.epsilon, self.delta)
        validation.check_optional(check_printable, "unit", self.unit)

    @property
    def neighbours(self) -> NeighboringRelation:
        """The relation that all runs are composed for. How many rows of a user count is theirs."""
        return NeighboringRelation(self.adjacency, None if self.unit is None else 1)

    @property
    def relation(self) -> str:
        """Adjacency and unit in words."""
        unit = "rows" if self.unit is None else f"users by {self.unit!r}"
        return f"{self.adjacency.value}, {unit}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for an event."""
        return {
            "dataset": self.dataset,
            "epsilon": float(self.epsilon),
            "delta": float(self.delta),
            "adjacency": self.adjacency.value,
            "unit": self.unit,
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any], time: str) -> Budget:
        """Read the budget of an event."""
        adjacency = Adjacency.from_name(plain["adjacency"])
        dataset, epsilon, delta = plain["dataset"], plain["epsilon"], plain["delta"]
        return cls(dataset, epsilon, delta, adjacency, plain["unit"], set_at=time)


@dataclass(frozen=True)
class Progress:
    """What a ledger knows of a run in a folder.

    Args:
        token: A random name of the last start.
        measurements: How many measurements it has made.
        sha256: The digest of all of them.
        starts: How often it was started.
    """

    token: str
    measurements: int
    sha256: str
    starts: int = 1

    def to_dict(self, entry: str) -> dict[str, Any]:
        """Return plain values for an event about an entry."""
        return {
            "entry": entry,
            "token": self.token,
            "measurements": self.measurements,
            "sha256": self.sha256,
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Progress:
        """Read what an event says."""
        return cls(
            check_printable("token", plain["token"]),
            validation.check_integer("measurements", plain["measurements"], least=0),
            check_digest("sha256", plain["sha256"]),
        )


@dataclass(frozen=True)
class RunEntry:
    """One run on a data set, and what it costs.

    Args:
        id: A random name.
        dataset: The name of the data set.
        bill: What the run may measure; once it is spent, what it measured.
        neighbours: The relation that the run is for.
        unit: None if it protects rows, or the column that names users.
        slack: How far a draw of its noise may be from exact, in total variation.
        note: What its user wants to remember.
        adaptive: Whether its noise may follow its own answers.
        limit: The loss of zCDP that a filter holds it to, fixed before a row is read: it counts in
            the place of the bill. None for Gaussian measurements, which count as they are.
        state: Reserved and spent count; refunded does not.
        certificate_sha256: Hash of the certificate, once it is spent.
        reserved_at: When, in UTC.
        closed_at: When it was spent or refunded, in UTC.
        progress: How far it has got, if it is in a folder to go on from.
    """

    id: str
    dataset: str
    bill: Spends
    neighbours: NeighboringRelation
    unit: str | None = None
    slack: float = 0.0
    note: str = ""
    adaptive: bool = False
    limit: float | None = None
    state: State = "reserved"
    certificate_sha256: str | None = None
    reserved_at: str = ""
    closed_at: str | None = None
    progress: Progress | None = None

    def __post_init__(self) -> None:
        check_printable("id", self.id)
        check_printable("dataset", self.dataset)
        check_spends(self.bill)
        self._check_limit()
        validation.check_optional(check_printable, "unit", self.unit)
        validation.check_real("slack", self.slack, above=0, below=1, least=True)
        if self.note != "":  # a note of another type is no note
            check_printable("note", self.note)
        if (self.unit is None) == self.neighbours.is_user_level:
            raise ParameterError(
                f"unit={self.unit!r}: expected the column that names users if, and only if, a run "
                f"protects users."
            )

    def _check_limit(self) -> None:
        if not isinstance(self.adaptive, bool):
            raise ParameterError("adaptive: expected true or false.")
        if self.limit is None:
            chosen = [item.name for item in self.bill if item.mechanism != GAUSSIAN]
            if chosen:
                raise ParameterError(
                    f"bill: {chosen[0]!r} is a choice: a ledger adds up histograms, and runs that "
                    f"a filter holds to a limit of zCDP. Pass that limit."
                )
            return
        validation.check_real("limit", self.limit, above=0, below=LARGEST_LIMIT)
        if self.neighbours != ROW_LEVEL or self.slack:
            raise ParameterError(
                "limit: a filter of zCDP is for rows that are added or removed, and exact noise."
            )

    @property
    def counts(self) -> bool:
        """Whether it is a part of what was spent: a reservation is, until it is refunded."""
        return self.state != "refunded"

    @property
    def histograms(self) -> int:
        """How many histograms it is for."""
        return sum(item.times for item in self.bill)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for the event that reserves it."""
        return {
            "entry": self.id,
            "dataset": self.dataset,
            "bill": serialize_spends(self.bill),
            "adjacency": self.neighbours.adjacency.value,
            "max_rows_per_user": self.neighbours.max_rows,
            "unit": self.unit,
            "slack": float(self.slack),
            "note": self.note,
            **({"adaptive": True} if self.adaptive else {}),
            **({} if self.limit is None else {"limit": float(self.limit)}),
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any], time: str) -> RunEntry:
        """Read the entry that an event reserves."""
        return cls(
            id=plain["entry"],
            dataset=plain["dataset"],
            bill=parse_spends(plain["bill"]),
            neighbours=NeighboringRelation(
                Adjacency.from_name(plain["adjacency"]), plain["max_rows_per_user"]
            ),
            unit=plain["unit"],
            slack=plain["slack"],
            note=plain["note"],
            adaptive=plain.get("adaptive", False),
            limit=plain.get("limit"),
            reserved_at=time,
        )


def check_printable(name: str, value: Any) -> str:
    """Return `value` if it is a text that people can read."""
    fits = isinstance(value, str) and 1 <= len(value) <= LONGEST_TEXT and value.isprintable()
    if not fits:
        shown = repr(value) if len(repr(value)) <= LONGEST_TEXT else "(long)"
        raise ParameterError(
            f"{name}={shown}: expected a text of 1 to {LONGEST_TEXT} printable characters."
        )
    return str(value)


def check_digest(name: str, value: Any) -> str:
    """Return `value` if it is a SHA-256 in hexadecimal."""
    if not isinstance(value, str) or re.fullmatch("[0-9a-f]{64}", value) is None:
        raise ParameterError(f"{name}: expected a SHA-256, as 64 digits from 0 to f.")
    return value


def check_spends(bill: Sequence[Spend]) -> None:
    """Refuse a bill that no ledger can hold."""
    if not 1 <= len(bill) <= MOST_ITEMS:
        raise ParameterError(
            f"bill: has {len(bill)} items, expected 1 to {MOST_ITEMS:,}. A run that read nothing "
            f"is refunded."
        )
    for item in bill:
        check_printable("bill: name", item.name)
        if not SMALLEST_SIGMA <= item.sigma <= LARGEST_SIGMA or item.times > MOST_TIMES:
            raise ParameterError(
                f"bill: {item.name!r} has sigma={item.sigma:g} and times={item.times}; expected a "
                f"sigma from {SMALLEST_SIGMA:g} to {LARGEST_SIGMA:g}, and at most "
                f"{MOST_TIMES:,} times."
            )


def serialize_spends(bill: Sequence[Spend]) -> list[dict[str, Any]]:
    """Return plain values of a bill."""
    return [
        {
            "name": item.name,
            "sigma": float(item.sigma),
            "times": int(item.times),
            "chance": float(item.chance),
            **({} if item.mechanism == GAUSSIAN else {"mechanism": item.mechanism}),
        }
        for item in bill
    ]


def parse_spends(plain: Any) -> Spends:
    """Read a bill from plain values."""
    return tuple(Spend(**item) for item in plain)


NO_EVENT = "0" * 64


@dataclass(frozen=True)
class LedgerEvent:
    """One line of the ledger.

    Args:
        seq: Its number, from 1.
        time: When it was written, in UTC; for people, nothing depends on it.
        kind: What happened.
        payload: The rest, as canonical JSON.
        previous: Hash of the event before, or `NO_EVENT`.
        digest: SHA-256 of all of that.

    Example:
        >>> first = LedgerEvent.create_after(None, "refunded", {"entry": "a"})
        >>> second = LedgerEvent.create_after(first, "refunded", {"entry": "b"})
        >>> second.previous == first.digest, find_break([first, second]), find_break([second])
        (True, None, 'event 2: expected event 1.')
    """

    seq: int
    time: str
    kind: str
    payload: str
    previous: str
    digest: str

    @classmethod
    def create_after(
        cls, last: LedgerEvent | None, kind: str, content: Mapping[str, Any]
    ) -> LedgerEvent:
        """Return the event that follows `last`."""
        seq, previous = (1, NO_EVENT) if last is None else (last.seq + 1, last.digest)
        time, payload = datetime.now(UTC).isoformat(timespec="seconds"), dump_canonical(content)
        return cls(
            seq, time, kind, payload, previous, _compute_digest(seq, time, kind, payload, previous)
        )

    @property
    def content(self) -> dict[str, Any]:
        """The payload as plain values."""
        return parse_canonical(self.payload)

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


def find_break(events: Sequence[LedgerEvent], last: LedgerEvent | None = None) -> str | None:
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


def dump_canonical(content: Any) -> str:
    """Return the one way to write plain values as JSON: sorted, without spaces."""
    return json.dumps(
        content, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )


def parse_canonical(text: str) -> dict[str, Any]:
    """Read canonical JSON, and nothing else.

    Raises:
        LedgerError: If it is no JSON, not canonical, or not an object.
    """
    try:
        content = json.loads(text)
        if not isinstance(content, dict) or dump_canonical(content) != text:
            raise LedgerError("is not canonical JSON.")
    except (ValueError, RecursionError):
        raise LedgerError("is not canonical JSON.") from None
    return content


def _is_intact(event: LedgerEvent) -> bool:
    texts = (event.time, event.kind, event.payload, event.previous)
    return all(isinstance(text, str) for text in texts) and event.digest == _compute_digest(
        event.seq, *texts
    )


def _compute_digest(seq: int, time: str, kind: str, payload: str, previous: str) -> str:
    whole = dump_canonical([seq, time, kind, payload, previous])
    return hashlib.sha256(whole.encode()).hexdigest()


_THEN = "Nothing is read: begin in a new folder, which is a new charge."


@dataclass(frozen=True)
class RunStart:
    """A start of a run in a folder.

    Args:
        token: A random name of this start.
        earlier: The tokens in the log of the folder before it.
        digests: The digest of the first measurements in the folder: of none, of one, and so on.
    """

    token: str
    earlier: tuple[str, ...]
    digests: tuple[str, ...]

    @property
    def progress(self) -> Progress:
        """What the ledger knows after this start."""
        return Progress(self.token, len(self.digests) - 1, self.digests[-1])

    def check_progress(self, known: Progress | None) -> None:
        """Refuse to start where the ledger knows of more than the folder.

        Raises:
            BudgetError: If a copy of the folder went on, or it is not what it was.
        """
        if known is None:
            return
        if known.token not in self.earlier:
            raise make_superseded_error()
        if known.measurements >= len(self.digests):
            raise BudgetError(
                f"run_dir: the ledger knows of {known.measurements} measurements, and the folder "
                f"holds {len(self.digests) - 1}: it was wiped, or an old copy was put back. {_THEN}"
            )
        if self.digests[known.measurements] != known.sha256:
            raise BudgetError(
                f"run_dir: its measurements are not those that the ledger knows of. {_THEN}"
            )


def make_superseded_error() -> BudgetError:
    """Return the error for a folder whose copy was started after it."""
    return BudgetError(
        f"run_dir: the run went on in a copy of this folder, or an old state of the folder was put "
        f"back. One charge covers one release: go on in the other one. {_THEN}"
    )


BUDGET, RESERVED, SPENT, REFUNDED = "budget", "reserved", "spent", "refunded"
STARTED, MEASURED = "started", "measured"
_SHOWN = 8


class LedgerState:
    """Budgets by data set, entries by id and hashes of all events, after the events so far.

    The same rules serve who writes and who verifies: an event that may not follow raises an error
    and changes nothing.

    Example:
        >>> budget = Budget("patients", 2.0, 1e-6)
        >>> event = LedgerEvent.create_after(None, BUDGET, budget.to_dict())
        >>> LedgerState.from_events([event]).budgets["patients"].epsilon
        2.0
    """

    def __init__(self) -> None:
        self.budgets: dict[str, Budget] = {}
        self.entries: dict[str, RunEntry] = {}
        self.digests: list[str] = []

    @classmethod
    def from_events(
        cls, events: Sequence[LedgerEvent], known: LedgerState | None = None
    ) -> LedgerState:
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
                book.add_event(event)
            except (KeyError, TypeError, OverflowError):
                raise LedgerError(f"event {event.seq}: parts are missing or wrong.") from None
            except ValueError as error:
                raise LedgerError(f"event {event.seq}: {error}") from None
        return book

    def leads_to(self, events: Sequence[LedgerEvent]) -> bool:
        """Whether these are the events so far, and perhaps more: a chain is known by its end."""
        done = len(self.digests)
        return not done or (done <= len(events) and events[done - 1].digest == self.head)

    def add_event(self, event: LedgerEvent) -> None:
        """Take one more event in."""
        steps = {
            BUDGET: self._apply_budget,
            RESERVED: self._apply_reservation,
            STARTED: self._apply_start,
            MEASURED: self._apply_measurement,
            SPENT: self._apply_spend,
            REFUNDED: self._apply_refund,
        }
        if event.kind not in steps:
            raise LedgerError(f"{event.kind!r} is no kind of event.")
        steps[event.kind](event.content, check_printable("time", event.time))
        self.digests.append(event.digest)

    @property
    def head(self) -> str:
        """The hash of the last event."""
        return self.digests[-1] if self.digests else NO_EVENT

    def get_entry(self, entry_id: str) -> RunEntry:
        """Return the entry of that id."""
        if entry_id not in self.entries:
            raise LedgerError(f"entry {entry_id!r}: not in this ledger.")
        return self.entries[entry_id]

    def list_entries(self, dataset: str) -> tuple[RunEntry, ...]:
        """Return the entries of a data set, oldest first."""
        return tuple(entry for entry in self.entries.values() if entry.dataset == dataset)

    def list_counted_entries(self, dataset: str) -> tuple[RunEntry, ...]:
        """Return the entries of a data set that are a part of what was spent."""
        return tuple(entry for entry in self.list_entries(dataset) if entry.counts)

    @property
    def datasets(self) -> tuple[str, ...]:
        """The names of all data sets, in the order of their first event."""
        named = [*self.budgets, *(entry.dataset for entry in self.entries.values())]
        return tuple(dict.fromkeys(named))

    def check_dataset(self, dataset: str) -> str:
        """Return the name of a data set that is in the ledger."""
        if dataset not in self.datasets:
            hint = did_you_mean(dataset, self.datasets) if self.datasets else "it is empty."
            raise LedgerError(f"data set {dataset!r}: not in this ledger; {hint}")
        return dataset

    def _apply_budget(self, content: dict[str, Any], time: str) -> None:
        budget = Budget.from_dict(content, time)
        for entry in self.list_counted_entries(budget.dataset):
            check_entry_relation(budget, entry)
        self.budgets[budget.dataset] = budget

    def _apply_reservation(self, content: dict[str, Any], time: str) -> None:
        entry = RunEntry.from_dict(content, time)
        if entry.id in self.entries:
            raise LedgerError(f"entry {entry.id!r} is there already.")
        budget = self.budgets.get(entry.dataset)
        if budget is not None:
            check_entry_relation(budget, entry)
        self.entries[entry.id] = entry

    def _apply_start(self, content: dict[str, Any], _: str) -> None:
        entry, now = self._get_open_entry(content), Progress.from_dict(content)
        known = entry.progress
        if known is not None:
            if now.token == known.token or now.measurements < known.measurements:
                raise LedgerError(f"entry {entry.id[:_SHOWN]}: does not go on from its last start.")
            now = dataclasses.replace(now, starts=known.starts + 1)
        self.entries[entry.id] = dataclasses.replace(entry, progress=now)

    def _apply_measurement(self, content: dict[str, Any], _: str) -> None:
        entry, now = self._get_open_entry(content), Progress.from_dict(content)
        known = entry.progress
        if known is None or (now.token, now.measurements) != (known.token, known.measurements + 1):
            raise LedgerError(f"entry {entry.id[:_SHOWN]}: is not the next of its last start.")
        now = dataclasses.replace(now, starts=known.starts)
        self.entries[entry.id] = dataclasses.replace(entry, progress=now)

    def _apply_spend(self, content: dict[str, Any], time: str) -> None:
        certificate = check_digest("certificate_sha256", content["certificate_sha256"])
        self._close_entry(content, time, parse_spends(content["bill"]), certificate)

    def _apply_refund(self, content: dict[str, Any], time: str) -> None:
        known = self._get_open_entry(content).progress
        if known is not None and (known.measurements or known.starts > 1):
            raise LedgerError(f"entry {content['entry'][:_SHOWN]}: may have read rows: it counts.")
        self._close_entry(content, time, None, None)

    def _close_entry(
        self, content: dict[str, Any], time: str, bill: Spends | None, certificate: str | None
    ) -> None:
        entry = self._get_open_entry(content)
        self.entries[entry.id] = dataclasses.replace(
            entry,
            state="refunded" if bill is None else "spent",
            bill=entry.bill if bill is None else bill,
            certificate_sha256=certificate,
            closed_at=time,
        )

    def _get_open_entry(self, content: dict[str, Any]) -> RunEntry:
        entry = self.get_entry(content["entry"])
        if entry.state != "reserved":
            raise LedgerError(f"entry {entry.id[:_SHOWN]} is {entry.state}: expected reserved.")
        return entry


def check_entry_relation(budget: Budget, entry: RunEntry) -> None:
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
