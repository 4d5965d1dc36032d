"""`Halfspaces`: whether the numbers of rows lie inside random halfspaces, exactly.

Privacy: whether a row is inside a halfspace must depend on that row alone, but a matrix product may
round differently for other rows in memory, another number of threads or another machine. So nothing
is rounded: numbers are put on a grid, weights and limits are integers, and all of them are so small
that every product and every sum, in any order, is an integer of at most 2^24, which a float32
represents exactly.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabpe.encoding.marginals import ListAxis
from tabpe.errors import TabpeError

Floats = NDArray[np.floating[Any]]

MAX_WEIGHT = 127
_EXACT = 2**23  # of the weighted sum, and of the limit: so the difference is at most 2^24
_FINEST = 4095
_SPREAD = MAX_WEIGHT / 4  # weights beyond four standard deviations are cut
_PLANES, _POINTS = 128, 1024  # a block of comparisons stays in the cache


@dataclass(frozen=True, eq=False)
class Halfspaces:
    """Some halfspaces, in each of which rows are counted by the cells of one axis.

    A point is inside if the weighted sum of its numbers, on the grid, is at most the limit.

    Args:
        axis: The axis to count by; None for all rows together.
        weights: A row for each halfspace: whole numbers from -127 to 127.
        limits: The limit of each.

    Example:
        >>> young = Halfspaces(None, np.array([[1]], np.int8), np.array([2000], np.int32))
        >>> young.sum_masses(np.array([[0.1], [0.4], [0.9]]), np.ones((3, 1)))
        array([[2.]])
    """

    axis: ListAxis | None
    weights: NDArray[np.int8]
    limits: NDArray[np.int32]

    def __post_init__(self) -> None:
        if self.weights.dtype != np.int8 or (self.weights < -MAX_WEIGHT).any():
            raise TabpeError("weights: expected integers from -127 to 127, as int8.")
        if self.limits.shape != (len(self.weights),) or (np.abs(self.limits) > _EXACT).any():
            raise TabpeError("limits: expected one for each halfspace, of at most 2^23.")

    def __len__(self) -> int:
        return len(self.weights)

    @staticmethod
    def draw_halfspaces(
        axis: ListAxis | None, size: int, numbers: int, rng: np.random.Generator
    ) -> Halfspaces:
        """Return halfspaces of normal weights, and of normal limits of the same scale.

        Args:
            axis: The axis to count by.
            size: The number of halfspaces.
            numbers: How many numbers a row has; at least one.
            rng: Source of randomness.
        """
        weights = np.rint(rng.standard_normal((size, numbers), dtype=np.float32) * _SPREAD)
        weights = np.clip(weights, -MAX_WEIGHT, MAX_WEIGHT).astype(np.int8)
        spread = _SPREAD * np.sqrt(numbers) * _count_grid_steps(numbers)
        limits = np.rint(np.clip(rng.normal(0.0, spread, size), -_EXACT, _EXACT))
        return Halfspaces(axis, weights, limits.astype(np.int32))

    @property
    def cells(self) -> int:
        """The number of cells of the axis."""
        return 1 if self.axis is None else self.axis.size

    @property
    def steps(self) -> int:
        """The number of grid steps from 0 to 1."""
        return _count_grid_steps(self.weights.shape[1])

    @property
    def planes(self) -> NDArray[np.float32]:
        """Weights and limits for numbers from 0 to 1, not on the grid; about one in size."""
        unit = _SPREAD * np.sqrt(self.weights.shape[1])
        return np.column_stack([self.weights / unit, self.limits / (unit * self.steps)]).astype(
            np.float32
        )

    def take(self, indices: NDArray[np.int64]) -> Halfspaces:
        """Return the halfspaces at some indices."""
        return Halfspaces(self.axis, self.weights[indices], self.limits[indices])

    def sum_masses(self, numbers: Floats, masses: Floats) -> NDArray[np.float64]:
        """Return the mass of each cell over the points inside each halfspace.

        Which points are inside is exact, and so are sums of integer masses.

        Args:
            numbers: The scaled numbers of each point, from 0 to 1.
            masses: The mass of each point in each cell.
        """
        from threadpoolctl import threadpool_limits

        points = _make_blocks(self._append_one(numbers), np.asarray(masses, dtype=np.float32))
        starts = range(0, len(self), _PLANES)
        # Many small products: threads that each do some of them, not many threads for each.
        with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(os.cpu_count()) as pool:
            found = list(pool.map(lambda start: self._sum_block(start, points), starts))
        return np.concatenate([*found, np.zeros((0, masses.shape[1]))])

    def _append_one(self, numbers: Floats) -> NDArray[np.float32]:
        """Return numbers on the grid, and a constant one for the limit."""
        scaled = np.clip(np.asarray(numbers, dtype=np.float64), 0.0, 1.0)
        on_grid = np.rint(scaled * self.steps)
        return np.column_stack([on_grid, np.ones(len(numbers))]).astype(np.float32)

    def _sum_block(
        self, start: int, points: list[tuple[NDArray[np.float32], NDArray[np.float32]]]
    ) -> NDArray[np.float64]:
        here = slice(start, start + _PLANES)
        planes = np.column_stack([self.weights[here], -self.limits[here]]).astype(np.float32)
        total = np.zeros((len(planes), points[0][1].shape[1] if points else 0))
        for numbers, masses in points:
            beyond = planes @ numbers
            inside = np.less_equal(beyond, 0, out=beyond)
            total += inside @ masses
        return total


def locate_halfspace(asked: Sequence[Halfspaces], index: int) -> tuple[int, int]:
    """Return which of some halfspaces an index over all of them is in, and its index there.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> locate_halfspace([Halfspaces.draw_halfspaces(None, size, 1, rng) for size in (3, 5)], 4)
        (1, 1)
    """
    ends = np.cumsum([len(halfspaces) for halfspaces in asked])
    which = int(np.searchsorted(ends, index, side="right"))
    return which, int(index - (ends[which] - len(asked[which])))


def _count_grid_steps(numbers: int) -> int:
    return min(_FINEST, _EXACT // (MAX_WEIGHT * numbers))


def _make_blocks(
    numbers: NDArray[np.float32], masses: NDArray[np.float32]
) -> list[tuple[NDArray[np.float32], NDArray[np.float32]]]:
    """Return points as columns and their masses, in blocks; an empty one for no points."""
    starts = range(0, max(len(numbers), 1), _POINTS)
    return [
        (np.ascontiguousarray(numbers[s : s + _POINTS].T), masses[s : s + _POINTS]) for s in starts
    ]
