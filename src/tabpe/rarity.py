"""Which combinations of the values of several labels are rare, and what becomes of their counts.

Privacy: all of it follows from declared shares, or from noisy counts of the combinations, which are
an item of the bill. So it costs nothing more.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from tabpe.encode.joint import JointClasses
from tabpe.evolve.guide import projected
from tabpe.request import Facts
from tabpe.schema import Schema
from tabpe.schema.joint import combinations_of

# A combination with fewer rows than so many times the noise on its count is rare. One without rows
# is then taken for a class of its own once in 30,000 times. Noise on votes is about as large, so
# these would not show in them either.
NOISES = 4.0

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Rare:
    """Which combinations share a class, and how many rows all of them have.

    Args:
        joint: The combinations and their classes.
        counts: The declared or noisy number of rows of each combination, none below 0.
        least: From how many rows on a combination is a class of its own.
    """

    joint: JointClasses
    counts: Floats
    least: float

    @classmethod
    def of(
        cls,
        schema: Schema,
        facts: Facts,
        sigma: float,
        *,
        counted: bool,
        of_users: bool,
        most: int | None,
    ) -> Self:
        """Return which combinations of the labels of a schema are rare.

        Args:
            schema: The schema, with several labels.
            facts: What is known: the weights are those of all combinations.
            sigma: The noise on the count of a combination, or what it would be.
            counted: Whether weights are noisy counts; else they are declared shares.
            of_users: Whether counts are of users, whose vectors add up to another number than
                there are users.
            most: The most classes there may be, if there is a limit.
        """
        weights = np.array(facts.weights, dtype=np.float64)
        counts = weights if counted else weights * facts.row_estimate
        total = max(float(counts.sum()), 1.0) if counted and of_users else facts.row_estimate
        least = NOISES * sigma
        joint = JointClasses(schema.joint_labels, rare_places(counts, least, most=most))
        return cls(joint, projected(counts, total), least)

    def schema_of(self, schema: Schema) -> Schema:
        """Return a schema with these combinations in one class."""
        every = combinations_of(self.joint.columns)
        return dataclasses.replace(
            schema, label_rare=tuple(every[place] for place in self.joint.rare)
        )

    def merged(self, facts: Facts) -> Facts:
        """Return facts about classes in the place of facts about combinations."""
        weights = np.bincount(self.joint.classes, self.counts)
        rare = self.counts[list(self.joint.rare)]
        return dataclasses.replace(
            facts, weights=tuple(weights.tolist()), rare=tuple(rare.tolist())
        )

    @property
    def share(self) -> float:
        """Which part of all rows has a rare combination."""
        return float(self.counts[list(self.joint.rare)].sum() / self.counts.sum())

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the certificate should know."""
        if not self.joint.rare:
            return ()
        labels = " and ".join(repr(column.name) for column in self.joint.columns)
        return (
            f"{len(self.joint.rare):,} of the {self.joint.size:,} combinations of {labels}, with "
            f"about {self.share:.0%} of the rows, were evolved together as one class: those with "
            f"fewer than about {self.least:,.0f} rows, or more of them where there would be more "
            f"classes than rows to make",
        )


def rare_places(counts: Floats, least: float, *, most: int | None) -> tuple[int, ...]:
    """Return the places of counts below `least`, or of more where too many would be left.

    One alone is not rare: there is nothing to merge it with.

    Example:
        >>> rare_places(np.array([90.0, 3.0, 70.0, -8.0]), 20.0, most=None)
        (1, 3)
        >>> rare_places(np.array([90.0, 30.0, 70.0, 50.0]), 20.0, most=3)
        (1, 3)
    """
    falling = np.argsort(-counts, kind="stable")
    kept = int((counts >= least).sum())
    if most is not None and kept + (kept < len(counts)) > most:
        kept = most - 1
    rare = np.sort(falling[kept:])
    return tuple(rare.tolist()) if len(rare) > 1 else ()
