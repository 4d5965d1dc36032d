"""`pyarrow.dataset.Dataset`: tables that Arrow itself finds and reads."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from tabpe._arrow import attempt
from tabpe.io.batches import Batch, regrouped
from tabpe.io.canonical import nested_in
from tabpe.io.dealing import dealt
from tabpe.io.faults import check_names, each
from tabpe.io.frames import ARROW
from tabpe.io.limits import Limits
from tabpe.io.parquet import ParquetTable

# Kinds of files in which the number of rows is written down.
_COUNTED = ("parquet", "arrow", "feather", "ipc")


@dataclass(frozen=True, eq=False)
class DatasetSource:
    """A `pyarrow.dataset.Dataset`, which is read in Arrow's way.

    Args:
        dataset: The dataset.
        limits: The most to read of it.
        chosen: The fragments to read, each with how many rows of its file come before; None for
            all. A part of a table may have no row.
    """

    dataset: Any
    limits: Limits
    chosen: Sequence[tuple[Any, int]] | None = None

    def __post_init__(self) -> None:
        self.limits.check("columns", len(self.names), where="data")
        check_names(self.names, where="data")

    @property
    def library(self) -> str:
        """Arrow's."""
        return ARROW

    @property
    def nested(self) -> frozenset[str]:
        """The columns of lists and the like."""
        return nested_in(self.dataset.schema)

    @property
    def names(self) -> list[str]:
        """Its columns."""
        return list(self.dataset.schema.names)

    @property
    def most_rows(self) -> int | None:
        """The number of rows, if all its files tell theirs."""
        fragments = [one for one in self._fragments() if one is not self.dataset]
        counts = [_told_rows(fragment) for fragment in fragments] or [None]
        known = [count for count in counts if count is not None]
        return sum(known) if len(known) == len(counts) else None

    def batches(self, names: Sequence[str] | None = None) -> Iterator[Batch]:
        """Read fragment after fragment."""
        wanted = self.names if names is None else list(names)
        return self.limits.held(self._batches(wanted), where="data")

    def parts(self, most: int) -> list[DatasetSource]:
        """Return the same in parts: of whole files, or of groups of rows of Parquet files."""
        pieces = [piece for fragment in self._fragments() for piece in _pieces(fragment)]
        sizes = [size for *_, size in pieces]
        return [
            replace(self, chosen=[(fragment, first) for fragment, first, _ in part])
            for part in dealt(pieces, sizes, most)
        ]

    def _batches(self, wanted: list[str]) -> Iterator[Batch]:
        rows = 0
        chosen = [(one, 0) for one in self._fragments()] if self.chosen is None else self.chosen
        for fragment, before in chosen:
            file, first = getattr(fragment, "path", None), before
            for table in regrouped(self._read(fragment, wanted)):
                yield Batch(table, file, first if file else rows)
                first += table.num_rows
                rows += table.num_rows

    def _fragments(self) -> list[Any]:
        """Return the files; Arrow does not tell those of a dataset that was filtered."""
        if self.chosen is not None:
            return [fragment for fragment, _ in self.chosen]
        fragments = attempt(lambda: list(self.dataset.get_fragments()), ValueError)
        return [self.dataset] if fragments is None else fragments

    def _read(self, fragment: Any, wanted: list[str]) -> Iterator[pa.RecordBatch]:
        path = Path(getattr(fragment, "path", None) or "data")
        return each(path, self._scanned(fragment, wanted), lambda: "not readable by Arrow.")

    def _scanned(self, fragment: Any, wanted: list[str]) -> Iterator[pa.RecordBatch]:
        of_schema = {} if fragment is self.dataset else {"schema": self._schema_of(fragment)}
        if _is_parquet(fragment):
            # Arrow's own scan would unfold a group of rows as a whole.
            batches = self._decoded(fragment, wanted)
        else:
            # Arrow reads ahead by millions of rows if it is let.
            batches = fragment.to_batches(
                columns=wanted, batch_readahead=1, fragment_readahead=1, **of_schema
            )
        for batch in batches:
            batch.validate(full=True)
            self.limits.check_cells(batch, where=getattr(fragment, "path", None) or "data")
            yield batch

    def _schema_of(self, fragment: Any) -> pa.Schema:
        """Return the types that a file itself has: a cast would let it fail by a single cell."""
        own = fragment.physical_schema
        return pa.schema(
            [own.field(one.name) if one.name in own.names else one for one in self.dataset.schema]
        )

    def _decoded(self, fragment: Any, wanted: list[str]) -> Iterator[pa.RecordBatch]:
        """Yield a file of Parquet with the columns of the dataset, in the types of the file."""
        from pyarrow.dataset import get_partition_keys
        from pyarrow.fs import LocalFileSystem

        keys = get_partition_keys(fragment.partition_expression)
        schema = pa.schema([self.dataset.schema.field(name) for name in wanted])
        groups = [group.id for group in fragment.row_groups]
        is_far = not isinstance(fragment.filesystem, LocalFileSystem)
        source = fragment.filesystem.open_input_file(fragment.path)
        with ParquetTable(source, fragment.path, self.limits, is_far=is_far) as table:
            own = [name for name in table.schema.names if name not in keys]
            # A batch without a column would have no rows.
            chosen = [name for name in wanted if name in own] or own[:1]
            for batch in table.batches(chosen, groups):
                yield _completed(batch, keys, schema)


def _completed(batch: pa.RecordBatch, keys: dict[str, Any], schema: pa.Schema) -> pa.RecordBatch:
    """Return a batch with what its folders say, and with nulls where its file has no column."""
    columns = []
    for field in schema:
        if field.name in keys or field.name not in batch.schema.names:
            known = pa.repeat(pa.scalar(keys.get(field.name)), batch.num_rows)
            columns.append(known.cast(field.type))
        else:
            columns.append(batch.column(field.name))
    return pa.RecordBatch.from_arrays(columns, names=schema.names)


def _is_parquet(fragment: Any) -> bool:
    import pyarrow.dataset

    kind = getattr(pyarrow.dataset, "ParquetFileFragment", None)
    return kind is not None and isinstance(fragment, kind) and fragment.buffer is None


def _told_rows(fragment: Any) -> int | None:
    """Return the number of rows, where a file has it written down."""
    kind = getattr(getattr(fragment, "format", None), "default_extname", None)
    return attempt(fragment.count_rows, OSError) if kind in _COUNTED else None


def _pieces(fragment: Any) -> list[tuple[Any, int, int]]:
    """Return a fragment by its groups of rows, each with how many rows come before and has."""
    split = getattr(fragment, "split_by_row_group", None)
    groups = None if split is None else attempt(split, OSError)
    if groups is None:
        return [(fragment, 0, _told_rows(fragment) or 0)]
    sizes = [sum(group.num_rows for group in piece.row_groups) for piece in groups]
    before = itertools.accumulate(sizes, initial=0)
    return list(zip(groups, before, sizes, strict=False))
