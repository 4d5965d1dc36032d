"""The promise that noise keeps.

Guarantee of this module: the epsilon of a bill is an upper bound. The privacy loss distribution of
the discrete Gaussian mechanism (`dp_accounting`, a pessimistic estimate) is composed over every
item. The analytic formula of the continuous Gaussian, which is slightly unsafe for discrete noise,
is here for guesses alone (`tabpe.privacy.plan`).

Why one number a histogram is enough: noise is independent between cells, and neighbours that
differ by a row differ by one in `Neighbours.cells` cells. Untouched cells have no privacy loss;
each touched one has that of a one-dimensional discrete Gaussian with sensitivity 1. So a histogram
costs `cells` of these, and rounds compose adaptively. A histogram in which a row counts in k
different cells costs k times as many, and is on the bill k times.

The histograms of users are on a fine grid, where discrete noise is rounded continuous noise but for
a slack that delta pays (`tabpe.privacy.slack`). There only the length of the difference counts, and
all items compose to one Gaussian mechanism.

*Noise that follows answers.* A privacy loss distribution composes mechanisms whose noise was fixed
before the first answer. Where later noise may follow earlier answers, items compose as Gaussian
mechanisms instead (`adaptive`). Discrete Gaussian noise of sigma satisfies Gaussian DP with the
parameter `gaussian_parameter(sigma)`, which is hardly more than 1 / sigma. If the squares of these
parameters add up to at most a limit that was fixed at the beginning, the whole satisfies Gaussian
DP with that limit, however each sigma follows from what came before (Smith and Thakurta 2022;
claims 16 and 17 of docs/privacy.md). The guarantee is that of the limit.

A bill of more than a few items is made up of distributions by `tabpe.privacy.merging`.

A choice by the exponential mechanism has no cells: `tabpe.privacy.choices` has its losses.

An item may also tell values that one row alone holds, with a small chance (`BillItem.chance`). That
chance is a part of delta, and the rest of the bill is composed at what is left.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tabpe import _validate
from tabpe.errors import ParameterError
from tabpe.privacy import choices, merging
from tabpe.privacy.adjacency import ROWS, SMALLEST_USER_SIGMA, Neighbours
from tabpe.privacy.bill import EXPONENTIAL, BillItem

SMALLEST_DELTA = 1e-12
EPSILONS = 1e-6, 1e4
LARGEST_SIGMA = 2e5
# The grid of losses, in standard deviations of the loss of an average draw.
_COARSENESS = 0.03
# The most steps of it in the loss of a draw of which hardly anything is private.
_MOST_STEPS = 1e5
# The same for a Gaussian loss that all items compose to.
_FINENESS = 0.005
# The Gaussian-DP parameter of discrete noise: how far tails are summed and compared, in sigmas; and
# from which sigma on it is a randomised rounding of noise whose variance is less by so much.
_SUMMED, _SCANNED = 20, 16
_FINE_SIGMA, _LOST_VARIANCE = 1000.0, 4.0
# What is kept of delta for floating point, and at most which part of it. Sums and Fourier
# transforms over a whole bill are off by 1e-15 or so.
_ROUNDING = 1e-13, 1e-3


def check_promise(epsilon: float, delta: float) -> None:
    """Refuse an epsilon or a delta that no promise can have."""
    low, high = EPSILONS
    _validate.real("epsilon", epsilon, above=0, hint="Usual are values from 0.1 to 10.")
    _validate.real("delta", delta, above=0, below=1, hint="Usual is a value far below 1/rows.")
    if not low <= epsilon <= high:
        raise ParameterError(f"epsilon={epsilon:g}: expected a value from {low:g} to {high:g}.")
    if delta < SMALLEST_DELTA:
        raise ParameterError(f"delta={delta:g}: expected at least {SMALLEST_DELTA:g}.")


def epsilon_of(
    sigma: float,
    delta: float,
    rounds: int,
    neighbours: Neighbours = ROWS,
    *,
    besides: Sequence[BillItem] = (),
) -> float:
    """Return the epsilon that noise of `sigma` on `rounds` histograms keeps, rounded up.

    Args:
        sigma: Scale of the discrete Gaussian noise.
        delta: The delta of the promise.
        rounds: Number of histograms.
        neighbours: The neighbouring relation.
        besides: What else is on the bill.

    Example:
        >>> round(epsilon_of(14.05, 1.5754e-5, rounds=15), 3)
        1.0
    """
    items = (*besides, BillItem("votes", sigma, rounds))
    return composed_epsilon(items, delta, neighbours)


def composed_epsilon(
    items: Sequence[BillItem],
    delta: float,
    neighbours: Neighbours = ROWS,
    *,
    adaptive: bool = False,
) -> float:
    """Return the epsilon of a whole bill at `delta`, rounded up; 0 for an empty bill.

    Args:
        items: The bill.
        delta: The delta of the guarantee.
        neighbours: The neighbouring relation.
        adaptive: Whether noise may follow earlier answers, as long as this epsilon stays within a
            limit that was fixed at the beginning.
    """
    check_promise(1.0, delta)
    left = delta - told_chance(items, neighbours)
    if left < SMALLEST_DELTA:
        raise ParameterError(
            f"delta={delta:g}: the chance that a value of one row is told takes all of it. Ask for "
            f"a larger delta."
        )
    choices.check_relation(items, neighbours)
    if not items:
        return 0.0
    if neighbours.of_users or adaptive:
        return _gaussian_epsilon(_squared_parameter(items, neighbours), left)
    return _composed_epsilon(tuple(items), left, neighbours.cells)


def told_chance(items: Sequence[BillItem], neighbours: Neighbours) -> float:
    """Return the part of delta that pays for values that one row alone may hold."""
    return neighbours.cells * sum(item.times * item.chance for item in items)


@functools.lru_cache(maxsize=4096)
def gaussian_parameter(sigma: float) -> float:
    """Return the Gaussian-DP parameter of discrete Gaussian noise on a count that moves by one.

    Claim 16 of docs/privacy.md: with z(k) such that a standard normal variable exceeds it as often
    as the noise is k or more, it is the largest z(k) - z(k - 1), here over all k but those of a
    mass below 1e-54. By symmetry z(0) = -z(1). Beyond `_FINE_SIGMA`, noise is a randomised rounding
    of continuous noise whose variance is less by `_LOST_VARIANCE`, but for one part in 1e34.

    Example:
        >>> [round(sigma * gaussian_parameter(sigma), 5) for sigma in (1.0, 2.0, 17.0, 2e4)]
        [1.04576, 1.01065, 1.00014, 1.0]
    """
    from scipy.special import ndtri_exp

    if sigma >= _FINE_SIGMA:
        return 1 / math.sqrt(sigma**2 - _LOST_VARIANCE)
    counts = np.arange(1, math.ceil(_SUMMED * sigma) + 2)
    tails = np.logaddexp.accumulate(-0.5 * (counts[::-1] / sigma) ** 2)[::-1]
    seen = tails[: math.ceil(_SCANNED * sigma) + 1] - np.log1p(2 * np.exp(tails[0]))
    scores = -ndtri_exp(seen)
    return float(max(2 * scores[0], np.diff(scores).max(initial=0.0)))


def gaussian_mu(epsilon: float, delta: float) -> float:
    """Return the Gaussian-DP parameter whose curve passes through (epsilon, delta)."""
    from scipy.optimize import brentq

    return float(brentq(lambda mu: gaussian_delta(mu, epsilon) - delta, 1e-9, 1e4, rtol=1e-12))


def gaussian_delta(mu: float, epsilon: float) -> float:
    """Return the delta at `epsilon` of a Gaussian mechanism (Balle and Wang 2018).

    Example:
        >>> round(gaussian_delta(1.0, 1.0), 4)
        0.1269
    """
    from scipy.special import log_ndtr, ndtr

    second = math.exp(epsilon + float(log_ndtr(-epsilon / mu - mu / 2)))
    return float(ndtr(-epsilon / mu + mu / 2)) - second


@functools.lru_cache(maxsize=64)
def _composed_epsilon(items: tuple[BillItem, ...], delta: float, cells: int) -> float:
    # An epsilon of hundreds has an exponential beyond floating point, which is as good as infinite.
    with np.errstate(over="ignore"):
        total = _composed_loss(items, cells)
        return float(total.get_epsilon_for_delta(delta - _rounding(delta)))


@functools.lru_cache(maxsize=8)
def _composed_loss(items: tuple[BillItem, ...], cells: int) -> Any:
    grid = _grid(items)
    chosen = [item for item in items if item.mechanism == EXPONENTIAL]
    counted = [item for item in items if item.mechanism != EXPONENTIAL]
    if len(counted) <= merging.FEW:
        losses = [_loss(item.sigma, item.times * cells, grid) for item in counted]
    else:
        losses = merging.losses(counted, cells, grid)
    losses += [choices.loss(item.sigma, grid).self_compose(item.times) for item in chosen]
    return functools.reduce(lambda one, other: one.compose(other), losses)


def _squared_parameter(items: Sequence[BillItem], neighbours: Neighbours) -> float:
    """Return the squared Gaussian-DP parameter of a bill: those of its items add up."""
    if any(item.mechanism == EXPONENTIAL for item in items):
        raise ParameterError(
            "bill: choices by the exponential mechanism do not compose as Gaussian mechanisms. "
            "Where noise follows answers, hold them to a limit of zCDP (`Filter`)."
        )
    if not neighbours.of_users:
        return neighbours.cells * math.fsum(
            item.times * gaussian_parameter(item.sigma) ** 2 for item in items
        )
    least = min(item.sigma for item in items)
    if least < SMALLEST_USER_SIGMA:
        raise ParameterError(
            f"epsilon: leaves noise of sigma={least:.3g} on the votes of users, expected at least "
            f"{SMALLEST_USER_SIGMA:g}. Ask for a smaller epsilon."
        )
    rounded = 1 / (12 * neighbours.scale**2)
    loss = sum(item.times / (item.sigma**2 - rounded) for item in items)
    return neighbours.squared_distance * loss


@functools.lru_cache(maxsize=256)
def _gaussian_epsilon(squared: float, delta: float) -> float:
    """Return the epsilon of one Gaussian mechanism, by its squared parameter."""
    from dp_accounting.pld import privacy_loss_distribution as pld

    if squared > 4 * EPSILONS[1]:  # an epsilon above all that may be asked for
        return math.inf
    mu = math.sqrt(squared)
    with np.errstate(over="ignore"):
        total = pld.from_gaussian_mechanism(
            1 / mu,
            pessimistic_estimate=True,
            value_discretization_interval=_FINENESS * mu,
            use_connect_dots=True,
        )
        return float(total.get_epsilon_for_delta(delta - _rounding(delta)))


def _rounding(delta: float) -> float:
    absolute, relative = _ROUNDING
    return min(absolute, relative * delta)


def _loss(sigma: float, times: int, grid: float) -> Any:
    from dp_accounting.pld import privacy_loss_distribution as pld

    once = pld.from_discrete_gaussian_mechanism(
        sigma, pessimistic_estimate=True, value_discretization_interval=grid, use_connect_dots=True
    )
    return once.self_compose(times)


def _grid(items: tuple[BillItem, ...]) -> float:
    """Return how finely losses are told apart: a small part of the spread of an average one.

    To connect the dots splits a loss between its neighbours on the grid, which adds at most a
    quarter of the squared step to its variance of 1 / sigma^2. But not so finely that a single
    draw under next to no noise fills the memory.
    """
    draws = sum(item.times for item in items)
    spread = math.sqrt(sum(item.loss for item in items) / draws)
    widest = 1 / min(item.sigma for item in items) ** 2
    return max(_COARSENESS * spread, widest / _MOST_STEPS)
