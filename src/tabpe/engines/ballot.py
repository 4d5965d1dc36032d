"""`Ballot`: the rules by which rows, or users, are counted. What engines share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tabpe.encode import Records
from tabpe.engines.users import Users
from tabpe.engines.votes import (
    Batches,
    Counts,
    Segment,
    class_sizes,
    count_user_votes,
    count_votes,
    segments_of,
    user_class_sizes,
)


@dataclass(frozen=True, eq=False)
class Ballot:
    """Counts segments of rows: each row once, or each user with a vector of one length.

    Args:
        classes: Number of classes.
        category_weight: What one differing category adds to a distance.
        jobs: Threads that count votes.
        users: Whose the rows are; None if every row is one of its own.
    """

    classes: int
    category_weight: float
    jobs: int
    users: Users | None

    @property
    def scale(self) -> int:
        """What one row or user counts at most."""
        return 1 if self.users is None else self.users.scale

    def segments(self, batches: Batches) -> Iterator[Segment]:
        """Cut batches into segments that know their users."""
        owners = None if self.users is None else self.users.owners
        return segments_of(batches, self.classes, owners)

    def row_count(self, segments: Iterable[Segment]) -> Counts:
        """Return the number of rows or users, times `scale`."""
        if self.users is not None:
            return np.array([self.users.count * self.scale])
        return np.array([class_sizes(segments, self.classes).sum()])

    def class_counts(self, segments: Iterable[Segment]) -> Counts:
        """Return how many rows each class has."""
        if self.users is None:
            return class_sizes(segments, self.classes)
        return user_class_sizes(segments, self.classes, self.scale)

    def votes(
        self, population: Sequence[Records], segments: Iterable[Segment], each: int = 1
    ) -> list[Counts]:
        """Return the votes for the candidates of each class, `each` of a row."""
        if self.users is None:
            return count_votes(
                population,
                segments,
                classes=self.classes,
                category_weight=self.category_weight,
                jobs=self.jobs,
                each=each,
            )
        return count_user_votes(
            population,
            segments,
            classes=self.classes,
            category_weight=self.category_weight,
            jobs=self.jobs,
            scale=self.scale,
            each=each,
        )
