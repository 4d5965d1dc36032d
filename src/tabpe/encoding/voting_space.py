"""`VotingSpace`: the space in which votes measure distances.

`Warp`: a public map of numbers onto a scale on which they lie more evenly.

Distances and steps are of the same use everywhere only if rows are spread evenly. A skewed column
has nearly all rows in a small part of its range; the map gives that part more room.

Privacy: where a number comes to lie depends on it and on public ends of pieces, and on no other
row. So rows on the new scale are as much each by itself as encoded ones are.

`Sight`: rows as they are voted on, where distances are measured.

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
class Warp:
    """Stretches columns of numbers, piece by piece.

    A larger number never comes to lie before a smaller one, and all of [0, 1] stays inside.
    Candidates are voted on in float32: give them in it, so that a number comes to lie in the same
    place, bit by bit, whether a candidate or a private row has it.

    Args:
        edges: For each column where its pieces end, as scaled numbers that rise from 0 to 1.
        places: Where these ends come to lie, from 0 to 1 too; pieces may come to have no width.

    Example:
        >>> warp = Warp((np.array([0.0, 0.1, 1.0]),), (np.array([0.0, 0.5, 1.0]),))
        >>> rows = Records(np.array([[0.05], [0.1], [1.0]]), np.empty((3, 0), dtype=np.uint8))
        >>> warp.of(rows).numbers.ravel()
        array([0.25, 0.5 , 1.  ])
        >>> warp.back(np.array([[0.25]]))
        array([[0.05]])
    """

    edges: tuple[Ends, ...]
    places: tuple[Ends, ...]

    def __post_init__(self) -> None:
        for edges, places in zip(self.edges, self.places, strict=True):
            same = edges.shape == places.shape and edges.ndim == 1
            if not (same and _rise(edges, strictly=True) and _rise(places, strictly=False)):
                raise TabpeError("warp: expected ends of pieces that rise from 0 to 1.")

    def of(self, rows: Records) -> Records:
        """Return rows with their numbers on the new scale, in the type that they had."""
        return Records(_mapped(rows.numbers, self.edges, self.places), rows.codes)

    def back(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return scaled numbers of numbers on the new scale; what is outside is mirrored inside."""
        inside = np.abs(numbers)
        inside = np.clip(np.where(inside > 1, 2 - inside, inside), 0, 1)
        return _mapped(inside, self.places, self.edges).astype(np.float64)


def _rise(ends: Ends, *, strictly: bool) -> bool:
    steps = np.diff(ends)
    rises = steps > 0 if strictly else steps >= 0
    return len(ends) > 1 and ends[0] == 0 and ends[-1] == 1 and bool(rises.all())


def _mapped(numbers: Floats, ends: tuple[Ends, ...], onto: tuple[Ends, ...]) -> Floats:
    mapped = np.empty_like(numbers)
    for place, (column, known, meant) in enumerate(zip(numbers.T, ends, onto, strict=True)):
        # Rounding may carry a number a bit over the end of its piece.
        piece = np.searchsorted(known, column, side="right").clip(max=len(known) - 1)
        mapped[:, place] = np.minimum(np.interp(column, known, meant), meant[piece])
    return mapped


@dataclass(frozen=True, eq=False)
class Sight:
    """How rows are seen by those who compare them.

    Args:
        can_miss: Which numbers may be null.
        warp: Moves the numbers; None to leave them.

    Example:
        >>> rows = Records(np.array([[0.5], [np.nan]]), np.array([[3], [3]], dtype=np.uint8))
        >>> Sight(np.array([True])).of(rows).codes
        array([[3, 0],
               [3, 1]], dtype=uint8)
    """

    can_miss: NDArray[np.bool_]
    warp: Warp | None = None

    def of(self, rows: Records) -> Records:
        """Return rows as they are seen; numbers keep the type that they had."""
        moved = rows if self.warp is None else self.warp.of(rows)
        return with_marks(moved, self.can_miss)


def with_marks(rows: Records, can_miss: NDArray[np.bool_]) -> Records:
    """Return rows with a code more for each number that may be null: 1 where it is, or else 0."""
    if not can_miss.any():
        return rows
    missing = np.isnan(rows.numbers)
    # Rows are told apart bit by bit, and there are many NaNs.
    numbers = np.where(missing, rows.numbers.dtype.type(np.nan), rows.numbers)
    return Records(numbers, np.hstack([rows.codes, missing[:, can_miss].astype(rows.codes.dtype)]))
