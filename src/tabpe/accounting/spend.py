"""`Spend`: what touched private rows; `Account`: refuses what was not authorized."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from tabpe._utils import validation
from tabpe.errors import BudgetError

GAUSSIAN, EXPONENTIAL = "discrete Gaussian", "exponential"


@dataclass(frozen=True)
class Spend:
    """One kind of measurement: histograms under discrete Gaussian noise, or selections.

    A selection by the exponential mechanism has a privacy loss in an interval of a known width, its
    range. It is recorded with sigma = 2 / range, so that `loss` means the same for both: twice the
    zCDP parameter.

    Args:
        name: What was measured.
        sigma: Scale of the noise on every cell, where a count is one; of a selection, 2 / range.
        times: How many such histograms were released, or selections made; a histogram in which a
            row casts several votes counts as that many.
        delta_share: Of a histogram over values that are not public: the probability that a value is
            released that occurs in one row only. It is a part of delta, for each time and cell.
        mechanism: `GAUSSIAN` or `EXPONENTIAL`.

    Example:
        >>> round(Spend("votes", sigma=14.1, times=15).loss, 4)
        0.0754
    """

    name: str
    sigma: float
    times: int
    delta_share: float = 0.0
    mechanism: str = GAUSSIAN

    def __post_init__(self) -> None:
        validation.check_real("sigma", self.sigma, above=0)
        validation.check_integer("times", self.times, least=1)
        validation.check_real("delta_share", self.delta_share, above=0, below=1, least=True)
        validation.check_one_of("mechanism", self.mechanism, [GAUSSIAN, EXPONENTIAL])

    @property
    def loss(self) -> float:
        """The squared Gaussian-DP parameter, or its equivalent of a selection; losses add up."""
        return self.times / self.sigma**2

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a file."""
        return dataclasses.asdict(self)


class Account:
    """Allows the measurements that were authorized, once each, and nothing else.

    A spend is authorized after the total that includes it was verified. `charge` comes before the
    private rows are read; what was not authorized, or is used up, is refused.

    Example:
        >>> account = Account()
        >>> votes = account.authorize(Spend("votes", sigma=14.1, times=1))
        >>> account.charge("votes")
        14.1
        >>> account.charge("votes")
        Traceback (most recent call last):
        tabpe.errors.BudgetError: votes: the 1 authorized are used up; nothing more is read.
    """

    def __init__(self) -> None:
        self._authorized: dict[str, Spend] = {}
        self._charged: dict[str, int] = {}

    def authorize(self, spend: Spend) -> Spend:
        """Allow the measurements of `spend`, and return it: who measures is given that value."""
        if spend.name in self._authorized:
            raise BudgetError(f"{spend.name}: already authorized; spends need different names.")
        self._authorized[spend.name] = spend
        return spend

    def charge(self, name: str) -> float:
        """Charge one measurement and return the sigma that it must use."""
        spend = self._authorized.get(name)
        if spend is None:
            raise BudgetError(f"{name}: not authorized; nothing is read without a spend.")
        if self._charged.get(name, 0) >= spend.times:
            raise BudgetError(
                f"{name}: the {spend.times} authorized are used up; nothing more is read."
            )
        self._charged[name] = self._charged.get(name, 0) + 1
        return spend.sigma

    def charge_spend(self, spend: Spend, times: int) -> Spend:
        """Charge `times` measurements of an authorized spend, and return what they add up to."""
        known = self._authorized.get(spend.name, spend)
        if dataclasses.replace(known, times=spend.times) != spend:
            raise BudgetError(f"{spend.name}: was authorized with other noise than it is used.")
        for _ in range(times):
            self.charge(spend.name)
        return dataclasses.replace(spend, times=times)

    def count_uncharged(self, spend: Spend) -> int:
        """Return how many measurements of a spend were authorized and not charged so far."""
        return self._authorized[spend.name].times - self._charged.get(spend.name, 0)

    @property
    def authorized(self) -> tuple[Spend, ...]:
        """The authorized spends: what the guarantee is computed from."""
        return tuple(self._authorized.values())

    @property
    def spent(self) -> tuple[Spend, ...]:
        """The spends, with the number of times that they were charged so far."""
        return tuple(
            dataclasses.replace(self._authorized[name], times=times)
            for name, times in self._charged.items()
        )
