"""Privacy loss distributions: the epsilon of many spends.

The price of a choice: how the privacy loss of the exponential mechanism is distributed.

The exponential mechanism picks an option with chance proportional to exp(score / scale). Its loss
between neighbours is (change of the score of what was picked) / scale plus a constant, so all
losses of one choice lie in an interval of width

    range = (largest change - smallest change of a score) / scale.

A mechanism with that property, of *bounded range*, may have its interval anywhere around zero. The
worst of two outcomes with the losses t and t - range has at epsilon the hockey-stick divergence
(1 - e^(t-range) - e^(epsilon-t) + e^(epsilon-range)) / (1 - e^-range), and the worst t is
(epsilon + range) / 2. So for every epsilon from -range to range

    delta(epsilon) <= (1 - e^((epsilon-range)/2))^2 / (1 - e^-range),

which is a curve of one distribution: that of a loss with density proportional to e^(loss/2) between
-range and range. It dominates every choice of that range, whatever the scores are, and so its
composition dominates every adaptive composition of such choices (docs/privacy.md). It is its own
mirror image: neighbours may be swapped.

Long bills, of many scales of noise: for the accounts of a thousand runs.

To compose one scale takes milliseconds, and runs whose noise follows from a noisy count all have
scales of their own. If there are too many, neighbouring ones are put in groups, and every draw of a
group is accounted for by one privacy loss distribution that dominates those of all its scales. Its
hockey-stick divergence is the largest of theirs at every epsilon of the grid. A maximum of such
curves is convex in e^epsilon, as each of them is, so to connect its dots gives a distribution; and
what dominates each draw dominates the composition. Nothing is assumed about how epsilon depends on
sigma, which for little discrete noise is not monotone.

The promise that noise keeps.

Guarantee of this module: the epsilon of a bill is an upper bound. The privacy loss distribution of
the discrete Gaussian mechanism (`dp_accounting`, a pessimistic estimate) is composed over every
item. The analytic formula of the continuous Gaussian, which is slightly unsafe for discrete noise,
is here for guesses alone (`tabpe.accounting.calibration`).

Why one number a histogram is enough: noise is independent between cells, and neighbours that
differ by a row differ by one in `NeighboringRelation.cells` cells. Untouched cells have no privacy
loss; each touched one has that of a one-dimensional discrete Gaussian with sensitivity 1. So a
histogram costs `cells` of these, and rounds compose adaptively. A histogram in which a row counts
in k different cells costs k times as many, and is on the bill k times.

The histograms of users are on a fine grid, where discrete noise is rounded continuous noise but for
a slack that delta pays (`tabpe.accounting.delta`). There only the length of the difference counts,
and all items compose to one Gaussian mechanism.

*Noise that follows answers.* A privacy loss distribution composes mechanisms whose noise was fixed
before the first answer. Where later noise may follow earlier answers, items compose as Gaussian
mechanisms instead (`adaptive`). Discrete Gaussian noise of sigma satisfies Gaussian DP with the
parameter `compute_gaussian_parameter(sigma)`, which is hardly more than 1 / sigma. If the squares
of these parameters add up to at most a limit that was fixed at the beginning, the whole satisfies
Gaussian DP with that limit, however each sigma follows from what came before (Smith and Thakurta
2022; claims 16 and 17 of docs/privacy.md). The guarantee is that of the limit.

A bill of more than a few items is made up of distributions by `tabpe.accounting.pld`.

A choice by the exponential mechanism has no cells: `tabpe.accounting.pld` has its losses.

An item may also tell values that one row alone holds, with a small chance (`Spend.chance`). That
chance is a part of delta, and the rest of the bill is composed at what is left.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabpe._utils import validation
from tabpe.accounting.neighboring import ROW_LEVEL, SMALLEST_USER_SIGMA, NeighboringRelation
from tabpe.accounting.spend import EXPONENTIAL, Spend
from tabpe.errors import ParameterError


def compute_range(sigma: float) -> float:
    """Return the range of a choice that is on the bill with `sigma`."""
    return 2 / sigma


def build_choice_pld(sigma: float, grid: float) -> Any:
    """Return a privacy loss distribution that dominates that of a choice.

    Args:
        sigma: 2 / range.
        grid: The step between losses.
    """
    from dp_accounting.pld import pld_pmf
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution

    width = compute_range(sigma)
    most = math.ceil(width / grid) + 1
    steps = np.arange(-most, most + 1)
    deltas = compute_divergences((steps * grid).astype(np.float64), width)
    return PrivacyLossDistribution(pld_pmf.create_pmf_pessimistic_connect_dots(grid, steps, deltas))


def compute_divergences(epsilons: NDArray[np.float64], width: float) -> NDArray[np.float64]:
    """Return the largest hockey-stick divergence of any choice of that range, at each epsilon.

    Example:
        >>> compute_divergences(np.array([-1.0, 0.0, 1.0]), 1.0).round(4)
        array([0.6321, 0.2449, 0.    ])
    """
    inside = np.expm1((np.clip(epsilons, -width, width) - width) / 2) ** 2 / -math.expm1(-width)
    below = -np.expm1(np.minimum(epsilons, 0.0))
    return np.where(epsilons < -width, below, np.where(epsilons > width, 0.0, inside))


def check_relation(items: Sequence[Spend], neighbours: NeighboringRelation) -> None:
    """Refuse choices for another promise than that to rows that come or go.

    The range of a choice is known for one row more or less; two rows, or those of a user, move
    scores further.
    """
    if neighbours != ROW_LEVEL and any(item.mechanism == EXPONENTIAL for item in items):
        raise ParameterError(
            "adjacency: choices by the exponential mechanism are accounted for tables that differ "
            "by adding or removing one row, and for no other relation."
        )


FEW = 4
MOST_GROUPS = 64
# The waste that is allowed a group to begin with, as a part of the whole loss.
_LEAST_WASTE = 1e-9
_MORE_WASTE = 1.5
# Where the tails of the noise are cut, in sigmas: beyond it is a mass of less than 1e-36.
_REACH = 13
# The largest exponent; where it would be larger, a tail is zero in floating point.
_LARGEST = 700.0


def merge_losses(items: Sequence[Spend], cells: int, grid: float) -> list[Any]:
    """Return privacy loss distributions that, composed, dominate the whole of a long bill.

    Args:
        items: The bill.
        cells: How many cells of a histogram differ between neighbours, by one each.
        grid: The step between losses.
    """
    return [
        build_dominating_pld([item.sigma for item in group], grid).self_compose(
            cells * sum(item.times for item in group)
        )
        for group in group_spends(items)
    ]


def group_spends(items: Sequence[Spend]) -> list[list[Spend]]:
    """Return items of similar noise together, and each by itself if there are few.

    Example:
        >>> bill = [Spend("votes", 10 + run / 100, 15) for run in range(1000)]
        >>> len(group_spends(bill[:5])), len(group_spends(bill)) <= MOST_GROUPS
        (5, True)
    """
    if len(items) <= MOST_GROUPS:
        return [[item] for item in items]
    ordered = sorted(items, key=lambda item: item.sigma)
    allowed = _LEAST_WASTE * sum(item.loss for item in ordered)
    while len(found := _split_groups(ordered, allowed)) > MOST_GROUPS:
        allowed *= _MORE_WASTE
    return found


def build_dominating_pld(sigmas: Sequence[float], grid: float) -> Any:
    """Return a privacy loss distribution that dominates that of noise of each sigma.

    Args:
        sigmas: Scales of discrete Gaussian noise on a count that moves by one.
        grid: The step between losses.
    """
    from dp_accounting.pld import pld_pmf
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution

    least = min(sigmas)
    most = math.ceil((_REACH * least + 1) / least**2 / grid)
    steps = np.arange(-most, most + 1)
    epsilons = (steps * grid).astype(np.float64)
    deltas = np.max([_compute_deltas(sigma, epsilons) for sigma in sigmas], axis=0)
    dots = pld_pmf.create_pmf_pessimistic_connect_dots(grid, steps, deltas)
    return PrivacyLossDistribution(dots)


def _split_groups(ordered: list[Spend], allowed: float) -> list[list[Spend]]:
    """Cut items into groups that each lose less than allowed if all get the least noise of it."""
    found, waste = [[ordered[0]]], 0.0
    for item in ordered[1:]:
        waste += item.times / found[-1][0].sigma ** 2 - item.loss
        if waste > allowed:
            found.append([item])
            waste = 0.0
        else:
            found[-1].append(item)
    return found


def _compute_deltas(sigma: float, epsilons: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the hockey-stick divergences of noise around one from noise around zero.

    The loss of an outcome k is (2k - 1) / 2 sigma^2, so those that count are all from one on.
    """
    first = np.floor(sigma**2 * epsilons + 0.5).astype(np.int64) + 1
    upper = _compute_upper_tails(sigma)
    deltas = _look_up_tail(upper, first - 1) - np.exp(
        np.minimum(epsilons, _LARGEST)
    ) * _look_up_tail(upper, first)
    return np.clip(deltas, 0.0, 1.0)


def _compute_upper_tails(sigma: float) -> NDArray[np.float64]:
    """Return the chance of k or more for k = 0, 1, ..., summed from the small ones on."""
    weights = np.exp(-0.5 * (np.arange(math.ceil(_REACH * sigma) + 1) / sigma) ** 2)
    tails = np.cumsum(weights[::-1])[::-1]
    return np.append(tails / (2 * tails[0] - 1), 0.0)


def _look_up_tail(upper: NDArray[np.float64], least: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the chance of `least` or more, by symmetry for negative ones."""
    last = len(upper) - 1
    above, below = upper[np.clip(least, 0, last)], upper[np.clip(1 - least, 0, last)]
    return np.where(least > 0, above, 1 - below)


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


def check_guarantee(epsilon: float, delta: float) -> None:
    """Refuse an epsilon or a delta that no promise can have."""
    low, high = EPSILONS
    validation.check_real("epsilon", epsilon, above=0, hint="Usual are values from 0.1 to 10.")
    validation.check_real(
        "delta", delta, above=0, below=1, hint="Usual is a value far below 1/rows."
    )
    if not low <= epsilon <= high:
        raise ParameterError(f"epsilon={epsilon:g}: expected a value from {low:g} to {high:g}.")
    if delta < SMALLEST_DELTA:
        raise ParameterError(f"delta={delta:g}: expected at least {SMALLEST_DELTA:g}.")


def compute_epsilon(
    sigma: float,
    delta: float,
    rounds: int,
    neighbours: NeighboringRelation = ROW_LEVEL,
    *,
    other_spends: Sequence[Spend] = (),
) -> float:
    """Return the epsilon that noise of `sigma` on `rounds` histograms keeps, rounded up.

    Args:
        sigma: Scale of the discrete Gaussian noise.
        delta: The delta of the promise.
        rounds: Number of histograms.
        neighbours: The neighbouring relation.
        other_spends: What else is on the bill.

    Example:
        >>> round(compute_epsilon(14.05, 1.5754e-5, rounds=15), 3)
        1.0
    """
    items = (*other_spends, Spend("votes", sigma, rounds))
    return compose_epsilon(items, delta, neighbours)


def compose_epsilon(
    items: Sequence[Spend],
    delta: float,
    neighbours: NeighboringRelation = ROW_LEVEL,
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
    check_guarantee(1.0, delta)
    left = delta - compute_release_delta(items, neighbours)
    if left < SMALLEST_DELTA:
        raise ParameterError(
            f"delta={delta:g}: the chance that a value of one row is told takes all of it. Ask for "
            f"a larger delta."
        )
    check_relation(items, neighbours)
    if not items:
        return 0.0
    if neighbours.is_user_level or adaptive:
        return _compute_gaussian_epsilon(_compute_squared_parameter(items, neighbours), left)
    return _compose_epsilon(tuple(items), left, neighbours.cells)


def compute_release_delta(items: Sequence[Spend], neighbours: NeighboringRelation) -> float:
    """Return the part of delta that pays for values that one row alone may hold."""
    return neighbours.cells * sum(item.times * item.chance for item in items)


@functools.lru_cache(maxsize=4096)
def compute_gaussian_parameter(sigma: float) -> float:
    """Return the Gaussian-DP parameter of discrete Gaussian noise on a count that moves by one.

    Claim 16 of docs/privacy.md: with z(k) such that a standard normal variable exceeds it as often
    as the noise is k or more, it is the largest z(k) - z(k - 1), here over all k but those of a
    mass below 1e-54. By symmetry z(0) = -z(1). Beyond `_FINE_SIGMA`, noise is a randomised rounding
    of continuous noise whose variance is less by `_LOST_VARIANCE`, but for one part in 1e34.

    Example:
        >>> [round(sigma * compute_gaussian_parameter(sigma), 5) for sigma in (1.0, 2.0, 17.0, 2e4)]
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


def solve_gaussian_mu(epsilon: float, delta: float) -> float:
    """Return the Gaussian-DP parameter whose curve passes through (epsilon, delta)."""
    from scipy.optimize import brentq

    return float(
        brentq(lambda mu: compute_gaussian_delta(mu, epsilon) - delta, 1e-9, 1e4, rtol=1e-12)
    )


def compute_gaussian_delta(mu: float, epsilon: float) -> float:
    """Return the delta at `epsilon` of a Gaussian mechanism (Balle and Wang 2018).

    Example:
        >>> round(compute_gaussian_delta(1.0, 1.0), 4)
        0.1269
    """
    from scipy.special import log_ndtr, ndtr

    second = math.exp(epsilon + float(log_ndtr(-epsilon / mu - mu / 2)))
    return float(ndtr(-epsilon / mu + mu / 2)) - second


@functools.lru_cache(maxsize=64)
def _compose_epsilon(items: tuple[Spend, ...], delta: float, cells: int) -> float:
    # An epsilon of hundreds has an exponential beyond floating point, which is as good as infinite.
    with np.errstate(over="ignore"):
        total = _compose_losses(items, cells)
        return float(total.get_epsilon_for_delta(delta - _compute_rounding(delta)))


@functools.lru_cache(maxsize=8)
def _compose_losses(items: tuple[Spend, ...], cells: int) -> Any:
    grid = _choose_grid(items)
    chosen = [item for item in items if item.mechanism == EXPONENTIAL]
    counted = [item for item in items if item.mechanism != EXPONENTIAL]
    if len(counted) <= FEW:
        losses = [_build_gaussian_pld(item.sigma, item.times * cells, grid) for item in counted]
    else:
        losses = merge_losses(counted, cells, grid)
    losses += [build_choice_pld(item.sigma, grid).self_compose(item.times) for item in chosen]
    return functools.reduce(lambda one, other: one.compose(other), losses)


def _compute_squared_parameter(items: Sequence[Spend], neighbours: NeighboringRelation) -> float:
    """Return the squared Gaussian-DP parameter of a bill: those of its items add up."""
    if any(item.mechanism == EXPONENTIAL for item in items):
        raise ParameterError(
            "bill: choices by the exponential mechanism do not compose as Gaussian mechanisms. "
            "Where noise follows answers, hold them to a limit of zCDP (`Filter`)."
        )
    if not neighbours.is_user_level:
        return neighbours.cells * math.fsum(
            item.times * compute_gaussian_parameter(item.sigma) ** 2 for item in items
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
def _compute_gaussian_epsilon(squared: float, delta: float) -> float:
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
        return float(total.get_epsilon_for_delta(delta - _compute_rounding(delta)))


def _compute_rounding(delta: float) -> float:
    absolute, relative = _ROUNDING
    return min(absolute, relative * delta)


def _build_gaussian_pld(sigma: float, times: int, grid: float) -> Any:
    from dp_accounting.pld import privacy_loss_distribution as pld

    once = pld.from_discrete_gaussian_mechanism(
        sigma, pessimistic_estimate=True, value_discretization_interval=grid, use_connect_dots=True
    )
    return once.self_compose(times)


def _choose_grid(items: tuple[Spend, ...]) -> float:
    """Return how finely losses are told apart: a small part of the spread of an average one.

    To connect the dots splits a loss between its neighbours on the grid, which adds at most a
    quarter of the squared step to its variance of 1 / sigma^2. But not so finely that a single
    draw under next to no noise fills the memory.
    """
    draws = sum(item.times for item in items)
    spread = math.sqrt(sum(item.loss for item in items) / draws)
    widest = 1 / min(item.sigma for item in items) ** 2
    return max(_COARSENESS * spread, widest / _MOST_STEPS)
