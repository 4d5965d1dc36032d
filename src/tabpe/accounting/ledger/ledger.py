"""`Ledger`: what runs on private data sets have spent, and what they may still spend."""

from __future__ import annotations

import functools
import math
import unicodedata
import uuid
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from tabpe._utils.files import get_data_folder, make_private_folder
from tabpe.accounting.certificate import SpentTotal
from tabpe.accounting.ledger.composition import (
    compute_entries_epsilon,
    compute_remaining_epsilon,
    is_over_budget,
)
from tabpe.accounting.ledger.events import (
    BUDGET,
    MEASURED,
    NO_EVENT,
    REFUNDED,
    RESERVED,
    SPENT,
    STARTED,
    STOPPED,
    Budget,
    LedgerEvent,
    LedgerState,
    Progress,
    RunEntry,
    RunStart,
    check_digest,
    check_printable,
    check_spends,
    make_superseded_error,
    serialize_spends,
)
from tabpe.accounting.ledger.file import FORMAT, EventFile
from tabpe.accounting.neighboring import ROW_LEVEL, Adjacency, NeighboringRelation
from tabpe.accounting.pld import round_up
from tabpe.accounting.spend import Spend
from tabpe.errors import BudgetError, LedgerError

FILE_NAME = "ledger.db"


def get_default_path() -> Path:
    """Return the ledger in the user's data folder; it need not exist.

    Example:
        >>> get_default_path().parts[-2:]
        ('tabpe', 'ledger.db')
    """
    return get_data_folder() / FILE_NAME


@dataclass(frozen=True)
class DatasetStatus:
    """The budget and the runs of one data set.

    Args:
        dataset: Its name.
        budget: Its total; None if its runs are recorded and not limited.
        entries: All its runs, oldest first.

    Example:
        >>> status = DatasetStatus("patients", Budget("patients", 2.0, 1e-6), ())
        >>> status.spent, status.left
        (0.0, 2.0)
    """

    dataset: str
    budget: Budget | None
    entries: tuple[RunEntry, ...]

    @functools.cached_property
    def spent(self) -> float | None:
        """The epsilon of all that is reserved or spent, at the delta of the budget, rounded up."""
        if self.budget is None:
            return None
        return compute_entries_epsilon(self._counted, self.budget)

    @functools.cached_property
    def left(self) -> float | None:
        """The epsilon that one more run may ask for at the delta of the budget, rounded down."""
        if self.budget is None:
            return None
        return compute_remaining_epsilon(self._counted, self.budget)

    @property
    def total(self) -> SpentTotal:
        """What all runs have spent together, for a certificate; without a budget, their number."""
        runs = len(self._counted)
        if self.budget is None or self.spent is None or not math.isfinite(self.spent):
            return SpentTotal(runs)
        return SpentTotal(runs, self.spent, self.budget.delta, self.budget.epsilon)

    @property
    def _counted(self) -> list[RunEntry]:
        return [entry for entry in self.entries if entry.counts]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values; an infinite epsilon, which JSON can not express, is None."""
        epsilon = self.spent if self.spent is not None and math.isfinite(self.spent) else None
        budget = None if self.budget is None else self.budget.to_dict()
        return {
            "dataset": self.dataset,
            "budget": budget,
            "spent": epsilon,
            "left": self.left,
            "entries": [_serialize_entry(entry) for entry in self.entries],
        }


def build_status(state: LedgerState, dataset: str) -> DatasetStatus:
    """Return the status of a data set."""
    return DatasetStatus(dataset, state.budgets.get(dataset), state.list_entries(dataset))


def _serialize_entry(entry: RunEntry) -> dict[str, Any]:
    progress = entry.progress
    return {
        **entry.to_dict(),
        "state": entry.state,
        "certificate_sha256": entry.certificate_sha256,
        "reserved_at": entry.reserved_at,
        "closed_at": entry.closed_at,
        "starts": None if progress is None else progress.starts,
        "measurements": None if progress is None else progress.measurements,
        "measurements_sha256": None if progress is None else progress.sha256,
    }


T = TypeVar("T")


class Ledger:
    """Charges to data sets, in an append-only file.

    Privacy: once `reserve` has returned, what was reserved is on the disk and counts, until it is
    spent or refunded. The accepted entries of a data set compose to at most its budget, also if
    several processes reserve at once. A file whose chain of events is broken accepts nothing.

    The caller reserves before the first private row is read, spends after the last, and refunds
    only if none was read. A run that dies in between stays reserved, and counts.

    Args:
        path: The file; `get_default_path()` if left out. It is created with the first event.

    Example:
        >>> import tempfile
        >>> ledger = Ledger(Path(tempfile.mkdtemp()) / "ledger.db")
        >>> _ = ledger.set_budget("patients", epsilon=2.0, delta=1e-6)
        >>> spends = [Spend("votes", sigma=17.0, times=15)]
        >>> run = ledger.reserve("patients", spends)
        >>> run = ledger.spend(run.id, spends, certificate_sha256="0" * 64)
        >>> round(ledger.spent("patients"), 2), ledger.left("patients")
        (0.96, 1.69)
        >>> ledger.reserve("patients", [Spend("votes", sigma=5.0, times=15)])
        Traceback (most recent call last):
        tabpe.errors.BudgetError: data set 'patients': this run would bring the total to epsilon \
3.9 of 2 at delta 1e-06; 1.69 is left. Pass epsilon=1.69 and delta=1e-06, or less.
    """

    def __init__(self, path: str | Path | None = None) -> None:
        self.path = get_default_path() if path is None else Path(path)
        self._in_data_folder = path is None
        self._file = EventFile(self.path)
        self._last_state: LedgerState | None = None

    def exists(self) -> bool:
        """Whether there is a file yet; without one, nothing is spent."""
        return self._file.exists()

    def budget(self, dataset: str) -> Budget | None:
        """Return the budget of a data set; None if its runs are recorded and not limited."""
        return self.book().budgets.get(_normalize_name(dataset))

    def entries(self, dataset: str | None = None) -> tuple[RunEntry, ...]:
        """Return all entries, or those of a data set, oldest first."""
        state = self.book()
        return (
            tuple(state.entries.values())
            if dataset is None
            else state.list_entries(_normalize_name(dataset))
        )

    def entry(self, entry_id: str) -> RunEntry:
        """Return the entry of that id."""
        return self.book().get_entry(entry_id)

    def status(self, dataset: str) -> DatasetStatus:
        """Return total, spent, left and entries of a data set, all of one moment.

        Raises:
            LedgerError: If no event is about a data set of that name.
        """
        state = self.book()
        return build_status(state, state.check_dataset(_normalize_name(dataset)))

    def statuses(self) -> tuple[DatasetStatus, ...]:
        """Return the status of every data set, all of one moment."""
        state = self.book()
        return tuple(build_status(state, name) for name in state.datasets)

    def spent(self, dataset: str) -> float | None:
        """Return the epsilon of all that is reserved or spent, at the delta of the budget.

        None if there is no budget: without a delta there is no epsilon.
        """
        return build_status(self.book(), _normalize_name(dataset)).spent

    def left(self, dataset: str) -> float | None:
        """Return the epsilon that one more run may ask for at the delta of the budget."""
        return build_status(self.book(), _normalize_name(dataset)).left

    def set_budget(
        self,
        dataset: str,
        *,
        epsilon: float,
        delta: float,
        adjacency: Adjacency | str = Adjacency.ADD_REMOVE,
        unit: str | None = None,
    ) -> Budget:
        """Set the total of a data set, or change it.

        It may be below what is spent: then every further run is refused.

        Raises:
            LedgerError: If an entry that counts is for another adjacency or unit.
        """
        budget = Budget(
            _normalize_name(dataset), epsilon, delta, Adjacency.from_name(adjacency), unit
        )

        def decide(events: list[LedgerEvent]) -> tuple[list[LedgerEvent], Budget]:
            state, event = self._make_event(events, BUDGET, budget.to_dict())
            return [event], state.budgets[budget.dataset]

        return self._commit_change(decide)

    def reserve(
        self,
        dataset: str,
        spends: Sequence[Spend],
        neighbours: NeighboringRelation = ROW_LEVEL,
        *,
        unit: str | None = None,
        note: str = "",
        entry_id: str | None = None,
        start: RunStart | None = None,
        adaptive: bool = False,
        limit: float | None = None,
    ) -> RunEntry:
        """Charge a data set for a run that is about to read it.

        Repeating it for the same run charges nothing more, whatever its state.

        Args:
            dataset: The name that its user gives the data set.
            spends: The spends that the run may make, at most.
            neighbours: The neighboring relation.
            unit: The column that identifies users, if the run is user-level.
            note: A note of its user.
            entry_id: The name of the run, if it has one; random if left out.
            start: This start of the run, if it is in a folder to resume from. It is recorded, as
                long as the run is not spent.
            adaptive: Whether the noise of the run may depend on its own answers.
            limit: The zCDP loss of the filter of the run, if it has one (`PrivacyFilter.limit`).
                All of it is charged, whatever is spent.

        Raises:
            BudgetError: If all entries together would exceed the budget, or the folder of the run
                is not the one that the ledger knows (`tabpe.accounting.ledger.events`).
            LedgerError: If the budget is for another adjacency or unit, or the chain is broken.
        """
        named = uuid.uuid4().hex if entry_id is None else entry_id
        entry = RunEntry(
            named,
            _normalize_name(dataset),
            tuple(spends),
            neighbours,
            unit,
            note,
            adaptive,
            limit,
        )

        def decide(events: list[LedgerEvent]) -> tuple[list[LedgerEvent], RunEntry]:
            state, added = self._fold_events(events), []
            found = state.entries.get(named)
            if found is None or found.dataset != entry.dataset or not found.counts:
                state, event = self._make_event(events, RESERVED, entry.to_dict())
                found, added = _check_budget(state, entry.id), [event]
            if start is not None and found.state == "reserved":
                start.check_progress(found.progress)
                content = start.progress.to_dict(named)
                state, event = self._make_event([*events, *added], STARTED, content)
                found, added = state.get_entry(named), [*added, event]
            return added, found

        return self._commit_change(decide)

    def check_start(self, entry_id: str, token: str) -> None:
        """Refuse to measure if the run was started again since, in a copy of its folder.

        Raises:
            BudgetError: If another start was the last.
        """
        _check_last_start(self.entry(entry_id), token)

    def measured(self, entry_id: str, token: str, measurements: int, sha256: str) -> None:
        """Record one more measurement of a run in a folder, before it is used.

        Args:
            entry_id: The entry of the run.
            token: The start that measured.
            measurements: The number of measurements, with this one.
            sha256: The digest of all of them.

        Raises:
            BudgetError: If another start was the last.
        """
        content = Progress(token, measurements, sha256).to_dict(entry_id)

        def decide(events: list[LedgerEvent]) -> tuple[list[LedgerEvent], None]:
            _check_last_start(self._fold_events(events).get_entry(entry_id), token)
            return [self._make_event(events, MEASURED, content)[1]], None

        self._commit_change(decide)

    def spend(
        self,
        entry_id: str,
        spends: Sequence[Spend],
        certificate_sha256: str,
        token: str | None = None,
    ) -> RunEntry:
        """Close an entry with what was measured, instead of what was reserved.

        Repeating it with the same spends and certificate changes nothing.

        Args:
            entry_id: The entry.
            spends: The spends that were made.
            certificate_sha256: Hash of the certificate.
            token: The start of the run, if it is in a folder to resume from.

        Raises:
            LedgerError: If the entry was closed before, with another certificate.
            BudgetError: If more was measured than reserved, and that exceeds the budget. It is
                recorded nevertheless, because it happened: release nothing of it.
        """
        check_spends(spends)
        certificate = check_digest("certificate_sha256", certificate_sha256)
        content = {
            "entry": entry_id,
            "spends": serialize_spends(spends),
            "certificate_sha256": certificate,
        }

        def decide(
            events: list[LedgerEvent],
        ) -> tuple[list[LedgerEvent], tuple[RunEntry, str | None]]:
            before = self._fold_events(events).get_entry(entry_id)
            if (before.spends, before.certificate_sha256) == (tuple(spends), certificate):
                return [], (before, None)
            if before.state == "spent":
                raise LedgerError(
                    f"entry {entry_id!r} is spent: expected reserved. It has other spends or "
                    f"another certificate: release nothing of this one, begin in a new folder."
                )
            if before.progress is not None:
                _check_last_start(before, token)
            state, event = self._make_event(events, SPENT, content)
            entry = state.get_entry(entry_id)
            more = None if _has_room_for(before, entry) else _explain_refusal(state, entry)
            return [event], (entry, more)

        entry, refusal = self._commit_change(decide)
        if refusal is not None:
            raise BudgetError(f"{refusal} It was measured and is recorded: release nothing of it.")
        return entry

    def stop(self, entry_id: str, spends: Sequence[Spend], token: str | None = None) -> RunEntry:
        """Close an entry that ended without a release: what it measured counts, the rest does not.

        The caller guarantees that the run ended by what noisy answers and public values say, and
        that these spends are all that it measured (docs/explanation/proofs-11-crashes.md).

        Args:
            entry_id: The entry.
            spends: What was measured.
            token: The start of the run, if it is in a folder to resume from.
        """
        check_spends(spends)

        def decide(events: list[LedgerEvent]) -> tuple[list[LedgerEvent], RunEntry]:
            before = self._fold_events(events).get_entry(entry_id)
            if before.progress is not None:
                _check_last_start(before, token)
            content = {"entry": entry_id, "spends": serialize_spends(spends)}
            state, event = self._make_event(events, STOPPED, content)
            return [event], state.get_entry(entry_id)

        return self._commit_change(decide)

    def refund(self, entry_id: str) -> RunEntry:
        """Refund a reservation. The caller guarantees that no private row was read."""

        def decide(events: list[LedgerEvent]) -> tuple[list[LedgerEvent], RunEntry]:
            state, event = self._make_event(events, REFUNDED, {"entry": entry_id})
            return [event], state.get_entry(entry_id)

        return self._commit_change(decide)

    def head(self) -> str:
        """Return the hash of the last event: record it elsewhere, to detect a truncated chain."""
        return self.book().head

    def verify(self, head: str | None = None) -> list[str]:
        """Return what is wrong with the ledger: nothing, or the first break of its chain.

        Args:
            head: A head that was recorded earlier; it must still be in the chain.
        """
        try:
            damage = self._file.check_integrity()
            state = self.book()
        except LedgerError as error:
            return [str(error)]
        if damage is not None:
            return [f"{self.path}: {damage}"]
        if head not in {None, NO_EVENT, *state.digests}:
            return [f"{self.path}: the head {head} is not in it: its end was cut off or replaced."]
        return []

    def export(self) -> dict[str, Any]:
        """Return all events as plain values, with the head."""
        events = self._file.read()
        head = self._fold_events(events).head
        return {"format": FORMAT, "head": head, "events": [event.to_dict() for event in events]}

    def book(self) -> LedgerState:
        """Return budgets and entries as they are now, after checking all events."""
        return self._fold_events(self._file.read())

    def _fold_events(self, events: list[LedgerEvent]) -> LedgerState:
        try:
            self._last_state = LedgerState.from_events(events, self._last_state)
            return LedgerState.from_events(
                events, self._last_state
            )  # of its own, for who adds to it
        except LedgerError as error:
            raise LedgerError(f"{self.path}: {error}") from None

    def _make_event(
        self, events: list[LedgerEvent], kind: str, content: Mapping[str, Any]
    ) -> tuple[LedgerState, LedgerEvent]:
        """Return the next event, and the state after it."""
        state = self._fold_events(events)
        event = LedgerEvent.create_after(events[-1] if events else None, kind, content)
        state.add_event(event)
        return state, event

    def _commit_change(
        self, decide: Callable[[list[LedgerEvent]], tuple[list[LedgerEvent], T]]
    ) -> T:
        if self._in_data_folder:
            make_private_folder(self.path.parent)
        return self._file.append_events(decide)


def _normalize_name(dataset: str) -> str:
    """Return the name of a data set with its characters in Unicode normal form."""
    return unicodedata.normalize("NFC", check_printable("dataset", dataset))


def _check_budget(state: LedgerState, entry_id: str) -> RunEntry:
    """Return an entry that is within the budget."""
    entry = state.get_entry(entry_id)
    refusal = _explain_refusal(state, entry)
    if refusal is not None:
        raise _advise_less(BudgetError(refusal), state, entry)
    return entry


def _advise_less(error: BudgetError, state: LedgerState, entry: RunEntry) -> BudgetError:
    """Say which epsilon fits, if any does."""
    budget = state.budgets[entry.dataset]
    others = [one for one in state.list_counted_entries(entry.dataset) if one.id != entry.id]
    left = compute_remaining_epsilon(others, budget)
    if not left:
        return error.with_advice(
            "Nothing is left for another run on these people.",
            "Nothing is left for another run on these people.",
        )
    return error.with_advice(
        f"Pass epsilon={left:g} and delta={budget.delta:g}, or less.",
        f"Pass --epsilon {left:g} --delta {budget.delta:g}, or less.",
    )


def _check_last_start(entry: RunEntry, token: str | None) -> None:
    if entry.state != "reserved" or entry.progress is None or entry.progress.token != token:
        raise make_superseded_error()


def _explain_refusal(state: LedgerState, entry: RunEntry) -> str | None:
    """Return why an entry is over the budget, given the others; None if it is not."""
    budget = state.budgets.get(entry.dataset)
    entries = state.list_counted_entries(entry.dataset)
    if budget is None or not is_over_budget(entries, budget):
        return None
    total = round_up(compute_entries_epsilon(entries, budget), 2)
    left = compute_remaining_epsilon([other for other in entries if other.id != entry.id], budget)
    return (
        f"data set {entry.dataset!r}: this run would bring the total to epsilon {total:g} of "
        f"{budget.epsilon:g} at delta {budget.delta:g}; {left:g} is left."
    )


def _has_room_for(reserved: RunEntry, spent: RunEntry) -> bool:
    """Whether what was measured is within what was reserved."""
    room, used = _count_times(reserved), _count_times(spent)
    return all(times <= room[kind] for kind, times in used.items())


def _count_times(entry: RunEntry) -> Counter[tuple[float, float]]:
    times: Counter[tuple[float, float]] = Counter()
    for spend in entry.spends:
        times[spend.sigma, spend.delta_share] += spend.times
    return times
