"""From a promise to noise: the parts of a plan, and the items of a bill that they become.

The budget is divided by *loss*: times / sigma^2 of histograms, and the same with sigma = 2 / range
of choices. That is twice the parameter of concentrated differential privacy, in which the authors
of most methods state their shares.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tabpe.errors import ParameterError
from tabpe.privacy import BillItem, composed_epsilon
from tabpe.privacy.accounting import gaussian_mu
from tabpe.privacy.bill import EXPONENTIAL, GAUSSIAN

__all__ = ["EXPONENTIAL", "GAUSSIAN", "Part", "items_for", "scaled", "sigma_for"]

# How far below the request the epsilon of a plan may lie, relatively.
_TOLERANCE = 2e-4


@dataclass(frozen=True)
class Part:
    """One item of a bill, planned.

    Args:
        name: What is measured.
        share: Which part of the loss it takes.
        times: How many histograms or choices it is.
        mechanism: `GAUSSIAN` or `EXPONENTIAL`.
    """

    name: str
    share: float
    times: int = 1
    mechanism: str = GAUSSIAN

    def item(self, loss: float) -> BillItem:
        """Return the item that takes its share of a loss."""
        sigma = sigma_for(self.share * loss, self.times)
        return BillItem(self.name, sigma, self.times, mechanism=self.mechanism)


def sigma_for(loss: float, times: int = 1) -> float:
    """Return the sigma with which so many measurements have a loss in all.

    Example:
        >>> sigma_for(0.5, times=2)
        2.0
    """
    return math.sqrt(times / loss)


def scaled(parts: Sequence[Part], share: float) -> tuple[Part, ...]:
    """Return the parts of a method that gets a share of the whole."""
    return tuple(Part(p.name, p.share * share, p.times, p.mechanism) for p in parts)


def items_for(parts: Sequence[Part], epsilon: float, delta: float) -> tuple[BillItem, ...]:
    """Return the items of a plan that keeps a promise, and hardly more than that.

    Guarantee: the privacy loss distributions of all items were composed, and their epsilon at delta
    is at most the one that was asked for.

    Example:
        >>> plan = (Part("one-ways", 0.5, 8), Part("choices", 0.5, 7, EXPONENTIAL))
        >>> items = items_for(plan, 1.0, 1e-6)
        >>> 0.999 < composed_epsilon(items, 1e-6) <= 1.0
        True
    """
    if not math.isclose(sum(part.share for part in parts), 1.0):
        raise ParameterError("parts: expected shares that add up to 1.")
    loss, tolerance = gaussian_mu(epsilon, delta) ** 2, _TOLERANCE
    while True:
        items = tuple(part.item(loss) for part in parts)
        found = composed_epsilon(items, delta)
        if epsilon * (1 - tolerance) <= found <= epsilon:
            return items
        aim = epsilon * (1 - tolerance / 2)
        seen = found if math.isfinite(found) else 2 * epsilon
        loss *= (gaussian_mu(aim, delta) / gaussian_mu(seen, delta)) ** 2
        tolerance = min(2 * tolerance, 1.0)
