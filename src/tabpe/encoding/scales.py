"""Nonlinear scales: maps of columns that declare `log` or `quantile` onto [0, 1].

Distances, steps and the widths of bins are measured on this scale.

- `log`: equal ratios are equal distances. Where a column reaches zero or beyond, the scale is
  `sign(x) log(1 + |x| / unit)`: about linear up to the unit, by ratios farther out. The unit is 1,
  or, of decimals whose bounds are below 1,000, a thousandth of the larger one.
- `quantile`: linear between consecutive quantiles, whose images are evenly spaced. So rows that the
  quantiles divide into equal parts lie evenly.

Privacy: the position of a number depends on it and on the schema, and on no other row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tabpe.schema import Column, Float, Integer
from tabpe.schema.columns import LINEAR, LOG

Floats = NDArray[np.float64]
_UNITS = 1000


class ColumnScale(Protocol):
    """An increasing map of the numbers of a column onto [0, 1], and back."""

    def transform_values(self, values: Floats) -> Floats:
        """Return the positions of numbers within the bounds."""
        ...

    def inverse_transform(self, positions: Floats) -> Floats:
        """Return the numbers at positions, not yet on the grid of the column."""
        ...


@dataclass(frozen=True)
class LogScale:
    """The scale `log` of numbers on one side of zero.

    Args:
        low: The bound that is nearer to zero.
        high: The other one.

    Example:
        >>> LogScale(1.0, 100.0).transform_values(np.array([1.0, 10.0, 100.0]))
        array([0. , 0.5, 1. ])
    """

    low: float
    high: float

    def transform_values(self, values: Floats) -> Floats:
        """Return the positions of numbers within the bounds."""
        positions = self._apply_log(values) / self._length
        return np.clip(positions if self.low > 0 else 1 - positions, 0.0, 1.0)

    def inverse_transform(self, positions: Floats) -> Floats:
        """Return the numbers at positions."""
        shares = positions if self.low > 0 else 1 - positions
        values: Floats = self.low + self.low * np.expm1(shares * self._length)
        return values

    @property
    def _length(self) -> float:
        # By the function that values go through: `math.log1p` may differ in the last digit, and the
        # bound would not be at the end of the scale.
        return float(self._apply_log(np.array([self.high]))[0])

    def _apply_log(self, values: Floats) -> Floats:
        ratios: Floats = np.log1p((values - self.low) / self.low)
        return ratios


@dataclass(frozen=True)
class SymmetricLogScale:
    """The scale `log` of numbers that reach zero.

    Args:
        low: The lower bound.
        high: The upper bound.
        unit: Up to where the scale is about linear.

    Example:
        >>> SymmetricLogScale(-99.0, 99.0, 1.0).transform_values(np.array([-9.0, 0.0, 9.0]))
        array([0.25, 0.5 , 0.75])
    """

    low: float
    high: float
    unit: float

    def transform_values(self, values: Floats) -> Floats:
        """Return the positions of numbers within the bounds."""
        first, last = self._ends
        return np.clip((self._apply_log(values) - first) / (last - first), 0.0, 1.0)

    def inverse_transform(self, positions: Floats) -> Floats:
        """Return the numbers at positions."""
        first, last = self._ends
        bent = first + positions * (last - first)
        values: Floats = np.sign(bent) * np.expm1(np.abs(bent)) * self.unit
        return values

    @property
    def _ends(self) -> tuple[float, float]:
        first, last = self._apply_log(np.array([self.low, self.high])).tolist()
        return first, last

    def _apply_log(self, values: Floats) -> Floats:
        bent: Floats = np.sign(values) * np.log1p(np.abs(values) / self.unit)
        return bent


@dataclass(frozen=True)
class QuantileScale:
    """The scale `quantile`.

    Args:
        quantiles: Numbers whose positions are evenly spaced; they rise.

    Example:
        >>> QuantileScale((0.0, 10.0, 100.0)).transform_values(np.array([5.0, 10.0, 55.0]))
        array([0.25, 0.5 , 0.75])
    """

    quantiles: tuple[float, ...]

    def transform_values(self, values: Floats) -> Floats:
        """Return the positions of numbers within the bounds."""
        return np.interp(values, self.quantiles, self._ends)

    def inverse_transform(self, positions: Floats) -> Floats:
        """Return the numbers at positions."""
        return np.interp(positions, self._ends, self.quantiles)

    @property
    def _ends(self) -> Floats:
        return np.linspace(0.0, 1.0, len(self.quantiles))


def build_scale(column: Column) -> ColumnScale | None:
    """Return the scale of a column; None if it is linear, as most are.

    Example:
        >>> build_scale(Integer("age", 0, 120)) is None
        True
        >>> build_scale(Integer("pay", 1, 100, scale="log"))
        LogScale(low=1.0, high=100.0)
    """
    if not isinstance(column, (Integer, Float)) or column.scale == LINEAR:
        return None
    low, high = float(column.min), float(column.max)
    if low == high:
        return None
    if column.scale != LOG:
        return QuantileScale(tuple(map(float, column.quantiles or ())))
    if low > 0:
        return LogScale(low, high)
    if high < 0:
        return LogScale(high, low)
    unit = 1.0 if isinstance(column, Integer) else min(1.0, max(-low, high) / _UNITS)
    return SymmetricLogScale(low, high, unit)


def compute_class_ends(
    column: Integer | Float, scale: ColumnScale, low: float, high: float
) -> tuple[float, float]:
    """Return the first and the last position of a class of a numeric label.

    Positions between are decoded to numbers of the class: from `low` to below `high`, or up to
    `high` if that is the largest number of the column.
    """
    if column.steps:
        step = (column.max - column.min) / column.steps
        ends = scale.transform_values(np.array([low, high - step * (high < column.max)]))
        return float(ends[0]), float(ends[1])
    bottom, top = scale.transform_values(np.array([low, high])).tolist()
    if high < column.max:
        top = float(np.nextafter(np.float32(top), np.float32(0)))
    while scale.inverse_transform(np.array([bottom]))[0] < low:
        bottom = float(np.nextafter(bottom, 1.0))
    return bottom, top


def compute_bins(
    column: Integer | Float, scale: ColumnScale, max_bins: int
) -> tuple[Floats, Floats]:
    """Return the cuts between bins of equal width on the scale, and their edges as numbers.

    On a grid a bin begins half a step before its first value, so that a position in a bin is
    decoded to a value of that bin; bins without a value are left out.

    Args:
        column: The column.
        scale: Its scale.
        max_bins: The most bins.

    Returns:
        The positions where all bins but the first begin, and one more edge than there are bins.

    Example:
        >>> pay = Integer("pay", 0, 99, scale="log")
        >>> compute_bins(pay, build_scale(pay), max_bins=4)[1]
        array([ 0.,  2.,  9., 31., 99.])
    """
    if 0 < column.steps < max_bins:
        step = (column.max - column.min) / column.steps
        edges: Floats = column.min + (np.arange(column.steps + 2, dtype=np.float64) - 0.5) * step
        return scale.transform_values(edges[1:-1]), edges
    begins = scale.inverse_transform(np.arange(1, max_bins) / max_bins)
    if not column.steps:
        cuts = np.arange(1, max_bins) / max_bins
        return cuts, np.array([column.min, *begins, column.max])
    begins = np.unique(np.round(begins, column.decimals or 0))
    begins = begins[(begins > column.min) & (begins <= column.max)]
    half = (column.max - column.min) / column.steps / 2
    return scale.transform_values(begins - half), np.array([column.min, *begins, column.max])
