"""Users with several rows: which rows count, and how a user's cells become one vector.

Privacy: which rows of a user count depends on that user's rows and on a public seed, and on nothing
else. All that a user adds to a histogram is a vector of whole numbers without negative parts, of
a given length at most. So the histogram of a table without that user differs by exactly that
vector, whoever else is in it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tabpe.errors import DataError

Whole = NDArray[np.int64]
_MIX = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


@dataclass(frozen=True, eq=False)
class Users:
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


def bounded(
    ids: Iterable[pa.ChunkedArray], *, column: str, most: int, seed: int, scale: int
) -> Users:
    """Choose `most` rows of each user at random, or all if there are fewer.

    The choice depends on the user's own id, on how many rows came before with the same id, and on
    the seed: it is uniform over the rows of a user, and the rows of others do not move it.

    Args:
        ids: The column of user ids, batch by batch; none is missing.
        column: Its name, for messages.
        most: The most rows of a user that count.
        seed: Drives the choice.
        scale: How long the vector of a user is.

    Example:
        >>> ids = pa.chunked_array([["a", "b", "a", "a"]])
        >>> users = bounded([ids], column="id", most=2, seed=0, scale=100)
        >>> users.count, int(users.kept.sum()), bool(users.kept[1])
        (2, 3, True)
    """
    known: dict[Any, int] = {}
    codes = [_codes(batch, known) for batch in ids]
    owners = np.concatenate([*codes, np.empty(0, dtype=np.int64)])
    if not len(owners):
        raise DataError(f"column {column!r}: there is no row.")
    kept = _chosen(owners, _hashes(known, seed), most)
    return Users(kept, owners[kept], len(known), scale)


def unit_vectors(owners: Whole, cells: Whole, size: int, length: int, votes: int = 1) -> Whole:
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
        >>> unit_vectors(np.array([0, 0, 1]), np.array([0, 1, 1]), size=3, length=100)
        array([ 70, 170,   0])
        >>> unit_vectors(np.array([0, 0]), np.array([0, 1]), size=3, length=100, votes=2)
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


def _codes(batch: pa.ChunkedArray, known: dict[Any, int]) -> Whole:
    """Return a number for each id; a new id gets the next one."""
    if pa.types.is_dictionary(batch.type):  # which may list ids that no row has
        batch = batch.cast(batch.type.value_type)
    encoded = batch.combine_chunks().dictionary_encode()
    numbers = [known.setdefault(value, len(known)) for value in encoded.dictionary.to_pylist()]
    found: Whole = np.array(numbers, dtype=np.int64)[encoded.indices.to_numpy()]
    return found


def _hashes(known: dict[Any, int], seed: int) -> NDArray[np.uint64]:
    key = hashlib.blake2b(str(seed).encode(), digest_size=32).digest()
    digests = [hashlib.blake2b(repr(one).encode(), key=key, digest_size=8) for one in known]
    return np.frombuffer(b"".join(digest.digest() for digest in digests), dtype=np.uint64)


def _chosen(owners: Whole, hashes: NDArray[np.uint64], most: int) -> NDArray[np.bool_]:
    """Return which rows have the `most` smallest lots of their user."""
    together = np.argsort(owners, kind="stable")
    places = _places(owners[together])
    lots = _mixed(hashes[owners[together]] + _mixed(places.astype(np.uint64)))
    order = together[np.lexsort((lots, owners[together]))]
    kept = np.zeros(len(owners), dtype=bool)
    kept[order[_places(owners[order]) < most]] = True
    return kept


def _places(grouped: Whole) -> Whole:
    """Return for each entry how many equal ones stand before it; equal ones stand together."""
    starts = np.flatnonzero(np.r_[True, grouped[1:] != grouped[:-1]])
    lengths = np.diff(np.r_[starts, len(grouped)])
    return np.arange(len(grouped)) - np.repeat(starts, lengths)


def _mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return well-mixed bits (SplitMix64), the same for the same value."""
    added, first, second = _MIX
    mixed = values + added
    mixed = (mixed ^ (mixed >> np.uint64(30))) * first
    mixed = (mixed ^ (mixed >> np.uint64(27))) * second
    return mixed ^ (mixed >> np.uint64(31))
