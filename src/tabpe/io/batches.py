"""Batches of a table, limits of its size, and errors that quote no cell.

`Limits` are generous for real tables and stop inputs that expand without end. Errors name the
limit and never what was found: the number of rows is private.

Messages of Arrow and Python about a file often quote its cells. So a failure is dropped whole where
it happens, and an error of our own is raised outside of any `except`, with no cause attached.
"""

from __future__ import annotations

import csv
import dataclasses
import lzma
import os
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tabpe._utils import validation
from tabpe._utils.arrays import is_text
from tabpe.errors import HEADER, CellError, DataError
from tabpe.io.canonical import canonicalize_table

ROWS_A_BATCH = 2**18
BYTES_A_BATCH = 2**28


@dataclass(frozen=True, eq=False)
class Batch:
    """Some rows of a table, in canonical cells.

    Args:
        table: The rows; their cells become canonical here.
        file: The file they are from, or None if the table is not a file.
        first_row: The number of rows of the file, or of the table, before them.
        row_offsets: The offset of each row from `first_row`, if some rows are left out.
    """

    table: pa.Table
    file: str | None
    first_row: int
    row_offsets: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "table", canonicalize_table(self.table))

    def locate_error(self, error: CellError) -> CellError:
        """Return the error with the row number of the file instead of the batch."""
        before = (
            0 if self.row_offsets is None else int(self.row_offsets[error.row - 1]) + 1 - error.row
        )
        return error.at(self.file, self.first_row + before)

    def slice_mask(self, kept: NDArray[np.bool_], before: int) -> NDArray[np.bool_]:
        """Return the part of a mask over the whole table that belongs to this batch.

        Args:
            kept: Which rows of the table count.
            before: The number of rows of the table before this batch.

        Raises:
            DataError: If the table has more rows now than the mask.
        """
        found = kept[before : before + self.table.num_rows]
        if len(found) != self.table.num_rows:
            raise DataError("the table changed while it was read: keep it as it is during a run.")
        return found


def regroup_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Yield consecutive small batches as one table; sizes count with dictionaries decoded."""
    kept: list[pa.RecordBatch] = []
    rows = size = 0
    for piece, decoded in _slice_batches(batches):
        rows, size = rows + piece.num_rows, size + decoded
        differs = bool(kept) and piece.schema != kept[0].schema
        if kept and (differs or rows > ROWS_A_BATCH or size > BYTES_A_BATCH):
            yield pa.Table.from_batches(kept)
            kept, rows, size = [], piece.num_rows, decoded
        kept.append(piece)
    if kept:
        yield pa.Table.from_batches(kept)


def find_longest_text(column: Any) -> int:
    """Return the bytes of the longest text; 0 for other types.

    Example:
        >>> find_longest_text(pa.array(["a", "bcd", None])), find_longest_text(pa.array([5]))
        (3, 0)
    """
    if pa.types.is_dictionary(column.type):
        column = column.dictionary
    if pa.types.is_string_view(column.type):
        column = column.cast(pa.large_string())
    if not is_text(column.type):
        return 0
    return int(pc.max(pc.binary_length(column)).as_py() or 0)


def _slice_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[pa.RecordBatch, int]]:
    """Yield slices, each with an upper bound of its bytes with dictionaries decoded."""
    for batch in batches:
        encoded = [column for column in batch.columns if pa.types.is_dictionary(column.type)]
        each_row = sum(map(find_longest_text, encoded))
        step = max(1, min(ROWS_A_BATCH, BYTES_A_BATCH // max(each_row, 1)))
        for start in range(0, batch.num_rows, step):
            piece = batch.slice(start, step)
            yield piece, piece.nbytes + each_row * piece.num_rows


_PREFIX = "TABPE_MAX_"


@dataclass(frozen=True)
class Limits:
    """Upper limits of what is read from a table.

    Each can be set by an environment variable, such as `TABPE_MAX_ROWS`.

    Args:
        bytes: Bytes of a table, decompressed and decoded.
        whole_bytes: The same for a table that is read into memory as a whole.
        rows: Rows of a table.
        columns: Columns of a table.
        page_bytes: Bytes of the pages of a Parquet file that must be in memory at the same time.
        cell_bytes: Bytes of one text cell, in a column that is read.
        files: Files in a folder, or matching a pattern.

    Example:
        >>> Limits().columns
        10000
        >>> Limits.from_environment({"TABPE_MAX_ROWS": "1000000"}).rows
        1000000
    """

    bytes: int = 2**40
    whole_bytes: int = 2**34
    rows: int = 10**10
    columns: int = 10_000
    page_bytes: int = 2**30
    cell_bytes: int = 2**17
    files: int = 100_000

    def __post_init__(self) -> None:
        for name, value in dataclasses.asdict(self).items():
            validation.check_integer(name, value, least=1)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> Limits:
        """Return the limits that the environment sets, and the defaults for all others."""
        given = os.environ if environment is None else environment
        names = {field.name: _get_variable_name(field.name) for field in dataclasses.fields(cls)}
        return cls(
            **{name: _parse_count(key, given[key]) for name, key in names.items() if given.get(key)}
        )

    def check_limit(self, name: str, found: int, *, where: str) -> None:
        """Raise an error if `found` exceeds the limit of that name.

        Example:
            >>> Limits(columns=2).check_limit("columns", 3, where="visits.csv")
            Traceback (most recent call last):
            tabpe.errors.DataError: visits.csv: more than 2 columns; TABPE_MAX_COLUMNS allows more.
        """
        most = getattr(self, name)
        if found > most:
            does, what = ("expands to ", "bytes") if "bytes" in name else ("", name)
            what += " at once" if name == "page_bytes" else ""
            raise DataError(
                f"{where}: {does}more than {most:,} {what}; {_get_variable_name(name)} allows more."
            )

    def check_batches(self, batches: Iterator[Batch], *, where: str) -> Iterator[Batch]:
        """Yield the batches of one table; raise once their sum exceeds a limit."""
        rows = size = 0
        for batch in batches:
            rows, size = rows + batch.table.num_rows, size + batch.table.nbytes
            self.check_limit("rows", rows, where=batch.file or where)
            self.check_limit("bytes", size, where=batch.file or where)
            yield batch

    def check_cells(self, batch: pa.RecordBatch, *, where: str) -> None:
        """Refuse a column with a cell that is too long."""
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            if find_longest_text(column) > self.cell_bytes:
                raise DataError(
                    f"{where}: column {name!r} holds a cell of more than {self.cell_bytes:,} "
                    f"bytes: shorten it or drop the column; {_get_variable_name('cell_bytes')} "
                    f"allows more."
                )


def _get_variable_name(name: str) -> str:
    return f"{_PREFIX}{name.upper()}"


def _parse_count(variable: str, text: str) -> int:
    return validation.check_integer(variable, int(text) if text.isdecimal() else text, least=1)


T = TypeVar("T")
UNREADABLE = (UnicodeError, csv.Error, EOFError, lzma.LZMAError, zipfile.BadZipFile, zlib.error)


def read_safely(path: Path, call: Callable[[], T], fault: Callable[[], str]) -> T:
    """Return the result of `call`, which reads `path`.

    Privacy: nothing of the original error is kept, which may quote a cell.

    Args:
        path: The file, to name in errors.
        call: Reads it.
        fault: Says what is wrong with the file after `call` failed.

    Raises:
        DataError: If `call` fails.
    """
    problem = None
    try:
        return call()
    except OSError as error:
        problem = f"can not read ({error.strerror or 'damaged file'})."
    except pa.ArrowMemoryError:
        problem = "does not fit into memory."
    except (pa.ArrowException, *UNREADABLE):
        pass
    raise DataError(f"{path}: {problem or fault()}")


def iterate_safely(path: Path, items: Iterator[T], fault: Callable[[], str]) -> Iterator[T]:
    """Yield the items read from `path`, each under `read_safely`."""
    while (item := read_safely(path, lambda: next(items, None), fault)) is not None:
        yield item


def check_names(names: list[str], *, where: str) -> None:
    """Refuse empty and duplicate column names.

    Privacy: in a file without a header the names are cells, so errors give column numbers.
    """
    seen: dict[str, int] = {}
    for number, name in enumerate(names, start=1):
        if not name.strip():
            raise DataError(f"{where}: column {number} has no name: {HEADER}")
        if name in seen:
            raise DataError(
                f"{where}: columns {seen[name]} and {number} have the same name: rename one of "
                f"them; {HEADER}"
            )
        seen[name] = number


def group_evenly(pieces: Sequence[T], sizes: Sequence[int], most: int) -> list[list[T]]:
    """Return consecutive pieces in at most `most` non-empty groups of about equal size.

    Example:
        >>> group_evenly("abcd", [1, 1, 1, 4], 2)
        [['a', 'b', 'c'], ['d']]
    """
    ends = np.cumsum([0, *(size + 1 for size in sizes)])  # An empty piece counts as well.
    middles = (ends[1:] + ends[:-1]) / 2
    groups = np.minimum((middles * most / max(ends[-1], 1)).astype(int), most - 1)
    found: dict[int, list[T]] = {}
    for piece, group in zip(pieces, groups.tolist(), strict=True):
        found.setdefault(group, []).append(piece)
    return list(found.values())
