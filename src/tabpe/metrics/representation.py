"""Representation: whether synthetic rows lie where real rows lie, and reach all of them."""

from __future__ import annotations

from dataclasses import dataclass

from tabpe.metrics.view import View

NEIGHBOURS, ROWS = 5, 5000


@dataclass(frozen=True)
class Representation:
    """How two sets of points lie in a learned space.

    Args:
        encoder: What made the points: `autoencoder`, or `linear` where torch is not installed.
        neighbours: The k of the k-th nearest neighbour.
        rows: The number of rows of each table that were compared: real, synthetic.
        precision: Share of the synthetic points that lie within the real ones.
        recall: Share of the real points that lie within the synthetic ones.
        density: How many real neighbourhoods a synthetic point lies in, over k; may exceed 1.
        coverage: Share of the real neighbourhoods that hold a synthetic point.
    """

    encoder: str
    neighbours: int
    rows: tuple[int, int]
    precision: float
    recall: float
    density: float
    coverage: float


def representation(
    real: View,
    synthetic: View,
    *,
    neighbours: int = NEIGHBOURS,
    rows: int | None = ROWS,
    encoder: str = "auto",
    random_state: int | None = 0,
) -> Representation:
    """Return precision, recall, density and coverage in the space of an autoencoder."""
    raise NotImplementedError
