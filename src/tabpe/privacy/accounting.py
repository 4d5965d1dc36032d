"""Noise from a promise, and the promise that noise keeps.

Guarantee of this module: the sigma that `calibrate` returns has been verified. The privacy loss
distribution of the discrete Gaussian mechanism (`dp_accounting`, pessimistic rounding) was
composed over every item of the bill, and its epsilon at the given delta is at most the epsilon
that was asked for. The analytic formula of the continuous Gaussian only gives the first guess: it
is slightly unsafe for discrete noise.

Why one number a histogram is enough: noise is independent between cells, and neighbours differ by
one in `Adjacency.cells` cells. Untouched cells have no privacy loss; each touched one has that of
a one-dimensional discrete Gaussian with sensitivity 1. So a histogram costs `cells` of these, and
rounds compose adaptively.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

from tabpe import _validate
from tabpe.errors import BudgetError, ParameterError
from tabpe.privacy.adjacency import Adjacency
from tabpe.privacy.bill import BillItem

SMALLEST_DELTA = 1e-12
EPSILONS = 1e-6, 1e4
LARGEST_SIGMA = 2e5
_TOLERANCE = 2e-5


def check_promise(epsilon: float, delta: float) -> None:
    """Refuse an epsilon or a delta that no promise can have."""
    low, high = EPSILONS
    _validate.real("epsilon", epsilon, above=0, hint="Usual are values from 0.1 to 10.")
    _validate.real("delta", delta, above=0, below=1, hint="Usual is a value far below 1/rows.")
    if not low <= epsilon <= high:
        raise ParameterError(f"epsilon={epsilon:g}: expected a value from {low:g} to {high:g}.")
    if delta < SMALLEST_DELTA:
        raise ParameterError(f"delta={delta:g}: expected at least {SMALLEST_DELTA:g}.")


def calibrate(
    epsilon: float,
    delta: float,
    rounds: int,
    adjacency: Adjacency = Adjacency.ADD_REMOVE,
    *,
    besides: Sequence[BillItem] = (),
) -> float:
    """Return noise that keeps the promise over `rounds` histograms, and hardly more than that.

    Args:
        epsilon: The promise; never exceeded.
        delta: The promise; from 1e-12 to below 1.
        rounds: Number of histograms that get this noise.
        adjacency: The neighbouring relation.
        besides: What else is on the bill.

    Returns:
        Sigma of the discrete Gaussian noise on every cell.

    Raises:
        BudgetError: If what is already on the bill leaves nothing.

    Example:
        >>> sigma = calibrate(1.0, 1e-5, rounds=15)
        >>> round(sigma, 1), epsilon_of(sigma, 1e-5, rounds=15) <= 1.0
        (14.5, True)
    """
    from scipy.optimize import brentq

    check_promise(epsilon, delta)
    _validate.whole("rounds", rounds, least=1)
    left = gaussian_mu(epsilon, delta) ** 2 / adjacency.cells - sum(i.loss for i in besides)
    if left <= 0:
        raise BudgetError(
            f"epsilon={epsilon:g}: the other items of the bill leave nothing for {rounds} rounds."
        )
    guess = math.sqrt(rounds / left)
    if guess > LARGEST_SIGMA:
        raise ParameterError(
            f"epsilon={epsilon:g}: would need noise of sigma={guess:.3g} on every count, which "
            f"drowns any table. Ask for a larger epsilon or fewer rounds."
        )

    @functools.cache
    def excess(sigma: float) -> float:
        return epsilon_of(sigma, delta, rounds, adjacency, besides=besides) - epsilon

    low, high = guess * 0.995, guess * 1.005
    while excess(low) <= 0:
        low *= 0.98
    while excess(high) > 0:
        low, high = high, high * 1.02
    sigma = float(brentq(excess, low, high, xtol=low * _TOLERANCE, rtol=_TOLERANCE))
    # The root may lie a hair on the unsafe side, and the excess is rough at that scale.
    while excess(sigma) > 0:
        sigma *= 1 + _TOLERANCE
    return sigma


def epsilon_of(
    sigma: float,
    delta: float,
    rounds: int,
    adjacency: Adjacency = Adjacency.ADD_REMOVE,
    *,
    besides: Sequence[BillItem] = (),
) -> float:
    """Return the epsilon that noise of `sigma` on `rounds` histograms keeps, rounded up.

    Args:
        sigma: Scale of the discrete Gaussian noise.
        delta: The delta of the promise.
        rounds: Number of histograms.
        adjacency: The neighbouring relation.
        besides: What else is on the bill.

    Example:
        >>> round(epsilon_of(14.0587, 1.5754e-5, rounds=15), 3)
        1.0
    """
    items = (*besides, BillItem("votes", sigma, rounds))
    return composed_epsilon(items, delta, adjacency)


def composed_epsilon(
    items: Sequence[BillItem],
    delta: float,
    adjacency: Adjacency = Adjacency.ADD_REMOVE,
) -> float:
    """Return the epsilon of a whole bill at `delta`, rounded up; 0 for an empty bill."""
    check_promise(1.0, delta)
    if not items:
        return 0.0
    mu = math.sqrt(adjacency.cells * sum(item.loss for item in items))
    grid = _grid(gaussian_epsilon(mu, delta), mu)
    losses = [_loss(item.sigma, item.times * adjacency.cells, grid) for item in items]
    total = functools.reduce(lambda one, other: one.compose(other), losses)
    return float(total.get_epsilon_for_delta(delta))


def gaussian_mu(epsilon: float, delta: float) -> float:
    """Return the Gaussian-DP parameter whose curve passes through (epsilon, delta)."""
    from scipy.optimize import brentq

    return float(brentq(lambda mu: gaussian_delta(mu, epsilon) - delta, 1e-9, 1e4, rtol=1e-12))


def gaussian_epsilon(mu: float, delta: float) -> float:
    """Return the epsilon at `delta` of a Gaussian mechanism with parameter `mu`."""
    from scipy.optimize import brentq

    top = mu * (mu / 2 + 40)
    if gaussian_delta(mu, 0.0) <= delta:
        return 0.0
    return float(brentq(lambda epsilon: gaussian_delta(mu, epsilon) - delta, 0.0, top))


def gaussian_delta(mu: float, epsilon: float) -> float:
    """Return the delta at `epsilon` of a Gaussian mechanism (Balle and Wang 2018).

    Example:
        >>> round(gaussian_delta(1.0, 1.0), 4)
        0.1269
    """
    from scipy.special import log_ndtr, ndtr

    second = math.exp(epsilon + float(log_ndtr(-epsilon / mu - mu / 2)))
    return float(ndtr(-epsilon / mu + mu / 2)) - second


def _loss(sigma: float, times: int, grid: float) -> Any:
    from dp_accounting.pld import privacy_loss_distribution as pld

    once = pld.from_discrete_gaussian_mechanism(
        sigma, sensitivity=1, pessimistic_estimate=True, value_discretization_interval=grid
    )
    return once.self_compose(times)


def _grid(epsilon: float, mu: float) -> float:
    """Return how finely losses are rounded up: fine for a small epsilon, fast for a large one.

    Losses spread over about `mu`, which bounds the work where a large delta makes epsilon vanish.
    """
    return 1e-4 * max(min(1.0, epsilon / 0.1), epsilon / 2.0, mu / 10.0)
