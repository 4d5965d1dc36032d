"""Each column by itself: what its cells look like, real and synthetic side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tabpe.metrics.view import View

BINS = 24
MOST_BARS = 20


@dataclass(frozen=True)
class Shape:
    """What the cells of a column look like in one table.

    Args:
        shares: Share of the cells that are not null in each bin or bar; sums to 1, or all 0.
        nulls: Share of the cells that are null.
        mean: Mean of a number; None of a category, or if there is no cell.
        deviation: Standard deviation of a number; None of a category.
        least: Smallest number; None of a category.
        most: Largest number; None of a category.
    """

    shares: tuple[float, ...]
    nulls: float
    mean: float | None = None
    deviation: float | None = None
    least: float | None = None
    most: float | None = None


@dataclass(frozen=True)
class ColumnView:
    """One column, real and synthetic.

    Args:
        name: Its name.
        kind: `number` or `category`.
        edges: Of a number: the edges of the bins, one more than there are bins.
        bars: Of a category: what each bar is called; the rarest together as `MOST_BARS`-th.
        real: What the real cells look like; None in a public report.
        synthetic: What the synthetic cells look like.
        difference: Total variation between the two over bins or bars and nulls; None without real.
        band: Half the width of a 95% interval around a real share that was bought under noise.
    """

    name: str
    kind: Literal["number", "category"]
    edges: tuple[float, ...]
    bars: tuple[str, ...]
    real: Shape | None
    synthetic: Shape
    difference: float | None
    band: float = 0.0


def column_views(real: View | None, synthetic: View) -> tuple[ColumnView, ...]:
    """Return what each column looks like, in the order of the schema."""
    raise NotImplementedError
