"""`LoneKeeper`: a private table that one process reads, and counts in."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, partial

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tabpe.encode import Encoder, Records, Sight
from tabpe.engines.engine import OwnEngine
from tabpe.engines.local import LocalEngine
from tabpe.engines.stream import StreamEngine
from tabpe.engines.survey import Survey
from tabpe.engines.tables import Tables
from tabpe.engines.users import Unit, Users
from tabpe.io import Source
from tabpe.resources import Resources
from tabpe.rows import EncodedRows, contents, user_rows
from tabpe.schema import Temporal

Batch = tuple[Records, NDArray[np.int64]]


class LoneKeeper:
    """Counts in a table by itself: in memory, or in a stream if the rows do not fit.

    Args:
        source: The table, or a part of it.
        unit: Who is a user, if the promise is to users; None if every row is one of its own.
        resources: What may be used of the machine.

    Example:
        >>> from tabpe.io import open_source
        >>> table = open_source(pa.table({"ward": ["heart", "heart", "eye"]}))
        >>> LoneKeeper(table, None, Resources.of()).survey().row_count()
        array([3])
    """

    def __init__(self, source: Source, unit: Unit | None, resources: Resources) -> None:
        self._source, self._unit, self._resources = source, unit, resources

    def contents(self, names: Sequence[str], key: bytes) -> NDArray[np.uint64]:
        """Return sums over all rows that tell tables apart."""
        return contents(self._source, names, key)

    def survey(self, moments: Mapping[str, Temporal] | None = None) -> Survey:
        """Return what counts raw cells."""
        return Survey(self._source, self.users, moments)

    def tables(self, encoder: Encoder) -> Tables:
        """Return what counts encoded rows and holds none of them."""
        return Tables(self.rows(encoder), self.users, classes=encoder.class_count)

    def hold(self, encoder: Encoder, category_weight: float) -> LoneHeld:
        """Return what holds encoded rows, in memory or in a stream."""
        rows, users, resources = self.rows(encoder), self.users, self._resources
        streams = resources.streams(rows.most_bytes)
        kind = partial(StreamEngine, spill=resources.spill) if streams else LocalEngine
        engine = kind(
            classes=encoder.class_count,
            category_weight=category_weight,
            jobs=resources.jobs,
            users=users,
        )
        return LoneHeld(rows, users, engine, streams=streams)

    def close(self) -> None:
        """Let go of the table; what is held is closed by itself."""

    def rows(self, encoder: Encoder) -> EncodedRows:
        """Return the rows that count, to be encoded each time they are read."""
        return EncodedRows(self._source, encoder, None if self.users is None else self.users.kept)

    @cached_property
    def users(self) -> Users | None:
        """Whose the rows are and which of them count: chosen when that is first asked for."""
        if self._unit is None:
            return None
        rows = self._rows_of_users(self._unit)
        return self._unit.users_of(rows)

    def _rows_of_users(self, unit: Unit) -> Iterator[pa.Table]:
        return user_rows(self._source, unit.column, unit.names, strict=unit.strict)


class LoneHeld:
    """The rows of a table, encoded in one way, and who counts them.

    Args:
        rows: The rows.
        users: Whose they are; None if every row is one of its own.
        engine: Counts votes.
        streams: Whether the rows are too many to be held.
    """

    def __init__(
        self,
        rows: EncodedRows,
        users: Users | None,
        engine: OwnEngine,
        *,
        streams: bool,
    ) -> None:
        self.encoder, self.scale = rows.encoder, engine.scale
        self._rows, self._users, self._engine, self._streams = rows, users, engine, streams
        self._batches: list[Batch] | None = None
        self.sight: Sight | None = None

    @property
    def sizes(self) -> NDArray[np.int64] | None:
        """How many rows of each class there were when they were last read. Private."""
        return self._rows.tally.sizes

    def tables(self) -> Tables:
        """Return what counts the rows as they are: read once if they fit and are to be held."""
        if not self._streams and self.sight is None and self._batches is None:
            self._batches = list(self._rows)
        batches = self._rows if self._batches is None else self._batches
        return Tables(batches, self._users, classes=self.encoder.class_count)

    def prepare(self, sight: Sight) -> None:
        """Take in the rows, as they are seen, for votes."""
        batches, self._batches, self.sight = self._batches, None, sight
        if batches is None:
            self._engine.prepare(dataclasses.replace(self._rows, sight=sight))
        else:
            self._engine.prepare(_drained(batches, sight))

    def row_count(self) -> NDArray[np.int64]:
        """Return, in a single cell, how many rows or users there are, times `scale`."""
        return self._engine.row_count()

    def class_counts(self) -> NDArray[np.int64]:
        """Return how many rows each class has."""
        return self._engine.class_counts()

    def votes(self, population: Sequence[Records], each: int = 1) -> list[NDArray[np.int64]]:
        """Return, for the candidates of each class, how many rows vote for each."""
        return self._engine.votes(population, each)

    def close(self) -> None:
        """Let go of the private rows."""
        self._batches = None
        self._engine.close()


def _drained(batches: list[Batch], sight: Sight) -> Iterator[Batch]:
    """Yield rows as they are seen, and let go of what they were: memory holds them once."""
    batches.reverse()
    while batches:
        rows, classes = batches.pop()
        yield sight.of(rows), classes
