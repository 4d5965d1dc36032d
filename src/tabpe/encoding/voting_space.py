"""`VotingSpace`: the space in which votes measure distances.

Distances and steps work equally well everywhere only if rows are spread evenly. A skewed column has
nearly all rows in a small part of its range; `RankTransform`, a public piecewise linear map, gives
that part more room. A null number adds nothing to a distance; a code of its own says whether it is
null. So a null and a number are as far apart as two different categories, and two nulls are equal.

Privacy: how a row is transformed depends on that row and on public facts, and on no other row.
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
    """A monotone, piecewise linear map of [0, 1] to itself for each column of numbers.

    Candidates are voted on in float32: pass them as such, so that equal numbers of candidates and
    private rows are mapped to the same bits.

    Args:
        edges: For each column the ends of its pieces, as scaled numbers that rise from 0 to 1.
        positions: The images of these ends, from 0 to 1 too; an image may have no width.

    Example:
        >>> transform = RankTransform((np.array([0.0, 0.1, 1.0]),), (np.array([0.0, 0.5, 1.0]),))
        >>> rows = Records(np.array([[0.05], [0.1], [1.0]]), np.empty((3, 0), dtype=np.uint8))
        >>> transform.transform_rows(rows).numbers.ravel()
        array([0.25, 0.5 , 1.  ])
        >>> transform.inverse_transform(np.array([[0.25]]))
        array([[0.05]])
    """

    edges: tuple[Ends, ...]
    positions: tuple[Ends, ...]

    def __post_init__(self) -> None:
        for edges, images in zip(self.edges, self.positions, strict=True):
            same = edges.shape == images.shape and edges.ndim == 1
            if not (
                same and _is_rising(edges, strictly=True) and _is_rising(images, strictly=False)
            ):
                raise TabpeError("edges and positions: expected values that rise from 0 to 1.")

    def transform_rows(self, rows: Records) -> Records:
        """Return rows with transformed numbers of the same dtype."""
        return Records(_map_numbers(rows.numbers, self.edges, self.positions), rows.codes)

    def inverse_transform(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the scaled numbers of transformed ones; values outside [0, 1] are mirrored."""
        inside = np.abs(numbers)
        inside = np.clip(np.where(inside > 1, 2 - inside, inside), 0, 1)
        return _map_numbers(inside, self.positions, self.edges).astype(np.float64)


def _is_rising(ends: Ends, *, strictly: bool) -> bool:
    steps = np.diff(ends)
    rises = steps > 0 if strictly else steps >= 0
    return len(ends) > 1 and ends[0] == 0 and ends[-1] == 1 and bool(rises.all())


def _map_numbers(numbers: Floats, ends: tuple[Ends, ...], onto: tuple[Ends, ...]) -> Floats:
    mapped = np.empty_like(numbers)
    for index, (column, known, meant) in enumerate(zip(numbers.T, ends, onto, strict=True)):
        # Rounding may carry a number slightly over the end of its piece.
        piece = np.searchsorted(known, column, side="right").clip(max=len(known) - 1)
        mapped[:, index] = np.minimum(np.interp(column, known, meant), meant[piece])
    return mapped


@dataclass(frozen=True, eq=False)
class VotingSpace:
    """The transform of rows before distances are measured.

    Args:
        can_miss: Which numbers may be null.
        rank_transform: The map of numbers; None to leave them.

    Example:
        >>> rows = Records(np.array([[0.5], [np.nan]]), np.array([[3], [3]], dtype=np.uint8))
        >>> VotingSpace(np.array([True])).transform_rows(rows).codes
        array([[3, 0],
               [3, 1]], dtype=uint8)
    """

    can_miss: NDArray[np.bool_]
    rank_transform: RankTransform | None = None

    def transform_rows(self, rows: Records) -> Records:
        """Return rows in the voting space; numbers keep their dtype."""
        moved = rows if self.rank_transform is None else self.rank_transform.transform_rows(rows)
        return add_null_codes(moved, self.can_miss)


def add_null_codes(rows: Records, can_miss: NDArray[np.bool_]) -> Records:
    """Return rows with an extra code for each number that may be null: 1 where it is, else 0."""
    if not can_miss.any():
        return rows
    missing = np.isnan(rows.numbers)
    # Rows are compared bit by bit, and there are many NaNs: use one.
    numbers = np.where(missing, rows.numbers.dtype.type(np.nan), rows.numbers)
    return Records(numbers, np.hstack([rows.codes, missing[:, can_miss].astype(rows.codes.dtype)]))
