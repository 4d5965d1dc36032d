"""Labels made clear again where noise has blurred them.

Every class of a pool is fitted to noisy votes of its own, so noise puts a little of each class
where rows are of others. What is left of a class among its own kind is more likely right than what
is left of it among others; so the weight of a row is multiplied by the share that its class has
among the rows around it, or by a power of that. Then a few sweeps of the fit put right what that
has changed in the tables.

It is a guess about what noise did. Where labels are a matter of chance a power of 1 makes them more
certain than they are (`python -m bench.sharpness`); classifiers gain all the same.

A pool is made of noisy measurements alone, and this reads nothing else: it is post-processing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tabpe.evolve.evidence import Rows
from tabpe.search import index

# More of them made no difference.
AROUND = 7
# The rows around a row are looked for among so many draws: two for each row that votes tell apart.
DRAWS_BY_CANDIDATE, FEWEST_DRAWS = 2, 8000
# What a class counts for before anything is known of the rows around.
_BEFORE = 0.5

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]


def draws_of(candidates: int) -> int:
    """Return how many draws stand for the rows around.

    Example:
        >>> draws_of(1000), draws_of(12_000)
        (8000, 24000)
    """
    return max(FEWEST_DRAWS, DRAWS_BY_CANDIDATE * candidates)


def agreement(
    rows: Rows, drawn: Whole, category_weight: float, *, around: int = AROUND, jobs: int = 1
) -> Floats:
    """Return, for each row, which part of the drawn rows around it are of its class.

    A row itself does not count, however often it was drawn.

    Args:
        rows: Rows that were made up.
        drawn: The places of some of them, ascending; those of one that counts more, several times.
        category_weight: What one differing category adds to a squared distance.
        around: How many of the nearest are around a row.
        jobs: Threads that look for the nearest.

    Example:
        >>> from tabpe.encode import Records
        >>> places = np.array([[0.1], [0.2], [0.3], [0.79], [0.8], [0.9]], dtype=np.float32)
        >>> records = Records(places, np.empty((6, 0), dtype=np.uint8))
        >>> rows = Rows(records, records, np.array([0, 0, 0, 0, 1, 1]))
        >>> agreement(rows, np.arange(6), category_weight=1 / 3, around=1)
        array([0.75, 0.75, 0.75, 0.25, 0.25, 0.75])
    """
    others, times = np.unique(drawn, return_counts=True)
    found = index(rows.seen.take(others), category_weight, jobs=jobs)
    near = found.nearest(rows.seen, min(around + 1, len(others)))
    counted = times[near] * (others[near] != np.arange(len(rows))[:, None])
    alike = rows.classes[others][near] == rows.classes[:, None]
    share: Floats = (np.sum(counted * alike, axis=1) + _BEFORE) / (counted.sum(axis=1) + 1.0)
    return share
