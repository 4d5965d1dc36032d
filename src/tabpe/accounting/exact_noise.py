"""`ExactNoise`: exactly discrete Gaussian noise, at some nanoseconds a draw.

The discrete Gaussian of parameter sigma has P(k) in proportion to exp(-k^2 / (2 sigma^2)) on all
integers k. The float sigma is taken as the rational number that it is. All randomness is bytes of
the operating system, independent and uniform by assumption; nothing else is assumed or neglected.

*Deciding lazily.* A uniform U in [0, 1) is a sequence of random bits, of which only the first few
are drawn. If b bits are known and read v, then v <= 2^b U < v + 1. Comparing U with a number C that
is enclosed by lower <= 2^b C <= upper is decided if v >= upper, since then U >= C, or if v + 1 <=
lower, since then U < C. If neither, 64 more bits are drawn and C is enclosed more narrowly. Each
time, what is undecided has a probability of a few 2^-b, so it ends with probability 1, and whatever
is decided is decided as the whole of U would. The result has exactly the distribution that the
comparison with U has, whatever the precision at which it was decided.

*Magnitudes, by inversion.* With C_j the cumulative probabilities of a distribution on j = 0, 1,
..., the j with C_(j-1) <= U < C_j has probability C_j - C_(j-1). The first 15 bits decide alone if
all U that begin so are decided alike: `MagnitudeTable.guide` lists these. Else 49 more bits are
compared with bounds of 64 bits, and else `_decide_magnitude` goes on with integers of any length.

*Small sigma.* Magnitudes have the weights w_0 = 1/2 and w_j = exp(-j^2 / (2 sigma^2)); a fair bit
is the sign. So k != 0 has half the weight exp(-k^2 / (2 sigma^2)), and 0 has 1/4 from either sign,
half the weight exp(0): exactly the discrete Gaussian.

*Large sigma.* Let B = 2^s and sigma = B rho. A magnitude is proposed as j B + r: j with weights
exp(-j^2 / (2 rho^2)), and r uniform in [0, B). It is accepted with probability exp(-x),

    x = ((j B + r)^2 - (j B)^2) / (2 sigma^2) = (2 j B r + r^2) / (2 sigma^2),

which makes its weight exp(-(j B + r)^2 / (2 sigma^2)). A fair bit is the sign; 0 with a negative
sign is rejected, so that 0 has the weight of one sign, like all others. What is rejected is
proposed anew: what is accepted has exactly the weights of the discrete Gaussian. One in 160 to 320
is rejected.

*Accepting.* A uniform V in [0, 1) is compared with exp(-x). Sums of the series of exp(-x) up to the
degrees 5 and 6 are below and above it, for every x >= 0. They are computed in floats, from numbers
that are sums, products and one quotient of nonnegative terms, each rounded once: x by less than 8
roundings, and for x <= 1 each sum by less than 24 more of numbers below 3, so their error is below
2^-46. V is known as v bits of a word, rounded once. A margin of 2^-40 covers that. What is left,
and every x > 1, is decided lazily, with integers.

*Choosing.* The exponential mechanism has P(i) in proportion to w_i = exp(-x_i), x_i = (largest
score - score i) / scale, a rational number. Integers u_i >= 2^q w_i are computed; i is proposed in
proportion to u_i, exactly, and accepted with probability 2^q w_i / u_i, decided lazily. The u_i are
computed in floats: y_i = x_i / 64, cut at 1; the sum of the series of exp(-y_i) up to degree 12,
above it; six squarings, each of which doubles a relative error; their relative error is below
2^-38, and they are widened by 2^-30 of themselves and one unit. (A cut at 1 raises u_i, which is
allowed.) So of proposals among up to 2^15 options, all but one in 2^29 or so are accepted.

*Timing.* How long a draw takes depends on random bits that are thrown away or decide noise, never
on private rows: noise is drawn for zeros and added. A choice works on the scores of all options at
once, in the same steps whatever they are; what varies is that of the proposed option, which is
almost surely the one that is released.

*No state.* Nothing random is kept between calls, and tables are read-only functions of sigma. So
threads and forked processes share no randomness. Where the operating system gives no bytes there is
an error, and no noise.
"""

from __future__ import annotations

import math
import os
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tabpe._utils import validation
from tabpe.accounting.enclosures import enclose_cumulative, enclose_exponential
from tabpe.accounting.noise import check_choice
from tabpe.errors import ParameterError, TabpeError

LARGEST_SIGMA = 2.0**48
_BLOCK = 1 << 16
_WORD = 64
_MARGIN = 2.0**-40
_MOST_OPTIONS = 1 << 24
_FARTHEST = 1 << 20  # Blocks; a draw is farther with a probability below 2^(-2^24).

ReadBytes = Callable[[int], bytes]
Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
Words = NDArray[np.uint64]


class ExactNoise:
    """Exactly discrete Gaussian noise and exact choices, without a seed.

    Example:
        >>> ExactNoise().draw(3, sigma=10.0).shape
        (3,)
        >>> int(ExactNoise().choose(np.array([0, 1000]), scale=1.0))
        1
    """

    name = "exact discrete Gaussian, operating system randomness"
    private = True

    def draw(self, size: int, sigma: float) -> Whole:
        """Return `size` independent draws of parameter `sigma`."""
        return draw_discrete_gaussian(size, sigma, read_entropy)

    def choose(self, scores: Whole, scale: float) -> int:
        """Return an index, with probability proportional to exp(score / scale)."""
        return choose_exponential(scores, scale, read_entropy)


def read_entropy(size: int) -> bytes:
    """Return random bytes of the operating system."""
    try:
        found = os.urandom(size)
    except (OSError, NotImplementedError) as error:
        raise TabpeError("noise: the operating system gives no random bytes.") from error
    return found


@dataclass(frozen=True)
class Precision:
    """How far the quick ways of deciding go; tests make them short. All give the same distribution.

    Args:
        guide_bits: The bits of U that the guide decides by, 1 to 15.
        bound_bits: The bits of U that are compared with a table of bounds, up to 64.
        accept_bits: The most bits of V that are compared with floats.
        direct_bits: A sigma below 2^direct_bits needs no blocks.
    """

    guide_bits: int = 15
    bound_bits: int = 64
    accept_bits: int = 64
    direct_bits: int = 7


FULL = Precision()


def draw_discrete_gaussian(
    size: int, sigma: float, read: ReadBytes, precision: Precision = FULL
) -> Whole:
    """Return `size` independent draws from the discrete Gaussian of parameter `sigma`.

    Args:
        size: The number of draws.
        sigma: The parameter; below `LARGEST_SIGMA`.
        read: Returns as many independent uniform bytes as it is asked for.
        precision: How far the quick ways of deciding go.
    """
    sigma = validation.check_real("sigma", sigma, above=0, below=LARGEST_SIGMA)
    shift = max(0, math.frexp(sigma)[1] - precision.direct_bits)
    table = build_magnitude_table(math.ldexp(sigma, -shift), precision, halve_zero=shift == 0)
    bits = _BitSource(read)
    drawn = np.empty(size, dtype=np.int64)
    for start in range(0, size, _BLOCK):
        block = drawn[start : start + _BLOCK]
        if shift == 0:
            magnitudes, signs = table.draw_magnitudes(len(block), bits)
            np.add(magnitudes ^ -signs, signs, out=block)
        else:
            _fill_with_accepted(block, table, shift, bits)
    return drawn


class _BitSource:
    """Random words and integers, from a source of bytes."""

    def __init__(self, read: ReadBytes) -> None:
        self._read = read

    def draw_words(self, size: int, width: int) -> NDArray[np.unsignedinteger[Any]]:
        """Return words of `width` bytes."""
        return np.frombuffer(self._read_all(width * size), dtype=f"<u{width}")

    def draw_integer(self, bits: int) -> int:
        """Return an integer below 2^bits."""
        length = -(-bits // 8)
        return int.from_bytes(self._read_all(length), "little") >> (8 * length - bits)

    def _read_all(self, size: int) -> bytes:
        found = self._read(size)
        if len(found) != size:
            raise TabpeError(f"noise: got {len(found)} random bytes of {size}.")
        return found


@dataclass(frozen=True, eq=False)
class MagnitudeTable:
    """Bounds of the cumulative probabilities of magnitudes, and what the first bits decide.

    Args:
        sigma: The parameter of the weights.
        halve_zero: Whether the weight of 0 is halved.
        precision: The bits of the guide and of the bounds.
        guide: The magnitude for every value of the first bits, or -1 if they do not decide.
        lower: Lower bounds of C_0, C_1, ... at `bound_bits`.
        upper: Upper bounds, at most 2^bound_bits - 1: a word of ones alone is never decided.
    """

    sigma: float
    halve_zero: bool
    precision: Precision
    guide: NDArray[np.int16]
    lower: Words
    upper: Words

    def draw_magnitudes(self, size: int, bits: _BitSource) -> tuple[Whole, Whole]:
        """Return magnitudes, and independent fair bits."""
        words = bits.draw_words(size, 2)
        signs = (words & 1).astype(np.int64)
        known = words >> (16 - self.precision.guide_bits)
        magnitudes = self.guide.take(known).astype(np.int64)
        open_places = np.flatnonzero(magnitudes < 0)
        if len(open_places):
            magnitudes[open_places] = self._decide_more(known[open_places], bits)
        return magnitudes, signs

    def _decide_more(self, known: NDArray[np.integer[Any]], bits: _BitSource) -> Whole:
        more = self.precision.bound_bits - self.precision.guide_bits
        added = bits.draw_words(len(known), 8) >> np.uint64(_WORD - more)
        words = (known.astype(np.uint64) << np.uint64(more)) | added
        magnitudes = _look_up(self.lower, self.upper, words, words)
        for place in np.flatnonzero(magnitudes < 0):
            magnitudes[place] = self._decide_magnitude(int(words[place]), bits)
        return magnitudes

    def _decide_magnitude(self, value: int, bits: _BitSource) -> int:
        """Return the magnitude for a U whose first bits are `value`, drawing more of them."""
        length = self.precision.bound_bits
        while True:
            value, length = value << _WORD | bits.draw_integer(_WORD), length + _WORD
            lower, upper = enclose_cumulative(self.sigma, length, halve_zero=self.halve_zero)
            place = bisect_right(upper, value)
            if place >= _FARTHEST:
                raise TabpeError("noise: a draw is too far out for 64 bits.")
            if place < len(lower) and value < lower[place]:
                return place


@lru_cache(maxsize=64)
def build_magnitude_table(
    sigma: float, precision: Precision, *, halve_zero: bool
) -> MagnitudeTable:
    """Return the table of a sigma."""
    length = precision.bound_bits
    bounds = enclose_cumulative(sigma, length, halve_zero=halve_zero)
    lower, upper = (
        np.array([min(bound, (1 << length) - 1) for bound in side], dtype=np.uint64)
        for side in bounds
    )
    more = length - precision.guide_bits
    first = np.arange(1 << precision.guide_bits, dtype=np.uint64) << np.uint64(more)
    guide = _look_up(lower, upper, first, first | np.uint64((1 << more) - 1)).astype(np.int16)
    for array in (guide, lower, upper):
        array.setflags(write=False)
    return MagnitudeTable(sigma, halve_zero, precision, guide, lower, upper)


def _look_up(lower: Words, upper: Words, first: Words, last: Words) -> Whole:
    """Return the j for which all words from `first` to `last` are decided; -1 if there is none."""
    places = np.searchsorted(upper, first, side="right")
    inside = np.minimum(places, len(lower) - 1)
    decided = (places < len(lower)) & (last < lower[inside])
    return np.where(decided, places, -1)


def _fill_with_accepted(block: Whole, table: MagnitudeTable, shift: int, bits: _BitSource) -> None:
    """Fill `block` with draws for blocks of 2^shift integers; `table` is that of the blocks."""
    block[:], accepted = _propose(len(block), table, shift, bits)
    rejected = np.flatnonzero(~accepted)
    while len(rejected):
        block[rejected], accepted = _propose(len(rejected), table, shift, bits)
        rejected = rejected[~accepted]


def _propose(
    size: int, table: MagnitudeTable, shift: int, bits: _BitSource
) -> tuple[Whole, NDArray[np.bool_]]:
    """Return signed proposals, and which of them are accepted."""
    blocks, signs = table.draw_magnitudes(size, bits)
    words = bits.draw_words(size, 8)
    offsets = (words & np.uint64((1 << shift) - 1)).astype(np.int64)
    length = min(_WORD - shift, table.precision.accept_bits)
    values = words >> np.uint64(_WORD - length)
    parts = offsets.astype(np.float64) * 2.0**-shift
    accepted, decided = _compare_quickly(table.sigma, blocks, parts, values, length)
    for place in np.flatnonzero(~decided):
        start, offset = int(blocks[place]) << shift, int(offsets[place])
        exponent = (2 * start * offset + offset**2) / (2 * (Fraction(table.sigma) * 2**shift) ** 2)
        known = _Beginning(int(values[place]), length)
        accepted[place] = _is_below_exponential(known, exponent, Fraction(1), bits)
    magnitudes = (blocks << shift) | offsets
    accepted &= (magnitudes > 0) | (signs == 0)
    return (magnitudes ^ -signs) + signs, accepted


def _compare_quickly(
    rho: float, blocks: Whole, parts: Floats, values: Words, length: int
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which V are surely below exp(-x), and for which that is decided.

    Args:
        rho: Sigma in blocks.
        blocks: The number j of each block.
        parts: Places within the blocks: r / B.
        values: The first bits of each V.
        length: How many they are.
    """
    x = parts * (blocks + 0.5 * parts) / (rho * rho)
    v = values * 2.0**-length
    # Horner's rule for the degree 5.
    low = np.full_like(x, 1.0 / 120)
    for coefficient in (1.0 / 24, 1.0 / 6, 0.5, 1.0, 1.0):
        low *= x
        np.subtract(coefficient, low, out=low)
    square = x * x
    high = low + square * square * square * (1.0 / 720)
    accepted = v + (2.0**-length + _MARGIN) <= low
    return accepted, (accepted | (v - _MARGIN >= high)) & (x <= 1.0)


class _Beginning(NamedTuple):
    """The first `length` bits of a uniform number, read as the integer `value`."""

    value: int
    length: int


def _is_below_exponential(
    known: _Beginning, exponent: Fraction, factor: Fraction, bits: _BitSource
) -> bool:
    """Return whether V < factor * exp(-exponent), decided lazily; `known` is how V begins."""
    value, length = known
    while True:
        lower, upper = enclose_exponential(exponent.numerator, exponent.denominator, length)
        if value + 1 <= lower * factor:
            return True
        if value >= upper * factor:
            return False
        value, length = value << _WORD | bits.draw_integer(_WORD), length + _WORD


def choose_exponential(
    scores: Whole, scale: float, read: ReadBytes, *, known_bits: int = 64
) -> int:
    """Return an index, with probability proportional to exp(score / scale).

    Args:
        scores: One or more scores.
        scale: A number > 0, taken as the rational number that it is.
        read: Returns as many independent uniform bytes as it is asked for.
        known_bits: How many bits are drawn before the first comparison; 0 or more.
    """
    check_choice(scores, scale)
    if len(scores) > _MOST_OPTIONS:
        raise ParameterError(f"scores: expected at most {_MOST_OPTIONS:,} options.")
    scale, bits = float(scale), _BitSource(read)
    # Wraps around, so it is exact for all pairs of 64-bit integers.
    gaps = scores.max().astype(np.uint64) - scores.astype(np.uint64)
    heights, unit = _bound_weights(gaps, scale)
    ends = np.cumsum(heights)
    total = int(ends[-1])
    while True:
        drawn = bits.draw_integer(total.bit_length())
        if drawn >= total:
            continue
        place = int(np.searchsorted(ends, np.uint64(drawn), side="right"))
        known = _Beginning(bits.draw_integer(known_bits), known_bits)
        exponent = int(gaps[place]) / Fraction(scale)
        if _is_below_exponential(known, exponent, Fraction(1 << unit, int(heights[place])), bits):
            return place


def _bound_weights(gaps: Words, scale: float) -> tuple[Words, int]:
    """Return integers u_i >= 2^q exp(-gap / scale), and q; their sum is below 2^63."""
    unit = 62 - len(gaps).bit_length()
    with np.errstate(over="ignore"):
        y = np.minimum(gaps.astype(np.float64) / (64 * scale), 1.0)
    weights = np.zeros_like(y)
    for degree in range(12, -1, -1):
        weights *= y
        np.subtract(1.0 / math.factorial(degree), weights, out=weights)
    for _ in range(6):
        weights *= weights
    heights = weights * ((1 + 2.0**-30) * 2.0**unit)
    return heights.astype(np.uint64) + np.uint64(1), unit
