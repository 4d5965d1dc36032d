"""Precision, recall, density and coverage: whether two sets of points lie in the same places.

Around each point of a set there is a ball that reaches to its k-th nearest neighbour among the
*other* points of the set: the balls together stand for where the set lies. A point is not its own
neighbour, as in the usual implementations, so that k = 1 means something; an equal point is one, so
that a point with k copies has a ball of radius 0, which holds its copies and nothing else. Where a
set has fewer than k other points the furthest of them counts, and a point alone has radius 0.

Distances are sums of squared differences and never the difference of two large products, so that
equal points are at distance 0 exactly and what holds with equality is counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tabpe import _validate
from tabpe.errors import ParameterError

NEIGHBOURS = 5
_PAIRS_AT_ONCE = 1 << 18  # distances that a core keeps in its cache


@dataclass(frozen=True)
class Overlap:
    """How two sets of points lie to each other.

    Args:
        precision: Share of the synthetic points that lie in the ball of some real point.
        recall: Share of the real points that lie in the ball of some synthetic point.
        density: How many real balls a synthetic point lies in, over k; may exceed 1.
        coverage: Share of the real balls that hold a synthetic point.
    """

    precision: float
    recall: float
    density: float
    coverage: float


def overlap(real: ArrayLike, synthetic: ArrayLike, k: int = NEIGHBOURS) -> Overlap:
    """Return how two sets of points, one row each, lie to each other.

    The time is proportional to the number of pairs of points; the memory is not.

    Raises:
        ParameterError: If a set is empty or holds something that is not a finite number, if the
            two differ in their number of columns, or if `k` is not a whole number of at least 1.

    Example:
        >>> overlap([[0.0], [1.0], [2.0]], [[0.5], [9.0]], k=1)
        Overlap(precision=0.5, recall=1.0, density=1.0, coverage=0.6666666666666666)
    """
    points, others = _points("real", real), _points("synthetic", synthetic)
    if points.shape[1] != others.shape[1]:
        given = f"real with {points.shape[1]} columns, synthetic with {others.shape[1]}"
        raise ParameterError(f"{given}: expected as many in both.")
    k = _validate.whole("k", k, least=1)
    return _overlap(points, others, k)


def precision_recall(
    real: ArrayLike, synthetic: ArrayLike, k: int = NEIGHBOURS
) -> tuple[float, float]:
    """Return the precision and the recall of `overlap`.

    Example:
        >>> precision_recall([[0.0], [1.0]], [[0.0], [1.0], [5.0], [6.0]], k=1)
        (0.5, 1.0)
    """
    both = overlap(real, synthetic, k)
    return both.precision, both.recall


def density_coverage(
    real: ArrayLike, synthetic: ArrayLike, k: int = NEIGHBOURS
) -> tuple[float, float]:
    """Return the density and the coverage of `overlap`.

    Example:
        >>> density_coverage([[0.0], [1.0], [9.0]], [[0.5]], k=1)
        (2.0, 0.6666666666666666)
    """
    both = overlap(real, synthetic, k)
    return both.density, both.coverage


def _overlap(real: NDArray[np.float64], synthetic: NDArray[np.float64], k: int) -> Overlap:
    reach, other_reach = _squared_radii(real, k), _squared_radii(synthetic, k)
    held = np.zeros(len(synthetic), bool)
    reached = covered = balls = 0
    for rows in _blocks(len(real), len(synthetic)):
        squared = _squared_distances(real[rows], synthetic)
        inside = squared <= reach[rows, None]
        held |= inside.any(axis=0)
        balls += int(inside.sum())
        covered += int(inside.any(axis=1).sum())
        reached += int((squared <= other_reach).any(axis=1).sum())
    return Overlap(
        precision=float(held.mean()),
        recall=reached / len(real),
        density=balls / (k * len(synthetic)),
        coverage=covered / len(real),
    )


def _squared_radii(points: NDArray[np.float64], k: int) -> NDArray[np.float64]:
    """Return how far each point is from its k-th nearest neighbour, squared."""
    # A point is at distance 0 from itself, the least there is: it takes place 0.
    place, radii = min(k, len(points) - 1), np.empty(len(points))
    for rows in _blocks(len(points), len(points)):
        squared = _squared_distances(points[rows], points)
        radii[rows] = np.partition(squared, place, axis=1)[:, place]
    return radii


def _squared_distances(
    points: NDArray[np.float64], others: NDArray[np.float64]
) -> NDArray[np.float64]:
    from scipy.spatial.distance import cdist

    squared: NDArray[np.float64] = cdist(points, others, "sqeuclidean")
    return squared


def _blocks(rows: int, columns: int) -> list[slice]:
    step = max(1, _PAIRS_AT_ONCE // columns)
    return [slice(start, start + step) for start in range(0, rows, step)]


def _points(name: str, given: Any) -> NDArray[np.float64]:
    try:
        points = np.ascontiguousarray(given, np.float64)
    except (TypeError, ValueError):
        points = np.empty(0)
    if points.ndim != 2 or not points.size or not np.isfinite(points).all():  # noqa: PLR2004
        allowed = "one row of finite numbers for each point, and at least one point"
        raise ParameterError(f"{name}: expected {allowed}.")
    return points
