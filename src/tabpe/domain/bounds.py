"""The range of numbers: by powers of two first, then by equal bins between them.

Accuracy: let t = `evidence.threshold` of the first histogram and s the sigma of the second. But
with a chance of `evidence.MISLED` for each column, the bounds reach into a power of two that is not
empty, and no power of two beyond them holds more than 2t rows. Within the outermost one the bins
cut off about s * sqrt(bins cut) rows on each side, and fewer than 35 s but with the same chance.
Rows outside count as on the bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tabpe.domain.evidence import threshold
from tabpe.domain.raw import LOWEST, MAGNITUDES, ZERO, Bins
from tabpe.schema.whole import EXACT_INTEGERS

BINS = 32
# Zero is taken into a range that ends this close to it, as a part of the range.
CLOSE_TOZERO = 1 / 16


@dataclass(frozen=True)
class Span:
    """A range of numbers as far as powers of two tell it.

    Args:
        low: Its lower end.
        high: Its upper end.
        decimals: The digits after the point of numbers in it; None if they have any number of them.
        loose_low: How much of the lower end may be too much; 0 if it is declared.
        loose_high: The same for the upper end.
    """

    low: float
    high: float
    decimals: int | None
    loose_low: float
    loose_high: float

    @property
    def gap(self) -> float:
        """How far apart numbers are, where that matters beside the width of a bin; else 0."""
        if self.decimals is None:
            return 0.0
        step = 10.0**-self.decimals
        return step if not self.decimals or self.high - self.low < 8 * BINS * step else 0.0

    @property
    def bins(self) -> Bins:
        """Equal bins over the range, with the same number of numbers in each if they are few."""
        step = self.gap
        if not step:
            return Bins(self.low, (self.high - self.low) / BINS, BINS)
        values = round((self.high - self.low) / step) + 1
        together = -(-values // BINS)
        return Bins(self.low - step / 2, together * step, -(-values // together))


def span_of(
    counts: NDArray[np.float64],
    sigma: float,
    decimals: int | None,
    *,
    low: float | None = None,
    high: float | None = None,
) -> Span | None:
    """Return the range of all powers of two that hold more than noise; None if there are none.

    Args:
        counts: The noisy number of rows in each cell of `magnitude_cells`.
        sigma: Scale of their noise.
        decimals: The digits after the point, 0 for whole numbers; None for any number of them.
        low: The lower end, if it is declared.
        high: The upper end, if it is declared.
    """
    seen = np.flatnonzero(counts > threshold(sigma, MAGNITUDES))
    if not len(seen):
        return None
    first, last = (_edges(int(cell) - ZERO, decimals) for cell in (seen[0], seen[-1]))
    step = 0.0 if decimals is None else 10.0**-decimals
    return Span(
        low=first[0] if low is None else low,
        high=last[1] if high is None else high,
        decimals=decimals,
        loose_low=first[1] - first[0] + step if low is None else 0.0,
        loose_high=last[1] - last[0] + step if high is None else 0.0,
    )


def trimmed(span: Span, counts: NDArray[np.float64], sigma: float) -> tuple[float, float]:
    """Return the range without the bins at its ends that hold no more than noise.

    At least one bin of the outermost power of two stays: that it is not empty is known.

    Args:
        span: The range by powers of two.
        counts: The noisy number of rows in each of its bins.
        sigma: Scale of their noise.
    """
    bins = span.bins
    below = _cut(counts, sigma, span.loose_low / bins.width)
    above = _cut(counts[below:][::-1], sigma, span.loose_high / bins.width)
    low = span.low + below * bins.width
    high = span.high
    if above:
        high = span.low + (bins.count - above) * bins.width - span.gap
    return _with_zero(span, low, high)


def _edges(steps: int, decimals: int | None) -> tuple[float, float]:
    """Return the smallest and the largest number of a cell."""
    if steps == 0:
        return 0.0, 0.0
    power = abs(steps) - 1 + LOWEST
    low, high = 2.0**power, 2.0 ** (power + 1)
    if decimals is not None:
        scale = 10.0**decimals
        low, high = math.floor(low * scale) / scale, math.ceil(high * scale) / scale
    if decimals == 0:
        low, high = (min(edge, EXACT_INTEGERS) for edge in (low, max(low, high - 1)))
    return (low, high) if steps > 0 else (-high, -low)


def _cut(counts: NDArray[np.float64], sigma: float, loose: float) -> int:
    """Return how many bins at the beginning are cut off, in parts that are halved each time.

    A part is cut if it holds no more than noise does once in six times. So too much is left now
    and then, but a part with rows in it is seldom lost.
    """
    most = min(math.floor(loose + 1e-9), len(counts)) - 1
    cut, part = 0, BINS
    while part:
        if cut + part <= most and counts[cut : cut + part].sum() <= sigma * math.sqrt(part):
            cut += part
        part //= 2
    return cut


def _with_zero(span: Span, low: float, high: float) -> tuple[float, float]:
    if span.loose_low and 0 < low <= CLOSE_TOZERO * high:
        low = 0.0
    if span.loose_high and 0 > high >= CLOSE_TOZERO * low:
        high = 0.0
    digits = span.decimals
    return (low, high) if digits is None else (round(low, digits), round(high, digits))
