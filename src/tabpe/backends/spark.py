"""Shards as partitions of Spark.

`SparkCrew`: shards as partitions of an RDD, whose encoded rows Spark keeps.

Rows are read and encoded on the workers once; Spark keeps them in the memory of its executors, or
on their disks. In a round the candidates go out as a broadcast, each partition answers with whole
numbers, and these are added up in a tree. Spark itself computes a partition anew that is lost with
its executor, and takes one result of a task that ran twice. What it can not know is checked by
`tabpe.backends.queries`: that each partition is in the sum once, with the rows that it had.

Privacy: nothing is told by the way: no accumulator, no counter, no log. No error is raised on
a worker, because Spark writes the words of errors into its logs, and shows them to the driver.

A session of Spark to count in: one that is there already, or one that is started for a run.

What is started here ends with the run, and says nothing in the terminal: Spark and the JVM would
greet the user on its standard error, and Spark would write the words of errors there. On this
machine alone it listens on the loopback address, and answers nobody without its secret.

A table on Spark: its parts as partitions, in a session that is there or is started for a run.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pyarrow as pa

from tabpe._utils.resources import Resources
from tabpe.backends.cluster import (
    CarriedDesk,
    CarriedHeld,
    CrewKeeper,
    Failed,
    PartKeeper,
    Place,
    Shard,
    answer_at,
    encoded,
    seen,
    settled,
    shards_of,
    without_words,
)
from tabpe.backends.counting import Segment
from tabpe.backends.queries import Answer, Polled, Question, Reading, Tabulated
from tabpe.backends.users import Unit
from tabpe.errors import ParameterError, TabpeError
from tabpe.io import Batch, Source
from tabpe.io.batches import regrouped
from tabpe.io.clusters import SparkSource, hushed, imported, unfolded, without_spark_words
from tabpe.io.source import FrameSource, parts_of

# So many answers the driver adds up by itself: a level of the tree is a stage, which takes a while.
DIRECT = 16

Ready = Callable[[int, int], None]


@dataclass(frozen=True)
class Common:
    """What all workers know.

    Args:
        unit: Who is a user, if the promise is to users.
        resources: What a shard may use of its machine.
        shards: How many there are.
    """

    unit: Unit | None
    resources: Resources
    shards: int


class SparkCrew:
    """The partitions of an RDD as shards of a table.

    Args:
        sources: An RDD of which each partition holds one `Source`, a part of the table; each
            user must be in one of them.
        unit: Who is a user, if the promise is to users.
        resources: What each shard may use of its machine.
        on_ready: Called with how many shards have answered, and how many there are.
        on_close: Called when the shards are let go.
    """

    def __init__(
        self,
        sources: Any,
        unit: Unit | None,
        resources: Resources,
        *,
        on_ready: Ready = lambda _done, _all: None,
        on_close: Callable[[], Any] = lambda: None,
    ) -> None:
        self._sources, self._on_ready, self._on_close = sources, on_ready, on_close
        self._common = Common(unit, resources, sources.getNumPartitions())
        self._reading = -1
        self._encoded: Any = None
        self._seen: Any = None

    @property
    def shards(self) -> int:
        """How many there are."""
        return self._common.shards

    def ask(self, question: Question) -> Answer:
        """Return the sum of the answers of all shards."""
        rows, answering = self._rows_for(question)
        sent = self._sources.context.broadcast(_serializer().dumps(question))
        try:
            answers = rows.mapPartitionsWithIndex(partial(answering, sent, self._common))
            found = without_spark_words(lambda: self._summed(answers))
        finally:
            sent.destroy()
        self._on_ready(self.shards, self.shards)
        if self._seen is not None and self._encoded is not None:
            self._encoded.unpersist()
            self._encoded = None
        return settled([found])

    def close(self) -> None:
        """Let go of the rows, and of the session if it was started for them."""
        self._forget()
        self._sources = None
        self._on_close()

    def _rows_for(self, question: Question) -> tuple[Any, Callable[..., Iterator[Any]]]:
        """Return the rows that a question is about, and how they answer."""
        if isinstance(question, Polled):
            return self._rows_seen(question), _of_segments
        if isinstance(question, Tabulated) and question.is_held:
            self._begin(question.reading)
            if self._encoded is None:
                self._encoded = self._rows_encoded(question.reading).persist(_level())
            return self._encoded, _of_segments
        return self._sources, _of_source

    def _rows_seen(self, question: Polled) -> Any:
        self._begin(question.reading)
        if self._seen is None:
            rows = self._encoded or self._rows_encoded(question.reading)
            look = partial(_seen, question.sight, question.reading.category_weight)
            self._seen = rows.mapPartitionsWithIndex(look).persist(_level())
        return self._seen

    def _rows_encoded(self, reading: Reading) -> Any:
        return self._sources.mapPartitionsWithIndex(partial(_encoded, self._common, reading))

    def _begin(self, reading: Reading) -> None:
        """Let go of rows that were encoded in another way: one way is kept at a time."""
        if reading.number != self._reading:
            self._forget()
            self._reading = reading.number

    def _forget(self) -> None:
        for rows in (self._encoded, self._seen):
            if rows is not None:
                rows.unpersist()
        self._encoded = self._seen = None

    def _summed(self, answers: Any) -> Answer | Failed:
        if self.shards <= DIRECT:
            found: Answer | Failed = answers.reduce(joined)
        else:
            found = answers.treeReduce(joined)
        return found


def joined(one: Answer | Failed, other: Answer | Failed) -> Answer | Failed:
    """Return the sum of two answers, or the failure of the first shard that failed.

    Example:
        >>> joined(Answer([], {0: b""}), Answer([], {1: b""})).marks
        {0: b'', 1: b''}
    """
    failures = [answer for answer in (one, other) if isinstance(answer, Failed)]
    if failures:
        return min(failures, key=lambda failed: failed.shard)
    try:
        return settled((one, other))
    except Exception as error:
        return Failed(min(one.marks, default=0), without_words(error))  # type: ignore[union-attr]


def _of_source(sent: Any, common: Common, number: int, sources: Iterable[Source]) -> Iterator[Any]:
    """Answer by the rows themselves."""
    (source,) = sources
    place = Place(number, common.shards)
    yield Shard(place, source, common.unit, common.resources).answer(_question(sent))


def _of_segments(
    sent: Any, common: Common, number: int, segments: Iterable[Segment | Failed]
) -> Iterator[Any]:
    """Answer by rows that were encoded before."""
    question = _question(sent)
    sight = question.sight if isinstance(question, Polled) else None
    held = CarriedHeld(_sound(segments), question.reading, common.unit, sight)
    yield answer_at(CarriedDesk(held), question, number)


def _encoded(
    common: Common, reading: Reading, number: int, sources: Iterable[Source]
) -> Iterator[Segment | Failed]:
    (source,) = sources
    place = Place(number, common.shards)
    keeper = PartKeeper(source, common.unit, common.resources, place)
    return _watched(number, lambda: encoded(keeper, reading))


def _seen(
    sight: Any, category_weight: float, number: int, segments: Iterable[Segment | Failed]
) -> Iterator[Segment | Failed]:
    return _watched(number, lambda: seen(_sound(segments), sight, category_weight))


def _watched(number: int, make: Callable[[], Iterable[Segment]]) -> Iterator[Segment | Failed]:
    """Yield segments, and in the place of an error why there are no more of them."""
    try:
        yield from make()
    except Exception as error:
        yield Failed(number, without_words(error))


def _sound(segments: Iterable[Segment | Failed]) -> Iterator[Segment]:
    for segment in segments:
        if isinstance(segment, Failed):
            raise segment.error
        yield segment


def _question(sent: Any) -> Any:
    return _serializer().loads(sent.value)


def _serializer() -> Any:
    """Return what Spark sends values with. By itself it fails to send large arrays encrypted."""
    return imported("pyspark.serializers").CloudPickleSerializer()


def _level() -> Any:
    return imported("pyspark").StorageLevel.MEMORY_AND_DISK


_PATIENCE = 10.0  # seconds
PYTHON = "PYSPARK_PYTHON"
# Set by spark-submit, which has started Java and knows the cluster.
SUBMITTED = "PYSPARK_GATEWAY_PORT"
# No pages and logs that count rows, and nothing on disks that can be read without the run.
_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.eventLog.enabled": "false",
    "spark.io.encryption.enabled": "true",
}


# On this machine alone, nobody else is answered.
_LOCAL_SETTINGS = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.authenticate": "true",
}


def joined_context(resources: Resources) -> tuple[Any, Callable[[], None]]:
    """Return the context of a session to count in, and what undoes that.

    A process has one context, which all its sessions share.

    Args:
        resources: Where the cluster is, and how many cores to use.
    """
    kind = imported("pyspark").SparkContext
    found = kind._active_spark_context  # noqa: SLF001
    if found is None and SUBMITTED in os.environ:
        found = kind.getOrCreate()
        return found, found.stop
    if found is None:
        return _started(kind, resources)
    if resources.address not in (None, found.master):
        raise ParameterError(
            f"address={resources.address!r}: a session of Spark is active already, at "
            f"{found.master!r}: leave the address out, or stop the session."
        )
    return found, lambda: None


def _started(kind: Any, resources: Resources) -> tuple[Any, Callable[[], None]]:
    if not (os.environ.get("JAVA_HOME") or shutil.which("java")):
        raise TabpeError("engine='spark': Spark needs Java 17 or newer: install it.")
    given = os.environ.get(PYTHON)
    os.environ[PYTHON] = given or sys.executable
    problem = None
    try:
        context = _connected(kind, resources)
    except Exception as error:
        problem = type(error).__name__
    finally:
        _restore(given)
    if problem is not None:
        _end_of_java(kind)
        raise TabpeError(
            f"address={resources.address!r}: no session of Spark could be started there "
            f"({problem}): expected 'local[2]', 'spark://HOST:PORT' or another master that runs "
            f"the same version of Spark."
        )

    def leave() -> None:
        context.stop()
        _end_of_java(kind)

    return context, leave


def _connected(kind: Any, resources: Resources) -> Any:
    _knock(resources.address or "")
    settings = imported("pyspark").SparkConf().setAppName("tabpe").setAll(_SETTINGS.items())
    master = resources.address or f"local[{resources.jobs}]"
    settings.setMaster(master)
    if master.startswith("local"):
        # Each run has a secret of its own, which Spark makes up.
        settings.setAll(_LOCAL_SETTINGS.items())
    if resources.workers is not None:
        settings.set("spark.cores.max", str(resources.workers))
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    gateway = imported("pyspark.java_gateway").launch_gateway(settings, quiet)
    with hushed():
        return kind(conf=settings, gateway=gateway)


def _knock(address: str) -> None:
    """Fail if nobody listens at a standalone master: Spark would try for a minute."""
    host, _, port = address.removeprefix("spark://").rpartition(":")
    if address.startswith("spark://") and "," not in host:  # which would name several
        socket.create_connection((host, int(port)), timeout=_PATIENCE).close()


def _end_of_java(kind: Any) -> None:
    """End the JVM as well: a session that the user starts later is to have one that speaks."""
    gateway = kind._gateway  # noqa: SLF001
    if gateway is None:
        return
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait()
    kind._gateway = kind._jvm = None  # noqa: SLF001


def _restore(python: str | None) -> None:
    if python is None:
        del os.environ[PYTHON]
    else:
        os.environ[PYTHON] = python


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
