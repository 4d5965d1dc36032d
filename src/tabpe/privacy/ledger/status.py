"""A data set at a glance: what its runs may spend, have spent and have left."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any

from tabpe.privacy.ledger.book import Book
from tabpe.privacy.ledger.composition import epsilon_left, spent_epsilon
from tabpe.privacy.ledger.entries import Budget, Entry


@dataclass(frozen=True)
class Status:
    """One data set of a ledger.

    Args:
        dataset: Its name.
        budget: Its total; None if its runs are recorded and not limited.
        entries: All its runs, oldest first.

    Example:
        >>> status = Status("patients", Budget("patients", 2.0, 1e-6), ())
        >>> status.spent, status.left
        (0.0, 2.0)
    """

    dataset: str
    budget: Budget | None
    entries: tuple[Entry, ...]

    @functools.cached_property
    def spent(self) -> float | None:
        """The epsilon of all that is reserved or spent, at the delta of the budget, rounded up."""
        if self.budget is None:
            return None
        return spent_epsilon(self._counted, self.budget)

    @functools.cached_property
    def left(self) -> float | None:
        """The epsilon that one more run may ask for at the delta of the budget, rounded down."""
        if self.budget is None:
            return None
        return epsilon_left(self._counted, self.budget)

    @property
    def _counted(self) -> list[Entry]:
        return [entry for entry in self.entries if entry.counts]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values; an infinite epsilon, which JSON has no word for, is None."""
        epsilon = self.spent if self.spent is not None and math.isfinite(self.spent) else None
        budget = None if self.budget is None else self.budget.to_dict()
        return {
            "dataset": self.dataset,
            "budget": budget,
            "spent": epsilon,
            "left": self.left,
            "entries": [_plain(entry) for entry in self.entries],
        }


def status_of(book: Book, dataset: str) -> Status:
    """Return the status of a data set."""
    return Status(dataset, book.budgets.get(dataset), book.of_dataset(dataset))


def _plain(entry: Entry) -> dict[str, Any]:
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
