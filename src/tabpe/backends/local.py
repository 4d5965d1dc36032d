"""A private table in one process: encoded rows, exact counts of them, and `open_backend`.

Rows are encoded batch by batch and cut into segments, each of one class. Votes and sizes of
segments add up, so neither how rows were cut nor the order of segments matters. The rows of a user
are put together over all segments first.

Privacy: which cell of a histogram a row adds to depends on that row and on public values alone
(`tabpe.encoding.marginals`, `tabpe.encoding.halfspaces`, candidates). So one row more or less moves
one cell of each histogram by one. With users, all rows of a user together are one vector of a given
length at most in each (`sum_user_vectors`). Counts are exact and private: only queries of
`tabpe.measurement` ask for them.

`SpillFile` is opened for this process alone (mode 0600) and has no name in its folder, or loses it
in the moment in which it is made. The system frees it when the process ends, however that happens:
even after `kill -9` there is nothing left to find or to delete.
"""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import mmap
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import IO, Any, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tabpe._utils.resources import CLUSTERS, Resources
from tabpe.backends.base import (
    Answer,
    Backend,
    EncodedQuery,
    EncodedReading,
    Query,
)
from tabpe.backends.nearest import build_index, find_first_equals, prepare_rows
from tabpe.backends.raw_columns import RawColumnCounter
from tabpe.backends.users import BoundedUsers, PrivacyUnit, sum_user_vectors
from tabpe.encoding import Encoder, Records, VotingSpace
from tabpe.encoding.halfspaces import Halfspaces
from tabpe.encoding.marginals import ListAxis, Marginal, MarginalAxis
from tabpe.errors import (
    CellError,
    DataError,
    OutputError,
    ParameterError,
    TabpeError,
    missing_value,
)
from tabpe.io import Batch, TableSource
from tabpe.io.canonical import find_missing, flatten_column, hash_rows, mix_bits
from tabpe.io.source import check_unit_column
from tabpe.schema import Temporal

T = TypeVar("T")
Counts = NDArray[np.int64]
Batches = Iterable[tuple[Records, Counts]]
ROWS_A_SEGMENT = 2**18
_NONE: Counts = np.empty(0, dtype=np.int64)
_MAX_CACHED_CELLS = 20_000_000  # cells: 160 MB


class ClassSizeGuard:
    """Checks that the class sizes of a table stay the same during a run. They are private."""

    def __init__(self) -> None:
        self.sizes: NDArray[np.int64] | None = None

    def check_sizes(self, sizes: NDArray[np.int64]) -> None:
        """Refuse a table whose class sizes changed: the accounting is about one table."""
        if self.sizes is not None and not np.array_equal(sizes, self.sizes):
            raise DataError("the table changed while it was read: keep it as it is during a run.")
        self.sizes = sizes


class VotingSpaceGuard:
    """Refuses votes in another voting space than the one that rows are kept in.

    Example:
        >>> guard = VotingSpaceGuard()
        >>> guard.check_space(VotingSpace(np.array([False])))
        >>> guard.check_space(None)
        Traceback (most recent call last):
        tabpe.errors.TabpeError: voting_space: the rows of this reading are kept in another one.
    """

    def __init__(self) -> None:
        self._digest: bytes | None = None

    def check_space(self, voting_space: VotingSpace | None) -> None:
        """Accept the first voting space, and after that no other."""
        digest = b"" if voting_space is None else voting_space.digest
        if self._digest not in (None, digest):
            raise TabpeError("voting_space: the rows of this reading are kept in another one.")
        self._digest = digest


@dataclass(frozen=True, eq=False)
class EncodedRows:
    """The rows of a source, encoded batch by batch.

    Every iteration reads and encodes anew, so that only a batch is in memory.

    Args:
        source: The table.
        encoder: Encodes the rows.
        kept: For each row of the source whether it counts; None if all do.
        voting_space: Transforms each row by itself; None for no transform.
        tally: Checks that the table does not change between iterations.

    Example:
        >>> import pyarrow as pa
        >>> from tabpe.io import open_source
        >>> from tabpe.schema import Integer, Schema
        >>> ages = open_source(pa.table({"age": [25, 50]}))
        >>> rows = EncodedRows(ages, Encoder(Schema((Integer("age", 0, 100),))))
        >>> [batch.numbers.ravel().tolist() for batch, _ in rows]
        [[0.25, 0.5]]
    """

    source: TableSource
    encoder: Encoder
    kept: NDArray[np.bool_] | None = None
    voting_space: VotingSpace | None = None
    tally: ClassSizeGuard = field(default_factory=ClassSizeGuard)

    def __post_init__(self) -> None:
        self.encoder.check_names(self.source.names)

    @property
    def most_bytes(self) -> int | None:
        """An upper bound of the memory of all rows; None if not known. Private."""
        rows = self.source.most_rows
        return None if rows is None else rows * self.encoder.bytes_a_row

    def __iter__(self) -> Iterator[tuple[Records, NDArray[np.int64]]]:
        first, sizes = 0, np.zeros(self.encoder.class_count, dtype=np.int64)
        for batch in self.source.batches(self.encoder.names):
            rows, labels = self._encode_batch(batch)
            if self.kept is not None:
                counts = batch.slice_mask(self.kept, first)
                rows, labels = rows.take(counts), labels[counts]
            first += batch.table.num_rows
            sizes += np.bincount(labels, minlength=len(sizes))
            yield (
                rows if self.voting_space is None else self.voting_space.transform_rows(rows),
                labels,
            )
        self.tally.check_sizes(sizes)

    def _encode_batch(self, batch: Batch) -> tuple[Records, NDArray[np.int64]]:
        try:
            return self.encoder.encode(batch.table)
        except CellError as error:
            found = batch.locate_error(error)
        raise found


def read_user_rows(
    source: TableSource, column: str, names: Sequence[str], *, strict: bool = False
) -> Iterator[pa.Table]:
    """Yield rows with the user id and the columns `names`, batch by batch.

    Args:
        source: The table.
        column: The column of user ids.
        names: The other columns.
        strict: Whether to refuse a row without an id, which is otherwise not counted.
    """
    check_unit_column(source, column)
    for batch in source.batches(list(dict.fromkeys([column, *names]))):
        missing = find_missing(flatten_column(batch.table[column]))
        if strict and missing.any():
            raise batch.locate_error(missing_value(column, int(np.argmax(missing)) + 1))
        yield batch.table


def sum_row_hashes(source: TableSource, names: Sequence[str], key: bytes) -> NDArray[np.uint64]:
    """Return sums of row hashes that identify a table, whatever the order of its rows.

    Sums of parts of a table add up to those of the table. They are private.
    """
    total = np.zeros(3, dtype=np.uint64)
    for batch in source.batches(names):
        hashes = hash_rows(batch.table, key)
        total += np.array([len(hashes), hashes.sum(), mix_bits(hashes).sum()], dtype=np.uint64)
    return total


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
        users: Whose the rows are; None if every row is its own user.
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


@dataclass(frozen=True)
class _ArrayBlock:
    """Where an array is in the file."""

    offset: int
    kind: np.dtype[Any]
    shape: tuple[int, ...]

    @property
    def end(self) -> int:
        return self.offset + int(np.prod(self.shape)) * self.kind.itemsize

    def view_array(self, mapped: mmap.mmap, start: int) -> NDArray[Any]:
        count = int(np.prod(self.shape))
        flat = np.frombuffer(mapped, dtype=self.kind, count=count, offset=self.offset - start)
        return flat.reshape(self.shape)


@dataclass(frozen=True)
class _SegmentBlocks:
    """Where a segment is in the file."""

    label: int
    weights: _ArrayBlock | None
    owners: _ArrayBlock | None
    numbers: _ArrayBlock
    codes: _ArrayBlock


class SpillFile:
    """Segments on the disk, to be read one after the other, as often as needed.

    Args:
        folder: Where to put the file; None for the folder of the system for temporary files.

    Example:
        >>> rows = Records(np.eye(2, dtype=np.float32), np.empty((2, 0), dtype=np.uint8))
        >>> file = SpillFile(None)
        >>> file.append(Segment(1, rows))
        >>> [(segment.label, segment.rows.numbers.tolist()) for segment in file]
        [(1, [[1.0, 0.0], [0.0, 1.0]])]
        >>> file.close()
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._segment_blocks: list[_SegmentBlocks] = []
        self._file: IO[bytes] = self._call_with_hint(lambda: tempfile.TemporaryFile(dir=folder))  # noqa: SIM115

    def append(self, segment: Segment) -> None:
        """Write a segment behind the others."""
        self._call_with_hint(lambda: self._write_segment(segment))

    def __iter__(self) -> Iterator[Segment]:
        return map(self._read_segment, self._segment_blocks)

    def close(self) -> None:
        """Free the file."""
        self._segment_blocks = []
        with suppress(OSError):  # What a full disk did not take is tried once more, and closed.
            self._file.close()

    def _write_segment(self, segment: Segment) -> None:
        self._file.seek(0, 2)
        # A mapping begins at a page; whole numbers first, so that each array is aligned.
        self._file.write(bytes(-self._file.tell() % mmap.ALLOCATIONGRANULARITY))
        place = _SegmentBlocks(
            segment.label,
            self._write_optional_array(segment.weights),
            self._write_optional_array(segment.owners),
            self._write_array(segment.rows.numbers),
            self._write_array(segment.rows.codes),
        )
        # Rows without a column take no bytes, and nothing can not be mapped.
        self._file.write(b"\0")
        self._file.flush()
        self._segment_blocks.append(place)

    def _write_optional_array(self, array: NDArray[Any] | None) -> _ArrayBlock | None:
        return None if array is None else self._write_array(array)

    def _write_array(self, array: NDArray[Any]) -> _ArrayBlock:
        block = _ArrayBlock(self._file.tell(), array.dtype, array.shape)
        self._file.write(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
        return block

    def _read_segment(self, blocks: _SegmentBlocks) -> Segment:
        start = (blocks.weights or blocks.owners or blocks.numbers).offset
        length = blocks.codes.end + 1 - start
        mapped = self._call_with_hint(
            lambda: mmap.mmap(self._file.fileno(), length, access=mmap.ACCESS_READ, offset=start)
        )
        weights, owners = (
            None if block is None else block.view_array(mapped, start)
            for block in (blocks.weights, blocks.owners)
        )
        rows = Records(
            blocks.numbers.view_array(mapped, start), blocks.codes.view_array(mapped, start)
        )
        return Segment(blocks.label, rows, weights, owners)

    def _call_with_hint(self, call: Callable[[], T]) -> T:
        try:
            return call()
        except OSError as error:
            problem = error.strerror or "failed"
        folder = self._folder or tempfile.gettempdir()
        raise OutputError(
            f"spill={str(folder)!r}: can not keep encoded rows there ({problem}): free some room, "
            f"name another folder, or pass spill=False to encode them in every round."
        )


class _ReencodedSegments:
    """Segments that are encoded anew each time somebody goes through them."""

    def __init__(self, build: Callable[[], Iterator[Segment]]) -> None:
        self._build = build

    def __iter__(self) -> Iterator[Segment]:
        return self._build()


class _TransformedBatches:
    """Batches in a voting space, transformed anew each time somebody goes through them."""

    def __init__(self, batches: Batches, voting_space: VotingSpace) -> None:
        self._batches, self._voting_space = batches, voting_space

    def __iter__(self) -> Iterator[tuple[Records, Counts]]:
        for rows, classes in self._batches:
            yield self._voting_space.transform_rows(rows), classes


SegmentStore = list[Segment] | SpillFile


class StoredTable(EncodedTable):
    """Encoded rows that are read once and kept, or read for each query.

    Votes are counted in segments, which are made when votes are first asked for. What was kept of
    the rows until then is let go of: memory holds them once.

    Args:
        rows: The rows, each with its class.
        users: Whose the rows are; None if every row is its own user.
        open_store: Where segments are kept: `list` for memory, or what opens a `SpillFile`. None to
            keep nothing and go through `rows` again for every query; they must begin anew then.
        classes: Number of classes.
        category_weight: What one differing category adds to a squared distance.
        jobs: Threads that count votes.

    Example:
        >>> no_codes = np.empty((3, 0), dtype=np.uint8)
        >>> rows = Records(np.array([[0.1], [0.2], [0.9]], dtype=np.float32), no_codes)
        >>> table = StoredTable([(rows, np.zeros(3, dtype=np.int64))], category_weight=1 / 3)
        >>> table.count_votes([Records(np.array([[0.0], [1.0]]), no_codes[:2])])
        [array([2, 1])]
    """

    def __init__(
        self,
        rows: EncodedRows | Batches,
        users: BoundedUsers | None = None,
        *,
        open_store: Callable[[], SegmentStore] | None = list,
        classes: int = 1,
        category_weight: float = 0.0,
        jobs: int = 1,
    ) -> None:
        super().__init__(users, classes=classes, category_weight=category_weight, jobs=jobs)
        self._rows, self._open_store = rows, open_store
        self._batches: list[tuple[Records, Counts]] | None = None
        self._segments: SegmentStore | _ReencodedSegments | None = None
        self._space = VotingSpaceGuard()
        self._sizes = np.zeros(classes, dtype=np.int64)

    @property
    def sizes(self) -> Counts | None:
        """How many rows of each class there were when they were last read, if known. Private."""
        return self._rows.tally.sizes if isinstance(self._rows, EncodedRows) else None

    def read_batches(self) -> Batches:
        """Return the rows, each with its class: read once if they are to be kept in memory."""
        if self._open_store is list and self._segments is None and self._batches is None:
            self._batches = list(self._rows)
        return self._rows if self._batches is None else self._batches

    def read_segments(self, voting_space: VotingSpace | None) -> Iterator[Segment]:
        """Return the rows in a voting space, and check that they are as many as they were.

        Raises:
            DataError: If they are not: one row more or less would then change more than the
                accounting allows for.
        """
        self._prepare_segments(voting_space)
        sizes = np.zeros_like(self._sizes)
        for segment in self._segments or ():
            sizes[segment.label] += segment.size
            yield segment
        if not np.array_equal(sizes, self._sizes):
            raise DataError(
                "the table changed while it was read: keep it as it is during a run, or pass "
                "spill=None to read it only once."
            )

    def count_classes(self, voting_space: VotingSpace | None = None) -> Counts:
        """Return how many rows each class has."""
        if voting_space is None or self.users is not None:
            return super().count_classes(voting_space)
        self._prepare_segments(voting_space)
        return self._sizes.copy()  # counted while segments were made

    def close(self) -> None:
        """Let go of the private rows, and free the file that held them."""
        if isinstance(self._segments, SpillFile):
            self._segments.close()
        self._rows, self._batches, self._segments = (), None, []
        self._sizes = np.zeros_like(self._sizes)

    def _prepare_segments(self, voting_space: VotingSpace | None) -> None:
        """Make the segments when they are first needed; they stay in the voting space of then."""
        self._space.check_space(voting_space)
        if self._segments is None:
            self._store_segments(self._transform_rows(voting_space))

    def _transform_rows(self, voting_space: VotingSpace | None) -> Batches:
        batches, self._batches = self._batches, None
        if batches is not None:
            return _drain_batches(batches, voting_space)
        if isinstance(self._rows, EncodedRows):
            return dataclasses.replace(self._rows, voting_space=voting_space)
        return self._rows if voting_space is None else _TransformedBatches(self._rows, voting_space)

    def _store_segments(self, batches: Batches) -> None:
        owners = None if self.users is None else self.users.owners
        build = partial(build_segments, batches, self.classes, owners)
        if self._open_store is None:
            afresh = _ReencodedSegments(build)
            self._sizes, self._segments = count_class_rows(afresh, self.classes), afresh
            return
        stored, sizes = self._open_store(), np.zeros_like(self._sizes)
        try:
            for segment in build():
                stored.append(segment.prepare_segment(self._category_weight))
                sizes[segment.label] += segment.size
        except BaseException:  # Some of the rows must not pass for all.
            if isinstance(stored, SpillFile):
                stored.close()
            raise
        self._sizes, self._segments = sizes, stored


def _drain_batches(
    batches: list[tuple[Records, Counts]], voting_space: VotingSpace | None
) -> Iterator[tuple[Records, Counts]]:
    """Yield rows in a voting space, and let go of what they were: memory holds them once."""
    batches.reverse()
    while batches:
        rows, classes = batches.pop()
        yield rows if voting_space is None else voting_space.transform_rows(rows), classes


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
        # By value where axes are equal by value, and else by the object, which is kept as a key.
        self._cells: dict[MarginalAxis, Counts] = {}
        self._cached_counts: dict[tuple[MarginalAxis, ...], Counts] = {}
        self._cache_room = _MAX_CACHED_CELLS
        self._inside: dict[Halfspaces, NDArray[np.int32]] = {}

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
        """Let go of the private rows, and of all that was counted."""
        self._size = 0
        self._rows, self._labels = Records(np.empty((0, 0)), np.empty((0, 0), np.uint8)), _NONE
        for kept in (self._cells, self._cached_counts, self._inside):
            kept.clear()

    def count_marginals(self, marginals: Sequence[Marginal]) -> list[Counts]:
        """Return how many rows fall into each cell of each marginal."""
        return [self._count_marginal(marginal) for marginal in marginals]

    def count_halfspaces(self, halfspaces: Halfspaces) -> NDArray[np.int32]:
        """Return how many rows of each cell lie in each halfspace; that is counted once and kept.

        A row adds 1 to a single cell of a halfspace, or nowhere.
        """
        if halfspaces not in self._inside:
            self._inside[halfspaces] = self._count_halfspaces(halfspaces)
        return self._inside[halfspaces]

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
        known = self._cached_counts.get(marginal.axes)
        if known is not None:
            return known.copy()
        cells = np.zeros(self._size, dtype=np.int64)
        for axis in marginal.axes:
            cells = cells * axis.size + self._find_axis_cells(axis)
        counts = np.bincount(cells, minlength=marginal.size).astype(np.int64)
        if counts.size <= self._cache_room:
            self._cache_room -= counts.size
            self._cached_counts[marginal.axes] = counts
            return counts.copy()
        return counts

    def _find_axis_cells(self, axis: MarginalAxis) -> Counts:
        """Return the cell of every row on an axis; that is kept."""
        if axis not in self._cells:
            self._cells[axis] = Marginal((axis,)).find_cells(self._rows, self._labels)
        return self._cells[axis]


class LocalBackend:
    """Answers by the rows of a table in this process: in memory, or in a stream if too many.

    Args:
        source: The table, or a part of it.
        unit: Who is a user, for user-level neighbours; None for row-level ones.
        resources: What may be used of the machine.

    Example:
        >>> from tabpe.backends.queries import RawRowCountQuery
        >>> from tabpe.io import open_source
        >>> table = open_source(pa.table({"ward": ["heart", "heart", "eye"]}))
        >>> backend = LocalBackend(table, None, Resources.from_options())
        >>> backend.answer(RawRowCountQuery()).value
        array([3])
    """

    number = 0

    def __init__(self, source: TableSource, unit: PrivacyUnit | None, resources: Resources) -> None:
        self._source, self._unit, self._resources = source, unit, resources
        self._kept: tuple[int, EncodedTable] | None = None

    @property
    def scale(self) -> int:
        """The most that one row, or the vector of one user, counts."""
        return 1 if self._unit is None else self._unit.scale

    def answer(self, query: Query) -> Answer:
        """Return the exact answer of the rows. Private."""
        return Answer(query.evaluate(self), {self.number: self._digest_sizes(query)})

    def close(self) -> None:
        """Let go of the rows."""
        if self._kept is not None:
            self._kept[1].close()
        self._kept = None

    def open_raw_columns(self, moments: Mapping[str, Temporal] | None = None) -> RawColumnCounter:
        """Return what counts raw cells."""
        return RawColumnCounter(self._source, self.users, moments)

    def open_table(self, reading: EncodedReading | None) -> EncodedTable:
        """Return the encoded rows of a reading; those of one reading are kept at a time."""
        if reading is None:
            raise TabpeError("reading: expected how the rows of a table are encoded.")
        if reading.keep == "none":
            return self._make_table(reading)
        if self._kept is None or self._kept[0] != reading.number:
            self.close()
            self._kept = reading.number, self._make_table(reading)
        return self._kept[1]

    def sum_row_hashes(self, names: Sequence[str], key: bytes) -> NDArray[np.uint64]:
        """Return sums over all rows that identify a table."""
        return sum_row_hashes(self._source, names, key)

    def stream_encoded_rows(self, reading: EncodedReading) -> EncodedRows:
        """Return the rows that count, to be encoded each time they are read."""
        kept = None if self.users is None else self.users.kept
        return EncodedRows(self._source, reading.encoder, kept)

    @cached_property
    def users(self) -> BoundedUsers | None:
        """Whose the rows are and which of them count: chosen when that is first asked for."""
        if self._unit is None:
            return None
        return self._unit.select_users(self._read_user_rows(self._unit))

    def _read_user_rows(self, unit: PrivacyUnit) -> Iterator[pa.Table]:
        return read_user_rows(self._source, unit.column, unit.names, strict=unit.strict)

    def _make_table(self, reading: EncodedReading) -> EncodedTable:
        rows, resources = self.stream_encoded_rows(reading), self._resources
        if reading.keep == "marginals" and self.users is None:
            return CachedTable(rows, classes=reading.encoder.class_count)
        open_store: Callable[[], SegmentStore] | None = None
        if reading.keep == "votes" and not resources.should_stream(rows.most_bytes):
            open_store = list
        elif reading.keep == "votes" and resources.spill is not False:
            open_store = partial(SpillFile, resources.spill)
        return StoredTable(
            rows,
            self.users,
            open_store=open_store,
            classes=reading.encoder.class_count,
            category_weight=reading.category_weight,
            jobs=resources.jobs,
        )

    def _digest_sizes(self, query: Query) -> bytes:
        """Return a digest of the class sizes of rows that are kept, which must not change."""
        if not isinstance(query, EncodedQuery) or query.reading is None or self._kept is None:
            return b""
        return digest_sizes(self._kept[1]) if query.reading.keep == "votes" else b""


def digest_sizes(table: EncodedTable) -> bytes:
    """Return a digest of the class sizes of a table; empty if it did not look at them."""
    sizes = table.sizes
    return b"" if sizes is None else hashlib.blake2b(sizes.tobytes(), digest_size=16).digest()


class RecordsBackend:
    """Answers by rows that are encoded already.

    Args:
        table: The rows.

    Example:
        >>> from tabpe.backends.queries import RowCountQuery
        >>> rows = Records(np.zeros((3, 0)), np.array([[0], [2], [2]], dtype=np.uint8))
        >>> backend = RecordsBackend(StoredTable([(rows, np.zeros(3, dtype=np.int64))]))
        >>> backend.answer(RowCountQuery(None)).value
        array([3])
    """

    def __init__(self, table: EncodedTable) -> None:
        self._table = table

    @property
    def scale(self) -> int:
        """The most that one row, or the vector of one user, counts."""
        return self._table.scale

    def answer(self, query: Query) -> Answer:
        """Return the exact answer of the rows. Private."""
        return Answer(query.evaluate(self), {0: b""})

    def close(self) -> None:
        """Let go of the rows."""
        self._table.close()

    def open_table(self, reading: EncodedReading | None) -> EncodedTable:  # noqa: ARG002
        """Return the rows, however a query would have them encoded."""
        return self._table

    def open_raw_columns(self, _moments: Mapping[str, Temporal] | None = None) -> RawColumnCounter:
        """Refuse: there are no raw cells."""
        raise TabpeError("raw columns: the rows are encoded already.")

    def sum_row_hashes(self, _names: Sequence[str], _key: bytes) -> NDArray[np.uint64]:
        """Refuse: there are no raw cells."""
        raise TabpeError("row hashes: the rows are encoded already.")


def open_backend(
    source: TableSource,
    unit: PrivacyUnit | None,
    resources: Resources,
    on_ready: Callable[[int, int], None] = lambda _done, _all: None,
) -> Backend:
    """Return the backend of a table. Whichever it is, the answers are the same.

    Args:
        source: The table.
        unit: Who is a user, for user-level neighbours; None for row-level ones.
        resources: What may be used of the machine, or of a cluster.
        on_ready: Called with how many shards of a cluster have answered, and how many there are.
    """
    lives_on = getattr(source, "lives_on", None)
    engine = lives_on if resources.engine == "auto" and lives_on in CLUSTERS else resources.engine
    if lives_on and engine in CLUSTERS and engine != lives_on:
        raise ParameterError(f"engine={engine!r}: {_suggest_engine(lives_on)}")
    if engine == "ray":
        from tabpe.backends.ray import open_ray_backend

        return open_ray_backend(source, unit, resources, on_ready)
    if engine == "spark":
        from tabpe.backends.spark import open_spark_backend

        return open_spark_backend(source, unit, resources, on_ready)
    return LocalBackend(source, unit, resources)


def _suggest_engine(lives_on: str) -> str:
    """Return how a table is read that workers of a cluster can not get at."""
    if lives_on in CLUSTERS:
        return (
            f"the table lives on {lives_on.title()}: pass engine={lives_on!r}, 'auto', or 'local' "
            f"to have it read in this process."
        )
    return (
        f"the table lives in {lives_on}, and workers have no connection to it: pass engine='auto', "
        f"or write it to Parquet files first."
    )
