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
from tabpe.accounting.neighboring import ROW_LEVEL, NeighboringRelation
from tabpe.accounting.pld import LARGEST_SIGMA, check_guarantee, compose_epsilon, solve_gaussian_mu
from tabpe.accounting.spend import GAUSSIAN, Spend
from tabpe.errors import BudgetError, ParameterError

# How far below the request the epsilon of a plan may lie, relatively.
_TOLERANCE = 2e-4


@dataclass(frozen=True)
class BudgetShare:
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

    def make_spend(self, loss: float) -> Spend:
        """Return the item that takes its share of a loss."""
        sigma = compute_sigma(self.share * loss, self.times)
        return Spend(self.name, sigma, self.times, mechanism=self.mechanism)


def compute_sigma(loss: float, times: int = 1) -> float:
    """Return the sigma with which so many measurements have a loss in all.

    Example:
        >>> compute_sigma(0.5, times=2)
        2.0
    """
    return math.sqrt(times / loss)


def scale_shares(parts: Sequence[BudgetShare], share: float) -> tuple[BudgetShare, ...]:
    """Return the parts of a method that gets a share of the whole."""
    return tuple(BudgetShare(p.name, p.share * share, p.times, p.mechanism) for p in parts)


def calibrate_spends(
    parts: Sequence[BudgetShare],
    epsilon: float,
    delta: float,
    neighbours: NeighboringRelation = ROW_LEVEL,
    other_spends: Sequence[Spend] = (),
    *,
    adaptive: bool = False,
) -> tuple[Spend, ...]:
    """Return the items of a plan that keeps a promise, and hardly more than that.

    Guarantee: all items, those of `besides` among them, were composed (`compose_epsilon`), and
    their epsilon at delta is at most the one that was asked for. The analytic formula of the
    continuous Gaussian only gives the guesses: it is slightly unsafe for discrete noise.

    Args:
        parts: What is planned. Its shares are parts of what `besides` leaves, and add up to 1.
        epsilon: The promise; never exceeded.
        delta: The promise; from 1e-12 to below 1.
        neighbours: The neighbouring relation.
        other_spends: What else is on the bill.
        adaptive: Whether noise may follow earlier answers.

    Raises:
        BudgetError: If what is already on the bill leaves nothing.

    Example:
        >>> from tabpe.accounting.spend import EXPONENTIAL
        >>> plan = (BudgetShare("one-ways", 0.5, 8), BudgetShare("choices", 0.5, 7, EXPONENTIAL))
        >>> spends = calibrate_spends(plan, 1.0, 1e-6)
        >>> 0.999 < compose_epsilon(spends, 1e-6) <= 1.0
        True
    """
    check_guarantee(epsilon, delta)
    if not parts:
        return ()
    _check_shares(parts)
    loss, tolerance = solve_gaussian_mu(epsilon, delta) ** 2, _TOLERANCE
    items = _divide_loss(parts, loss, neighbours, other_spends, epsilon)
    for item in items:
        check_noise_level(item, epsilon)
    while True:
        found = compose_epsilon((*other_spends, *items), delta, neighbours, adaptive=adaptive)
        if epsilon * (1 - tolerance) <= found <= epsilon:
            return items
        # Discrete noise is a little off the analytic curve: aim as far off to the other side. Ever
        # further below the request, because for little noise epsilon does not fall smoothly.
        aim = epsilon * (1 - tolerance / 2)
        seen = found if math.isfinite(found) else 2 * epsilon
        loss *= (solve_gaussian_mu(aim, delta) / solve_gaussian_mu(seen, delta)) ** 2
        items, tolerance = (
            _divide_loss(parts, loss, neighbours, other_spends, epsilon),
            min(2 * tolerance, 1),
        )


def calibrate_sigma(
    epsilon: float,
    delta: float,
    rounds: int,
    neighbours: NeighboringRelation = ROW_LEVEL,
    *,
    other_spends: Sequence[Spend] = (),
) -> float:
    """Return the sigma that keeps the promise over `rounds` histograms, and hardly more than that.

    It is that of a plan of one part, see `calibrate_spends`.

    Example:
        >>> from tabpe.accounting import compute_epsilon
        >>> sigma = calibrate_sigma(1.0, 1e-5, rounds=15)
        >>> round(sigma, 1), compute_epsilon(sigma, 1e-5, rounds=15) <= 1.0
        (14.5, True)
    """
    validation.check_integer("rounds", rounds, least=1)
    plan = (BudgetShare("votes", 1.0, rounds),)
    return calibrate_spends(plan, epsilon, delta, neighbours, other_spends)[0].sigma


def check_noise_level(item: Spend, epsilon: float) -> None:
    """Refuse noise that drowns any table."""
    if item.sigma > LARGEST_SIGMA:
        raise ParameterError(
            f"epsilon={epsilon:g}: {item.name} would need noise of sigma={item.sigma:.3g} on every "
            f"count, which drowns any table. Ask for a larger epsilon, for fewer rounds, or for a "
            f"larger part of the budget for this."
        )


def _divide_loss(
    parts: Sequence[BudgetShare],
    loss: float,
    neighbours: NeighboringRelation,
    other_spends: Sequence[Spend],
    epsilon: float,
) -> tuple[Spend, ...]:
    """Return the items that share what a loss leaves beside others."""
    left = loss / neighbours.squared_distance - sum(item.loss for item in other_spends)
    if left <= 0:
        raise BudgetError(
            f"epsilon={epsilon:g}: the other items of the bill leave nothing for {parts[0].name}. "
            f"Give them smaller parts of the budget."
        )
    return tuple(part.make_spend(left) for part in parts)


def _check_shares(parts: Sequence[BudgetShare]) -> None:
    shares = [part.share for part in parts]
    if not (min(shares) > 0 and math.isclose(sum(shares), 1.0)):
        raise ParameterError("parts: expected shares above 0 that add up to 1.")
