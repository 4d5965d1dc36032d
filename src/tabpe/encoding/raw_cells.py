"""Histogram cells of raw values, for columns that the schema does not declare."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# Longer texts are ignored.
LONGEST_VALUE = 200
# Powers of two with cells of their own, on each side of zero. Smaller ones count as zero, larger
# ones as the largest.
LOWEST, HIGHEST = -32, 64
ZERO = HIGHEST - LOWEST
MAGNITUDES = 2 * ZERO + 1
# The cells of the histogram of kinds. BINARY is true and false, and 0 and 1, which some systems do
# not distinguish. An instant is a DAY if it is midnight. A number with d decimals is WHOLE + d.
EMPTY, OTHER, BINARY, DAY, MOMENT, ZONED, CLOCK, WHOLE = range(8)
MOST_DIGITS = 6
MORE_DIGITS = WHOLE + MOST_DIGITS + 1
KINDS = MORE_DIGITS + 1


@dataclass(frozen=True)
class EqualWidthBins:
    """Bins of equal width; a number outside of all of them is not counted.

    Args:
        low: The lower edge of the first.
        width: The width of each.
        count: The number of bins.

    Example:
        >>> EqualWidthBins(0.0, 10.0, 5).find_cells(np.array([-1.0, 0.0, 49.0, 50.0, 51.0]))
        array([-1,  0,  4,  4, -1])
    """

    low: float
    width: float
    count: int

    def find_cells(self, values: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the bin of each number; -1 for none."""
        bins = np.floor((values - self.low) / self.width)
        bins = np.where(values == self.low + self.width * self.count, self.count - 1, bins)
        return np.where((bins >= 0) & (bins < self.count), bins, -1).astype(np.int64)


@dataclass(frozen=True)
class ClampedBins:
    """Bins of a range; a number outside counts in the nearer end, as clamping puts it there.

    Args:
        cuts: Where a new bin begins; one less than there are bins.

    Example:
        >>> ClampedBins((1.0, 10.0)).find_cells(np.array([-5.0, 1.0, 20.0]))
        array([0, 1, 2])
    """

    cuts: tuple[float, ...]

    @property
    def count(self) -> int:
        """The number of bins."""
        return len(self.cuts) + 1

    def find_cells(self, values: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the bin of each number."""
        return np.searchsorted(np.array(self.cuts), values, side="right").astype(np.int64)


def find_magnitude_cells(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the cell of each number, by its sign and power of two; the cells rise with numbers.

    Example:
        >>> find_magnitude_cells(np.array([-4.0, 0.0, 4.0, 7.9, 8.0])) - ZERO
        array([-35,   0,  35,  35,  36])
    """
    sizes = np.minimum(np.abs(values), 2.0 ** (HIGHEST - 1))
    powers = np.frexp(sizes)[1].astype(np.int64) - 1
    steps = np.where(sizes < 2.0**LOWEST, 0, powers - LOWEST + 1)
    return ZERO + np.where(values < 0, -steps, steps)
