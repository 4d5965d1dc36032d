"""Saved models: a versioned zip of JSON and plain arrays. No pickle, nothing runs on load."""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from tabpe import _atomic
from tabpe._paths import open_regular
from tabpe.errors import ArchiveError

FORMAT = 1
LARGEST_ARCHIVE = 8 * 2**30
_TEXT, _ARRAYS = "model.json", "rows.npz"
_UNREADABLE = (
    OSError, EOFError, KeyError, ValueError, NotImplementedError, RuntimeError,
    zipfile.BadZipFile, zlib.error,
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
        np.savez_compressed(arrays, **dict[str, Any](self.arrays))
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(_TEXT, json.dumps({"format": FORMAT, **self.text}, indent=2))
            archive.writestr(_ARRAYS, arrays.getvalue())

    @classmethod
    def load(cls, path: Path) -> Archive:
        """Read an archive."""
        try:
            with open_regular(path, ArchiveError) as file, zipfile.ZipFile(file) as archive:
                _check_sizes(path, archive)
                text = json.loads(archive.read(_TEXT))
                packed = io.BytesIO(archive.read(_ARRAYS))
            with zipfile.ZipFile(packed) as inner:
                _check_sizes(path, inner)
            with np.load(packed, allow_pickle=False) as arrays:
                loaded = {name: arrays[name] for name in arrays.files}
        except _UNREADABLE as error:
            if isinstance(error, ArchiveError):
                raise
            raise ArchiveError(f"{path}: not a saved tabpe model.") from None
        if not isinstance(text, dict) or text.get("format") != FORMAT:
            raise ArchiveError(f"{path}: saved in another format: expected {FORMAT}.")
        return cls(text, loaded)


def _check_sizes(path: Path, archive: zipfile.ZipFile) -> None:
    if sum(part.file_size for part in archive.infolist()) > LARGEST_ARCHIVE:
        raise ArchiveError(f"{path}: unfolds to more than {LARGEST_ARCHIVE:,} bytes.")
