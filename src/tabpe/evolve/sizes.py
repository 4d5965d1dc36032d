"""How many synthetic rows each class gets."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def apportion(total: int, weights: Sequence[float] | NDArray[np.float64]) -> list[int]:
    """Split `total` in proportion to `weights`, by largest remainder; ties to the lowest index.

    Weights below 0, which noise can make, count as 0; if none is above 0 all are equal.

    Example:
        >>> apportion(10, [3, 3, 1, -2])
        [4, 4, 2, 0]
        >>> apportion(3, [0, 0])
        [2, 1]
    """
    positive = np.maximum(np.asarray(weights, dtype=np.float64), 0)
    if positive.sum() <= 0:
        positive = np.ones(len(positive))
    quota = total * (positive / positive.sum())
    sizes = np.floor(quota).astype(np.int64)
    left = total - int(sizes.sum())
    sizes[np.argsort(sizes - quota, kind="stable")[:left]] += 1
    return [int(size) for size in sizes]
