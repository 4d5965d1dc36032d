"""`Sight`: rows as they are voted on, where distances are measured.

Numbers may be moved onto a scale on which rows lie more evenly. A number that is null has no place
on any scale: it adds nothing to a distance, and whether it is there is told by a code of its own.
So a null and a number are as far apart as two categories that differ, and two nulls are equal.

Privacy: how a row is seen depends on that row and on public facts, and on no other row.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tabpe.encode.records import Records
from tabpe.encode.warp import Warp


@dataclass(frozen=True, eq=False)
class Sight:
    """How rows are seen by those who compare them.

    Args:
        can_miss: Which numbers may be null.
        warp: Moves the numbers; None to leave them.

    Example:
        >>> rows = Records(np.array([[0.5], [np.nan]]), np.array([[3], [3]], dtype=np.uint8))
        >>> Sight(np.array([True])).of(rows).codes
        array([[3, 0],
               [3, 1]], dtype=uint8)
    """

    can_miss: NDArray[np.bool_]
    warp: Warp | None = None

    def of(self, rows: Records) -> Records:
        """Return rows as they are seen; numbers keep the type that they had."""
        moved = rows if self.warp is None else self.warp.of(rows)
        return with_marks(moved, self.can_miss)


def with_marks(rows: Records, can_miss: NDArray[np.bool_]) -> Records:
    """Return rows with a code more for each number that may be null: 1 where it is, or else 0."""
    if not can_miss.any():
        return rows
    missing = np.isnan(rows.numbers)
    # Rows are told apart bit by bit, and there are many NaNs.
    numbers = np.where(missing, rows.numbers.dtype.type(np.nan), rows.numbers)
    return Records(numbers, np.hstack([rows.codes, missing[:, can_miss].astype(rows.codes.dtype)]))
