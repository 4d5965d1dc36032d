"""A table in shards, each with some of its rows, that answer together as one table.

Systems for clusters differ in who brings a query to shards, and how answers are added up on the
way: that is a `ShardPool` (`tabpe.backends.ray`, `tabpe.backends.spark`). All else is here.

Privacy: every answer is a sum over rows, or over users, of whole numbers. So the sum of the answers
of all shards is what one process would count, as long as each row lies in one shard, all rows of a
user lie in the same, and each shard is counted once; `Answer` and `ShardDigests` see to the last.
What a shard answers is exact, and goes to those who add it up and to `tabpe.measurement` alone. A
failure is an answer too, without anything private in it: see `ShardFailure`.
"""

from __future__ import annotations

import dataclasses
import traceback
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tabpe._utils.resources import Resources
from tabpe.backends.base import Answer, EncodedQuery, EncodedReading, Query, sum_answers
from tabpe.backends.local import (
    Batches,
    Counts,
    EncodedTable,
    LocalBackend,
    RecordsBackend,
    Segment,
    build_segments,
    count_class_rows,
    digest_sizes,
)
from tabpe.backends.users import BoundedUsers, PrivacyUnit
from tabpe.encoding import VotingSpace
from tabpe.errors import DataError, TabpeError
from tabpe.io import Batch, TableSource
from tabpe.io.canonical import hash_rows
from tabpe.io.source import divide_source

_ROOT = Path(__file__).parents[1]
_NONE: Counts = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class ShardFailure:
    """Why a shard gave no answer.

    Args:
        shard: Its number.
        error: The error, which holds no private cell.
    """

    shard: int
    error: TabpeError


@dataclass(frozen=True)
class ShardIndex:
    """Which shard it is.

    Args:
        number: Its number, from 0.
        shards: How many there are.
    """

    number: int
    shards: int


class Shard(LocalBackend):
    """Some rows of a table, which answer by themselves. It knows of no cluster.

    Args:
        index: Which one it is.
        source: The rows; there may be none.
        unit: Who is a user, for user-level neighbours: all rows of one must be here.
        resources: What it may use of its machine.

    Example:
        >>> from tabpe.backends.queries import RawRowCountQuery
        >>> from tabpe.io import open_source
        >>> ages = open_source(pa.table({"age": [31, 42]}))
        >>> shard = Shard(ShardIndex(0, 1), ages, None, Resources.from_options())
        >>> shard.try_answer(RawRowCountQuery()).value
        array([2])
    """

    def __init__(
        self, index: ShardIndex, source: TableSource, unit: PrivacyUnit | None, resources: Resources
    ) -> None:
        super().__init__(source, unit, resources)
        self.number, self._shards = index.number, index.shards

    def try_answer(self, query: Query) -> Answer | ShardFailure:
        """Return the exact answer, or why there is none. It never raises."""
        try:
            return self.answer(query)
        except Exception as error:  # Whatever it is, nobody may see its words.
            return ShardFailure(self.number, redact_error(error))

    def _read_user_rows(self, unit: PrivacyUnit) -> Iterator[pa.Table]:
        """Refuse a user who belongs to another shard: it would add a vector in each of them."""
        for table in super()._read_user_rows(unit):
            if (assign_shards(table, unit, self._shards) != self.number).any():
                raise TabpeError("shards: the rows of a user are not all in the same one.")
            yield table


def redact_error(error: Exception) -> TabpeError:
    """Return an error that may leave a worker: our own, or the kind and place of any other.

    The words of numpy and Arrow may hold cells, or sizes of arrays, which are exact counts of rows.

    Example:
        >>> redact_error(ValueError("31 years"))
        TabpeError('a worker failed: ValueError.')
    """
    if isinstance(error, TabpeError):
        return error.with_traceback(None)
    if isinstance(error, MemoryError):
        return TabpeError("a worker ran out of memory: use more workers, or larger ones.")
    ours = [
        f"{Path(frame.filename).relative_to(_ROOT)}:{frame.lineno}"
        for frame in traceback.extract_tb(error.__traceback__)
        if Path(frame.filename).is_relative_to(_ROOT)
    ]
    place = f" in {ours[-1]}" if ours else ""
    return TabpeError(f"a worker failed: {type(error).__name__}{place}.")


@dataclass(frozen=True, eq=False)
class UserShardSource:
    """The rows of some users of a table: of those whose ids have the same hash.

    Privacy: which shard a row goes to depends on the id of its user and on the seed. So all rows of
    a user are in one shard, which makes one vector of them.

    Args:
        source: The whole table.
        unit: Who is a user.
        shards: Into how many parts users are spread.
        number: The part.
    """

    source: TableSource
    unit: PrivacyUnit
    shards: int
    number: int

    @property
    def library(self) -> str:
        """The library of data frames that it is a frame of."""
        return self.source.library

    @property
    def nested(self) -> frozenset[str]:
        """The columns of lists and the like."""
        return self.source.nested

    @property
    def names(self) -> list[str]:
        """Its columns."""
        return self.source.names

    @property
    def most_rows(self) -> int | None:
        """The number of rows of the whole table: all of them may be of these users. Private."""
        return self.source.most_rows

    def batches(self, names: Sequence[str] | None = None) -> Iterator[Batch]:
        """Read the rows of these users."""
        wanted = self.names if names is None else list(names)
        for batch in self.source.batches(list(dict.fromkeys([*wanted, self.unit.column]))):
            of_these = assign_shards(batch.table, self.unit, self.shards) == self.number
            table = batch.table.select(wanted).filter(pa.array(of_these))
            yield Batch(table, batch.file, batch.first_row, np.flatnonzero(of_these))


def assign_shards(table: pa.Table, unit: PrivacyUnit, shards: int) -> NDArray[np.uint64]:
    """Return the shard of each row, by the id of its user."""
    return hash_rows(table.select([unit.column]), unit.key) % np.uint64(shards)


def partition_source(
    source: TableSource, unit: PrivacyUnit | None, shards: int
) -> list[TableSource]:
    """Return a table in parts, about as many as asked for; the rows of a user stay together.

    Args:
        source: The table.
        unit: Who is a user; None if every row is one of its own.
        shards: How many parts to make. There are fewer if the table does not divide.
    """
    if unit is None:
        return divide_source(source, shards)
    # Parts are read from start to end by everyone who looks for the rows of some users.
    (whole,) = divide_source(source, 1)
    return [UserShardSource(whole, unit, shards, number) for number in range(shards)]


def build_shards(
    parts: Sequence[TableSource], unit: PrivacyUnit | None, resources: Resources
) -> list[Shard]:
    """Return the shards of a table in this process, one for each of its parts."""
    return [
        Shard(ShardIndex(number, len(parts)), part, unit, resources)
        for number, part in enumerate(parts)
    ]


class ShardPool(Protocol):
    """The shards of a table, wherever they are.

    Guarantees expected of every implementation:

    - In an answer each shard is counted once. One that is lost on the way is made anew from its
      part of the table, with the same number, and asked again; if it answers twice, one answer is
      dropped.
    - Nothing exact is written or logged on the way, and no word of an error but those of
      `ShardFailure`.
    - Rows stay with the shards; what reaches the driver is the sum.
    """

    @property
    def shards(self) -> int:
        """How many there are; their numbers begin at 0."""
        ...

    def answer(self, query: Query) -> Answer:
        """Return the sum of the answers of all shards.

        Raises:
            TabpeError: The error of the first shard that failed, if one did.
        """
        ...

    def close(self) -> None:
        """Let go of the shards."""
        ...


class LocalShardPool:
    """Shards in this process, one after the other: a pool to learn from, and to test with.

    Args:
        shards: The shards, by their numbers.

    Example:
        >>> from tabpe.backends.queries import ValueQuery
        >>> from tabpe.io import open_source
        >>> table = open_source(pa.table({"ward": ["heart", "heart", "eye"]}))
        >>> parts = partition_source(table, None, 2)
        >>> pool = LocalShardPool(build_shards(parts, None, Resources.from_options()))
        >>> pool.answer(ValueQuery({"ward": str})).value
        {'ward': {'eye': 1, 'heart': 2}}
    """

    def __init__(self, shards: Sequence[Shard]) -> None:
        self._shards = list(shards)

    @property
    def shards(self) -> int:
        """How many there are."""
        return len(self._shards)

    def answer(self, query: Query) -> Answer:
        """Return the sum of the answers of all shards."""
        return sum_or_raise(shard.try_answer(query) for shard in self._shards)

    def close(self) -> None:
        """Let go of the rows."""
        for shard in self._shards:
            shard.close()


def sum_or_raise(answers: Iterable[Answer | ShardFailure]) -> Answer:
    """Return the sum of answers, or raise the error of the first shard that failed."""
    found = list(answers)
    failures = [answer for answer in found if isinstance(answer, ShardFailure)]
    if failures:
        raise min(failures, key=lambda failed: failed.shard).error
    return sum_answers(answer for answer in found if isinstance(answer, Answer))


class ShardDigests:
    """Checks that each shard is counted once, and that its class sizes stay the same in a run.

    Args:
        shards: How many there are.
    """

    def __init__(self, shards: int) -> None:
        self._shards = frozenset(range(shards))
        self._known: dict[tuple[int, int], bytes] = {}

    def check_answer(self, query: Query, answer: Answer) -> Answer:
        """Return an answer in which each shard is counted once, with the rows that it had.

        Raises:
            DataError: If a shard has other rows than it had, as after one was made anew.
        """
        if answer.digests.keys() != self._shards:
            raise TabpeError("shards: not each of them was counted once.")
        reading = query.reading if isinstance(query, EncodedQuery) else None
        for shard, digest in answer.digests.items():
            key = (-1 if reading is None else reading.number, shard)
            if digest and self._known.setdefault(key, digest) != digest:
                raise DataError(
                    "the table changed while it was read: keep it as it is during a run."
                )
        return answer


class ShardedBackend:
    """Answers by a pool of shards.

    Privacy: it holds no row. It returns the exact sum of the answers of all shards, to which noise
    is added once, in this process.

    Args:
        pool: The shards of the table.
        scale: The most that one row, or the vector of one user, counts.

    Example:
        >>> from tabpe.backends.queries import RawRowCountQuery
        >>> from tabpe.io import open_source
        >>> table = open_source(pa.table({"ward": ["heart", "heart", "eye"]}))
        >>> parts = partition_source(table, None, 3)
        >>> pool = LocalShardPool(build_shards(parts, None, Resources.from_options()))
        >>> ShardedBackend(pool).answer(RawRowCountQuery()).value
        array([3])
    """

    def __init__(self, pool: ShardPool, scale: int = 1) -> None:
        self._pool, self.scale = pool, scale
        self._digests = ShardDigests(pool.shards)

    def answer(self, query: Query) -> Answer:
        """Return the sum of the answers of all shards, each as it was and counted once."""
        return self._digests.check_answer(query, self._pool.answer(query))

    def close(self) -> None:
        """Let go of the shards."""
        self._pool.close()


# Encoded rows that a system such as Spark keeps between queries, and brings to whichever worker is
# to answer, because its workers come and go.


def encode_segments(shard: Shard, reading: EncodedReading) -> Iterator[Segment]:
    """Read and encode the rows of a shard, those of users that count."""
    owners = None if shard.users is None else shard.users.owners
    rows = shard.stream_encoded_rows(reading)
    return build_segments(rows, reading.encoder.class_count, owners)


def prepare_segments(
    segments: Iterable[Segment], voting_space: VotingSpace, category_weight: float
) -> Iterator[Segment]:
    """Return segments in a voting space, in the form in which votes are counted."""
    for segment in segments:
        rows = voting_space.transform_rows(segment.rows)
        yield dataclasses.replace(segment, rows=rows).prepare_segment(category_weight)


class CarriedTable(EncodedTable):
    """Segments that were brought to a worker, gone through once; those of users all at once.

    Args:
        segments: The segments.
        reading: How their rows were encoded.
        unit: Who is a user, for user-level neighbours.

    Example:
        >>> from tabpe.encoding import Encoder, Records
        >>> from tabpe.schema import Boolean, Schema
        >>> rows = Records(np.zeros((3, 0), np.float32), np.zeros((3, 1), np.uint8))
        >>> reading = EncodedReading(Encoder(Schema((Boolean("ill"),))), 1 / 3)
        >>> table = CarriedTable([Segment(0, rows)], reading, None)
        >>> table.count_classes(), table.sizes
        (array([3]), array([3]))
    """

    def __init__(
        self, segments: Iterable[Segment], reading: EncodedReading, unit: PrivacyUnit | None
    ) -> None:
        classes, users = reading.encoder.class_count, None
        if unit is not None:
            segments = list(segments)
            users = _collect_users(segments, unit.scale)
        super().__init__(users, classes=classes, category_weight=reading.category_weight)
        self._segments, self._sizes = segments, np.zeros(classes, dtype=np.int64)

    @property
    def sizes(self) -> Counts:
        """How many rows of each class went by, or those of users: they are here. Private."""
        if self.users is None:
            return self._sizes
        return count_class_rows(self._segments, self.classes)

    def read_batches(self) -> Batches:
        """Return the rows as they were encoded."""
        for segment in self.read_segments(None):
            yield segment.rows, np.full(len(segment.rows), segment.label)

    def read_segments(self, voting_space: VotingSpace | None) -> Iterator[Segment]:  # noqa: ARG002
        """Return the segments; for votes they were prepared before they were brought."""
        for segment in self._segments:
            self._sizes[segment.label] += segment.size
            yield segment

    def close(self) -> None:
        """Let go of the segments."""
        self._segments = ()


def answer_from_segments(
    segments: Iterable[Segment],
    query: Query,
    reading: EncodedReading,
    unit: PrivacyUnit | None,
    number: int,
) -> Answer | ShardFailure:
    """Return the answer of segments that were brought, or why there is none. It never raises."""
    try:
        table = CarriedTable(segments, reading, unit)
        value = query.evaluate(RecordsBackend(table))
        return Answer(value, {number: digest_sizes(table)})
    except Exception as error:  # Whatever it is, nobody may see its words.
        return ShardFailure(number, redact_error(error))


def _collect_users(segments: Sequence[Segment], scale: int) -> BoundedUsers:
    """Return the users of segments. Each has a row, so the largest number says how many."""
    owners = np.concatenate([_NONE, *(_get_owners(segment) for segment in segments)])
    count = int(owners.max(initial=-1)) + 1
    return BoundedUsers(np.ones(len(owners), dtype=bool), owners, count, scale)


def _get_owners(segment: Segment) -> Counts:
    return _NONE if segment.owners is None else segment.owners
