"""`EncodedRows`: the private rows on their way from a source to an engine; whose they are."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tabpe._arrow import is_text
from tabpe.encode import Encoder, Records, Sight
from tabpe.errors import CellError, DataError, did_you_mean, missing_value
from tabpe.io import Batch, Source

_NESTED = ("list", "large_list", "fixed_size_list", "struct", "map", "sparse_union", "dense_union")


class Tally:
    """How many rows of each class a table has, which must stay so during a run. Private."""

    def __init__(self) -> None:
        self._sizes: NDArray[np.int64] | None = None

    def check(self, sizes: NDArray[np.int64]) -> None:
        """Refuse a table that is not as large as it was: the accounting is about one table."""
        if self._sizes is not None and not np.array_equal(sizes, self._sizes):
            raise DataError("the table changed while it was read: keep it as it is during a run.")
        self._sizes = sizes


@dataclass(frozen=True, eq=False)
class EncodedRows:
    """The rows of a source, encoded batch by batch.

    Every iteration reads and encodes afresh, so that nobody has to hold more than a batch.

    Args:
        source: The table.
        encoder: How rows are encoded.
        kept: For each row of the source whether it counts; None if all do.
        sight: How each row is seen, by itself; None for as it is.
        tally: Knows how many rows there were the last time.

    Example:
        >>> import pyarrow as pa
        >>> from tabpe.io import open_source
        >>> from tabpe.schema import Integer, Schema
        >>> ages = open_source(pa.table({"age": [25, 50]}))
        >>> rows = EncodedRows(ages, Encoder(Schema((Integer("age", 0, 100),))))
        >>> [batch.numbers.ravel().tolist() for batch, _ in rows]
        [[0.25, 0.5]]
    """

    source: Source
    encoder: Encoder
    kept: NDArray[np.bool_] | None = None
    sight: Sight | None = None
    tally: Tally = field(default_factory=Tally)

    def __post_init__(self) -> None:
        self.encoder.check_names(self.source.names)

    @property
    def most_bytes(self) -> int | None:
        """The memory that all rows would take, or more; None if that is not known. Private."""
        rows = self.source.most_rows
        return None if rows is None else rows * self.encoder.bytes_a_row

    def __iter__(self) -> Iterator[tuple[Records, NDArray[np.int64]]]:
        first, sizes = 0, np.zeros(self.encoder.class_count, dtype=np.int64)
        for batch in self.source.batches(self.encoder.names):
            rows, labels = self._encoded(batch)
            if self.kept is not None:
                counts = batch.counting(self.kept, first)
                rows, labels = rows.take(counts), labels[counts]
            first += batch.table.num_rows
            sizes += np.bincount(labels, minlength=len(sizes))
            yield rows if self.sight is None else self.sight.of(rows), labels
        self.tally.check(sizes)

    def _encoded(self, batch: Batch) -> tuple[Records, NDArray[np.int64]]:
        try:
            return self.encoder.encode(batch.table)
        except CellError as error:
            found = error.at(batch.file, batch.first_row)
        raise found


def check_unit_column(source: Source, column: str) -> None:
    """Refuse a table without the column of user ids, or with lists and the like in it."""
    if column not in source.names:
        hint = did_you_mean(column, source.names)
        raise DataError(f"unit={column!r}: the table has no such column: {hint}")
    kind = source.form.arrow_types[column]
    if kind.startswith(_NESTED):
        raise DataError(
            f"unit={column!r}: the column is of type {kind}: expected text, numbers or dates."
        )


def user_ids(source: Source, column: str) -> Iterator[pa.ChunkedArray]:
    """Yield the user ids of all rows, batch by batch; none may be missing."""
    check_unit_column(source, column)
    for batch in source.batches([column]):
        missing = _without_id(batch.table[column])
        if pc.any(missing).as_py():
            first = int(pc.index(missing, value=True).as_py()) + 1
            raise missing_value(column, first).at(batch.file, batch.first_row)
        yield batch.table[column]


def _without_id(cells: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return which rows have no user id. Nobody is called by blanks: a CSV has them for no id."""
    if pa.types.is_dictionary(cells.type):
        cells = cells.cast(cells.type.value_type)
    missing = pc.is_null(cells, nan_is_null=True)
    if not is_text(cells.type):
        return missing
    blank = pc.equal(pc.utf8_trim_whitespace(cells.cast(pa.large_string())), "")
    return pc.or_kleene(missing, blank)


def fingerprint(source: Source, names: Sequence[str], key: bytes) -> str:
    """Return a digest of columns that tells nothing to those who do not have the key."""
    digest = hashlib.blake2b(key=key, digest_size=32)
    for batch in source.batches(names):
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.table.schema) as stream:
            stream.write_table(batch.table.combine_chunks())
        digest.update(sink.getvalue())
    return digest.hexdigest()
