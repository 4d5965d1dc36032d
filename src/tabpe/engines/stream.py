"""`StreamEngine`: votes in a memory that does not grow with the number of rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tabpe.encode import Records
from tabpe.engines.ballot import Ballot
from tabpe.engines.spill import SpillFile
from tabpe.engines.users import Users
from tabpe.engines.votes import Batches, Segment, class_sizes
from tabpe.errors import DataError


class StreamEngine:
    """Goes through the private rows in every round, a segment at a time.

    Its answers are those of `LocalEngine`, bit for bit.

    Args:
        classes: Number of classes.
        category_weight: What one differing category adds to a distance.
        jobs: Threads that count votes.
        spill: The folder in which encoded rows are kept, in a file without a name; None for the
            folder of the system for temporary files; False to keep none and iterate the batches
            again in every round. Then they must be an iterable that begins anew each time.
        users: Whose the rows are; None if every row is one of its own.

    Example:
        >>> engine = StreamEngine(classes=1, category_weight=1 / 3)
        >>> no_codes = np.empty((3, 0), dtype=np.uint8)
        >>> rows = Records(np.array([[0.1], [0.2], [0.9]], dtype=np.float32), no_codes)
        >>> engine.prepare([(rows, np.zeros(3, dtype=np.int64))])
        >>> engine.votes([Records(np.array([[0.0], [1.0]]), no_codes[:2])])
        [array([2, 1])]
        >>> engine.close()
    """

    def __init__(
        self,
        *,
        classes: int,
        category_weight: float,
        jobs: int = 1,
        spill: Path | Literal[False] | None = None,
        users: Users | None = None,
    ) -> None:
        self._ballot = Ballot(classes, category_weight, jobs, users)
        self.scale = self._ballot.scale
        self._spill = spill
        self._stored: SpillFile | _Afresh | None = None
        self._sizes = np.zeros(classes, dtype=np.int64)

    def prepare(self, batches: Batches) -> None:
        """Take in the private rows, each with its class."""
        if self._spill is False:
            self._stored = _Afresh(batches, self._ballot)
            self._sizes = class_sizes(self._stored, len(self._sizes))
            return
        self._stored = stored = SpillFile(self._spill)
        for segment in self._ballot.segments(batches):
            stored.append(segment.prepared(self._ballot.category_weight))
            self._sizes[segment.label] += segment.size

    def row_count(self) -> NDArray[np.int64]:
        """Return, in a single cell, how many rows or users there are, times `scale`."""
        if self._ballot.users is None:
            return np.array([self._sizes.sum()])
        return self._ballot.row_count(self._stored or ())

    def class_counts(self) -> NDArray[np.int64]:
        """Return how many rows each class has."""
        if self._ballot.users is None:  # counted while the rows were taken in
            return self._sizes.copy()
        return self._ballot.class_counts(self._stored or ())

    def votes(self, population: Sequence[Records], each: int = 1) -> list[NDArray[np.int64]]:
        """Return, for the candidates of each class, how many rows vote for each.

        Raises:
            DataError: If the rows are not as many as they were: one row more or less would then
                change more than the accounting allows for.
        """
        sizes = np.zeros_like(self._sizes)
        counts = self._ballot.votes(population, _tallied(self._stored or (), sizes), each)
        if not np.array_equal(sizes, self._sizes):
            raise DataError(
                "the table changed while it was read: keep it as it is during a run, or pass "
                "spill=None to read it only once."
            )
        return counts

    def close(self) -> None:
        """Let go of the private rows, and free the file that held them."""
        if self._stored is not None:
            self._stored.close()
        self._stored = None
        self._sizes = np.zeros_like(self._sizes)


class _Afresh:
    """Segments that are encoded anew each time somebody goes through them."""

    def __init__(self, batches: Batches, ballot: Ballot) -> None:
        self._batches, self._ballot = batches, ballot

    def __iter__(self) -> Iterator[Segment]:
        return self._ballot.segments(self._batches)

    def close(self) -> None:
        self._batches = ()


def _tallied(segments: Iterable[Segment], sizes: NDArray[np.int64]) -> Iterator[Segment]:
    """Yield all segments, and add up their sizes on the way."""
    for segment in segments:
        sizes[segment.label] += segment.size
        yield segment
