"""`Shard`: a part of a private table, which answers by itself. It knows of no cluster.

Privacy: what a shard says is exact, and goes to those who add it up and to `tabpe.measure` alone. A
failure is an answer too, without anything private in it: see `Failed`.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tabpe.engines.alone import LoneKeeper
from tabpe.engines.questions import Answer, Desk, Question
from tabpe.engines.users import Unit
from tabpe.errors import TabpeError
from tabpe.io import Batch, Source
from tabpe.io.canonical import hash_rows
from tabpe.io.parts import parts_of
from tabpe.resources import Resources

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
        >>> from tabpe.engines.questions import Cells
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
