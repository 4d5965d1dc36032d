"""Where to cut a range of numbers so that every part holds about as many rows: noisy quantiles.

Numbers are counted in equal bins first, with smaller and smaller ones towards zero: a skewed column
has nearly all of its rows in a small part of its range. By these counts the range is cut into bins
that should hold about the same, and numbers are counted again. A class begins where one of the
second bins does.

Accuracy: with s the sigma of the second histogram, the number of rows below a cut differs from what
was asked for by about s * sqrt(CELLS / 2) at most, and by half a bin.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tabpe.domain.quantiles import Pieces, rows_below
from tabpe.schema import Float, Integer

CELLS = 32
# The smallest of the first bins is the range, halved so often: a millionth of it.
_HALVINGS = 21
# A class that holds less than this part of an even share is not cut off.
LEAST_SHARE = 0.25

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Line:
    """The numbers at which a new class may begin: inside the bounds of a column, and on its grid.

    Args:
        column: The column, of which bounds are known.

    Example:
        >>> Line(Integer("age", 0, 4)).even.cuts
        (0.5, 1.5, 2.5)
    """

    column: Integer | Float

    @property
    def _half_step(self) -> float:
        """Numbers are rounded to the grid, so one begins half a step below itself."""
        return 0.0 if self.column.decimals is None else 0.5 * 10.0**-self.column.decimals

    def beginnings(self, edges: Floats) -> Floats:
        """Return the number that is the smallest of its class, for each edge; each once."""
        cuts = np.asarray(edges, dtype=np.float64) + self._half_step
        if self.column.decimals is not None:
            cuts = np.round(cuts, self.column.decimals)
        return np.unique(cuts[(cuts > self.column.min) & (cuts < self.column.max)])

    def _edges(self, wanted: Floats) -> Pieces:
        return Pieces(tuple((self.beginnings(wanted) - self._half_step).tolist()))

    @property
    def even(self) -> Pieces:
        """Bins of the same width, or one for each number where there are few; and by powers of two.

        The latter towards zero, or towards the bound that is nearer to it.
        """
        low, high = float(self.column.min), float(self.column.max)
        zero, parts = min(max(0.0, low), high), (high - low) * 0.5 ** np.arange(1, _HALVINGS)
        equal = np.linspace(low, high, CELLS + 1)[1:-1]
        return self._edges(np.concatenate([equal, zero - parts, zero + parts]))

    @property
    def is_resolved(self) -> bool:
        """Whether each number of the column has an even bin of its own."""
        return self.column.min == self.column.max or 0 < self.column.steps < CELLS

    def levelled(self, edges: Pieces, counts: Floats) -> Pieces:
        """Return bins that hold about the same number of rows, by noisy counts of other bins."""
        below = rows_below(counts)
        places = np.array([self.column.min, *edges.cuts, self.column.max], dtype=np.float64)
        parts = np.arange(1, CELLS) / CELLS * below[-1]
        return self._edges(np.interp(parts, below, places))


def cuts_of(
    line: Line, edges: Pieces, counts: Floats, classes: int
) -> tuple[int, ...] | tuple[float, ...]:
    """Return where new classes begin, so that each holds about as many rows; fewer if they can not.

    Args:
        line: Where they may begin.
        edges: The bins.
        counts: The noisy number of rows in each.
        classes: How many classes there should be.

    Example:
        >>> line = Line(Integer("children", 0, 4))
        >>> cuts_of(line, line.even, np.array([40.0, 30.0, 20.0, 10.0]), 2)
        (1,)
    """
    below = rows_below(counts)
    total = max(float(below[-1]), 1.0)
    wanted = np.arange(1, classes) / classes * total
    nearest = np.unique(np.abs(below - wanted[:, None]).argmin(axis=1))
    least, kept, last = LEAST_SHARE * total / classes, [], 0.0
    for place in nearest[(nearest > 0) & (nearest <= len(edges.cuts))]:
        if below[place] - last >= least and below[-1] - below[place] >= least:
            kept.append(edges.cuts[place - 1])
            last = below[place]
    cuts = line.beginnings(np.array(kept)).tolist()
    return tuple(map(int, cuts)) if isinstance(line.column, Integer) else tuple(cuts)
