"""Rows as vectors of numbers, for what learns from them or draws them.

A number is counted in deviations from its mean, both taken from the rows that are learned from, so
that every column weighs about as much as any other. First it is clipped to its declared bounds,
widened by their distance on either side, and then to `FURTHEST` deviations: a cell that is far out
stays far out, but no cell alone decides where all others lie. A null counts as the mean, and gets
a mark of its own. A category is one of as many places as there are names, one more for null; names
that are not declared have places too.

Tables can be wide. All columns of categories share one number of places, and a column that has
more names takes several digits, each with a share of its weight: no two names are written alike,
though some have a digit in common. The number of places is as large as `WIDTH` allows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabpe.metrics.sameness import refuse_empty
from tabpe.metrics.view import Cells, Labels, Numbers, View

WIDTH = 4096
FURTHEST = 5.0
_MOST_PLACES = 64
_LEAST_DEVIATION = 1e-3  # of the declared range: what differs less is rounding, not spread


@dataclass(frozen=True, eq=False)
class Features:
    """Rows as arrays.

    Args:
        numbers: The numbers, one row each, in deviations from the mean.
        digits: The place of each digit of each category.
    """

    numbers: NDArray[np.float32]
    digits: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.numbers)

    def take(self, which: NDArray[np.int64]) -> Features:
        """Return the rows at the given places."""
        return Features(self.numbers[which], self.digits[which])


@dataclass(frozen=True, eq=False)
class Coding:
    """How rows become vectors: a row by itself, whatever other rows there are.

    Args:
        columns: Names of the columns that are used.
        means: Mean of each number, where 0 and 1 are the declared bounds.
        deviations: Standard deviation of each number.
        marked: Names of the numbers that have a place for null.
        lengths: How many digits each category, then each mark, takes.
        places: How many places a digit has.

    Example:
        >>> import pyarrow as pa
        >>> from tabpe.metrics.view import views
        >>> from tabpe.schema import Boolean, Integer, Schema
        >>> schema = Schema((Integer("age", 0, 100), Boolean("ill")))
        >>> view, = views(schema, [pa.table({"age": [20, 40], "ill": [True, None]})])
        >>> coding = learned([view])
        >>> coding.dense(coding(view))
        array([[-1.,  0.,  0.,  1.],
               [ 1.,  1.,  0.,  0.]], dtype=float32)
    """

    columns: tuple[str, ...]
    means: NDArray[np.float64]
    deviations: NDArray[np.float64]
    marked: frozenset[str]
    lengths: tuple[int, ...]
    places: int

    @property
    def weights(self) -> NDArray[np.float32]:
        """The weight of each digit: those of one column add up to 1."""
        each = np.repeat(1 / np.array(self.lengths, np.float32), self.lengths)
        return each.astype(np.float32)

    @property
    def width(self) -> int:
        """How many numbers a row becomes."""
        return len(self.means) + sum(self.lengths) * self.places

    def __call__(self, view: View) -> Features:
        """Return rows as arrays."""
        cells = [view[name] for name in self.columns]
        numbers = [_clipped(column) for column in cells if isinstance(column, Numbers)]
        scaled = (_side_by_side(numbers, len(view)) - self.means) / self.deviations
        scaled = np.nan_to_num(np.clip(scaled, -FURTHEST, FURTHEST), nan=0.0)
        codes = zip(_coded(cells, self.marked), self.lengths, strict=True)
        digits = [digit for (code, _), length in codes for digit in self._digits(code, length)]
        return Features(
            scaled.astype(np.float32), _side_by_side(digits, len(view)).astype(np.int64)
        )

    def dense(self, features: Features) -> NDArray[np.float32]:
        """Return rows as vectors, in which two categories that differ are sqrt(2) apart."""
        rows, count = len(features), features.digits.shape[1]
        hot = np.zeros((rows, count, self.places), np.float32)
        np.put_along_axis(hot, features.digits[..., None], 1.0, axis=2)
        hot *= np.sqrt(self.weights)[:, None]
        return np.hstack([features.numbers, hot.reshape(rows, -1)])

    def _digits(self, code: NDArray[np.int64], length: int) -> Iterator[NDArray[np.int64]]:
        for power in range(length):
            yield code // self.places**power % self.places


def learned(tables: Sequence[View], *, columns: Sequence[str] | None = None) -> Coding:
    """Return how rows of the tables become vectors, by the mean and spread of the first table.

    Of the others it matters only which numbers have a null in them.

    Raises:
        DataError: If a table has no rows.
    """
    refuse_empty(tables)
    first = tables[0]
    names = tuple(first.schema.names if columns is None else columns)
    cells = [first[name] for name in names]
    marked = frozenset(name for table in tables for name in names if table[name].missing.any()) & {
        column.name for column in cells if isinstance(column, Numbers)
    }
    sizes = [size for _, size in _coded(cells, marked)]
    places = _places(sizes)
    spread = [_mean_and_deviation(column) for column in cells if isinstance(column, Numbers)]
    means, deviations = np.array(spread).reshape(-1, 2).T
    lengths = tuple(_length(size, places) for size in sizes)
    return Coding(names, means, deviations, marked, lengths, places)


def _mean_and_deviation(cells: Numbers) -> tuple[float, float]:
    clipped = _clipped(cells)
    present = clipped[~cells.missing]
    if not present.size or np.ptp(present) == 0:
        return (float(present[0]) if present.size else 0.5), 1.0
    return float(present.mean()), max(float(present.std()), _LEAST_DEVIATION)


def _clipped(cells: Numbers) -> NDArray[np.float64]:
    return np.clip(cells.scaled, -1.0, 2.0)


def _coded(
    cells: Sequence[Cells], marked: frozenset[str]
) -> Iterator[tuple[NDArray[np.int64], int]]:
    """Yield the codes of each category, 0 for null, and how many there may be; then the marks."""
    for column in cells:
        if isinstance(column, Labels):
            yield column.codes + 1, len(column.names) + 1
    for column in cells:
        if column.name in marked:
            yield column.missing.astype(np.int64), 2


def _places(sizes: Sequence[int]) -> int:
    """Return the largest number of places for which all digits fit into `WIDTH`; at least 2."""
    places = max(2, min(_MOST_PLACES, max(sizes, default=2)))
    while places > 2 and places * sum(_length(size, places) for size in sizes) > WIDTH:  # noqa: PLR2004
        places = max(2, places // 2)
    return places


def _length(size: int, places: int) -> int:
    length = 1
    while places**length < size:
        length += 1
    return length


def _side_by_side(columns: Sequence[NDArray[Any]], rows: int) -> NDArray[Any]:
    return np.column_stack(columns) if columns else np.empty((rows, 0))
