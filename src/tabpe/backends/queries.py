"""Questions about private rows that parts of a table answer apart, and answers that add up.

A question is a small frozen value. It says all that a shard must know to answer it, whatever it was
asked before: so it may be put again to a shard that was lost and made anew. What is costly, such as
encoded rows, a shard keeps between questions.

Privacy: every answer is a sum over rows, or over users, of whole numbers. So the sum of the answers
of all shards is what one process would count, as long as each row lies in one shard, all rows
of a user lie in the same, and each shard is counted once; `ShardAnswer` sees to the last.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tabpe.backends.base import EncodedTable
from tabpe.backends.local import LocalBackend, LocalEncodedTable
from tabpe.encoding import Encoder, Records, VotingSpace
from tabpe.encoding.marginals import Marginal
from tabpe.errors import DataError, TabpeError
from tabpe.schema import Temporal

Value = Any  # whole numbers: an array, or lists and dicts of arrays or numbers


@dataclass(frozen=True, eq=False)
class ShardAnswer:
    """What some shards say together.

    Args:
        value: Their sum.
        digests: For each shard that is in it, a digest of how many rows of each class it has; empty
            if it did not look.

    Example:
        >>> one = ShardAnswer(np.array([1, 2]), {0: b""})
        >>> two = ShardAnswer(np.array([0, 1]), {1: b""})
        >>> sum_answers([one, two]).value
        array([1, 3])
    """

    value: Value
    digests: Mapping[int, bytes]

    def __add__(self, other: ShardAnswer) -> ShardAnswer:
        if self.digests.keys() & other.digests.keys():
            raise TabpeError("shards: one of them would be counted twice.")
        return ShardAnswer(_add_values(self.value, other.value), {**self.digests, **other.digests})


def sum_answers(answers: Iterable[ShardAnswer]) -> ShardAnswer:
    """Return the sum of answers, of which each shard is in one at most."""
    return reduce(ShardAnswer.__add__, answers)


class ShardDigests:
    """What the shards of a table looked like, which must stay so during a run.

    Args:
        shards: How many there are.
    """

    def __init__(self, shards: int) -> None:
        self._shards = frozenset(range(shards))
        self._known: dict[tuple[str, int], bytes] = {}

    def check_answer(self, question: ShardQuery, answer: ShardAnswer) -> Value:
        """Return the value of an answer in which each shard is counted, as the table that it was.

        Raises:
            DataError: If a shard has other rows than it had, as after one was made anew.
        """
        if answer.digests.keys() != self._shards:
            raise TabpeError("shards: not each of them was counted once.")
        for shard, mark in answer.digests.items():
            if mark and self._known.setdefault((question.reading_key, shard), mark) != mark:
                raise DataError(
                    "the table changed while it was read: keep it as it is during a run."
                )
        return answer.value


class ShardQuery(Protocol):
    """Something to ask of every shard; see `tabpe.backends.cluster`."""

    @property
    def reading_key(self) -> str:
        """As what rows are read, if that is to be the same each time; or else nothing."""
        ...

    def run_on_shard(self, session: ShardSession) -> tuple[Value, bytes]:
        """Return the answer of a shard and its mark."""
        ...


class EncodedShard(EncodedTable, Protocol):
    """Encoded rows of a shard: `LocalEncodedTable`, or what else holds them."""

    sight: VotingSpace | None

    @property
    def sizes(self) -> NDArray[np.int64] | None:
        """How many rows of each class there were when they were last read. Private."""
        ...


class ShardSession:
    """Where a shard answers: its part of the table, and what it keeps between questions.

    Args:
        backend: Counts in the part.
    """

    def __init__(self, backend: LocalBackend) -> None:
        self.backend = backend
        self._encoded: tuple[int, LocalEncodedTable] | None = None

    def get_encoded_shard(self, reading: EncodedReading) -> EncodedShard:
        """Return what holds the rows as they are encoded for a reading, one at a time."""
        if self._encoded is None or self._encoded[0] != reading.number:
            self.close()
            held = self.backend.encode_table(reading.encoder, reading.category_weight)
            self._encoded = reading.number, held
        return self._encoded[1]

    def close(self) -> None:
        """Let go of encoded rows."""
        if self._encoded is not None:
            self._encoded[1].close()
        self._encoded = None


@dataclass(frozen=True, eq=False)
class EncodedReading:
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
class RawColumnQuery:
    """A histogram of raw cells, by the name that it has in `RawColumnCounter`.

    Args:
        name: `row_count`, `kinds`, `magnitudes`, `bins`, `listed` or `values`.
        columns: What it is asked about.
        moments: How dates and times are read.
    """

    name: str
    columns: Any = None
    moments: Mapping[str, Temporal] = field(default_factory=dict)
    reading_key: str = ""

    def run_on_shard(self, session: ShardSession) -> tuple[Value, bytes]:
        """Count the cells of a shard."""
        ask = getattr(session.backend.build_raw_counter(self.moments), self.name)
        return (ask() if self.columns is None else ask(self.columns)), b""


@dataclass(frozen=True, eq=False)
class RowHashQuery:
    """Sums that tell tables apart.

    Args:
        names: The columns to look at.
        key: What they are hashed with.
    """

    names: Sequence[str]
    key: bytes = field(repr=False)
    reading_key: str = ""

    def run_on_shard(self, session: ShardSession) -> tuple[Value, bytes]:
        """Sum up the hashes of the rows of a shard."""
        return session.backend.sum_row_hashes(self.names, self.key), b""


@dataclass(frozen=True, eq=False)
class MarginalQuery:
    """Marginals of encoded rows, or how many rows or users there are.

    Args:
        reading: How rows are encoded.
        marginals: The marginals; None to count rows or users.
        keeps_rows: Whether encoded rows are kept, as votes will be asked for.
    """

    reading: EncodedReading
    marginals: Sequence[Marginal] | None
    keeps_rows: bool

    @property
    def reading_key(self) -> str:
        """The reading, if rows are held by it: other tables are counted on their own way."""
        return str(self.reading.number) if self.keeps_rows else ""

    def run_on_shard(self, session: ShardSession) -> tuple[Value, bytes]:
        """Count the rows of a shard."""
        if self.keeps_rows:
            tables = session.get_encoded_shard(self.reading).build_marginal_counter()
        else:
            tables = session.backend.build_marginal_counter(self.reading.encoder)
        value = tables.row_count() if self.marginals is None else tables.counts(self.marginals)
        return value, _digest_sizes(
            session.get_encoded_shard(self.reading)
        ) if self.keeps_rows else b""


@dataclass(frozen=True, eq=False)
class VoteQuery:
    """Something to ask of rows that are held for votes.

    Args:
        reading: How rows are encoded.
        voting_space: How they are seen.
        name: `row_count`, `class_counts` or `votes`.
        population: The candidates of each class, for votes.
        votes_per_row: For how many of the nearest candidates a row votes.
    """

    reading: EncodedReading
    voting_space: VotingSpace
    name: str
    population: Sequence[Records] = ()
    votes_per_row: int = 1

    @property
    def reading_key(self) -> str:
        """The reading."""
        return str(self.reading.number)

    def run_on_shard(self, session: ShardSession) -> tuple[Value, bytes]:
        """Take in the rows of a shard if that was not done yet, and ask them."""
        held = session.get_encoded_shard(self.reading)
        if held.sight is None:
            held.prepare(self.voting_space)
        if self.name == "votes":
            return held.votes(self.population, self.votes_per_row), _digest_sizes(held)
        return getattr(held, self.name)(), _digest_sizes(held)


def _digest_sizes(held: EncodedShard) -> bytes:
    sizes = held.sizes
    return b"" if sizes is None else hashlib.blake2b(sizes.tobytes(), digest_size=16).digest()


def _add_values(one: Value, other: Value) -> Value:
    if isinstance(one, np.ndarray):
        return _add_arrays(one, other)
    if isinstance(one, list):
        return [_add_values(first, second) for first, second in zip(one, other, strict=True)]
    if isinstance(one, dict):
        return {name: _add_columns(one[name], other[name]) for name in one}
    raise TabpeError("shards: an answer that does not add up.")


def _add_columns(one: Value, other: Value) -> Value:
    """Add up what is said of a column: an array, or how often each value occurs."""
    if not isinstance(one, dict):
        return _add_values(one, other)
    counts = dict(one)
    for value, count in other.items():
        counts[value] = counts.get(value, 0) + count
    return dict(sorted(counts.items()))


def _add_arrays(one: NDArray[Any], other: NDArray[Any]) -> NDArray[Any]:
    # Broadcasting would count one cell in many.
    if one.shape != other.shape or one.dtype != other.dtype:
        raise TabpeError("shards: they answered with another number of cells.")
    added: NDArray[Any] = one + other
    return added
