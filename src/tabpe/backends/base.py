"""What those who count can do: votes, tables of encoded rows, histograms of raw cells.

Each is answered in this process by a class of its own (`LocalEngine`, `StreamEngine`, `Tables`,
`RawColumnCounter`), and by many processes together (`tabpe.backends.cluster`). `tabpe.measurement`
can not tell.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tabpe.encoding import Encoder, Records, VotingSpace
from tabpe.encoding.marginals import Marginal
from tabpe.encoding.raw_cells import ClampedBins, EqualWidthBins
from tabpe.schema import Categorical, Temporal

Whole = NDArray[np.int64]


class SupportsRowCount(Protocol):
    """Knows how many rows or users there are."""

    scale: int

    def row_count(self) -> Whole:
        """Return, in a single cell, how many rows or users there are, times `scale`."""
        ...


class SupportsClassCounts(SupportsRowCount, Protocol):
    """Knows how many of them each class has."""

    def class_counts(self) -> Whole:
        """Return how many rows each class has."""
        ...


class SupportsMarginals(SupportsClassCounts, Protocol):
    """Counts encoded rows in the cells of marginals; see `tabpe.backends.slice_mask`."""

    def counts(self, marginals: Sequence[Marginal]) -> list[Whole]:
        """Return how many rows fall into each cell of each marginal, or what users add to it."""
        ...


class SupportsRawColumns(SupportsRowCount, Protocol):
    """Counts raw cells, column by column; see `tabpe.backends.raw_columns`."""

    def kinds(self, names: Sequence[str]) -> dict[str, Whole]:
        """Return how many cells of each column are of each kind."""
        ...

    def magnitudes(self, names: Sequence[str]) -> dict[str, Whole]:
        """Return how many numbers of each column are of each sign and power of two."""
        ...

    def bins(self, columns: Mapping[str, EqualWidthBins | ClampedBins]) -> dict[str, Whole]:
        """Return how many numbers of each column are in each of its bins."""
        ...

    def listed(self, columns: Mapping[str, Categorical]) -> dict[str, Whole]:
        """Return how many cells of each column hold each of its declared values."""
        ...

    def values(self, columns: Mapping[str, type]) -> dict[str, dict[Any, int]]:
        """Return how often each value of each column occurs, in the order of the values."""
        ...


class Engine(SupportsClassCounts, Protocol):
    """Holds the private rows and answers with exact integers.

    Guarantees expected of every implementation:

    - Where neighbours differ by a row, each private row adds one to at most one cell of an answer,
      so that one row more or less changes exactly one cell by one, or none; `scale` is 1. Of votes
      it adds one to each of at most `each` different cells.
    - Where they differ by a user, each user adds a vector of whole numbers without negative parts,
      of length `scale` at most, over all classes together. Of votes its squared length is at most
      `each` times that of `scale`, and a user with a single row adds `scale` to each of its cells.
    - A row votes among the candidates of its own class for the nearest ones: the smallest
      `category_weight * (differing categories) + sum of squared differences of scaled numbers`,
      in float32 and in that order of operations. Ties go to the lowest index. Of equal candidates
      only the first is there; a row votes for all where there are fewer than `each`.
    - Answers do not depend on threads, batches or the order of rows.
    """

    def votes(self, population: Sequence[Records], votes_per_row: int = 1) -> list[Whole]:
        """Return, for the candidates of each class, how many rows vote for each.

        Args:
            population: The candidates of each class.
            votes_per_row: For how many of the nearest candidates a row votes.
        """
        ...

    def close(self) -> None:
        """Let go of the private rows."""
        ...


class InProcessEngine(Engine, Protocol):
    """An engine that takes in rows in this process: `LocalEngine`, `StreamEngine`."""

    def prepare(self, batches: Iterable[tuple[Records, Whole]]) -> None:
        """Take in the private rows, each with its class.

        An engine may iterate `batches` once and hold the rows, or again for every answer.
        """
        ...


class EncodedTable(Engine, Protocol):
    """Rows that are encoded in one way and taken in once, to be asked for votes.

    Args:
        encoder: How they are encoded.
    """

    encoder: Encoder

    def build_marginal_counter(self) -> SupportsMarginals:
        """Return what counts the rows as they are encoded. It is of no use after `prepare`."""
        ...

    def prepare(self, voting_space: VotingSpace) -> None:
        """Take in the rows, as they are seen, for votes."""
        ...


class Backend(Protocol):
    """A private table, and who counts in it. All that reads a row of a run goes through it."""

    def sum_row_hashes(self, names: Sequence[str], key: bytes) -> NDArray[np.uint64]:
        """Return sums over all rows that tell tables apart."""
        ...

    def build_raw_counter(
        self, moments: Mapping[str, Temporal] | None = None
    ) -> SupportsRawColumns:
        """Return what counts raw cells; `moments` says how dates and times are read."""
        ...

    def build_marginal_counter(self, encoder: Encoder) -> SupportsMarginals:
        """Return what counts encoded rows and holds none of them."""
        ...

    def encode_table(self, encoder: Encoder, category_weight: float) -> EncodedTable:
        """Return what holds encoded rows; `category_weight` is that of distances."""
        ...

    def close(self) -> None:
        """Let go of the table."""
        ...
