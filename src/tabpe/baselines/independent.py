"""Independent: every attribute by itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tabpe.baselines.desk import Desk
from tabpe.baselines.domain import Rows
from tabpe.baselines.plan import Part


@dataclass(frozen=True)
class Independent:
    """Noisy counts of each attribute, and rows in which attributes know nothing of each other."""

    name: ClassVar[str] = "Independent"
    adaptive: ClassVar[bool] = False

    def parts(self, attributes: int) -> tuple[Part, ...]:
        """Return the plan: one histogram for each attribute."""
        return (Part("one-ways", 1.0, attributes),)

    def synthesise(self, desk: Desk, size: int) -> Rows:
        """Draw every attribute from its noisy counts."""
        cliques = [(place,) for place in range(desk.domain.attributes)]
        counts = [np.clip(one, 0.0, None) for one in desk.marginals("one-ways", cliques)]
        columns = [
            desk.rng.choice(len(one), size, p=one / one.sum() if one.sum() else None)
            for one in counts
        ]
        return desk.rows_of(np.stack(columns, axis=1))
