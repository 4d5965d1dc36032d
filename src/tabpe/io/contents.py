"""What is in a row, as a number: the same for equal rows, wherever they stand.

A hash depends on the cells of its row and on a key, and on no other row. So sums of hashes do not
depend on how rows are ordered or cut into batches and files. They are fit to tell tables apart and
to draw lots by, and not to hide anything: what leaves the building goes through a keyed digest.
"""

from __future__ import annotations

import hashlib

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tabpe._arrow import attempt

Lots = NDArray[np.uint64]
_MIX = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_MISSING = np.uint64(0xD6E8FEB86659FD93)


def row_hashes(table: pa.Table, key: bytes) -> Lots:
    """Return a number for each row that follows from its cells, in their order, and the key.

    Cells that Python holds to be equal have the same one, whatever their width: 1 and 1, 0.0 and
    -0.0. So have all kinds of NaN.

    Example:
        >>> rows = pa.table({"age": [31, 42, 31], "ward": ["eye", "eye", "eye"]})
        >>> one, two, three = row_hashes(rows, b"key")
        >>> one == three, one == two
        (np.True_, np.False_)
    """
    seeds = _seeds(key, table.num_columns)
    hashes = np.full(table.num_rows, seeds[0])
    for column, seed in zip(table.columns, seeds[1:], strict=True):
        hashes = mixed(hashes ^ mixed(_bits(column, key) + seed))
    return hashes


def mixed(values: Lots) -> Lots:
    """Return well-mixed bits (SplitMix64), the same for the same value."""
    added, first, second = _MIX
    bits = values + added
    bits = (bits ^ (bits >> np.uint64(30))) * first
    bits = (bits ^ (bits >> np.uint64(27))) * second
    return bits ^ (bits >> np.uint64(31))


def _seeds(key: bytes, columns: int) -> Lots:
    start = hashlib.blake2b(key, digest_size=8).digest()
    return mixed(np.frombuffer(start, dtype=np.uint64)[0] + np.arange(columns + 1, dtype=np.uint64))


def _bits(cells: pa.ChunkedArray, key: bytes) -> Lots:
    """Return 64 bits for each cell."""
    array = pa.concat_arrays(cells.chunks) if cells.num_chunks else pa.array([], cells.type)
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    numbers = _numbers(array)
    bits = _texts(array, key) if numbers is None else numbers.view(np.uint64)
    missing = pc.is_null(array).to_numpy(zero_copy_only=False)
    return np.where(missing, _MISSING, bits)


def _numbers(array: pa.Array) -> NDArray[np.int64] | NDArray[np.float64] | None:
    """Return cells of a fixed width as numbers of 64 bits; None if they are of another kind."""
    kind = array.type
    if pa.types.is_floating(kind):
        values = array.cast(pa.float64()).fill_null(0.0).to_numpy(zero_copy_only=False)
        return np.where(np.isnan(values), np.nan, values + 0.0)
    if pa.types.is_uint64(kind):
        unsigned: NDArray[np.uint64] = array.fill_null(0).to_numpy(zero_copy_only=False)
        return unsigned.view(np.int64)
    if pa.types.is_date32(kind) or pa.types.is_time32(kind):
        array = array.cast(pa.int32())
    if pa.types.is_integer(array.type) or pa.types.is_boolean(kind) or pa.types.is_temporal(kind):
        whole = attempt(lambda: array.cast(pa.int64()))
        return None if whole is None else whole.fill_null(0).to_numpy(zero_copy_only=False)
    return None


def _texts(array: pa.Array, key: bytes) -> Lots:
    """Return the bits of cells of any other kind; each different one is looked at once."""
    encoded = attempt(array.dictionary_encode, pa.ArrowException)
    if encoded is None:
        return _digests(array.to_pylist(), key)
    places = encoded.indices.fill_null(0).to_numpy(zero_copy_only=False)
    digests = _digests(encoded.dictionary.to_pylist(), key)
    return digests[places] if len(digests) else np.zeros(len(array), dtype=np.uint64)


def _digests(values: list[object], key: bytes) -> Lots:
    short = hashlib.blake2b(key, digest_size=32).digest()
    digests = [hashlib.blake2b(_bytes(one), key=short, digest_size=8).digest() for one in values]
    return np.frombuffer(b"".join(digests), dtype=np.uint64)


def _bytes(value: object) -> bytes:
    return value.encode() if isinstance(value, str) else repr(value).encode()
