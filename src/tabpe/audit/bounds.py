"""How large epsilon must be, given what an attack got right and wrong: statistics alone.

Every bound here holds with confidence `1 - alarm`: a mechanism that keeps (epsilon, delta) shows
a bound above epsilon with probability at most `alarm`, whatever the attack.

- `compute_bound_by_errors`: from error rates alone, for any mechanism.
- `compute_bound_by_gaussian_errors`: the same rates, read as those of a Gaussian mechanism. It sees
  much more, and is a bound for mechanisms that are Gaussian, as the votes of tabpe are said to be.
- `compute_bound_by_guesses`: from the guesses about many rows of one run.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabpe.accounting.pld import compute_gaussian_delta

# The chance of a false alarm of a finding: of canaries, and of the many findings from scores. Those
# of a whole audit add up to less than one in a million.
ALARM, SCORES_ALARM = 5e-8, 3e-8
LARGEST_EPSILON = 100.0
_PRECISION = 1e-4

Scores = NDArray[np.floating[Any]] | NDArray[np.int64]


@dataclass(frozen=True)
class AttackErrors:
    """How often an attack erred that says whether a row is in the table.

    Args:
        false_alarms: How often it said so of a row that was not.
        outs: Of how many.
        misses: How often it did not say so of a row that was.
        ins: Of how many.

    Example:
        >>> [
        ...     round(limit, 4)
        ...     for limit in AttackErrors(0, 1000, 900, 1000).compute_limits(alarm=0.01)
        ... ]
        [0.0053, 0.923]
    """

    false_alarms: int
    outs: int
    misses: int
    ins: int

    @classmethod
    def from_threshold(cls, threshold: float, ins: Scores, outs: Scores) -> AttackErrors:
        """Return the errors of saying so from `compute_noise_threshold` on."""
        alarms, misses = int((outs >= threshold).sum()), int((ins < threshold).sum())
        return cls(alarms, len(outs), misses, len(ins))

    def compute_limits(self, alarm: float) -> tuple[float, float]:
        """Return upper limits of both error rates (Clopper and Pearson 1934).

        Each is exceeded with probability at most `alarm / 2`.
        """
        from scipy.stats import beta

        def limit(wrong: int, of: int) -> float:
            return 1.0 if wrong == of else float(beta.isf(alarm / 2, wrong + 1, of - wrong))

        return limit(self.false_alarms, self.outs), limit(self.misses, self.ins)


def compute_bound_by_errors(
    errors: AttackErrors, delta: float, alarm: float = SCORES_ALARM
) -> float:
    """Return a lower bound on epsilon at `delta`, for any mechanism.

    A row is found with probability at most e^epsilon times that of a false alarm, plus delta, and
    left out with at most e^epsilon times that of a miss, plus delta.

    Example:
        >>> round(compute_bound_by_errors(AttackErrors(0, 1000, 500, 1000), 1e-5, alarm=0.01), 2)
        4.46
        >>> compute_bound_by_errors(AttackErrors(500, 1000, 500, 1000), 1e-5)
        0.0
    """
    false_alarm, miss = errors.compute_limits(alarm)
    pairs = ((1 - miss - delta, false_alarm), (1 - false_alarm - delta, miss))
    return max([0.0, *(math.log(found / wrong) for found, wrong in pairs if found > 0)])


def compute_bound_by_gaussian_errors(
    errors: AttackErrors, delta: float, alarm: float = SCORES_ALARM
) -> float:
    """Return a lower bound on epsilon at `delta`, for a mechanism with Gaussian noise.

    Of a Gaussian mechanism of parameter mu no attack has error rates a and b with
    mu < z(1 - a) - z(b), where z is the quantile of the normal distribution; mu gives epsilon.
    Discrete noise can be a little beyond: 0.2% in epsilon for the votes of 15 rounds at epsilon 10,
    and up to 3% for 4. What that adds to the chance of a false alarm is less than what it saves
    that each rate has a limit of its own, as if both were off by so much at once (a test says so).

    Example:
        >>> round(
        ...     compute_bound_by_gaussian_errors(
        ...         AttackErrors(300, 1000, 300, 1000), 1e-5, alarm=0.01
        ...     ),
        ...     2,
        ... )
        3.54
    """
    from scipy.special import ndtri

    false_alarm, miss = errors.compute_limits(alarm)
    return compute_gaussian_epsilon(float(ndtri(1 - false_alarm) - ndtri(miss)), delta)


def compute_gaussian_epsilon(mu: float, delta: float) -> float:
    """Return the epsilon at `delta` of a Gaussian mechanism of parameter `mu`.

    Example:
        >>> from tabpe.accounting.pld import solve_gaussian_mu
        >>> round(compute_gaussian_epsilon(solve_gaussian_mu(2.0, 1e-5), 1e-5), 6)
        2.0
    """
    from scipy.optimize import brentq

    if mu <= 0 or compute_gaussian_delta(mu, 0.0) <= delta:
        return 0.0
    beyond = mu**2 / 2 + mu * math.sqrt(2 * math.log(1 / delta)) + 1
    return float(brentq(lambda epsilon: compute_gaussian_delta(mu, epsilon) - delta, 0.0, beyond))


def compute_bound_by_guesses(
    right: int, guesses: int, canaries: int, delta: float, alarm: float = ALARM
) -> float:
    """Return a lower bound on epsilon from guesses about many rows (Steinke et al. 2023).

    Each of the canaries was in the table by a fair coin of its own. Given the release, and the
    coins before, a coin is as guessed with probability at most p = e^epsilon / (1 + e^epsilon):
    that is what epsilon says about one row. So with delta = 0 the number of right guesses is at
    most W, binomial with parameters `guesses` and p. Delta adds to it an integer F, independent
    of W, of mean at most 2 delta `canaries`. With alpha the largest P(v - i <= W < v) / i,

        P(W + F >= v) = sum over i of P(F = i) P(W >= v - i)
                     <= P(W >= v) + sum over i of P(F = i) i alpha
                     <= P(W >= v) + 2 delta canaries alpha.

    The bound is the largest epsilon for which that is at most `alarm`. Runs on tables of their
    own are one run on all of these tables, so their guesses may be added up.

    Args:
        right: How many guesses were right, v.
        guesses: How many were made; an attack may abstain.
        canaries: Of how many rows.
        delta: The delta of the guarantee.
        alarm: One minus the confidence.

    Example:
        >>> (
        ...     round(compute_bound_by_guesses(1000, 1000, 1000, 1e-12), 2),
        ...     compute_bound_by_guesses(500, 1000, 1000, 1e-12),
        ... )
        (4.08, 0.0)
    """
    low, high = 0.0, LARGEST_EPSILON
    if compute_guess_probability(right, guesses, canaries, low, delta) > alarm:
        return 0.0
    while high - low > _PRECISION:
        middle = (low + high) / 2
        if compute_guess_probability(right, guesses, canaries, middle, delta) <= alarm:
            low = middle
        else:
            high = middle
    return low


def compute_guess_probability(
    right: int, guesses: int, canaries: int, epsilon: float, delta: float
) -> float:
    """Return at most which chance so many right guesses have at (epsilon, delta).

    Example:
        >>> compute_guess_probability(60, 60, 60, 1.0, 0.0) < 1e-8 < compute_guess_probability(
        ...     60, 60, 60, 2.0, 0.0
        ... )
        True
    """
    from scipy.stats import binom

    accuracy = 1 / (1 + math.exp(-epsilon))
    mean, spread = guesses * accuracy, math.sqrt(guesses * accuracy * (1 - accuracy))
    # Alpha is found where W is likely; further below there is no mass that could raise it.
    least = max(0, min(right - 1, math.floor(mean - 12 * spread) - 12))
    below = np.cumsum(binom.pmf(np.arange(right - 1, least - 1, -1), guesses, accuracy))
    alpha = (below / np.arange(1, len(below) + 1)).max(initial=0.0)
    return float(binom.sf(right - 1, guesses, accuracy) + 2 * delta * canaries * alpha)


def count_guesses_needed(epsilon: float, alarm: float = ALARM) -> int:
    """Return how many guesses, all of them right, show more than `epsilon` where delta is tiny.

    Example:
        >>> count_guesses_needed(1.0), count_guesses_needed(4.0)
        (60, 1019)
    """
    return math.ceil(1.1 * math.log(1 / alarm) / math.log1p(math.exp(-epsilon)))
