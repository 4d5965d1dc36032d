"""Sources: tables that are read batch by batch, as often as needed.

A source knows its columns and an upper bound of its size, and reads its rows again each time it is
asked. One batch is in memory at a time, however large the table is. A source may be divided into
parts that are read separately; each row is in exactly one of them.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import pyarrow as pa

from tabpe._utils.files import DATABASES, STORES, get_scheme, strip_secrets
from tabpe.errors import DataError, column_hint
from tabpe.io import batches
from tabpe.io.batches import Batch, Limits, check_names, group_evenly, read_safely, regroup_batches
from tabpe.io.canonical import (
    canonicalize_table,
    concatenate_tables,
    find_nested_columns,
    normalize_texts,
    replace_nulls,
)
from tabpe.io.clusters import RaySource, SparkSource, is_spark_frame
from tabpe.io.files import PartitionedFile, find_files, open_table_file
from tabpe.io.frames import ARROW, read_frame
from tabpe.io.sql import SqlTable, open_sql
from tabpe.io.sql.drivers import is_relation, open_relation
from tabpe.io.stores import DatasetSource, open_store, parse_local_path
from tabpe.io.text_streams import TableFile
from tabpe.schema.table_format import CellRules, TableReading


class TableSource(Protocol):
    """A table that can be read again and again."""

    @property
    def library(self) -> str:
        """The data frame library that the table comes from; Arrow's for everything else."""
        ...

    @property
    def nested(self) -> frozenset[str]:
        """The columns of a nested type (lists, structs), which can not be read."""
        ...

    @property
    def names(self) -> list[str]:
        """Its columns."""
        ...

    @property
    def most_rows(self) -> int | None:
        """An upper bound of the number of rows; None if unknown before reading. Private."""
        ...

    def batches(self, names: Sequence[str] | None = None) -> Iterator[Batch]:
        """Read the rows, with the columns `names` alone, or all of them."""
        ...


def check_unit_column(source: TableSource, column: str, declared: Iterable[str] = ()) -> None:
    """Refuse a table whose column of user ids is missing or has nested values.

    Args:
        source: The table.
        column: The column of user ids.
        declared: The other columns that were declared.
    """
    if column not in source.names:
        hint = column_hint(column, source.names, declared)
        raise DataError(f"unit={column!r}: the table has no such column: {hint}")
    if column in source.nested:
        raise DataError(f"unit={column!r}: a column of lists: expected text, numbers or dates.")


def check_plain_columns(source: TableSource, names: Sequence[str]) -> None:
    """Refuse columns of lists or other nested values, before a row is read."""
    for name in names:
        if name in source.nested:
            raise DataError(
                f"column {name!r} has lists or other nested values: expected plain values: remove "
                f"it from the schema, drop it, or split it into several columns."
            )


def open_source(
    data: Any, *, limits: Limits | None = None, reading: TableReading | None = None
) -> TableSource:
    """Return a source for a table, wherever it is.

    Args:
        data: A data frame, also of Spark; a dataset of Arrow or Ray; a relation of DuckDB; a
            `SqlTable`; the path of a file of text (.csv, .tsv, .txt, also compressed), JSON lines,
            Parquet, Arrow, Excel, Stata, SAS or SPSS, of a folder of such files, or a pattern; or
            the address of a file or a folder in a store, such as `s3://bucket/patients/`.
        limits: The most to read; None for the limits of the environment. Frames are not limited.
        reading: The layout of files, and what cells mean, as the schema states them.

    Example:
        >>> source = open_source(pa.table({"age": [31, 42], "sex": ["f", "m"]}))
        >>> source.names, source.most_rows, source.library
        (['age', 'sex'], 2, 'pyarrow')
        >>> [batch.table.to_pylist() for batch in source.batches(["age"])]
        [[{'age': 31}, {'age': 42}]]
    """
    limits, reading = limits or Limits.from_environment(), reading or TableReading()
    if isinstance(data, (str, Path)):
        return _open_path(data, limits, reading)
    found = None if isinstance(data, pa.Table) else _open_external(data, limits)
    if found is not None:
        return _refuse_rules(found, reading)
    table, library = read_frame(data, reading.rules)
    return FrameSource(replace_nulls(table, reading.rules), library)


def _refuse_rules(source: TableSource, reading: TableReading) -> TableSource:
    """Refuse rules for cells of a table that another system reads."""
    for name, rules in reading.rules.items():
        if name in source.names:
            field = "nulls" if rules.nulls else "format"
            raise DataError(
                f"column {name!r}: {field}: is for files and frames: convert the column in a "
                f"query, and leave it out of the schema."
            )
    return source


def _open_external(data: Any, limits: Limits) -> TableSource | None:
    """Return a source for a table that another system reads; None if `data` is not one."""
    if isinstance(data, SqlTable):
        return open_sql(data, limits)
    if is_relation(data):
        return open_relation(data, limits)
    if is_spark_frame(data):
        return SparkSource(data, limits)
    datasets = sys.modules.get("pyarrow.dataset")
    if datasets is not None and isinstance(data, datasets.Dataset):
        return DatasetSource(data, limits)
    ray_data = sys.modules.get("ray.data")
    if ray_data is not None and isinstance(data, ray_data.Dataset):
        return RaySource.from_dataset(data, limits)
    return None


@contextmanager
def use_source(
    data: Any, *, limits: Limits | None = None, reading: TableReading | None = None
) -> Iterator[TableSource]:
    """Open a source as `open_source` does, and close its connection at the end.

    Example:
        >>> with use_source(pa.table({"age": [31, 42]})) as source:
        ...     source.names
        ['age']
    """
    source = open_source(data, limits=limits, reading=reading)
    try:
        yield source
    finally:
        getattr(source, "close", lambda: None)()


def open_table(data: Any, reading: TableReading | None = None) -> tuple[pa.Table, str]:
    """Return all rows as canonical cells, and the name of the data frame library.

    Args:
        data: A table, as for `open_source`.
        reading: The layout of files, and what cells mean, as the schema states them.

    Example:
        >>> table, library = open_table(pa.table({"age": [31, 42]}))
        >>> table.num_rows, library
        (2, 'pyarrow')
    """
    with use_source(data, reading=reading) as source:
        return collect_table(source, source.names, where=get_title(data)), source.library


def read_table(path: str | Path, *, limits: Limits | None = None) -> pa.Table:
    """Read a file, a folder, or all files that match a pattern into one Arrow table.

    Args:
        path: A path, as for `open_source`.
        limits: The most to read; None for the limits of the environment.

    Raises:
        DataError: If there is no such file, or it is not a plain table with unique, named
            columns and at least one row.
    """
    limits = limits or Limits.from_environment()
    source = FileSource.from_path(path, limits)
    return collect_table(source, source.names, where=str(path), limits=limits)


def collect_table(
    source: TableSource, names: Sequence[str], *, where: str, limits: Limits | None = None
) -> pa.Table:
    """Return some columns of all rows as one Arrow table.

    Args:
        source: The table.
        names: The columns.
        where: The name of the table in errors.
        limits: The most to hold; None for the limits of the environment.

    Raises:
        DataError: If there is no row.
    """
    limits, kept, size = limits or Limits.from_environment(), [], 0
    if isinstance(source, FrameSource):
        kept.append(canonicalize_table(source.table.select(list(names))))
    else:
        for batch in source.batches(names):
            size += batch.table.nbytes
            limits.check_limit("whole_bytes", size, where=where)
            kept.append(batch.table)
    if not any(table.num_rows for table in kept):
        raise DataError(f"{where}: the table has no rows.")
    return concatenate_tables(kept)


def get_title(data: Any) -> str:
    """Return the name of a table for errors, without a password."""
    return strip_secrets(data) if isinstance(data, (str, Path)) else "data"


@dataclass(frozen=True, eq=False)
class FrameSource:
    """A data frame in memory.

    Args:
        table: Its rows.
        library: The data frame library it comes from.
        first_row: The number of rows of the frame before them, if they are a part of it.
    """

    table: pa.Table
    library: str
    first_row: int = 0

    @property
    def nested(self) -> frozenset[str]:
        """The columns of lists and the like."""
        return find_nested_columns(self.table.schema)

    @property
    def names(self) -> list[str]:
        """Its columns."""
        return list(self.table.schema.names)

    @property
    def most_rows(self) -> int:
        """Its number of rows."""
        return int(self.table.num_rows)

    def batches(self, names: Sequence[str] | None = None) -> Iterator[Batch]:
        """Yield slices of the table; nothing is copied."""
        table = self.table if names is None else self.table.select(list(names))
        step = batches.ROWS_A_BATCH
        for start in range(0, table.num_rows, step):
            yield Batch(table.slice(start, step), None, self.first_row + start)

    def divide_into(self, most: int) -> list[FrameSource]:
        """Return slices of the frame; nothing is copied."""
        ends = [self.most_rows * number // most for number in range(most + 1)]
        return [
            replace(self, table=self.table.slice(start, end - start), first_row=start)
            for start, end in itertools.pairwise(ends)
        ]


@dataclass(frozen=True, eq=False)
class FileSource:
    """Files with the same columns.

    Args:
        where: The path they were opened by.
        files: The files in order, each with its partition keys. Files may store a column in
            different types.
        names: The columns, partition keys last.
        nested: The columns of a nested type in some file.
        most_rows: An upper bound of the number of rows.
        limits: The most to read of them.
        rules: What the cells of some columns mean, by name.
    """

    where: str
    files: Sequence[tuple[TableFile, PartitionedFile]]
    names: list[str]
    nested: frozenset[str]
    most_rows: int
    limits: Limits
    rules: Mapping[str, CellRules] = field(default_factory=dict)

    @classmethod
    def from_path(
        cls, path: str | Path, limits: Limits, reading: TableReading | None = None
    ) -> FileSource:
        """Read the head of every file that a path stands for."""
        reading = reading or TableReading()
        found = find_files(path, limits)
        files = [open_table_file(one.path, limits, reading) for one in found]
        heads = [file.read_head() for file in files]
        schemas = [
            _build_full_schema(one, head.schema) for one, head in zip(found, heads, strict=True)
        ]
        for one, schema in zip(found, schemas, strict=True):
            limits.check_limit("columns", len(schema.names), where=str(one.path))
            if schema.names != schemas[0].names:
                raise DataError(f"{one.path}: its columns differ from those of {found[0].path}.")
        nested = frozenset[str]().union(*map(find_nested_columns, schemas))
        most_rows = sum(head.most_rows for head in heads)
        pairs = list(zip(files, found, strict=True))
        names = list(schemas[0].names)
        return cls(str(path), pairs, names, nested, most_rows, limits, reading.rules)

    @property
    def library(self) -> str:
        """Arrow's."""
        return ARROW

    @property
    def names_are_data(self) -> bool:
        """Whether rows say which columns there are, unless columns are declared."""
        return any(file.names_are_data for file, _ in self.files)

    def batches(self, names: Sequence[str] | None = None) -> Iterator[Batch]:
        """Read file after file; a file may have no rows."""
        wanted = self.names if names is None else list(names)
        return self.limits.check_batches(self._iterate_batches(wanted), where=self.where)

    def divide_into(self, most: int) -> list[FileSource]:
        """Return parts of the table: whole files, or row groups of Parquet files."""
        pieces = [(piece, found) for file, found in self.files for piece in file.divide_into(most)]
        sizes = [piece.read_head().most_rows for piece, _ in pieces]
        of_sizes = group_evenly(list(zip(pieces, sizes, strict=True)), sizes, most)
        return [
            replace(
                self,
                files=[piece for piece, _ in part],
                most_rows=sum(size for _, size in part),
            )
            for part in of_sizes
        ]

    def _iterate_batches(self, wanted: Sequence[str]) -> Iterator[Batch]:
        for file, found in self.files:
            first = file.first_row
            for part in regroup_batches(self._read_file(file, found, wanted)):
                table = _add_key_columns(part, found).select(wanted)
                if not file.has_typed_cells:
                    table = normalize_texts(table, self.rules)
                yield Batch(replace_nulls(table, self.rules), str(file.path), first)
                first += table.num_rows

    def _read_file(
        self, file: TableFile, found: PartitionedFile, wanted: Sequence[str]
    ) -> Iterator[pa.RecordBatch]:
        own = [name for name in self.names if name not in found.key_names]
        # A batch without a column would have no rows.
        chosen = [name for name in own if name in wanted] or own[:1]
        for batch in file.read_batches(chosen):
            if not set(chosen) <= set(batch.schema.names):
                raise DataError(f"{file.path}: its columns changed since it was opened.")
            part = batch.select(chosen)
            # Unchecked buffers could be read beyond their end, or as part of a character.
            read_safely(file.path, partial(part.validate, full=True), lambda: "not a sound file.")
            self.limits.check_cells(part, where=str(file.path))
            yield part


def _add_key_columns(table: pa.Table, found: PartitionedFile) -> pa.Table:
    for name, value in found.keys:
        cells = pa.repeat(pa.scalar(value, pa.string()), table.num_rows)
        table = table.append_column(name, cells)
    return table


def _build_full_schema(found: PartitionedFile, schema: pa.Schema) -> pa.Schema:
    fields = [*schema.remove_metadata(), *(pa.field(n, pa.string()) for n in found.key_names)]
    check_names([field.name for field in fields], where=str(found.path))
    return pa.schema(fields)


def _open_path(path: str | Path, limits: Limits, reading: TableReading) -> TableSource:
    # A `Path` is always local: one made from an address has lost a slash.
    scheme = get_scheme(path) if isinstance(path, str) and "://" in path else None
    if scheme in DATABASES:
        raise DataError(
            f"{strip_secrets(path)}: the address of a database: name a table with --table, "
            f"--query, or tabpe.SqlTable(address, 'table')."
        )
    if scheme == "file":
        return FileSource.from_path(parse_local_path(str(path)), limits, reading)
    if scheme not in STORES:
        return FileSource.from_path(path, limits, reading)
    layout = reading.layout
    if layout is not None and layout.stated:
        raise DataError(
            f"{strip_secrets(path)}: format: {layout.stated[0]}: is for local files: copy the "
            f"file, or leave out the format."
        )
    return _refuse_rules(open_store(str(path), limits), reading)


@runtime_checkable
class DivisibleSource(Protocol):
    """A source that can be divided."""

    def divide_into(self, most: int) -> Sequence[TableSource]:
        """Return at most `most` parts of about equal size; a part may have no row."""
        ...


def divide_source(source: TableSource, most: int) -> list[TableSource]:
    """Return at most `most` parts of about equal size; the source itself if it is indivisible.

    Example:
        >>> import pyarrow as pa
        >>> from tabpe.io import open_source
        >>> [part.most_rows for part in divide_source(open_source(pa.table({"age": range(7)})), 3)]
        [2, 2, 3]
    """
    return list(source.divide_into(most)) if isinstance(source, DivisibleSource) else [source]
