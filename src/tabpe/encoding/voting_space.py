"""`VotingSpace`: the space in which votes measure distances.

`RankTransform`: a public map of numbers onto a scale on which they lie more evenly.

Distances and steps are of the same use everywhere only if rows are spread evenly. A skewed column
has nearly all rows in a small part of its range; the map gives that part more room.

Privacy: where a number comes to lie depends on it and on public ends of pieces, and on no other
row. So rows on the new scale are as much each by itself as encoded ones are.

`VotingSpace`: rows as they are voted on, where distances are measured.

Numbers may be moved onto a scale on which rows lie more evenly. A number that is null has no place
on any scale: it adds nothing to a distance, and whether it is there is told by a code of its own.
So a null and a number are as far apart as two categories that differ, and two nulls are equal.

Privacy: how a row is seen depends on that row and on public facts, and on no other row.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tabpe.encoding.records import Floats, Records
from tabpe.errors import TabpeError

Ends = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RankTransform:
    """Stretches columns of numbers, piece by piece.

    A larger number never comes to lie before a smaller one, and all of [0, 1] stays inside.
    Candidates are voted on in float32: give them in it, so that a number comes to lie in the same
    place, bit by bit, whether a candidate or a private row has it.

    Args:
        edges: For each column where its pieces end, as scaled numbers that rise from 0 to 1.
        positions: Where these ends come to lie, from 0 to 1 too; pieces may come to have no width.

    Example:
        >>> warp = RankTransform((np.array([0.0, 0.1, 1.0]),), (np.array([0.0, 0.5, 1.0]),))
        >>> rows = Records(np.array([[0.05], [0.1], [1.0]]), np.empty((3, 0), dtype=np.uint8))
        >>> warp.transform_rows(rows).numbers.ravel()
        array([0.25, 0.5 , 1.  ])
        >>> warp.inverse_transform(np.array([[0.25]]))
        array([[0.05]])
    """

    edges: tuple[Ends, ...]
    positions: tuple[Ends, ...]

    def __post_init__(self) -> None:
        for edges, places in zip(self.edges, self.positions, strict=True):
            same = edges.shape == places.shape and edges.ndim == 1
            if not (
                same and _is_rising(edges, strictly=True) and _is_rising(places, strictly=False)
            ):
                raise TabpeError("warp: expected ends of pieces that rise from 0 to 1.")

    def transform_rows(self, rows: Records) -> Records:
        """Return rows with their numbers on the new scale, in the type that they had."""
        return Records(_map_numbers(rows.numbers, self.edges, self.positions), rows.codes)

    def inverse_transform(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return scaled numbers of numbers on the new scale; what is outside is mirrored inside."""
        inside = np.abs(numbers)
        inside = np.clip(np.where(inside > 1, 2 - inside, inside), 0, 1)
        return _map_numbers(inside, self.positions, self.edges).astype(np.float64)


def _is_rising(ends: Ends, *, strictly: bool) -> bool:
    steps = np.diff(ends)
    rises = steps > 0 if strictly else steps >= 0
    return len(ends) > 1 and ends[0] == 0 and ends[-1] == 1 and bool(rises.all())


def _map_numbers(numbers: Floats, ends: tuple[Ends, ...], onto: tuple[Ends, ...]) -> Floats:
    mapped = np.empty_like(numbers)
    for place, (column, known, meant) in enumerate(zip(numbers.T, ends, onto, strict=True)):
        # Rounding may carry a number a bit over the end of its piece.
        piece = np.searchsorted(known, column, side="right").clip(max=len(known) - 1)
        mapped[:, place] = np.minimum(np.interp(column, known, meant), meant[piece])
    return mapped


@dataclass(frozen=True, eq=False)
class VotingSpace:
    """How rows are seen by those who compare them.

    Args:
        can_miss: Which numbers may be null.
        rank_transform: Moves the numbers; None to leave them.

    Example:
        >>> rows = Records(np.array([[0.5], [np.nan]]), np.array([[3], [3]], dtype=np.uint8))
        >>> VotingSpace(np.array([True])).transform_rows(rows).codes
        array([[3, 0],
               [3, 1]], dtype=uint8)
    """

    can_miss: NDArray[np.bool_]
    rank_transform: RankTransform | None = None

    def transform_rows(self, rows: Records) -> Records:
        """Return rows as they are seen; numbers keep the type that they had."""
        moved = rows if self.rank_transform is None else self.rank_transform.transform_rows(rows)
        return add_null_codes(moved, self.can_miss)


def add_null_codes(rows: Records, can_miss: NDArray[np.bool_]) -> Records:
    """Return rows with a code more for each number that may be null: 1 where it is, or else 0."""
    if not can_miss.any():
        return rows
    missing = np.isnan(rows.numbers)
    # Rows are told apart bit by bit, and there are many NaNs.
    numbers = np.where(missing, rows.numbers.dtype.type(np.nan), rows.numbers)
    return Records(numbers, np.hstack([rows.codes, missing[:, can_miss].astype(rows.codes.dtype)]))
