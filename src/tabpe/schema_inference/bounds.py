"""Ranges and quantiles of numbers, from noisy counts.

Which noisy counts are more than noise.

Accuracy, not privacy: what is decided here is decided after the noise was added.

The range of numbers: by powers of two first, then by equal bins between them.

Accuracy: let t = `evidence.compute_noise_threshold` of the first histogram and s the sigma of the
second. But with probability `evidence.ERROR_PROBABILITY` for each column, the bounds reach into a
power of two that is not empty, and no power of two beyond them holds more than 2t rows. Within the
outermost one the bins cut off about s * sqrt(bins cut) rows on each side, and fewer than 35 s but
with the same chance. Rows outside count as on the bound.

Quantiles of numbers: by one noisy histogram, in pieces that suit even and skewed rows alike.

The pieces end where those of an even scale or those of a logarithmic one do. So there are narrow
ones both where an even column has its rows and where a skewed one has them.

Accuracy: every quantile is off by the noise of all pieces below it, about `sigma * sqrt(pieces)`
rows at most, and by the width of its piece. There are so many quantiles as that leaves apart. A
value that more rows share than a part should hold counts as one part.

Where to cut a range of numbers so that every part holds about as many rows: noisy quantiles.

Numbers are counted in equal bins first, with smaller and smaller ones towards zero: a skewed column
has nearly all of its rows in a small part of its range. By these counts the range is cut into bins
that should hold about the same, and numbers are counted again. A class begins where one of the
second bins does.

Accuracy: with s the sigma of the second histogram, the number of rows below a cut differs from what
was asked for by about s * sqrt(CELLS / 2) at most, and by half a bin.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tabpe.encoding.raw_cells import LOWEST, MAGNITUDES, ZERO, ClampedBins, EqualWidthBins
from tabpe.encoding.scales import build_scale
from tabpe.errors import SchemaError
from tabpe.schema import Float, Integer
from tabpe.schema.columns import EXACT_INTEGERS, LINEAR, LOG

# The chance that any cell of a histogram misleads. A wrong bound costs some accuracy; a wrong type
# spoils the run.
ERROR_PROBABILITY = 1e-3
TYPE_ERROR_PROBABILITY = 1e-7


def compute_noise_threshold(
    sigma: float, cells: int, error_probability: float = ERROR_PROBABILITY
) -> float:
    """Return what noise exceeds in none of `cells` cells, but with probability `chance`.

    So a cell above it is not empty, and one of more than twice as many rows is above it, each but
    with that chance.

    Example:
        >>> round(compute_noise_threshold(100.0, 11))
        374
    """
    from scipy.special import ndtri

    return -sigma * float(ndtri(error_probability / cells))


BINS = 32
# Zero is taken into a range that ends this close to it, as a part of the range.
CLOSE_TO_ZERO = 1 / 16


@dataclass(frozen=True)
class CoarseRange:
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
    def bins(self) -> EqualWidthBins:
        """Equal bins over the range, with the same number of numbers in each if they are few."""
        step = self.gap
        if not step:
            return EqualWidthBins(self.low, (self.high - self.low) / BINS, BINS)
        values = round((self.high - self.low) / step) + 1
        together = -(-values // BINS)
        return EqualWidthBins(self.low - step / 2, together * step, -(-values // together))


def find_coarse_range(
    counts: NDArray[np.float64],
    sigma: float,
    decimals: int | None,
    *,
    low: float | None = None,
    high: float | None = None,
) -> CoarseRange | None:
    """Return the range of all powers of two that hold more than noise; None if there are none.

    Args:
        counts: The noisy number of rows in each cell of `find_magnitude_cells`.
        sigma: Scale of their noise.
        decimals: The digits after the point, 0 for whole numbers; None for any number of them.
        low: The lower end, if it is declared.
        high: The upper end, if it is declared.
    """
    seen = np.flatnonzero(counts > compute_noise_threshold(sigma, MAGNITUDES))
    if not len(seen):
        return None
    first, last = (_get_cell_edges(int(cell) - ZERO, decimals) for cell in (seen[0], seen[-1]))
    step = 0.0 if decimals is None else 10.0**-decimals
    return CoarseRange(
        low=first[0] if low is None else low,
        high=last[1] if high is None else high,
        decimals=decimals,
        loose_low=first[1] - first[0] + step if low is None else 0.0,
        loose_high=last[1] - last[0] + step if high is None else 0.0,
    )


def trim_range(span: CoarseRange, counts: NDArray[np.float64], sigma: float) -> tuple[float, float]:
    """Return the range without the bins at its ends that hold no more than noise.

    At least one bin of the outermost power of two stays: that it is not empty is known.

    Args:
        span: The range by powers of two.
        counts: The noisy number of rows in each of its bins.
        sigma: Scale of their noise.
    """
    bins = span.bins
    below = _count_empty_bins(counts, sigma, span.loose_low / bins.width)
    above = _count_empty_bins(counts[below:][::-1], sigma, span.loose_high / bins.width)
    low = span.low + below * bins.width
    high = span.high
    if above:
        high = span.low + (bins.count - above) * bins.width - span.gap
    return _extend_to_zero(span, low, high)


def _get_cell_edges(steps: int, decimals: int | None) -> tuple[float, float]:
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


def _count_empty_bins(counts: NDArray[np.float64], sigma: float, loose: float) -> int:
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


def _extend_to_zero(span: CoarseRange, low: float, high: float) -> tuple[float, float]:
    if span.loose_low and 0 < low <= CLOSE_TO_ZERO * high:
        low = 0.0
    if span.loose_high and 0 > high >= CLOSE_TO_ZERO * low:
        high = 0.0
    digits = span.decimals
    return (low, high) if digits is None else (round(low, digits), round(high, digits))


Floats = NDArray[np.float64]
PIECES = 64  # of each of the two scales
MOST_PARTS = 16
FEWEST_PARTS = 4
# A part should hold so many times the noise of all pieces.
ABOVE_NOISE = 2.0
_ROUNDS = 20


def build_quantile_bins(column: Integer | Float) -> ClampedBins:
    """Return the pieces in which the numbers of a column are counted, by its bounds alone.

    Example:
        >>> build_quantile_bins(Integer("children", 0, 3)).cuts
        (0.5, 1.5, 2.5)
    """
    half = _get_half_step(column)
    if 0 < column.steps < PIECES:
        begins = column.min + np.arange(1, column.steps + 1) * 2 * half
    else:
        begins = np.append(*(_compute_bin_starts(column, scale) for scale in (LINEAR, LOG)))
    inside = begins[(begins > column.min) & (begins <= column.max)]
    return ClampedBins(tuple((np.unique(inside) - half).tolist()))


def count_rows_below(counts: Floats) -> Floats:
    """Return how many rows lie below each edge, from none to all; sums of noisy counts that rise.

    Example:
        >>> count_rows_below(np.array([10.0, -4.0, 6.0]))
        array([ 0.,  8.,  8., 12.])
    """
    sums = np.concatenate([[0.0], np.cumsum(counts)])
    above = np.minimum.accumulate(sums[::-1])[::-1]
    middle = (np.maximum.accumulate(sums) + above) / 2
    rising: Floats = middle - middle[0]
    return rising


def estimate_quantiles(column: Integer | Float, counts: Floats, sigma: float) -> tuple[float, ...]:
    """Return values from the smallest to the largest that cut rows into about equal parts.

    Args:
        column: The column, with its bounds.
        counts: The noisy number of rows in each of its pieces.
        sigma: Scale of the noise.

    Example:
        >>> pay = Integer("pay", 0, 1000)
        >>> counts = np.zeros(build_quantile_bins(pay).count)
        >>> counts[build_quantile_bins(pay).find_cells(np.array([0.0, 5.0, 7.0, 40.0]))] = 100.0
        >>> estimate_quantiles(pay, counts, sigma=0.1)[:2]
        (0, 1)
    """
    low, high = column.min, column.max
    if low == high:
        return (low,)
    masses = _cap_masses(np.diff(count_rows_below(counts)), parts := _count_parts(counts, sigma))
    total = float(masses.sum())
    if not total:
        return (low, high)
    begins = np.array(build_quantile_bins(column).cuts) + _get_half_step(column)
    ends = np.array([low, *begins, high])
    below = np.append(0.0, np.cumsum(masses)) / total
    found = np.interp(np.arange(1, parts) / parts, below, ends)
    digits = column.decimals
    rounded = found if digits is None else np.round(found, digits)
    inner = sorted({float(value) for value in rounded if low < value < high})
    between = tuple(map(int, inner)) if isinstance(column, Integer) else tuple(inner)
    return (low, *between, high)


def _get_half_step(column: Integer | Float) -> float:
    """Return how far before its first value a piece begins: between two values of the grid."""
    return (column.max - column.min) / column.steps / 2 if column.steps else 0.0


def _compute_bin_starts(column: Integer | Float, scale: str) -> Floats:
    """Return the first values of pieces of equal width on a scale, but that of the first one."""
    try:
        bent = build_scale(dataclasses.replace(column, scale=scale, quantiles=None))
    except SchemaError:  # a range that has no such scale
        bent = None
    places = np.arange(1, PIECES) / PIECES
    even = column.min + places * (column.max - column.min)
    begins = even if bent is None else bent.inverse_transform(places)
    return begins if column.decimals is None else np.round(begins, column.decimals)


def _count_parts(counts: Floats, sigma: float) -> int:
    noise = ABOVE_NOISE * sigma * math.sqrt(len(counts))
    return int(np.clip(counts.sum() / max(noise, 1e-9), FEWEST_PARTS, MOST_PARTS))


def _cap_masses(masses: Floats, parts: int) -> Floats:
    """Return masses none of which is more than an equal part of them all, or a little more."""
    for _ in range(_ROUNDS):
        masses = np.minimum(masses, masses.sum() / parts)
    return masses


CELLS = 32
# The smallest of the first bins is the range, halved so often: a millionth of it.
_HALVINGS = 21
# A class that holds less than this part of an even share is not cut off.
LEAST_SHARE = 0.25


@dataclass(frozen=True)
class CutGrid:
    """The numbers at which a new class may begin: inside the bounds of a column, and on its grid.

    Args:
        column: The column, of which bounds are known.

    Example:
        >>> CutGrid(Integer("age", 0, 4)).even_bins.cuts
        (0.5, 1.5, 2.5)
    """

    column: Integer | Float

    @property
    def _half_step(self) -> float:
        """Numbers are rounded to the grid, so one begins half a step below itself."""
        return 0.0 if self.column.decimals is None else 0.5 * 10.0**-self.column.decimals

    def find_class_starts(self, edges: Floats) -> Floats:
        """Return the number that is the smallest of its class, for each edge; each once."""
        cuts = np.asarray(edges, dtype=np.float64) + self._half_step
        if self.column.decimals is not None:
            cuts = np.round(cuts, self.column.decimals)
        return np.unique(cuts[(cuts > self.column.min) & (cuts < self.column.max)])

    def _build_bins(self, edges: Floats) -> ClampedBins:
        return ClampedBins(tuple((self.find_class_starts(edges) - self._half_step).tolist()))

    @property
    def even_bins(self) -> ClampedBins:
        """Bins of the same width, or one for each number where there are few; and by powers of two.

        The latter towards zero, or towards the bound that is nearer to it.
        """
        low, high = float(self.column.min), float(self.column.max)
        zero, parts = min(max(0.0, low), high), (high - low) * 0.5 ** np.arange(1, _HALVINGS)
        equal = np.linspace(low, high, CELLS + 1)[1:-1]
        return self._build_bins(np.concatenate([equal, zero - parts, zero + parts]))

    @property
    def is_resolved(self) -> bool:
        """Whether each number of the column has an even bin of its own."""
        return self.column.min == self.column.max or 0 < self.column.steps < CELLS

    def build_balanced_bins(self, edges: ClampedBins, counts: Floats) -> ClampedBins:
        """Return bins that hold about the same number of rows, by noisy counts of other bins."""
        below = count_rows_below(counts)
        places = np.array([self.column.min, *edges.cuts, self.column.max], dtype=np.float64)
        parts = np.arange(1, CELLS) / CELLS * below[-1]
        return self._build_bins(np.interp(parts, below, places))


def find_cuts(
    grid: CutGrid, edges: ClampedBins, counts: Floats, classes: int
) -> tuple[int, ...] | tuple[float, ...]:
    """Return where new classes begin, so that each holds about as many rows; fewer if they can not.

    Args:
        grid: Where they may begin.
        edges: The bins.
        counts: The noisy number of rows in each.
        classes: How many classes there should be.

    Example:
        >>> line = CutGrid(Integer("children", 0, 4))
        >>> find_cuts(line, line.even_bins, np.array([40.0, 30.0, 20.0, 10.0]), 2)
        (1,)
    """
    below = count_rows_below(counts)
    total = max(float(below[-1]), 1.0)
    wanted = np.arange(1, classes) / classes * total
    nearest = np.unique(np.abs(below - wanted[:, None]).argmin(axis=1))
    least, kept, last = LEAST_SHARE * total / classes, [], 0.0
    for place in nearest[(nearest > 0) & (nearest <= len(edges.cuts))]:
        if below[place] - last >= least and below[-1] - below[place] >= least:
            kept.append(edges.cuts[place - 1])
            last = below[place]
    cuts = grid.find_class_starts(np.array(kept)).tolist()
    return tuple(map(int, cuts)) if isinstance(grid.column, Integer) else tuple(cuts)
