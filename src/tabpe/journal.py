"""`Journal`: each thing is measured once, even by a run that was interrupted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from tabpe.archive import Archive
from tabpe.errors import ArchiveError, BudgetError, TabpeError
from tabpe.measure import Measured
from tabpe.measure.terms import charged
from tabpe.privacy import Account
from tabpe.privacy.transcript import Transcript
from tabpe.run_folder import RunFolder, archive_of, measured_of

Plain = dict[str, list[Any]]


class Follower(Protocol):
    """Who follows what a start of a run measures: a ledger."""

    def check(self) -> None:
        """Refuse to measure if this start is not the last of its run any more."""

    def note(self, transcript: Transcript) -> None:
        """Take in one more measurement, before anything is made of it."""


class Journal:
    """Measures what is not remembered, and remembers it before anyone sees it.

    Privacy: a measurement that was remembered is charged to the account like any other, as often as
    it was, because it is on the bill of the run, and no row is read for it again.

    Args:
        account: What the measurements are charged to.
        folder: Where they are remembered; None for nowhere.
        is_closed: Whether the run is spent in a ledger: then nothing more is measured.
        follower: Is asked before each measurement, and told of it.

    Attributes:
        transcript: The digest of all measurements so far, remembered or made.
    """

    def __init__(
        self,
        account: Account,
        folder: RunFolder | None,
        *,
        is_closed: bool = False,
        follower: Follower | None = None,
    ) -> None:
        self.account = account
        self.transcript = Transcript()
        self._folder = folder
        self._is_closed = is_closed
        self._follower = follower
        self._places: dict[str, int] = {}

    def once(self, name: str, measure: Callable[[], Measured], *, times: int = 1) -> Measured:
        """Return the next measurement of that name, which `measure` makes if it must.

        Args:
            name: Its item on the bill.
            measure: Charges the account, and measures.
            times: How often it is charged: once for each histogram, and for each vote of a row.

        Raises:
            ArchiveError: If what is remembered has other noise, or was charged another number of
                times.
        """
        place = self._places[name] = self._places.get(name, 0) + 1
        found = self._recalled(name, place)
        if found is not None:
            return self._charged(name, measured_of(found), times)
        self._check_open(name)
        measured = measure()
        if measured.item.times != times:
            raise TabpeError(f"{name}: was not charged {times} times, as it should have been.")
        self._record(name, place, archive_of(measured))
        return measured

    def forgo(self, name: str) -> None:
        """Charge for what is left of an item, without reading a row for it."""
        left = self.account.uncharged(name)
        if left:
            charged(self.account, name, left)

    def answered(self, name: str, ask: Callable[[], Plain]) -> Plain:
        """Return the answer to a question about columns, which `ask` gets if it must."""
        (item,) = (item for item in self.account.agreed if item.name == name)
        found = self._recalled(name, 1)
        if found is None:
            self._check_open(name)
            answer = ask()
            self._record(name, 1, Archive({"item": item.to_dict(), "answer": answer}, {}))
            return answer
        charged(self.account, name, item.times)
        remembered = found.text.get("answer")
        if found.text.get("item") != item.to_dict() or not isinstance(remembered, dict):
            raise _another(name)
        return remembered

    def _recalled(self, name: str, place: int) -> Archive | None:
        """Return what the folder holds, if it is the next measurement of the run."""
        found = None if self._folder is None else self._folder.recall(name, place)
        if found is None or self._folder is None:
            return None
        self.transcript.note(found.text, found.arrays)
        if self.transcript.sha256 != self._folder.digests[self.transcript.count]:
            raise _another(name)
        return found

    def _record(self, name: str, place: int, content: Archive) -> None:
        """Keep a measurement before anyone sees it, and tell who follows the run."""
        self.transcript.note(content.text, content.arrays)
        if self._folder is not None:
            self._folder.record(name, place, content)
        if self._follower is not None:
            self._follower.note(self.transcript)

    def _check_open(self, name: str) -> None:
        if self._is_closed:
            raise BudgetError(
                f"{name}: the run is spent in the ledger, and its folder lacks a measurement: "
                f"nothing more is read for it. Begin in a new folder."
            )
        if self._folder is not None and self._folder.digests[-1] != self.transcript.sha256:
            raise _another(name)  # one that this run did not come to, or came to in another order
        if self._follower is not None:
            self._follower.check()

    def _charged(self, name: str, measured: Measured, times: int) -> Measured:
        if measured.item != charged(self.account, name, times):
            raise _another(name)
        return measured


def _another(name: str) -> ArchiveError:
    return ArchiveError(
        f"{name}: the folder of the run holds another measurement: begin in a new folder."
    )
