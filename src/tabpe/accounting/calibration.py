"""From a promise to noise: the parts of a plan, and the items of a bill that they become.

The budget is divided by *loss*: times / sigma^2 of histograms, and the same with sigma = 2 / range
of choices. That is twice the parameter of concentrated differential privacy, in which the authors
of most methods state their shares.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tabpe._utils import validation
from tabpe.accounting.neighboring import ROWS, Neighbours
from tabpe.accounting.pld import LARGEST_SIGMA, check_promise, composed_epsilon, gaussian_mu
from tabpe.accounting.spend import GAUSSIAN, BillItem
from tabpe.errors import BudgetError, ParameterError

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


def items_for(
    parts: Sequence[Part],
    epsilon: float,
    delta: float,
    neighbours: Neighbours = ROWS,
    besides: Sequence[BillItem] = (),
    *,
    adaptive: bool = False,
) -> tuple[BillItem, ...]:
    """Return the items of a plan that keeps a promise, and hardly more than that.

    Guarantee: all items, those of `besides` among them, were composed (`composed_epsilon`), and
    their epsilon at delta is at most the one that was asked for. The analytic formula of the
    continuous Gaussian only gives the guesses: it is slightly unsafe for discrete noise.

    Args:
        parts: What is planned. Its shares are parts of what `besides` leaves, and add up to 1.
        epsilon: The promise; never exceeded.
        delta: The promise; from 1e-12 to below 1.
        neighbours: The neighbouring relation.
        besides: What else is on the bill.
        adaptive: Whether noise may follow earlier answers.

    Raises:
        BudgetError: If what is already on the bill leaves nothing.

    Example:
        >>> plan = (Part("one-ways", 0.5, 8), Part("choices", 0.5, 7, EXPONENTIAL))
        >>> items = items_for(plan, 1.0, 1e-6)
        >>> 0.999 < composed_epsilon(items, 1e-6) <= 1.0
        True
    """
    check_promise(epsilon, delta)
    if not parts:
        return ()
    _check_shares(parts)
    loss, tolerance = gaussian_mu(epsilon, delta) ** 2, _TOLERANCE
    items = _items(parts, loss, neighbours, besides, epsilon)
    for item in items:
        check_noise_level(item, epsilon)
    while True:
        found = composed_epsilon((*besides, *items), delta, neighbours, adaptive=adaptive)
        if epsilon * (1 - tolerance) <= found <= epsilon:
            return items
        # Discrete noise is a little off the analytic curve: aim as far off to the other side. Ever
        # further below the request, because for little noise epsilon does not fall smoothly.
        aim = epsilon * (1 - tolerance / 2)
        seen = found if math.isfinite(found) else 2 * epsilon
        loss *= (gaussian_mu(aim, delta) / gaussian_mu(seen, delta)) ** 2
        items, tolerance = _items(parts, loss, neighbours, besides, epsilon), min(2 * tolerance, 1)


def calibrate(
    epsilon: float,
    delta: float,
    rounds: int,
    neighbours: Neighbours = ROWS,
    *,
    besides: Sequence[BillItem] = (),
) -> float:
    """Return the sigma that keeps the promise over `rounds` histograms, and hardly more than that.

    It is that of a plan of one part, see `items_for`.

    Example:
        >>> from tabpe.accounting import epsilon_of
        >>> sigma = calibrate(1.0, 1e-5, rounds=15)
        >>> round(sigma, 1), epsilon_of(sigma, 1e-5, rounds=15) <= 1.0
        (14.5, True)
    """
    validation.whole("rounds", rounds, least=1)
    plan = (Part("votes", 1.0, rounds),)
    return items_for(plan, epsilon, delta, neighbours, besides)[0].sigma


def check_noise_level(item: BillItem, epsilon: float) -> None:
    """Refuse noise that drowns any table."""
    if item.sigma > LARGEST_SIGMA:
        raise ParameterError(
            f"epsilon={epsilon:g}: {item.name} would need noise of sigma={item.sigma:.3g} on every "
            f"count, which drowns any table. Ask for a larger epsilon, for fewer rounds, or for a "
            f"larger part of the budget for this."
        )


def _items(
    parts: Sequence[Part],
    loss: float,
    neighbours: Neighbours,
    besides: Sequence[BillItem],
    epsilon: float,
) -> tuple[BillItem, ...]:
    """Return the items that share what a loss leaves beside others."""
    left = loss / neighbours.squared_distance - sum(item.loss for item in besides)
    if left <= 0:
        raise BudgetError(
            f"epsilon={epsilon:g}: the other items of the bill leave nothing for {parts[0].name}. "
            f"Give them smaller parts of the budget."
        )
    return tuple(part.item(left) for part in parts)


def _check_shares(parts: Sequence[Part]) -> None:
    shares = [part.share for part in parts]
    if not (min(shares) > 0 and math.isclose(sum(shares), 1.0)):
        raise ParameterError("parts: expected shares above 0 that add up to 1.")
