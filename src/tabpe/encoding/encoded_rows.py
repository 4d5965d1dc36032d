"""`EncodedRows`: the private rows of a source, encoded batch by batch; user ids; hashes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tabpe.encoding.encoder import Encoder
from tabpe.encoding.records import Records
from tabpe.encoding.voting_space import VotingSpace
from tabpe.errors import CellError, DataError, column_hint, missing_value
from tabpe.io import Batch, TableSource
from tabpe.io.canonical import find_missing, flatten_column, hash_rows, mix_bits


class ClassSizeGuard:
    """Checks that the class sizes of a table stay the same during a run. They are private."""

    def __init__(self) -> None:
        self.sizes: NDArray[np.int64] | None = None

    def check_sizes(self, sizes: NDArray[np.int64]) -> None:
        """Refuse a table whose class sizes changed: the accounting is about one table."""
        if self.sizes is not None and not np.array_equal(sizes, self.sizes):
            raise DataError("the table changed while it was read: keep it as it is during a run.")
        self.sizes = sizes


@dataclass(frozen=True, eq=False)
class EncodedRows:
    """The rows of a source, encoded batch by batch.

    Every iteration reads and encodes anew, so that only a batch is in memory.

    Args:
        source: The table.
        encoder: Encodes the rows.
        kept: For each row of the source whether it counts; None if all do.
        voting_space: Transforms each row by itself; None for no transform.
        tally: Checks that the table does not change between iterations.

    Example:
        >>> import pyarrow as pa
        >>> from tabpe.io import open_source
        >>> from tabpe.schema import Integer, Schema
        >>> ages = open_source(pa.table({"age": [25, 50]}))
        >>> rows = EncodedRows(ages, Encoder(Schema((Integer("age", 0, 100),))))
        >>> [batch.numbers.ravel().tolist() for batch, _ in rows]
        [[0.25, 0.5]]
    """

    source: TableSource
    encoder: Encoder
    kept: NDArray[np.bool_] | None = None
    voting_space: VotingSpace | None = None
    tally: ClassSizeGuard = field(default_factory=ClassSizeGuard)

    def __post_init__(self) -> None:
        self.encoder.check_names(self.source.names)

    @property
    def most_bytes(self) -> int | None:
        """An upper bound of the memory of all rows; None if not known. Private."""
        rows = self.source.most_rows
        return None if rows is None else rows * self.encoder.bytes_a_row

    def __iter__(self) -> Iterator[tuple[Records, NDArray[np.int64]]]:
        first, sizes = 0, np.zeros(self.encoder.class_count, dtype=np.int64)
        for batch in self.source.batches(self.encoder.names):
            rows, labels = self._encode_batch(batch)
            if self.kept is not None:
                counts = batch.slice_mask(self.kept, first)
                rows, labels = rows.take(counts), labels[counts]
            first += batch.table.num_rows
            sizes += np.bincount(labels, minlength=len(sizes))
            yield (
                rows if self.voting_space is None else self.voting_space.transform_rows(rows),
                labels,
            )
        self.tally.check_sizes(sizes)

    def _encode_batch(self, batch: Batch) -> tuple[Records, NDArray[np.int64]]:
        try:
            return self.encoder.encode(batch.table)
        except CellError as error:
            found = batch.locate_error(error)
        raise found


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


def read_user_rows(
    source: TableSource, column: str, names: Sequence[str], *, strict: bool = False
) -> Iterator[pa.Table]:
    """Yield rows with the user id and the columns `names`, batch by batch.

    Args:
        source: The table.
        column: The column of user ids.
        names: The other columns.
        strict: Whether to refuse a row without an id, which is otherwise not counted.
    """
    check_unit_column(source, column)
    for batch in source.batches(list(dict.fromkeys([column, *names]))):
        missing = find_missing(flatten_column(batch.table[column]))
        if strict and missing.any():
            raise batch.locate_error(missing_value(column, int(np.argmax(missing)) + 1))
        yield batch.table


def sum_row_hashes(source: TableSource, names: Sequence[str], key: bytes) -> NDArray[np.uint64]:
    """Return sums of row hashes that identify a table, whatever the order of its rows.

    Sums of parts of a table add up to those of the table. They are private.
    """
    total = np.zeros(3, dtype=np.uint64)
    for batch in source.batches(names):
        hashes = hash_rows(batch.table, key)
        total += np.array([len(hashes), hashes.sum(), mix_bits(hashes).sum()], dtype=np.uint64)
    return total


def compute_fingerprint(names: Sequence[str], sums: NDArray[np.uint64], key: bytes) -> str:
    """Return a keyed digest of a table, which reveals nothing without the key.

    Args:
        names: The columns that are read.
        sums: Their `sum_row_hashes`.
        key: The key.
    """
    digest = hashlib.blake2b(key=key, digest_size=32)
    digest.update(repr(list(names)).encode())
    digest.update(sums.tobytes())
    return digest.hexdigest()
