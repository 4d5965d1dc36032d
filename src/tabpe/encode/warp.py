"""`Warp`: a public map of numbers onto a scale on which they lie more evenly.

Distances and steps are of the same use everywhere only if rows are spread evenly. A skewed column
has nearly all rows in a small part of its range; the map gives that part more room.

Privacy: where a number comes to lie depends on it and on public ends of pieces, and on no other
row. So rows on the new scale are as much each by itself as encoded ones are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tabpe.encode.records import Floats, Records
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
