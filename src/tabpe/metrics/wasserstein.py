"""k-way Wasserstein distances: how far synthetic rows are from real ones, over k columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tabpe.metrics.view import View

ROWS, SUBSETS = 1000, 24


@dataclass(frozen=True)
class KWay:
    """A mean over sets of k columns.

    Args:
        order: The k.
        distance: Mean distance over the sets that were measured.
        spread: Standard deviation over them.
        measured: How many sets were measured.
        possible: How many there are.
        rows: The number of rows of each table that were compared: real, synthetic.
        worst: The set with the largest distance, and that distance.
    """

    order: int
    distance: float
    spread: float
    measured: int
    possible: int
    rows: tuple[int, int]
    worst: tuple[tuple[str, ...], float]


def wasserstein(
    real: View,
    synthetic: View,
    orders: Sequence[int] = (1, 2, 3, 4, 5, 6, 7),
    *,
    rows: int | None = ROWS,
    subsets: int | None = SUBSETS,
    categories: Literal["codes", "mismatch"] = "codes",
    random_state: int | None = 0,
    jobs: int | None = None,
) -> tuple[KWay, ...]:
    """Return the k-way Wasserstein distance for each k of `orders` that there are columns for."""
    raise NotImplementedError
