"""A second accountant: the epsilon of spends from first principles.

`tabpe verify` must not trust what made the certificate. So this module shares neither code nor
method with `tabpe.accounting.pld`, and imports no accounting library: it writes down the
distribution of the privacy loss, and sums.

*Rows.* Let p be the noise on a cell, and q the same noise moved by one. The loss of a draw x of p
is log p(x)/q(x) = (1 - 2x) / (2 sigma^2). So the loss of n draws depends on their sum alone:
n / (2 sigma^2) - (sum) / sigma^2. Both directions of a neighboring pair have this one
distribution: x to 1 - x swaps p and q, because discrete Gaussian noise is as likely up as down.

*The sum of n draws* is found by adding up positive terms, by repeated doubling. If sigma is at
least `_SMOOTH` the sum is itself a discrete Gaussian, of parameter sigma sqrt(n), within 1e-30 in
all: their characteristic functions differ by less than exp(-pi^2 sigma^2). And a discrete Gaussian
of parameter s is at most, as a random variable, a continuous one plus 1, because its terms fall
away from 0 on both sides; where s is at least `_DENSE` that is used instead of millions of terms.

*Composition.* The losses of spends are independent, so their distributions are convolved, on one
grid. Each spend is rounded up to that grid, once, whatever the number of its draws. Raising a loss
can only raise delta, so the result is an upper bound. Tails beyond `_REACH` standard deviations
have a mass below exp(-_REACH^2 / 2) = 1e-31, because discrete Gaussian noise is sub-Gaussian, and
Fourier transforms of 2^20 probabilities are off by 1e-15; `_ROUNDING` of delta covers both.

*Selections.* A selection by the exponential mechanism, of range w, is dominated by a loss with
density proportional to e^(loss/2) between -w and w (docs/explanation/proofs.md). That density is
integrated between grid points, and goes to the grid points on both sides such that both neighbors
keep their masses: that raises the divergence at every epsilon, though hardly.

*Adaptive noise.* Where noise depended on earlier answers, no distribution of the loss is known in
advance. If the limit was one of zCDP, the sum of the losses of all spends bounds the Renyi
divergence of every order a by a / 2 times that sum, and each order bounds epsilon (Canonne, Kamath,
Steinke 2020, Proposition 12); the least over many orders is taken. If it was one of Gaussian DP,
each draw is replaced by a Gaussian mechanism that dominates it, and the squares of their parameters
add up, also if noise is adaptive (theorems 16 and 17 of docs/explanation/proofs.md). A parameter m
dominates if a standard normal variable plus m exceeds every quantile as often as the noise plus 1
does: that is tried for each threshold, for the m that the probability of 0 gives, where it is
tight. From `_LARGE_SIGMA` on, noise is a randomised rounding of continuous noise of a variance less
by 4.

*User level.* Spends are rounded continuous noise (docs/explanation/proofs.md), whose squared
parameters add up to that of one Gaussian mechanism, and delta has a closed form.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tabpe.accounting.neighboring import ROW_LEVEL, SMALLEST_USER_SIGMA, NeighboringRelation
from tabpe.accounting.spend import EXPONENTIAL, Spend
from tabpe.errors import ParameterError

Masses = NDArray[np.float64]
DrawKind = tuple[float, bool]  # sigma, and whether it is a selection

LEAST_DELTA = 1e-12
# Beyond these no run can have charged anything, and floating point may end.
SIGMAS, MOST_TIMES, MOST_LOSS = (1e-3, 1e12), 10**15, 1e6
MOST_SIGMAS, MOST_ROUGH_DRAWS = 256, 10_000
_SMOOTH, _DENSE = 3.0, 2e4
_LARGE_SIGMA = 60.0
_REACH = 12.0
_GRID = 2**20
_ROUNDING = 1e-14
# Margins for floating point: of grid positions, in steps, and of the answer.
_NUDGE, _ULPS = 1e-7, 1e-9


def recount_epsilon(
    spends: Sequence[Spend],
    delta: float,
    neighbours: NeighboringRelation = ROW_LEVEL,
    *,
    sampling_delta: float = 0.0,
    adaptive: bool = False,
    gaussian: bool = False,
) -> float:
    """Return the epsilon of spends at `delta`: an upper bound, and a close one.

    Args:
        spends: Everything that touched private rows.
        delta: The delta of the guarantee.
        neighbours: The neighboring relation.
        sampling_delta: The part of delta that covers how far noise is from what is composed.
        adaptive: Whether noise may have depended on earlier answers.
        gaussian: If so, whether its limit was one of Gaussian DP, not of zCDP.

    Raises:
        ParameterError: If too little is left of delta, or the spends are beyond anything that a
            run could have charged.

    Example:
        >>> round(recount_epsilon([Spend("votes", 14.05, 15)], 1.5754e-5), 3)
        1.0
    """
    _check_spends(spends, adaptive=adaptive)
    release_delta = neighbours.cells * sum(spend.times * spend.delta_share for spend in spends)
    left = delta - sampling_delta - release_delta
    if not LEAST_DELTA <= left < 1:
        raise ParameterError(
            f"delta={delta:g}: sampling error and releases of values leave {left:.3g} of it, "
            f"expected at least {LEAST_DELTA:g} and less than 1."
        )
    if not spends:
        return 0.0
    chosen = any(spend.mechanism == EXPONENTIAL for spend in spends)
    concentrated = adaptive and not gaussian
    if neighbours != ROW_LEVEL and (concentrated or chosen):
        raise ParameterError("adjacency: selections and zCDP limits are for add/remove-one row.")
    if gaussian and chosen:
        raise ParameterError("filter: a limit of Gaussian DP does not cover selections.")
    compose: Callable[[tuple[Spend, ...], float, NeighboringRelation], float]
    if neighbours.is_user_level:
        compose = _compute_user_epsilon
    elif adaptive:
        compose = _compute_dominated_epsilon if gaussian else _compute_renyi_epsilon
    else:
        compose = _compute_row_epsilon
    return compose(tuple(spends), left - _ROUNDING, neighbours) * (1 + _ULPS)


def _check_spends(spends: Sequence[Spend], *, adaptive: bool) -> None:
    if not adaptive and len({spend.sigma for spend in spends}) > MOST_SIGMAS:
        raise ParameterError(f"spends: more than {MOST_SIGMAS} different sigmas.")
    low, high = SIGMAS
    for spend in spends:
        if not low <= spend.sigma <= high:
            raise ParameterError(f"sigma={spend.sigma:g}: expected from {low:g} to {high:g}.")
        if spend.times > MOST_TIMES:
            raise ParameterError(f"times: expected at most {MOST_TIMES:,}.")
    choices = sum(spend.times for spend in spends if spend.mechanism == EXPONENTIAL)
    if not adaptive and choices > MOST_ROUGH_DRAWS:
        raise ParameterError(
            f"times: {choices:,} selections, expected at most {MOST_ROUGH_DRAWS:,}."
        )
    if sum(spend.loss for spend in spends) > MOST_LOSS:
        raise ParameterError("spends: so little noise that nothing is guaranteed.")


def _compute_user_epsilon(
    spends: tuple[Spend, ...], delta: float, neighbours: NeighboringRelation
) -> float:
    least = min(spend.sigma for spend in spends)
    if least < SMALLEST_USER_SIGMA:
        raise ParameterError(
            f"sigma={least:g}: expected at least {SMALLEST_USER_SIGMA:g} on the votes of users."
        )
    # Rounding a continuous draw to a grid adds 1/12 of a squared grid step to its variance.
    rounded = 1 / (12 * neighbours.scale**2)
    loss = sum(spend.times / (spend.sigma**2 - rounded) for spend in spends)
    return _compute_gaussian_epsilon(math.sqrt(neighbours.squared_distance * loss), delta)


def _compute_dominated_epsilon(
    spends: tuple[Spend, ...], delta: float, neighbours: NeighboringRelation
) -> float:
    squares = sum(spend.times * _find_dominating_mu(spend.sigma) ** 2 for spend in spends)
    return _compute_gaussian_epsilon(math.sqrt(neighbours.cells * squares), delta)


@lru_cache(maxsize=256)
def _find_dominating_mu(sigma: float) -> float:
    """Return the parameter of a Gaussian mechanism that dominates a draw at sensitivity 1.

    Noise below 0, and noise of at most 0, are as likely as a normal variable below -m/2 and below
    m/2: that gives m. Every other threshold k must then have P(noise > k - 1) at most the
    probability that a normal variable plus m exceeds what it exceeds by itself with P(noise > k).
    """
    from scipy.special import erfc, log_ndtr

    if sigma >= _LARGE_SIGMA:
        return 1 / math.sqrt(sigma**2 - 4)
    weights = np.exp(-((np.arange(1, math.ceil(2 * _REACH * sigma) + 3) / sigma) ** 2) / 2)
    above = np.cumsum(weights[::-1])[::-1] / (1 + 2 * weights.sum())
    if not above[0] > 0:
        raise ParameterError(f"sigma={sigma:g}: so little noise that nothing is guaranteed.")
    low, high = 0.0, 80.0
    while high - low > _ULPS * high:
        middle = (low + high) / 2
        over = erfc(middle / math.sqrt(8)) > 2 * above[0]
        low, high = (middle, high) if over else (low, middle)
    probabilities = np.log(above[: math.floor(_REACH * sigma) + 1])
    least, most = np.zeros(len(probabilities)), np.full(len(probabilities), 80.0)
    for _ in range(60):
        middles = (least + most) / 2
        inside = log_ndtr(-middles) > probabilities
        least, most = np.where(inside, middles, least), np.where(inside, most, middles)
    if (log_ndtr(high - most[1:]) < probabilities[:-1] - _NUDGE).any():
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
    """Return the hockey-stick divergence at `epsilon` of N(mu, 1) from N(0, 1).

    The outcomes more than e^epsilon times as likely are those above epsilon / mu + mu / 2.
    """
    from scipy.special import log_ndtr

    over = epsilon / mu + mu / 2
    likelier, other = float(log_ndtr(mu - over)), float(log_ndtr(-over))
    return math.exp(likelier) - math.exp(epsilon + other)


def _compute_renyi_epsilon(
    spends: tuple[Spend, ...], delta: float, _: NeighboringRelation
) -> float:
    """Return the least bound over Renyi orders, from just above 1 to very large ones."""
    rho = sum(spend.loss for spend in spends) / 2
    orders = 1 + np.exp(np.linspace(-8.0, 20.0, 200_001))
    bounds = rho * orders + np.log1p(-1 / orders) - (np.log(delta * orders)) / (orders - 1)
    return max(float(bounds.min()), 0.0)


@lru_cache(maxsize=64)
def _compute_row_epsilon(
    spends: tuple[Spend, ...], delta: float, neighbours: NeighboringRelation
) -> float:
    draws: Counter[DrawKind] = Counter()
    for spend in spends:
        draws[spend.sigma, spend.mechanism == EXPONENTIAL] += spend.times * neighbours.cells
    mean, variance = (
        sum(parts) for parts in zip(*map(_compute_moments, draws.items()), strict=True)
    )
    # Half a deviation more than the reach: room for what was rounded up.
    step = (2 * _REACH + 1) * math.sqrt(variance) / _GRID
    masses = _convolve_draws(draws, step)
    losses = mean + step * np.arange(-_GRID // 2, _GRID // 2, dtype=np.float64)
    return _find_least_epsilon(losses, masses, delta)


def _compute_moments(draws: tuple[DrawKind, int]) -> tuple[float, float]:
    """Return the mean of the loss of all draws of a kind, and a bound of its variance."""
    (sigma, is_choice), times = draws
    if not is_choice:
        return times / sigma**2 / 2, times / sigma**2
    return times * _compute_choice_mean(2 / sigma), times * (2 / sigma) ** 2 / 3


def _compute_choice_mean(width: float) -> float:
    """Return the mean of the density e^(loss/2) between -width and width."""
    return width / math.tanh(width / 2) - 2


def _find_least_epsilon(losses: Masses, masses: Masses, delta: float) -> float:
    """Return the least loss on the grid, at least 0, whose divergence is within `delta`."""
    if not np.isfinite(masses).all():
        raise ParameterError("spends: so little noise that nothing is guaranteed.")
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
    """Return the distribution of the loss of all draws; its mean is in the middle of the grid."""
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
    """Return the distribution of the loss of a selection around its mean, on the grid.

    The mass between two grid points goes to both, so that the mass of the other neighbor there
    stays the same: e^(step/2) times as much up as down. At both ends it is rounded up.
    """
    mean = _compute_choice_mean(width)
    # The last grid point is the first that is not below the largest loss.
    first = math.floor((-width - mean) / step - _NUDGE)
    last = math.ceil((width - mean) / step + _NUDGE)
    edges = np.clip(mean + step * np.arange(first, last + 1), -width, width)
    probabilities = np.diff(np.exp((edges - width) / 2)) / -math.expm1(-width)
    down = probabilities / (1 + math.exp(step / 2))
    down[0] = down[-1] = 0.0
    masses = np.zeros(_GRID)
    masses[_GRID // 2 + first + 1 : _GRID // 2 + last + 1] = probabilities - down
    masses[_GRID // 2 + first : _GRID // 2 + last] += down
    return masses


def _discretize_noise(sigma: float, draws: int, step: float) -> Masses:
    """Return the distribution of the loss of `draws` around its mean, rounded up to the grid.

    That loss is minus their sum over sigma^2; minus the sum is distributed as the sum.
    """
    spread = sigma * math.sqrt(draws)
    if sigma >= _SMOOTH and spread >= _DENSE:
        return _discretize_continuous(spread, step * sigma**2)
    probabilities = (
        _compute_gaussian_masses(spread) if sigma >= _SMOOTH else _convolve_noise(sigma, draws)
    )
    sums = np.arange(len(probabilities)) - len(probabilities) // 2
    indices = np.ceil(sums / sigma**2 / step + _NUDGE).astype(np.int64)
    masses = np.zeros(_GRID)
    np.add.at(masses, indices + _GRID // 2, probabilities)
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
    probabilities: Masses = weights / weights.sum()
    return probabilities


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
