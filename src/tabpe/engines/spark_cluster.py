"""A table on Spark: its parts as partitions, in a session that is there or is started for a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pyarrow as pa

from tabpe.engines.crewed import CrewKeeper
from tabpe.engines.shard import shards_of
from tabpe.engines.spark_crew import Ready, SparkCrew
from tabpe.engines.spark_session import joined_context
from tabpe.engines.users import Unit
from tabpe.io import Batch, Source
from tabpe.io.batches import regrouped
from tabpe.io.parts import parts_of
from tabpe.io.source import FrameSource
from tabpe.io.spark_tables import SparkSource, unfolded
from tabpe.resources import Resources

# Parts for each core: enough that a slow one does not hold up the others for long. With each part
# the candidates of a round are put in order once more.
PARTS_A_CORE = 2


def spark_keeper(
    source: Source, unit: Unit | None, resources: Resources, on_ready: Ready
) -> CrewKeeper:
    """Return who counts in a table by the workers of Spark.

    Args:
        source: The table: a data frame of Spark; files, which driver and workers must find under
            the same paths; or what is in memory here, which is sent to them.
        unit: Who is a user, if the promise is to users; None if every row is one of its own.
        resources: Where the cluster is, and how many of its cores to use.
        on_ready: Called with how many shards have answered, and how many there are.
    """
    context, leave = joined_context(resources)
    try:
        most = PARTS_A_CORE * (resources.workers or context.defaultParallelism)
        sources = _sources(context, source, most)
        if unit is not None:
            sources = _by_user(sources, source.library, source.names, unit, most)
        each = resources.of_a_shard(max(most // PARTS_A_CORE, 1))
        crew = SparkCrew(sources, unit, each, on_ready=on_ready, on_close=leave)
    except BaseException:
        leave()
        raise
    return CrewKeeper(crew, 1 if unit is None else unit.scale)


@dataclass(frozen=True, eq=False)
class CarriedSource:
    """Rows that were brought to a worker.

    Args:
        library: The library that the whole table is a frame of.
        names: Its columns. Those that nobody reads may have been left behind.
        carried: The rows. If they come one after the other, they can be read once.
    """

    library: str
    names: list[str]
    carried: Iterable[Batch]

    @property
    def nested(self) -> frozenset[str]:
        """None: such columns were refused before rows were sent."""
        return frozenset()

    @property
    def most_rows(self) -> None:
        """Not known before reading."""
        return

    def batches(self, names: Sequence[str] | None = None) -> Iterator[Batch]:
        """Yield the rows."""
        wanted = self.names if names is None else list(names)
        for batch in self.carried:
            yield replace(batch, table=batch.table.select(wanted))


def _sources(context: Any, source: Source, most: int) -> Any:
    """Return an RDD with a part of the table in each partition."""
    parts = parts_of(source, most)
    if isinstance(parts[0], SparkSource):
        rows = parts[0].carried()
        # Partitions are put together where they are, which sends nothing.
        rows = rows.coalesce(most) if rows.getNumPartitions() > most else rows
        return rows.mapPartitionsWithIndex(partial(_brought, parts[0].library, parts[0].schema()))
    return context.parallelize([_alone(part) for part in parts], len(parts))


def _brought(
    library: str, schema: pa.Schema, number: int, carried: Iterable[bytes]
) -> Iterator[CarriedSource]:
    """Return the rows of a partition as a source, which reads them as they come."""
    yield CarriedSource(library, list(schema.names), _batches(schema, number, carried))


def _batches(schema: pa.Schema, number: int, carried: Iterable[bytes]) -> Iterator[Batch]:
    first = 0
    for table in regrouped(batch for stream in carried for batch in unfolded(stream)):
        named = table.rename_columns(schema.names).cast(schema)
        yield Batch(named, f"partition {number}", first)
        first += table.num_rows


def _alone(part: Source) -> Source:
    """Return a part without the rest of the frame: a slice would take all of it along."""
    if not isinstance(part, FrameSource):
        return part
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, part.table.schema) as writer:
        writer.write_table(part.table)
    return replace(part, table=pa.ipc.open_stream(sink.getvalue()).read_all())


def _by_user(sources: Any, library: str, names: list[str], unit: Unit, shards: int) -> Any:
    """Return the same with all rows of a user in one partition: the one of its id."""
    spread = sources.flatMap(partial(_spread, unit, shards)).partitionBy(shards, int)
    return spread.mapPartitions(partial(_gathered, library, names))


def _spread(unit: Unit, shards: int, source: Source) -> Iterator[tuple[int, Batch]]:
    """Yield the rows of a part for each shard; columns that nobody reads are left behind."""
    for batch in source.batches(list(dict.fromkeys([unit.column, *unit.names]))):
        numbers = shards_of(batch.table, unit, shards)
        for number in range(shards):
            places = (numbers == number).nonzero()[0]
            if len(places):
                table = batch.table.take(places)
                yield number, replace(batch, table=table, places=places)


def _gathered(
    library: str, names: list[str], pairs: Iterable[tuple[int, Batch]]
) -> Iterator[CarriedSource]:
    # Read twice: for who the users are, and for their rows.
    yield CarriedSource(library, names, [batch for _, batch in pairs])
