"""Proven bounds of exponentials and of cumulative probabilities, in integers of any length.

A number v is *enclosed* at b bits by integers (lower, upper) with lower <= 2^b v <= upper. Every
function here returns an enclosure, whatever its working precision; more bits make it narrower.
`exact_noise` asks for more of them until a comparison is decided, so it is never approximate.

*Arithmetic.* All numbers are >= 0 and are kept as enclosures at q bits. Sums of enclosures enclose
sums. Of lower bounds, products and quotients are rounded down, of upper bounds up. Both grow with
their factors and fall with a divisor, so the result encloses the exact one. Nothing is a float: the
float sigma is the rational number that its bits say.

*exp(-x)*, for a rational x >= 0. Let y = x / 2^k <= 1/2. The series of exp(-y) is the sum of
(-1)^i t_i with t_i = y^i / i!, alternating and falling, so the error of a partial sum is at most
the first term left out. Terms are enclosed one from the other by t_i = t_(i-1) y / i, until the
upper bound of a term is one unit; the sum is widened by that unit. Squared k times, it encloses
exp(-x). Where x > b, exp(-x) < 2^-b, and (0, 1) encloses it.

*Cumulative probabilities.* Of the distribution on j = 0, 1, 2, ... with weights w_j = exp(-x j^2),
x = 1 / (2 sigma^2); where `halve_zero`, w_0 is 1/2. With a = exp(-x) and r_j = a^(2j+1),

    w_(j+1) = w_j r_j,    r_(j+1) = r_j a^2,

with w_0 = 1 in the recurrence. With S_j = w_0 + ... + w_j, C_j = S_j / S_infinity. Ratios fall, so
what follows S_j is at most w_(j+1) / (1 - r_(j+1)): that bounds S_infinity from above, and its own
partial sums do from below. Quotients of these bounds enclose C_j. The enclosure of a in 64 more
bits keeps the bounds of C_j a few units apart: errors grow as j^2, and j stays below 2^13 or so.
"""

from __future__ import annotations

from functools import lru_cache

_GUARD = 64


def enclose_exponential(numerator: int, denominator: int, bits: int) -> tuple[int, int]:
    """Return an enclosure of exp(-numerator / denominator).

    Args:
        numerator: A number >= 0.
        denominator: A number > 0.
        bits: The unit of the enclosure is 2^-bits.

    Example:
        >>> enclose_exponential(1, 1, 20)  # 2^20 / e is 385749.55...
        (385749, 385750)
    """
    if numerator > bits * denominator:
        return 0, 1
    halvings = max(0, (2 * numerator // denominator).bit_length())
    precision = bits + halvings + 32
    low, high = _sum_series(numerator, denominator << halvings, precision)
    for _ in range(halvings):
        low, high = (low * low) >> precision, _shift_up(high * high, precision)
    return low >> (precision - bits), _shift_up(high, precision - bits)


@lru_cache(maxsize=32)
def enclose_cumulative(
    sigma: float, bits: int, *, halve_zero: bool
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return lower and upper bounds of C_0, C_1, ...: all of them but a tail below 2^-bits or so.

    Args:
        sigma: The parameter of the weights, taken as the rational number that it is.
        bits: The unit of the bounds is 2^-bits.
        halve_zero: Whether the weight of 0 is halved.

    Example:
        >>> enclose_cumulative(0.5, 8, halve_zero=False)
        ((225, 255, 255), (226, 256, 256))
    """
    precision = bits + _GUARD
    low_weights, high_weights, tail = _enclose_weights(sigma, precision, 1 << _GUARD >> 8)
    if halve_zero:
        low_weights[0] >>= 1
        high_weights[0] >>= 1
    low_total, high_total = sum(low_weights), sum(high_weights) + tail
    lower, upper = [], []
    low_sum = high_sum = 0
    for low, high in zip(low_weights, high_weights, strict=True):
        low_sum += low
        high_sum += high
        lower.append((low_sum << bits) // high_total)
        upper.append(min(-(-(high_sum << bits) // low_total), 1 << bits))
    return tuple(lower), tuple(upper)


def _enclose_weights(sigma: float, precision: int, least: int) -> tuple[list[int], list[int], int]:
    """Return bounds of w_0, w_1, ... down to the first below `least`, and one of the rest."""
    over, under = sigma.as_integer_ratio()
    one = 1 << precision
    low_ratio, high_ratio = enclose_exponential(under * under, 2 * over * over, precision)
    low_step = (low_ratio * low_ratio) >> precision
    high_step = _shift_up(high_ratio * high_ratio, precision)
    low_weights, high_weights = [], []
    low = high = one
    while high > least:
        low_weights.append(low)
        high_weights.append(high)
        low, high = (low * low_ratio) >> precision, _shift_up(high * high_ratio, precision)
        low_ratio = (low_ratio * low_step) >> precision
        high_ratio = _shift_up(high_ratio * high_step, precision)
    return low_weights, high_weights, -(-(high << precision) // (one - high_ratio))


def _sum_series(numerator: int, denominator: int, precision: int) -> tuple[int, int]:
    """Return an enclosure of exp(-y), y = numerator / denominator <= 1/2."""
    low_y = (numerator << precision) // denominator
    high_y = -(-(numerator << precision) // denominator)
    low = high = low_term = high_term = 1 << precision
    place = 0
    while high_term > 1:
        place += 1
        low_term = ((low_term * low_y) >> precision) // place
        high_term = -(-_shift_up(high_term * high_y, precision) // place)
        if place % 2:
            low, high = low - high_term, high - low_term
        else:
            low, high = low + low_term, high + high_term
    return low - high_term, high + high_term


def _shift_up(value: int, bits: int) -> int:
    return -(-value >> bits)
