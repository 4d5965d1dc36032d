"""The bill: everything that touched private rows, and an account that holds to it."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from tabpe._utils import validation
from tabpe.errors import BudgetError

GAUSSIAN, EXPONENTIAL = "discrete Gaussian", "exponential"


@dataclass(frozen=True)
class Spend:
    """One kind of measurement: histograms under discrete Gaussian noise, or choices.

    A choice by the exponential mechanism has a privacy loss in an interval of a known width, its
    range. It is put on the bill with sigma = 2 / range, so that `loss` means the same for both:
    twice the parameter of concentrated differential privacy.

    Args:
        name: What was measured.
        sigma: Scale of the noise on every cell, where a count is one; of a choice, 2 / range.
        times: How many such histograms were released, or choices made; a histogram in which a row
            has several votes counts as so many.
        chance: Of a histogram over values that are not public: the chance that a value is told
            that one row alone holds. It is a part of delta, for each time and cell.
        mechanism: `GAUSSIAN` or `EXPONENTIAL`.

    Example:
        >>> round(Spend("votes", sigma=14.1, times=15).loss, 4)
        0.0754
    """

    name: str
    sigma: float
    times: int
    chance: float = 0.0
    mechanism: str = GAUSSIAN

    def __post_init__(self) -> None:
        validation.check_real("sigma", self.sigma, above=0)
        validation.check_integer("times", self.times, least=1)
        validation.check_real("chance", self.chance, above=0, below=1, least=True)
        validation.check_one_of("mechanism", self.mechanism, [GAUSSIAN, EXPONENTIAL])

    @property
    def loss(self) -> float:
        """The squared Gaussian-DP parameter, or what a choice has in its place.

        These add up, so they give the shares of a bill.
        """
        return self.times / self.sigma**2

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a file."""
        return dataclasses.asdict(self)


class Account:
    """Lets through the measurements that were agreed on, once each, and nothing else.

    An item is agreed on after its place in the total was verified. `charge` comes before the
    private rows are read; what was not agreed on, or is used up, is refused.

    Example:
        >>> account = Account()
        >>> account.authorize(Spend("votes", sigma=14.1, times=1))
        >>> account.charge("votes")
        14.1
        >>> account.charge("votes")
        Traceback (most recent call last):
        tabpe.errors.BudgetError: votes: the 1 agreed on are used up; nothing more is read.
    """

    def __init__(self) -> None:
        self._authorized: dict[str, Spend] = {}
        self._charged: dict[str, int] = {}

    def authorize(self, item: Spend) -> None:
        """Allow the measurements of `item`."""
        if item.name in self._authorized:
            raise BudgetError(f"{item.name}: agreed on already; a bill has one item of a name.")
        self._authorized[item.name] = item

    def charge(self, name: str) -> float:
        """Charge one measurement and return the sigma that it must use."""
        item = self._authorized.get(name)
        if item is None:
            raise BudgetError(
                f"{name}: not agreed on; nothing is read without a place in the bill."
            )
        if self._charged.get(name, 0) >= item.times:
            raise BudgetError(
                f"{name}: the {item.times} agreed on are used up; nothing more is read."
            )
        self._charged[name] = self._charged.get(name, 0) + 1
        return item.sigma

    def count_uncharged(self, name: str) -> int:
        """Return how many measurements of that name were agreed on and not charged so far."""
        return self._authorized[name].times - self._charged.get(name, 0)

    @property
    def authorized(self) -> tuple[Spend, ...]:
        """The items agreed on: what the promise is computed from."""
        return tuple(self._authorized.values())

    @property
    def spent(self) -> tuple[Spend, ...]:
        """The items with the number of times that they were charged so far."""
        return tuple(
            dataclasses.replace(self._authorized[name], times=times)
            for name, times in self._charged.items()
        )
