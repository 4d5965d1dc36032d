"""RANDOM_API and VARIATION_API of the paper: initial candidates, and variations of rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tabpe.encoding import Records, RecordSpace
from tabpe.encoding.records import Codes, Floats
from tabpe.evolution.config import Evolution
from tabpe.evolution.extensions import apply_operator, is_extension_name


def draw_uniform_records(space: RecordSpace, size: int, rng: np.random.Generator) -> Records:
    """Return `size` rows, uniform over the space; numbers with a grid are uniform on it.

    A number that may be null is null with the probability that the space states.

    Example:
        >>> space = RecordSpace(np.zeros(1), np.ones(1), np.array([2.0]), np.array([3]))
        >>> rows = draw_uniform_records(space, 100, np.random.default_rng(0))
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


def vary_rows(
    rows: Records, space: RecordSpace, rate: float, config: Evolution, rng: np.random.Generator
) -> Records:
    """Return one variation of each row, by the operator of the settings."""
    if config.operator == "genetic":
        return cross_and_mutate(rows, space, rate, rng)
    if is_extension_name(config.operator):
        return apply_operator(str(config.operator), rows, space, rate, rng)
    return random_walk(rows, space, rate, rng, step=config.step)


def random_walk(
    rows: Records,
    space: RecordSpace,
    rate: float,
    rng: np.random.Generator,
    *,
    step: str = "gaussian",
) -> Records:
    """Redraw each category with probability `rate`, and move each number by `rate` of its range.

    Whether a number is null is redrawn with that probability too.

    Example:
        >>> space = RecordSpace(np.zeros(1), np.ones(1), np.zeros(1), np.array([3]))
        >>> rows = draw_uniform_records(space, 4, np.random.default_rng(0))
        >>> same = random_walk(rows, space, 0.0, np.random.default_rng(0))
        >>> bool((same.numbers == rows.numbers).all() and (same.codes == rows.codes).all())
        True
    """
    moves = draw_steps(rows.numbers.shape, step, rng)
    moved = space.project(rows.numbers + moves * (rate * (space.high - space.low)))
    codes = _redraw_codes(rows, space, rate, rng)
    if space.can_miss.any():
        fresh = draw_uniform_records(space, len(rows), rng).numbers
        moved = redraw_nulls(moved, fresh, rate, rng)
    return Records(moved, codes)


def redraw_nulls(
    numbers: NDArray[np.float64], fresh: Floats, rate: float, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return numbers of which each became null, or ceased to be, with probability `rate`.

    Args:
        numbers: The numbers; NaN for null.
        fresh: Replacements, which are null as often as numbers are.
        rate: The probability of a redraw.
        rng: Source of randomness.

    Example:
        >>> before, fresh = np.array([[np.nan, 0.5, 0.1]]), np.array([[0.2, 0.3, np.nan]])
        >>> redraw_nulls(before, fresh, 1.0, np.random.default_rng(0))
        array([[0.2, 0.5, nan]])
    """
    redrawn = rng.random(numbers.shape) < rate
    return np.where(redrawn & (np.isnan(numbers) | np.isnan(fresh)), fresh, numbers)


def smooth_numbers(
    rows: Records,
    classes: NDArray[np.int64],
    spaces: Sequence[RecordSpace],
    rate: float,
    rng: np.random.Generator,
    *,
    among: Floats,
) -> NDArray[np.float64]:
    """Return the numbers of rows, moved within their class by steps of `rate` in rank.

    A step is short where numbers are dense, and zero where very many are equal. So skewed columns
    stay skewed.

    Args:
        rows: The rows.
        classes: The class of each.
        spaces: Where the rows of each class may lie.
        rate: The scale of a step, as a part of all numbers of the column.
        rng: Source of randomness.
        among: All numbers, column by column, that define the ranks; NaN for null.

    Example:
        >>> space = RecordSpace(np.zeros(1), np.ones(1), np.zeros(1), np.array([], dtype=np.int64))
        >>> rows = Records(np.array([[0.0], [0.5]]), np.empty((2, 0), dtype=np.uint8))
        >>> among = np.append(np.zeros(900), np.linspace(0.45, 0.55, 100))[:, None]
        >>> classes, rng = np.zeros(2, int), np.random.default_rng(1)
        >>> smooth_numbers(rows, classes, [space], 0.01, rng, among=among).ravel().round(2)
        array([0.  , 0.49])
    """
    moved = np.array(rows.numbers, dtype=np.float64)
    for index, column in enumerate(among.T):
        moved[:, index] = _move_past_ranks(
            moved[:, index], np.sort(column[~np.isnan(column)]), rate, rng
        )
    for label, space in enumerate(spaces):
        mine = classes == label
        moved[mine] = space.project(moved[mine])
    return moved


def _move_past_ranks(
    numbers: NDArray[np.float64], rising: Floats, rate: float, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return numbers moved by `rate` in rank among sorted ones; nulls stay null."""
    if not len(rising):
        return numbers
    # Of several equal numbers, a number has the rank of a random one.
    first, after = (np.searchsorted(rising, numbers, side=side) for side in ("left", "right"))
    ranks = (first + (after - first) * rng.random(len(numbers))) / len(rising)
    ranks = np.abs(ranks + rate * rng.standard_normal(len(numbers)))
    ranks = np.where(ranks > 1, 2 - ranks, ranks)
    middles = (np.arange(len(rising)) + 0.5) / len(rising)
    return np.where(np.isnan(numbers), np.nan, np.interp(ranks, middles, rising))


def draw_steps(shape: tuple[int, ...], step: str, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return steps of length one: normal, or uniform up to one."""
    return rng.standard_normal(shape) if step == "gaussian" else rng.uniform(-1, 1, shape)


def cross_and_mutate(
    rows: Records, space: RecordSpace, rate: float, rng: np.random.Generator
) -> Records:
    """Take one attribute from a random mate, then redraw each attribute with probability `rate`.

    The operators of PrivGSD at the level of rows, as the paper adapts them: every row takes part
    in the crossover, and mutation may reach all attributes at once.
    """
    width = rows.numbers.shape[1]
    crossed = rng.integers(0, max(1, width + rows.codes.shape[1]), len(rows))
    taken = crossed[:, None] == np.arange(width + rows.codes.shape[1])
    mates = rows.take(rng.integers(0, max(1, len(rows)), len(rows)))
    fresh = draw_uniform_records(space, len(rows), rng)
    mutated = rng.random(taken.shape) < rate
    child = _mix_rows(rows, mates, taken)
    return _mix_rows(child, fresh, mutated)


def _mix_rows(rows: Records, others: Records, taken: NDArray[np.bool_]) -> Records:
    width = rows.numbers.shape[1]
    return Records(
        np.where(taken[:, :width], others.numbers, rows.numbers),
        np.where(taken[:, width:], others.codes, rows.codes),
    )


def _redraw_codes(
    rows: Records, space: RecordSpace, rate: float, rng: np.random.Generator
) -> Codes:
    codes = rows.codes.copy()
    row, column = np.nonzero(rng.random(codes.shape) < rate)
    codes[row, column] = rng.integers(0, space.drawn_sizes[column])
    return codes
