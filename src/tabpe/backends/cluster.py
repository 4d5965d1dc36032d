"""A table in shards that are asked together.

`Shard`: a part of a private table, which answers by itself. It knows of no cluster.

Privacy: what a shard says is exact, and goes to those who add it up and to `tabpe.measurement`
alone. A failure is an answer too, without anything private in it: see `ShardFailure`.

`ShardPool`: the shards of a table, asked together.

Who brings a question to shards, and how their answers are added up on the way, is what systems for
clusters differ in. All else is here and in `tabpe.backends.cluster`.

A table that lies in shards, as one that one process counts in: what asks a crew.

Privacy: what is here holds no row. It hands on questions of `tabpe.measurement` and returns the
exact sums of the answers, to which noise is added once, in this process.

Encoded rows that something else than a shard keeps between questions, and hands to it.

A `Shard` keeps what it encoded in its own memory. Where workers come and go, as in Spark, a system
keeps the segments of a part of a table, and brings them to whichever worker is to answer.
"""

from __future__ import annotations

import dataclasses
import itertools
import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tabpe._utils.resources import Resources
from tabpe.backends.counting import MarginalCounter, Segment, VoteCounter, build_segments
from tabpe.backends.local import LocalBackend
from tabpe.backends.queries import (
    EncodedReading,
    EncodedShard,
    MarginalQuery,
    RawColumnQuery,
    RowHashQuery,
    ShardAnswer,
    ShardDigests,
    ShardQuery,
    ShardSession,
    VoteQuery,
    sum_answers,
)
from tabpe.backends.users import BoundedUsers, PrivacyUnit
from tabpe.encoding import Encoder, Records, VotingSpace
from tabpe.encoding.marginals import ListAxis, Marginal
from tabpe.encoding.raw_cells import ClampedBins, EqualWidthBins
from tabpe.errors import TabpeError
from tabpe.io import Batch, TableSource
from tabpe.io.canonical import hash_rows
from tabpe.io.source import divide_source
from tabpe.schema import Categorical, Temporal

_ROOT = Path(__file__).parents[1]


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


class Shard:
    """Some rows of a table, and who counts them.

    Args:
        index: Which one it is.
        source: The rows.
        unit: Who is a user, if the promise is to users: all rows of one must be here.
        resources: What it may use of its machine.

    Example:
        >>> from tabpe.backends.queries import RawColumnQuery
        >>> from tabpe.io import open_source
        >>> ages = open_source(pa.table({"age": [31, 42]}))
        >>> shard = Shard(ShardIndex(0, 1), ages, None, Resources.from_options())
        >>> shard.answer(RawColumnQuery("row_count")).value
        array([2])
    """

    def __init__(
        self, index: ShardIndex, source: TableSource, unit: PrivacyUnit | None, resources: Resources
    ) -> None:
        self.number = index.number
        self._session = ShardSession(ShardBackend(source, unit, resources, index))

    def answer(self, query: ShardQuery) -> ShardAnswer | ShardFailure:
        """Return what the rows say, or why they do not."""
        return answer_query(self._session, query, self.number)

    def close(self) -> None:
        """Let go of the rows."""
        self._session.close()


def answer_query(
    session: ShardSession, query: ShardQuery, number: int
) -> ShardAnswer | ShardFailure:
    """Return what the rows of a shard say, or why they do not. It never raises."""
    try:
        value, mark = query.run_on_shard(session)
        return ShardAnswer(value, {number: mark})
    except Exception as error:  # Whatever it is, nobody may see its words.
        return ShardFailure(number, redact_error(error))


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


class ShardBackend(LocalBackend):
    """Counts in a part of a table, which may have no row."""

    def __init__(
        self, source: TableSource, unit: PrivacyUnit | None, resources: Resources, index: ShardIndex
    ) -> None:
        super().__init__(source, unit, resources)
        self._index = index

    def _read_user_rows(self, unit: PrivacyUnit) -> Iterator[pa.Table]:
        """Refuse a user who belongs to another shard: it would add a vector in each of them."""
        for table in super()._read_user_rows(unit):
            if (assign_shards(table, unit, self._index.shards) != self._index.number).any():
                raise TabpeError("shards: the rows of a user are not all in the same one.")
            yield table


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

    def run_query(self, query: ShardQuery) -> ShardAnswer:
        """Return the sum of the answers of all shards.

        Raises:
            TabpeError: The error of the first shard that failed, if one did.
        """
        ...

    def close(self) -> None:
        """Let go of the shards."""
        ...


class LocalShardPool:
    """Shards in this process, one after the other: a crew to learn from, and to test with.

    Args:
        shards: The shards, by their numbers.

    Example:
        >>> import pyarrow as pa
        >>> from tabpe.backends.queries import RawColumnQuery
        >>> from tabpe.backends.cluster import build_shards, partition_source
        >>> from tabpe.io import open_source
        >>> from tabpe._utils.resources import Resources
        >>> table = open_source(pa.table({"ward": ["heart", "heart", "eye"]}))
        >>> parts = partition_source(table, None, 2)
        >>> pool = LocalShardPool(build_shards(parts, None, Resources.from_options()))
        >>> pool.run_query(RawColumnQuery("values", {"ward": str})).value
        {'ward': {'eye': 1, 'heart': 2}}
    """

    def __init__(self, shards: Sequence[Shard]) -> None:
        self._shards = list(shards)

    @property
    def shards(self) -> int:
        """How many there are."""
        return len(self._shards)

    def run_query(self, query: ShardQuery) -> ShardAnswer:
        """Return the sum of the answers of all shards."""
        return sum_or_raise(shard.answer(query) for shard in self._shards)

    def close(self) -> None:
        """Let go of the rows."""
        for shard in self._shards:
            shard.close()


def sum_or_raise(answers: Iterable[ShardAnswer | ShardFailure]) -> ShardAnswer:
    """Return the sum of answers, or raise the error of the first shard that failed."""
    found = list(answers)
    failures = [answer for answer in found if isinstance(answer, ShardFailure)]
    if failures:
        raise min(failures, key=lambda failed: failed.shard).error
    return sum_answers(answer for answer in found if isinstance(answer, ShardAnswer))


Whole = NDArray[np.int64]


class ShardedBackend:
    """Counts in a table by asking a crew.

    Args:
        pool: The shards of the table.
        scale: What one row or user counts at most.

    Example:
        >>> import pyarrow as pa
        >>> from tabpe.backends.cluster import LocalShardPool
        >>> from tabpe.backends.cluster import build_shards, partition_source
        >>> from tabpe.io import open_source
        >>> from tabpe._utils.resources import Resources
        >>> table = open_source(pa.table({"ward": ["heart", "heart", "eye"]}))
        >>> parts = partition_source(table, None, 3)
        >>> pool = LocalShardPool(build_shards(parts, None, Resources.from_options()))
        >>> ShardedBackend(pool).build_raw_counter().row_count()
        array([3])
    """

    def __init__(self, pool: ShardPool, scale: int = 1) -> None:
        self._pool, self.scale = pool, scale
        self._digests, self._numbers = ShardDigests(pool.shards), itertools.count()

    def run_query(self, query: ShardQuery) -> Any:
        """Return the sum of the answers of all shards, each as it was and counted once."""
        return self._digests.check_answer(query, self._pool.run_query(query))

    def sum_row_hashes(self, names: Sequence[str], key: bytes) -> NDArray[np.uint64]:
        """Return sums over all rows that tell tables apart."""
        sums: NDArray[np.uint64] = self.run_query(RowHashQuery(tuple(names), key))
        return sums

    def build_raw_counter(
        self, moments: Mapping[str, Temporal] | None = None
    ) -> ShardedRawColumnCounter:
        """Return what counts raw cells."""
        return ShardedRawColumnCounter(self, moments or {})

    def build_marginal_counter(self, encoder: Encoder) -> ShardedMarginalCounter:
        """Return what counts encoded rows and has none of them held."""
        return ShardedMarginalCounter(self, self._start_reading(encoder, 0.0), keeps_rows=False)

    def encode_table(self, encoder: Encoder, category_weight: float) -> ShardedEncodedTable:
        """Return what has encoded rows held where they are."""
        return ShardedEncodedTable(self, encoder, self._start_reading(encoder, category_weight))

    def close(self) -> None:
        """Let go of the shards."""
        self._pool.close()

    def _start_reading(self, encoder: Encoder, category_weight: float) -> EncodedReading:
        return EncodedReading(next(self._numbers), encoder, category_weight)


class ShardedRawColumnCounter:
    """What `RawColumnCounter` is, for a table in shards.

    Args:
        backend: Asks the shards.
        moments: How dates and times are read.
    """

    def __init__(self, backend: ShardedBackend, moments: Mapping[str, Temporal]) -> None:
        self._backend, self._moments = backend, dict(moments)
        self.scale = backend.scale

    def row_count(self) -> Whole:
        """Return, in a single cell, how many rows or users there are, times `scale`."""
        count: Whole = self._backend.run_query(RawColumnQuery("row_count"))
        return count

    def kinds(self, names: Sequence[str]) -> dict[str, Whole]:
        """Return how many cells of each column are of each kind."""
        return self._run_query("kinds", list(names))

    def magnitudes(self, names: Sequence[str]) -> dict[str, Whole]:
        """Return how many numbers of each column are of each sign and power of two."""
        return self._run_query("magnitudes", list(names))

    def bins(self, columns: Mapping[str, EqualWidthBins | ClampedBins]) -> dict[str, Whole]:
        """Return how many numbers of each column are in each of its bins."""
        return self._run_query("bins", dict(columns))

    def listed(self, columns: Mapping[str, Categorical]) -> dict[str, Whole]:
        """Return how many cells of each column hold each of its declared values."""
        return self._run_query("listed", dict(columns))

    def values(self, columns: Mapping[str, type]) -> dict[str, dict[Any, int]]:
        """Return how often each value of each column occurs, in the order of the values."""
        return self._run_query("values", dict(columns))

    def _run_query(self, name: str, columns: Any) -> dict[str, Any]:
        answer: dict[str, Any] = self._backend.run_query(
            RawColumnQuery(name, columns, self._moments)
        )
        return answer


class ShardedMarginalCounter:
    """What `Tables` is, for a table in shards.

    Args:
        backend: Asks the shards.
        reading: How rows are encoded.
        keeps_rows: Whether they keep encoded rows, as votes will be asked for.
    """

    def __init__(
        self, backend: ShardedBackend, reading: EncodedReading, *, keeps_rows: bool
    ) -> None:
        self._backend, self._reading, self._keeps_rows = backend, reading, keeps_rows
        self.scale = backend.scale

    def row_count(self) -> Whole:
        """Return, in a single cell, how many rows or users there are, times `scale`."""
        count: Whole = self._run_query(None)
        return count

    def class_counts(self) -> Whole:
        """Return how many rows each class has."""
        classes = range(self._reading.encoder.class_count)
        return self.counts([Marginal((ListAxis("class", None, tuple(classes)),))])[0]

    def counts(self, marginals: Sequence[Marginal]) -> list[Whole]:
        """Return how many rows fall into each cell of each marginal, or what users add to it."""
        found: list[Whole] = self._run_query(tuple(marginals))
        return found

    def _run_query(self, marginals: Sequence[Marginal] | None) -> Any:
        return self._backend.run_query(MarginalQuery(self._reading, marginals, self._keeps_rows))


class ShardedEncodedTable:
    """What `LocalEncodedTable` is, for a table in shards.

    Args:
        backend: Asks the shards.
        encoder: How rows are encoded.
        reading: The same, as shards are told.
    """

    def __init__(self, backend: ShardedBackend, encoder: Encoder, reading: EncodedReading) -> None:
        self.encoder, self.scale = encoder, backend.scale
        self._backend, self._reading = backend, reading
        self._voting_space: VotingSpace | None = None

    def build_marginal_counter(self) -> ShardedMarginalCounter:
        """Return what counts the rows as they are encoded."""
        return ShardedMarginalCounter(self._backend, self._reading, keeps_rows=True)

    def prepare(self, voting_space: VotingSpace) -> None:
        """Have the rows taken in, as they are seen, for votes."""
        self._voting_space = voting_space
        self.class_counts()  # shards take rows in when they are first asked

    def row_count(self) -> Whole:
        """Return, in a single cell, how many rows or users there are, times `scale`."""
        count: Whole = self._run_query("row_count")
        return count

    def class_counts(self) -> Whole:
        """Return how many rows each class has."""
        counts: Whole = self._run_query("class_counts")
        return counts

    def votes(self, population: Sequence[Records], votes_per_row: int = 1) -> list[Whole]:
        """Return, for the candidates of each class, how many rows vote for each."""
        found: list[Whole] = self._run_query("votes", tuple(population), votes_per_row)
        return found

    def close(self) -> None:
        """Have nothing more to ask; the crew lets go of the rows when it is closed."""
        self._voting_space = None

    def _run_query(
        self, name: str, population: Sequence[Records] = (), votes_per_row: int = 1
    ) -> Any:
        if self._voting_space is None:
            raise TabpeError("votes: the rows were not taken in.")
        return self._backend.run_query(
            VoteQuery(self._reading, self._voting_space, name, population, votes_per_row)
        )


_NONE: Whole = np.empty(0, dtype=np.int64)


def encode_segments(backend: LocalBackend, reading: EncodedReading) -> Iterator[Segment]:
    """Read and encode the rows of a part of a table, those of users that count.

    Args:
        backend: Knows the part, and its users.
        reading: How rows are encoded.
    """
    encoder, users = reading.encoder, backend.users
    owners = None if users is None else users.owners
    return build_segments(backend.stream_encoded_rows(encoder), encoder.class_count, owners)


def prepare_segments(
    segments: Iterable[Segment], voting_space: VotingSpace, category_weight: float
) -> Iterator[Segment]:
    """Return segments as votes are counted in: seen, and in the form that is quickest to count."""
    for segment in segments:
        rows = voting_space.transform_rows(segment.rows)
        yield dataclasses.replace(segment, rows=rows).prepare_segment(category_weight)


class CarriedShardSession(ShardSession):
    """Where segments that were brought answer a single question.

    Args:
        held: The segments.
    """

    def __init__(self, encoded: CarriedEncodedTable) -> None:
        self._carried = encoded

    def get_encoded_shard(self, reading: EncodedReading) -> EncodedShard:  # noqa: ARG002
        """Return the segments; whoever brought them knows which reading they are of."""
        return self._carried

    def close(self) -> None:
        """Have nothing to let go of."""


class CarriedEncodedTable:
    """Segments of encoded rows, gone through once, one at a time; those of users all at once.

    Args:
        segments: The segments.
        reading: How their rows were encoded.
        unit: Who is a user, if the promise is to users.
        sight: How they are seen; None if they are as they were encoded.

    Example:
        >>> from tabpe.encoding import Encoder
        >>> from tabpe.schema import Boolean, Schema
        >>> rows = Records(np.zeros((3, 0), np.float32), np.zeros((3, 1), np.uint8))
        >>> reading = EncodedReading(0, Encoder(Schema((Boolean("ill"),))), 1 / 3)
        >>> held = CarriedEncodedTable([Segment(0, rows)], reading, None)
        >>> held.class_counts(), held.sizes
        (array([3]), array([3]))
    """

    def __init__(
        self,
        segments: Iterable[Segment],
        reading: EncodedReading,
        unit: PrivacyUnit | None,
        voting_space: VotingSpace | None = None,
    ) -> None:
        self.encoder, self.sight = reading.encoder, voting_space
        self.scale = 1 if unit is None else unit.scale
        self._segments, self._weight, self._unit = segments, reading.category_weight, unit
        self._sizes = np.zeros(self.encoder.class_count, dtype=np.int64)

    @property
    def sizes(self) -> Whole:
        """How many rows of each class went by. Private."""
        return self._sizes

    def build_marginal_counter(self) -> MarginalCounter:
        """Return what counts the rows as they are encoded."""
        ballot, segments = self._open_counter()
        batches = ((one.rows, np.full(len(one.rows), one.label)) for one in segments)
        return MarginalCounter(batches, ballot.users, classes=ballot.classes)

    def prepare(self, voting_space: VotingSpace) -> None:
        """See the rows as they go by."""
        self.sight, self._segments = (
            voting_space,
            prepare_segments(self._segments, voting_space, self._weight),
        )

    def row_count(self) -> Whole:
        """Return, in a single cell, how many rows or users there are, times `scale`."""
        ballot, segments = self._open_counter()
        return ballot.count_rows(segments)

    def class_counts(self) -> Whole:
        """Return how many rows each class has."""
        ballot, segments = self._open_counter()
        return ballot.count_classes(segments)

    def votes(self, population: Sequence[Records], votes_per_row: int = 1) -> list[Whole]:
        """Return, for the candidates of each class, how many rows vote for each."""
        ballot, segments = self._open_counter()
        return ballot.count_votes(population, segments, votes_per_row)

    def close(self) -> None:
        """Let go of the segments."""
        self._segments = ()

    def _open_counter(self) -> tuple[VoteCounter, Iterable[Segment]]:
        classes, segments, users = self.encoder.class_count, self._tally_segments(), None
        if self._unit is None:
            return VoteCounter(classes, self._weight, 1, users), segments
        whole = list(segments)
        return VoteCounter(classes, self._weight, 1, _collect_users(whole, self.scale)), whole

    def _tally_segments(self) -> Iterator[Segment]:
        for segment in self._segments:
            self._sizes[segment.label] += segment.size
            yield segment


def _collect_users(segments: Sequence[Segment], scale: int) -> BoundedUsers:
    """Return the users of segments. Of each a row counts, so the last number says how many."""
    owners = np.concatenate([_NONE, *(_get_owners(segment) for segment in segments)])
    count = int(owners.max(initial=-1)) + 1
    return BoundedUsers(np.ones(len(owners), dtype=bool), owners, count, scale)


def _get_owners(segment: Segment) -> Whole:
    return _NONE if segment.owners is None else segment.owners
