"""`LocalEngine`: the private rows in the memory of this process."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tabpe.encode import Records
from tabpe.engines.ballot import Ballot
from tabpe.engines.users import Users
from tabpe.engines.votes import Batches, Segment


class LocalEngine:
    """Holds the private rows in memory, class by class.

    Args:
        classes: Number of classes.
        category_weight: What one differing category adds to a distance.
        jobs: Threads that count votes.
        users: Whose the rows are; None if every row is one of its own.

    Example:
        >>> engine = LocalEngine(classes=1, category_weight=1 / 3)
        >>> no_codes = np.empty((3, 0), dtype=np.uint8)
        >>> rows = Records(np.array([[0.1], [0.2], [0.9]], dtype=np.float32), no_codes)
        >>> engine.prepare([(rows, np.zeros(3, dtype=np.int64))])
        >>> engine.votes([Records(np.array([[0.0], [1.0]]), no_codes[:2])])
        [array([2, 1])]
    """

    def __init__(
        self, *, classes: int, category_weight: float, jobs: int = 1, users: Users | None = None
    ) -> None:
        self._ballot = Ballot(classes, category_weight, jobs, users)
        self.scale = self._ballot.scale
        self._segments: list[Segment] = []

    def prepare(self, batches: Batches) -> None:
        """Take in the private rows, each with its class."""
        for segment in self._ballot.segments(batches):
            self._segments.append(segment.prepared(self._ballot.category_weight))

    def row_count(self) -> NDArray[np.int64]:
        """Return, in a single cell, how many rows or users there are, times `scale`."""
        return self._ballot.row_count(self._segments)

    def class_counts(self) -> NDArray[np.int64]:
        """Return how many rows each class has."""
        return self._ballot.class_counts(self._segments)

    def votes(self, population: Sequence[Records], each: int = 1) -> list[NDArray[np.int64]]:
        """Return, for the candidates of each class, how many rows vote for each."""
        return self._ballot.votes(population, self._segments, each)

    def close(self) -> None:
        """Let go of the private rows."""
        self._segments = []
