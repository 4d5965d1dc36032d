"""`Warp`: a public map of numbers onto a scale on which they lie more evenly.

Distances and steps are of the same use everywhere only if rows are spread evenly. A skewed column
has nearly all rows in a small part of its range; the map gives that part more room.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tabpe.encode.records import Floats, Records

Ends = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Warp:
    """Stretches columns of numbers, piece by piece.

    Where a number comes to lie depends on it and on nothing else.

    Args:
        edges: For each column where its pieces end, as scaled numbers that rise from 0 to 1.
        places: Where these ends come to lie; they rise from 0 to 1 too.

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

    def of(self, rows: Records) -> Records:
        """Return rows with their numbers on the new scale, in the type that they had."""
        return Records(_mapped(rows.numbers, self.edges, self.places), rows.codes)

    def back(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return scaled numbers of numbers on the new scale; what is outside is mirrored inside."""
        inside = np.abs(numbers)
        inside = np.clip(np.where(inside > 1, 2 - inside, inside), 0, 1)
        return _mapped(inside, self.places, self.edges).astype(np.float64)


def _mapped(numbers: Floats, ends: tuple[Ends, ...], onto: tuple[Ends, ...]) -> Floats:
    mapped = np.empty_like(numbers)
    for place, (known, meant) in enumerate(zip(ends, onto, strict=True)):
        mapped[:, place] = np.interp(numbers[:, place], known, meant)
    return mapped
