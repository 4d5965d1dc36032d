"""A table on Spark: partitions of an RDD as shards, in a session that is there or is started.

Rows are read and encoded on the workers once; Spark keeps them in the memory of its executors, or
on their disks. In a round the candidates go out as a broadcast, each partition answers with whole
numbers, and these are added up in a tree. Spark itself computes a partition anew that is lost with
its executor, and takes one result of a task that ran twice. What it can not know is checked by
`tabpe.backends.cluster`: that each partition is in the sum once, with the rows that it had.

Privacy: nothing leaks on the way: no accumulator, no counter, no log. No error is raised on
a worker, because Spark writes the words of errors into its logs, and shows them to the driver.

A session that is started here ends with the run, and says nothing in the terminal: Spark and the
JVM would greet the user on its standard error, and Spark would write the words of errors there. On
this machine alone it listens on the loopback address, and answers nobody without its secret.
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
from tabpe.backends.base import Answer, EncodedQuery, EncodedReading, Query
from tabpe.backends.cluster import (
    Shard,
    ShardedBackend,
    ShardFailure,
    ShardIndex,
    answer_from_segments,
    assign_shards,
    encode_segments,
    prepare_segments,
    redact_error,
    sum_or_raise,
)
from tabpe.backends.local import Segment, VotingSpaceGuard
from tabpe.backends.queries import VoteQuery
from tabpe.backends.users import PrivacyUnit
from tabpe.encoding import VotingSpace
from tabpe.errors import ParameterError, TabpeError
from tabpe.io import Batch, TableSource
from tabpe.io.batches import regroup_batches
from tabpe.io.clusters import (
    SparkSource,
    import_spark_module,
    read_arrow_stream,
    run_spark_safely,
    suppress_spark_warnings,
)
from tabpe.io.source import FrameSource, divide_source

# So many answers the driver adds up by itself: a level of the tree is a stage, which takes a while.
DIRECT = 16

Ready = Callable[[int, int], None]


@dataclass(frozen=True)
class WorkerSettings:
    """What all workers know.

    Args:
        unit: Who is a user, for a user-level guarantee.
        resources: What a shard may use of its machine.
        shards: How many there are.
    """

    unit: PrivacyUnit | None
    resources: Resources
    shards: int


class SparkShardPool:
    """The partitions of an RDD as shards of a table.

    Args:
        sources: An RDD of which each partition holds one `Source`, a part of the table; each
            user must be in one of them.
        unit: Who is a user, for a user-level guarantee.
        resources: What each shard may use of its machine.
        on_ready: Called with how many shards have answered, and how many there are.
        on_close: Called when the shards are let go.
    """

    def __init__(
        self,
        sources: Any,
        unit: PrivacyUnit | None,
        resources: Resources,
        *,
        on_ready: Ready = lambda _done, _all: None,
        on_close: Callable[[], Any] = lambda: None,
    ) -> None:
        self._sources, self._on_ready, self._on_close = sources, on_ready, on_close
        self._common = WorkerSettings(unit, resources, sources.getNumPartitions())
        self._reading, self._space = -1, VotingSpaceGuard()
        self._encoded: Any = None
        self._prepared: Any = None

    @property
    def shards(self) -> int:
        """How many there are."""
        return self._common.shards

    def answer(self, query: Query) -> Answer:
        """Return the sum of the answers of all shards."""
        rows, answering = self._select_rows(query)
        sent = self._sources.context.broadcast(_get_serializer().dumps(query))
        try:
            answers = rows.mapPartitionsWithIndex(partial(answering, sent, self._common))
            found = run_spark_safely(lambda: self._reduce_answers(answers))
        finally:
            sent.destroy()
        self._on_ready(self.shards, self.shards)
        if self._prepared is not None and self._encoded is not None:
            self._encoded.unpersist()
            self._encoded = None
        return sum_or_raise([found])

    def close(self) -> None:
        """Let go of the rows, and of the session if it was started for them."""
        self._release_rows()
        self._sources = None
        self._on_close()

    def _select_rows(self, query: Query) -> tuple[Any, Callable[..., Iterator[Any]]]:
        """Return the rows that a query is about, and how they answer."""
        reading = query.reading if isinstance(query, EncodedQuery) else None
        if not isinstance(query, EncodedQuery) or reading is None or reading.keep == "none":
            return self._sources, _answer_from_source
        self._begin_reading(reading)
        if query.voting_space is not None or isinstance(query, VoteQuery):
            self._space.check_space(query.voting_space)
        if query.voting_space is not None:
            return self._prepare_rows(reading, query.voting_space), _answer_from_segments
        if self._encoded is None:
            self._encoded = self._encode_rows(reading).persist(_get_storage_level())
        return self._encoded, _answer_from_segments

    def _prepare_rows(self, reading: EncodedReading, voting_space: VotingSpace) -> Any:
        if self._prepared is None:
            rows = self._encoded or self._encode_rows(reading)
            prepare = partial(_prepare_partition, voting_space, reading.category_weight)
            self._prepared = rows.mapPartitionsWithIndex(prepare).persist(_get_storage_level())
        return self._prepared

    def _encode_rows(self, reading: EncodedReading) -> Any:
        return self._sources.mapPartitionsWithIndex(
            partial(_encode_partition, self._common, reading)
        )

    def _begin_reading(self, reading: EncodedReading) -> None:
        """Let go of rows that were encoded in another way: one way is kept at a time."""
        if reading.number != self._reading:
            self._release_rows()
            self._reading, self._space = reading.number, VotingSpaceGuard()

    def _release_rows(self) -> None:
        for rows in (self._encoded, self._prepared):
            if rows is not None:
                rows.unpersist()
        self._encoded = self._prepared = None

    def _reduce_answers(self, answers: Any) -> Answer | ShardFailure:
        if self.shards <= DIRECT:
            found: Answer | ShardFailure = answers.reduce(merge_answers)
        else:
            found = answers.treeReduce(merge_answers)
        return found


def merge_answers(
    one: Answer | ShardFailure, other: Answer | ShardFailure
) -> Answer | ShardFailure:
    """Return the sum of two answers, or the failure of the first shard that failed.

    Example:
        >>> merge_answers(Answer([], {0: b""}), Answer([], {1: b""})).digests
        {0: b'', 1: b''}
    """
    failures = [answer for answer in (one, other) if isinstance(answer, ShardFailure)]
    if failures:
        return min(failures, key=lambda failed: failed.shard)
    try:
        return sum_or_raise((one, other))
    except Exception as error:
        return ShardFailure(min(one.digests, default=0), redact_error(error))  # type: ignore[union-attr]


def _answer_from_source(
    sent: Any, common: WorkerSettings, number: int, sources: Iterable[TableSource]
) -> Iterator[Any]:
    """Answer by the rows themselves."""
    (source,) = sources
    place = ShardIndex(number, common.shards)
    yield Shard(place, source, common.unit, common.resources).try_answer(_load_query(sent))


def _answer_from_segments(
    sent: Any, common: WorkerSettings, number: int, segments: Iterable[Segment | ShardFailure]
) -> Iterator[Any]:
    """Answer by rows that were encoded before."""
    query = _load_query(sent)
    segments = _raise_failure(segments)
    yield answer_from_segments(segments, query, query.reading, common.unit, number)


def _encode_partition(
    common: WorkerSettings, reading: EncodedReading, number: int, sources: Iterable[TableSource]
) -> Iterator[Segment | ShardFailure]:
    (source,) = sources
    place = ShardIndex(number, common.shards)
    shard = Shard(place, source, common.unit, common.resources)
    return _catch_failure(number, lambda: encode_segments(shard, reading))


def _prepare_partition(
    voting_space: Any,
    category_weight: float,
    number: int,
    segments: Iterable[Segment | ShardFailure],
) -> Iterator[Segment | ShardFailure]:
    return _catch_failure(
        number, lambda: prepare_segments(_raise_failure(segments), voting_space, category_weight)
    )


def _catch_failure(
    number: int, make: Callable[[], Iterable[Segment]]
) -> Iterator[Segment | ShardFailure]:
    """Yield segments, and in the place of an error why there are no more of them."""
    try:
        yield from make()
    except Exception as error:
        yield ShardFailure(number, redact_error(error))


def _raise_failure(segments: Iterable[Segment | ShardFailure]) -> Iterator[Segment]:
    for segment in segments:
        if isinstance(segment, ShardFailure):
            raise segment.error
        yield segment


def _load_query(sent: Any) -> Any:
    return _get_serializer().loads(sent.value)


def _get_serializer() -> Any:
    """Return what Spark sends values with. By itself it fails to send large arrays encrypted."""
    return import_spark_module("pyspark.serializers").CloudPickleSerializer()


def _get_storage_level() -> Any:
    return import_spark_module("pyspark").StorageLevel.MEMORY_AND_DISK


_CONNECT_TIMEOUT = 10.0  # seconds
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


def join_context(resources: Resources) -> tuple[Any, Callable[[], None]]:
    """Return the context of a session to count in, and what undoes that.

    A process has one context, which all its sessions share.

    Args:
        resources: Where the cluster is, and how many cores to use.
    """
    kind = import_spark_module("pyspark").SparkContext
    found = kind._active_spark_context  # noqa: SLF001
    if found is None and SUBMITTED in os.environ:
        found = kind.getOrCreate()
        return found, found.stop
    if found is None:
        return _start_context(kind, resources)
    if resources.address not in (None, found.master):
        raise ParameterError(
            f"address={resources.address!r}: a session of Spark is active already, at "
            f"{found.master!r}: leave the address out, or stop the session."
        )
    return found, lambda: None


def _start_context(kind: Any, resources: Resources) -> tuple[Any, Callable[[], None]]:
    if not (os.environ.get("JAVA_HOME") or shutil.which("java")):
        raise TabpeError("engine='spark': Spark needs Java 17 or newer: install it.")
    given = os.environ.get(PYTHON)
    os.environ[PYTHON] = given or sys.executable
    problem = None
    try:
        context = _connect_context(kind, resources)
    except Exception as error:
        problem = type(error).__name__
    finally:
        _restore_python(given)
    if problem is not None:
        _stop_java(kind)
        raise TabpeError(
            f"address={resources.address!r}: no session of Spark could be started there "
            f"({problem}): expected 'local[2]', 'spark://HOST:PORT' or another master that runs "
            f"the same version of Spark."
        )

    def leave() -> None:
        context.stop()
        _stop_java(kind)

    return context, leave


def _connect_context(kind: Any, resources: Resources) -> Any:
    _check_address(resources.address or "")
    settings = (
        import_spark_module("pyspark").SparkConf().setAppName("tabpe").setAll(_SETTINGS.items())
    )
    master = resources.address or f"local[{resources.jobs}]"
    settings.setMaster(master)
    if master.startswith("local"):
        # Each run has a secret of its own, which Spark makes up.
        settings.setAll(_LOCAL_SETTINGS.items())
    if resources.workers is not None:
        settings.set("spark.cores.max", str(resources.workers))
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    gateway = import_spark_module("pyspark.java_gateway").launch_gateway(settings, quiet)
    with suppress_spark_warnings():
        return kind(conf=settings, gateway=gateway)


def _check_address(address: str) -> None:
    """Fail if nobody listens at a standalone master: Spark would try for a minute."""
    host, _, port = address.removeprefix("spark://").rpartition(":")
    if address.startswith("spark://") and "," not in host:  # which would name several
        socket.create_connection((host, int(port)), timeout=_CONNECT_TIMEOUT).close()


def _stop_java(kind: Any) -> None:
    """End the JVM as well: a session that the user starts later is to have one that speaks."""
    gateway = kind._gateway  # noqa: SLF001
    if gateway is None:
        return
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait()
    kind._gateway = kind._jvm = None  # noqa: SLF001


def _restore_python(python: str | None) -> None:
    if python is None:
        del os.environ[PYTHON]
    else:
        os.environ[PYTHON] = python


# Parts for each core: enough that a slow one does not hold up the others for long. With each part
# the candidates of a round are put in order once more.
PARTS_A_CORE = 2


def open_spark_backend(
    source: TableSource, unit: PrivacyUnit | None, resources: Resources, on_ready: Ready
) -> ShardedBackend:
    """Return who counts in a table by the workers of Spark.

    Args:
        source: The table: a data frame of Spark; files, which driver and workers must find under
            the same paths; or what is in memory here, which is sent to them.
        unit: Who is a user, for a user-level guarantee; None if every row is one of its own.
        resources: Where the cluster is, and how many of its cores to use.
        on_ready: Called with how many shards have answered, and how many there are.
    """
    context, leave = join_context(resources)
    try:
        most = PARTS_A_CORE * (resources.workers or context.defaultParallelism)
        sources = _distribute_source(context, source, most)
        if unit is not None:
            sources = _group_by_user(sources, source.library, source.names, unit, most)
        each = resources.divide_by_shards(max(most // PARTS_A_CORE, 1))
        pool = SparkShardPool(sources, unit, each, on_ready=on_ready, on_close=leave)
    except BaseException:
        leave()
        raise
    return ShardedBackend(pool, 1 if unit is None else unit.scale)


@dataclass(frozen=True, eq=False)
class PartitionSource:
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


def _distribute_source(context: Any, source: TableSource, most: int) -> Any:
    """Return an RDD with a part of the table in each partition."""
    parts = divide_source(source, most)
    if isinstance(parts[0], SparkSource):
        rows = parts[0].serialize_rows()
        # Partitions are put together where they are, which sends nothing.
        rows = rows.coalesce(most) if rows.getNumPartitions() > most else rows
        return rows.mapPartitionsWithIndex(
            partial(_wrap_partition, parts[0].library, parts[0].build_schema())
        )
    return context.parallelize([_copy_part(part) for part in parts], len(parts))


def _wrap_partition(
    library: str, schema: pa.Schema, number: int, carried: Iterable[bytes]
) -> Iterator[PartitionSource]:
    """Return the rows of a partition as a source, which reads them as they come."""
    yield PartitionSource(library, list(schema.names), _read_batches(schema, number, carried))


def _read_batches(schema: pa.Schema, number: int, carried: Iterable[bytes]) -> Iterator[Batch]:
    first = 0
    for table in regroup_batches(
        batch for stream in carried for batch in read_arrow_stream(stream)
    ):
        named = table.rename_columns(schema.names).cast(schema)
        yield Batch(named, f"partition {number}", first)
        first += table.num_rows


def _copy_part(part: TableSource) -> TableSource:
    """Return a part without the rest of the frame: a slice would take all of it along."""
    if not isinstance(part, FrameSource):
        return part
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, part.table.schema) as writer:
        writer.write_table(part.table)
    return replace(part, table=pa.ipc.open_stream(sink.getvalue()).read_all())


def _group_by_user(
    sources: Any, library: str, names: list[str], unit: PrivacyUnit, shards: int
) -> Any:
    """Return the same with all rows of a user in one partition: the one of its id."""
    spread = sources.flatMap(partial(_send_to_shards, unit, shards)).partitionBy(shards, int)
    return spread.mapPartitions(partial(_gather_batches, library, names))


def _send_to_shards(
    unit: PrivacyUnit, shards: int, source: TableSource
) -> Iterator[tuple[int, Batch]]:
    """Yield the rows of a part for each shard; columns that nobody reads are left behind."""
    for batch in source.batches(list(dict.fromkeys([unit.column, *unit.names]))):
        numbers = assign_shards(batch.table, unit, shards)
        for number in range(shards):
            places = (numbers == number).nonzero()[0]
            if len(places):
                table = batch.table.take(places)
                yield number, replace(batch, table=table, row_offsets=places)


def _gather_batches(
    library: str, names: list[str], pairs: Iterable[tuple[int, Batch]]
) -> Iterator[PartitionSource]:
    # Read twice: for who the users are, and for their rows.
    yield PartitionSource(library, names, [batch for _, batch in pairs])
