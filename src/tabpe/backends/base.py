"""The protocol between measurements and private rows: `Backend.answer(query)`.

A query is a small frozen value. It says all that rows must know to answer it, whatever was asked
before: so it may be sent to many workers, and again to one that was lost and made anew. An answer
holds exact integers. Only `tabpe.measurement` asks, and adds noise.

Privacy, for every query and every backend:

- For row-level neighbours each private row adds one to at most one cell of a histogram, so one row
  more or less changes one cell by one, or none; `scale` is 1. In votes it adds one to each of at
  most `votes_per_row` different cells.
- For user-level neighbours each user adds a vector of whole numbers without negative parts, of
  length `scale` at most, over all classes together. In votes its squared length is at most
  `votes_per_row` times that of `scale`.
- Answers depend on no thread, batch, partition or order of rows.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from tabpe.encoding import Encoder, VotingSpace
from tabpe.errors import TabpeError
from tabpe.schema import Temporal

if TYPE_CHECKING:
    from tabpe.backends.local import EncodedTable
    from tabpe.backends.raw_columns import RawColumnCounter

Counts = NDArray[np.int64]
Value = Any  # whole numbers: an array, or lists and dicts of arrays or numbers


@dataclass(frozen=True, eq=False)
class Answer:
    """Exact integers about some shards of a table. Private.

    Args:
        value: The sum over the rows of these shards.
        digests: For each shard a digest of its class sizes; empty if it did not look at them.

    Example:
        >>> one = Answer(np.array([1, 2]), {0: b""})
        >>> two = Answer(np.array([0, 1]), {1: b""})
        >>> sum_answers([one, two]).value
        array([1, 3])
    """

    value: Value
    digests: Mapping[int, bytes]

    def __add__(self, other: Answer) -> Answer:
        if self.digests.keys() & other.digests.keys():
            raise TabpeError("shards: one of them would be counted twice.")
        return Answer(_add_values(self.value, other.value), {**self.digests, **other.digests})


def sum_answers(answers: Iterable[Answer]) -> Answer:
    """Return the sum of answers; no shard may be in two of them."""
    return reduce(Answer.__add__, answers)


@dataclass(frozen=True, eq=False)
class EncodedReading:
    """How rows are encoded, and what is kept of them between queries.

    Args:
        encoder: Encodes the rows.
        category_weight: What one differing category adds to a squared distance.
        keep: `none`: rows are read for each query. `votes`: they are kept for votes, in memory or
            in a file without a name. `marginals`: they are kept in memory, and so are counts, for
            methods that ask for many marginals.
        number: Identifies the reading, also in another process.
    """

    encoder: Encoder
    category_weight: float = 0.0
    keep: Literal["none", "votes", "marginals"] = "none"
    number: int = field(default_factory=itertools.count().__next__)


class RowAccess(Protocol):
    """Private rows where they are, as a query sees them."""

    def open_raw_columns(self, moments: Mapping[str, Temporal] | None = None) -> RawColumnCounter:
        """Return what counts raw cells; `moments` says how dates and times are read."""
        ...

    def open_table(self, reading: EncodedReading | None) -> EncodedTable:
        """Return the encoded rows of a reading."""
        ...

    def sum_row_hashes(self, names: Sequence[str], key: bytes) -> NDArray[np.uint64]:
        """Return sums over all rows that identify a table."""
        ...


class Query(ABC):
    """A question about private rows, answered with exact integers that add up over shards."""

    @abstractmethod
    def evaluate(self, rows: RowAccess) -> Value:
        """Return the exact answer of some rows. Private."""


@dataclass(frozen=True, eq=False)
class EncodedQuery(Query):
    """A query about encoded rows.

    Args:
        reading: How they are encoded; None where a backend holds encoded rows from the beginning.
        voting_space: In which rows are compared with candidates; None for rows as encoded. Rows
            that are kept are prepared for the first votes, and refuse votes in another space.
    """

    reading: EncodedReading | None
    voting_space: VotingSpace | None = field(default=None, kw_only=True)


class Backend(Protocol):
    """A private table that answers queries. All that reads a row of a run goes through one."""

    @property
    def scale(self) -> int:
        """The most that one row, or the vector of one user, counts."""
        ...

    def answer(self, query: Query) -> Answer:
        """Return the exact answer to a query. Private."""
        ...

    def close(self) -> None:
        """Let go of the table."""
        ...


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
