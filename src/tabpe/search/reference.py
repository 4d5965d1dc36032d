"""The reference of the votes: the nearest candidates of every row, in numpy.

Direct differences in float32, summed column by column in a fixed order, then one product and one
sum for the categories. No expansion into `a^2 - 2ab + b^2`: that form is faster, and wrong for
about one vote in 10^5. A number that is missing (NaN) adds nothing: a code tells of it. A stable
sort (for one neighbour, `argmin`) takes the first of equal distances, which is the tie rule. A
block of rows at a time keeps the memory bounded, whatever the number of rows and candidates.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabpe.encode import Records

BLOCK_CELLS = 2**18


@dataclass(frozen=True, eq=False)
class NumpyIndex:
    """Finds the nearest of some candidates, slowly and without any compiled code.

    Args:
        candidates: Where to look.
        category_weight: What one differing category adds to a distance.

    Example:
        >>> no_codes = np.empty((3, 0), dtype=np.uint8)
        >>> points = Records(np.array([[0.0], [0.5], [0.5]], dtype=np.float32), no_codes)
        >>> NumpyIndex(points, category_weight=1 / 3).nearest(points).ravel()
        array([0, 1, 1])
    """

    candidates: Records
    category_weight: float

    def nearest(self, rows: Records, k: int = 1) -> NDArray[np.int64]:
        """Return the indices of the `k` candidates nearest to each row, nearest first."""
        block = max(1, BLOCK_CELLS // len(self.candidates))
        numbers = np.ascontiguousarray(self.candidates.numbers.T, dtype=np.float32)
        codes = np.ascontiguousarray(self.candidates.codes.T)
        found = np.empty((len(rows), k), dtype=np.int64)
        for start in range(0, len(rows), block):
            part = rows.take(np.arange(start, min(start + block, len(rows))))
            distance = _distances(part, numbers, codes, np.float32(self.category_weight))
            found[start : start + block] = _smallest(distance, k)
        return found


def first_equals(rows: Records) -> NDArray[np.int64]:
    """Return for each row the first one that equals it, bit by bit.

    Example:
        >>> numbers = np.array([[0.5], [0.1], [0.5]], dtype=np.float32)
        >>> first_equals(Records(numbers, np.zeros((3, 1), dtype=np.uint8)))
        array([0, 1, 0])
    """
    if not rows.numbers.size and not rows.codes.size:
        return np.zeros(len(rows), dtype=np.int64)
    cells = [np.ascontiguousarray(part).view(np.uint8) for part in (rows.numbers, rows.codes)]
    joined = np.concatenate([cell.reshape(len(rows), -1) for cell in cells], axis=1)
    whole = joined.view(np.dtype((np.void, joined.shape[1]))).ravel()
    _, first, group = np.unique(whole, return_index=True, return_inverse=True)
    return np.asarray(first[group], dtype=np.int64)


def _smallest(distance: NDArray[np.float32], k: int) -> NDArray[np.int64]:
    if k == 1:
        return np.asarray(distance.argmin(axis=1)[:, None], dtype=np.int64)
    return np.asarray(distance.argsort(axis=1, kind="stable")[:, :k], dtype=np.int64)


def _distances(
    rows: Records,
    numbers: NDArray[np.float32],
    codes: NDArray[Any],
    weight: np.float32,
) -> NDArray[np.float32]:
    """Return the distance of each row to each candidate; candidates come column by column."""
    shape = (len(rows), max(numbers.shape[1], codes.shape[1]))
    total = np.zeros(shape, dtype=np.float32)
    difference = np.empty(shape, dtype=np.float32)
    holes = bool(np.isnan(rows.numbers).any() or np.isnan(numbers).any())
    for column, values in zip(rows.numbers.T.astype(np.float32, copy=False), numbers, strict=True):
        np.subtract(column[:, None], values[None, :], out=difference)
        np.multiply(difference, difference, out=difference)
        if holes:
            np.fmax(difference, 0, out=difference)  # of NaN and 0 it is 0
        np.add(total, difference, out=total)
    if codes.shape[0]:
        differing = np.zeros(shape, dtype=np.uint16)
        for column, values in zip(rows.codes.T, codes, strict=True):
            differing += column[:, None] != values[None, :]
        total += weight * differing.astype(np.float32)
    return total
