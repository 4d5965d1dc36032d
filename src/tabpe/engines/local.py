"""`LocalEngine`: the private rows in the memory of this process."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from tabpe.encode import Records
from tabpe.engines.nearest import nearest


class LocalEngine:
    """Holds the private rows in memory, class by class.

    Args:
        classes: Number of classes.
        category_weight: What one differing category adds to a distance.

    Example:
        >>> engine = LocalEngine(classes=1, category_weight=1 / 3)
        >>> no_codes = np.empty((3, 0), dtype=np.uint8)
        >>> rows = Records(np.array([[0.1], [0.2], [0.9]], dtype=np.float32), no_codes)
        >>> engine.prepare([(rows, np.zeros(3, dtype=np.int64))])
        >>> engine.votes([Records(np.array([[0.0], [1.0]]), no_codes[:2])])
        [array([2, 1])]
    """

    def __init__(self, *, classes: int, category_weight: float) -> None:
        self._category_weight = category_weight
        self._batches: list[list[Records]] = [[] for _ in range(classes)]

    def prepare(self, batches: Iterable[tuple[Records, NDArray[np.int64]]]) -> None:
        """Take in the private rows, each with its class."""
        for rows, labels in batches:
            for label, kept in enumerate(self._batches):
                kept.append(rows.take(labels == label))

    def class_counts(self) -> NDArray[np.int64]:
        """Return how many rows each class has."""
        return np.array([sum(map(len, kept)) for kept in self._batches], dtype=np.int64)

    def votes(self, population: Sequence[Records]) -> list[NDArray[np.int64]]:
        """Return, for the candidates of each class, how many rows are nearest to each."""
        return [
            self._class_votes(kept, candidates)
            for kept, candidates in zip(self._batches, population, strict=True)
        ]

    def close(self) -> None:
        """Let go of the private rows."""
        self._batches = [[] for _ in self._batches]

    def _class_votes(self, kept: list[Records], candidates: Records) -> NDArray[np.int64]:
        counts = np.zeros(len(candidates), dtype=np.int64)
        if not len(candidates):
            return counts
        for rows in kept:
            winners = nearest(rows, candidates, self._category_weight)
            counts += np.bincount(winners, minlength=len(candidates))
        return counts
