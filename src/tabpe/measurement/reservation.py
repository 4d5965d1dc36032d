"""Charge first: what a run may cost is in the ledger before a private row is read."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import TypeVar

from tabpe.accounting import Certificate, NeighboringRelation, Spend
from tabpe.accounting.certificate import LedgerEntry
from tabpe.accounting.ledger import Ledger, RunEntry, RunStart
from tabpe.errors import LedgerError, TabpeError
from tabpe.io import Batch, TableSource
from tabpe.io.source import divide_source
from tabpe.measurement.checkpoint import Transcript

_LOGGER = logging.getLogger(__name__)

T = TypeVar("T")


@dataclass(frozen=True)
class LedgerCharge:
    """The data set of a ledger that a run is charged to.

    Args:
        ledger: The ledger.
        dataset: The name of the data set in it.
        unit: The column of user ids, for a user-level guarantee.
    """

    ledger: Ledger
    dataset: str
    unit: str | None

    @property
    def delta(self) -> float | None:
        """The delta of the budget of the data set, if it has one."""
        budget = self.ledger.budget(self.dataset)
        return None if budget is None else budget.delta

    @contextmanager
    def hold_reservation(
        self,
        run: str,
        spends: Sequence[Spend],
        neighbours: NeighboringRelation,
        may_refund: Callable[[], bool],
        *,
        start: RunStart | None = None,
        adaptive: bool = False,
        list_measured: Callable[[BaseException], tuple[Spend, ...]] = lambda _: (),
    ) -> Iterator[RunEntry]:
        """Hold what a run may cost, from before its first read on.

        Privacy: whatever happens, what was reserved stays charged, but for two cases. The run fails
        before a private row was read, and so can never have revealed anything. Or it ends by what
        noisy answers say: then what was measured stays charged, and the rest is refunded.

        Args:
            run: The name of the run; one that goes on after a crash is not charged again.
            spends: What it may measure at most.
            neighbours: The relation that it is for.
            may_refund: Whether no private row has been read.
            start: This start of the run, if it is in a folder to go on from.
            adaptive: Whether its noise may follow its own answers.
            list_measured: Returns all that was measured before an error that follows from noisy
                answers and public values alone; nothing for any other error.
        """
        entry = self.ledger.reserve(
            self.dataset,
            spends,
            neighbours,
            unit=self.unit,
            entry_id=run,
            start=start,
            adaptive=adaptive,
        )
        _LOGGER.info("reserved in the ledger for data set %r", self.dataset)
        try:
            yield entry
        except BaseException as error:
            with suppress(LedgerError):  # then it stays charged, and why the run failed is said
                self._settle_failure(entry, error, may_refund, list_measured, start)
            raise

    def _settle_failure(
        self,
        entry: RunEntry,
        error: BaseException,
        may_refund: Callable[[], bool],
        list_measured: Callable[[BaseException], tuple[Spend, ...]],
        start: RunStart | None,
    ) -> None:
        """Refund what may be refunded, and say in the error what was charged and what to do."""
        if entry.state != "reserved":
            return
        name = f"data set {self.dataset!r}"
        if may_refund():
            self.ledger.refund(entry.id)
            _LOGGER.info("refunded to data set %r", self.dataset)
            _add_advice(error, f"No row was read, and nothing was charged to {name}.")
            return
        measured = list_measured(error)
        if measured:
            token = None if entry.progress is None else entry.progress.token
            self.ledger.stop(entry.id, measured, token)
            listed = ", ".join(f"{spend.times} x {spend.name}" for spend in measured)
            folder = "" if start is None else " in a new {folder}"
            _add_advice(
                error,
                f"The run ended here. Charged to {name}: {listed}; the rest was refunded. "
                f"Correct this and run again{folder}: only what that run measures is charged then.",
            )
        elif start is None:
            _add_advice(
                error,
                f"Rows were read, so what was reserved stays charged to {name}. With "
                f"{{folder}} a run that failed goes on without being charged again.",
            )
        else:
            _add_advice(
                error,
                f"Rows were read, so what was reserved stays charged to {name}. Run again with the "
                f"same {{folder}}: what was measured is not charged again.",
            )

    def settle_entry(self, entry: RunEntry, certificate: Certificate) -> Certificate:
        """Put what was measured in the place of what was reserved.

        Returns:
            The certificate, which names the entry. The ledger knows it by its digest.
        """
        named = replace(certificate, ledger=LedgerEntry(self.dataset, entry.id))
        token = None if entry.progress is None else entry.progress.token
        self.ledger.spend(entry.id, named.spends, named.digest, token)
        return named


def _add_advice(error: BaseException, text: str) -> None:
    """Add a text to an error, in Python's words and in those of the command line."""
    in_python, in_terminal = (
        text.replace("{folder}", "run_dir"),
        text.replace("{folder}", "--run-dir"),
    )
    if isinstance(error, TabpeError):
        error.with_advice(in_python, in_terminal)
    else:
        error.add_note(text.replace("{folder}", "run_dir (--run-dir)"))


@contextmanager
def reserve_budget(
    charge: LedgerCharge | None,
    run: str,
    spends: Sequence[Spend],
    neighbours: NeighboringRelation,
    may_refund: Callable[[], bool],
    *,
    start: RunStart | None = None,
    adaptive: bool = False,
    list_measured: Callable[[BaseException], tuple[Spend, ...]] = lambda _: (),
) -> Iterator[RunEntry | None]:
    """Hold what a run may cost in a ledger, if it is charged to one: `LedgerCharge`."""
    if charge is None:
        yield None
        return
    with charge.hold_reservation(
        run,
        spends,
        neighbours,
        may_refund,
        start=start,
        adaptive=adaptive,
        list_measured=list_measured,
    ) as entry:
        yield entry


def run_shielded(call: Callable[[], T], error: TabpeError) -> T:
    """Return what `call` returns, or raise `error` in the place of a MemoryError.

    Privacy: the message of a MemoryError tells sizes of arrays, which are exact counts of rows.

    Example:
        >>> run_shielded(lambda: 5, TabpeError("the machine ran out of memory."))
        5
    """
    with suppress(MemoryError):
        return call()
    raise error


@dataclass(frozen=True)
class ChargedStart:
    """A start of a run in a folder, as a ledger follows it (`tabpe.accounting.ledger.events`).

    Args:
        ledger: The ledger.
        entry: The id of its entry.
        token: The name of the start.
    """

    ledger: Ledger
    entry: str
    token: str

    def check_start(self) -> None:
        """Refuse to measure if a copy of the folder was started since."""
        self.ledger.check_start(self.entry, self.token)

    def record_measurement(self, transcript: Transcript) -> None:
        """Tell the ledger of the last measurement."""
        self.ledger.measured(self.entry, self.token, transcript.count, transcript.sha256)


class WatchedSource:
    """A source that remembers whether a row of it was read.

    Args:
        source: The table.
    """

    def __init__(self, source: TableSource) -> None:
        self._source = source
        self.was_read = False

    @property
    def library(self) -> str:
        """The library of data frames that it is a frame of."""
        return self._source.library

    @property
    def nested(self) -> frozenset[str]:
        """The columns of lists and the like."""
        return self._source.nested

    @property
    def names(self) -> list[str]:
        """Its columns."""
        return self._source.names

    @property
    def most_rows(self) -> int | None:
        """Its number of rows, or more; None if that is not known before reading. Private."""
        return self._source.most_rows

    def batches(self, names: Sequence[str] | None = None) -> Iterator[Batch]:
        """Read the rows. One that can not be read as a row was read all the same."""
        self.was_read = True
        yield from self._source.batches(names)

    @property
    def lives_on(self) -> str | None:
        """The system that its rows live on, if they are on a cluster already."""
        return getattr(self._source, "lives_on", None)

    def divide_into(self, most: int) -> list[TableSource]:
        """Return the table in parts, which others read: from here on it counts as read."""
        self.was_read = True
        return divide_source(self._source, most)
