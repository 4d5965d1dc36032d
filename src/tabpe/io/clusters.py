"""Tables that live in a Ray or Spark cluster.

`RaySource` reads a dataset of Ray Data block by block. Blocks stay where they are: the source holds
references, and Ray rebuilds a block that is lost.

`SparkSource` reads a data frame of Spark. Rows leave the JVM as Arrow batches, on the workers, one
partition at a time. Nothing is collected.
"""

from __future__ import annotations

import importlib
import itertools
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import pyarrow as pa

from tabpe._utils.arrays import try_call
from tabpe.errors import DataError, ParameterError, TabpeError
from tabpe.io.batches import Batch, Limits, check_names, group_evenly, regroup_batches
from tabpe.io.canonical import find_nested_columns
from tabpe.io.frames import ARROW, SPARK


@dataclass(frozen=True, eq=False)
class RaySource:
    """A `ray.data.Dataset`.

    Args:
        schema: Names and types of its columns.
        limits: The most to read of it.
        dataset: The dataset, whose blocks are computed when they are first read.
        blocks: The blocks of a part, each with the number of rows before it.
    """

    schema: pa.Schema
    limits: Limits
    dataset: Any = None
    blocks: Sequence[tuple[Any, int]] | None = None
    _computed: list[Any] = field(default_factory=list, repr=False)

    lives_on = "ray"

    @classmethod
    def from_dataset(cls, dataset: Any, limits: Limits) -> RaySource:
        """Return a source for a dataset; reads its schema."""
        found = dataset.schema()
        if found is None:
            raise DataError("data: the dataset has no columns.")
        check_names(list(found.names), where="data")
        limits.check_limit("columns", len(found.names), where="data")
        return cls(pa.schema(zip(found.names, found.types, strict=True)), limits, dataset)

    @property
    def library(self) -> str:
        """The library of the output frames: pyarrow."""
        return ARROW

    @property
    def nested(self) -> frozenset[str]:
        """The columns of a nested type."""
        return find_nested_columns(self.schema)

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return list(self.schema.names)

    @property
    def most_rows(self) -> None:
        """Not known before reading."""
        return

    def batches(self, names: Sequence[str] | None = None) -> Iterator[Batch]:
        """Read block after block."""
        wanted = self.names if names is None else list(names)
        return self.limits.check_batches(self._iterate_batches(wanted), where="data")

    def divide_into(self, most: int) -> list[RaySource]:
        """Return parts of consecutive blocks."""
        import ray

        blocks = self._get_blocks()
        rows = ray.remote(num_cpus=0)(_count_rows)
        sizes = ray.get([rows.remote(block) for block in blocks])
        before = list(itertools.accumulate(sizes, initial=0))
        offset_blocks = list(zip(blocks, before, strict=False))
        return [
            replace(self, dataset=None, blocks=part, _computed=[])
            for part in group_evenly(offset_blocks, sizes, most)
        ]

    def _iterate_batches(self, wanted: list[str]) -> Iterator[Batch]:
        import ray

        known = self.blocks is not None
        rows = 0
        for block, before in self.blocks or [(block, 0) for block in self._get_blocks()]:
            first = before if known else rows
            for table in regroup_batches(self._read_block(ray.get(block), wanted)):
                yield Batch(table, None, first)
                first += table.num_rows
                rows += table.num_rows

    def _read_block(self, block: Any, wanted: list[str]) -> Iterator[pa.RecordBatch]:
        table = try_call(lambda: block.select(wanted), KeyError)
        if table is None:
            raise DataError("data: the blocks hold different columns.")
        for batch in table.to_batches():
            self.limits.check_cells(batch, where="data")
            yield batch

    def _get_blocks(self) -> list[Any]:
        """Return references to the blocks, which are computed once."""
        if not self._computed:
            self._computed.extend(_run_quietly(self.dataset.to_arrow_refs))
        return self._computed


def _count_rows(block: pa.Table) -> int:
    return int(block.num_rows)


def _run_quietly(call: Any) -> Any:
    """Run a call of Ray Data without progress bars and messages in the terminal."""
    from ray.data import DataContext

    context = DataContext.get_current()
    shown = context.enable_progress_bars, context.print_on_execution_start
    context.enable_progress_bars = context.print_on_execution_start = False
    try:
        return call()
    finally:
        context.enable_progress_bars, context.print_on_execution_start = shown


T = TypeVar("T")
_TYPES = {
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "date": pa.date32(),
    "timestamp_ntz": pa.timestamp("us"),
}
_DECIMAL = re.compile(r"decimal\((\d+),(-?\d+)\)")
_TEXT = re.compile(r"(string|varchar|char)\b.*")


def is_spark_frame(data: Any) -> bool:
    """Return whether `data` is a data frame of Spark, without importing Spark.

    Example:
        >>> is_spark_frame(pa.table({"age": [31]}))
        False
    """
    module = sys.modules.get("pyspark.sql")
    return module is not None and isinstance(data, module.DataFrame)


@dataclass(frozen=True, eq=False)
class SparkSource:
    """A data frame of Spark.

    Args:
        frame: The frame. Its session must be a classic one: Spark Connect has no RDDs.
        limits: The most to read of it.
    """

    frame: Any
    limits: Limits

    lives_on = "spark"

    def __post_init__(self) -> None:
        if type(self.frame).__module__.startswith("pyspark.sql.connect"):
            raise DataError(
                "data: a data frame of Spark Connect, which can not send candidates to workers: "
                "use a classic session (spark-submit, or a master such as spark://host:7077)."
            )
        check_names(self.names, where="data")
        self.limits.check_limit("columns", len(self.names), where="data")
        self.build_schema()

    def build_schema(self) -> pa.Schema:
        """Return names and types of its columns in Arrow.

        Raises:
            DataError: If a column has a type that can not be read.
        """
        zone = self.frame.sparkSession.conf.get("spark.sql.session.timeZone")
        kinds = {one.name: one.dataType.simpleString() for one in self.frame.schema}
        return pa.schema(
            [(name, _get_arrow_type(name, kind, zone)) for name, kind in kinds.items()]
        )

    @property
    def library(self) -> str:
        """The library of the output frames: Spark."""
        return SPARK

    @property
    def nested(self) -> frozenset[str]:
        """None: such columns are refused when the frame is opened."""
        return find_nested_columns(self.build_schema())

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return list(self.frame.columns)

    @property
    def most_rows(self) -> None:
        """Not known before reading."""
        return

    def batches(self, names: Sequence[str] | None = None) -> Iterator[Batch]:
        """Read the rows into this process, a partition at a time."""
        wanted = self.names if names is None else list(names)
        first = 0
        for stream in self._collect_streams(wanted):
            for table in regroup_batches(read_arrow_stream(stream)):
                yield Batch(table.rename_columns(wanted), None, first)
                first += table.num_rows

    def serialize_rows(self, names: Sequence[str] | None = None) -> Any:
        """Return an RDD of its rows as Arrow streams in bytes, in the partitions of the frame.

        Their columns are `names` in order, without these names. There is at least one partition.
        """
        rows = run_spark_safely(lambda: self._serialize_rows(names))
        return rows if rows.getNumPartitions() else rows.context.parallelize([], 1)

    def _serialize_rows(self, names: Sequence[str] | None) -> Any:
        # Selected by number: Spark reads a dot in a name as access to a field.
        indices = [self.names.index(name) for name in names or self.names]
        frame = self.frame.toDF(*map(str, range(len(self.names)))).select(*map(str, indices))
        with suppress_spark_warnings():
            return frame.mapInArrow(_serialize_batches, "rows binary").rdd.map(_get_row_bytes)

    def _collect_streams(self, names: Sequence[str]) -> Iterator[bytes]:
        rows: Iterator[bytes] = self.serialize_rows(names).toLocalIterator()
        while True:
            stream = run_spark_safely(lambda: next(rows, None))
            if stream is None:
                return
            yield stream


def run_spark_safely(call: Callable[[], T]) -> T:
    """Return the result of a call to Spark.

    Privacy: the message of an error of Spark is dropped, since it may quote a cell.

    Example:
        >>> run_spark_safely(lambda: 1)
        1
    """
    try:
        return call()
    except Exception as error:
        if not type(error).__module__.startswith(("py4j", "pyspark")):
            raise
        problem = _get_error_condition(error)
    # Outside of the `except`, so that the original error is not attached.
    raise TabpeError(
        f"spark: a job failed ({problem}): see the logs of its workers. Is tabpe installed there, "
        f"and is there enough memory?"
    )


def read_arrow_stream(stream: bytes) -> Iterator[pa.RecordBatch]:
    """Yield the batches of an Arrow stream; nothing is copied."""
    with pa.ipc.open_stream(pa.py_buffer(stream)) as reader:
        yield from reader


def make_spark_frame(table: pa.Table) -> Any:
    """Return rows as a data frame of the active Spark session.

    Raises:
        TabpeError: If there is no active session.
    """
    session = import_spark_module("pyspark.sql").SparkSession.getActiveSession()
    if session is None:
        raise TabpeError(
            "spark: the fitted table is a data frame of Spark, and there is no active session to "
            "create the output in: start one (SparkSession.builder.getOrCreate())."
        )
    with suppress_spark_warnings():
        return session.createDataFrame(table, _build_spark_schema(table.schema))


@contextmanager
def suppress_spark_warnings() -> Iterator[None]:
    """Suppress Spark's warnings about pandas, which is not used here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        yield


def import_spark_module(name: str) -> Any:
    """Import a module of Spark; a missing installation is a `ParameterError`."""
    try:
        with suppress_spark_warnings():
            return importlib.import_module(name)
    except ImportError:
        pass
    raise ParameterError("engine='spark': Spark is not installed: pip install 'tabpe[spark]'.")


def _get_arrow_type(name: str, kind: str, zone: str) -> pa.DataType:
    decimal = _DECIMAL.fullmatch(kind)
    if decimal:
        return pa.decimal128(int(decimal[1]), int(decimal[2]))
    if kind == "timestamp":
        return pa.timestamp("us", zone)
    found = _TYPES.get("string" if _TEXT.fullmatch(kind) else kind)
    if found is None:
        raise DataError(
            f"data: column {name!r} is of type {kind}: expected numbers, text, booleans, dates "
            f"or timestamps; drop it, or select its parts as separate columns."
        )
    return found


def _build_spark_schema(schema: pa.Schema) -> Any:
    """Return the Spark schema; timestamps without a zone stay without one."""
    kinds = import_spark_module("pyspark.sql.pandas.types").from_arrow_schema(schema)
    without = import_spark_module("pyspark.sql.types").TimestampNTZType()
    for ours, theirs in zip(schema, kinds, strict=True):
        if pa.types.is_timestamp(ours.type) and ours.type.tz is None:
            theirs.dataType = without
    return kinds


def _serialize_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Serialize each batch into one binary cell, so that rows never become Python objects."""
    for batch in batches:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as writer:
            writer.write_batch(batch)
        cell = pa.array([sink.getvalue().to_pybytes()], pa.binary())
        yield pa.RecordBatch.from_arrays([cell], ["rows"])


def _get_row_bytes(row: Any) -> bytes:
    return bytes(row[0])


def _get_error_condition(error: Any) -> str:
    """Return Spark's name of the error condition, or the class of the error."""
    get = getattr(error, "getCondition", None)
    return str((get() if get else None) or type(error).__name__)
