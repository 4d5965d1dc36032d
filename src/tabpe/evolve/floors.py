"""A floor for small classes: at least so many rows of each, whatever its share is.

Public arithmetic: sizes follow from declared shares or noisy counts, and from the floor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tabpe.evolve.guide import Guide
from tabpe.evolve.sizes import apportion

# A pool has so many rows of a class for each of the floor, to choose from.
POOL_BY_ROW = 8

Floats = NDArray[np.float64]


def with_floor(total: int, weights: Sequence[float] | Floats, floor: int) -> list[int]:
    """Split `total` in proportion to `weights`, with at least `floor` for each weight above 0.

    What the floor takes is taken from all others, in proportion. If no weight is above 0 all are
    equal. If there is not enough for the floor, all that have one get as much.

    Example:
        >>> with_floor(100, [900, 80, 20, 0], floor=10)
        [80, 10, 10, 0]
        >>> with_floor(100, [900, 80, 20, 0], floor=20)
        [60, 20, 20, 0]
        >>> with_floor(100, [900, 80, 20, 0], floor=0)
        [90, 8, 2, 0]
    """
    positive = np.maximum(np.asarray(weights, dtype=np.float64), 0.0)
    if not positive.any():
        positive = np.ones(len(positive))
    present = positive > 0
    floor = min(floor, total // int(present.sum()))
    low = np.zeros(len(positive), dtype=bool)
    while True:
        sizes = np.where(low, floor, 0)
        sizes[~low] = apportion(total - int(sizes.sum()), positive[~low])
        below = present & ~low & (sizes < floor)
        if not below.any():
            return [int(size) for size in sizes]
        low |= below


def lifted(guide: Guide, pool: int, floor: int) -> Guide:
    """Return a guide by which small classes have more rows of a pool, to choose from.

    Args:
        guide: Says how many private rows each class has.
        pool: How many rows the pool has.
        floor: The fewest rows of a class that come out; 0 for no floor.

    Example:
        >>> guide = Guide(np.array([990.0, 10.0]), (), (), ())
        >>> lifted(guide, pool=1000, floor=5).lift.round(2)
        array([0.97, 4.  ])
    """
    if not floor:
        return guide
    rows = np.array(with_floor(pool, guide.sizes, POOL_BY_ROW * floor))
    shares = pool * guide.sizes / guide.rows
    lift = np.divide(rows, shares, out=np.ones(len(rows)), where=(rows > 0) & (shares > 0))
    return replace(guide, lifted=lift)
