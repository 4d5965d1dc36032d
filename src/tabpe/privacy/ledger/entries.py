"""What a ledger knows: budgets, entries of what was reserved, spent or given back, and progress."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tabpe import _validate
from tabpe.errors import ParameterError
from tabpe.privacy.accounting import LARGEST_SIGMA, check_promise
from tabpe.privacy.adjacency import ROWS, Adjacency, Neighbours
from tabpe.privacy.bill import GAUSSIAN, BillItem

LONGEST_TEXT = 200
MOST_ITEMS = 1_000
MOST_TIMES = 100_000
SMALLEST_SIGMA = 1e-3
LARGEST_LIMIT = 1e6

State = Literal["reserved", "spent", "refunded"]
Bill = tuple[BillItem, ...]


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
        printable("dataset", self.dataset)
        check_promise(self.epsilon, self.delta)
        _validate.optional(printable, "unit", self.unit)

    @property
    def neighbours(self) -> Neighbours:
        """The relation that all runs are composed for. How many rows of a user count is theirs."""
        return Neighbours(self.adjacency, None if self.unit is None else 1)

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
        adjacency = Adjacency.of(plain["adjacency"])
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
            printable("token", plain["token"]),
            _validate.whole("measurements", plain["measurements"], least=0),
            digest_of("sha256", plain["sha256"]),
        )


@dataclass(frozen=True)
class Entry:
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
    bill: Bill
    neighbours: Neighbours
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
        printable("id", self.id)
        printable("dataset", self.dataset)
        check_bill(self.bill)
        self._check_limit()
        _validate.optional(printable, "unit", self.unit)
        _validate.real("slack", self.slack, above=0, below=1, least=True)
        if self.note != "":  # a note of another type is no note
            printable("note", self.note)
        if (self.unit is None) == self.neighbours.of_users:
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
        _validate.real("limit", self.limit, above=0, below=LARGEST_LIMIT)
        if self.neighbours != ROWS or self.slack:
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
            "bill": plain_bill(self.bill),
            "adjacency": self.neighbours.adjacency.value,
            "max_rows_per_user": self.neighbours.max_rows,
            "unit": self.unit,
            "slack": float(self.slack),
            "note": self.note,
            **({"adaptive": True} if self.adaptive else {}),
            **({} if self.limit is None else {"limit": float(self.limit)}),
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any], time: str) -> Entry:
        """Read the entry that an event reserves."""
        return cls(
            id=plain["entry"],
            dataset=plain["dataset"],
            bill=read_bill(plain["bill"]),
            neighbours=Neighbours(Adjacency.of(plain["adjacency"]), plain["max_rows_per_user"]),
            unit=plain["unit"],
            slack=plain["slack"],
            note=plain["note"],
            adaptive=plain.get("adaptive", False),
            limit=plain.get("limit"),
            reserved_at=time,
        )


def printable(name: str, value: Any) -> str:
    """Return `value` if it is a text that people can read."""
    fits = isinstance(value, str) and 1 <= len(value) <= LONGEST_TEXT and value.isprintable()
    if not fits:
        shown = repr(value) if len(repr(value)) <= LONGEST_TEXT else "(long)"
        raise ParameterError(
            f"{name}={shown}: expected a text of 1 to {LONGEST_TEXT} printable characters."
        )
    return str(value)


def digest_of(name: str, value: Any) -> str:
    """Return `value` if it is a SHA-256 in hexadecimal."""
    if not isinstance(value, str) or re.fullmatch("[0-9a-f]{64}", value) is None:
        raise ParameterError(f"{name}: expected a SHA-256, as 64 digits from 0 to f.")
    return value


def check_bill(bill: Sequence[BillItem]) -> None:
    """Refuse a bill that no ledger can hold."""
    if not 1 <= len(bill) <= MOST_ITEMS:
        raise ParameterError(
            f"bill: has {len(bill)} items, expected 1 to {MOST_ITEMS:,}. A run that read nothing "
            f"is refunded."
        )
    for item in bill:
        printable("bill: name", item.name)
        if not SMALLEST_SIGMA <= item.sigma <= LARGEST_SIGMA or item.times > MOST_TIMES:
            raise ParameterError(
                f"bill: {item.name!r} has sigma={item.sigma:g} and times={item.times}; expected a "
                f"sigma from {SMALLEST_SIGMA:g} to {LARGEST_SIGMA:g}, and at most "
                f"{MOST_TIMES:,} times."
            )


def plain_bill(bill: Sequence[BillItem]) -> list[dict[str, Any]]:
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


def read_bill(plain: Any) -> Bill:
    """Read a bill from plain values."""
    return tuple(BillItem(**item) for item in plain)
