"""A table in shards that are asked together.

`Shard`: a part of a private table, which answers by itself. It knows of no cluster.

Privacy: what a shard says is exact, and goes to those who add it up and to `tabpe.measurement`
alone. A failure is an answer too, without anything private in it: see `Failed`.

`Crew`: the shards of a table, asked together.

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
from tabpe.backends.counting import Ballot, Segment, Tables, segments_of
from tabpe.backends.local import LoneKeeper
from tabpe.backends.queries import (
    Answer,
    Cells,
    Contents,
    Desk,
    HeldPart,
    Marks,
    Polled,
    Question,
    Reading,
    Tabulated,
    total,
)
from tabpe.backends.users import Unit, Users
from tabpe.encoding import Encoder, Records, Sight
from tabpe.encoding.marginals import ListAxis, Marginal
from tabpe.encoding.raw_cells import Bins, Pieces
from tabpe.errors import TabpeError
from tabpe.io import Batch, Source
from tabpe.io.canonical import hash_rows
from tabpe.io.source import parts_of
from tabpe.schema import Categorical, Temporal

_ROOT = Path(__file__).parents[1]


@dataclass(frozen=True, eq=False)
class Failed:
    """Why a shard gave no answer.

    Args:
        shard: Its number.
        error: The error, which holds no private cell.
    """

    shard: int
    error: TabpeError


@dataclass(frozen=True)
class Place:
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
        place: Which one it is.
        source: The rows.
        unit: Who is a user, if the promise is to users: all rows of one must be here.
        resources: What it may use of its machine.

    Example:
        >>> from tabpe.backends.queries import Cells
        >>> from tabpe.io import open_source
        >>> ages = open_source(pa.table({"age": [31, 42]}))
        >>> Shard(Place(0, 1), ages, None, Resources.of()).answer(Cells("row_count")).value
        array([2])
    """

    def __init__(
        self, place: Place, source: Source, unit: Unit | None, resources: Resources
    ) -> None:
        self.number = place.number
        self._desk = Desk(PartKeeper(source, unit, resources, place))

    def answer(self, question: Question) -> Answer | Failed:
        """Return what the rows say, or why they do not."""
        return answer_at(self._desk, question, self.number)

    def close(self) -> None:
        """Let go of the rows."""
        self._desk.close()


def answer_at(desk: Desk, question: Question, number: int) -> Answer | Failed:
    """Return what the rows of a shard say, or why they do not. It never raises."""
    try:
        value, mark = question.asked_of(desk)
        return Answer(value, {number: mark})
    except Exception as error:  # Whatever it is, nobody may see its words.
        return Failed(number, without_words(error))


def without_words(error: Exception) -> TabpeError:
    """Return an error that may leave a worker: our own, or the kind and place of any other.

    The words of numpy and Arrow may hold cells, or sizes of arrays, which are exact counts of rows.

    Example:
        >>> without_words(ValueError("31 years"))
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


class PartKeeper(LoneKeeper):
    """Counts in a part of a table, which may have no row."""

    def __init__(
        self, source: Source, unit: Unit | None, resources: Resources, place: Place
    ) -> None:
        super().__init__(source, unit, resources)
        self._place = place

    def _rows_of_users(self, unit: Unit) -> Iterator[pa.Table]:
        """Refuse a user who belongs to another shard: it would add a vector in each of them."""
        for table in super()._rows_of_users(unit):
            if (shards_of(table, unit, self._place.shards) != self._place.number).any():
                raise TabpeError("shards: the rows of a user are not all in the same one.")
            yield table


@dataclass(frozen=True, eq=False)
class OfSomeUsers:
    """The rows of some users of a table: of those whose ids have the same hash.

    Privacy: which shard a row goes to depends on the id of its user and on the seed. So all rows of
    a user are in one shard, which makes one vector of them.

    Args:
        source: The whole table.
        unit: Who is a user.
        shards: Into how many parts users are spread.
        number: The part.
    """

    source: Source
    unit: Unit
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
            of_these = shards_of(batch.table, self.unit, self.shards) == self.number
            table = batch.table.select(wanted).filter(pa.array(of_these))
            yield Batch(table, batch.file, batch.first_row, np.flatnonzero(of_these))


def shards_of(table: pa.Table, unit: Unit, shards: int) -> NDArray[np.uint64]:
    """Return the shard of each row, by the id of its user."""
    return hash_rows(table.select([unit.column]), unit.key) % np.uint64(shards)


def spread(source: Source, unit: Unit | None, shards: int) -> list[Source]:
    """Return a table in parts, about as many as asked for; the rows of a user stay together.

    Args:
        source: The table.
        unit: Who is a user; None if every row is one of its own.
        shards: How many parts to make. There are fewer if the table does not divide.
    """
    if unit is None:
        return parts_of(source, shards)
    # Parts are read from start to end by everyone who looks for the rows of some users.
    (whole,) = parts_of(source, 1)
    return [OfSomeUsers(whole, unit, shards, number) for number in range(shards)]


def shards_in(parts: Sequence[Source], unit: Unit | None, resources: Resources) -> list[Shard]:
    """Return the shards of a table in this process, one for each of its parts."""
    return [
        Shard(Place(number, len(parts)), part, unit, resources) for number, part in enumerate(parts)
    ]


class Crew(Protocol):
    """The shards of a table, wherever they are.

    Guarantees expected of every implementation:

    - In an answer each shard is counted once. One that is lost on the way is made anew from its
      part of the table, with the same number, and asked again; if it answers twice, one answer is
      dropped.
    - Nothing exact is written or logged on the way, and no word of an error but those of `Failed`.
    - Rows stay with the shards; what reaches the driver is the sum.
    """

    @property
    def shards(self) -> int:
        """How many there are; their numbers begin at 0."""
        ...

    def ask(self, question: Question) -> Answer:
        """Return the sum of the answers of all shards.

        Raises:
            TabpeError: The error of the first shard that failed, if one did.
        """
        ...

    def close(self) -> None:
        """Let go of the shards."""
        ...


class NearCrew:
    """Shards in this process, one after the other: a crew to learn from, and to test with.

    Args:
        shards: The shards, by their numbers.

    Example:
        >>> import pyarrow as pa
        >>> from tabpe.backends.queries import Cells
        >>> from tabpe.backends.cluster import shards_in, spread
        >>> from tabpe.io import open_source
        >>> from tabpe._utils.resources import Resources
        >>> table = open_source(pa.table({"ward": ["heart", "heart", "eye"]}))
        >>> crew = NearCrew(shards_in(spread(table, None, 2), None, Resources.of()))
        >>> crew.ask(Cells("values", {"ward": str})).value
        {'ward': {'eye': 1, 'heart': 2}}
    """

    def __init__(self, shards: Sequence[Shard]) -> None:
        self._shards = list(shards)

    @property
    def shards(self) -> int:
        """How many there are."""
        return len(self._shards)

    def ask(self, question: Question) -> Answer:
        """Return the sum of the answers of all shards."""
        return settled(shard.answer(question) for shard in self._shards)

    def close(self) -> None:
        """Let go of the rows."""
        for shard in self._shards:
            shard.close()


def settled(answers: Iterable[Answer | Failed]) -> Answer:
    """Return the sum of answers, or raise the error of the first shard that failed."""
    found = list(answers)
    failures = [answer for answer in found if isinstance(answer, Failed)]
    if failures:
        raise min(failures, key=lambda failed: failed.shard).error
    return total(answer for answer in found if isinstance(answer, Answer))


Whole = NDArray[np.int64]


class CrewKeeper:
    """Counts in a table by asking a crew.

    Args:
        crew: The shards of the table.
        scale: What one row or user counts at most.

    Example:
        >>> import pyarrow as pa
        >>> from tabpe.backends.cluster import NearCrew
        >>> from tabpe.backends.cluster import shards_in, spread
        >>> from tabpe.io import open_source
        >>> from tabpe._utils.resources import Resources
        >>> table = open_source(pa.table({"ward": ["heart", "heart", "eye"]}))
        >>> crew = NearCrew(shards_in(spread(table, None, 3), None, Resources.of()))
        >>> CrewKeeper(crew).survey().row_count()
        array([3])
    """

    def __init__(self, crew: Crew, scale: int = 1) -> None:
        self._crew, self.scale = crew, scale
        self._marks, self._numbers = Marks(crew.shards), itertools.count()

    def ask(self, question: Question) -> Any:
        """Return the sum of the answers of all shards, each as it was and counted once."""
        return self._marks.checked(question, self._crew.ask(question))

    def contents(self, names: Sequence[str], key: bytes) -> NDArray[np.uint64]:
        """Return sums over all rows that tell tables apart."""
        sums: NDArray[np.uint64] = self.ask(Contents(tuple(names), key))
        return sums

    def survey(self, moments: Mapping[str, Temporal] | None = None) -> CrewSurvey:
        """Return what counts raw cells."""
        return CrewSurvey(self, moments or {})

    def tables(self, encoder: Encoder) -> CrewTables:
        """Return what counts encoded rows and has none of them held."""
        return CrewTables(self, self._reading(encoder, 0.0), is_held=False)

    def hold(self, encoder: Encoder, category_weight: float) -> CrewHeld:
        """Return what has encoded rows held where they are."""
        return CrewHeld(self, encoder, self._reading(encoder, category_weight))

    def close(self) -> None:
        """Let go of the shards."""
        self._crew.close()

    def _reading(self, encoder: Encoder, category_weight: float) -> Reading:
        return Reading(next(self._numbers), encoder, category_weight)


class CrewSurvey:
    """What `Survey` is, for a table in shards.

    Args:
        keeper: Asks the shards.
        moments: How dates and times are read.
    """

    def __init__(self, keeper: CrewKeeper, moments: Mapping[str, Temporal]) -> None:
        self._keeper, self._moments = keeper, dict(moments)
        self.scale = keeper.scale

    def row_count(self) -> Whole:
        """Return, in a single cell, how many rows or users there are, times `scale`."""
        count: Whole = self._keeper.ask(Cells("row_count"))
        return count

    def kinds(self, names: Sequence[str]) -> dict[str, Whole]:
        """Return how many cells of each column are of each kind."""
        return self._asked("kinds", list(names))

    def magnitudes(self, names: Sequence[str]) -> dict[str, Whole]:
        """Return how many numbers of each column are of each sign and power of two."""
        return self._asked("magnitudes", list(names))

    def bins(self, asked: Mapping[str, Bins | Pieces]) -> dict[str, Whole]:
        """Return how many numbers of each column are in each of its bins."""
        return self._asked("bins", dict(asked))

    def listed(self, asked: Mapping[str, Categorical]) -> dict[str, Whole]:
        """Return how many cells of each column hold each of its declared values."""
        return self._asked("listed", dict(asked))

    def values(self, asked: Mapping[str, type]) -> dict[str, dict[Any, int]]:
        """Return how often each value of each column occurs, in the order of the values."""
        return self._asked("values", dict(asked))

    def _asked(self, name: str, asked: Any) -> dict[str, Any]:
        answer: dict[str, Any] = self._keeper.ask(Cells(name, asked, self._moments))
        return answer


class CrewTables:
    """What `Tables` is, for a table in shards.

    Args:
        keeper: Asks the shards.
        reading: How rows are encoded.
        is_held: Whether they keep encoded rows, as votes will be asked for.
    """

    def __init__(self, keeper: CrewKeeper, reading: Reading, *, is_held: bool) -> None:
        self._keeper, self._reading, self._is_held = keeper, reading, is_held
        self.scale = keeper.scale

    def row_count(self) -> Whole:
        """Return, in a single cell, how many rows or users there are, times `scale`."""
        count: Whole = self._asked(None)
        return count

    def class_counts(self) -> Whole:
        """Return how many rows each class has."""
        classes = range(self._reading.encoder.class_count)
        return self.counts([Marginal((ListAxis("class", None, tuple(classes)),))])[0]

    def counts(self, asked: Sequence[Marginal]) -> list[Whole]:
        """Return how many rows fall into each cell of each marginal, or what users add to it."""
        found: list[Whole] = self._asked(tuple(asked))
        return found

    def _asked(self, asked: Sequence[Marginal] | None) -> Any:
        return self._keeper.ask(Tabulated(self._reading, asked, self._is_held))


class CrewHeld:
    """What `LoneHeld` is, for a table in shards.

    Args:
        keeper: Asks the shards.
        encoder: How rows are encoded.
        reading: The same, as shards are told.
    """

    def __init__(self, keeper: CrewKeeper, encoder: Encoder, reading: Reading) -> None:
        self.encoder, self.scale = encoder, keeper.scale
        self._keeper, self._reading = keeper, reading
        self._sight: Sight | None = None

    def tables(self) -> CrewTables:
        """Return what counts the rows as they are encoded."""
        return CrewTables(self._keeper, self._reading, is_held=True)

    def prepare(self, sight: Sight) -> None:
        """Have the rows taken in, as they are seen, for votes."""
        self._sight = sight
        self.class_counts()  # shards take rows in when they are first asked

    def row_count(self) -> Whole:
        """Return, in a single cell, how many rows or users there are, times `scale`."""
        count: Whole = self._asked("row_count")
        return count

    def class_counts(self) -> Whole:
        """Return how many rows each class has."""
        counts: Whole = self._asked("class_counts")
        return counts

    def votes(self, population: Sequence[Records], each: int = 1) -> list[Whole]:
        """Return, for the candidates of each class, how many rows vote for each."""
        found: list[Whole] = self._asked("votes", tuple(population), each)
        return found

    def close(self) -> None:
        """Have nothing more to ask; the crew lets go of the rows when it is closed."""
        self._sight = None

    def _asked(self, name: str, population: Sequence[Records] = (), each: int = 1) -> Any:
        if self._sight is None:
            raise TabpeError("votes: the rows were not taken in.")
        return self._keeper.ask(Polled(self._reading, self._sight, name, population, each))


_NONE: Whole = np.empty(0, dtype=np.int64)


def encoded(keeper: LoneKeeper, reading: Reading) -> Iterator[Segment]:
    """Read and encode the rows of a part of a table, those of users that count.

    Args:
        keeper: Knows the part, and its users.
        reading: How rows are encoded.
    """
    encoder, users = reading.encoder, keeper.users
    owners = None if users is None else users.owners
    return segments_of(keeper.rows(encoder), encoder.class_count, owners)


def seen(segments: Iterable[Segment], sight: Sight, category_weight: float) -> Iterator[Segment]:
    """Return segments as votes are counted in: seen, and in the form that is quickest to count."""
    for segment in segments:
        rows = sight.of(segment.rows)
        yield dataclasses.replace(segment, rows=rows).prepared(category_weight)


class CarriedDesk(Desk):
    """Where segments that were brought answer a single question.

    Args:
        held: The segments.
    """

    def __init__(self, held: CarriedHeld) -> None:
        self._carried = held

    def held(self, reading: Reading) -> HeldPart:  # noqa: ARG002
        """Return the segments; whoever brought them knows which reading they are of."""
        return self._carried

    def close(self) -> None:
        """Have nothing to let go of."""


class CarriedHeld:
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
        >>> reading = Reading(0, Encoder(Schema((Boolean("ill"),))), 1 / 3)
        >>> held = CarriedHeld([Segment(0, rows)], reading, None)
        >>> held.class_counts(), held.sizes
        (array([3]), array([3]))
    """

    def __init__(
        self,
        segments: Iterable[Segment],
        reading: Reading,
        unit: Unit | None,
        sight: Sight | None = None,
    ) -> None:
        self.encoder, self.sight = reading.encoder, sight
        self.scale = 1 if unit is None else unit.scale
        self._segments, self._weight, self._unit = segments, reading.category_weight, unit
        self._sizes = np.zeros(self.encoder.class_count, dtype=np.int64)

    @property
    def sizes(self) -> Whole:
        """How many rows of each class went by. Private."""
        return self._sizes

    def tables(self) -> Tables:
        """Return what counts the rows as they are encoded."""
        ballot, segments = self._opened()
        batches = ((one.rows, np.full(len(one.rows), one.label)) for one in segments)
        return Tables(batches, ballot.users, classes=ballot.classes)

    def prepare(self, sight: Sight) -> None:
        """See the rows as they go by."""
        self.sight, self._segments = sight, seen(self._segments, sight, self._weight)

    def row_count(self) -> Whole:
        """Return, in a single cell, how many rows or users there are, times `scale`."""
        ballot, segments = self._opened()
        return ballot.row_count(segments)

    def class_counts(self) -> Whole:
        """Return how many rows each class has."""
        ballot, segments = self._opened()
        return ballot.class_counts(segments)

    def votes(self, population: Sequence[Records], each: int = 1) -> list[Whole]:
        """Return, for the candidates of each class, how many rows vote for each."""
        ballot, segments = self._opened()
        return ballot.votes(population, segments, each)

    def close(self) -> None:
        """Let go of the segments."""
        self._segments = ()

    def _opened(self) -> tuple[Ballot, Iterable[Segment]]:
        classes, segments, users = self.encoder.class_count, self._tallied(), None
        if self._unit is None:
            return Ballot(classes, self._weight, 1, users), segments
        whole = list(segments)
        return Ballot(classes, self._weight, 1, _users_of(whole, self.scale)), whole

    def _tallied(self) -> Iterator[Segment]:
        for segment in self._segments:
            self._sizes[segment.label] += segment.size
            yield segment


def _users_of(segments: Sequence[Segment], scale: int) -> Users:
    """Return the users of segments. Of each a row counts, so the last number says how many."""
    owners = np.concatenate([_NONE, *(_owners(segment) for segment in segments)])
    count = int(owners.max(initial=-1)) + 1
    return Users(np.ones(len(owners), dtype=bool), owners, count, scale)


def _owners(segment: Segment) -> Whole:
    return _NONE if segment.owners is None else segment.owners
