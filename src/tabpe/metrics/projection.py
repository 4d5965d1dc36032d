"""Rows as points of a plane, for a picture."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tabpe.metrics.view import View

POINTS = 1500


@dataclass(frozen=True, eq=False)
class Projection:
    """Rows on the two directions in which they differ most.

    Args:
        explained: Which share of the variance each direction holds.
        real: The real points, one row each; None in a public report.
        synthetic: The synthetic points.
        real_classes: The class of each real point; all 0 without a categorical label.
        synthetic_classes: The class of each synthetic point.
        class_names: What the classes are called.
    """

    explained: tuple[float, float]
    real: NDArray[np.float64] | None
    synthetic: NDArray[np.float64]
    real_classes: NDArray[np.int64] | None
    synthetic_classes: NDArray[np.int64]
    class_names: tuple[str, ...]


def projection(
    real: View | None, synthetic: View, *, points: int = POINTS, random_state: int | None = 0
) -> Projection:
    """Return at most `points` rows of each table on the principal plane of the real ones."""
    raise NotImplementedError
