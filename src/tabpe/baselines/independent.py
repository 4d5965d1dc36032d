"""Independent: every attribute by itself, as if no two had anything to do with each other.

The least that a method can learn, and so the measure of what others learn beyond it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tabpe.accounting.calibration import BudgetShare
from tabpe.baselines.domain import Floats, SyntheticRows
from tabpe.baselines.session import BaselineSession

ONE_WAYS = "one-ways"


@dataclass(frozen=True)
class Independent:
    """Measures how often each value of each attribute occurs, and draws from that.

    Privacy: one noisy histogram for each attribute, all with the same noise. The rest is
    post-processing.
    """

    name: ClassVar[str] = "Independent"
    adaptive: ClassVar[bool] = False
    binned: ClassVar[bool] = True

    def parts(self, attributes: int) -> tuple[BudgetShare, ...]:
        """Return the plan: one part, with a histogram for each attribute."""
        return (BudgetShare(ONE_WAYS, share=1.0, times=attributes),)

    def synthesise(self, session: BaselineSession, size: int) -> SyntheticRows:
        """Return `size` rows whose attributes are drawn independently of each other."""
        cliques = [(place,) for place in range(session.domain.attributes)]
        measured = session.marginals(ONE_WAYS, cliques)
        columns = [draw_cells(counts, size, session.rng) for counts in measured]
        return session.rows_of(np.stack(columns, axis=1))


def draw_cells(counts: Floats, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return cells drawn in proportion to noisy counts; by no count at all, uniformly.

    Example:
        >>> draw_cells(np.array([-3.0, 10.0, 0.0]), size=4, rng=np.random.default_rng(0))
        array([1, 1, 1, 1])
    """
    weights = np.maximum(counts, 0.0)
    if not weights.any():
        weights = np.ones(len(counts))
    return rng.choice(len(weights), size=size, p=weights / weights.sum())
