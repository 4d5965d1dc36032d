"""`LocalEngine`: the private rows in the memory of this process."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tabpe.encode import Records
from tabpe.engines.votes import Batches, Segment, class_sizes, count_votes, segments_of


class LocalEngine:
    """Holds the private rows in memory, class by class.

    Args:
        classes: Number of classes.
        category_weight: What one differing category adds to a distance.
        jobs: Threads that count votes.

    Example:
        >>> engine = LocalEngine(classes=1, category_weight=1 / 3)
        >>> no_codes = np.empty((3, 0), dtype=np.uint8)
        >>> rows = Records(np.array([[0.1], [0.2], [0.9]], dtype=np.float32), no_codes)
        >>> engine.prepare([(rows, np.zeros(3, dtype=np.int64))])
        >>> engine.votes([Records(np.array([[0.0], [1.0]]), no_codes[:2])])
        [array([2, 1])]
    """

    def __init__(self, *, classes: int, category_weight: float, jobs: int = 1) -> None:
        self._classes = classes
        self._category_weight = category_weight
        self._jobs = jobs
        self._segments: list[Segment] = []

    def prepare(self, batches: Batches) -> None:
        """Take in the private rows, each with its class."""
        for segment in segments_of(batches, self._classes):
            self._segments.append(segment.prepared(self._category_weight))

    def class_counts(self) -> NDArray[np.int64]:
        """Return how many rows each class has."""
        return class_sizes(self._segments, self._classes)

    def votes(self, population: Sequence[Records]) -> list[NDArray[np.int64]]:
        """Return, for the candidates of each class, how many rows are nearest to each."""
        return count_votes(
            population,
            self._segments,
            classes=self._classes,
            category_weight=self._category_weight,
            jobs=self._jobs,
        )

    def close(self) -> None:
        """Let go of the private rows."""
        self._segments = []
