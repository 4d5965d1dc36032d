"""The bytes of a file: decompressed, in UTF-8, without the lines that are not of the table."""

from __future__ import annotations

import bz2
import io
import lzma
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from tabpe.errors import DataError
from tabpe.io.batches import Limits
from tabpe.schema.table_format import TableFormat

COMPRESSIONS = (".gz", ".bz2", ".xz", ".zst", ".zip")
# Arrow reads no longer row.
LONGEST_ROW = 2**20
# The largest compression ratio of deflate.
_DEFLATE_RATIO = 1032
_CHARACTERS_AT_ONCE = 2**16


@dataclass(frozen=True)
class FileHead:
    """What is known of a file before its rows are read.

    Args:
        schema: Names and types of the columns.
        most_rows: An upper bound of the number of rows.
    """

    schema: pa.Schema
    most_rows: int


class TableFile(Protocol):
    """A file that holds a table."""

    @property
    def path(self) -> Path:
        """Its path."""
        ...

    @property
    def has_typed_cells(self) -> bool:
        """Whether its cells have types of their own, and text among them is normalised already."""
        ...

    @property
    def names_are_data(self) -> bool:
        """Whether the rows say which columns there are, unless columns are declared."""
        ...

    @property
    def first_row(self) -> int:
        """The number of rows of the file before this part of it."""
        ...

    def divide_into(self, most: int) -> Sequence[TableFile]:
        """Return at most `most` parts that can be read separately, or the whole file."""
        ...

    def read_head(self) -> FileHead:
        """Return its columns and an upper bound of its rows."""
        ...

    def read_batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield its rows; columns other than `names` may be left out."""
        ...


def strip_compression(name: str) -> str:
    """Return the name of a file without the suffix of its compression.

    Example:
        >>> strip_compression("patients.csv.gz"), strip_compression("patients.csv")
        ('patients.csv', 'patients.csv')
    """
    found = next((suffix for suffix in COMPRESSIONS if name.lower().endswith(suffix)), "")
    return name[: len(name) - len(found)]


def bound_size(path: Path, limits: Limits) -> int:
    """Return an upper bound of the bytes of a file, decompressed."""
    size = path.stat().st_size
    kind = _find_compression(path)
    if kind is None:
        return size
    return min(limits.bytes, size * _DEFLATE_RATIO) if kind in (".gz", ".zip") else limits.bytes


def open_as_utf8(path: Path, limits: Limits, layout: TableFormat) -> io.RawIOBase:
    """Return a file as UTF-8 bytes, without comments and the lines above the header."""
    stream = DecompressedStream(path, limits)
    plain = layout.encoding.lower() in ("utf-8", "utf8", "utf-8-sig")
    if plain and not layout.skip and layout.comment is None:
        return stream
    return _Utf8Stream(stream, layout, str(path))


def open_as_text(path: Path, limits: Limits, layout: TableFormat) -> io.TextIOWrapper:
    """Return a file as decoded text, with line ends as they are."""
    return _decode(DecompressedStream(path, limits), layout)


class DecompressedStream(io.RawIOBase):
    """The decompressed bytes of a file, within the limits.

    Args:
        path: The file; its suffix says how it is compressed.
        limits: The most to read.
    """

    def __init__(self, path: Path, limits: Limits) -> None:
        self._path, self._limits, self._count = path, limits, 0
        self._stream = _open_decompressed(path)

    def readable(self) -> bool:
        """Whether it can be read: always."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read the next bytes into a buffer, and return their number."""
        return self._count_bytes(int(self._stream.readinto(buffer)))

    def read_buffer(self, size: int) -> pa.Buffer:
        """Return the next bytes as an Arrow buffer; Arrow calls this to avoid a copy."""
        if not isinstance(self._stream, pa.NativeFile):
            return pa.py_buffer(self.read(size) or b"")
        buffer = self._stream.read_buffer(size)
        self._count_bytes(buffer.size)
        return buffer

    def _count_bytes(self, count: int) -> int:
        self._count += count
        self._limits.check_limit("bytes", self._count, where=str(self._path))
        return count

    def close(self) -> None:
        """Close the file."""
        self._stream.close()
        super().close()


class _Utf8Stream(io.RawIOBase):
    """Text of any encoding as UTF-8, without comments and the lines above the header."""

    def __init__(self, stream: io.RawIOBase, layout: TableFormat, where: str) -> None:
        self._text, self._layout, self._where = _decode(stream, layout), layout, where
        self._pieces, self._rest = self._iterate_pieces(), b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._rest = piece.encode("utf-8", "replace")
        count = min(len(buffer), len(self._rest))
        buffer[:count], self._rest = self._rest[:count], self._rest[count:]
        return count

    def _iterate_pieces(self) -> Iterator[str]:
        for _ in range(self._layout.skip):
            self._read_line()
        if self._layout.comment is None:
            while piece := self._text.read(_CHARACTERS_AT_ONCE):
                yield piece
            return
        is_open = False
        while line := self._read_line():
            # Inside of quotes a line that begins so is the rest of a cell.
            if not is_open and line.startswith(self._layout.comment):
                continue
            if self._layout.quote is not None:
                is_open ^= line.count(self._layout.quote) % 2 == 1
            yield line

    def _read_line(self) -> str:
        line = self._text.readline(LONGEST_ROW + 1)
        if len(line) > LONGEST_ROW:
            raise DataError(f"{self._where}: a row of more than {LONGEST_ROW:,} characters.")
        return line

    def close(self) -> None:
        self._text.close()
        super().close()


def _decode(stream: io.RawIOBase, layout: TableFormat) -> io.TextIOWrapper:
    name = layout.encoding.lower()
    wide = name.replace("_", "-").startswith("utf")
    # Of an old encoding, a byte without a meaning is one character that can not be read.
    return io.TextIOWrapper(
        io.BufferedReader(stream),
        encoding="utf-8-sig" if name in ("utf-8", "utf8") else layout.encoding,
        errors="strict" if wide else "replace",
        newline="",
    )


def _find_compression(path: Path) -> str | None:
    name = path.name.lower()
    return next((suffix for suffix in COMPRESSIONS if name.endswith(suffix)), None)


def _open_decompressed(path: Path) -> Any:
    kind = _find_compression(path)
    if kind == ".zip":
        return _open_zip_member(path)
    if kind == ".xz":
        return lzma.open(path)
    if kind == ".bz2":
        return bz2.open(path)
    name = {".gz": "gzip", ".zst": "zstd", None: None}[kind]
    return pa.input_stream(str(path), compression=name)


def _open_zip_member(path: Path) -> Any:
    """Open the only file of a zip archive."""
    archive = zipfile.ZipFile(path)
    files = [info for info in archive.infolist() if not info.is_dir()]
    if len(files) != 1:
        archive.close()
        raise DataError(f"{path}: an archive of {len(files)} files: expected one: unpack it.")
    return archive.open(files[0])
