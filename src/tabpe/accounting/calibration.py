"""Calibration: the noise of each spend that meets a requested (epsilon, delta).

The budget is divided by *loss*: times / sigma^2 of histograms, and the same with sigma = 2 / range
of selections. That is twice the zCDP parameter rho, in which most methods state their shares.
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

# How far below the request the calibrated epsilon may lie, relatively.
_TOLERANCE = 2e-4


@dataclass(frozen=True)
class BudgetShare:
    """A share of the budget, before it is calibrated to a `Spend`.

    Args:
        name: What is measured.
        share: Its part of the loss.
        times: The number of histograms or selections.
        mechanism: `GAUSSIAN` or `EXPONENTIAL`.
    """

    name: str
    share: float
    times: int = 1
    mechanism: str = GAUSSIAN

    def make_spend(self, loss: float) -> Spend:
        """Return the spend that takes this share of a loss."""
        sigma = compute_sigma(self.share * loss, self.times)
        return Spend(self.name, sigma, self.times, mechanism=self.mechanism)


def compute_sigma(loss: float, times: int = 1) -> float:
    """Return the sigma at which `times` measurements have this loss in total.

    Example:
        >>> compute_sigma(0.5, times=2)
        2.0
    """
    return math.sqrt(times / loss)


def scale_shares(parts: Sequence[BudgetShare], share: float) -> tuple[BudgetShare, ...]:
    """Return the parts of a method that gets this share of the whole budget."""
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
    """Return spends whose total epsilon is at most, and close to, the requested one.

    Privacy: all spends, `other_spends` included, are composed (`compose_epsilon`), and their
    epsilon at delta is at most `epsilon`. The analytic formula of the continuous Gaussian only
    provides guesses: it is slightly unsafe for discrete noise.

    Args:
        parts: Shares of what `other_spends` leave; they add up to 1.
        epsilon: The guarantee; never exceeded.
        delta: The guarantee; from 1e-12 to below 1.
        neighbours: The neighboring relation.
        other_spends: What else is spent.
        adaptive: Whether noise may depend on earlier answers.

    Raises:
        BudgetError: If `other_spends` leave nothing.

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
    spends = _divide_loss(parts, loss, neighbours, other_spends, epsilon)
    for spend in spends:
        check_noise_level(spend, epsilon)
    while True:
        found = compose_epsilon((*other_spends, *spends), delta, neighbours, adaptive=adaptive)
        if epsilon * (1 - tolerance) <= found <= epsilon:
            return spends
        # Discrete noise is a little off the analytic curve: aim as far off to the other side. Ever
        # further below the request, because for little noise epsilon does not fall smoothly.
        aim = epsilon * (1 - tolerance / 2)
        seen = found if math.isfinite(found) else 2 * epsilon
        loss *= (solve_gaussian_mu(aim, delta) / solve_gaussian_mu(seen, delta)) ** 2
        spends, tolerance = (
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
    """Return the smallest sigma that meets (epsilon, delta) over `rounds` histograms.

    See `calibrate_spends`, of which this is the case of one share.

    Example:
        >>> from tabpe.accounting import compute_epsilon
        >>> sigma = calibrate_sigma(1.0, 1e-5, rounds=15)
        >>> round(sigma, 1), compute_epsilon(sigma, 1e-5, rounds=15) <= 1.0
        (14.5, True)
    """
    validation.check_integer("rounds", rounds, least=1)
    plan = (BudgetShare("votes", 1.0, rounds),)
    return calibrate_spends(plan, epsilon, delta, neighbours, other_spends)[0].sigma


def check_noise_level(spend: Spend, epsilon: float) -> None:
    """Refuse noise that is larger than any table."""
    if spend.sigma > LARGEST_SIGMA:
        raise ParameterError(
            f"epsilon={epsilon:g}: {spend.name} would need noise of sigma={spend.sigma:.3g} on "
            f"every count, which is larger than any table. Ask for a larger epsilon, fewer rounds, "
            f"or a larger part of the budget for this."
        )


def _divide_loss(
    parts: Sequence[BudgetShare],
    loss: float,
    neighbours: NeighboringRelation,
    other_spends: Sequence[Spend],
    epsilon: float,
) -> tuple[Spend, ...]:
    left = loss / neighbours.squared_distance - sum(spend.loss for spend in other_spends)
    if left <= 0:
        raise BudgetError(
            f"epsilon={epsilon:g}: the other spends leave nothing for {parts[0].name}. Give them "
            f"smaller parts of the budget."
        )
    return tuple(part.make_spend(left) for part in parts)


def _check_shares(parts: Sequence[BudgetShare]) -> None:
    shares = [part.share for part in parts]
    if not (min(shares) > 0 and math.isclose(sum(shares), 1.0)):
        raise ParameterError("parts: expected shares above 0 that add up to 1.")
