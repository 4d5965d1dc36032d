"""zCDP privacy filter: accounting where noise may depend on earlier answers.

Privacy loss distributions compose mechanisms that were fixed before the first answer. A method that
decides adaptively how often it asks, and with how much noise, is accounted for by zero-concentrated
differential privacy (zCDP). There a *filter* is a theorem: as long as each measurement is charged
before it is made and the sum of all stays within a limit that was fixed at the beginning, the whole
is private with that limit, however later measurements depend on earlier answers (Feldman and Zrnic
2021). The guarantee is that of the limit, not of what was spent.

Histograms alone need no zCDP: Gaussian DP has such a filter too, and its epsilon is smaller
(`compose_epsilon` with `adaptive`). A certificate says which of the two its limit is in.

The loss of a spend is twice its zCDP parameter: a discrete Gaussian histogram is
1/(2 sigma^2)-zCDP (Canonne, Kamath, Steinke 2020), and a selection of bounded range is
range^2/8-zCDP (Cesar and Rogers 2021), where range = 2 / sigma.
"""

from __future__ import annotations

import dataclasses
import math

from tabpe.accounting.pld import check_guarantee
from tabpe.accounting.spend import GAUSSIAN, Account, Spend
from tabpe.errors import BudgetError

# The privacy definition that the limit of an adaptive run is in.
ZCDP, GAUSSIAN_DP = FILTERS = ("zCDP", "Gaussian DP")
# Margin for floating point errors in sums of losses, kept back from the limit.
_ROUNDING = 1e-9
_HALVINGS = 200


class PrivacyFilter(Account):
    """An account whose measurements are authorized one by one, up to a limit.

    Args:
        limit: The largest sum of the losses of all spends, fixed before a row is read.

    Example:
        >>> account = PrivacyFilter(limit=1.0)
        >>> account.authorize_more("marginals", sigma=2.0, times=3).times
        3
        >>> account.left
        0.25
        >>> account.authorize_more("marginals", sigma=2.0, times=2)
        Traceback (most recent call last):
        tabpe.errors.BudgetError: marginals: costs 0.5 of a budget of which 0.25 is left.
    """

    def __init__(self, limit: float) -> None:
        super().__init__()
        self.limit = limit

    @property
    def left(self) -> float:
        """What is left of the limit."""
        return max(self.limit - math.fsum(spend.loss for spend in self.authorized), 0.0)

    def authorize(self, spend: Spend) -> Spend:
        """Allow the measurements of `spend`, if they stay within the limit."""
        self._check_limit(spend)
        return super().authorize(spend)

    def _check_limit(self, more: Spend) -> None:
        losses = [spend.loss for spend in self.authorized]
        if math.fsum([*losses, more.loss]) > self.limit * (1 + _ROUNDING):
            raise BudgetError(
                f"{more.name}: costs {more.loss:.3g} of a budget of which {self.left:.3g} is left."
            )

    def authorize_more(
        self, name: str, *, sigma: float, times: int = 1, mechanism: str = GAUSSIAN
    ) -> Spend:
        """Authorize `times` more measurements of a name.

        Raises:
            BudgetError: If they cost more than is left, or the name has another sigma already.
        """
        more = Spend(name, sigma, times, mechanism=mechanism)
        known = self._authorized.get(name)
        if known is None:
            self.authorize(more)
            return more
        self._check_limit(more)
        if (known.sigma, known.mechanism) != (sigma, mechanism):
            raise BudgetError(f"{name}: has sigma {known.sigma:.6g} already; use another name.")
        self._authorized[name] = dataclasses.replace(known, times=known.times + times)
        return self._authorized[name]


def compute_epsilon_from_loss(loss: float, delta: float) -> float:
    """Return the epsilon at `delta` of everything within a loss, rounded up.

    Every order of the Renyi divergence gives a bound; this is the smallest of them.

    Example:
        >>> round(compute_epsilon_from_loss(0.07, 1e-5), 3)
        1.077
    """
    from scipy.optimize import minimize_scalar

    check_guarantee(1.0, delta)

    def bound(log_order: float) -> float:
        order = 1 + math.exp(log_order)
        return _compute_renyi_epsilon(loss / 2, delta, order)

    found = minimize_scalar(bound, bounds=(-10.0, 25.0), method="bounded")
    return max(float(bound(found.x)), 0.0) * (1 + 1e-12)


def find_largest_loss(epsilon: float, delta: float) -> float:
    """Return the largest loss that meets (epsilon, delta), rounded down.

    Example:
        >>> loss = find_largest_loss(1.0, 1e-5)
        >>> 0.999 < compute_epsilon_from_loss(loss, 1e-5) <= 1.0
        True
    """
    check_guarantee(epsilon, delta)
    low, high = 0.0, 2 * epsilon
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        kept = compute_epsilon_from_loss(middle * (1 + 2 * _ROUNDING), delta) <= epsilon
        low, high = (middle, high) if kept else (low, middle)
        if high - low < 1e-12 * high:
            break
    return low


def _compute_renyi_epsilon(rho: float, delta: float, order: float) -> float:
    """Solve proposition 12 of Canonne, Kamath and Steinke (2020) for epsilon."""
    exponent = (-math.log(delta) - math.log(order)) / (order - 1)
    return order * rho + exponent + math.log1p(-1 / order)
