"""Canonical cells: one value for each cell, however it is stored.

How a table happens to be stored depends on single rows. One null turns integers of pandas into
floats, one decimal with more digits gives all others more digits, one word turns a column into
text. So storage decides nothing here. A cell means what its text says: `35`, `35.0`,
`Decimal("35.00")` and the text `35` are one number; `True` and `true` are one boolean; a date and
the midnight that begins it are one instant, in any unit. `canonicalize_table` converts columns to
few Arrow types, and all code that reads cells uses the functions below, which return the same for
the same cell of every type.

Kinds of cells:

- *missing*: null, NaN, NaT, and text of nothing but blanks;
- *number*: an integer, or else the nearest double; also as text in plain notation (`1.50`,
  `1e-07`, but neither `007`, which is a code, nor `12E4`);
- *boolean*: true and false, as text in any case;
- *instant*: microseconds since 1970, with or without a time zone; also as ISO 8601 text;
- *time of day*: microseconds since midnight; also as ISO 8601 text;
- *text*: everything else, in Unicode normal form C.

A schema may say how the numbers of a column are written as text, and what stands for a null:
`normalize_texts` and `replace_nulls`.

Guarantee: each function reads a cell by itself. What it returns for a row depends on that row and
on public values, never on another row or on the type that the rows of a column have in common.
"""

from __future__ import annotations

import datetime as dt
import functools
import hashlib
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tabpe._utils.arrays import is_text, try_call
from tabpe.errors import DataError
from tabpe.schema.table_format import CellRules

Keys = NDArray[np.uint64]
Floats = NDArray[np.float64]
NOT_LISTED = -1
EXACT_INTEGERS = 2**53
DAY = 86_400 * 10**6
TRUE_WORDS, FALSE_WORDS = ("true", "t", "yes", "y", "1"), ("false", "f", "no", "n", "0")

_SPLITMIX = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
_MISSING = np.uint64(0xD6E8FEB86659FD93)
_INSTANT, _CLOCK = np.uint64(0xA24BAED4963EE407), np.uint64(0x9FB21C651E98DF25)
_ZONED = np.uint64(0xD1342543DE82EF95)
# Text that is read as a number, a boolean, an instant or a time of day. Numbers are written as
# Python prints them: other text that `float` would accept stays text.
_DATE, _TIME = r"[0-9]{4}-[0-9]{2}-[0-9]{2}", r"[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?"
_LOCAL = rf"{_DATE}(?:[T ]{_TIME})?"
_TYPED = re.compile(
    r"\s*(?:(?P<number>-?(?:inf|(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:e[+-][0-9]+)?))"
    r"|(?P<word>(?i:true|false))"
    rf"|(?P<instant>{_DATE}(?:[T ]{_TIME}(?:Z|[+-][0-9]{{2}}(?::?[0-9]{{2}})?)?)?)"
    rf"|(?P<time>{_TIME}))\s*"
)
_INTEGER = re.compile(r"\s*(?P<digits>[+-]?[0-9]{1,36})(?:\.0*)?\s*")
_ANY_NUMBER = re.compile(
    r"\s*[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|(?i:inf(?:inity)?))\s*"
)
_EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001 (local time of any zone)
_MICROSECOND = dt.timedelta(microseconds=1)
_FIRST_TICK = (dt.datetime(1, 1, 1) - _EPOCH) // _MICROSECOND  # noqa: DTZ001
_LARGEST_TICK = 2**62
_UNITS = {"s": 10**6, "ms": 10**3, "us": 1}
_UNREADABLE = "\N{REPLACEMENT CHARACTER}"


def canonicalize_table(table: pa.Table) -> pa.Table:
    """Return a table with every column in a canonical type; itself if it is canonical already.

    Example:
        >>> from decimal import Decimal
        >>> canonicalize_table(pa.table({"dose": [Decimal("0.50"), None]}))["dose"].to_pylist()
        ['0.5', None]
    """
    columns = [
        canonicalize_column(cells, name)
        for name, cells in zip(table.schema.names, table.columns, strict=True)
    ]
    if all(new is old for new, old in zip(columns, table.columns, strict=True)):
        return table
    return pa.table(columns, names=table.schema.names)


def canonicalize_column(cells: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    """Return a column as bool, int64, uint64, float64, text, date32, timestamp[us] or time64[us].

    A dictionary stays a dictionary, of canonical values.

    Raises:
        DataError: If its type is nested.
    """
    kind = cells.type
    if pa.types.is_dictionary(kind):
        return pa.chunked_array(
            [_canonicalize_dictionary(one, name) for one in cells.chunks]
            or [pa.array([], pa.string())]
        )
    if _is_canonical(kind) and not is_text(kind):
        return cells
    chunks = [_canonicalize_array(one, name) for one in cells.chunks]
    if all(new is old for new, old in zip(chunks, cells.chunks, strict=True)):
        return cells
    return pa.chunked_array(chunks) if chunks else pa.chunked_array([[]], pa.string())


def is_nested(kind: pa.DataType) -> bool:
    """Return whether a type is nested (lists, structs) instead of plain values.

    Example:
        >>> is_nested(pa.dictionary(pa.int32(), pa.list_(pa.string()))), is_nested(pa.string())
        (True, False)
    """
    if pa.types.is_dictionary(kind):
        return is_nested(kind.value_type)
    return bool(pa.types.is_nested(kind) or pa.types.is_run_end_encoded(kind))


def find_nested_columns(schema: pa.Schema) -> frozenset[str]:
    """Return the names of columns of a nested type."""
    return frozenset(field.name for field in schema if is_nested(field.type))


def concatenate_tables(tables: Sequence[pa.Table]) -> pa.Table:
    """Concatenate canonical tables with the same columns; columns of mixed types become text.

    Example:
        >>> concatenate_tables([pa.table({"n": [1]}), pa.table({"n": ["x"]})])["n"].to_pylist()
        ['1', 'x']
    """
    names = tables[0].schema.names
    columns = []
    for index, _ in enumerate(names):
        parts = [table.column(index) for table in tables]
        if len({part.type for part in parts}) > 1:
            parts = [pa.chunked_array([read_texts(flatten_column(part))]) for part in parts]
        columns.append(
            pa.chunked_array([chunk for part in parts for chunk in part.chunks], type=parts[0].type)
        )
    return pa.table(columns, names=names)


def flatten_column(cells: pa.ChunkedArray | pa.Array, name: str = "") -> pa.Array:
    """Return the cells of a column in one canonical array."""
    if isinstance(cells, pa.Array):
        cells = pa.chunked_array([cells])
    cells = canonicalize_column(cells, name)
    if cells.num_chunks == 1:
        return cells.chunk(0)
    if pa.types.is_dictionary(cells.type):
        cells = cells.unify_dictionaries()
    return pa.concat_arrays(cells.chunks) if cells.num_chunks else pa.array([], cells.type)


def find_missing(array: pa.Array) -> NDArray[np.bool_]:
    """Return a mask of missing cells: null, NaN, or text of nothing but blanks.

    Example:
        >>> find_missing(pa.array(["a", " ", None]))
        array([False,  True,  True])
    """
    if pa.types.is_dictionary(array.type):
        return _apply_to_distinct(array, find_missing, fill=True)
    if is_text(array.type):
        blank = pc.fill_null(pc.equal(pc.utf8_trim_whitespace(array), ""), True)  # noqa: FBT003
        return np.asarray(blank.to_numpy(zero_copy_only=False), dtype=bool)
    missing = pc.is_null(array, nan_is_null=True)
    return np.asarray(missing.to_numpy(zero_copy_only=False), dtype=bool)


def read_numbers(array: pa.Array) -> Floats:
    """Return cells as numbers; NaN where one is missing or not a number. True counts as 1.

    Example:
        >>> read_numbers(pa.array(["1.50", "x", None, " 2 "]))
        array([1.5, nan, nan, 2. ])
    """
    if pa.types.is_dictionary(array.type):
        return _apply_to_distinct(array, read_numbers, fill=np.nan)
    kind = array.type
    if is_text(kind):
        text = pc.utf8_trim_whitespace(array)
        cast = try_call(lambda: pc.if_else(pc.equal(text, ""), None, text).cast(pa.float64()))
        if cast is None:
            return _apply_to_distinct(array, _parse_numbers, fill=np.nan)
        return _convert_to_floats(cast)
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind):
        return _convert_to_floats(array.cast(pa.float64(), safe=False))
    return np.full(len(array), np.nan)


def read_integers(array: pa.Array) -> pa.Array:
    """Return cells as integers of up to 36 digits; null where one is missing or not a number.

    Example:
        >>> read_integers(pa.array(["1152921504606846977", "1.0", "x"])).to_pylist()
        [Decimal('1152921504606846977'), Decimal('1'), None]
    """
    kind = pa.decimal128(37, 0)
    if pa.types.is_integer(array.type):
        return array.cast(kind)
    if is_text(array.type) or pa.types.is_dictionary(array.type):
        encoded = _encode_dictionary(array)
        whole = [_parse_integer(text) for text in encoded.dictionary.cast(pa.string()).to_pylist()]
        return pc.take(pa.array(whole, kind), encoded.indices)
    values = np.clip(np.rint(read_numbers(array)), -1e36, 1e36)
    return pa.array(values, mask=np.isnan(values)).cast(kind)


def read_booleans(array: pa.Array) -> NDArray[np.int8]:
    """Return 1 for cells that are true, 0 for false ones, -1 where one is missing or neither.

    Example:
        >>> read_booleans(pa.array(["yes", "False", "1.0", "maybe", None]))
        array([ 1,  0,  1, -1, -1], dtype=int8)
    """
    if pa.types.is_dictionary(array.type) or is_text(array.type):
        return _apply_to_distinct(array, _parse_booleans, fill=-1)
    values = read_numbers(array)
    return np.select([values == 1, values == 0], [1, 0], -1).astype(np.int8)


def read_texts(array: pa.Array) -> pa.Array:
    """Return cells as text, the same for equal cells; null where one is missing.

    Example:
        >>> read_texts(pa.array([35.0, 0.1, None])).to_pylist()
        ['35', '0.1', None]
        >>> read_texts(pa.array(["35.00", "007", "eye "])).to_pylist()
        ['35', '007', 'eye ']
        >>> import datetime
        >>> read_texts(pa.array([datetime.datetime(2024, 3, 31, 18, 30)])).to_pylist()
        ['2024-03-31T18:30:00']
    """
    kind = array.type
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        return array.cast(pa.string())
    encoded = _encode_dictionary(array)
    texts = [_format_value(value) for value in _list_values(encoded.dictionary)]
    return pc.take(pa.array(texts, pa.string()), encoded.indices)


def read_raw_texts(array: pa.Array) -> pa.Array:
    """Return text as it is, and the canonical text of all other cells.

    Example:
        >>> read_raw_texts(pa.array(["031224", "1.50"])).to_pylist()
        ['031224', '1.50']
    """
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    return array.cast(pa.string()) if is_text(array.type) else read_texts(array)


def read_instants(array: pa.Array, *, zoned: bool) -> pa.Array:
    """Return cells that are instants as microseconds since 1970; null for all others.

    Args:
        array: The cells.
        zoned: Whether to read instants with a time zone, or those without one.

    Example:
        >>> read_instants(pa.array(["1970-01-02", "1970-01-01T01:00Z"]), zoned=False).to_pylist()
        [86400000000, None]
    """
    kind = array.type
    if is_text(kind) or pa.types.is_dictionary(kind):
        at_once = _parse_local_instants(array) if is_text(kind) else None
        if at_once is not None:
            return pa.nulls(len(array), pa.int64()) if zoned else at_once
        encoded = _encode_dictionary(array)
        ticks = [_parse_instant(text) for text in _list_values(encoded.dictionary)]
        wanted = [tick[0] if tick is not None and tick[1] is zoned else None for tick in ticks]
        return pc.take(pa.array(wanted, pa.int64()), encoded.indices)
    if pa.types.is_date(kind) and not zoned:
        return pc.multiply(array.cast(pa.int32()).cast(pa.int64()), DAY)
    if pa.types.is_timestamp(kind) and (kind.tz is not None) is zoned:
        return array.cast(pa.int64())
    return pa.nulls(len(array), pa.int64())


def read_times(array: pa.Array) -> pa.Array:
    """Return cells that are times of day as microseconds since midnight; null for others.

    Example:
        >>> read_times(pa.array(["00:01", "25:00", None])).to_pylist()
        [60000000, None, None]
    """
    if is_text(array.type) or pa.types.is_dictionary(array.type):
        encoded = _encode_dictionary(array)
        ticks = [_parse_time(text) for text in _list_values(encoded.dictionary)]
        return pc.take(pa.array(ticks, pa.int64()), encoded.indices)
    if pa.types.is_time(array.type):
        return array.cast(pa.int64())
    return pa.nulls(len(array), pa.int64())


def find_values(array: pa.Array, values: Sequence[str | int | float]) -> NDArray[np.int64]:
    """Return the index of each cell in a list of values; `NOT_LISTED` for all others.

    Values that mean the same number or boolean, such as `1.1` and `1.10`, are distinguished by
    their text; all others are found by what they mean.

    Example:
        >>> find_values(pa.array([1.0, 2.5, None]), ["1", "2", "2.50"])
        array([ 0,  2, -1])
        >>> find_values(pa.array([True, False]), ["no", "1"])
        array([ 1, -1])
    """
    listed = flatten_column(pa.array(list(values)))
    if is_text(array.type) or pa.types.is_dictionary(array.type):
        return _apply_to_distinct(array, lambda some: _find_values(some, listed), fill=NOT_LISTED)
    return _find_values(array, listed)


def _find_values(array: pa.Array, listed: pa.Array) -> NDArray[np.int64]:
    keys = hash_cells(listed, b"")
    first = _find_first_occurrences(keys)
    found = _lookup_indices(hash_cells(array, b""), keys[first])
    found = np.where(found == NOT_LISTED, NOT_LISTED, first[found])
    found[find_missing(array)] = NOT_LISTED
    if len(first) == len(listed) and not find_missing(listed).any():
        return found
    # Two listed values mean the same, or one is blank: their text decides.
    texts = array if is_text(array.type) else read_texts(array)
    exact = _lookup_indices(texts.cast(pa.string()), listed.cast(pa.string()))
    return np.where(exact == NOT_LISTED, found, exact)


def differ_only_by_text(values: Sequence[str | int | float]) -> bool:
    """Return whether some listed values mean the same and differ only in their text.

    Example:
        >>> differ_only_by_text(["1.1", "1.10"]), differ_only_by_text(["1.1", "1.2"])
        (True, False)
    """
    return len(
        _find_first_occurrences(hash_cells(flatten_column(pa.array(list(values))), b""))
    ) < len(values)


def hash_rows(table: pa.Table, key: bytes) -> Keys:
    """Return a 64-bit hash of each row, from its cells in their order and the key.

    A hash depends on no other row and on no storage type, so sums of hashes do not depend on how
    rows are ordered, stored or split into batches and files.

    Privacy: the hashes compare tables and order rows pseudo-randomly. They do not hide anything: a
    fingerprint that is released goes through a keyed digest.

    Example:
        >>> whole = pa.table({"age": [31, 42], "ward": ["eye", "eye"]})
        >>> floats = pa.table({"age": [31.0, 42.0], "ward": ["eye", "eye"]})
        >>> bool((hash_rows(whole, b"key") == hash_rows(floats, b"key")).all())
        True
    """
    seeds = _derive_seeds(key, table.num_columns)
    hashes = np.full(table.num_rows, seeds[0])
    for cells, seed in zip(table.columns, seeds[1:], strict=True):
        hashes = mix_bits(hashes ^ mix_bits(hash_cells(flatten_column(cells), key) + seed))
    return hashes


def mix_bits(values: Keys) -> Keys:
    """Mix the bits of each value (SplitMix64)."""
    added, first, second = map(np.uint64, _SPLITMIX)
    bits = values + added
    bits = (bits ^ (bits >> np.uint64(30))) * first
    bits = (bits ^ (bits >> np.uint64(27))) * second
    return bits ^ (bits >> np.uint64(31))


def hash_cells(array: pa.Array, key: bytes) -> Keys:
    """Return a 64-bit hash of each cell, equal for equal cells; True and 1 are equal."""
    kind = array.type
    if is_text(kind) or pa.types.is_dictionary(kind):
        return _apply_to_distinct(array, lambda some: _hash_texts(some, key), fill=_MISSING)
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind):
        bits = _hash_numbers(array, key)
    elif pa.types.is_time(kind):
        bits = _hash_ticks(read_times(array), _CLOCK)
    else:
        zoned = pa.types.is_timestamp(kind) and kind.tz is not None
        bits = _hash_ticks(read_instants(array, zoned=zoned), _ZONED if zoned else _INSTANT)
    return np.where(find_missing(array), _MISSING, bits)


def format_cell(value: Any) -> str | None:  # noqa: PLR0911 (one a type)
    """Return the text of a Python object as the same canonical cell; None if it is missing.

    A value that is not plain, such as a list, becomes a replacement character.

    Example:
        >>> format_cell(True), format_cell(Decimal("1.50")), format_cell(dt.date(2024, 2, 29))
        ('true', '1.5', '2024-02-29T00:00:00')
    """
    if isinstance(value, str):
        return _replace_surrogates(value)
    if isinstance(value, np.generic):
        value = _convert_numpy_scalar(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return None if value != value else _format_number(value)  # noqa: PLR0124 (NaN)
    if value is None or _is_pandas_missing(value):
        return None
    if isinstance(value, Decimal):
        return (
            None
            if value.is_nan()
            else _normalize_cell_text(str(value).lower().replace("inity", ""))
        )
    if isinstance(value, (dt.date, dt.time)):
        # A date is written as its midnight, which no declared date format can match.
        is_day = isinstance(value, dt.date) and not isinstance(value, dt.datetime)
        return value.isoformat() + ("T00:00:00" if is_day else "")
    if isinstance(value, dt.timedelta):
        return _format_number(value.total_seconds())
    if isinstance(value, (bytes, bytearray)):
        return _decode_bytes(bytes(value))
    return _UNREADABLE if hasattr(value, "__len__") or hasattr(value, "__dict__") else str(value)


def _is_canonical(kind: pa.DataType) -> bool:
    known = (pa.bool_(), pa.int64(), pa.uint64(), pa.float64(), pa.date32(), pa.time64("us"))
    return kind in known or (pa.types.is_timestamp(kind) and kind.unit == "us") or is_text(kind)


def _canonicalize_array(array: pa.Array, name: str) -> pa.Array:  # noqa: PLR0911 (one a type)
    kind = array.type
    if is_text(kind):
        return _normalize_text(
            array.cast(pa.large_string()) if pa.types.is_string_view(kind) else array
        )
    if _is_canonical(kind):
        return array
    if is_nested(kind):
        raise DataError(f"column {name!r} is of type {kind}: expected plain values.")
    if isinstance(array, pa.ExtensionArray):
        return _canonicalize_array(array.storage, name)
    if pa.types.is_integer(kind):
        return array.cast(pa.int64())
    if pa.types.is_floating(kind):
        return array.cast(pa.float64())
    if pa.types.is_decimal(kind):
        return read_texts(pc.utf8_lower(array.cast(pa.string())))  # independent of the common scale
    if pa.types.is_timestamp(kind):
        ticks = _convert_to_microseconds(array.cast(pa.int64()), kind.unit)
        return ticks.cast(pa.timestamp("us", kind.tz))
    if pa.types.is_date64(kind):
        return array.cast(pa.date32(), safe=False)
    if pa.types.is_time(kind):
        whole = array.cast(pa.int32() if kind.bit_width == 32 else pa.int64())  # noqa: PLR2004
        return _convert_to_microseconds(whole.cast(pa.int64()), kind.unit).cast(pa.time64("us"))
    if pa.types.is_duration(kind):
        return pc.divide(
            _convert_to_microseconds(array.cast(pa.int64()), kind.unit).cast(pa.float64()), 1e6
        )
    if pa.types.is_null(kind):
        return pa.nulls(len(array), pa.string())
    return pa.array([format_cell(value) for value in array.to_pylist()], pa.string())


def _canonicalize_dictionary(array: pa.DictionaryArray, name: str) -> pa.Array:
    values = _canonicalize_array(array.dictionary, name)
    if not is_text(values.type):
        return pc.take(values, array.indices)
    if values is array.dictionary and array.type.index_type == pa.int32():
        return array
    return pa.DictionaryArray.from_arrays(array.indices.cast(pa.int32()), values)


def _normalize_text(text: pa.Array) -> pa.Array:
    """Return text in normal form C; itself if it is ASCII."""
    if pc.all(pc.string_is_ascii(text)).as_py() is not False:
        return text
    if _can_arrow_compose():
        return pc.utf8_normalize(text, form="NFC")
    encoded = text.dictionary_encode()
    composed = [
        None if value is None else unicodedata.normalize("NFC", value)
        for value in encoded.dictionary.to_pylist()
    ]
    return pa.array(composed, text.type).take(encoded.indices)


@functools.cache
def _can_arrow_compose() -> bool:
    """Return whether pyarrow does; 25 and older decompose where form C composes."""
    return bool(pc.utf8_normalize(pa.scalar("e\u0301"), form="NFC").as_py() == "\u00e9")


def _convert_to_microseconds(array: pa.Array, unit: str) -> pa.Array:
    """Convert integers of a unit to microseconds, rounded down and clipped to int64."""
    values = array.fill_null(0).to_numpy(zero_copy_only=False)
    if unit == "ns":
        ticks = np.floor_divide(values, 1000)
    else:
        most = _LARGEST_TICK // _UNITS[unit]
        ticks = np.clip(values, -most, most) * _UNITS[unit]
    return pa.array(ticks, mask=pc.is_null(array).to_numpy(zero_copy_only=False))


def _encode_dictionary(array: pa.Array) -> pa.DictionaryArray:
    return array if pa.types.is_dictionary(array.type) else array.dictionary_encode()


def _apply_to_distinct(
    array: pa.Array, read: Callable[[pa.Array], NDArray[Any]], *, fill: Any
) -> NDArray[Any]:
    """Apply `read` to the distinct cells, and return its results for all cells."""
    encoded = _encode_dictionary(array)
    found = read(encoded.dictionary)
    if not len(found):
        return np.full(len(array), fill, dtype=found.dtype)
    taken: NDArray[Any] = found[encoded.indices.fill_null(0).to_numpy(zero_copy_only=False)]
    if encoded.indices.null_count:
        taken[pc.is_null(encoded.indices).to_numpy(zero_copy_only=False)] = fill
    return taken


def _list_values(array: pa.Array) -> list[Any]:
    """Return cells as Python objects; instants with a zone in UTC."""
    if pa.types.is_timestamp(array.type):
        zone = None if array.type.tz is None else dt.UTC
        ticks = array.cast(pa.int64()).to_pylist()
        return [None if tick is None else _make_datetime(tick, zone) for tick in ticks]
    return list(array.to_pylist())


def _make_datetime(tick: int, zone: dt.tzinfo | None) -> dt.datetime | None:
    try:
        return (_EPOCH + tick * _MICROSECOND).replace(tzinfo=zone)
    except OverflowError:
        return None


def _format_value(value: Any) -> str | None:
    """Return the canonical text of a value."""
    if isinstance(value, str):
        return _normalize_cell_text(value)
    if isinstance(value, float):
        return None if value != value else _format_number(value)  # noqa: PLR0124 (NaN)
    if isinstance(value, dt.datetime):
        return _format_datetime(value)
    return None if value is None else str(value.isoformat())


def _normalize_cell_text(text: str) -> str | None:
    if not text.strip():
        return None
    found = _TYPED.fullmatch(text)
    if found is None:
        return text
    if found["word"]:
        return found["word"].lower()
    if found["number"]:
        whole = _INTEGER.fullmatch(text)
        return str(int(whole["digits"])) if whole else _format_number(_parse_number(text))
    instant, time = _parse_instant(text), _parse_time(text)
    if instant is not None:
        moment = _make_datetime(instant[0], dt.UTC if instant[1] else None)
        return text if moment is None else _format_datetime(moment)
    return text if time is None else str((_EPOCH + time * _MICROSECOND).time().isoformat())


def _format_number(value: float) -> str:
    return str(int(value)) if value.is_integer() else repr(value)


def _format_datetime(value: dt.datetime) -> str:
    midnight = value.tzinfo is None and value.time() == dt.time()
    return value.date().isoformat() if midnight else value.isoformat()


def _decode_bytes(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.hex()


def _replace_surrogates(text: str) -> str:
    """Replace lone surrogates, which Arrow text can not hold."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _convert_numpy_scalar(value: np.generic) -> Any:
    """Return a numpy scalar as a Python object; times in microseconds."""
    if isinstance(value, np.datetime64):
        return value.astype("datetime64[us]").item()
    return (
        value.astype("timedelta64[us]").item()
        if isinstance(value, np.timedelta64)
        else value.item()
    )


def _is_pandas_missing(value: Any) -> bool:
    """Whether a value is pandas' NaT or NA, without loading pandas."""
    return type(value).__name__ in {"NaTType", "NAType"}


def _convert_to_floats(array: pa.Array) -> Floats:
    values: Floats = array.to_numpy(zero_copy_only=False)
    return values


def _parse_numbers(texts: pa.Array) -> Floats:
    return np.array([_parse_number(text) for text in texts.to_pylist()], dtype=np.float64)


def _parse_number(text: str | None) -> float:
    if text is None:
        return np.nan
    if _ANY_NUMBER.fullmatch(text):
        return float(text.strip())  # `float` does not strip all blanks
    return {"true": 1.0, "false": 0.0}.get(text.strip().lower(), np.nan)


def _parse_booleans(texts: pa.Array) -> NDArray[np.int8]:
    words = dict.fromkeys(TRUE_WORDS, 1) | dict.fromkeys(FALSE_WORDS, 0)

    def read(text: str | None) -> int:
        known = words.get("" if text is None else text.strip().lower())
        return {1.0: 1, 0.0: 0}.get(_parse_number(text), -1) if known is None else known

    return np.array([read(text) for text in texts.to_pylist()], dtype=np.int8)


def _parse_integer(text: str | None) -> Decimal | None:
    value = _parse_number(text)
    if text is None or value != value:  # noqa: PLR0124 (NaN)
        return None
    whole = _INTEGER.fullmatch(text)
    if whole:
        return Decimal(whole["digits"])
    return Decimal(round(min(max(value, -1e37), 1e37)))


def _parse_local_instants(texts: pa.Array) -> pa.Array | None:
    """Return instants if all cells are local ISO text; None if they must be read one by one.

    Arrow accepts more formats than are instants here, so the format is checked first.
    """
    if not pc.all(pc.match_substring_regex(texts, f"^{_LOCAL}$")).as_py():
        return None
    cast = try_call(lambda: texts.cast(pa.timestamp("us")).cast(pa.int64()))
    before = cast is None or pc.any(pc.less(cast, _FIRST_TICK)).as_py()  # Python has no year 0
    return None if before else cast


def _parse_instant(text: str | None) -> tuple[int, bool] | None:
    """Return the microseconds since 1970 of ISO text, and whether it names a zone."""
    found = None if text is None else _TYPED.fullmatch(text)
    if found is None or not found["instant"]:
        return None
    try:
        moment = dt.datetime.fromisoformat(_truncate_fraction(found["instant"]))
        zoned = moment.tzinfo is not None
        since = (moment.astimezone(dt.UTC).replace(tzinfo=None) if zoned else moment) - _EPOCH
    except (ValueError, OverflowError):
        return None
    return since // _MICROSECOND, zoned


def _parse_time(text: str | None) -> int | None:
    found = None if text is None else _TYPED.fullmatch(text)
    if found is None or not found["time"]:
        return None
    try:
        clock = dt.time.fromisoformat(_truncate_fraction(found["time"]))
    except ValueError:
        return None
    return (dt.datetime.combine(_EPOCH, clock) - _EPOCH) // _MICROSECOND


def _truncate_fraction(text: str) -> str:
    """Truncate ISO text to microseconds."""
    return re.sub(r"(\.[0-9]{6})[0-9]+", r"\1", text)


def _find_first_occurrences(keys: Keys) -> NDArray[np.int64]:
    return np.sort(np.unique(keys, return_index=True)[1])


def _lookup_indices(cells: Any, listed: Any) -> NDArray[np.int64]:
    found = pc.index_in(pa.array(cells), value_set=pa.array(listed))
    indices = pc.fill_null(found, NOT_LISTED).to_numpy(zero_copy_only=False)
    return np.asarray(indices, dtype=np.int64)


def _derive_seeds(key: bytes, columns: int) -> Keys:
    start = hashlib.blake2b(key, digest_size=8).digest()
    first = np.frombuffer(start, dtype=np.uint64)[0]
    return mix_bits(first + np.arange(columns + 1, dtype=np.uint64))


def _hash_numbers(array: pa.Array, key: bytes) -> Keys:
    """Return the bits of doubles; integers from 2^53 on are hashed by their digits."""
    values = read_numbers(array)
    bits = (np.where(np.isnan(values), 0.0, values) + 0.0).view(np.uint64)  # -0.0 is 0.0
    far = np.isfinite(values) & (np.abs(values) >= EXACT_INTEGERS)
    if not far.any():
        return bits
    bits = bits.copy()
    integers = array.filter(pa.array(far)).to_pylist()
    bits[far] = _digest_texts([str(int(value)) for value in integers], key)
    return bits


def _hash_ticks(ticks: pa.Array, mark: np.uint64 | Keys) -> Keys:
    values: NDArray[np.int64] = ticks.fill_null(0).to_numpy(zero_copy_only=False)
    return mix_bits(values.view(np.uint64) ^ mark)


def _hash_instants(texts: list[str]) -> Keys:
    """Hash text of instants: one with a time zone is no local time of the same digits."""
    found = [_parse_instant(text) or (0, False) for text in texts]
    marks = np.where([zoned for _, zoned in found], _ZONED, _INSTANT)
    return _hash_ticks(pa.array([ticks for ticks, _ in found]), marks)


def _hash_texts(texts: pa.Array, key: bytes) -> Keys:
    """Hash text as the number, boolean, instant or time that it means, or else as text."""
    cells = texts.to_pylist()
    bits = np.full(len(cells), _MISSING)
    kinds: dict[str, list[int]] = {}
    for index, text in enumerate(cells):
        if text is not None and text.strip():
            kinds.setdefault(_classify_text(text), []).append(index)
    for kind, indices in kinds.items():
        some = [cells[index] for index in indices]
        bits[indices] = _TEXT_HASHERS.get(kind, _digest_texts)(some, key)
    return bits


def _classify_text(text: str) -> str:
    found = _TYPED.fullmatch(text)
    if found is None:
        return "text"
    if found["number"] and _is_beyond_exact(_INTEGER.fullmatch(text)):
        return "integer"
    if found["instant"] and _parse_instant(text) is None:
        return "text"
    if found["time"] and _parse_time(text) is None:
        return "text"
    return str(found.lastgroup)


def _is_beyond_exact(whole: re.Match[str] | None) -> bool:
    return whole is not None and abs(int(whole["digits"])) >= EXACT_INTEGERS


def _hash_integers(texts: list[str], key: bytes) -> Keys:
    return _digest_texts([str(_parse_integer(text)) for text in texts], key)


_TEXT_HASHERS: dict[str, Callable[[list[str], bytes], Keys]] = {
    "integer": _hash_integers,
    "word": lambda texts, key: hash_cells(
        pa.array([text.strip().lower() == "true" for text in texts]), key
    ),
    "number": lambda texts, key: hash_cells(pa.array(list(map(_parse_number, texts))), key),
    "instant": lambda texts, _: _hash_instants(texts),
    "time": lambda texts, _: _hash_ticks(
        pa.array([_parse_time(text) for text in texts], pa.int64()), _CLOCK
    ),
}


def _digest_texts(texts: Sequence[str], key: bytes) -> Keys:
    short = hashlib.blake2b(key, digest_size=32).digest()
    digests = [hashlib.blake2b(one.encode(), key=short, digest_size=8).digest() for one in texts]
    return np.frombuffer(b"".join(digests), dtype=np.uint64)


def normalize_texts(table: pa.Table, rules: Mapping[str, CellRules]) -> pa.Table:
    """Return a table with the numbers in its text written as Python writes them.

    Example:
        >>> from tabpe.schema.number_format import NumberFormat
        >>> euro = CellRules(numbers=NumberFormat(",", "."))
        >>> normalize_texts(pa.table({"fee": ["2.815,43", "free"]}), {"fee": euro}).to_pylist()
        [{'fee': '2815.43'}, {'fee': 'free'}]
    """
    for index, name in enumerate(table.schema.names):
        if name in rules and rules[name].numbers is not None:
            cells = table.column(index)
            if holds_text(cells.type):
                table = table.set_column(index, name, _normalize_column(cells, rules[name]))
    return table


def replace_nulls(table: pa.Table, rules: Mapping[str, CellRules]) -> pa.Table:
    """Return a table with nulls in the place of values that stand for them.

    Example:
        >>> rules = {"age": CellRules(nulls=("unknown", 999))}
        >>> replace_nulls(pa.table({"age": ["31", "999.0", "unknown"]}), rules).to_pylist()
        [{'age': '31'}, {'age': None}, {'age': None}]
    """
    for index, name in enumerate(table.schema.names):
        if name in rules and rules[name].nulls:
            array = flatten_column(table.column(index), name)
            found = find_values(array, [str(value) for value in rules[name].nulls])
            kept = pa.array(found == NOT_LISTED)
            if pa.types.is_dictionary(array.type):
                array = array.dictionary_decode()
            cells = pc.if_else(kept, array, pa.scalar(None, array.type))
            table = table.set_column(index, name, cells)
    return table


def holds_text(kind: pa.DataType) -> bool:
    """Return whether cells of a type are text, also as bytes and by way of a dictionary.

    Example:
        >>> holds_text(pa.dictionary(pa.int32(), pa.large_binary())), holds_text(pa.float64())
        (True, False)
    """
    if isinstance(kind, pa.BaseExtensionType):
        kind = kind.storage_type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    is_bytes = pa.types.is_binary_view(kind) or pa.types.is_fixed_size_binary(kind)
    return is_text(kind) or is_bytes or pa.types.is_binary(kind) or pa.types.is_large_binary(kind)


def _normalize_column(cells: pa.ChunkedArray, rules: CellRules) -> pa.ChunkedArray:
    encoded = flatten_column(cells).cast(pa.string()).dictionary_encode()
    texts = [
        None if text is None else rules.normalize(text) for text in encoded.dictionary.to_pylist()
    ]
    return pa.chunked_array([pc.take(pa.array(texts, pa.string()), encoded.indices)])
