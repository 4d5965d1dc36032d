"""Pieces of different sizes, dealt out in order, as evenly as that goes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

T = TypeVar("T")


def dealt(pieces: Sequence[T], sizes: Sequence[int], most: int) -> list[list[T]]:
    """Return neighbouring pieces in at most so many groups, about even in size.

    Args:
        pieces: The pieces.
        sizes: How large each is.
        most: How many groups to make at most; none is empty.

    Example:
        >>> dealt("abcd", [1, 1, 1, 4], 2)
        [['a', 'b', 'c'], ['d']]
    """
    ends = np.cumsum([0, *(size + 1 for size in sizes)])  # What is empty takes its place too.
    middles = (ends[1:] + ends[:-1]) / 2
    groups = np.minimum((middles * most / max(ends[-1], 1)).astype(int), most - 1)
    found: dict[int, list[T]] = {}
    for piece, group in zip(pieces, groups.tolist(), strict=True):
        found.setdefault(group, []).append(piece)
    return list(found.values())
