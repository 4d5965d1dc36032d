"""One file of a table: what its head says, and its rows batch by batch.

CSV cells are read as text; what they mean is for the schema to say. Nothing is guessed and
nothing is repaired: ragged rows, duplicate headers and foreign encodings are errors, which name
the file, the column and the row, and never a cell.
"""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from tabpe._arrow import attempt
from tabpe.errors import DataError
from tabpe.io.dealing import dealt
from tabpe.io.faults import UNREADABLE, check_names, each, tried
from tabpe.io.limits import Limits
from tabpe.io.parquet import ParquetTable

# No file that deflate packed unfolds to more than this many times its size.
_DEFLATE_RATIO = 1032
# No row that Arrow reads is longer.
_LONGEST_ROW = 2**20
# A header, and whether there is a row below it, is told by so many lines: more than a cell has.
_PEEKED = 2**18


@dataclass(frozen=True)
class Head:
    """What a file tells before its rows are read.

    Args:
        schema: Names and types of the columns.
        most_rows: The number of rows, or more.
    """

    schema: pa.Schema
    most_rows: int


class TableFile(Protocol):
    """A file that holds a table."""

    @property
    def path(self) -> Path:
        """Where it is."""
        ...

    @property
    def first_row(self) -> int:
        """How many rows of the file come before, if it is a part of it."""
        ...

    def pieces(self, most: int) -> Sequence[TableFile]:
        """Return the file in at most so many pieces that can be read apart, or as a whole."""
        ...

    def head(self) -> Head:
        """Return its columns and how many rows it has at most."""
        ...

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield its rows; columns other than `names` are left out where that saves memory."""
        ...


def file_of(path: Path, limits: Limits) -> TableFile:
    """Return the reader that the ending of a path asks for.

    Example:
        >>> type(file_of(Path("patients.csv.gz"), Limits())).__name__
        'CsvFile'
    """
    for suffix, kind in KINDS.items():
        if path.name.lower().endswith(suffix):
            return ArrowFile(path) if issubclass(kind, ArrowFile) else kind(path, limits)
    raise DataError(f"{path}: expected a file that ends in {', '.join(KINDS)}.")


@dataclass(frozen=True)
class CsvFile:
    """CSV with a header, in UTF-8, perhaps compressed by gzip."""

    path: Path
    limits: Limits
    first_row: int = 0

    def pieces(self, most: int) -> list[CsvFile]:  # noqa: ARG002
        """Return the file as a whole: where a row ends is known to those who read from the top."""
        return [self]

    def head(self) -> Head:
        """Return its columns and how many rows its size allows for."""
        names = self._names()
        size = tried(self.path, lambda: self.path.stat().st_size, lambda: "not readable.")
        size *= _DEFLATE_RATIO if _is_packed(self.path) else 1
        # A row takes a separator between its cells, an end, and a letter if it has one cell.
        return Head(pa.schema([(name, pa.string()) for name in names]), size // max(2, len(names)))

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:  # noqa: ARG002
        """Yield its rows as text; every column is checked, so every column is read."""
        header = self._names()
        last = ""
        for batch in each(self.path, self._parsed(header), lambda: self._fault(len(header))):
            if batch.num_rows:
                last = batch.column(batch.num_columns - 1)[-1].as_py()
                yield batch
        if "\n" in last:
            self._refuse_open_quote()

    def _parsed(self, names: list[str]) -> Iterator[pa.RecordBatch]:
        from pyarrow import csv as arrow_csv

        first = attempt(lambda: list(itertools.islice(self._rows(_PEEKED), 2)), *UNREADABLE)
        if first is not None and len(first) == 1:
            return  # A header alone is a table without rows, which Arrow may not see.
        convert = arrow_csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()))
        parse = arrow_csv.ParseOptions(newlines_in_values=True)
        with (
            self._bytes() as stream,
            arrow_csv.open_csv(stream, parse_options=parse, convert_options=convert) as reader,
        ):
            yield from reader

    def _names(self) -> list[str]:
        first = lambda: list(itertools.islice(self._rows(_PEEKED), 1))  # noqa: E731
        rows = tried(self.path, first, lambda: self._fault(0))
        if not rows:
            raise DataError(f"{self.path}: the file is empty.")
        check_names(rows[0], where=str(self.path))
        return rows[0]

    def _fault(self, width: int) -> str:
        """Say what is wrong with a file that Arrow refused, without a cell of it."""
        try:
            for number, row in enumerate(self._rows()):
                if len(row) != width:
                    return f"row {number} has {len(row)} cells where the header has {width}."
        except UnicodeDecodeError:
            return "not UTF-8 text: save it as UTF-8."
        except (*UNREADABLE, OSError):
            pass
        return "not a readable CSV file."

    def _refuse_open_quote(self) -> None:
        """A quote that is never closed makes all the rest of the file its cell."""
        if attempt(lambda: sum(1 for _ in self._rows()), csv.Error) is None:
            raise DataError(f"{self.path}: a quotation mark is opened and never closed.")

    def _rows(self, most_lines: int | None = None) -> Iterator[list[str]]:
        """Yield the rows that are not blank, the header first; refuse to look further for them."""
        with self._bytes() as stream:
            text = io.TextIOWrapper(io.BufferedReader(stream), encoding="utf-8-sig", newline="")
            lines = _Lines(text, str(self.path), most_lines)
            for row in csv.reader(lines, strict=True):
                lines.letters = 0
                if row:
                    yield row

    def _bytes(self) -> _Unfolded:
        return _Unfolded(self.path, self.limits)


@dataclass(frozen=True)
class ParquetFile:
    """A Parquet file.

    Args:
        path: Where it is.
        limits: The most to hold of it at once.
        groups: The groups of rows to read; None for all.
        first_row: How many rows come before them.
    """

    path: Path
    limits: Limits
    groups: tuple[int, ...] | None = None
    first_row: int = 0

    def pieces(self, most: int) -> list[ParquetFile]:
        """Return neighbouring groups of rows together, about even in size."""
        sizes = tried(self.path, self._sizes, _not_readable("Parquet"))
        before = list(itertools.accumulate(sizes, initial=0))
        together = dealt(range(len(sizes)), sizes, most) or [[]]
        return [
            replace(self, groups=tuple(groups), first_row=before[groups[0]] if groups else 0)
            for groups in together
        ]

    def head(self) -> Head:
        """Return its columns and its number of rows."""
        head = tried(self.path, self._head, _not_readable("Parquet"))
        check_names(head.schema.names, where=str(self.path))
        return head

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield its rows; the other columns are not read."""
        return each(self.path, self._batches(names), _not_readable("Parquet"))

    def _head(self) -> Head:
        with self._open() as table:
            sizes = table.group_sizes
            rows = sum(sizes if self.groups is None else (sizes[group] for group in self.groups))
            return Head(table.schema, rows)

    def _sizes(self) -> list[int]:
        with self._open() as table:
            return table.group_sizes

    def _batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        with self._open() as table:
            yield from table.batches(names, self.groups)

    def _open(self) -> ParquetTable:
        return ParquetTable(pa.OSFile(str(self.path)), str(self.path), self.limits)


@dataclass(frozen=True)
class ArrowFile:
    """An Arrow IPC file, which is what Feather is."""

    path: Path
    first_row: int = 0

    def pieces(self, most: int) -> list[ArrowFile]:  # noqa: ARG002
        """Return the file as a whole."""
        return [self]

    def head(self) -> Head:
        """Return its columns and its number of rows."""
        return tried(self.path, self._head, _not_readable("Arrow"))

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield its rows; the other columns are not read."""
        return each(self.path, self._batches(names), _not_readable("Arrow"))

    def _head(self) -> Head:
        import pyarrow.dataset

        with pa.memory_map(str(self.path)) as stream, pa.ipc.open_file(stream) as reader:
            schema = reader.schema
        check_names(schema.names, where=str(self.path))
        return Head(schema, pyarrow.dataset.dataset(self.path, format="ipc").count_rows())

    def _batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        # Mapped: the rows of such a file may be one batch that does not fit in memory.
        with pa.memory_map(str(self.path)) as stream:
            schema = pa.ipc.open_file(stream).schema
            fields = [place for place, name in enumerate(schema.names) if name in names]
            options = pa.ipc.IpcReadOptions(included_fields=fields)
            with pa.ipc.open_file(stream, options=options) as reader:
                yield from map(reader.get_batch, range(reader.num_record_batches))


KINDS: dict[str, type[CsvFile] | type[ParquetFile] | type[ArrowFile]] = {
    ".csv": CsvFile,
    ".csv.gz": CsvFile,
    ".parquet": ParquetFile,
    ".pq": ParquetFile,
    ".arrow": ArrowFile,
    ".feather": ArrowFile,
    ".ipc": ArrowFile,
}


def _not_readable(kind: str) -> Any:
    return lambda: f"not a readable {kind} file."


class _Lines:
    """Lines as long as they, and rows of them, have an end: one could be all of the file.

    Args:
        text: The file.
        where: How errors call it.
        most: How many lines to look at; None for all.
    """

    def __init__(self, text: io.TextIOWrapper, where: str, most: int | None) -> None:
        self._text, self._where, self._left = text, where, most
        self.letters = 0  # of the row so far

    def __iter__(self) -> Iterator[str]:
        while line := self._text.readline(_LONGEST_ROW + 1):
            self.letters += len(line)
            if self.letters > _LONGEST_ROW:
                raise DataError(f"{self._where}: a row of more than {_LONGEST_ROW:,} letters.")
            if self._left == 0:
                raise DataError(f"{self._where}: no row in {_PEEKED:,} lines: take out blank ones.")
            if self._left is not None:
                self._left -= 1
            yield line


class _Unfolded(io.RawIOBase):
    """The bytes of a file, unpacked, as long as they are not too many."""

    def __init__(self, path: Path, limits: Limits) -> None:
        self._path, self._limits, self._count = path, limits, 0
        self._stream = pa.input_stream(str(path), compression="gzip" if _is_packed(path) else None)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        return self._counted(int(self._stream.readinto(buffer)))

    def read_buffer(self, size: int) -> pa.Buffer:
        """Return the next bytes in the memory of Arrow, which asks for them this way."""
        buffer = self._stream.read_buffer(size)
        self._counted(buffer.size)
        return buffer

    def _counted(self, count: int) -> int:
        self._count += count
        self._limits.check("bytes", self._count, where=str(self._path))
        return count

    def close(self) -> None:
        self._stream.close()
        super().close()


def _is_packed(path: Path) -> bool:
    return path.name.lower().endswith(".gz")
