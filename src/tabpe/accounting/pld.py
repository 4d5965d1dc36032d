"""Privacy loss distributions: the epsilon of many spends at a delta.

Guarantee of this module: the epsilon of some spends is an upper bound. The privacy loss
distribution of the discrete Gaussian mechanism (`dp_accounting`, a pessimistic estimate) is
composed over every spend. The analytic formula of the continuous Gaussian, which is slightly unsafe
for discrete noise, only serves guesses (`tabpe.accounting.calibration`).

*Histograms.* Noise is independent between cells, and neighbors that differ by a row differ by one
in `NeighboringRelation.cells` cells. Untouched cells have no privacy loss; each touched one has
that of a one-dimensional discrete Gaussian with sensitivity 1. So a histogram costs `cells` of
these, and rounds compose adaptively. A histogram in which a row adds to k different cells costs
k times as many, and is charged k times.

*User level.* The histograms of users are on a fine grid, where discrete noise is rounded continuous
noise except for a sampling error that is charged to delta (`tabpe.accounting.delta`). There only
the L2 norm of the difference counts, and all spends compose to one Gaussian mechanism.

*Adaptive noise.* A privacy loss distribution composes mechanisms whose noise was fixed before the
first answer. Where later noise may depend on earlier answers, spends compose as Gaussian mechanisms
instead (`adaptive`). Discrete Gaussian noise of sigma satisfies Gaussian DP with the parameter
`compute_gaussian_parameter(sigma)`, which is hardly more than 1 / sigma. If the squares of these
parameters add up to at most a limit that was fixed at the beginning, the whole satisfies Gaussian
DP with that limit, however each sigma depends on what came before (Smith and Thakurta 2022;
theorems 16 and 17 of docs/explanation/proofs.md). The guarantee is that of the limit.

*Rare values.* A spend may also release values that occur in one row only, with a small probability
(`Spend.delta_share`). That is a part of delta, and the rest is composed at what is left.

*Selections.* The exponential mechanism picks an option with probability proportional to
exp(score / scale). Its loss between neighbors is (change of the score of the option picked) / scale
plus a constant, so all losses of one selection lie in an interval of width

    range = (largest change - smallest change of a score) / scale.

A mechanism with that property, of *bounded range*, may have its interval anywhere around zero. The
worst of two outcomes with the losses t and t - range has at epsilon the hockey-stick divergence
(1 - e^(t-range) - e^(epsilon-t) + e^(epsilon-range)) / (1 - e^-range), and the worst t is
(epsilon + range) / 2. So for every epsilon from -range to range

    delta(epsilon) <= (1 - e^((epsilon-range)/2))^2 / (1 - e^-range),

which is a curve of one distribution: that of a loss with density proportional to e^(loss/2) between
-range and range. It dominates every selection of that range, whatever the scores are, and so its
composition dominates every adaptive composition of such selections (docs/explanation/proofs.md). It
is its own mirror image: neighbors may be swapped.

*Many sigmas.* Composing one sigma takes milliseconds, but runs whose noise depends on a noisy count
all have sigmas of their own. If there are too many, similar ones are grouped, and every draw of a
group is accounted for by one privacy loss distribution that dominates those of all its sigmas. Its
hockey-stick divergence is the largest of theirs at every epsilon of the grid. A maximum of such
curves is convex in e^epsilon, as each of them is, so connecting its dots gives a distribution; and
what dominates each draw dominates the composition. Nothing is assumed about how epsilon depends on
sigma, which for little discrete noise is not monotone.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from decimal import ROUND_CEILING, Context
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabpe._utils import validation
from tabpe.accounting.neighboring import ROW_LEVEL, SMALLEST_USER_SIGMA, NeighboringRelation
from tabpe.accounting.spend import EXPONENTIAL, Spend
from tabpe.errors import ParameterError


def compute_range(sigma: float) -> float:
    """Return the range of a selection that was charged with `sigma`."""
    return 2 / sigma


def build_choice_pld(sigma: float, grid: float) -> Any:
    """Return a privacy loss distribution that dominates that of a selection.

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
    """Return the largest hockey-stick divergence of a selection of that range, at each epsilon.

    Example:
        >>> compute_divergences(np.array([-1.0, 0.0, 1.0]), 1.0).round(4)
        array([0.6321, 0.2449, 0.    ])
    """
    inside = np.expm1((np.clip(epsilons, -width, width) - width) / 2) ** 2 / -math.expm1(-width)
    below = -np.expm1(np.minimum(epsilons, 0.0))
    return np.where(epsilons < -width, below, np.where(epsilons > width, 0.0, inside))


def check_relation(spends: Sequence[Spend], neighbours: NeighboringRelation) -> None:
    """Refuse selections under any relation but add/remove-one row.

    The range of a selection is known for adding or removing one row; two rows, or those of a user,
    change scores further.
    """
    if neighbours != ROW_LEVEL and any(spend.mechanism == EXPONENTIAL for spend in spends):
        raise ParameterError(
            "adjacency: selections by the exponential mechanism are accounted for under "
            "add/remove-one row, and under no other relation."
        )


FEW = 4
MOST_GROUPS = 64
# The loss that grouping may add to a group at first, as a part of the whole loss.
_LEAST_WASTE = 1e-9
_MORE_WASTE = 1.5
# Where the tails of the noise are cut, in sigmas: beyond it is a mass of less than 1e-36.
_REACH = 13
# The largest exponent; where it would be larger, a tail is zero in floating point.
_LARGEST = 700.0


def merge_losses(spends: Sequence[Spend], cells: int, grid: float) -> list[Any]:
    """Return privacy loss distributions that, composed, dominate many histograms.

    Args:
        spends: The spends.
        cells: How many cells of a histogram differ between neighbors, by one each.
        grid: The step between losses.
    """
    return [
        build_dominating_pld([spend.sigma for spend in group], grid).self_compose(
            cells * sum(spend.times for spend in group)
        )
        for group in group_spends(spends)
    ]


def group_spends(spends: Sequence[Spend]) -> list[list[Spend]]:
    """Return spends of similar noise together, and each by itself if there are few.

    Example:
        >>> spends = [Spend("votes", 10 + run / 100, 15) for run in range(1000)]
        >>> len(group_spends(spends[:5])), len(group_spends(spends)) <= MOST_GROUPS
        (5, True)
    """
    if len(spends) <= MOST_GROUPS:
        return [[spend] for spend in spends]
    ordered = sorted(spends, key=lambda spend: spend.sigma)
    allowed = _LEAST_WASTE * sum(spend.loss for spend in ordered)
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
    """Split spends into groups; taking the least sigma for all adds at most `allowed` to each."""
    found, waste = [[ordered[0]]], 0.0
    for spend in ordered[1:]:
        waste += spend.times / found[-1][0].sigma ** 2 - spend.loss
        if waste > allowed:
            found.append([spend])
            waste = 0.0
        else:
            found[-1].append(spend)
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
    """Return the probability of k or more for k = 0, 1, ..., summed from the small ones on."""
    weights = np.exp(-0.5 * (np.arange(math.ceil(_REACH * sigma) + 1) / sigma) ** 2)
    tails = np.cumsum(weights[::-1])[::-1]
    return np.append(tails / (2 * tails[0] - 1), 0.0)


def _look_up_tail(upper: NDArray[np.float64], least: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the probability of `least` or more, by symmetry for negative ones."""
    last = len(upper) - 1
    above, below = upper[np.clip(least, 0, last)], upper[np.clip(1 - least, 0, last)]
    return np.where(least > 0, above, 1 - below)


SMALLEST_DELTA = 1e-12
EPSILONS = 1e-6, 1e4
LARGEST_SIGMA = 2e5
# The grid of losses, in standard deviations of the loss of an average draw.
_COARSENESS = 0.03
# The most grid steps in the loss of a draw under next to no noise.
_MOST_STEPS = 1e5
# The same for a Gaussian loss that all spends compose to.
_FINENESS = 0.005
# The Gaussian-DP parameter of discrete noise: how far tails are summed and compared, in sigmas; and
# from which sigma on it is a randomised rounding of noise whose variance is less by so much.
_SUMMED, _SCANNED = 20, 16
_FINE_SIGMA, _LOST_VARIANCE = 1000.0, 4.0
# What is kept of delta for floating point, absolutely and relatively. Sums and Fourier transforms
# over all spends are off by 1e-15 or so.
_ROUNDING = 1e-13, 1e-3


def round_up(value: float, digits: int) -> float:
    """Return a positive value rounded up to so many significant digits.

    Example:
        >>> round_up(0.123456, 3), round_up(1.0, 3)
        (0.124, 1.0)
    """
    return float(Context(prec=digits, rounding=ROUND_CEILING).create_decimal(repr(value)))


def check_guarantee(epsilon: float, delta: float) -> None:
    """Refuse an epsilon or a delta that can not be guaranteed."""
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
    """Return the epsilon of `rounds` histograms under noise of `sigma`, rounded up.

    Args:
        sigma: Scale of the discrete Gaussian noise.
        delta: The delta of the guarantee.
        rounds: Number of histograms.
        neighbours: The neighboring relation.
        other_spends: What else is spent.

    Example:
        >>> round(compute_epsilon(14.05, 1.5754e-5, rounds=15), 3)
        1.0
    """
    spends = (*other_spends, Spend("votes", sigma, rounds))
    return compose_epsilon(spends, delta, neighbours)


def compose_epsilon(
    spends: Sequence[Spend],
    delta: float,
    neighbours: NeighboringRelation = ROW_LEVEL,
    *,
    adaptive: bool = False,
) -> float:
    """Return the total epsilon of spends at `delta`, rounded up; 0 if there are none.

    Args:
        spends: Everything that touched private rows.
        delta: The delta of the guarantee.
        neighbours: The neighboring relation.
        adaptive: Whether noise may depend on earlier answers, as long as this epsilon stays within
            a limit that was fixed at the beginning.

    Example:
        >>> round(compose_epsilon([Spend("votes", 17.0, 15), Spend("size", 20.0, 1)], 1e-6), 2)
        0.98
    """
    check_guarantee(1.0, delta)
    left = delta - compute_release_delta(spends, neighbours)
    if left < SMALLEST_DELTA:
        raise ParameterError(
            f"delta={delta:g}: the probability of releasing a value of one row takes all of it. "
            f"Ask for a larger delta."
        )
    check_relation(spends, neighbours)
    if not spends:
        return 0.0
    if neighbours.is_user_level or adaptive:
        return _compute_gaussian_epsilon(_compute_squared_parameter(spends, neighbours), left)
    return _compose_epsilon(tuple(spends), left, neighbours.cells)


def compute_release_delta(spends: Sequence[Spend], neighbours: NeighboringRelation) -> float:
    """Return the part of delta that covers the release of values of one row only."""
    return neighbours.cells * sum(spend.times * spend.delta_share for spend in spends)


@functools.lru_cache(maxsize=4096)
def compute_gaussian_parameter(sigma: float) -> float:
    """Return the Gaussian-DP parameter of discrete Gaussian noise at sensitivity 1.

    Theorem 16 of docs/explanation/proofs.md: with z(k) such that a standard normal variable exceeds
    it as often as the noise is k or more, it is the largest z(k) - z(k - 1), here over all k except
    those of a mass below 1e-54. By symmetry z(0) = -z(1). Beyond `_FINE_SIGMA`, noise is a
    randomised rounding of continuous noise whose variance is less by `_LOST_VARIANCE`, except for
    one part in 1e34.

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
def _compose_epsilon(spends: tuple[Spend, ...], delta: float, cells: int) -> float:
    # An epsilon of hundreds has an exponential beyond floating point, which is as good as infinite.
    with np.errstate(over="ignore"):
        total = _compose_losses(spends, cells)
        return float(total.get_epsilon_for_delta(delta - _compute_rounding(delta)))


@functools.lru_cache(maxsize=8)
def _compose_losses(spends: tuple[Spend, ...], cells: int) -> Any:
    grid = _choose_grid(spends)
    chosen = [spend for spend in spends if spend.mechanism == EXPONENTIAL]
    counted = [spend for spend in spends if spend.mechanism != EXPONENTIAL]
    if len(counted) <= FEW:
        losses = [_build_gaussian_pld(spend.sigma, spend.times * cells, grid) for spend in counted]
    else:
        losses = merge_losses(counted, cells, grid)
    losses += [build_choice_pld(spend.sigma, grid).self_compose(spend.times) for spend in chosen]
    return functools.reduce(lambda one, other: one.compose(other), losses)


def _compute_squared_parameter(spends: Sequence[Spend], neighbours: NeighboringRelation) -> float:
    """Return the squared Gaussian-DP parameter of spends, whose squares add up."""
    if any(spend.mechanism == EXPONENTIAL for spend in spends):
        raise ParameterError(
            "spends: selections by the exponential mechanism do not compose as Gaussian "
            "mechanisms. For adaptive noise, use a zCDP limit (`PrivacyFilter`)."
        )
    if not neighbours.is_user_level:
        return neighbours.cells * math.fsum(
            spend.times * compute_gaussian_parameter(spend.sigma) ** 2 for spend in spends
        )
    least = min(spend.sigma for spend in spends)
    if least < SMALLEST_USER_SIGMA:
        raise ParameterError(
            f"epsilon: leaves noise of sigma={least:.3g} on the votes of users, expected at least "
            f"{SMALLEST_USER_SIGMA:g}. Ask for a smaller epsilon."
        )
    rounded = 1 / (12 * neighbours.scale**2)
    loss = sum(spend.times / (spend.sigma**2 - rounded) for spend in spends)
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


def _choose_grid(spends: tuple[Spend, ...]) -> float:
    """Return the grid step of losses: a small part of the spread of an average one.

    Connecting the dots splits a loss between its neighbors on the grid, which adds at most a
    quarter of the squared step to its variance of 1 / sigma^2. The step is not so small that a
    single draw under next to no noise fills the memory.
    """
    draws = sum(spend.times for spend in spends)
    spread = math.sqrt(sum(spend.loss for spend in spends) / draws)
    widest = 1 / min(spend.sigma for spend in spends) ** 2
    return max(_COARSENESS * spread, widest / _MOST_STEPS)
