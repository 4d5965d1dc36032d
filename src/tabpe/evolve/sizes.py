"""How many rows there are of each kind, and why."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tabpe.evolve.config import Posterior


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


@dataclass(frozen=True)
class Extent:
    """How many rows there are of each kind.

    Args:
        candidates: Voted on in a round.
        pool: Stand for the table.
        rows: Come out.
    """

    candidates: int
    pool: int
    rows: int


# A candidate gets about this many votes for each of their noise, and for the root of each row's.
SIGNAL = 0.35
# More candidates than this made nothing better, and cost time in proportion. Many classes, which
# share them, need more.
MOST_CANDIDATES, MOST_BY_CLASS, MOST_EVER = 4000, 600, 16_000
FEWEST_BY_CLASS = 4
# Larger pools are better, the more slowly the larger they are: sixteen rows for a candidate, and
# half as many for each of those that only many classes need.
POOL_BY_CANDIDATE, FEWEST_IN_POOL = 16, 32_000
# The cells of all rows of the pool in all measurements: 4 bytes each.
MOST_CELLS = 12_000_000


def extent_of(
    config: Posterior, *, rows: float, sigma: float, classes: int, tables: int, size: int
) -> Extent:
    """Return how many candidates and rows of the pool a table needs.

    Args:
        config: The settings.
        rows: The number of rows, declared or noisy.
        sigma: The noise on votes.
        classes: The number of classes.
        tables: The number of tables of columns.
        size: How many rows come out.

    Example:
        >>> extent_of(Posterior(), rows=7000, sigma=22.0, classes=10, tables=14, size=7000)
        Extent(candidates=1818, pool=32000, rows=7000)
    """
    likely = rows * math.sqrt(config.votes) / (SIGNAL * sigma)
    most = min(max(MOST_CANDIDATES, MOST_BY_CLASS * classes), MOST_EVER)
    candidates = int(min(max(likely, FEWEST_BY_CLASS * classes), most))
    candidates = config.candidates or candidates
    usual = min(candidates, MOST_CANDIDATES)
    pool = max(FEWEST_IN_POOL, POOL_BY_CANDIDATE * (usual + candidates) // 2)
    width = tables + config.rounds * config.votes
    return Extent(candidates, config.pool or min(pool, MOST_CELLS // width), size)


def spread_of(config: Posterior, classes: int) -> float:
    """Return by how much the logarithm of a weight may well differ from that of an even share.

    The more classes there are, the smaller the part of all possible rows in which one of them lies,
    and the more weights in it differ from those elsewhere. The root of half of their number is
    what Artificial Characters and made-up tables of 2 and of 20 classes had in common.

    Example:
        >>> spread_of(Posterior(), classes=2), spread_of(Posterior(), classes=18)
        (1.0, 3.0)
    """
    return config.spread or max(1.0, math.sqrt(classes / 2))
