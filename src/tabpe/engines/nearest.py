"""The reference of the votes: the nearest candidate of every row, in numpy.

Direct differences in float32, summed column by column in a fixed order, then one product and one
sum for the categories. No expansion into `a^2 - 2ab + b^2`: that form is faster, and wrong for
about one vote in 10^5. `argmin` takes the first of equal distances, which is the tie rule. A
block of rows at a time keeps the memory bounded, whatever the number of rows and candidates.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabpe.encode import Records

BLOCK_CELLS = 2**18


def nearest(rows: Records, candidates: Records, category_weight: float) -> NDArray[np.int64]:
    """Return the index of the candidate that is nearest to each row.

    Example:
        >>> no_codes = np.empty((3, 0), dtype=np.uint8)
        >>> points = Records(np.array([[0.0], [0.5], [0.5]], dtype=np.float32), no_codes)
        >>> nearest(points, points, category_weight=1 / 3)
        array([0, 1, 1])
    """
    block = max(1, BLOCK_CELLS // max(1, len(candidates)))
    numbers = np.ascontiguousarray(candidates.numbers.T, dtype=np.float32)
    codes = np.ascontiguousarray(candidates.codes.T)
    found = np.empty(len(rows), dtype=np.int64)
    for start in range(0, len(rows), block):
        part = rows.take(np.arange(start, min(start + block, len(rows))))
        distance = _distances(part, numbers, codes, np.float32(category_weight))
        found[start : start + block] = distance.argmin(axis=1)
    return found


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
    for column, values in zip(rows.numbers.T.astype(np.float32, copy=False), numbers, strict=True):
        np.subtract(column[:, None], values[None, :], out=difference)
        np.multiply(difference, difference, out=difference)
        np.add(total, difference, out=total)
    if codes.shape[0]:
        differing = np.zeros(shape, dtype=np.uint16)
        for column, values in zip(rows.codes.T, codes, strict=True):
            differing += column[:, None] != values[None, :]
        total += weight * differing.astype(np.float32)
    return total
