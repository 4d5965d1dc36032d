"""What all engines have in common: rows in segments, and the votes of a segment.

A segment is some rows of one class. Votes and sizes of segments add up, so it does not matter how
rows were cut into them, nor in which order they are counted. The votes of a user are put together
over all segments first.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tabpe.encode import Records
from tabpe.engines.users import unit_vectors
from tabpe.search.nearest import first_equals, index, prepared

ROWS_A_SEGMENT = 2**18
Counts = NDArray[np.int64]
_NONE: Counts = np.empty(0, dtype=np.int64)
Batches = Iterable[tuple[Records, NDArray[np.int64]]]


@dataclass(frozen=True, eq=False)
class Segment:
    """Rows of one class.

    Args:
        label: The class.
        rows: The rows, each different from the others if there are weights.
        weights: How often each row stands there; None for once.
        owners: The user of each row; None if every row is one of its own.
    """

    label: int
    rows: Records
    weights: Counts | None = None
    owners: Counts | None = None

    @property
    def size(self) -> int:
        """The number of private rows."""
        return len(self.rows) if self.weights is None else int(self.weights.sum())

    def prepared(self, category_weight: float) -> Segment:
        """Return the same rows in the form that is quickest to count again and again."""
        if self.owners is not None:
            return self
        return Segment(self.label, *prepared(self.rows, category_weight))


def segments_of(batches: Batches, classes: int, owners: Counts | None = None) -> Iterator[Segment]:
    """Cut batches into segments; small batches are put together first.

    Args:
        batches: Rows, each with its class.
        classes: Number of classes.
        owners: The users of all rows, in order; None if every row is one of its own.

    Example:
        >>> rows = Records(np.eye(3, dtype=np.float32), np.empty((3, 0), dtype=np.uint8))
        >>> batch = rows, np.array([0, 1, 0])
        >>> [(segment.label, segment.size) for segment in segments_of([batch, batch], 2)]
        [(0, 4), (1, 2)]
    """
    first = 0
    for rows, labels in _pooled(batches):
        order = np.argsort(labels, kind="stable")
        whose = None if owners is None else owners[first : first + len(rows)]
        first += len(rows)
        ends = np.searchsorted(labels[order], np.arange(classes + 1))
        for label, (start, end) in enumerate(itertools.pairwise(ends)):
            if start < end:
                chosen = order[start:end]
                owned = None if whose is None else whose[chosen]
                yield Segment(label, rows.take(chosen), owners=owned)


def count_votes(
    population: Sequence[Records],
    segments: Iterable[Segment],
    *,
    classes: int,
    category_weight: float,
    jobs: int,
    each: int = 1,
) -> list[Counts]:
    """Return, for the candidates of each class, how many rows vote for each.

    A row votes for the `each` nearest of the different candidates. The candidates of a class are
    indexed once and asked about every segment.

    Example:
        >>> no_codes = np.empty((3, 0), dtype=np.uint8)
        >>> rows = Segment(0, Records(np.array([[0.1], [0.2], [0.9]]), no_codes))
        >>> candidates = Records(np.array([[0.0], [1.0], [1.0]]), no_codes)
        >>> count_votes([candidates], [rows], classes=1, category_weight=1 / 3, jobs=1)
        [array([2, 1, 0])]
        >>> count_votes([candidates], [rows], classes=1, category_weight=1 / 3, jobs=1, each=2)
        [array([3, 3, 0])]
    """
    polls = _opened(population, classes, category_weight, jobs)
    for segment in segments:
        polls[segment.label].ask(segment, each)
    return [poll.counts for poll in polls]


def count_user_votes(
    population: Sequence[Records],
    segments: Iterable[Segment],
    *,
    classes: int,
    category_weight: float,
    jobs: int,
    scale: int,
    each: int = 1,
) -> list[Counts]:
    """Return the same for users: each adds one vector, over all classes.

    Its length is at most `scale` times the square root of `each`, which so many votes pay for. A
    row that has fewer candidates gives the rest of its votes to cells that nobody sees, one after
    the candidates of its class for each. So a vote weighs the same however many candidates there
    are.
    """
    polls = _opened(population, classes, category_weight, jobs)
    firsts = np.cumsum([0, *(len(candidates) + each for candidates in population)])
    owners, cells = [_NONE], [_NONE]
    for segment in segments:
        if len(population[segment.label]) and segment.owners is not None:
            winners = polls[segment.label].winners(segment, each)
            owners.append(np.repeat(segment.owners, each))
            cells.append(firsts[segment.label] + winners.ravel())
    votes = unit_vectors(
        np.concatenate(owners), np.concatenate(cells), int(firsts[-1]), scale, votes=each
    )
    return [part[:-each] for part in np.split(votes, firsts[1:-1])]


def _opened(
    population: Sequence[Records], classes: int, category_weight: float, jobs: int
) -> list[_Poll]:
    if len(population) != classes:
        raise ValueError("population: expected the candidates of each class.")
    with ThreadPoolExecutor(max_workers=jobs) as pool:
        return list(pool.map(lambda one: _Poll(one, category_weight, jobs), population))


class _Poll:
    """The candidates of a class and their votes so far.

    Of equal candidates the first gets all votes, as the tie rule says, so only that one is
    looked at: the votes of a row are for candidates that differ, and in as many cells.
    """

    def __init__(self, candidates: Records, category_weight: float, jobs: int) -> None:
        # To add 0 makes one zero of the two that float32 has.
        single = Records(candidates.numbers.astype(np.float32) + np.float32(0), candidates.codes)
        self._distinct = np.flatnonzero(first_equals(single) == np.arange(len(single)))
        self.counts = np.zeros(len(candidates), dtype=np.int64)
        if len(candidates):
            self._index = index(single.take(self._distinct), category_weight, jobs=jobs)

    def ask(self, segment: Segment, each: int) -> None:
        """Add the votes of the rows of a segment."""
        if len(self.counts):
            winners = self._nearest(segment, each)
            for place in range(winners.shape[1]):
                self.counts[self._distinct] += _tally(
                    winners[:, place], segment.weights, len(self._distinct)
                )

    def winners(self, segment: Segment, each: int) -> Counts:
        """Return the `each` cells of each row; those behind the candidates are nobody's."""
        found = self._distinct[self._nearest(segment, each)]
        nobody = len(self.counts) + np.arange(each - found.shape[1])
        return np.hstack([found, np.tile(nobody, (len(found), 1))])

    def _nearest(self, segment: Segment, each: int) -> Counts:
        return self._index.nearest(segment.rows, min(each, len(self._distinct)))


def class_sizes(segments: Iterable[Segment], classes: int) -> Counts:
    """Return how many rows each class has."""
    sizes = np.zeros(classes, dtype=np.int64)
    for segment in segments:
        sizes[segment.label] += segment.size
    return sizes


def user_class_sizes(segments: Iterable[Segment], classes: int, scale: int) -> Counts:
    """Return the same for users: each adds a vector of length `scale` over the classes."""
    owners, labels = [_NONE], [_NONE]
    for segment in segments:
        if segment.owners is not None:
            owners.append(segment.owners)
            labels.append(np.full(len(segment.owners), segment.label))
    return unit_vectors(np.concatenate(owners), np.concatenate(labels), classes, scale)


def _tally(winners: Counts, weights: Counts | None, cells: int) -> Counts:
    """Count in integers throughout: the weights of `np.bincount` are floats."""
    if weights is None:
        return np.bincount(winners, minlength=cells)
    counts = np.zeros(cells, dtype=np.int64)
    np.add.at(counts, winners, weights)
    return counts


def _pooled(batches: Batches) -> Iterator[tuple[Records, NDArray[np.int64]]]:
    kept: list[tuple[Records, NDArray[np.int64]]] = []
    for batch in batches:
        if kept and sum(len(rows) for rows, _ in kept) + len(batch[0]) > ROWS_A_SEGMENT:
            yield _joined(kept)
            kept = []
        kept.append(batch)
    if kept:
        yield _joined(kept)


def _joined(
    batches: Sequence[tuple[Records, NDArray[np.int64]]],
) -> tuple[Records, NDArray[np.int64]]:
    if len(batches) == 1:
        return batches[0]
    rows, labels = zip(*batches, strict=True)
    return Records.concat(rows), np.concatenate(labels)
