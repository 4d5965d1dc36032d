"""Users with several rows: which rows are kept, and how a user's cells become one vector.

Privacy: which rows of a user count depends on that user's rows and on a public seed, and on nothing
else. All that a user adds to a histogram is a vector of whole numbers without negative parts, of
a given length at most. So the histogram of a table without that user differs by exactly that
vector, whoever else is in it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tabpe.io.canonical import find_missing, flatten_column, hash_cells, hash_rows, mix_bits

Whole = NDArray[np.int64]
_NONE: Whole = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class BoundedUsers:
    """Which rows of a table count, and whose they are.

    Args:
        kept: For each row of the table whether it counts.
        owners: For each row that counts the number of its user.
        count: How many users there are.
        scale: How long the vector of a user is.
    """

    kept: NDArray[np.bool_]
    owners: Whole
    count: int
    scale: int


@dataclass(frozen=True)
class PrivacyUnit:
    """Who is a user, and how many rows of one count.

    Args:
        column: The column of user ids.
        max_rows: The most rows of a user that count.
        seed: Drives the choice of them.
        scale: How long the vector of a user is.
        names: The columns that are read; rows that are equal in these are alike.
        strict: Whether a row without an id is refused, instead of counting for nobody.
    """

    column: str
    max_rows: int
    seed: int
    scale: int
    names: tuple[str, ...]
    strict: bool = False

    @property
    def key(self) -> bytes:
        """What the seed makes of hashes."""
        return str(self.seed).encode()

    def select_users(self, tables: Iterable[pa.Table]) -> BoundedUsers:
        """Return which rows are kept, and whose they are."""
        return limit_contributions(
            tables,
            column=self.column,
            max_rows=self.max_rows,
            seed=self.seed,
            scale=self.scale,
        )


def limit_contributions(
    tables: Iterable[pa.Table],
    *,
    column: str,
    max_rows: int,
    seed: int,
    scale: int,
) -> BoundedUsers:
    """Choose `max_rows` rows of each user at random, or all if there are fewer.

    Each row has a lot, which follows from its cells, the id of its user among them, from how many
    equal rows of the table came before, and from the seed. Rows with the smallest lots are chosen.

    Privacy: equal rows are rows of one user, so the choice depends on that user's rows and on the
    seed, and the rows of others do not move it. It is uniform over the rows of a user. In another
    order the rows of a table get the same lots, but for equal ones, which may change places: so
    which rows are chosen, as a multiset, depends on no order, and on no cut of the table that
    leaves the rows of a user together.

    Args:
        tables: The rows, batch by batch. One without a user id counts for nobody.
        column: The name of the column of user ids.
        max_rows: The most rows of a user that count.
        seed: Drives the choice.
        scale: How long the vector of a user is.

    Example:
        >>> rows = pa.table({"id": ["a", "b", "a", "a"], "age": [31, 42, 32, 33]})
        >>> users = limit_contributions([rows], column="id", max_rows=2, seed=0, scale=100)
        >>> users.count, int(users.kept.sum()), bool(users.kept[1])
        (2, 3, True)
    """
    nothing = _NONE.astype(np.uint64)
    ids, contents, without = [nothing], [nothing], [_NONE.astype(bool)]
    for table in tables:
        cells = flatten_column(table[column])
        ids.append(hash_cells(cells, b""))
        without.append(find_missing(cells))
        contents.append(hash_rows(table, str(seed).encode()))
    known = ~np.concatenate(without)
    # Two ids with the same 64 bits would be one user: less than one chance in 2^64 for a pair.
    users, owners = np.unique(np.concatenate(ids)[known], return_inverse=True)
    chosen = _choose_rows(owners, np.concatenate(contents)[known], max_rows)
    kept = known.copy()
    kept[known] = chosen
    return BoundedUsers(kept, owners[chosen], len(users), scale)


def sum_user_vectors(owners: Whole, cells: Whole, size: int, length: int, votes: int = 1) -> Whole:
    """Return the sum of the vectors of all users, each of `length * sqrt(votes)` at most.

    A user who counts c times in a cell, and c_1, c_2, ... times in all of them, adds
    `length * c * sqrt(votes / (c_1^2 + c_2^2 + ...))` to it, rounded down. Whole numbers
    throughout, so that no rounding makes a vector longer. A user with a single row, which counts
    in as many cells as it has votes, adds `length` to each of them.

    Args:
        owners: The user of each vote.
        cells: The cell in which each vote counts, from 0 to below `size`.
        size: The number of cells.
        length: How long the vector of a user is where a row has one vote.
        votes: How many votes a row has, each in another cell.

    Example:
        >>> sum_user_vectors(np.array([0, 0, 1]), np.array([0, 1, 1]), size=3, length=100)
        array([ 70, 170,   0])
        >>> sum_user_vectors(np.array([0, 0]), np.array([0, 1]), size=3, length=100, votes=2)
        array([100, 100,   0])
    """
    pairs, counts = np.unique(owners * size + cells, return_counts=True)
    of, cell = pairs // size, pairs % size
    _, whose = np.unique(of, return_inverse=True)
    squares = np.zeros(whose.max(initial=-1) + 1, dtype=np.int64)
    np.add.at(squares, whose, counts**2)
    # At most 2**14 long, 10,000 rows and 16 votes: below 2**59, and after the division, by the
    # square of the same count or more, at most 2**32. Below 2**52 the square root of a float,
    # rounded down, is that of the whole number.
    parts = np.sqrt(votes * (length * counts) ** 2 // squares[whose]).astype(np.int64)
    total = np.zeros(size, dtype=np.int64)
    np.add.at(total, cell, parts)
    return total


def _choose_rows(owners: Whole, contents: NDArray[np.uint64], max_rows: int) -> NDArray[np.bool_]:
    """Return which rows have the `most` smallest lots of their user."""
    lots = mix_bits(contents ^ mix_bits(_rank_duplicates(owners, contents).astype(np.uint64)))
    order = np.lexsort((lots, owners))
    kept = np.zeros(len(owners), dtype=bool)
    kept[order[_rank_within_group(owners[order]) < max_rows]] = True
    return kept


def _rank_duplicates(owners: Whole, contents: NDArray[np.uint64]) -> Whole:
    """Return for each row how many equal ones of its user stand before it."""
    order = np.lexsort((contents, owners))
    grouped = np.stack([owners[order].view(np.uint64), contents[order]])
    places = np.empty(len(owners), dtype=np.int64)
    places[order] = _rank_within_group(grouped)
    return places


def _rank_within_group(grouped: NDArray[Any]) -> Whole:
    """Return for each entry how many equal ones stand before it; equal ones stand together.

    Args:
        grouped: The entries, or several rows of them, of which all must be equal.
    """
    rows = np.atleast_2d(grouped)
    differ = (rows[:, 1:] != rows[:, :-1]).any(axis=0)
    starts = np.flatnonzero(np.r_[rows.shape[1] > 0, differ])
    lengths = np.diff(np.r_[starts, rows.shape[1]])
    return np.arange(rows.shape[1]) - np.repeat(starts, lengths)
