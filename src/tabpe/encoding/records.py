"""`Records`: rows as arrays; `RecordSpace`: the public space they lie in.

Numbers are scaled to [0, 1] by the bounds of the schema, categories are codes 0, 1, 2, ...
Private rows have float32 numbers, which distances are computed in; candidates have float64, so that
a large integer or a date is decoded exactly. A null number is NaN, and a null category has a code
of its own, after those of its values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating[Any]]
Codes = NDArray[np.unsignedinteger[Any]]


@dataclass(frozen=True, eq=False)
class Records:
    """Rows, column by column of their kind.

    Args:
        numbers: Scaled numbers, one row a record.
        codes: Category codes, one row a record.

    Example:
        >>> rows = Records(np.array([[0.5], [1.0]]), np.array([[0], [2]], dtype=np.uint8))
        >>> rows.take(np.array([1])).codes
        array([[2]], dtype=uint8)
    """

    numbers: Floats
    codes: Codes

    def __len__(self) -> int:
        return len(self.numbers)

    def take(self, which: NDArray[Any]) -> Records:
        """Return the rows at the given indices, or where a mask is true."""
        return Records(self.numbers[which], self.codes[which])

    def repeat(self, times: int) -> Records:
        """Return all rows `times` times, one whole copy after the other."""
        return Records(np.tile(self.numbers, (times, 1)), np.tile(self.codes, (times, 1)))

    @staticmethod
    def concat(parts: Sequence[Records]) -> Records:
        """Return the rows of all parts, in order."""
        return Records(
            np.concatenate([part.numbers for part in parts]),
            np.concatenate([part.codes for part in parts]),
        )


@dataclass(frozen=True, eq=False)
class RecordSpace:
    """The box of scaled numbers and the lists of categories in which candidates live.

    Args:
        low: Smallest scaled number of each numeric column.
        high: Largest.
        steps: Number of grid steps from 0 to 1 of each numeric column; 0 for no grid.
        sizes: Number of values of each categorical column; null is one, if it is allowed.
        missing: The probability that a number of a random candidate is null; 0 where it must not
            be.
        drawn: Candidates are drawn from the first so many values; None for all.
    """

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    steps: NDArray[np.float64]
    sizes: NDArray[np.int64]
    missing: NDArray[np.float64] = field(default_factory=lambda: np.zeros(()))
    drawn: NDArray[np.int64] | None = None

    @property
    def can_miss(self) -> NDArray[np.bool_]:
        """Which numbers may be null."""
        return np.broadcast_to(self.missing > 0, self.low.shape)

    @property
    def drawn_sizes(self) -> NDArray[np.int64]:
        """The number of values of each categorical column that candidates are drawn from."""
        return self.sizes if self.drawn is None else self.drawn

    @property
    def without_last_code(self) -> RecordSpace:
        """The space in which the last categorical column is always its first value."""
        drawn = self.drawn_sizes.copy()
        drawn[-1] = 1
        return replace(self, drawn=drawn)

    @property
    def code_type(self) -> np.dtype[np.unsignedinteger[Any]]:
        """The smallest type that holds every code."""
        return np.min_scalar_type(int(self.sizes.max(initial=1)) - 1)

    def project(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return `numbers` moved into the box and onto the grid; a null stays one.

        Example:
            >>> one = np.ones(1)
            >>> space = RecordSpace(0 * one, one, 4 * one, np.array([], dtype=np.int64))
            >>> space.project(np.array([[0.3], [1.7]])).ravel()
            array([0.25, 1.  ])
        """
        projected = np.clip(numbers, self.low, self.high)
        on_grid = self.steps > 0
        if on_grid.any():
            steps = self.steps[on_grid]
            snapped = np.rint(projected[:, on_grid] * steps) / steps
            projected[:, on_grid] = np.clip(snapped, self.low[on_grid], self.high[on_grid])
        return projected

    def narrow_column(self, column: int, low: float, high: float) -> RecordSpace:
        """Return the space with one numeric column bound to [low, high]."""
        lows, highs = self.low.copy(), self.high.copy()
        lows[column], highs[column] = low, high
        return replace(self, low=lows, high=highs, missing=self._set_missing(column, 0.0))

    def nullify_column(self, column: int) -> RecordSpace:
        """Return the space with one numeric column always null."""
        return replace(self, missing=self._set_missing(column, 1.0))

    def _set_missing(self, column: int, probability: float) -> NDArray[np.float64]:
        missing = np.array(np.broadcast_to(self.missing, self.low.shape))
        missing[column] = probability
        return missing
