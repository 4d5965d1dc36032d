"""Stand-ins over the numpy reference for what a faster `nearest` will offer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tabpe.encode import Records
from tabpe.engines.nearest import nearest


@dataclass(frozen=True, eq=False)
class Index:
    """Candidates to look for the nearest in.

    Args:
        candidates: The candidates.
        category_weight: What one differing category adds to a distance.
    """

    candidates: Records
    category_weight: float

    def nearest(self, rows: Records, k: int = 1) -> NDArray[np.int64]:
        """Return the `k` nearest candidates of each row, the nearest first."""
        if k != 1:
            raise NotImplementedError("k")
        return nearest(rows, self.candidates, self.category_weight)[:, None]


def index(candidates: Records, category_weight: float, *, jobs: int = 1) -> Index:  # noqa: ARG001
    """Return what finds the nearest of `candidates`."""
    return Index(candidates, category_weight)


def prepared(
    rows: Records,
    category_weight: float,  # noqa: ARG001
) -> tuple[Records, NDArray[np.int64] | None]:
    """Return the rows in an order that is quick to vote, and how often each stands there."""
    return rows, None
