"""Distances to the nearest real row: a sanity picture, and no proof of privacy."""

from __future__ import annotations

from dataclasses import dataclass

from tabpe.metrics.view import View


@dataclass(frozen=True)
class Closeness:
    """How far rows are from the nearest real row.

    Args:
        edges: Edges of the bins of distance.
        synthetic: Share of the synthetic rows in each bin.
        other: Share of other real rows in each bin: what is to be expected.
        copies: Share of the synthetic rows that equal a real row.
        other_copies: Share of the other real rows that equal a real row.
        rows: How many rows were looked at: real, synthetic, other.
    """

    edges: tuple[float, ...]
    synthetic: tuple[float, ...]
    other: tuple[float, ...]
    copies: float
    other_copies: float
    rows: tuple[int, int, int]


def closeness(
    real: View,
    synthetic: View,
    test: View | None = None,
    *,
    rows: int = 5000,
    random_state: int | None = 0,
) -> Closeness:
    """Return how far synthetic rows, and other real rows, are from the nearest real row."""
    raise NotImplementedError
