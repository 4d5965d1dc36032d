"""Questions about private rows that parts of a table answer apart, and answers that add up.

A question is a small frozen value. It says all that a shard must know to answer it, whatever it was
asked before: so it may be put again to a shard that was lost and made anew. What is costly, such as
encoded rows, a shard keeps between questions.

Privacy: every answer is a sum over rows, or over users, of whole numbers. So the sum of the answers
of all shards is what one process would count, as long as each row lies in one shard, all rows
of a user lie in the same, and each shard is counted once; `Answer` sees to the last.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tabpe.backends.base import Held
from tabpe.backends.local import LoneHeld, LoneKeeper
from tabpe.encoding import Encoder, Records, Sight
from tabpe.encoding.marginals import Marginal
from tabpe.errors import DataError, TabpeError
from tabpe.schema import Temporal

Value = Any  # whole numbers: an array, or lists and dicts of arrays or numbers


@dataclass(frozen=True, eq=False)
class Answer:
    """What some shards say together.

    Args:
        value: Their sum.
        marks: For each shard that is in it, a digest of how many rows of each class it has; empty
            if it did not look.

    Example:
        >>> one, two = Answer(np.array([1, 2]), {0: b""}), Answer(np.array([0, 1]), {1: b""})
        >>> total([one, two]).value
        array([1, 3])
    """

    value: Value
    marks: Mapping[int, bytes]

    def __add__(self, other: Answer) -> Answer:
        if self.marks.keys() & other.marks.keys():
            raise TabpeError("shards: one of them would be counted twice.")
        return Answer(_added(self.value, other.value), {**self.marks, **other.marks})


def total(answers: Iterable[Answer]) -> Answer:
    """Return the sum of answers, of which each shard is in one at most."""
    return reduce(Answer.__add__, answers)


class Marks:
    """What the shards of a table looked like, which must stay so during a run.

    Args:
        shards: How many there are.
    """

    def __init__(self, shards: int) -> None:
        self._shards = frozenset(range(shards))
        self._known: dict[tuple[str, int], bytes] = {}

    def checked(self, question: Question, answer: Answer) -> Value:
        """Return the value of an answer in which each shard is counted, as the table that it was.

        Raises:
            DataError: If a shard has other rows than it had, as after one was made anew.
        """
        if answer.marks.keys() != self._shards:
            raise TabpeError("shards: not each of them was counted once.")
        for shard, mark in answer.marks.items():
            if mark and self._known.setdefault((question.reads, shard), mark) != mark:
                raise DataError(
                    "the table changed while it was read: keep it as it is during a run."
                )
        return answer.value


class Question(Protocol):
    """Something to ask of every shard; see `tabpe.backends.cluster`."""

    @property
    def reads(self) -> str:
        """As what rows are read, if that is to be the same each time; or else nothing."""
        ...

    def asked_of(self, desk: Desk) -> tuple[Value, bytes]:
        """Return the answer of a shard and its mark."""
        ...


class HeldPart(Held, Protocol):
    """Encoded rows of a shard: `LoneHeld`, or what else holds them."""

    sight: Sight | None

    @property
    def sizes(self) -> NDArray[np.int64] | None:
        """How many rows of each class there were when they were last read. Private."""
        ...


class Desk:
    """Where a shard answers: its part of the table, and what it keeps between questions.

    Args:
        keeper: Counts in the part.
    """

    def __init__(self, keeper: LoneKeeper) -> None:
        self.keeper = keeper
        self._held: tuple[int, LoneHeld] | None = None

    def held(self, reading: Reading) -> HeldPart:
        """Return what holds the rows as they are encoded for a reading, one at a time."""
        if self._held is None or self._held[0] != reading.number:
            self.close()
            held = self.keeper.hold(reading.encoder, reading.category_weight)
            self._held = reading.number, held
        return self._held[1]

    def close(self) -> None:
        """Let go of encoded rows."""
        if self._held is not None:
            self._held[1].close()
        self._held = None


@dataclass(frozen=True, eq=False)
class Reading:
    """How rows are encoded, to be held.

    Args:
        number: Another one for each reading of a run.
        encoder: How rows are encoded.
        category_weight: What one differing category adds to a distance.
    """

    number: int
    encoder: Encoder
    category_weight: float


@dataclass(frozen=True, eq=False)
class Cells:
    """A histogram of raw cells, by the name that it has in `Survey`.

    Args:
        name: `row_count`, `kinds`, `magnitudes`, `bins`, `listed` or `values`.
        asked: What it is asked about.
        moments: How dates and times are read.
    """

    name: str
    asked: Any = None
    moments: Mapping[str, Temporal] = field(default_factory=dict)
    reads: str = ""

    def asked_of(self, desk: Desk) -> tuple[Value, bytes]:
        """Count the cells of a shard."""
        ask = getattr(desk.keeper.survey(self.moments), self.name)
        return (ask() if self.asked is None else ask(self.asked)), b""


@dataclass(frozen=True, eq=False)
class Contents:
    """Sums that tell tables apart.

    Args:
        names: The columns to look at.
        key: What they are hashed with.
    """

    names: Sequence[str]
    key: bytes = field(repr=False)
    reads: str = ""

    def asked_of(self, desk: Desk) -> tuple[Value, bytes]:
        """Sum up the hashes of the rows of a shard."""
        return desk.keeper.contents(self.names, self.key), b""


@dataclass(frozen=True, eq=False)
class Tabulated:
    """Marginals of encoded rows, or how many rows or users there are.

    Args:
        reading: How rows are encoded.
        asked: The marginals; None to count rows or users.
        is_held: Whether encoded rows are kept, as votes will be asked for.
    """

    reading: Reading
    asked: Sequence[Marginal] | None
    is_held: bool

    @property
    def reads(self) -> str:
        """The reading, if rows are held by it: other tables are counted on their own way."""
        return str(self.reading.number) if self.is_held else ""

    def asked_of(self, desk: Desk) -> tuple[Value, bytes]:
        """Count the rows of a shard."""
        if self.is_held:
            tables = desk.held(self.reading).tables()
        else:
            tables = desk.keeper.tables(self.reading.encoder)
        value = tables.row_count() if self.asked is None else tables.counts(self.asked)
        return value, _mark(desk.held(self.reading)) if self.is_held else b""


@dataclass(frozen=True, eq=False)
class Polled:
    """Something to ask of rows that are held for votes.

    Args:
        reading: How rows are encoded.
        sight: How they are seen.
        name: `row_count`, `class_counts` or `votes`.
        population: The candidates of each class, for votes.
        each: For how many of the nearest candidates a row votes.
    """

    reading: Reading
    sight: Sight
    name: str
    population: Sequence[Records] = ()
    each: int = 1

    @property
    def reads(self) -> str:
        """The reading."""
        return str(self.reading.number)

    def asked_of(self, desk: Desk) -> tuple[Value, bytes]:
        """Take in the rows of a shard if that was not done yet, and ask them."""
        held = desk.held(self.reading)
        if held.sight is None:
            held.prepare(self.sight)
        if self.name == "votes":
            return held.votes(self.population, self.each), _mark(held)
        return getattr(held, self.name)(), _mark(held)


def _mark(held: HeldPart) -> bytes:
    sizes = held.sizes
    return b"" if sizes is None else hashlib.blake2b(sizes.tobytes(), digest_size=16).digest()


def _added(one: Value, other: Value) -> Value:
    if isinstance(one, np.ndarray):
        return _added_arrays(one, other)
    if isinstance(one, list):
        return [_added(first, second) for first, second in zip(one, other, strict=True)]
    if isinstance(one, dict):
        return {name: _added_columns(one[name], other[name]) for name in one}
    raise TabpeError("shards: an answer that does not add up.")


def _added_columns(one: Value, other: Value) -> Value:
    """Add up what is said of a column: an array, or how often each value occurs."""
    if not isinstance(one, dict):
        return _added(one, other)
    counts = dict(one)
    for value, count in other.items():
        counts[value] = counts.get(value, 0) + count
    return dict(sorted(counts.items()))


def _added_arrays(one: NDArray[Any], other: NDArray[Any]) -> NDArray[Any]:
    # Broadcasting would count one cell in many.
    if one.shape != other.shape or one.dtype != other.dtype:
        raise TabpeError("shards: they answered with another number of cells.")
    added: NDArray[Any] = one + other
    return added
