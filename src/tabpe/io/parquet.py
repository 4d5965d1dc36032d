"""Parquet files in batches of bounded size, however small the file is.

A Parquet file holds a value once and says of millions of rows that they have it, and its pages are
packed. So the size of a batch is bounded before it is decoded: by the headers of the pages, which
tell their size unpacked, and by the longest value of a dictionary. What the footer says of sizes
is not believed.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tabpe.io.limits import Limits

# So many rows at a time, or fewer if they could take more than so many bytes.
_ROWS_AT_ONCE = 2**13
_BYTES_AT_ONCE = 2**26
_BUFFER = 2**20
# Numbers of the format: encodings, and fields of the header of a page.
_PLAIN, _DELTA_LENGTH, _BY_DICTIONARY = 0, 6, (2, 8)
_UNPACKED, _STORED, _DATA, _DICTIONARY, _DATA_2 = 2, 3, 5, 7, 8
_WIDEST_NUMBER = 16
# Arrow looks so far beyond the end of a column, for the sake of old writers.
_PADDING = 100
# The header of a page is short but for its statistics. Arrow reads none that is longer than this.
_HEADER_BYTES = (2**8, 2**16, 2**24)
_DEEPEST = 8


class ParquetTable:
    """An open Parquet file.

    Args:
        source: The file, opened by Arrow for reading anywhere. It is closed with the table.
        where: How errors call it.
        limits: The most to hold of it at once.
        is_far: Whether each look at the file takes a while, as in a store.
    """

    def __init__(
        self, source: pa.NativeFile, where: str, limits: Limits, *, is_far: bool = False
    ) -> None:
        self._source = _Fetched(source) if is_far else source
        self._where, self._limits = where, limits
        self._file = self._opened()

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
        """Its columns."""
        return self._file.schema_arrow

    @property
    def group_sizes(self) -> list[int]:
        """The number of rows of each group of rows."""
        groups = range(self._file.num_row_groups)
        return [self._file.metadata.row_group(group).num_rows for group in groups]

    def batches(
        self, names: Sequence[str], groups: Sequence[int] | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Yield some columns of all rows, or of some groups of them.

        Raises:
            DataError: If pages take more memory than the limits allow.
        """
        for group in range(self._file.num_row_groups) if groups is None else groups:
            rows = self._rows_at_once(names, group)
            yield from self._file.iter_batches(rows, row_groups=[group], columns=list(names))

    def _rows_at_once(self, names: Sequence[str], group: int) -> int:
        """Return how many rows of a group to decode at a time."""
        found = self._file.metadata.row_group(group)
        leaves = [(self._file.schema.column(leaf), leaf) for leaf in range(found.num_columns)]
        wanted = [(leaf, found.column(place)) for leaf, place in leaves if _is_in(leaf, names)]
        if isinstance(self._source, _Fetched):
            self._source.fetch([_range(chunk) for _, chunk in wanted], self._limits.page_bytes // 2)
        chunks = [_Chunk(leaf, list(_pages(self._source, chunk))) for leaf, chunk in wanted]
        at_once = sum(chunk.at_once for chunk in chunks)
        self._limits.check("page_bytes", at_once, where=self._where)
        each_row = sum(self._bytes_a_row(group, chunk) for chunk in chunks)
        rows = _ROWS_AT_ONCE
        while rows > 1 and (
            rows * each_row + sum(chunk.in_pages(rows) for chunk in chunks) > _BYTES_AT_ONCE
        ):
            rows //= 2
        return rows

    def _bytes_a_row(self, group: int, chunk: _Chunk) -> int:
        """Return the most that a row takes, beside what its page holds for it alone."""
        if not chunk.is_text:
            return chunk.width
        longest = chunk.dictionary if chunk.uses_dictionary else 0
        if longest * _ROWS_AT_ONCE > _BYTES_AT_ONCE and chunk.begins_with_dictionary:
            longest = self._longest_value(group, chunk.leaf.path)
        return max(longest, chunk.prefixed)

    def _longest_value(self, group: int, path: str) -> int:
        """Return the bytes of the longest value of a dictionary, decoding it and one row alone."""
        folded = self._opened(read_dictionary=[path], metadata=self._file.metadata)
        column = next(folded.iter_batches(1, row_groups=[group], columns=[path])).column(0)
        while pa.types.is_struct(column.type):
            column = column.field(0)
        return int(pc.max(pc.binary_length(column.dictionary)).as_py() or 0)

    def _opened(self, **options: Any) -> Any:
        import pyarrow.parquet as pq

        source = self._source
        file = pa.PythonFile(source, "r") if isinstance(source, _Fetched) else source
        # A buffer of its own for each column, or else a group of rows is in memory as a whole.
        return pq.ParquetFile(file, pre_buffer=False, buffer_size=_BUFFER, **options)


class _Fetched(io.RawIOBase):
    """A file that is far away, with parts of it in memory: each of these is fetched once."""

    def __init__(self, source: pa.NativeFile) -> None:
        self._source, self._place = source, 0
        self._parts: list[tuple[int, bytes]] = []

    def fetch(self, ranges: Sequence[tuple[int, int]], most: int) -> None:
        """Hold these parts, from where to where, and no others; none if they are too long."""
        self._parts = []
        if sum(end - start for start, end in ranges) <= most:
            self._parts = [(start, self.read_at(end - start, start)) for start, end in ranges]

    def read_at(self, count: int, place: int) -> bytes:
        for start, part in self._parts:
            if start <= place and place + count <= start + len(part):
                return part[place - start : place - start + count]
        return bytes(self._source.read_at(count, place))

    def size(self) -> int:
        return int(self._source.size())

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._place, io.SEEK_END: self.size()}[whence]
        self._place = start + offset
        return self._place

    def tell(self) -> int:
        return self._place

    def read(self, count: int = -1) -> bytes:
        content = self.read_at(self.size() - self._place if count < 0 else count, self._place)
        self._place += len(content)
        return content

    def close(self) -> None:
        self._source.close()
        super().close()


@dataclass(frozen=True)
class _Page:
    """The header of a page.

    Args:
        is_dictionary: Whether it holds values to which the other pages point.
        stored: Its bytes in the file.
        unpacked: Its bytes in memory.
        values: How many values it has: rows, if no row is a list.
        encoding: How they are written, as a number of the format.
    """

    is_dictionary: bool
    stored: int
    unpacked: int
    values: int
    encoding: int


@dataclass(frozen=True, eq=False)
class _Chunk:
    """A column of a group of rows, by its pages."""

    leaf: Any
    pages: list[_Page]

    @property
    def is_text(self) -> bool:
        """Whether values have lengths of their own."""
        return bool(self.leaf.physical_type == "BYTE_ARRAY")

    @cached_property
    def data(self) -> list[_Page]:
        """The pages with rows."""
        return [page for page in self.pages if not page.is_dictionary]

    @cached_property
    def dictionary(self) -> int:
        """The bytes of the dictionary."""
        return max((page.unpacked for page in self.pages if page.is_dictionary), default=0)

    @property
    def uses_dictionary(self) -> bool:
        """Whether a row can point to the dictionary."""
        return any(page.encoding in _BY_DICTIONARY for page in self.data)

    @property
    def begins_with_dictionary(self) -> bool:
        """Whether the first row shows the dictionary."""
        return bool(self.data) and self.data[0].encoding in _BY_DICTIONARY

    @property
    def width(self) -> int:
        """The most bytes of a value that is no text."""
        return max(self.leaf.length or 0, _WIDEST_NUMBER)

    @property
    def prefixed(self) -> int:
        """The bytes of the longest page whose values may each repeat all that was before."""
        known = (_PLAIN, _DELTA_LENGTH, *_BY_DICTIONARY)
        return max((page.unpacked for page in self.data if page.encoding not in known), default=0)

    @property
    def at_once(self) -> int:
        """The bytes that are in memory, however few rows are asked for."""
        largest = max((page.unpacked for page in self.data), default=0)
        stored = max((page.stored for page in self.pages), default=0)
        # What is unpacked is copied once: into values of a dictionary, or into a batch.
        total = stored + 2 * (largest + self.dictionary)
        if not self.leaf.max_repetition_level:
            return total
        # A row of lists may be all of the group.
        width = self.dictionary if self.is_text else self.width
        return total + sum(page.unpacked + page.values * width for page in self.data)

    def in_pages(self, rows: int) -> int:
        """Return the most bytes that so many neighbouring rows have in pages of their own."""
        if not (self.is_text and self.data):
            return 0
        ends, before = self._places
        # Rows reach the most pages if the first of them is the last of its page.
        last = np.searchsorted(ends, ends + (rows - 2), side="right")
        return int((before[np.minimum(last, len(ends) - 1) + 1] - before[:-1]).max())

    @cached_property
    def _places(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The rows up to the end of each page, and the bytes up to the beginning of each."""
        ends = np.cumsum([page.values for page in self.data])
        own = [page.encoding in (_PLAIN, _DELTA_LENGTH) for page in self.data]
        sizes = [page.unpacked * is_own for page, is_own in zip(self.data, own, strict=True)]
        return ends, np.cumsum([0, *sizes])


def _is_in(leaf: Any, names: Sequence[str]) -> bool:
    """Whether a column is one of these, or a part of one of them."""
    return any(leaf.path == name or leaf.path.startswith(f"{name}.") for name in names)


def _range(chunk: Any) -> tuple[int, int]:
    """Return where in the file Arrow reads a column of a group of rows."""
    start = chunk.data_page_offset
    if chunk.has_dictionary_page and chunk.dictionary_page_offset:
        start = min(start, chunk.dictionary_page_offset)
    return start, start + chunk.total_compressed_size


def _pages(source: pa.NativeFile, chunk: Any) -> Iterator[_Page]:
    """Yield the headers of the pages that Arrow would read of a column of a group of rows."""
    place, end = _range(chunk)
    end = min(end + _PADDING, source.size())
    left = chunk.num_values
    while left > 0 and place < end:
        fields, length = _header(source, place)
        page = _page(fields)
        if min(page.stored, page.unpacked, page.values) < 0:
            raise pa.ArrowInvalid("a page of negative size")
        if not page.is_dictionary:
            left -= page.values
        place += length + page.stored
        yield page


def _page(fields: Mapping[int, Any]) -> _Page:
    of_kind = fields.get(_DATA) or fields.get(_DATA_2) or fields.get(_DICTIONARY) or {}
    encoding = of_kind.get(4 if _DATA_2 in fields else 2, _PLAIN)
    sizes = fields[_STORED], fields[_UNPACKED]
    return _Page(_DICTIONARY in fields, *sizes, of_kind.get(1, 0), encoding)


def _header(source: pa.NativeFile, place: int) -> tuple[dict[int, Any], int]:
    """Return the fields of the header of a page, by number, and its length."""
    for most in _HEADER_BYTES:
        thrift = _Thrift(source.read_at(most, place))
        try:
            fields = thrift.struct()
        except IndexError:
            continue
        if _STORED in fields and _UNPACKED in fields:
            return fields, thrift.place
        break
    raise pa.ArrowInvalid("no header of a page")


class _Thrift:
    """Values in the compact protocol of Thrift; of text nothing is kept."""

    def __init__(self, content: bytes) -> None:
        self._content, self.place = content, 0

    def struct(self, depth: int = 0) -> dict[int, Any]:
        """Return the fields of a struct by number."""
        if depth > _DEEPEST:
            raise pa.ArrowInvalid("a header that is nested too deeply")
        fields: dict[int, Any] = {}
        number = 0
        while (head := self._byte()) != 0:
            number = number + (head >> 4) if head >> 4 else self._integer()
            fields[number] = self._value(head & 15, depth)
        return fields

    def _value(self, kind: int, depth: int) -> Any:
        if kind in (1, 2):
            return kind == 1
        if kind == 3:  # noqa: PLR2004 - kinds are numbers of the protocol
            return self._skipped(1)
        if kind in (4, 5, 6):
            return self._integer()
        if kind == 7:  # noqa: PLR2004
            return self._skipped(8)
        if kind == 8:  # noqa: PLR2004
            return self._skipped(self._varint())
        if kind == 12:  # noqa: PLR2004
            return self.struct(depth + 1)
        raise pa.ArrowInvalid("a header with lists")

    def _skipped(self, count: int) -> None:
        self.place += count

    def _integer(self) -> int:
        number = self._varint()
        return (number >> 1) ^ -(number & 1)

    def _varint(self) -> int:
        number = shift = 0
        while (byte := self._byte()) & 128:
            number |= (byte & 127) << shift
            shift += 7
        return number | byte << shift

    def _byte(self) -> int:
        byte = self._content[self.place]
        self.place += 1
        return byte
