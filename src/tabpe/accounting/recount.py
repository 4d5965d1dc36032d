"""The epsilon of a bill once more, from first principles.

`tabpe verify` must not trust what made the certificate. So this module shares neither code nor
method with `tabpe.accounting.pld`, and imports no library of accounting: it writes down how the
privacy loss of a bill is distributed, and sums.

*Rows.* Let p be the noise on a cell, and q the same noise moved by one. The loss of a draw x of p
is log p(x)/q(x) = (1 - 2x) / (2 sigma^2). So the loss of n draws depends on their sum alone:
n / (2 sigma^2) - (sum) / sigma^2. Both directions of a neighbouring pair have this one
distribution: x to 1 - x swaps p and q, because discrete Gaussian noise is as likely up as down.

*The sum of n draws* is found by adding up positive terms, by repeated doubling. If sigma is at
least `_SMOOTH` the sum is itself a discrete Gaussian, of parameter sigma sqrt(n), within 1e-30 in
all: their characteristic functions differ by less than exp(-pi^2 sigma^2). And a discrete Gaussian
of parameter s is at most, as a random variable, a continuous one plus 1, because its terms fall
away from 0 on both sides; where s is at least `_DENSE` that is used instead of millions of terms.

*The bill.* The losses of items are independent, so their distributions are convolved, on one
grid. Each item is rounded up to that grid, once, whatever the number of its draws. To raise a loss
can only raise delta, so the result is an upper bound. Tails beyond `_REACH` standard deviations
weigh less than exp(-_REACH^2 / 2) = 1e-31, because discrete Gaussian noise is sub-Gaussian, and
Fourier transforms of 2^20 probabilities are off by 1e-15; `_ROUNDING` of delta pays for both.

*Choices.* A choice by the exponential mechanism, of range w, is dominated by a loss with density
proportional to e^(loss/2) between -w and w (docs/privacy.md). That density is integrated between
places on the grid, and goes to the places on both sides such that both neighbours keep their
masses: that raises the divergence at every epsilon, and hardly.

*Adaptive bills.* Where noise followed earlier answers no distribution of the loss is known in
advance. If the limit was one of zCDP, the sum of the losses of all items bounds the Renyi
divergence of every order a by a / 2 times that sum, and each order bounds epsilon (Canonne, Kamath,
Steinke 2020, Proposition 12); the least over many orders is taken. If it was one of Gaussian DP,
each draw is replaced by a Gaussian mechanism that dominates it, and the squares of their parameters
add up, also if noise follows answers (claims 16 and 17 of docs/privacy.md). A parameter m dominates
if a standard normal variable plus m exceeds every quantile as often as the noise plus 1 does: that
is tried for each threshold, for the m that the chance of 0 gives, where it is tight. From
`_ROUNDED` on, noise is a randomised rounding of continuous noise of a variance that is less by 4.

*Users.* Their items are rounded continuous noise (docs/privacy.md), whose squared parameters add
up to that of one Gaussian mechanism, and delta has a closed form.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tabpe.accounting.neighboring import ROW_LEVEL, SMALLEST_USER_SIGMA, NeighboringRelation
from tabpe.accounting.spend import EXPONENTIAL, Spend
from tabpe.errors import ParameterError

Masses = NDArray[np.float64]
DrawKind = tuple[float, bool]  # sigma, and whether it is a choice

LEAST_DELTA = 1e-12
# Beyond these no run can have charged anything, and floating point may end.
SIGMAS, MOST_TIMES, MOST_LOSS = (1e-3, 1e12), 10**15, 1e6
MOST_SIGMAS, MOST_ROUGH_DRAWS = 256, 10_000
_SMOOTH, _DENSE = 3.0, 2e4
_LARGE_SIGMA = 60.0
_REACH = 12.0
_GRID = 2**20
_ROUNDING = 1e-14
# Floating point of places on the grid, in steps of it, and of the answer.
_NUDGE, _ULPS = 1e-7, 1e-9


def recount_epsilon(
    items: Sequence[Spend],
    delta: float,
    neighbours: NeighboringRelation = ROW_LEVEL,
    *,
    sampling_delta: float = 0.0,
    adaptive: bool = False,
    gaussian: bool = False,
) -> float:
    """Return the epsilon of a bill at `delta`: an upper bound, and a close one.

    Args:
        items: The bill.
        delta: The delta of the promise.
        neighbours: The neighbouring relation.
        sampling_delta: The part of delta that pays for noise that is not exact.
        adaptive: Whether noise may have followed earlier answers.
        gaussian: If it may: whether its limit was one of Gaussian DP, and not of zCDP.

    Raises:
        ParameterError: If too little is left of delta, or a bill is beyond anything that a run
            could have charged.

    Example:
        >>> round(recount_epsilon([Spend("votes", 14.05, 15)], 1.5754e-5), 3)
        1.0
    """
    _check_spends(items, adaptive=adaptive)
    told = neighbours.cells * sum(item.times * item.chance for item in items)
    left = delta - sampling_delta - told
    if not LEAST_DELTA <= left < 1:
        raise ParameterError(
            f"delta={delta:g}: slack and chances leave {left:.3g} of it for the bill, expected at "
            f"least {LEAST_DELTA:g} and less than 1."
        )
    if not items:
        return 0.0
    chosen = any(item.mechanism == EXPONENTIAL for item in items)
    concentrated = adaptive and not gaussian
    if neighbours != ROW_LEVEL and (concentrated or chosen):
        raise ParameterError("adjacency: choices and limits of zCDP are counted for rows alone.")
    if gaussian and chosen:
        raise ParameterError("filter: choices have no place within a limit of Gaussian DP.")
    adaptively = _compute_dominated_epsilon if gaussian else _compute_renyi_epsilon
    compose = (
        _compute_user_epsilon
        if neighbours.is_user_level
        else adaptively
        if adaptive
        else _compute_row_epsilon
    )
    return compose(tuple(items), left - _ROUNDING, neighbours) * (1 + _ULPS)


def _check_spends(items: Sequence[Spend], *, adaptive: bool) -> None:
    if not adaptive and len({item.sigma for item in items}) > MOST_SIGMAS:
        raise ParameterError(f"bill: more than {MOST_SIGMAS} different sigmas.")
    low, high = SIGMAS
    for item in items:
        if not low <= item.sigma <= high:
            raise ParameterError(f"sigma={item.sigma:g}: expected from {low:g} to {high:g}.")
        if item.times > MOST_TIMES:
            raise ParameterError(f"times: expected at most {MOST_TIMES:,}.")
    choices = sum(item.times for item in items if item.mechanism == EXPONENTIAL)
    if not adaptive and choices > MOST_ROUGH_DRAWS:
        raise ParameterError(f"times: {choices:,} choices, expected at most {MOST_ROUGH_DRAWS:,}.")
    if sum(item.loss for item in items) > MOST_LOSS:
        raise ParameterError("bill: so little noise that no promise is left.")


def _compute_user_epsilon(
    items: tuple[Spend, ...], delta: float, neighbours: NeighboringRelation
) -> float:
    least = min(item.sigma for item in items)
    if least < SMALLEST_USER_SIGMA:
        raise ParameterError(
            f"sigma={least:g}: expected at least {SMALLEST_USER_SIGMA:g} on the votes of users."
        )
    # A continuous draw that is rounded to parts of a count has a variance larger by 1/12 of a part.
    rounded = 1 / (12 * neighbours.scale**2)
    loss = sum(item.times / (item.sigma**2 - rounded) for item in items)
    return _compute_gaussian_epsilon(math.sqrt(neighbours.squared_distance * loss), delta)


def _compute_dominated_epsilon(
    items: tuple[Spend, ...], delta: float, neighbours: NeighboringRelation
) -> float:
    squares = sum(item.times * _find_dominating_mu(item.sigma) ** 2 for item in items)
    return _compute_gaussian_epsilon(math.sqrt(neighbours.cells * squares), delta)


@lru_cache(maxsize=256)
def _find_dominating_mu(sigma: float) -> float:
    """Return the parameter of a Gaussian mechanism that dominates a draw on a count that moves.

    Noise below 0, and noise of at most 0, are as likely as a normal variable below -m/2 and below
    m/2: that gives m. Every other threshold k must then have P(noise > k - 1) at most the chance
    that a normal variable plus m exceeds what it exceeds by itself with P(noise > k).
    """
    from scipy.special import erfc, log_ndtr

    if sigma >= _LARGE_SIGMA:
        return 1 / math.sqrt(sigma**2 - 4)
    weights = np.exp(-((np.arange(1, math.ceil(2 * _REACH * sigma) + 3) / sigma) ** 2) / 2)
    above = np.cumsum(weights[::-1])[::-1] / (1 + 2 * weights.sum())
    if not above[0] > 0:
        raise ParameterError(f"sigma={sigma:g}: so little noise that no promise is left.")
    low, high = 0.0, 80.0
    while high - low > _ULPS * high:
        middle = (low + high) / 2
        over = erfc(middle / math.sqrt(8)) > 2 * above[0]
        low, high = (middle, high) if over else (low, middle)
    chances = np.log(above[: math.floor(_REACH * sigma) + 1])
    least, most = np.zeros(len(chances)), np.full(len(chances), 80.0)
    for _ in range(60):
        middles = (least + most) / 2
        inside = log_ndtr(-middles) > chances
        least, most = np.where(inside, middles, least), np.where(inside, most, middles)
    if (log_ndtr(high - most[1:]) < chances[:-1] - _NUDGE).any():
        raise ParameterError(f"sigma={sigma:g}: found no Gaussian mechanism that dominates it.")
    return high


def _compute_gaussian_epsilon(mu: float, delta: float) -> float:
    low, high = 0.0, mu * (mu + 40)
    if _compute_gaussian_delta(mu, low) <= delta:
        return 0.0
    while high - low > _ULPS * high:
        middle = (low + high) / 2
        over = _compute_gaussian_delta(mu, middle) > delta
        low, high = (middle, high) if over else (low, middle)
    return high


def _compute_gaussian_delta(mu: float, epsilon: float) -> float:
    """Return how much more than e^epsilon times as likely an outcome of N(mu, 1) than of N(0, 1).

    The outcomes that are so much likelier are those above epsilon / mu + mu / 2.
    """
    from scipy.special import log_ndtr

    over = epsilon / mu + mu / 2
    likelier, other = float(log_ndtr(mu - over)), float(log_ndtr(-over))
    return math.exp(likelier) - math.exp(epsilon + other)


def _compute_renyi_epsilon(items: tuple[Spend, ...], delta: float, _: NeighboringRelation) -> float:
    """Return the least bound over Renyi orders from just above 1 to beyond any use."""
    rho = sum(item.loss for item in items) / 2
    orders = 1 + np.exp(np.linspace(-8.0, 20.0, 200_001))
    bounds = rho * orders + np.log1p(-1 / orders) - (np.log(delta * orders)) / (orders - 1)
    return max(float(bounds.min()), 0.0)


@lru_cache(maxsize=64)
def _compute_row_epsilon(
    items: tuple[Spend, ...], delta: float, neighbours: NeighboringRelation
) -> float:
    draws: Counter[DrawKind] = Counter()
    for item in items:
        draws[item.sigma, item.mechanism == EXPONENTIAL] += item.times * neighbours.cells
    mean, variance = (
        sum(parts) for parts in zip(*map(_compute_moments, draws.items()), strict=True)
    )
    # Half a deviation more than the reach: room for what was rounded up.
    step = (2 * _REACH + 1) * math.sqrt(variance) / _GRID
    masses = _convolve_draws(draws, step)
    losses = mean + step * np.arange(-_GRID // 2, _GRID // 2, dtype=np.float64)
    return _find_least_epsilon(losses, masses, delta)


def _compute_moments(draws: tuple[DrawKind, int]) -> tuple[float, float]:
    """Return the mean and the variance of the loss of all draws of a kind, or a bit more."""
    (sigma, is_choice), times = draws
    if not is_choice:
        return times / sigma**2 / 2, times / sigma**2
    return times * _compute_choice_mean(2 / sigma), times * (2 / sigma) ** 2 / 3


def _compute_choice_mean(width: float) -> float:
    """Return the mean of the density e^(loss/2) between -width and width."""
    return width / math.tanh(width / 2) - 2


def _find_least_epsilon(losses: Masses, masses: Masses, delta: float) -> float:
    """Return the least of 0 and the losses on the grid at which the hockey stick is in `delta`."""
    if not np.isfinite(masses).all():
        raise ParameterError("bill: so little noise that no promise is left.")
    if _compute_hockey_stick(losses, masses, 0.0) <= delta:
        return 0.0
    low, high = int(np.searchsorted(losses, 0.0)) - 1, len(losses) - 1
    while high - low > 1:
        middle = (low + high) // 2
        over = _compute_hockey_stick(losses, masses, float(losses[middle])) > delta
        low, high = (middle, high) if over else (low, middle)
    return float(losses[high])


def _compute_hockey_stick(losses: Masses, masses: Masses, epsilon: float) -> float:
    """Return the delta at `epsilon`: the mean of 1 - e^(epsilon - loss) where that is positive."""
    first = int(np.searchsorted(losses, epsilon, side="right"))
    return float(masses[first:] @ -np.expm1(epsilon - losses[first:]))


def _convolve_draws(draws: Mapping[DrawKind, int], step: float) -> Masses:
    """Return how the loss of all draws lies around its mean, which is in the middle of the grid."""
    if len(draws) == 1 and not any(is_choice for _, is_choice in draws):
        ((sigma, _), times), *_rest = draws.items()
        return _discretize_noise(sigma, times, step)
    product = np.ones(_GRID // 2 + 1, dtype=np.complex128)
    for (sigma, is_choice), times in draws.items():
        once = (
            _discretize_choice(2 / sigma, step)
            if is_choice
            else _discretize_noise(sigma, times, step)
        )
        product *= np.fft.rfft(np.fft.ifftshift(once)) ** (times if is_choice else 1)
    return np.fft.fftshift(np.fft.irfft(product, _GRID))


def _discretize_choice(width: float, step: float) -> Masses:
    """Return how the loss of a choice lies around its mean, on the grid.

    Whatever lies between two places goes to them both, so that what the other neighbour has there
    stays the same: e^(step/2) times as much up as down. At both ends it is rounded up.
    """
    mean = _compute_choice_mean(width)
    # The last place is the first on the grid that is not below the largest loss.
    first = math.floor((-width - mean) / step - _NUDGE)
    last = math.ceil((width - mean) / step + _NUDGE)
    edges = np.clip(mean + step * np.arange(first, last + 1), -width, width)
    chances = np.diff(np.exp((edges - width) / 2)) / -math.expm1(-width)
    down = chances / (1 + math.exp(step / 2))
    down[0] = down[-1] = 0.0
    masses = np.zeros(_GRID)
    masses[_GRID // 2 + first + 1 : _GRID // 2 + last + 1] = chances - down
    masses[_GRID // 2 + first : _GRID // 2 + last] += down
    return masses


def _discretize_noise(sigma: float, draws: int, step: float) -> Masses:
    """Return how the loss of `draws` lies around its mean, rounded up to the grid.

    That loss is minus their sum over sigma^2; minus the sum is distributed as the sum.
    """
    spread = sigma * math.sqrt(draws)
    if sigma >= _SMOOTH and spread >= _DENSE:
        return _discretize_continuous(spread, step * sigma**2)
    chances = (
        _compute_gaussian_masses(spread) if sigma >= _SMOOTH else _convolve_noise(sigma, draws)
    )
    sums = np.arange(len(chances)) - len(chances) // 2
    places = np.ceil(sums / sigma**2 / step + _NUDGE).astype(np.int64)
    masses = np.zeros(_GRID)
    np.add.at(masses, places + _GRID // 2, chances)
    return masses


def _discretize_continuous(spread: float, step: float) -> Masses:
    """Return the masses of a continuous Gaussian plus 1 on a grid of `step`, rounded up."""
    from scipy.special import ndtr

    edges = (np.arange(_GRID + 1) - _GRID // 2 - 1) * step
    above = ndtr((1 - edges) / spread)
    return above[:-1] - above[1:]


def _compute_gaussian_masses(sigma: float) -> Masses:
    """Return the discrete Gaussian, from -k to k."""
    reach = math.floor(_REACH * sigma)
    weights: Masses = np.exp(-((np.arange(-reach, reach + 1) / sigma) ** 2) / 2)
    chances: Masses = weights / weights.sum()
    return chances


def _convolve_noise(sigma: float, draws: int) -> Masses:
    """Return the distribution of the sum of `draws`, from -k to k."""
    if draws > MOST_ROUGH_DRAWS:
        raise ParameterError(
            f"times: {draws:,} draws of noise of sigma={sigma:g}, expected at most "
            f"{MOST_ROUGH_DRAWS:,} where sigma is below {_SMOOTH:g}."
        )
    if draws == 1:
        return _compute_gaussian_masses(sigma)
    half = _convolve_noise(sigma, draws // 2)
    total = np.convolve(half, half)
    if draws % 2:
        total = np.convolve(total, _compute_gaussian_masses(sigma))
    spare = len(total) // 2 - math.floor(_REACH * sigma * math.sqrt(draws))
    return total[spare:-spare] if spare > 0 else total
