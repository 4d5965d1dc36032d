"""RANDOM_API: the first candidates."""

from __future__ import annotations

import numpy as np

from tabpe.encode import Records, Space


def random_records(space: Space, size: int, rng: np.random.Generator) -> Records:
    """Return `size` rows, uniform over the space; numbers with a grid are uniform on it.

    A number that may be null is so with the chance that the space says.

    Example:
        >>> space = Space(np.zeros(1), np.ones(1), np.array([2.0]), np.array([3]))
        >>> rows = random_records(space, 100, np.random.default_rng(0))
        >>> sorted(set(rows.numbers.ravel().tolist())), int(rows.codes.max())
        ([0.0, 0.5, 1.0], 2)
    """
    uniform = rng.random((size, len(space.low)))
    grid = np.where(space.steps > 0, space.steps, 1.0)
    first, last = np.rint(space.low * grid), np.rint(space.high * grid)
    on_grid = (first + np.floor(uniform * (last - first + 1))) / grid
    free = space.low + uniform * (space.high - space.low)
    numbers = np.clip(np.where(space.steps > 0, on_grid, free), space.low, space.high)
    codes = rng.integers(0, space.drawn_sizes, (size, len(space.sizes)))
    if space.can_miss.any():
        numbers[rng.random(numbers.shape) < space.missing] = np.nan
    return Records(numbers, codes.astype(space.code_type))
