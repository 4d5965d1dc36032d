"""Files of a table: which there are, and their rows batch by batch.

A path stands for a file, a pattern, or a folder with everything below it. Folders named `key=value`
below a folder, or below the literal part of a pattern, hold a value of all rows in them: keys
become columns of text (Hive partitioning).

CSV cells are read as text; the schema says what they mean, and its `format` how the file is laid
out: delimiter, quotes, encoding, comments. Nothing is guessed and nothing is repaired: ragged rows,
duplicate headers and other encodings are errors, which name the file, the column and the row, and
never a cell.

A Parquet file can store a value once for millions of rows, and its pages are compressed. So the
size of a batch is bounded before it is decoded: by the uncompressed sizes in the page headers, and
by the longest value of a dictionary. The sizes in the footer are not trusted.
"""

from __future__ import annotations

import csv
import glob
import io
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path, PurePath
from typing import Any, ClassVar, Self
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tabpe._utils.arrays import try_call
from tabpe._utils.files import check_local_path, describe_irregular, strip_secrets
from tabpe.errors import DataError
from tabpe.io.batches import (
    UNREADABLE,
    Limits,
    check_names,
    group_evenly,
    iterate_safely,
    read_safely,
)
from tabpe.io.text_streams import (
    COMPRESSIONS,
    LONGEST_ROW,
    FileHead,
    TableFile,
    bound_size,
    open_as_utf8,
    strip_compression,
)
from tabpe.io.typed_files import TYPED_SUFFIXES, open_typed_file
from tabpe.schema.table_format import TableFormat, TableReading

# Rows to decode at a time; fewer if they could take more than the given bytes.
_ROWS_AT_ONCE = 2**13
_BYTES_AT_ONCE = 2**26
_BUFFER = 2**20
# Numbers of the Parquet format: encodings, and fields of a page header.
_PLAIN, _DELTA_LENGTH, _BY_DICTIONARY = 0, 6, (2, 8)
_DECOMPRESSED, _STORED, _DATA, _DICTIONARY, _DATA_2 = 2, 3, 5, 7, 8
_WIDEST_NUMBER = 16
# Arrow reads this far beyond the end of a column, because of a bug in old writers.
_PADDING = 100
# Sizes to try for a page header, which is long if it has statistics; the last is Arrow's limit.
_HEADER_BYTES = (2**8, 2**16, 2**24)
_DEEPEST = 8


class ParquetReader:
    """An open Parquet file.

    Args:
        source: The file, opened by Arrow for random access. It is closed with the reader.
        where: The name of the file in errors.
        limits: The most to hold of it at once.
        is_far: Whether each read has a high latency, as in a store.
    """

    def __init__(
        self, source: pa.NativeFile, where: str, limits: Limits, *, is_far: bool = False
    ) -> None:
        self._source = _PrefetchedFile(source) if is_far else source
        self._where, self._limits = where, limits
        self._file = self._open_file()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._source.close()

    @property
    def closed(self) -> bool:
        """Whether the file was closed."""
        return bool(self._source.closed)

    @property
    def schema(self) -> pa.Schema:
        """Names and types of the columns."""
        return self._file.schema_arrow

    @property
    def group_sizes(self) -> list[int]:
        """The number of rows of each row group."""
        groups = range(self._file.num_row_groups)
        return [self._file.metadata.row_group(group).num_rows for group in groups]

    def read_batches(
        self, names: Sequence[str], groups: Sequence[int] | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Yield some columns of all row groups, or of the given ones.

        Raises:
            DataError: If the pages take more memory than the limits allow.
        """
        for group in range(self._file.num_row_groups) if groups is None else groups:
            rows = self._choose_batch_rows(names, group)
            yield from self._file.iter_batches(rows, row_groups=[group], columns=list(names))

    def _choose_batch_rows(self, names: Sequence[str], group: int) -> int:
        """Return the number of rows of a group to decode at a time."""
        found = self._file.metadata.row_group(group)
        leaves = [(self._file.schema.column(index), index) for index in range(found.num_columns)]
        wanted = [
            (leaf, found.column(index)) for leaf, index in leaves if _is_selected(leaf, names)
        ]
        if isinstance(self._source, _PrefetchedFile):
            self._source.fetch_ranges(
                [_get_byte_range(chunk) for _, chunk in wanted], self._limits.page_bytes // 2
            )
        chunks = [
            _ColumnChunk(leaf, list(_read_page_headers(self._source, chunk)))
            for leaf, chunk in wanted
        ]
        at_once = sum(chunk.resident_bytes for chunk in chunks)
        self._limits.check_limit("page_bytes", at_once, where=self._where)
        each_row = sum(self._estimate_row_bytes(group, chunk) for chunk in chunks)
        rows = _ROWS_AT_ONCE
        while rows > 1 and (
            rows * each_row + sum(chunk.count_page_bytes(rows) for chunk in chunks) > _BYTES_AT_ONCE
        ):
            rows //= 2
        return rows

    def _estimate_row_bytes(self, group: int, chunk: _ColumnChunk) -> int:
        """Return the most bytes of a row, beyond its own bytes in a page."""
        if not chunk.is_text:
            return chunk.width
        longest = chunk.dictionary if chunk.uses_dictionary else 0
        if longest * _ROWS_AT_ONCE > _BYTES_AT_ONCE and chunk.begins_with_dictionary:
            longest = self._read_longest_value(group, chunk.leaf.path)
        return max(longest, chunk.longest_prefixed_page)

    def _read_longest_value(self, group: int, path: str) -> int:
        """Return the bytes of the longest dictionary value, by decoding the dictionary alone."""
        encoded = self._open_file(read_dictionary=[path], metadata=self._file.metadata)
        column = next(encoded.iter_batches(1, row_groups=[group], columns=[path])).column(0)
        while pa.types.is_struct(column.type):
            column = column.field(0)
        return int(pc.max(pc.binary_length(column.dictionary)).as_py() or 0)

    def _open_file(self, **options: Any) -> Any:
        import pyarrow.parquet as pq

        source = self._source
        file = pa.PythonFile(source, "r") if isinstance(source, _PrefetchedFile) else source
        # Without pre-buffering, which would read a row group as a whole.
        return pq.ParquetFile(file, pre_buffer=False, buffer_size=_BUFFER, **options)


class _PrefetchedFile(io.RawIOBase):
    """A remote file with ranges of it in memory, each fetched once."""

    def __init__(self, source: pa.NativeFile) -> None:
        self._source, self._position = source, 0
        self._parts: list[tuple[int, bytes]] = []

    def fetch_ranges(self, ranges: Sequence[tuple[int, int]], most: int) -> None:
        """Hold these ranges of bytes and no others; none if they exceed `most` bytes."""
        self._parts = []
        if sum(end - start for start, end in ranges) <= most:
            self._parts = [(start, self.read_at(end - start, start)) for start, end in ranges]

    def read_at(self, count: int, offset: int) -> bytes:
        for start, part in self._parts:
            if start <= offset and offset + count <= start + len(part):
                return part[offset - start : offset - start + count]
        return bytes(self._source.read_at(count, offset))

    def size(self) -> int:
        return int(self._source.size())

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self.size()}[whence]
        self._position = start + offset
        return self._position

    def tell(self) -> int:
        return self._position

    def read(self, count: int = -1) -> bytes:
        content = self.read_at(self.size() - self._position if count < 0 else count, self._position)
        self._position += len(content)
        return content

    def close(self) -> None:
        self._source.close()
        super().close()


@dataclass(frozen=True)
class _PageHeader:
    """The header of a page.

    Args:
        is_dictionary: Whether it is the dictionary page, to which other pages refer.
        stored: Its bytes in the file.
        decompressed: Its bytes in memory.
        values: The number of values: rows, if no row is a list.
        encoding: The number of their encoding.
    """

    is_dictionary: bool
    stored: int
    decompressed: int
    values: int
    encoding: int


@dataclass(frozen=True, eq=False)
class _ColumnChunk:
    """A column of a row group, by its pages."""

    leaf: Any
    pages: list[_PageHeader]

    @property
    def is_text(self) -> bool:
        """Whether values vary in length."""
        return bool(self.leaf.physical_type == "BYTE_ARRAY")

    @cached_property
    def data(self) -> list[_PageHeader]:
        """The data pages."""
        return [page for page in self.pages if not page.is_dictionary]

    @cached_property
    def dictionary(self) -> int:
        """The bytes of the dictionary."""
        return max((page.decompressed for page in self.pages if page.is_dictionary), default=0)

    @property
    def uses_dictionary(self) -> bool:
        """Whether some data page refers to the dictionary."""
        return any(page.encoding in _BY_DICTIONARY for page in self.data)

    @property
    def begins_with_dictionary(self) -> bool:
        """Whether the first data page refers to the dictionary."""
        return bool(self.data) and self.data[0].encoding in _BY_DICTIONARY

    @property
    def width(self) -> int:
        """The most bytes of a value of fixed length."""
        return max(self.leaf.length or 0, _WIDEST_NUMBER)

    @property
    def longest_prefixed_page(self) -> int:
        """The bytes of the longest page with an encoding by prefixes of earlier values."""
        known = (_PLAIN, _DELTA_LENGTH, *_BY_DICTIONARY)
        return max(
            (page.decompressed for page in self.data if page.encoding not in known), default=0
        )

    @property
    def resident_bytes(self) -> int:
        """The bytes in memory however few rows are read."""
        largest = max((page.decompressed for page in self.data), default=0)
        stored = max((page.stored for page in self.pages), default=0)
        # A decompressed page is copied once: into dictionary values, or into a batch.
        total = stored + 2 * (largest + self.dictionary)
        if not self.leaf.max_repetition_level:
            return total
        # One row of lists may span the whole group.
        width = self.dictionary if self.is_text else self.width
        return total + sum(page.decompressed + page.values * width for page in self.data)

    def count_page_bytes(self, rows: int) -> int:
        """Return the most bytes that `rows` consecutive rows have in plain data pages."""
        if not (self.is_text and self.data):
            return 0
        ends, before = self._page_offsets
        # Rows span the most pages if the first row is the last of its page.
        last = np.searchsorted(ends, ends + (rows - 2), side="right")
        return int((before[np.minimum(last, len(ends) - 1) + 1] - before[:-1]).max())

    @cached_property
    def _page_offsets(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Cumulative rows at the end of each page, and cumulative bytes at its beginning."""
        ends = np.cumsum([page.values for page in self.data])
        own = [page.encoding in (_PLAIN, _DELTA_LENGTH) for page in self.data]
        sizes = [page.decompressed * is_own for page, is_own in zip(self.data, own, strict=True)]
        return ends, np.cumsum([0, *sizes])


def _is_selected(leaf: Any, names: Sequence[str]) -> bool:
    """Whether a leaf column is one of `names`, or nested in one of them."""
    return any(leaf.path == name or leaf.path.startswith(f"{name}.") for name in names)


def _get_byte_range(chunk: Any) -> tuple[int, int]:
    """Return the bytes of the file from which Arrow reads a column chunk."""
    start = chunk.data_page_offset
    if chunk.has_dictionary_page and chunk.dictionary_page_offset:
        start = min(start, chunk.dictionary_page_offset)
    return start, start + chunk.total_compressed_size


def _read_page_headers(source: pa.NativeFile, chunk: Any) -> Iterator[_PageHeader]:
    """Yield the headers of the pages that Arrow would read of a column chunk."""
    offset, end = _get_byte_range(chunk)
    end = min(end + _PADDING, source.size())
    left = chunk.num_values
    while left > 0 and offset < end:
        fields, length = _parse_page_header(source, offset)
        page = _make_page_header(fields)
        if min(page.stored, page.decompressed, page.values) < 0:
            raise pa.ArrowInvalid("a page of negative size")
        if not page.is_dictionary:
            left -= page.values
        offset += length + page.stored
        yield page


def _make_page_header(fields: Mapping[int, Any]) -> _PageHeader:
    of_kind = fields.get(_DATA) or fields.get(_DATA_2) or fields.get(_DICTIONARY) or {}
    encoding = of_kind.get(4 if _DATA_2 in fields else 2, _PLAIN)
    sizes = fields[_STORED], fields[_DECOMPRESSED]
    return _PageHeader(_DICTIONARY in fields, *sizes, of_kind.get(1, 0), encoding)


def _parse_page_header(source: pa.NativeFile, offset: int) -> tuple[dict[int, Any], int]:
    """Return the fields of a page header by number, and its length."""
    for most in _HEADER_BYTES:
        thrift = _ThriftReader(source.read_at(most, offset))
        try:
            fields = thrift.read_struct()
        except IndexError:
            continue
        if _STORED in fields and _DECOMPRESSED in fields:
            return fields, thrift.position
        break
    raise pa.ArrowInvalid("no header of a page")


class _ThriftReader:
    """Reads values in the compact protocol of Thrift, and skips text."""

    def __init__(self, content: bytes) -> None:
        self._content, self.position = content, 0

    def read_struct(self, depth: int = 0) -> dict[int, Any]:
        """Return the fields of a struct by number."""
        if depth > _DEEPEST:
            raise pa.ArrowInvalid("a header that is nested too deeply")
        fields: dict[int, Any] = {}
        number = 0
        while (head := self._read_byte()) != 0:
            number = number + (head >> 4) if head >> 4 else self._read_integer()
            fields[number] = self._read_value(head & 15, depth)
        return fields

    def _read_value(self, kind: int, depth: int) -> Any:
        if kind in (1, 2):
            return kind == 1
        if kind == 3:  # noqa: PLR2004 - kinds are numbers of the protocol
            return self._skip_bytes(1)
        if kind in (4, 5, 6):
            return self._read_integer()
        if kind == 7:  # noqa: PLR2004
            return self._skip_bytes(8)
        if kind == 8:  # noqa: PLR2004
            return self._skip_bytes(self._read_varint())
        if kind == 12:  # noqa: PLR2004
            return self.read_struct(depth + 1)
        raise pa.ArrowInvalid("a header with lists")

    def _skip_bytes(self, count: int) -> None:
        self.position += count

    def _read_integer(self) -> int:
        number = self._read_varint()
        return (number >> 1) ^ -(number & 1)

    def _read_varint(self) -> int:
        number = shift = 0
        while (byte := self._read_byte()) & 128:
            number |= (byte & 127) << shift
            shift += 7
        return number | byte << shift

    def _read_byte(self) -> int:
        byte = self._content[self.position]
        self.position += 1
        return byte


# Lines within which the header and the first row must be found: more than one cell can have.
_HEADER_LINES = 2**18


def open_table_file(path: Path, limits: Limits, reading: TableReading | None = None) -> TableFile:
    """Return the reader for the suffix of a path.

    Args:
        path: The file.
        limits: The most to read of it.
        reading: The layout of the file, and what its cells mean; None for a plain one.

    Example:
        >>> type(open_table_file(Path("patients.csv.gz"), Limits())).__name__
        'CsvFile'
    """
    reading = reading or TableReading()
    name = strip_compression(path.name.lower())
    for suffix, kind in FILE_TYPES.items():
        if name.endswith(suffix) and (name == path.name.lower() or kind is CsvFile):
            if kind is CsvFile:
                return CsvFile(path, limits, reading.layout)
            return ArrowFile(path) if kind is ArrowFile else ParquetFile(path, limits)
    found = open_typed_file(path, limits, reading)
    if found is not None:
        return found
    known = ", ".join([*FILE_TYPES, *TYPED_SUFFIXES])
    raise DataError(
        f"{path}: expected a file that ends in {known}; text may be compressed "
        f"({', '.join(COMPRESSIONS)})."
    )


@dataclass(frozen=True)
class CsvFile:
    """A text file of delimited cells with a header, possibly compressed.

    Args:
        path: Its path.
        limits: The most to read of it.
        layout: Its delimiter, quotes, encoding and comments; None for commas in UTF-8.
        first_row: The number of rows before this part of it.
    """

    path: Path
    limits: Limits
    layout: TableFormat | None = None
    first_row: int = 0

    has_typed_cells: ClassVar[bool] = False
    names_are_data: ClassVar[bool] = False

    @property
    def _format(self) -> TableFormat:
        return self.layout or TableFormat()

    @property
    def _delimiter(self) -> str:
        return self._format.get_delimiter(strip_compression(self.path.name))

    def divide_into(self, most: int) -> list[CsvFile]:  # noqa: ARG002
        """Return the whole file: row ends are only known when reading from the top."""
        return [self]

    def read_head(self) -> FileHead:
        """Return its columns and an upper bound of its rows, from its size."""
        names = self._read_names()
        size = read_safely(self.path, lambda: bound_size(self.path, self.limits), _unreadable)
        # A row has separators between its cells, a line end, and a character if it has one cell.
        return FileHead(
            pa.schema([(name, pa.string()) for name in names]), size // max(2, len(names))
        )

    def read_batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:  # noqa: ARG002
        """Yield its rows as text, with all columns, since all are checked."""
        header, named = self._read_header(), self._read_names()
        last = ""
        for batch in iterate_safely(
            self.path, self._parse_batches(header), lambda: self._describe_fault(len(header))
        ):
            if batch.num_rows:
                last = batch.column(batch.num_columns - 1)[-1].as_py()
                yield batch.select(named)
        if "\n" in last:
            self._refuse_open_quote()

    def _parse_batches(self, names: list[str]) -> Iterator[pa.RecordBatch]:
        from pyarrow import csv as arrow_csv

        first = try_call(
            lambda: list(itertools.islice(self._iterate_rows(_HEADER_LINES), 2)), *UNREADABLE
        )
        if first is not None and len(first) == 1:
            return  # A header alone is a table without rows, which Arrow may refuse.
        convert = arrow_csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()))
        parse = arrow_csv.ParseOptions(
            delimiter=self._delimiter,
            quote_char=self._format.quote or False,
            double_quote=self._format.quote is not None,
            newlines_in_values=self._format.quote is not None,
        )
        with (
            self._open_bytes() as stream,
            arrow_csv.open_csv(stream, parse_options=parse, convert_options=convert) as reader,
        ):
            yield from reader

    def _read_names(self) -> list[str]:
        """Return its names; what stands behind a delimiter at the end of the header is left out."""
        header = self._read_header()
        names = header[:-1] if len(header) > 1 and not header[-1].strip() else header
        check_names(names, where=str(self.path))
        return names

    def _read_header(self) -> list[str]:
        first = lambda: list(itertools.islice(self._iterate_rows(_HEADER_LINES), 1))  # noqa: E731
        rows = read_safely(self.path, first, lambda: self._describe_fault(0))
        if not rows:
            raise DataError(f"{self.path}: the file is empty.")
        self._refuse_other_delimiter(rows[0])
        return rows[0]

    def _refuse_other_delimiter(self, names: list[str]) -> None:
        """Refuse a header of one name that holds what separates cells in other files."""
        if len(names) > 1 or self._format.delimiter is not None:
            return
        for mark, word in ((";", "semicolon"), ("\t", "tab"), ("|", "pipe")):
            parts = names[0].split(mark)
            if len(parts) > 1 and all(any(map(str.isalnum, part)) for part in parts):
                raise DataError(
                    f"{self.path}: the header has one column, with {mark!r} in its name: pass "
                    f"--delimiter {word}, write format: {{delimiter: {word}}} in the schema, or "
                    f"draft a schema with 'tabpe schema init'."
                )

    def _describe_fault(self, width: int) -> str:
        """Describe what is wrong with a file that Arrow refused, without a cell of it."""
        try:
            for number, row in enumerate(self._iterate_rows()):
                if len(row) != width:
                    return f"row {number} has {len(row)} cells where the header has {width}."
        except UnicodeDecodeError:
            name = self._format.encoding.upper()
            return f"not {name} text: save it as {name}, or pass --encoding (windows-1252, utf-16)."
        except (*UNREADABLE, OSError):
            pass
        return "not a readable CSV file."

    def _refuse_open_quote(self) -> None:
        """Refuse a quotation mark that is never closed: its cell is the rest of the file."""
        if try_call(lambda: sum(1 for _ in self._iterate_rows()), csv.Error) is None:
            raise DataError(f"{self.path}: a quotation mark is opened and never closed.")

    def _iterate_rows(self, most_lines: int | None = None) -> Iterator[list[str]]:
        """Yield the rows that are not blank, the header first, from at most `most_lines`."""
        with self._open_bytes() as stream:
            text = io.TextIOWrapper(io.BufferedReader(stream), encoding="utf-8-sig", newline="")
            lines = _BoundedLines(text, str(self.path), most_lines)
            quote = self._format.quote
            style: Any = {"quotechar": quote} if quote else {"quoting": csv.QUOTE_NONE}
            for row in csv.reader(lines, strict=True, delimiter=self._delimiter, **style):
                lines.row_length = 0
                if row:
                    yield row

    def _open_bytes(self) -> io.RawIOBase:
        """Return the file as UTF-8, without the lines that are not of the table."""
        return open_as_utf8(self.path, self.limits, self._format)


def _unreadable() -> str:
    return "not readable."


@dataclass(frozen=True)
class ParquetFile:
    """A Parquet file.

    Args:
        path: Its path.
        limits: The most to hold of it at once.
        groups: The row groups to read; None for all.
        first_row: The number of rows before them.
    """

    path: Path
    limits: Limits
    groups: tuple[int, ...] | None = None
    first_row: int = 0

    has_typed_cells: ClassVar[bool] = False
    names_are_data: ClassVar[bool] = False

    def divide_into(self, most: int) -> list[ParquetFile]:
        """Return parts of consecutive row groups, of about equal size."""
        sizes = read_safely(self.path, self._read_group_sizes, _make_fault("Parquet"))
        before = list(itertools.accumulate(sizes, initial=0))
        together = group_evenly(range(len(sizes)), sizes, most) or [[]]
        return [
            replace(self, groups=tuple(groups), first_row=before[groups[0]] if groups else 0)
            for groups in together
        ]

    def read_head(self) -> FileHead:
        """Return its columns and its number of rows."""
        head = read_safely(self.path, self._read_head, _make_fault("Parquet"))
        check_names(head.schema.names, where=str(self.path))
        return head

    def read_batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield its rows; the other columns are not read."""
        return iterate_safely(self.path, self._iterate_batches(names), _make_fault("Parquet"))

    def _read_head(self) -> FileHead:
        with self._open() as table:
            sizes = table.group_sizes
            rows = sum(sizes if self.groups is None else (sizes[group] for group in self.groups))
            return FileHead(table.schema, rows)

    def _read_group_sizes(self) -> list[int]:
        with self._open() as table:
            return table.group_sizes

    def _iterate_batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        with self._open() as table:
            yield from table.read_batches(names, self.groups)

    def _open(self) -> ParquetReader:
        return ParquetReader(pa.OSFile(str(self.path)), str(self.path), self.limits)


@dataclass(frozen=True)
class ArrowFile:
    """An Arrow IPC file (Feather)."""

    path: Path
    first_row: int = 0

    has_typed_cells: ClassVar[bool] = False
    names_are_data: ClassVar[bool] = False

    def divide_into(self, most: int) -> list[ArrowFile]:  # noqa: ARG002
        """Return the whole file."""
        return [self]

    def read_head(self) -> FileHead:
        """Return its columns and its number of rows."""
        return read_safely(self.path, self._read_head, _make_fault("Arrow"))

    def read_batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield its rows; the other columns are not read."""
        return iterate_safely(self.path, self._iterate_batches(names), _make_fault("Arrow"))

    def _read_head(self) -> FileHead:
        import pyarrow.dataset

        with pa.memory_map(str(self.path)) as stream, pa.ipc.open_file(stream) as reader:
            schema = reader.schema
        check_names(schema.names, where=str(self.path))
        return FileHead(schema, pyarrow.dataset.dataset(self.path, format="ipc").count_rows())

    def _iterate_batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        # Memory-mapped, since the file may be one batch that does not fit in memory.
        with pa.memory_map(str(self.path)) as stream:
            schema = pa.ipc.open_file(stream).schema
            fields = [index for index, name in enumerate(schema.names) if name in names]
            options = pa.ipc.IpcReadOptions(included_fields=fields)
            with pa.ipc.open_file(stream, options=options) as reader:
                yield from map(reader.get_batch, range(reader.num_record_batches))


FILE_TYPES: dict[str, type[CsvFile] | type[ParquetFile] | type[ArrowFile]] = {
    ".csv": CsvFile,
    ".tsv": CsvFile,
    ".tab": CsvFile,
    ".txt": CsvFile,
    ".parquet": ParquetFile,
    ".pq": ParquetFile,
    ".arrow": ArrowFile,
    ".feather": ArrowFile,
    ".ipc": ArrowFile,
}


def _make_fault(kind: str) -> Any:
    return lambda: f"not a readable {kind} file."


class _BoundedLines:
    """Lines of a file with bounds on the length of a row and the number of lines.

    Args:
        text: The file.
        where: The name of the file in errors.
        most: The number of lines to read at most; None for all.
    """

    def __init__(self, text: io.TextIOWrapper, where: str, most: int | None) -> None:
        self._text, self._where, self._left = text, where, most
        self.row_length = 0  # in characters, so far

    def __iter__(self) -> Iterator[str]:
        while line := self._text.readline(LONGEST_ROW + 1):
            self.row_length += len(line)
            if self.row_length > LONGEST_ROW:
                raise DataError(f"{self._where}: a row of more than {LONGEST_ROW:,} characters.")
            if self._left == 0:
                raise DataError(
                    f"{self._where}: no row in {_HEADER_LINES:,} lines: remove blank lines."
                )
            if self._left is not None:
                self._left -= 1
            yield line


NULL_PARTITION = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True)
class PartitionedFile:
    """A file and its partition keys.

    Args:
        path: The file.
        keys: Name and value of each `key=value` folder; None for a missing value.
    """

    path: Path
    keys: tuple[tuple[str, str | None], ...] = ()

    @property
    def key_names(self) -> list[str]:
        """The names of the columns that partition keys add."""
        return [name for name, _ in self.keys]


def list_files(path: str | Path) -> list[Path]:
    """Return the files that a path, a pattern or a folder stands for."""
    return [found.path for found in find_files(path, Limits.from_environment())]


def find_files(path: str | Path, limits: Limits) -> list[PartitionedFile]:
    """Return the files that a path, a pattern or a folder stands for, ordered by name.

    In a folder, names that begin with `.` or `_` are skipped (`.crc`, `_SUCCESS`).

    Raises:
        DataError: If there is no file, or a file occurs twice by way of a link: its rows would
            count twice.
    """
    check_local_path(path, DataError)
    if Path(path).is_file():
        return [PartitionedFile(Path(path))]
    if Path(path).is_dir():
        root = Path(path)
        found = _walk_folder(root, ())
    else:
        root = _find_plain_folder(Path(path))
        found = _iterate_matches(path)
    most = itertools.islice(found, limits.files + 1)
    files = read_safely(root, lambda: list(most), lambda: "not readable.")
    limits.check_limit("files", len(files), where=str(path))
    if not files:
        what = "no file in this folder" if Path(path).is_dir() else "no such file"
        raise DataError(f"{strip_secrets(path)}: {what}.")
    _refuse_duplicates(files)
    return [
        PartitionedFile(file, parse_partition_keys(file.relative_to(root)))
        for file in sorted(files)
    ]


def _walk_folder(folder: Path, above: Sequence[Path]) -> Iterator[Path]:
    """Yield the files below a folder, following links."""
    real = folder.resolve()
    if real in above:
        raise DataError(f"{folder}: a link that leads back to a folder above it.")
    for entry in folder.iterdir():
        if entry.name.startswith("."):
            continue
        if entry.is_dir() and (not entry.name.startswith("_") or "=" in entry.name):
            yield from _walk_folder(entry, (*above, real))
        elif not entry.name.startswith("_"):
            yield _check_regular(entry)


def _iterate_matches(pattern: str | Path) -> Iterator[Path]:
    for match in map(Path, glob.iglob(str(pattern))):  # noqa: PTH207
        if not match.is_dir():
            yield _check_regular(match)


def _check_regular(path: Path) -> Path:
    """Return a regular file; refuse a pipe, a device or a dangling link."""
    if not path.is_file():
        raise DataError(describe_irregular(path))
    return path


def _find_plain_folder(pattern: Path) -> Path:
    """Return the longest folder of a pattern without wildcards."""
    plain = pattern.parent
    while glob.has_magic(str(plain)):
        plain = plain.parent
    return plain


def _refuse_duplicates(files: Sequence[Path]) -> None:
    seen: dict[Path, Path] = {}
    for file in sorted(files):
        first = seen.setdefault(file.resolve(), file)
        if first != file:
            raise DataError(f"{file}: the same file as {first}: its rows would count twice.")


def parse_partition_keys(below: PurePath) -> tuple[tuple[str, str | None], ...]:
    """Return name and value of each `key=value` folder above a file."""
    split = [part.partition("=") for part in below.parts[:-1]]
    return tuple(
        (_decode_name(below, name), None if value == NULL_PARTITION else _decode_name(below, value))
        for name, separator, value in split
        if name and separator
    )


def _decode_name(path: PurePath, text: str) -> str:
    try:
        return unquote(text, errors="strict")
    except UNREADABLE:
        problem = "the name of a folder is not UTF-8 text."
    raise DataError(f"{path}: {problem}")
