"""`Digits`: a column as small whole numbers, and several of them as one number a row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_LARGEST = 2**62


@dataclass(frozen=True, eq=False)
class Digits:
    """A whole number for each row.

    Args:
        values: The numbers, from 0.
        base: All of them are below it.
    """

    values: NDArray[np.int64]
    base: int

    @classmethod
    def of_distinct(cls, cells: NDArray[np.generic]) -> Digits:
        """Number what a row may hold, in its order; all NaN are one.

        Example:
            >>> Digits.of_distinct(np.array([7.5, 2.5, 7.5, np.nan])).values
            array([1, 0, 1, 2])
        """
        distinct, places = np.unique(cells, return_inverse=True)
        return cls(places.astype(np.int64), len(distinct))

    def take(self, which: NDArray[np.generic]) -> Digits:
        """Return the numbers of some rows."""
        return Digits(self.values[which], self.base)


def joint(columns: Sequence[Digits]) -> Digits:
    """Return one number a row: rows get the same one if they agree in all columns.

    Columns are digits of it. Where more of them come than a machine word holds, what is there so
    far is numbered anew.

    Example:
        >>> ward, sex = Digits(np.array([2, 0, 2]), 3), Digits(np.array([1, 0, 1]), 2)
        >>> joint([ward, sex]).values, joint([ward, sex]).base
        (array([5, 0, 5]), 6)
    """
    first, *others = columns
    whole = first
    for column in others:
        if whole.base * column.base > _LARGEST:
            whole = Digits.of_distinct(whole.values)
        whole = Digits(whole.values * column.base + column.values, whole.base * column.base)
    return whole
