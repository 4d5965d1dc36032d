"""A private table in one process, in memory or in a file without a name, and `open_backend`.

`SpillFile` is opened for this process alone (mode 0600) and has no name in its folder, or loses it
in the moment in which it is made. The system frees it when the process ends, however that happens:
even after `kill -9` there is nothing left to find or to delete.
"""

from __future__ import annotations

import dataclasses
import hashlib
import mmap
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import IO, Any, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tabpe._utils.resources import CLUSTERS, Resources
from tabpe.backends.base import Answer, Backend, EncodedQuery, EncodedReading, Query
from tabpe.backends.counting import (
    Batches,
    CachedTable,
    Counts,
    EncodedTable,
    Segment,
    build_segments,
    count_class_rows,
)
from tabpe.backends.raw_columns import RawColumnCounter
from tabpe.backends.users import BoundedUsers, PrivacyUnit
from tabpe.encoding import Records, VotingSpace
from tabpe.encoding.encoded_rows import EncodedRows, read_user_rows, sum_row_hashes
from tabpe.errors import DataError, OutputError, ParameterError, TabpeError
from tabpe.io import TableSource
from tabpe.schema import Temporal

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
        users: Whose the rows are; None if every row counts for itself.
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
        if self._segments is None:
            self._store_segments(self._transform_rows(voting_space))
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
        if self._segments is None:
            self._store_segments(self._transform_rows(voting_space))
        return self._sizes.copy()  # counted while segments were made

    def close(self) -> None:
        """Let go of the private rows, and free the file that held them."""
        if isinstance(self._segments, SpillFile):
            self._segments.close()
        self._rows, self._batches, self._segments = (), None, []
        self._sizes = np.zeros_like(self._sizes)

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
