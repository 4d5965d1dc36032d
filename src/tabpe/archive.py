"""Saved models: a versioned zip of JSON and plain arrays. No pickle, nothing runs on load.

Parts are stored and not packed, so a file takes about as much memory as it is long: a few
kilobytes can not unfold to gigabytes, however often parts overlap or archives lie in each other.
"""

from __future__ import annotations

import io
import json
import math
import re
import struct
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from tabpe import _atomic, _plain
from tabpe._paths import open_regular
from tabpe.errors import ArchiveError

FORMAT = 2
LARGEST_ARCHIVE = 8 * 2**30
LARGEST_TEXT = 64 * 2**20
_TEXT, _ARRAYS, _ARRAY = "model.json", "rows.npz", ".npy"
_LONGEST_HEADER = 2**12
_HEADER = re.compile(
    rb"\x93NUMPY\x01\x00..\{'descr': '(?P<kind>[<>|][fiu][1248])', "
    rb"'fortran_order': (?P<fortran>True|False), 'shape': \((?P<shape>[\d, ]*)\), \} *\n",
    re.DOTALL,
)
_UNREADABLE = (
    OSError, EOFError, KeyError, ValueError, NotImplementedError, RuntimeError, OverflowError,
    TypeError, MemoryError, struct.error, zipfile.BadZipFile, zlib.error,
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Archive:
    """What a saved model holds: public values and synthetic rows.

    Args:
        text: Plain values.
        arrays: Arrays by name.
    """

    text: Mapping[str, Any]
    arrays: Mapping[str, NDArray[Any]]

    def save(self, path: Path) -> None:
        """Write the archive, whole or not at all."""
        _atomic.write(path, self.fill)

    def fill(self, file: BinaryIO) -> None:
        """Write the archive into an open file."""
        if any(array.dtype.hasobject for array in self.arrays.values()):
            raise ArchiveError("arrays of objects can not be saved: that would take pickle.")
        arrays = io.BytesIO()
        np.savez(arrays, **dict[str, Any](self.arrays))
        with zipfile.ZipFile(file, "w") as archive:
            text = json.dumps({"format": FORMAT, **self.text}, indent=2)
            for name, part in ((_TEXT, text), (_ARRAYS, arrays.getvalue())):
                # Without the time of writing: it would tell how long rows took to be counted.
                archive.writestr(zipfile.ZipInfo(name), part)

    @classmethod
    def load(cls, path: Path) -> Archive:
        """Read an archive."""
        with open_regular(path, ArchiveError) as file:
            try:
                text, arrays = _parts(path, file)
            except ArchiveError:
                raise
            except _UNREADABLE:
                raise ArchiveError(f"{path}: not a saved tabpe model.") from None
        if not isinstance(text, dict) or text.get("format") != FORMAT:
            raise ArchiveError(f"{path}: saved in another format: expected {FORMAT}.")
        return cls(text, arrays)


def _parts(path: Path, file: BinaryIO) -> tuple[Any, dict[str, NDArray[Any]]]:
    with zipfile.ZipFile(file) as archive:
        _check(path, archive, _length(file))
        if set(archive.namelist()) != {_TEXT, _ARRAYS}:
            raise ValueError("other parts than ours")
        if archive.getinfo(_TEXT).file_size > LARGEST_TEXT:
            raise ArchiveError(f"{path}: its text is of more than {LARGEST_TEXT:,} bytes.")
        text = _plain.strict_json(archive.read(_TEXT))
        arrays = io.BytesIO(archive.read(_ARRAYS))
    with zipfile.ZipFile(arrays) as inner:
        _check(path, inner, _length(arrays))
        return text, {
            part.filename.removesuffix(_ARRAY): _array(inner, part) for part in inner.infolist()
        }


def _array(archive: zipfile.ZipFile, part: zipfile.ZipInfo) -> NDArray[Any]:
    """Return an array of numbers, as numpy writes it.

    Not read by numpy, which evaluates the header, and takes memory for what the header says.
    """
    with archive.open(part) as file:
        header = _HEADER.fullmatch(file.readline(_LONGEST_HEADER))
        if header is None or not part.filename.endswith(_ARRAY):
            raise ValueError("not an array of plain numbers")
        shape = [int(size) for size in header["shape"].decode().split(",") if size.strip()]
        kind = np.dtype(header["kind"].decode())
        if part.file_size != header.end() + math.prod(shape) * kind.itemsize:
            raise ValueError("not as long as its shape says")
        numbers = np.frombuffer(file.read(), kind)
    return numbers.reshape(shape, order="F" if header["fortran"] == b"True" else "C")


def _check(path: Path, archive: zipfile.ZipFile, length: int) -> None:
    """Refuse parts that stand twice, are packed, or are together longer than what they are in."""
    parts = archive.infolist()
    if len({part.filename for part in parts}) < len(parts):
        raise ArchiveError(f"{path}: a part of the saved model stands there twice.")
    if any(part.compress_type != zipfile.ZIP_STORED for part in parts):
        raise ArchiveError(
            f"{path}: its parts are packed: expected format {FORMAT}, in which they are not."
        )
    if sum(part.file_size for part in parts) > min(length, LARGEST_ARCHIVE):
        raise ArchiveError(
            f"{path}: its parts are longer than the file, or than {LARGEST_ARCHIVE:,} bytes."
        )


def _length(file: BinaryIO) -> int:
    return file.seek(0, io.SEEK_END)
