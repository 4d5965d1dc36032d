"""Exact counts of encoded rows: votes, classes, marginals and halfspaces.

Rows are cut into segments, each of one class. Votes and sizes of segments add up, so neither how
rows were cut nor the order of segments matters. The rows of a user are put together over all
segments first.

Privacy: which cell of a histogram a row counts in depends on that row and on public values alone
(`tabpe.encoding.marginals`, `tabpe.encoding.halfspaces`, candidates). So one row more or less moves
one cell of each histogram by one. With users, all rows of a user together are one vector of a given
length at most in each (`sum_user_vectors`). Counts are exact and private: only queries of
`tabpe.measurement` ask for them.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from tabpe.backends.nearest import build_index, find_first_equals, prepare_rows
from tabpe.backends.users import BoundedUsers, sum_user_vectors
from tabpe.encoding import Records, VotingSpace
from tabpe.encoding.halfspaces import Halfspaces
from tabpe.encoding.marginals import ListAxis, Marginal, MarginalAxis
from tabpe.errors import DataError, TabpeError

ROWS_A_SEGMENT = 2**18
Counts = NDArray[np.int64]
_NONE: Counts = np.empty(0, dtype=np.int64)
Batches = Iterable[tuple[Records, Counts]]


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

    def prepare_segment(self, category_weight: float) -> Segment:
        """Return the same rows in the form that is quickest to count again and again."""
        if self.owners is not None:
            return self
        return Segment(self.label, *prepare_rows(self.rows, category_weight))


def build_segments(
    batches: Batches, classes: int, owners: Counts | None = None
) -> Iterator[Segment]:
    """Cut batches into segments; small batches are put together first.

    Args:
        batches: Rows, each with its class.
        classes: Number of classes.
        owners: The users of all rows, in order; None if every row is one of its own.

    Example:
        >>> rows = Records(np.eye(3, dtype=np.float32), np.empty((3, 0), dtype=np.uint8))
        >>> batch = rows, np.array([0, 1, 0])
        >>> [(segment.label, segment.size) for segment in build_segments([batch, batch], 2)]
        [(0, 4), (1, 2)]
    """
    first = 0
    for rows, labels in _pool_batches(batches):
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
    votes_per_row: int = 1,
) -> list[Counts]:
    """Return, for the candidates of each class, how many rows vote for each.

    A row votes for the `votes_per_row` nearest of the different candidates. The candidates of a
    class are indexed once and asked about every segment.

    Example:
        >>> no_codes = np.empty((3, 0), dtype=np.uint8)
        >>> rows = Segment(0, Records(np.array([[0.1], [0.2], [0.9]]), no_codes))
        >>> candidates = Records(np.array([[0.0], [1.0], [1.0]]), no_codes)
        >>> settings = {"classes": 1, "category_weight": 1 / 3, "jobs": 1}
        >>> count_votes([candidates], [rows], **settings)
        [array([2, 1, 0])]
        >>> count_votes([candidates], [rows], **settings, votes_per_row=2)
        [array([3, 3, 0])]
    """
    polls = _open_polls(population, classes, category_weight, jobs)
    for segment in segments:
        polls[segment.label].add_votes(segment, votes_per_row)
    return [poll.counts for poll in polls]


def count_user_votes(
    population: Sequence[Records],
    segments: Iterable[Segment],
    *,
    classes: int,
    category_weight: float,
    jobs: int,
    scale: int,
    votes_per_row: int = 1,
) -> list[Counts]:
    """Return the same for users: each adds one vector, over all classes.

    Its length is at most `scale` times the square root of `votes_per_row`, which so many votes pay
    for. A row that has fewer candidates gives the rest of its votes to cells that nobody sees, one
    after the candidates of its class for each. So a vote weighs the same however many candidates
    there are.
    """
    polls = _open_polls(population, classes, category_weight, jobs)
    firsts = np.cumsum([0, *(len(candidates) + votes_per_row for candidates in population)])
    owners, cells = [_NONE], [_NONE]
    for segment in segments:
        if len(population[segment.label]) and segment.owners is not None:
            winners = polls[segment.label].find_winners(segment, votes_per_row)
            owners.append(np.repeat(segment.owners, votes_per_row))
            cells.append(firsts[segment.label] + winners.ravel())
    votes = sum_user_vectors(
        np.concatenate(owners), np.concatenate(cells), int(firsts[-1]), scale, votes=votes_per_row
    )
    return [part[:-votes_per_row] for part in np.split(votes, firsts[1:-1])]


def _open_polls(
    population: Sequence[Records], classes: int, category_weight: float, jobs: int
) -> list[_CandidatePoll]:
    if len(population) != classes:
        raise ValueError("population: expected the candidates of each class.")
    with ThreadPoolExecutor(max_workers=jobs) as pool:
        return list(pool.map(lambda one: _CandidatePoll(one, category_weight, jobs), population))


class _CandidatePoll:
    """The candidates of a class and their votes so far.

    Of equal candidates the first gets all votes, as the tie rule says, so only that one is
    looked at: the votes of a row are for candidates that differ, and in as many cells.
    """

    def __init__(self, candidates: Records, category_weight: float, jobs: int) -> None:
        # To add 0 makes one zero of the two that float32 has.
        single = Records(candidates.numbers.astype(np.float32) + np.float32(0), candidates.codes)
        self._distinct = np.flatnonzero(find_first_equals(single) == np.arange(len(single)))
        self.counts = np.zeros(len(candidates), dtype=np.int64)
        if len(candidates):
            self._index = build_index(single.take(self._distinct), category_weight, jobs=jobs)

    def add_votes(self, segment: Segment, votes_per_row: int) -> None:
        """Add the votes of the rows of a segment."""
        if len(self.counts):
            winners = self._find_nearest(segment, votes_per_row)
            for place in range(winners.shape[1]):
                self.counts[self._distinct] += _count_winners(
                    winners[:, place], segment.weights, len(self._distinct)
                )

    def find_winners(self, segment: Segment, votes_per_row: int) -> Counts:
        """Return `votes_per_row` cells of each row; those behind the candidates are nobody's."""
        found = self._distinct[self._find_nearest(segment, votes_per_row)]
        nobody = len(self.counts) + np.arange(votes_per_row - found.shape[1])
        return np.hstack([found, np.tile(nobody, (len(found), 1))])

    def _find_nearest(self, segment: Segment, votes_per_row: int) -> Counts:
        return self._index.find_nearest(segment.rows, min(votes_per_row, len(self._distinct)))


def count_class_rows(segments: Iterable[Segment], classes: int) -> Counts:
    """Return how many rows each class has."""
    sizes = np.zeros(classes, dtype=np.int64)
    for segment in segments:
        sizes[segment.label] += segment.size
    return sizes


def count_class_users(segments: Iterable[Segment], classes: int, scale: int) -> Counts:
    """Return the same for users: each adds a vector of length `scale` over the classes."""
    owners, labels = [_NONE], [_NONE]
    for segment in segments:
        if segment.owners is not None:
            owners.append(segment.owners)
            labels.append(np.full(len(segment.owners), segment.label))
    return sum_user_vectors(np.concatenate(owners), np.concatenate(labels), classes, scale)


def _count_winners(winners: Counts, weights: Counts | None, cells: int) -> Counts:
    """Count in integers throughout: the weights of `np.bincount` are floats."""
    if weights is None:
        return np.bincount(winners, minlength=cells)
    counts = np.zeros(cells, dtype=np.int64)
    np.add.at(counts, winners, weights)
    return counts


def _pool_batches(batches: Batches) -> Iterator[tuple[Records, NDArray[np.int64]]]:
    kept: list[tuple[Records, NDArray[np.int64]]] = []
    for batch in batches:
        if kept and sum(len(rows) for rows, _ in kept) + len(batch[0]) > ROWS_A_SEGMENT:
            yield _join_batches(kept)
            kept = []
        kept.append(batch)
    if kept:
        yield _join_batches(kept)


def _join_batches(
    batches: Sequence[tuple[Records, NDArray[np.int64]]],
) -> tuple[Records, NDArray[np.int64]]:
    if len(batches) == 1:
        return batches[0]
    rows, labels = zip(*batches, strict=True)
    return Records.concat(rows), np.concatenate(labels)


class EncodedTable(ABC):
    """Encoded rows that count what a query asks: each row once, or each user with one vector.

    How rows are kept is what its kinds differ in: `read_batches` and `read_segments`.

    Args:
        users: Whose the rows are; None if every row counts for itself.
        classes: Number of classes.
        category_weight: What one differing category adds to a squared distance.
        jobs: Threads that count votes.
    """

    def __init__(
        self,
        users: BoundedUsers | None = None,
        *,
        classes: int = 1,
        category_weight: float = 0.0,
        jobs: int = 1,
    ) -> None:
        self.users, self.classes = users, classes
        self._category_weight, self._jobs = category_weight, jobs

    @property
    def scale(self) -> int:
        """The most that one row, or the vector of one user, counts."""
        return 1 if self.users is None else self.users.scale

    @property
    @abstractmethod
    def sizes(self) -> Counts | None:
        """How many rows of each class there were when they were last read, if known. Private."""

    @abstractmethod
    def read_batches(self) -> Batches:
        """Return the rows as they are encoded, each with its class."""

    @abstractmethod
    def read_segments(self, voting_space: VotingSpace | None) -> Iterable[Segment]:
        """Return the rows in a voting space, in the form in which votes are counted."""

    @abstractmethod
    def close(self) -> None:
        """Let go of the private rows."""

    def count_rows(self, voting_space: VotingSpace | None = None) -> Counts:
        """Return, in a single cell, how many rows or users there are, times `scale`."""
        if self.users is not None:
            return np.array([self.users.count * self.scale])
        if voting_space is None:
            return self.count_marginals([Marginal(())])[0]
        return np.array([self.count_classes(voting_space).sum()])

    def count_classes(self, voting_space: VotingSpace | None = None) -> Counts:
        """Return how many rows each class has."""
        if voting_space is None:
            by_class = Marginal((ListAxis("class", None, tuple(range(self.classes))),))
            return self.count_marginals([by_class])[0]
        segments = self.read_segments(voting_space)
        if self.users is None:
            return count_class_rows(segments, self.classes)
        return count_class_users(segments, self.classes, self.scale)

    def count_marginals(self, marginals: Sequence[Marginal]) -> list[Counts]:
        """Return how many rows fall into each cell of each marginal, or what users add to it."""
        if self.users is not None:
            return _count_user_marginals(self.read_batches(), marginals, self.users)
        totals = [np.zeros(marginal.size, dtype=np.int64) for marginal in marginals]
        for rows, classes in self.read_batches():
            for place, marginal in enumerate(marginals):
                cells = marginal.find_cells(rows, classes)
                totals[place] += np.bincount(cells, minlength=marginal.size)
        return totals

    def count_halfspaces(self, halfspaces: Halfspaces) -> NDArray[np.int32]:  # noqa: ARG002
        """Return how many rows of each cell lie in each halfspace."""
        raise TabpeError("halfspaces: rows are counted in them only where rows are kept for that.")

    def count_votes(
        self,
        population: Sequence[Records],
        voting_space: VotingSpace | None = None,
        votes_per_row: int = 1,
    ) -> list[Counts]:
        """Return, for the candidates of each class, how many rows vote for each."""
        counted = count_votes
        if self.users is not None:
            counted = partial(count_user_votes, scale=self.scale)
        return counted(
            population,
            self.read_segments(voting_space),
            classes=self.classes,
            category_weight=self._category_weight,
            jobs=self._jobs,
            votes_per_row=votes_per_row,
        )


def _count_user_marginals(
    batches: Batches, marginals: Sequence[Marginal], users: BoundedUsers
) -> list[Counts]:
    """Return what users add to each cell. It takes a few bytes for each row and marginal."""
    size = len(users.owners)
    kept = [np.empty(size, dtype=np.min_scalar_type(marginal.size - 1)) for marginal in marginals]
    done = 0
    for rows, classes in batches:
        done += len(rows)
        if done > size:
            break
        for cells, marginal in zip(kept, marginals, strict=True):
            cells[done - len(rows) : done] = marginal.find_cells(rows, classes)
    if done != size:
        raise DataError("the table changed while it was read: keep it as it is during a run.")
    return [
        sum_user_vectors(users.owners, cells.astype(np.int64), marginal.size, users.scale)
        for cells, marginal in zip(kept, marginals, strict=True)
    ]


_MAX_CACHED_CELLS = 20_000_000  # cells: 160 MB


class CachedTable(EncodedTable):
    """Rows in memory, with the cell of each row on every axis, and the counts that were made.

    For methods that ask for many marginals of the same rows again and again. Of row-level
    neighbours only.

    Args:
        batches: The rows, each with its class; they are read once.
        classes: Number of classes.

    Example:
        >>> rows = Records(np.zeros((3, 0)), np.array([[0], [2], [2]], dtype=np.uint8))
        >>> table = CachedTable([(rows, np.zeros(3, dtype=np.int64))])
        >>> table.count_marginals([Marginal((ListAxis("ward", 0, (0, 1, 2)),)), Marginal(())])
        [array([1, 0, 2]), array([3])]
    """

    def __init__(self, batches: Batches, *, classes: int = 1) -> None:
        super().__init__(classes=classes)
        parts = [(rows, labels) for rows, labels in batches if len(rows)]
        self._size = sum(len(rows) for rows, _ in parts)
        if parts:
            self._rows = Records.concat([rows for rows, _ in parts])
            self._labels: Counts = np.concatenate([labels for _, labels in parts])
        self._cells: dict[int, tuple[MarginalAxis, Counts]] = {}
        self._cached_counts: dict[tuple[int, ...], Counts] = {}
        self._cache_room = _MAX_CACHED_CELLS
        self._inside: dict[int, tuple[Halfspaces, NDArray[np.int32]]] = {}

    @property
    def sizes(self) -> None:
        """Not needed: the rows are read once."""

    def read_batches(self) -> Batches:
        """Return the rows, each with its class."""
        return [(self._rows, self._labels)] if self._size else []

    def read_segments(self, voting_space: VotingSpace | None) -> Iterable[Segment]:  # noqa: ARG002
        """Refuse votes: the rows are kept for marginals."""
        raise TabpeError("votes: the rows are kept for marginals.")

    def close(self) -> None:
        """Let go of the private rows."""
        self._size = 0

    def count_marginals(self, marginals: Sequence[Marginal]) -> list[Counts]:
        """Return how many rows fall into each cell of each marginal."""
        return [self._count_marginal(marginal) for marginal in marginals]

    def count_halfspaces(self, halfspaces: Halfspaces) -> NDArray[np.int32]:
        """Return how many rows of each cell lie in each halfspace; that is counted once and kept.

        A row counts one in a single cell of a halfspace, or nowhere.
        """
        if id(halfspaces) not in self._inside:
            self._inside[id(halfspaces)] = halfspaces, self._count_halfspaces(halfspaces)
        return self._inside[id(halfspaces)][1]

    def _count_halfspaces(self, halfspaces: Halfspaces) -> NDArray[np.int32]:
        if not self._size:
            return np.zeros((len(halfspaces), halfspaces.cells), dtype=np.int32)
        cells = 0 if halfspaces.axis is None else self._find_axis_cells(halfspaces.axis)
        ones = np.zeros((self._size, halfspaces.cells), dtype=np.float32)
        ones[np.arange(self._size), cells] = 1.0
        counts = halfspaces.sum_masses(self._rows.numbers, ones).astype(np.int32)
        counts.flags.writeable = False
        return counts

    def _count_marginal(self, marginal: Marginal) -> Counts:
        if not self._size:
            return np.zeros(marginal.size, dtype=np.int64)
        key = tuple(id(axis) for axis in marginal.axes)
        known = self._cached_counts.get(key)
        if known is not None:
            return known.copy()
        cells = np.zeros(self._size, dtype=np.int64)
        for axis in marginal.axes:
            cells = cells * axis.size + self._find_axis_cells(axis)
        counts = np.bincount(cells, minlength=marginal.size).astype(np.int64)
        if counts.size <= self._cache_room:
            self._cache_room -= counts.size
            self._cached_counts[key] = counts
            return counts.copy()
        return counts

    def _find_axis_cells(self, axis: MarginalAxis) -> Counts:
        """Return the cell of every row on an axis, which is kept: so its identity stays its own."""
        if id(axis) not in self._cells:
            self._cells[id(axis)] = axis, Marginal((axis,)).find_cells(self._rows, self._labels)
        return self._cells[id(axis)][1]
