"""A table that one process holds, in memory or in a file without a name.

`LocalEngine`: the private rows in the memory of this process.

`SpillFile`: encoded rows in a file without a name.

The file is opened for this process alone (mode 0600) and has no name in its folder, or loses it in
the moment in which it is made. The system frees it when the process ends, however that happens:
even after `kill -9` there is nothing left to find or to delete.

One segment at a time is mapped into memory, and unmapped when nobody looks at it any more.

`StreamEngine`: votes in a memory that does not grow with the number of rows.

`LocalBackend`: a private table that one process reads, and counts in.
"""

from __future__ import annotations

import dataclasses
import mmap
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import IO, Any, Literal, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tabpe._utils.resources import Resources
from tabpe.backends.base import InProcessEngine
from tabpe.backends.counting import Batches, MarginalCounter, Segment, VoteCounter, count_class_rows
from tabpe.backends.raw_columns import RawColumnCounter
from tabpe.backends.users import BoundedUsers, PrivacyUnit
from tabpe.encoding import Encoder, Records, VotingSpace
from tabpe.encoding.encoded_rows import EncodedRows, read_user_rows, sum_row_hashes
from tabpe.errors import DataError, OutputError
from tabpe.io import TableSource
from tabpe.schema import Temporal


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
        self,
        *,
        classes: int,
        category_weight: float,
        jobs: int = 1,
        users: BoundedUsers | None = None,
    ) -> None:
        self._counter = VoteCounter(classes, category_weight, jobs, users)
        self.scale = self._counter.scale
        self._segments: list[Segment] = []

    def prepare(self, batches: Batches) -> None:
        """Take in the private rows, each with its class."""
        for segment in self._counter.build_segments(batches):
            self._segments.append(segment.prepare_segment(self._counter.category_weight))

    def row_count(self) -> NDArray[np.int64]:
        """Return, in a single cell, how many rows or users there are, times `scale`."""
        return self._counter.count_rows(self._segments)

    def class_counts(self) -> NDArray[np.int64]:
        """Return how many rows each class has."""
        return self._counter.count_classes(self._segments)

    def votes(
        self, population: Sequence[Records], votes_per_row: int = 1
    ) -> list[NDArray[np.int64]]:
        """Return, for the candidates of each class, how many rows vote for each."""
        return self._counter.count_votes(population, self._segments, votes_per_row)

    def close(self) -> None:
        """Let go of the private rows."""
        self._segments = []


T = TypeVar("T")


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
        users: BoundedUsers | None = None,
    ) -> None:
        self._counter = VoteCounter(classes, category_weight, jobs, users)
        self.scale = self._counter.scale
        self._spill = spill
        self._stored: SpillFile | _ReencodedSegments | None = None
        self._sizes = np.zeros(classes, dtype=np.int64)

    def prepare(self, batches: Batches) -> None:
        """Take in the private rows, each with its class."""
        if self._spill is False:
            self._stored = _ReencodedSegments(batches, self._counter)
            self._sizes = count_class_rows(self._stored, len(self._sizes))
            return
        self._stored = stored = SpillFile(self._spill)
        for segment in self._counter.build_segments(batches):
            stored.append(segment.prepare_segment(self._counter.category_weight))
            self._sizes[segment.label] += segment.size

    def row_count(self) -> NDArray[np.int64]:
        """Return, in a single cell, how many rows or users there are, times `scale`."""
        if self._counter.users is None:
            return np.array([self._sizes.sum()])
        return self._counter.count_rows(self._stored or ())

    def class_counts(self) -> NDArray[np.int64]:
        """Return how many rows each class has."""
        if self._counter.users is None:  # counted while the rows were taken in
            return self._sizes.copy()
        return self._counter.count_classes(self._stored or ())

    def votes(
        self, population: Sequence[Records], votes_per_row: int = 1
    ) -> list[NDArray[np.int64]]:
        """Return, for the candidates of each class, how many rows vote for each.

        Raises:
            DataError: If the rows are not as many as they were: one row more or less would then
                change more than the accounting allows for.
        """
        sizes = np.zeros_like(self._sizes)
        counts = self._counter.count_votes(
            population, _tally_segments(self._stored or (), sizes), votes_per_row
        )
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


class _ReencodedSegments:
    """Segments that are encoded anew each time somebody goes through them."""

    def __init__(self, batches: Batches, counter: VoteCounter) -> None:
        self._batches, self._counter = batches, counter

    def __iter__(self) -> Iterator[Segment]:
        return self._counter.build_segments(self._batches)

    def close(self) -> None:
        self._batches = ()


def _tally_segments(segments: Iterable[Segment], sizes: NDArray[np.int64]) -> Iterator[Segment]:
    """Yield all segments, and add up their sizes on the way."""
    for segment in segments:
        sizes[segment.label] += segment.size
        yield segment


Batch = tuple[Records, NDArray[np.int64]]


class LocalBackend:
    """Counts in a table by itself: in memory, or in a stream if the rows do not fit.

    Args:
        source: The table, or a part of it.
        unit: Who is a user, if the promise is to users; None if every row is one of its own.
        resources: What may be used of the machine.

    Example:
        >>> from tabpe.io import open_source
        >>> table = open_source(pa.table({"ward": ["heart", "heart", "eye"]}))
        >>> LocalBackend(table, None, Resources.from_options()).build_raw_counter().row_count()
        array([3])
    """

    def __init__(self, source: TableSource, unit: PrivacyUnit | None, resources: Resources) -> None:
        self._source, self._unit, self._resources = source, unit, resources

    def sum_row_hashes(self, names: Sequence[str], key: bytes) -> NDArray[np.uint64]:
        """Return sums over all rows that tell tables apart."""
        return sum_row_hashes(self._source, names, key)

    def build_raw_counter(self, moments: Mapping[str, Temporal] | None = None) -> RawColumnCounter:
        """Return what counts raw cells."""
        return RawColumnCounter(self._source, self.users, moments)

    def build_marginal_counter(self, encoder: Encoder) -> MarginalCounter:
        """Return what counts encoded rows and holds none of them."""
        return MarginalCounter(
            self.stream_encoded_rows(encoder), self.users, classes=encoder.class_count
        )

    def encode_table(self, encoder: Encoder, category_weight: float) -> LocalEncodedTable:
        """Return what holds encoded rows, in memory or in a stream."""
        rows, users, resources = self.stream_encoded_rows(encoder), self.users, self._resources
        streams = resources.should_stream(rows.most_bytes)
        kind = partial(StreamEngine, spill=resources.spill) if streams else LocalEngine
        engine = kind(
            classes=encoder.class_count,
            category_weight=category_weight,
            jobs=resources.jobs,
            users=users,
        )
        return LocalEncodedTable(rows, users, engine, streams=streams)

    def close(self) -> None:
        """Let go of the table; what is held is closed by itself."""

    def stream_encoded_rows(self, encoder: Encoder) -> EncodedRows:
        """Return the rows that count, to be encoded each time they are read."""
        return EncodedRows(self._source, encoder, None if self.users is None else self.users.kept)

    @cached_property
    def users(self) -> BoundedUsers | None:
        """Whose the rows are and which of them count: chosen when that is first asked for."""
        if self._unit is None:
            return None
        rows = self._read_user_rows(self._unit)
        return self._unit.select_users(rows)

    def _read_user_rows(self, unit: PrivacyUnit) -> Iterator[pa.Table]:
        return read_user_rows(self._source, unit.column, unit.names, strict=unit.strict)


class LocalEncodedTable:
    """The rows of a table, encoded in one way, and who counts them.

    Args:
        rows: The rows.
        users: Whose they are; None if every row is one of its own.
        engine: Counts votes.
        streams: Whether the rows are too many to be held.
    """

    def __init__(
        self,
        rows: EncodedRows,
        users: BoundedUsers | None,
        engine: InProcessEngine,
        *,
        streams: bool,
    ) -> None:
        self.encoder, self.scale = rows.encoder, engine.scale
        self._rows, self._users, self._engine, self._streams = rows, users, engine, streams
        self._batches: list[Batch] | None = None
        self.sight: VotingSpace | None = None

    @property
    def sizes(self) -> NDArray[np.int64] | None:
        """How many rows of each class there were when they were last read. Private."""
        return self._rows.tally.sizes

    def build_marginal_counter(self) -> MarginalCounter:
        """Return what counts the rows as they are: read once if they fit and are to be held."""
        if not self._streams and self.sight is None and self._batches is None:
            self._batches = list(self._rows)
        batches = self._rows if self._batches is None else self._batches
        return MarginalCounter(batches, self._users, classes=self.encoder.class_count)

    def prepare(self, voting_space: VotingSpace) -> None:
        """Take in the rows, as they are seen, for votes."""
        batches, self._batches, self.sight = self._batches, None, voting_space
        if batches is None:
            self._engine.prepare(dataclasses.replace(self._rows, voting_space=voting_space))
        else:
            self._engine.prepare(_drain_batches(batches, voting_space))

    def row_count(self) -> NDArray[np.int64]:
        """Return, in a single cell, how many rows or users there are, times `scale`."""
        return self._engine.row_count()

    def class_counts(self) -> NDArray[np.int64]:
        """Return how many rows each class has."""
        return self._engine.class_counts()

    def votes(
        self, population: Sequence[Records], votes_per_row: int = 1
    ) -> list[NDArray[np.int64]]:
        """Return, for the candidates of each class, how many rows vote for each."""
        return self._engine.votes(population, votes_per_row)

    def close(self) -> None:
        """Let go of the private rows."""
        self._batches = None
        self._engine.close()


def _drain_batches(batches: list[Batch], voting_space: VotingSpace) -> Iterator[Batch]:
    """Yield rows as they are seen, and let go of what they were: memory holds them once."""
    batches.reverse()
    while batches:
        rows, classes = batches.pop()
        yield voting_space.transform_rows(rows), classes
