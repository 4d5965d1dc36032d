"""Quantiles of numbers: by one noisy histogram, in pieces that suit even and skewed rows alike.

The pieces end where those of an even scale or those of a logarithmic one do. So there are narrow
ones both where an even column has its rows and where a skewed one has them.

Accuracy: every quantile is off by the noise of all pieces below it, about `sigma * sqrt(pieces)`
rows at most, and by the width of its piece. There are so many quantiles as that leaves apart. A
value that more rows share than a part should hold counts as one part.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np
from numpy.typing import NDArray

from tabpe.domain.raw import Pieces
from tabpe.encode.scales import scale_of
from tabpe.errors import SchemaError
from tabpe.schema import Float, Integer
from tabpe.schema.scales import LINEAR, LOG

Floats = NDArray[np.float64]
PIECES = 64  # of each of the two scales
MOST_PARTS = 16
FEWEST_PARTS = 4
# A part should hold so many times the noise of all pieces.
ABOVE_NOISE = 2.0
_ROUNDS = 20


def pieces_of(column: Integer | Float) -> Pieces:
    """Return the pieces in which the numbers of a column are counted, by its bounds alone.

    Example:
        >>> pieces_of(Integer("children", 0, 3)).cuts
        (0.5, 1.5, 2.5)
    """
    half = _half_step(column)
    if 0 < column.steps < PIECES:
        begins = column.min + np.arange(1, column.steps + 1) * 2 * half
    else:
        begins = np.append(*(_begins(column, scale) for scale in (LINEAR, LOG)))
    inside = begins[(begins > column.min) & (begins <= column.max)]
    return Pieces(tuple((np.unique(inside) - half).tolist()))


def rows_below(counts: Floats) -> Floats:
    """Return how many rows lie below each edge, from none to all; sums of noisy counts that rise.

    Example:
        >>> rows_below(np.array([10.0, -4.0, 6.0]))
        array([ 0.,  8.,  8., 12.])
    """
    sums = np.concatenate([[0.0], np.cumsum(counts)])
    above = np.minimum.accumulate(sums[::-1])[::-1]
    middle = (np.maximum.accumulate(sums) + above) / 2
    rising: Floats = middle - middle[0]
    return rising


def quantiles_of(column: Integer | Float, counts: Floats, sigma: float) -> tuple[float, ...]:
    """Return values from the smallest to the largest that cut rows into about equal parts.

    Args:
        column: The column, with its bounds.
        counts: The noisy number of rows in each of its pieces.
        sigma: Scale of the noise.

    Example:
        >>> pay = Integer("pay", 0, 1000)
        >>> counts = np.zeros(pieces_of(pay).count)
        >>> counts[pieces_of(pay).cells(np.array([0.0, 5.0, 7.0, 40.0]))] = 100.0
        >>> quantiles_of(pay, counts, sigma=0.1)[:2]
        (0, 1)
    """
    low, high = column.min, column.max
    if low == high:
        return (low,)
    masses = _capped(np.diff(rows_below(counts)), parts := _parts(counts, sigma))
    total = float(masses.sum())
    if not total:
        return (low, high)
    begins = np.array(pieces_of(column).cuts) + _half_step(column)
    ends = np.array([low, *begins, high])
    below = np.append(0.0, np.cumsum(masses)) / total
    found = np.interp(np.arange(1, parts) / parts, below, ends)
    digits = column.decimals
    rounded = found if digits is None else np.round(found, digits)
    inner = sorted({float(value) for value in rounded if low < value < high})
    between = tuple(map(int, inner)) if isinstance(column, Integer) else tuple(inner)
    return (low, *between, high)


def _half_step(column: Integer | Float) -> float:
    """Return how far before its first value a piece begins: between two values of the grid."""
    return (column.max - column.min) / column.steps / 2 if column.steps else 0.0


def _begins(column: Integer | Float, scale: str) -> Floats:
    """Return the first values of pieces of equal width on a scale, but that of the first one."""
    try:
        bent = scale_of(dataclasses.replace(column, scale=scale, quantiles=None))
    except SchemaError:  # a range that has no such scale
        bent = None
    places = np.arange(1, PIECES) / PIECES
    even = column.min + places * (column.max - column.min)
    begins = even if bent is None else bent.back(places)
    return begins if column.decimals is None else np.round(begins, column.decimals)


def _parts(counts: Floats, sigma: float) -> int:
    noise = ABOVE_NOISE * sigma * math.sqrt(len(counts))
    return int(np.clip(counts.sum() / max(noise, 1e-9), FEWEST_PARTS, MOST_PARTS))


def _capped(masses: Floats, parts: int) -> Floats:
    """Return masses none of which is more than an equal part of them all, or a little more."""
    for _ in range(_ROUNDS):
        masses = np.minimum(masses, masses.sum() / parts)
    return masses
