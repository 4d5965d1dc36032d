"""k-way total variation: which share of the rows would have to move, over k columns at once."""

from __future__ import annotations

from collections.abc import Sequence

from tabpe.metrics.view import View
from tabpe.metrics.wasserstein import KWay

BINS = 20


def total_variation(
    real: View,
    synthetic: View,
    orders: Sequence[int] = (1, 2, 3),
    *,
    bins: int = BINS,
    subsets: int | None = None,
    random_state: int | None = 0,
) -> tuple[KWay, ...]:
    """Return the k-way total variation for each k of `orders` that there are columns for."""
    raise NotImplementedError
