"""Pieces of the number line: in which one a number lies, and piecewise linear maps.

Natively or, where that is not installed, in numpy; bit by bit the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabpe import native

Numbers = NDArray[np.floating[Any]]
Ends = NDArray[np.float64]


def find_pieces(numbers: Numbers, ends: Ends) -> NDArray[np.int64]:
    """Return how many of the rising `ends` are at most as large as each number; all for NaN.

    Example:
        >>> find_pieces(np.array([-1.0, 0.0, 0.7, 3.0]), np.array([0.0, 0.5, 1.0])).tolist()
        [0, 1, 2, 3]
    """
    if native.search is not None:
        found: NDArray[np.int64] = native.search.find_pieces(_align(numbers), ends)
        return found
    return np.searchsorted(ends, numbers, side="right").astype(np.int64, copy=False)


def map_by_pieces(numbers: Numbers, ends: Ends, images: Ends) -> Numbers:
    """Return the images of numbers, in their dtype; NaN stays NaN.

    An image is linear between those of the two ends around the number. Rounding never carries it
    above the upper one, so the map is monotone. Beyond the outer ends it is constant.

    Args:
        numbers: A column of numbers.
        ends: The ends of the pieces; two or more. They rise, and may repeat.
        images: The image of each end, rising too.

    Example:
        >>> map_by_pieces(np.array([-1.0, 0.25, 2.0]), np.array([0.0, 0.5]), np.array([0.0, 1.0]))
        array([0. , 0.5, 1. ])
    """
    if native.search is not None:
        mapped: Numbers = native.search.map_by_pieces(_align(numbers), ends, images)
        return mapped
    # Not np.interp: on some processors it rounds once where this rounds twice.
    values = numbers.astype(np.float64)
    pieces = find_pieces(values, ends)
    below = np.minimum(np.maximum(pieces - 1, 0), len(ends) - 2)
    with np.errstate(all="ignore"):
        slopes = np.diff(images) / np.diff(ends)
        between = slopes[below] * (values - ends[below]) + images[below]
    inside = (pieces > 0) & (pieces < len(ends)) & (values != ends[below])
    at_end = images[np.maximum(pieces - 1, 0)]
    upper = images[np.minimum(pieces, len(ends) - 1)]
    image = np.where(inside, np.minimum(between, upper), at_end)
    return np.where(np.isnan(values), values, image).astype(numbers.dtype)


def _align(numbers: Numbers) -> Numbers:
    """Return numbers at addresses that suit their type, as compiled code relies on."""
    return np.require(numbers, requirements=["ALIGNED"])
