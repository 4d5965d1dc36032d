"""Atoms: single values at which the numbers of a column pile up.

A column may be continuous but for a few values that very many rows share: zero, a cap, a limit of
detection. Such a value is an atom. A schema declares them (`special`), or they are found among
public points: the bounds, zero and round values. A number is an atom if it is encoded to the same
bits as the value in float32, which is what private rows are held in.

Privacy: points follow from the schema alone, and whether a cell is at one from that cell.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from tabpe.schema import Column, Float, Integer, Temporal

# Round values are multiples of 1, 2 or 5 times a power of ten: as many as there may be of them.
MOST_ROUND = 40
_LEAST_WIDTH = 1e-290

Atoms = tuple[tuple[float, ...], ...]
Numbers = NDArray[np.float64]


def list_special_numbers(column: Column) -> tuple[float, ...]:
    """Return the declared special values, as numbers before the scale of a column.

    Example:
        >>> list_special_numbers(Integer("claims", 0, 400, special=(0, 365)))
        (0.0, 365.0)
    """
    given = getattr(column, "special", None) or ()
    if isinstance(column, Temporal):
        return tuple(float((column.ticks_of(one) - column.first) // column.tick) for one in given)
    is_large = isinstance(column, Integer) and _counts_from_least(column)
    origin = column.min if is_large and isinstance(column, Integer) else 0
    return tuple(float(one - origin) for one in given)


def list_public_numbers(column: Column) -> tuple[float, ...]:
    """Return where numbers may pile up by what is public: bounds, zero and round values.

    Example:
        >>> list_public_numbers(Float("limit", -1.0, 5000.0))[:4]
        (-1.0, 0.0, 200.0, 400.0)
        >>> len(list_public_numbers(Integer("hours", 1, 99)))
        21
    """
    if isinstance(column, Temporal):
        return (0.0, float(column.steps)) if column.steps else ()
    if not isinstance(column, (Integer, Float)) or column.max <= column.min:
        return ()
    if _counts_from_least(column):
        return 0.0, float(column.steps)
    low, high = float(column.min), float(column.max)
    if high - low < _LEAST_WIDTH:
        return low, high
    unit = _choose_unit(low, high)
    places = range(math.ceil(low / unit), math.floor(high / unit) + 1)
    # Divided by a power of ten, a round value is the same number as it is written.
    rounded = (float(f"{place * unit:.12g}") for place in places)
    inside = {one for one in rounded if low <= one <= high and _is_on_grid(column, one)}
    return tuple(sorted({low, high, *inside}))


def _counts_from_least(column: Column) -> bool:
    from tabpe.encoding.cells import is_large

    return is_large(column)


def _choose_unit(low: float, high: float) -> float:
    """Return the smallest of 1, 2 and 5 times a power of ten with few multiples in a range."""
    width = high - low
    power = math.floor(math.log10(width / MOST_ROUND))
    units = (float(f"{digit}e{power + more}") for more in (0, 1) for digit in (1, 2, 5))
    return next(unit for unit in units if width / unit <= MOST_ROUND)


def _is_on_grid(column: Integer | Float, value: float) -> bool:
    return column.decimals is None or round(value, column.decimals) == value


def find_states(numbers: NDArray[np.floating], atoms: Atoms) -> NDArray[np.uint8]:
    """Return what each number of rows is: 0, 1 for a null, and from 2 on the atom that it is at.

    Args:
        numbers: Scaled numbers, a row a record.
        atoms: The atoms of each column, as scaled numbers; empty for no column that has any.

    Example:
        >>> find_states(np.array([[0.0, 0.5], [np.nan, 1.0]]), ((0.0,), (1.0, 0.5))).tolist()
        [[2, 3], [1, 2]]
    """
    states: NDArray[np.uint8] = np.isnan(numbers).astype(np.uint8)
    for column, places in enumerate(atoms):
        single = numbers[:, column].astype(np.float32) if places else None
        for index, place in enumerate(places):
            states[single == np.float32(place), column] = 2 + index
    return states
