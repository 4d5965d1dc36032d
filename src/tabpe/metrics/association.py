"""How strongly columns go together, pair by pair."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tabpe.metrics.view import View


@dataclass(frozen=True, eq=False)
class Association:
    """The association of all pairs of columns.

    Args:
        columns: Names of the columns.
        real: The real matrix, -1 to 1; None in a public report. NaN where a column is constant.
        synthetic: The synthetic one.
    """

    columns: tuple[str, ...]
    real: NDArray[np.float64] | None
    synthetic: NDArray[np.float64]

    @property
    def difference(self) -> NDArray[np.float64] | None:
        """Synthetic less real, a constant column counting as 0."""
        raise NotImplementedError


def association(real: View | None, synthetic: View) -> Association:
    """Return how strongly columns go together.

    Two numbers: Pearson correlation. Two categories: Cramer's V with bias correction. A number and
    a category: the correlation ratio.
    """
    raise NotImplementedError
