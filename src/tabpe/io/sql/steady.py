"""The same rows in the same order, each time that they are read, or an error.

A database promises no order. But whose the rows are is found out on one way through the table and
used on another, row by row; and the accounting is about one table. So the columns that are read
first are read again on every later way, and must then be what they were.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tabpe._arrow import is_text
from tabpe.errors import DataError


class Watch:
    """Remembers a digest of the columns that were read first. Private.

    Args:
        where: The table, to name in errors.
    """

    def __init__(self, where: str) -> None:
        self._where = where
        self._names: tuple[str, ...] = ()
        self._digest: bytes | None = None

    def wanted(self, names: Sequence[str]) -> list[str]:
        """Return the columns to read if `names` are asked for."""
        return [*names, *(name for name in self._names if name not in names)]

    def watched(
        self, batches: Iterable[pa.RecordBatch], names: Sequence[str]
    ) -> Iterator[pa.RecordBatch]:
        """Yield the columns `names` of batches, which are refused if they are not as before.

        Privacy: a user's rows are bounded by their place in the table. Another order would let more
        of them count than the promise allows.

        Raises:
            DataError: After the last batch, if rows changed, or their order.
        """
        seen = self._names if self._digest is not None else tuple(names)
        digests = {name: _Digest() for name in seen}
        for batch in batches:
            for name in seen:
                digests[name].add(batch.column(name))
            yield batch.select(list(names))
        self._check(seen, b"".join(digests[name].value for name in seen))

    def _check(self, names: tuple[str, ...], digest: bytes) -> None:
        if self._digest is not None and digest != self._digest:
            raise DataError(
                f"{self._where}: the rows changed, or their order, while they were read: keep the "
                f"table as it is during a run, and end a query with ORDER BY."
            )
        self._names, self._digest = names, digest


class _Digest:
    """A digest of a column that does not depend on where its batches end."""

    def __init__(self) -> None:
        self._lengths, self._cells = hashlib.blake2b(), hashlib.blake2b()

    def add(self, column: pa.Array) -> None:
        plain = _plain(column)
        if not is_text(plain.type):
            present = pc.is_valid(plain).cast(pa.int8())
            self._lengths.update(_bytes(present))
            self._cells.update(_bytes(pc.fill_null(plain, 0)))
            return
        # No cell is as long as one that is missing.
        self._lengths.update(_bytes(pc.fill_null(pc.binary_length(plain), -1).cast(pa.int64())))
        self._cells.update(_letters(plain.drop_null()))

    @property
    def value(self) -> bytes:
        return self._lengths.digest() + self._cells.digest()


def _plain(column: pa.Array) -> pa.Array:
    """Return a column as text or as numbers, without a loss."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        return _plain(column.dictionary_decode())
    if is_text(kind) or pa.types.is_decimal(kind):
        return column.cast(pa.large_string())
    if pa.types.is_temporal(kind):
        return column.view(pa.int64() if kind.bit_width == 64 else pa.int32())  # noqa: PLR2004
    return column.cast(pa.int8()) if pa.types.is_boolean(kind) else column


def _letters(text: pa.Array) -> memoryview:
    """Return all cells of text, one after the other."""
    _, offsets, letters = text.buffers()
    if not len(text) or letters is None:
        return memoryview(b"")
    places = np.frombuffer(offsets, np.int64)[text.offset : text.offset + len(text) + 1]
    return memoryview(letters)[int(places[0]) : int(places[-1])]


def _bytes(numbers: pa.Array) -> bytes:
    return bytes(numbers.to_numpy(zero_copy_only=False).tobytes())
