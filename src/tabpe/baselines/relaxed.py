"""Relaxed rows: each is a product of distributions, one over the values of each attribute.

A row of a table is the special case in which every distribution has all of its mass on one value.
A marginal of relaxed rows is the average of products of probabilities: it is smooth in them, so
that rows can be moved towards a measured marginal along a gradient. All functions here are about
public arrays.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

Probabilities = Sequence[Any]
"""For each attribute an array of points x values, of numpy or of jax; each row adds to one."""


@dataclass(frozen=True)
class Layout:
    """Where the values of all attributes lie when they stand side by side in one array.

    Args:
        sizes: The number of values of each attribute.

    Example:
        >>> layout = Layout((2, 3))
        >>> layout.starts, layout.width
        ((0, 2), 5)
        >>> layout.cells((0, 1)).tolist()
        [[0, 2], [0, 3], [0, 4], [1, 2], [1, 3], [1, 4]]
    """

    sizes: tuple[int, ...]

    @property
    def width(self) -> int:
        """The number of values of all attributes together."""
        return sum(self.sizes)

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """The place of the first value of each attribute."""
        return tuple(np.cumsum((0, *self.sizes))[:-1].tolist())

    def split(self, together: Any) -> list[Any]:
        """Return the part of each attribute of an array that has all of them side by side."""
        places = zip(self.starts, self.sizes, strict=True)
        return [together[:, start : start + size] for start, size in places]

    def cells(self, clique: Sequence[int]) -> NDArray[np.int64]:
        """Return, for each cell of a marginal, the places of the values that make it up."""
        sides = np.indices([self.sizes[place] for place in clique]).reshape(len(clique), -1)
        starts = np.array([self.starts[place] for place in clique], dtype=np.int64)
        return np.ascontiguousarray(sides.T + starts)


def marginal(parts: Probabilities, clique: Sequence[int]) -> Any:
    """Return the share of the mass of relaxed rows in each cell of a marginal.

    Args:
        parts: The relaxed rows.
        clique: The places of one or more attributes.

    Returns:
        The shares in one long array, counted through the last attribute first.

    Example:
        >>> parts = one_hot(np.array([[0, 2], [1, 2]]), (2, 3))
        >>> marginal(parts, (0, 1)).reshape(2, 3)
        array([[0. , 0. , 0.5],
               [0. , 0. , 0.5]], dtype=float32)
    """
    *rest, last = (parts[place] for place in clique)
    points = len(last)
    if not rest:
        return last.sum(0) / points
    head = rest[0]
    for part in rest[1:]:
        head = (head[:, :, None] * part[:, None, :]).reshape(points, -1)
    return (head.T @ last).reshape(-1) / points


def one_hot(codes: NDArray[np.int64], sizes: Sequence[int]) -> list[NDArray[np.float32]]:
    """Return rows as relaxed rows that have all mass on one value of each attribute.

    Example:
        >>> one_hot(np.array([[1]]), (3,))
        [array([[0., 1., 0.]], dtype=float32)]
    """
    return [np.eye(size, dtype=np.float32)[codes[:, j]] for j, size in enumerate(sizes)]


def drawn(
    parts: Probabilities, points: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return a row drawn from each of the relaxed rows at the given places.

    Args:
        parts: The relaxed rows.
        points: Which of them a row is drawn from; one may occur several times.
        rng: Source of randomness.

    Example:
        >>> parts = one_hot(np.array([[0, 2], [1, 1]]), (2, 3))
        >>> drawn(parts, np.array([1, 1, 0]), np.random.default_rng(0))
        array([[1, 1],
               [1, 1],
               [0, 2]])
    """
    codes = np.empty((len(points), len(parts)), dtype=np.int64)
    for place, part in enumerate(parts):
        upto = np.cumsum(np.asarray(part, dtype=np.float64)[points], axis=1)
        # Below its largest sum, which rounding may leave a little under one: so a value is found.
        height = rng.random(len(points)) * upto[:, -1]
        codes[:, place] = (upto <= height[:, None]).sum(axis=1)
    return codes


def in_turn(points: int, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return `size` places of relaxed rows, in random order, each used as often as the others.

    Example:
        >>> np.bincount(in_turn(3, 7, np.random.default_rng(0))).max()
        np.int64(3)
    """
    rounds = [rng.permutation(points) for _ in range(math.ceil(size / points))]
    return np.concatenate([*rounds, np.empty(0, dtype=np.int64)])[:size]
