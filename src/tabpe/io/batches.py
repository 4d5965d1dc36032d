"""Batches: the part of a table that is in memory at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tabpe._arrow import is_text
from tabpe.errors import CellError, DataError
from tabpe.io.canonical import canonical_table

ROWS_A_BATCH = 2**18
BYTES_A_BATCH = 2**28


@dataclass(frozen=True, eq=False)
class Batch:
    """Some rows of a table, in canonical cells.

    Args:
        table: The rows, however they are stored: their cells are brought to one form here.
        file: The file that they are from, or None if the table is not a file.
        first_row: How many rows of that file, or of the table, come before them.
        places: How many rows come before each of them from there on, if some are left out.
    """

    table: pa.Table
    file: str | None
    first_row: int
    places: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "table", canonical_table(self.table))

    def located(self, error: CellError) -> CellError:
        """Return an error about a row of the batch as one about a row of the file."""
        before = 0 if self.places is None else int(self.places[error.row - 1]) + 1 - error.row
        return error.at(self.file, self.first_row + before)

    def counting(self, kept: NDArray[np.bool_], before: int) -> NDArray[np.bool_]:
        """Return which rows count, of those of the whole table, after `before` others of it.

        Raises:
            DataError: If the table has more rows than when it was chosen which of them count.
        """
        found = kept[before : before + self.table.num_rows]
        if len(found) != self.table.num_rows:
            raise DataError("the table changed while it was read: keep it as it is during a run.")
        return found


def regrouped(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Yield neighbouring batches as one table, as long as they are small, also when unfolded."""
    kept: list[pa.RecordBatch] = []
    rows = size = 0
    for piece, unfolded in _sliced(batches):
        rows, size = rows + piece.num_rows, size + unfolded
        differs = bool(kept) and piece.schema != kept[0].schema
        if kept and (differs or rows > ROWS_A_BATCH or size > BYTES_A_BATCH):
            yield pa.Table.from_batches(kept)
            kept, rows, size = [], piece.num_rows, unfolded
        kept.append(piece)
    if kept:
        yield pa.Table.from_batches(kept)


def longest_text(column: Any) -> int:
    """Return the bytes of the longest text; anything else has the length of its type.

    Example:
        >>> longest_text(pa.array(["a", "bcd", None])), longest_text(pa.array([5]))
        (3, 0)
    """
    if pa.types.is_dictionary(column.type):
        column = column.dictionary
    if pa.types.is_string_view(column.type):
        column = column.cast(pa.large_string())
    if not is_text(column.type):
        return 0
    return int(pc.max(pc.binary_length(column)).as_py() or 0)


def _sliced(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[pa.RecordBatch, int]]:
    """Yield slices, each with how many bytes it takes at most if its dictionaries are unfolded."""
    for batch in batches:
        folded = [column for column in batch.columns if pa.types.is_dictionary(column.type)]
        each_row = sum(map(longest_text, folded))
        step = max(1, min(ROWS_A_BATCH, BYTES_A_BATCH // max(each_row, 1)))
        for start in range(0, batch.num_rows, step):
            piece = batch.slice(start, step)
            yield piece, piece.nbytes + each_row * piece.num_rows
