"""`LocalEngine`: the private rows in the memory of this process."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from tabpe.encode import Records
from tabpe.engines.nearest import Segment, prepared
from tabpe.engines.votes import class_votes


class LocalEngine:
    """Holds the private rows in memory, class by class.

    Args:
        classes: Number of classes.
        category_weight: What one differing category adds to a distance.
        jobs: Number of threads for the votes.

    Example:
        >>> engine = LocalEngine(classes=1, category_weight=1 / 3)
        >>> no_codes = np.empty((3, 0), dtype=np.uint8)
        >>> rows = Records(np.array([[0.1], [0.2], [0.9]], dtype=np.float32), no_codes)
        >>> engine.prepare([(rows, np.zeros(3, dtype=np.int64))])
        >>> engine.votes([Records(np.array([[0.0], [1.0]]), no_codes[:2])])
        [array([2, 1])]
    """

    def __init__(self, *, classes: int, category_weight: float, jobs: int = 1) -> None:
        self._category_weight = category_weight
        self._jobs = jobs
        self._segments: list[list[Segment]] = [[] for _ in range(classes)]

    def prepare(self, batches: Iterable[tuple[Records, NDArray[np.int64]]]) -> None:
        """Take in the private rows, each with its class."""
        parts: list[list[Records]] = [[] for _ in self._segments]
        for rows, labels in batches:
            for label, kept in enumerate(parts):
                kept.append(rows.take(labels == label))
        for segments, kept in zip(self._segments, parts, strict=True):
            if kept:
                segments.append(prepared(Records.concat(kept), self._category_weight))
                kept.clear()

    def class_counts(self) -> NDArray[np.int64]:
        """Return how many rows each class has."""
        return np.array([sum(map(len, segments)) for segments in self._segments], dtype=np.int64)

    def votes(self, population: Sequence[Records]) -> list[NDArray[np.int64]]:
        """Return, for the candidates of each class, how many rows are nearest to each."""
        return [
            class_votes(segments, candidates, self._category_weight, jobs=self._jobs)
            for segments, candidates in zip(self._segments, population, strict=True)
        ]

    def close(self) -> None:
        """Let go of the private rows."""
        self._segments = [[] for _ in self._segments]
