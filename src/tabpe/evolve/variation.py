"""VARIATION_API: rows near given rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tabpe.encode import Records, Space
from tabpe.encode.records import Codes
from tabpe.evolve.config import Evolution
from tabpe.evolve.random import random_records


def vary(
    rows: Records, space: Space, rate: float, config: Evolution, rng: np.random.Generator
) -> Records:
    """Return one variation of each row, by the operator of the settings."""
    if config.operator == "genetic":
        return genetic(rows, space, rate, rng)
    return random_walk(rows, space, rate, rng, step=config.step)


def random_walk(
    rows: Records, space: Space, rate: float, rng: np.random.Generator, *, step: str = "gaussian"
) -> Records:
    """Redraw each category with probability `rate`, and move each number by `rate` of its range.

    Example:
        >>> space = Space(np.zeros(1), np.ones(1), np.zeros(1), np.array([3]))
        >>> rows = random_records(space, 4, np.random.default_rng(0))
        >>> same = random_walk(rows, space, 0.0, np.random.default_rng(0))
        >>> bool((same.numbers == rows.numbers).all() and (same.codes == rows.codes).all())
        True
    """
    moves = steps(rows.numbers.shape, step, rng)
    moved = rows.numbers + moves * (rate * (space.high - space.low))
    return Records(space.project(moved), _redrawn(rows, space, rate, rng))


def smoothed(
    rows: Records,
    classes: NDArray[np.int64],
    spaces: Sequence[Space],
    rate: float,
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Return the numbers of rows, moved by `rate` of their range within their class.

    Example:
        >>> space = Space(np.zeros(1), np.ones(1), np.zeros(1), np.array([], dtype=np.int64))
        >>> rows = random_records(space, 4, np.random.default_rng(0))
        >>> moved = smoothed(rows, np.zeros(4, int), [space], 0.1, np.random.default_rng(1))
        >>> bool((moved != rows.numbers).all() and ((moved >= 0) & (moved <= 1)).all())
        True
    """
    moved = np.array(rows.numbers, dtype=np.float64)
    for label, space in enumerate(spaces):
        mine = classes == label
        reach = rate * (space.high - space.low)
        moved[mine] = space.project(moved[mine] + reach * rng.standard_normal(moved[mine].shape))
    return moved


def steps(shape: tuple[int, ...], step: str, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return steps of length one: normal, or uniform up to one."""
    return rng.standard_normal(shape) if step == "gaussian" else rng.uniform(-1, 1, shape)


def genetic(rows: Records, space: Space, rate: float, rng: np.random.Generator) -> Records:
    """Take one attribute from a random mate, then redraw each attribute with probability `rate`.

    The operators of PrivGSD at the level of rows, as the paper adapts them: every row takes part
    in the crossover, and mutation may reach all attributes at once.
    """
    width = rows.numbers.shape[1]
    crossed = rng.integers(0, max(1, width + rows.codes.shape[1]), len(rows))
    taken = crossed[:, None] == np.arange(width + rows.codes.shape[1])
    mates = rows.take(rng.integers(0, max(1, len(rows)), len(rows)))
    fresh = random_records(space, len(rows), rng)
    mutated = rng.random(taken.shape) < rate
    child = _mixed(rows, mates, taken)
    return _mixed(child, fresh, mutated)


def _mixed(rows: Records, others: Records, taken: NDArray[np.bool_]) -> Records:
    width = rows.numbers.shape[1]
    return Records(
        np.where(taken[:, :width], others.numbers, rows.numbers),
        np.where(taken[:, width:], others.codes, rows.codes),
    )


def _redrawn(rows: Records, space: Space, rate: float, rng: np.random.Generator) -> Codes:
    codes = rows.codes.copy()
    row, column = np.nonzero(rng.random(codes.shape) < rate)
    codes[row, column] = rng.integers(0, space.sizes[column])
    return codes
