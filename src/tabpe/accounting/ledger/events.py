"""Events of a ledger as a hash chain: budgets, entries, progress, and their state.

Each event has the hash of the one before. Changing, dropping, inserting or swapping an event breaks
the chain there. Cutting off its end, or writing a whole new chain, does not: that shows only
against a head that was recorded elsewhere before. `LedgerState` is what the events add up to, and
decides which events may follow.

The progress of a run in a folder keeps one charge from paying for two draws of noise. A run that is
resumed after a crash keeps its entry, because measurements on the disk are reused and not repeated.
That is only true of the folder that contains them. An old copy of it would measure the same things
under fresh noise, and one charge would cover both. So the ledger records which start of a run was
the last, and which measurements it has made.

**Protocol.** The folder has a log. A measurement is identified by its number and by the digest of
all measurements up to it (`tabpe.measurement.terms`).

1. A process that begins or resumes a run draws a random token, and writes it to the log of the
   folder. When it is on the disk, the ledger gets the event `started`: the token, and number and
   digest of the measurements in the folder. It refuses if the token of the last start is not in the
   log, or the folder lacks a measurement that the ledger knows, or has another in its place.
2. Before each measurement the process asks the ledger whether its start is still the last.
3. A measurement is in the folder, on the disk, before the ledger gets the event `measured`, and
   that is recorded before the measurement is used. The ledger refuses if the start is no longer
   the last.
4. Only the last start spends the entry, with a certificate that has the digest of all measurements.

**A crash in the same folder never locks a run out.** Whenever it happens, the token of the last
`started` is in the log, because it was written there first (1). And the folder has every
measurement that the ledger knows, because each was written there first (3); it may have one more,
which the next start reports to the ledger. So all checks of (1) hold. A token in the log that never
reached the ledger does no harm.

**Of several copies one continues.** A start puts a new token into the ledger that is in one log
only. All other copies, made before it, lack that token: they are refused when they start (1),
before they measure (2), and when they end (4). A copy made after it is refused in the same way as
soon as the other of the two starts again. A folder that was wiped, or restored to an old state,
lacks a token or a measurement (1).

**What remains.** A measurement in progress while another copy starts is refused when it is done
(3), and nobody saw it. Someone who stops the process between the file of a measurement and its
event, reads the file and deletes it, gets that one measurement a second time; the ledger shows the
starts that it took. Someone who may change the ledger can do anything.
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
    """The total that all runs on a data set may spend.

    Args:
        dataset: The name that its user gives the data set.
        epsilon: The total.
        delta: The delta that all runs are composed at.
        adjacency: Add/remove-one or replace-one.
        unit: None for row level, or the column that identifies users.
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
        """The relation that all runs are composed for; runs set their own contribution bound."""
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
        """Return the budget of an event."""
        adjacency = Adjacency.from_name(plain["adjacency"])
        dataset, epsilon, delta = plain["dataset"], plain["epsilon"], plain["delta"]
        return cls(dataset, epsilon, delta, adjacency, plain["unit"], set_at=time)


@dataclass(frozen=True)
class Progress:
    """The progress of a run in a folder.

    Args:
        token: A random name of the last start.
        measurements: The number of measurements so far.
        sha256: The digest of all of them.
        starts: The number of starts.
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
        """Return the progress of an event."""
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
        spends: The spends that the run may make; once it is spent, those it made.
        neighbours: The neighboring relation.
        unit: None for row level, or the column that identifies users.
        note: A note of its user.
        adaptive: Whether its noise may depend on its own answers.
        limit: The zCDP loss of a filter, fixed before a row is read: it counts instead of the
            spends. None for Gaussian measurements, which count as they are.
        state: Reserved and spent count; refunded does not.
        certificate_sha256: Hash of the certificate, once it is spent.
        reserved_at: When, in UTC.
        closed_at: When it was spent or refunded, in UTC.
        progress: Its progress, if it is in a folder to resume from.
    """

    id: str
    dataset: str
    spends: Spends
    neighbours: NeighboringRelation
    unit: str | None = None
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
        check_spends(self.spends)
        self._check_limit()
        validation.check_optional(check_printable, "unit", self.unit)
        if self.note != "":  # also if it is of another type, which is refused
            check_printable("note", self.note)
        if (self.unit is None) == self.neighbours.is_user_level:
            raise ParameterError(
                f"unit={self.unit!r}: expected the column that identifies users if, and only if, a "
                f"run is user-level."
            )

    def _check_limit(self) -> None:
        if not isinstance(self.adaptive, bool):
            raise ParameterError("adaptive: expected true or false.")
        if self.limit is None:
            chosen = [spend.name for spend in self.spends if spend.mechanism != GAUSSIAN]
            if chosen:
                raise ParameterError(
                    f"spends: {chosen[0]!r} is a selection: a ledger composes histograms, and runs "
                    f"with a zCDP limit. Pass that limit."
                )
            return
        validation.check_real("limit", self.limit, above=0, below=LARGEST_LIMIT)
        if self.neighbours != ROW_LEVEL:
            raise ParameterError("limit: a zCDP filter is for add/remove-one row only.")

    @property
    def counts(self) -> bool:
        """Whether it counts as spent: a reservation does, until it is refunded."""
        return self.state != "refunded"

    @property
    def histograms(self) -> int:
        """The number of its histograms."""
        return sum(spend.times for spend in self.spends)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for the event that reserves it."""
        return {
            "entry": self.id,
            "dataset": self.dataset,
            "spends": serialize_spends(self.spends),
            "adjacency": self.neighbours.adjacency.value,
            "max_rows_per_user": self.neighbours.max_rows,
            "unit": self.unit,
            "note": self.note,
            **({"adaptive": True} if self.adaptive else {}),
            **({} if self.limit is None else {"limit": float(self.limit)}),
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any], time: str) -> RunEntry:
        """Return the entry that an event reserves."""
        return cls(
            id=plain["entry"],
            dataset=plain["dataset"],
            spends=parse_spends(plain["spends"]),
            neighbours=NeighboringRelation(
                Adjacency.from_name(plain["adjacency"]), plain["max_rows_per_user"]
            ),
            unit=plain["unit"],
            note=plain["note"],
            adaptive=plain.get("adaptive", False),
            limit=plain.get("limit"),
            reserved_at=time,
        )


def check_printable(name: str, value: Any) -> str:
    """Return `value` if it is a short printable text."""
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


def check_spends(spends: Sequence[Spend]) -> None:
    """Refuse spends that a ledger can not record."""
    if not 1 <= len(spends) <= MOST_ITEMS:
        raise ParameterError(
            f"spends: {len(spends)} of them, expected 1 to {MOST_ITEMS:,}. Refund a run that read "
            f"nothing."
        )
    for spend in spends:
        check_printable("spends: name", spend.name)
        if not SMALLEST_SIGMA <= spend.sigma <= LARGEST_SIGMA or spend.times > MOST_TIMES:
            raise ParameterError(
                f"spends: {spend.name!r} has sigma={spend.sigma:g} and times={spend.times}; "
                f"expected a sigma from {SMALLEST_SIGMA:g} to {LARGEST_SIGMA:g}, and at most "
                f"{MOST_TIMES:,} times."
            )


def serialize_spends(spends: Sequence[Spend]) -> list[dict[str, Any]]:
    """Return spends as plain values."""
    return [
        {
            "name": spend.name,
            "sigma": float(spend.sigma),
            "times": int(spend.times),
            "delta_share": float(spend.delta_share),
            **({} if spend.mechanism == GAUSSIAN else {"mechanism": spend.mechanism}),
        }
        for spend in spends
    ]


def parse_spends(plain: Any) -> Spends:
    """Return spends from plain values."""
    return tuple(Spend(**fields) for fields in plain)


NO_EVENT = "0" * 64


@dataclass(frozen=True)
class LedgerEvent:
    """One event of the ledger.

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
    """Return where the chain after `last` is first broken, in words; None if it is intact."""
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
    """Return plain values as canonical JSON: sorted, without spaces."""
    return json.dumps(
        content, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )


def parse_canonical(text: str) -> dict[str, Any]:
    """Return an object from canonical JSON.

    Raises:
        LedgerError: If it is not JSON, not canonical, or not an object.
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


_ADVICE = "Nothing is read: begin in a new folder, which is a new charge."


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
        """The progress after this start."""
        return Progress(self.token, len(self.digests) - 1, self.digests[-1])

    def check_progress(self, known: Progress | None) -> None:
        """Refuse to start in a folder that lacks something the ledger knows.

        Raises:
            BudgetError: If a copy of the folder was started since, or the folder was changed.
        """
        if known is None:
            return
        if known.token not in self.earlier:
            raise make_superseded_error()
        if known.measurements >= len(self.digests):
            raise BudgetError(
                f"run_dir: the ledger knows of {known.measurements} measurements, and the folder "
                f"has {len(self.digests) - 1}: it was wiped, or an old copy restored. {_ADVICE}"
            )
        if self.digests[known.measurements] != known.sha256:
            raise BudgetError(
                f"run_dir: its measurements are not those that the ledger knows of. {_ADVICE}"
            )


def make_superseded_error() -> BudgetError:
    """Return the error for a folder whose copy was started after it."""
    return BudgetError(
        f"run_dir: the run went on in a copy of this folder, or an old state of the folder was "
        f"restored. One charge covers one release: continue in the other folder. {_ADVICE}"
    )


BUDGET, RESERVED, SPENT, REFUNDED = "budget", "reserved", "spent", "refunded"
STARTED, MEASURED, STOPPED = "started", "measured", "stopped"
_SHOWN = 8


class LedgerState:
    """Budgets by data set, entries by id and hashes of all events, after the events so far.

    Writing and verifying use the same rules: an event that may not follow raises an error and
    changes nothing.

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
        """Return the state after all events of a file.

        Args:
            events: All of them.
            known: The state after the first of them, if it was computed before.

        Raises:
            LedgerError: If one may not follow, or is malformed.
        """
        state, done = cls(), 0
        if known is not None and known.leads_to(events):
            done = len(known.digests)
            state.budgets, state.entries = dict(known.budgets), dict(known.entries)
            state.digests = list(known.digests)
        for event in events[done:]:
            try:
                state.add_event(event)
            except (KeyError, TypeError, OverflowError):
                raise LedgerError(f"event {event.seq}: parts are missing or wrong.") from None
            except ValueError as error:
                raise LedgerError(f"event {event.seq}: {error}") from None
        return state

    def leads_to(self, events: Sequence[LedgerEvent]) -> bool:
        """Whether the events begin with those of this state: the hash of the last decides."""
        done = len(self.digests)
        return not done or (done <= len(events) and events[done - 1].digest == self.head)

    def add_event(self, event: LedgerEvent) -> None:
        """Apply one more event."""
        steps = {
            BUDGET: self._apply_budget,
            RESERVED: self._apply_reservation,
            STARTED: self._apply_start,
            MEASURED: self._apply_measurement,
            SPENT: self._apply_spend,
            REFUNDED: self._apply_refund,
            STOPPED: self._apply_stop,
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
        """Return the entries of a data set that count as spent."""
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
            raise LedgerError(f"entry {entry.id!r} already exists.")
        budget = self.budgets.get(entry.dataset)
        if budget is not None:
            check_entry_relation(budget, entry)
        self.entries[entry.id] = entry

    def _apply_start(self, content: dict[str, Any], _: str) -> None:
        entry, now = self._get_open_entry(content), Progress.from_dict(content)
        known = entry.progress
        if known is not None:
            if now.token == known.token or now.measurements < known.measurements:
                raise LedgerError(f"entry {entry.id[:_SHOWN]}: does not follow its last start.")
            now = dataclasses.replace(now, starts=known.starts + 1)
        self.entries[entry.id] = dataclasses.replace(entry, progress=now)

    def _apply_measurement(self, content: dict[str, Any], _: str) -> None:
        entry, now = self._get_open_entry(content), Progress.from_dict(content)
        known = entry.progress
        if known is None or (now.token, now.measurements) != (known.token, known.measurements + 1):
            raise LedgerError(f"entry {entry.id[:_SHOWN]}: not the next of its last start.")
        now = dataclasses.replace(now, starts=known.starts)
        self.entries[entry.id] = dataclasses.replace(entry, progress=now)

    def _apply_spend(self, content: dict[str, Any], time: str) -> None:
        certificate = check_digest("certificate_sha256", content["certificate_sha256"])
        self._close_entry(content, time, parse_spends(content["spends"]), certificate)

    def _apply_stop(self, content: dict[str, Any], time: str) -> None:
        """Close a run that ended without a release: what it measured counts, and nothing else."""
        spends = parse_spends(content["spends"])
        if not self._get_open_entry(content).adaptive:
            raise LedgerError(
                f"entry {content['entry'][:_SHOWN]}: its plan is fixed: it counts whole."
            )
        self._close_entry(content, time, spends, None)

    def _apply_refund(self, content: dict[str, Any], time: str) -> None:
        known = self._get_open_entry(content).progress
        if known is not None and (known.measurements or known.starts > 1):
            raise LedgerError(f"entry {content['entry'][:_SHOWN]}: may have read rows.")
        self._close_entry(content, time, None, None)

    def _close_entry(
        self, content: dict[str, Any], time: str, spends: Spends | None, certificate: str | None
    ) -> None:
        entry = self._get_open_entry(content)
        self.entries[entry.id] = dataclasses.replace(
            entry,
            state="refunded" if spends is None else "spent",
            spends=entry.spends if spends is None else spends,
            certificate_sha256=certificate,
            closed_at=time,
        )

    def _get_open_entry(self, content: dict[str, Any]) -> RunEntry:
        entry = self.get_entry(content["entry"])
        if entry.state != "reserved":
            raise LedgerError(f"entry {entry.id[:_SHOWN]} is {entry.state}: expected reserved.")
        return entry


def check_entry_relation(budget: Budget, entry: RunEntry) -> None:
    """Refuse an entry that a budget can not account for.

    A run under add/remove-one can be counted under replace-one: the same noise at a distance of two
    rows. Not the other way round, because such a run may take the number of rows as public.
    """
    given = Budget(
        budget.dataset, budget.epsilon, budget.delta, entry.neighbours.adjacency, entry.unit
    )
    if given.unit == budget.unit and (
        given.adjacency is budget.adjacency or budget.neighbours.squared_distance > 1
    ):
        return
    raise _make_relation_error(budget, given)


def _make_relation_error(budget: Budget, given: Budget) -> LedgerError:
    """Return why a run can not be charged; never with the advice to guarantee less.

    User-level is more than row-level, and replace-one more than add/remove-one. Where the budget is
    for more, the run should guarantee as much. Otherwise a budget is offered that fits the run.
    """
    error = LedgerError(
        f"data set {budget.dataset!r}: its budget is for {budget.relation}, and this run is for "
        f"{given.relation}."
    )
    stricter = max(budget.adjacency, given.adjacency, key=lambda one: one is Adjacency.REPLACE_ONE)
    unit = given.unit if given.unit is not None else budget.unit
    relation = f"adjacency={stricter.value!r}" + ("" if unit is None else f", unit={unit!r}")
    if stricter is budget.adjacency and unit == budget.unit:
        options = f"--adjacency {stricter.value}" + ("" if unit is None else f" --unit {unit}")
        return error.with_advice(f"Pass {relation}.", f"Pass {options}.")
    options = f"--epsilon {budget.epsilon:g} --delta {budget.delta:g} --adjacency {stricter.value}"
    options += "" if unit is None else f" --unit {unit}"
    return error.with_advice(
        f"Set a budget that fits: Ledger.set_budget(name, epsilon={budget.epsilon:g}, "
        f"delta={budget.delta:g}, {relation}), under another name if this one has runs already, "
        f"and run with {relation}.",
        f"Set a budget that fits: 'tabpe ledger set-budget NAME {options}', with another NAME if "
        f"this one has runs already.",
    )
