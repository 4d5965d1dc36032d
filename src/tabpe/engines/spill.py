"""`SpillFile`: encoded rows in a file without a name.

The file is opened for this process alone (mode 0600) and has no name in its folder, or loses it in
the moment in which it is made. The system frees it when the process ends, however that happens:
even after `kill -9` there is nothing left to find or to delete.

One segment at a time is mapped into memory, and unmapped when nobody looks at it any more.
"""

from __future__ import annotations

import mmap
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from tabpe.encode import Records
from tabpe.engines.votes import Segment
from tabpe.errors import OutputError

T = TypeVar("T")


@dataclass(frozen=True)
class _Block:
    """Where an array is in the file."""

    offset: int
    kind: np.dtype[Any]
    shape: tuple[int, ...]

    @property
    def end(self) -> int:
        return self.offset + int(np.prod(self.shape)) * self.kind.itemsize

    def within(self, mapped: mmap.mmap, start: int) -> NDArray[Any]:
        count = int(np.prod(self.shape))
        flat = np.frombuffer(mapped, dtype=self.kind, count=count, offset=self.offset - start)
        return flat.reshape(self.shape)


@dataclass(frozen=True)
class _Place:
    """Where a segment is in the file."""

    label: int
    weights: _Block | None
    owners: _Block | None
    numbers: _Block
    codes: _Block


class SpillFile:
    """Segments on the disk, to be read one after the other, as often as needed.

    Args:
        folder: Where to put the file; None for the folder of the system for temporary files.

    Example:
        >>> rows = Records(np.eye(2, dtype=np.float32), np.empty((2, 0), dtype=np.uint8))
        >>> file = SpillFile(None)
        >>> file.append(Segment(1, rows))
        >>> [(segment.label, segment.rows.numbers.tolist()) for segment in file]
        [(1, [[1.0, 0.0], [0.0, 1.0]])]
        >>> file.close()
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._places: list[_Place] = []
        self._file: IO[bytes] = self._tried(lambda: tempfile.TemporaryFile(dir=folder))  # noqa: SIM115

    def append(self, segment: Segment) -> None:
        """Write a segment behind the others."""
        self._tried(lambda: self._write(segment))

    def __iter__(self) -> Iterator[Segment]:
        return map(self._read, self._places)

    def close(self) -> None:
        """Free the file."""
        self._places = []
        with suppress(OSError):  # What a full disk did not take is tried once more, and closed.
            self._file.close()

    def _write(self, segment: Segment) -> None:
        self._file.seek(0, 2)
        # A mapping begins at a page; whole numbers first, so that each array is aligned.
        self._file.write(bytes(-self._file.tell() % mmap.ALLOCATIONGRANULARITY))
        place = _Place(
            segment.label,
            self._maybe_block(segment.weights),
            self._maybe_block(segment.owners),
            self._block(segment.rows.numbers),
            self._block(segment.rows.codes),
        )
        # Rows without a column take no bytes, and nothing can not be mapped.
        self._file.write(b"\0")
        self._file.flush()
        self._places.append(place)

    def _maybe_block(self, array: NDArray[Any] | None) -> _Block | None:
        return None if array is None else self._block(array)

    def _block(self, array: NDArray[Any]) -> _Block:
        block = _Block(self._file.tell(), array.dtype, array.shape)
        self._file.write(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
        return block

    def _read(self, place: _Place) -> Segment:
        start = (place.weights or place.owners or place.numbers).offset
        length = place.codes.end + 1 - start
        mapped = self._tried(
            lambda: mmap.mmap(self._file.fileno(), length, access=mmap.ACCESS_READ, offset=start)
        )
        weights, owners = (
            None if block is None else block.within(mapped, start)
            for block in (place.weights, place.owners)
        )
        rows = Records(place.numbers.within(mapped, start), place.codes.within(mapped, start))
        return Segment(place.label, rows, weights, owners)

    def _tried(self, call: Callable[[], T]) -> T:
        try:
            return call()
        except OSError as error:
            problem = error.strerror or "failed"
        folder = self._folder or tempfile.gettempdir()
        raise OutputError(
            f"spill={str(folder)!r}: can not keep encoded rows there ({problem}): free some room, "
            f"name another folder, or pass spill=False to encode them in every round."
        )
