"""All that can be asked of private rows, one frozen value for each kind of question."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabpe.backends.base import Counts, EncodedQuery, Query, RowAccess
from tabpe.encoding import Records
from tabpe.encoding.halfspaces import Halfspaces
from tabpe.encoding.marginals import Marginal
from tabpe.encoding.raw_cells import ClampedBins, EqualWidthBins
from tabpe.schema import Categorical, Temporal


@dataclass(frozen=True, eq=False)
class RowHashQuery(Query):
    """Sums of row hashes, which identify a table.

    Args:
        names: The columns to hash.
        key: The key of the hashes.
    """

    names: tuple[str, ...]
    key: bytes = field(repr=False)

    def evaluate(self, rows: RowAccess) -> NDArray[np.uint64]:
        """Return the sums."""
        return rows.sum_row_hashes(self.names, self.key)


@dataclass(frozen=True, eq=False)
class RawRowCountQuery(Query):
    """The number of rows or users times `scale`, in a single cell, before rows are encoded."""

    def evaluate(self, rows: RowAccess) -> Counts:
        """Return the number."""
        return rows.open_raw_columns().count_rows()


@dataclass(frozen=True, eq=False)
class ColumnQuery(Query):
    """A histogram for each of some columns, of raw cells.

    Args:
        columns: The columns, with what is asked of each.
    """

    columns: Collection[str]

    @property
    def count(self) -> int:
        """How many histograms it asks for."""
        return len(self.columns)


@dataclass(frozen=True, eq=False)
class KindQuery(ColumnQuery):
    """How many cells of each column are of each kind.

    Args:
        columns: The columns.
    """

    columns: Sequence[str]

    def evaluate(self, rows: RowAccess) -> dict[str, Counts]:
        """Return a histogram for each column."""
        return rows.open_raw_columns().count_kinds(self.columns)


@dataclass(frozen=True, eq=False)
class MagnitudeQuery(ColumnQuery):
    """How many numbers of each column are of each sign and power of two.

    Args:
        columns: The columns.
        moments: How dates and times are read.
    """

    columns: Sequence[str]
    moments: Mapping[str, Temporal] = field(default_factory=dict)

    def evaluate(self, rows: RowAccess) -> dict[str, Counts]:
        """Return a histogram for each column."""
        return rows.open_raw_columns(self.moments).count_magnitudes(self.columns)


@dataclass(frozen=True, eq=False)
class BinQuery(ColumnQuery):
    """How many numbers of each column are in each of its bins.

    Args:
        columns: The bins of each column.
        moments: How dates and times are read.
    """

    columns: Mapping[str, EqualWidthBins | ClampedBins]
    moments: Mapping[str, Temporal] = field(default_factory=dict)

    def evaluate(self, rows: RowAccess) -> dict[str, Counts]:
        """Return a histogram for each column."""
        return rows.open_raw_columns(self.moments).count_bins(self.columns)


@dataclass(frozen=True, eq=False)
class DeclaredValueQuery(ColumnQuery):
    """How many cells of each column hold each of its declared values.

    Args:
        columns: The columns, with their values.
    """

    columns: Mapping[str, Categorical]

    def evaluate(self, rows: RowAccess) -> dict[str, Counts]:
        """Return a histogram for each column."""
        return rows.open_raw_columns().count_declared_values(self.columns)


@dataclass(frozen=True, eq=False)
class ValueQuery(ColumnQuery):
    """How often each value of each column occurs, in the order of the values.

    Args:
        columns: The columns, and whether their values are `str`, `int` or `float`.
    """

    columns: Mapping[str, type]

    def evaluate(self, rows: RowAccess) -> dict[str, dict[Any, int]]:
        """Return the values of each column and their counts."""
        return rows.open_raw_columns().count_values(self.columns)


@dataclass(frozen=True, eq=False)
class RowCountQuery(EncodedQuery):
    """The number of encoded rows or users times `scale`, in a single cell."""

    def evaluate(self, rows: RowAccess) -> Counts:
        """Return the number."""
        return rows.open_table(self.reading).count_rows(self.voting_space)


@dataclass(frozen=True, eq=False)
class ClassCountQuery(EncodedQuery):
    """The number of rows of each class."""

    def evaluate(self, rows: RowAccess) -> Counts:
        """Return the numbers."""
        return rows.open_table(self.reading).count_classes(self.voting_space)


@dataclass(frozen=True, eq=False)
class MarginalQuery(EncodedQuery):
    """How many rows fall into each cell of some marginals, or what users add to it.

    Args:
        marginals: The marginals; all are counted in one pass.
    """

    marginals: Sequence[Marginal]

    def evaluate(self, rows: RowAccess) -> list[Counts]:
        """Return the counts of each marginal, cell after cell."""
        return rows.open_table(self.reading).count_marginals(self.marginals)


@dataclass(frozen=True, eq=False)
class HalfspaceQuery(EncodedQuery):
    """How many rows of each cell lie in each of some halfspaces.

    Args:
        halfspaces: The halfspaces; each row adds to a single cell of one, or nowhere.
    """

    halfspaces: Halfspaces

    def evaluate(self, rows: RowAccess) -> NDArray[np.int32]:
        """Return the counts: halfspaces x cells."""
        return rows.open_table(self.reading).count_halfspaces(self.halfspaces)


@dataclass(frozen=True, eq=False)
class VoteQuery(EncodedQuery):
    """How many rows vote for each candidate of their class.

    A row votes among the candidates of its own class for the nearest ones: the smallest
    `category_weight * (differing categories) + sum of squared differences of scaled numbers`, in
    float32 and in that order of operations. Ties go to the lowest index. Of equal candidates only
    the first is there; a row votes for all where there are fewer than `votes_per_row`.

    Args:
        population: The candidates of each class.
        votes_per_row: For how many of the nearest candidates a row votes.
    """

    population: Sequence[Records]
    votes_per_row: int = 1

    def evaluate(self, rows: RowAccess) -> list[Counts]:
        """Return the votes for the candidates of each class."""
        table = rows.open_table(self.reading)
        return table.count_votes(self.population, self.voting_space, self.votes_per_row)
