"""Features as arrays of numbers: by codes, for trees, or by places, for distances."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tabpe.metrics.view import Cells, Labels, Numbers

MOST_LISTED = 255
MOST_PLACES = 4096
FARTHEST = 10.0
BELOW = -1.0


def is_listed(cells: Cells) -> bool:
    """Whether gradient boosting can split a column by sets of its values."""
    return isinstance(cells, Labels) and len(cells.names) <= MOST_LISTED


def coded(features: Sequence[Cells]) -> NDArray[np.float64]:
    """Return one number a feature; NaN for a null.

    Example:
        >>> from tabpe import Boolean, Integer
        >>> age = Numbers(Integer("age", 0, 100), np.array([25.0, np.nan]))
        >>> ill = Labels(Boolean("ill"), ("False", "True"), np.array([1, -1]))
        >>> coded([age, ill])
        array([[0.25, 1.  ],
               [ nan,  nan]])
    """
    return np.column_stack([_code(cells) for cells in features])


def filled(features: Sequence[Cells]) -> NDArray[np.float64]:
    """Return one number a feature; for a null one that is below all that are declared."""
    codes = coded(features)
    return np.where(np.isnan(codes), BELOW, codes)


def placed(features: Sequence[Cells]) -> NDArray[np.float32]:
    """Return places in a space in which the squared distance of rows counts what differs.

    A number adds the square of its difference over its range, another category adds 1, as does a
    null against a value. Many categories share a few places, so that the space stays small.

    Example:
        >>> from tabpe import Boolean
        >>> ill = Labels(Boolean("ill"), ("False", "True"), np.array([0, 1, -1]))
        >>> one, two, null = placed([ill])
        >>> round(float(((one - two) ** 2).sum()), 6), round(float(((one - null) ** 2).sum()), 6)
        (1.0, 1.0)
    """
    lists = sum(isinstance(cells, Labels) for cells in features)
    most = max(2, min(MOST_LISTED, MOST_PLACES // max(1, lists)))
    return np.column_stack([_place(cells, most) for cells in features])


def _code(cells: Cells) -> NDArray[np.float64]:
    if isinstance(cells, Labels):
        return np.where(cells.missing, np.nan, cells.codes)
    return _within(cells)


def _within(cells: Numbers) -> NDArray[np.float64]:
    """Return scaled numbers, none so far out that it is all that counts."""
    return np.clip(cells.scaled, -FARTHEST, FARTHEST)


def _place(cells: Cells, most: int) -> NDArray[np.float32]:
    if isinstance(cells, Labels):
        return _one_hot(cells.codes, min(most, len(cells.names)))
    middle = np.where(cells.missing, 0.5, _within(cells))
    return np.column_stack([middle, cells.missing]).astype(np.float32)


def _one_hot(codes: NDArray[np.int64], places: int) -> NDArray[np.float32]:
    """Return codes as corners of a simplex with edges of length 1; the last is for nulls."""
    corner = np.where(codes < 0, places, codes % places)
    hot = np.zeros((len(codes), places + 1), dtype=np.float32)
    hot[np.arange(len(codes)), corner] = np.sqrt(0.5)
    return hot
