"""`TableNoise`: discrete Gaussian noise from a lookup table, faster than exact sampling.

A draw is a uniform word of 128 bits from the operating system, looked up in a table that gives
every integer a run of words: `2^128 p(k)` of them rounded down for k != 0, the rest for 0. So the
distance of a draw from the exact discrete Gaussian, in total variation, is the excess mass of 0.

The table is computed in integers alone. Weights `exp(-k^2 / 2 sigma^2)` are enclosed between fixed
point numbers that are rounded down and up at every step, so the stated distance is a bound, not an
estimate. It is charged to delta: see "The table source" in `docs/privacy.md`.
"""

from __future__ import annotations

import itertools
import os
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tabpe._utils import validation
from tabpe.errors import ParameterError, TabpeError

WORDS = 1 << 128
_HALF = 1 << 64
_BITS = 256
_ONE = 1 << _BITS
_DIGITS = 100  # of decimals on the way to fixed point: 332 bits
_BLOCK = 1 << 18


class TableNoise:
    """Discrete Gaussian noise by table, without a seed.

    Privacy: a draw is within `sampling_error` of the exact discrete Gaussian, in total variation,
    and is symmetric and sub-Gaussian with the same sigma. Only public tables are kept between
    draws, so threads and forked processes share no randomness.

    Example:
        >>> TableNoise().draw(3, sigma=10.0).shape
        (3,)
    """

    name = "discrete Gaussian by table, within 2^-108 of exact, operating system randomness"
    private = True
    sampling_error = 2.0**-108
    largest_sigma = 1e4

    def draw(self, size: int, sigma: float) -> NDArray[np.int64]:
        """Return `size` independent draws of parameter `sigma`."""
        table = build_gaussian_table(validation.check_real("sigma", sigma, above=0))
        drawn = np.empty(size, dtype=np.int64)
        for start in range(0, size, _BLOCK):
            block = drawn[start : start + _BLOCK]
            words = np.frombuffer(os.urandom(16 * len(block)), dtype=np.uint64)
            block[:] = table.look_up_integers(*words.reshape(2, -1))
        return drawn


@dataclass(frozen=True, eq=False)
class GaussianTable:
    """Which words of 128 bits stand for which integer.

    Args:
        high: High halves of the first word of each integer from `-reach` to `reach`, ascending.
        low: Low halves of the same words.
        excess: At least the distance from the exact distribution, in total variation.

    Example:
        >>> table = build_gaussian_table(10.0)
        >>> middle = np.array([2**63], dtype=np.uint64)
        >>> table.reach, table.look_up_integers(middle, middle)
        (130, array([0]))
    """

    high: NDArray[np.uint64]
    low: NDArray[np.uint64]
    excess: Fraction

    @property
    def reach(self) -> int:
        """The largest integer of the table."""
        return len(self.high) // 2

    def look_up_integers(
        self, high: NDArray[np.uint64], low: NDArray[np.uint64]
    ) -> NDArray[np.int64]:
        """Return the integer that each word stands for, given by its halves.

        The high halves decide, unless one equals that of a first word, which happens once in 2^64
        words for each: then the low halves decide.
        """
        after = np.searchsorted(self.high, high, side="right")
        for tied in np.flatnonzero(self.high[after - 1] == high):
            first = np.searchsorted(self.high, high[tied], side="left")
            among = self.low[first : after[tied]]
            after[tied] = first + np.searchsorted(among, low[tied], side="right")
        return after.astype(np.int64) - 1 - self.reach


@lru_cache(maxsize=8)
def build_gaussian_table(sigma: float) -> GaussianTable:
    """Return the table of a sigma."""
    if sigma > TableNoise.largest_sigma:
        raise ParameterError(
            f"sigma={sigma:g}: a table serves up to {TableNoise.largest_sigma:g}. Use "
            f"noise='opendp' for more."
        )
    side, excess = _compute_shares(sigma)
    # Half of the sampling error is left for the rounding of floats where it is charged.
    if 2 * excess > Fraction(TableNoise.sampling_error):
        raise TabpeError(f"sigma={sigma:g}: the table is not exact enough.")
    shares = [*reversed(side), WORDS - 2 * sum(side), *side]
    firsts = list(itertools.accumulate(shares, initial=0))[:-1]
    high = np.array([first // _HALF for first in firsts], dtype=np.uint64)
    low = np.array([first % _HALF for first in firsts], dtype=np.uint64)
    high.setflags(write=False)
    low.setflags(write=False)
    return GaussianTable(high, low, excess)


def _compute_shares(sigma: float) -> tuple[list[int], Fraction]:
    """Return how many words 1, 2, ... get, and an upper bound of the excess mass of 0."""
    weights, total = _compute_weights(sigma)
    side = [share for weight in weights if (share := weight * WORDS // total)]
    return side, Fraction(WORDS - 2 * sum(side), WORDS) - Fraction(_ONE, total)


def _compute_weights(sigma: float) -> tuple[list[int], int]:
    """Return weights of 1, 2, ... rounded down, and the weight of all integers rounded up.

    By recurrence: with a = exp(-1 / 2 sigma^2), the weight of k + 1 is that of k times a^(2k + 1).
    Lower and upper bounds are carried along. It ends before the first weight that is too small for
    a word; from there on weights fall at least as fast as a geometric series.
    """
    ratio, top_ratio = _compute_decay(sigma)
    step, top_step = _round_down(ratio * ratio), _round_up(top_ratio * top_ratio)
    weights, top_sum = [], 0
    weight, top_weight = ratio, top_ratio
    while weight * WORDS >= _ONE:
        weights.append(weight)
        top_sum += top_weight
        ratio, top_ratio = _round_down(ratio * step), _round_up(top_ratio * top_step)
        weight, top_weight = _round_down(weight * ratio), _round_up(top_weight * top_ratio)
    top_rest = -(-top_weight * _ONE // (_ONE - top_ratio))
    return weights, _ONE + 2 * (top_sum + top_rest)


def _compute_decay(sigma: float) -> tuple[int, int]:
    """Return exp(-1 / 2 sigma^2) in fixed point, rounded down and up.

    A context rounds every operation its own way except `exp`, which always rounds to nearest: so
    the neighboring decimal is taken. The float sigma is exactly a decimal.
    """
    down, up = (Context(_DIGITS, rounding, traps=[]) for rounding in (ROUND_FLOOR, ROUND_CEILING))
    # The constructor would obey a user who traps floats.
    exact = Decimal.from_float(sigma)  # noqa: FURB164
    least = down.divide(1, up.multiply(2, up.multiply(exact, exact)))
    most = up.divide(1, down.multiply(2, down.multiply(exact, exact)))
    low = down.next_minus(down.exp(most.copy_negate()))
    high = up.next_plus(up.exp(least.copy_negate()))
    return int(down.multiply(low, _ONE)), int(up.multiply(high, _ONE)) + 1


def _round_down(product: int) -> int:
    return product >> _BITS


def _round_up(product: int) -> int:
    return -(-product >> _BITS)
