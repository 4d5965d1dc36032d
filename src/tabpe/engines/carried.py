"""Encoded rows that something else than a shard keeps between questions, and hands to it.

A `Shard` keeps what it encoded in its own memory. Where workers come and go, as in Spark, a system
keeps the segments of a part of a table, and brings them to whichever worker is to answer.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from tabpe.encode import Records, Sight
from tabpe.engines.alone import LoneKeeper
from tabpe.engines.ballot import Ballot
from tabpe.engines.questions import Desk, HeldPart, Reading
from tabpe.engines.tables import Tables
from tabpe.engines.users import Unit, Users
from tabpe.engines.votes import Segment, segments_of

Whole = NDArray[np.int64]
_NONE: Whole = np.empty(0, dtype=np.int64)


def encoded(keeper: LoneKeeper, reading: Reading) -> Iterator[Segment]:
    """Read and encode the rows of a part of a table, those of users that count.

    Args:
        keeper: Knows the part, and its users.
        reading: How rows are encoded.
    """
    encoder, users = reading.encoder, keeper.users
    owners = None if users is None else users.owners
    return segments_of(keeper.rows(encoder), encoder.class_count, owners)


def seen(segments: Iterable[Segment], sight: Sight, category_weight: float) -> Iterator[Segment]:
    """Return segments as votes are counted in: seen, and in the form that is quickest to count."""
    for segment in segments:
        rows = sight.of(segment.rows)
        yield dataclasses.replace(segment, rows=rows).prepared(category_weight)


class CarriedDesk(Desk):
    """Where segments that were brought answer a single question.

    Args:
        held: The segments.
    """

    def __init__(self, held: CarriedHeld) -> None:
        self._carried = held

    def held(self, reading: Reading) -> HeldPart:  # noqa: ARG002
        """Return the segments; whoever brought them knows which reading they are of."""
        return self._carried

    def close(self) -> None:
        """Have nothing to let go of."""


class CarriedHeld:
    """Segments of encoded rows, gone through once, one at a time; those of users all at once.

    Args:
        segments: The segments.
        reading: How their rows were encoded.
        unit: Who is a user, if the promise is to users.
        sight: How they are seen; None if they are as they were encoded.

    Example:
        >>> from tabpe.encode import Encoder
        >>> from tabpe.schema import Boolean, Schema
        >>> rows = Records(np.zeros((3, 0), np.float32), np.zeros((3, 1), np.uint8))
        >>> reading = Reading(0, Encoder(Schema((Boolean("ill"),))), 1 / 3)
        >>> held = CarriedHeld([Segment(0, rows)], reading, None)
        >>> held.class_counts(), held.sizes
        (array([3]), array([3]))
    """

    def __init__(
        self,
        segments: Iterable[Segment],
        reading: Reading,
        unit: Unit | None,
        sight: Sight | None = None,
    ) -> None:
        self.encoder, self.sight = reading.encoder, sight
        self.scale = 1 if unit is None else unit.scale
        self._segments, self._weight, self._unit = segments, reading.category_weight, unit
        self._sizes = np.zeros(self.encoder.class_count, dtype=np.int64)

    @property
    def sizes(self) -> Whole:
        """How many rows of each class went by. Private."""
        return self._sizes

    def tables(self) -> Tables:
        """Return what counts the rows as they are encoded."""
        ballot, segments = self._opened()
        batches = ((one.rows, np.full(len(one.rows), one.label)) for one in segments)
        return Tables(batches, ballot.users, classes=ballot.classes)

    def prepare(self, sight: Sight) -> None:
        """See the rows as they go by."""
        self.sight, self._segments = sight, seen(self._segments, sight, self._weight)

    def row_count(self) -> Whole:
        """Return, in a single cell, how many rows or users there are, times `scale`."""
        ballot, segments = self._opened()
        return ballot.row_count(segments)

    def class_counts(self) -> Whole:
        """Return how many rows each class has."""
        ballot, segments = self._opened()
        return ballot.class_counts(segments)

    def votes(self, population: Sequence[Records], each: int = 1) -> list[Whole]:
        """Return, for the candidates of each class, how many rows vote for each."""
        ballot, segments = self._opened()
        return ballot.votes(population, segments, each)

    def close(self) -> None:
        """Let go of the segments."""
        self._segments = ()

    def _opened(self) -> tuple[Ballot, Iterable[Segment]]:
        classes, segments, users = self.encoder.class_count, self._tallied(), None
        if self._unit is None:
            return Ballot(classes, self._weight, 1, users), segments
        whole = list(segments)
        return Ballot(classes, self._weight, 1, _users_of(whole, self.scale)), whole

    def _tallied(self) -> Iterator[Segment]:
        for segment in self._segments:
            self._sizes[segment.label] += segment.size
            yield segment


def _users_of(segments: Sequence[Segment], scale: int) -> Users:
    """Return the users of segments. Of each a row counts, so the last number says how many."""
    owners = np.concatenate([_NONE, *(_owners(segment) for segment in segments)])
    count = int(owners.max(initial=-1)) + 1
    return Users(np.ones(len(owners), dtype=bool), owners, count, scale)


def _owners(segment: Segment) -> Whole:
    return _NONE if segment.owners is None else segment.owners
