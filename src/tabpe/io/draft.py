"""Draft a first schema from a table.

Privacy: reading a domain off the data is not private. So every column of a draft is marked as taken
from the data, until a person replaces it by what is publicly known.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tabpe._utils.arrays import CODE, NUMBER, is_text
from tabpe.errors import DataError, SchemaError, column_hint
from tabpe.io.canonical import (
    DAY,
    EXACT_INTEGERS,
    find_missing,
    flatten_column,
    read_instants,
    read_numbers,
    read_texts,
    read_times,
)
from tabpe.io.source import collect_table, get_title, use_source
from tabpe.schema import (
    Boolean,
    Categorical,
    Column,
    Date,
    Datetime,
    Float,
    Integer,
    Schema,
    Source,
    Temporal,
    Time,
)
from tabpe.schema.temporal import RESOLUTIONS

_EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001 (local time of any zone)


def draft_temporal(name: str, array: pa.Array) -> Temporal | None:
    """Return a temporal column if all cells are dates, instants or times; else None.

    Args:
        name: Name of the column.
        array: Its cells, none of them missing.

    Example:
        >>> draft_temporal("seen", pa.array(["2024-03-31", "2024-01-01"])).min
        datetime.date(2024, 1, 1)
        >>> draft_temporal("ward", pa.array(["eye"])) is None
        True
    """
    for zone, read in ((None, False), ("UTC", True)):
        ticks = read_instants(array, zoned=read)
        if not ticks.null_count:
            return _draft_instants(name, ticks.to_numpy(), zone)
    clock = read_times(array)
    if clock.null_count:
        return None
    low, high = (_make_datetime(tick).time() for tick in _find_ends(clock.to_numpy()))
    return Time(name, low, high, _find_resolution(clock.to_numpy(), "hour"), source=Source.DATA)


def _draft_instants(name: str, ticks: NDArray[np.int64], zone: str | None) -> Date | Datetime:
    low, high = map(_make_datetime, _find_ends(ticks))
    if zone is None and not np.any(ticks % DAY):
        return Date(name, low.date(), high.date(), source=Source.DATA)
    resolution = _find_resolution(ticks, "day")
    return Datetime(name, low, high, resolution, zone, source=Source.DATA)


def _find_ends(ticks: NDArray[np.int64]) -> tuple[int, int]:
    return int(ticks.min()), int(ticks.max())


def _make_datetime(tick: int) -> dt.datetime:
    return _EPOCH + dt.timedelta(microseconds=tick)


def _find_resolution(ticks: NDArray[np.int64], coarsest: str) -> str:
    """Return the coarsest resolution that divides all values."""
    names = list(RESOLUTIONS)
    known = names[: names.index(coarsest) + 1]
    return [name for name in known if not np.any(ticks % RESOLUTIONS[name])][-1]


MOST_CATEGORIES = 1000
LABEL_CLASSES = 100
MOST_DRAFTED_DECIMALS = 9
# A value is special if so many numbers share it, and so many times more than share the values next
# to it. Where there are few values, every one has a cell of its own anyway.
PILE_SHARE, PILE_FACTOR, MOST_PILES = 0.05, 4, 8
FEWEST_NUMBERS, FEWEST_DISTINCT = 100, 20


def draft_schema(data: Any, *, label: str | None = None, drop: Sequence[str] = ()) -> Schema:
    """Return a schema read off `data`, with every column marked `source: data`.

    A column with an empty cell is nullable; blank text counts as empty.

    Privacy: NOT PRIVATE until each column is checked, corrected and marked `source: public`.

    Args:
        data: A table, as for `TabPE.fit`; it is read as a whole.
        label: The label. A few numbers become its classes; many are cut at their quartiles.
        drop: Columns to leave out, such as names and ids.

    Example:
        >>> draft_schema(pa.table({"age": [31, 58], "sex": ["f", "m"]})).fields_from_data
        ('age.min', 'age.max', 'sex.values')
    """
    with use_source(data) as source:
        names = [name for name in source.names if name not in drop]
        for role, name in [*(("drop", name) for name in drop), ("label", label)]:
            if name is not None and name not in (source.names if role == "drop" else names):
                hint = column_hint(name, names, [*drop, label or ""])
                raise SchemaError(f"{role}={name!r} is not a column: {hint}")
        table = collect_table(source, names, where=get_title(data))
    columns = [_draft_column(name, table.column(name), is_label=name == label) for name in names]
    cuts = _choose_cuts(table.column(label), columns[names.index(label)]) if label else None
    return Schema(tuple(columns), label=label, label_cuts=cuts)


def _draft_column(name: str, column: pa.ChunkedArray, *, is_label: bool) -> Column:
    cells = flatten_column(column)
    array = _drop_missing(name, cells)
    found = _draft_type(name, array, is_label=is_label)
    return dataclasses.replace(found, nullable=len(array) < len(cells))


def _draft_type(name: str, array: pa.Array, *, is_label: bool) -> Column:
    temporal = draft_temporal(name, array)
    if temporal is not None:
        return temporal
    if _are_booleans(array):
        return Boolean(name, source=Source.DATA)
    if not _are_numbers(array):
        return _draft_categorical(name, array)
    values = read_numbers(array)
    distinct = np.unique(values)
    if is_label and len(distinct) <= LABEL_CLASSES:
        whole = np.array_equal(np.rint(distinct), distinct)
        listed = distinct.astype(np.int64) if whole else distinct
        return Categorical(name, tuple(listed.tolist()), source=Source.DATA)
    return _draft_number(name, values, piles=not is_label)


def _choose_cuts(cells: pa.ChunkedArray, column: Column) -> tuple[float, ...] | None:
    """Return the quartiles at which the classes of a numeric label begin."""
    if not isinstance(column, (Integer, Float)):
        return None
    values = read_numbers(_drop_missing(column.name, flatten_column(cells)))
    quartiles = np.quantile(values, [0.25, 0.5, 0.75], method="higher")
    inside = sorted({float(cut) for cut in quartiles if column.min < cut < column.max})
    if not inside:
        distinct = np.unique(values)
        inside = [float(distinct[len(distinct) // 2])]
    return tuple(int(cut) if isinstance(column, Integer) else cut for cut in inside)


def _drop_missing(name: str, cells: pa.Array) -> pa.Array:
    if pa.types.is_dictionary(cells.type):
        cells = cells.dictionary_decode()
    array = cells.filter(pa.array(~find_missing(cells)))
    if not len(array):
        raise DataError(f"column {name!r} has no value at all: leave it out of the table.")
    return array


def _are_booleans(array: pa.Array) -> bool:
    if not is_text(array.type):
        return bool(pa.types.is_boolean(array.type))
    words = pc.utf8_lower(pc.utf8_trim_whitespace(array))
    return bool(pc.all(pc.is_in(words, pa.array(["true", "false"], words.type))).as_py())


def _are_numbers(array: pa.Array) -> bool:
    """Whether all cells are numbers; digits with leading zeros are codes."""
    if not is_text(array.type):
        return bool(pa.types.is_integer(array.type) or pa.types.is_floating(array.type))
    text = pc.utf8_trim_whitespace(array)
    numbers = pc.all(pc.match_substring_regex(text, f"{NUMBER}|^-?inf$")).as_py()
    return bool(numbers and not pc.any(pc.match_substring_regex(text, CODE)).as_py())


def find_piles(values: NDArray[np.float64]) -> tuple[float, ...] | None:
    """Return values at which finite numbers pile up, such as 0 or a cap; None if there are none.

    Example:
        >>> find_piles(np.concatenate([np.zeros(60), np.linspace(1, 9, 200)]))
        (0.0,)
        >>> find_piles(np.arange(300.0)) is None
        True
    """
    if len(values) < FEWEST_NUMBERS:
        return None
    distinct, counts = np.unique(values, return_counts=True)
    if len(distinct) < FEWEST_DISTINCT:
        return None
    beside = np.maximum(np.append(0, counts[:-1]), np.append(counts[1:], 0))
    piled = (counts >= PILE_SHARE * len(values)) & (counts >= PILE_FACTOR * beside)
    return tuple(distinct[piled].tolist()[:MOST_PILES]) or None


def _draft_number(name: str, values: NDArray[np.float64], *, piles: bool) -> Integer | Float:
    if not np.isfinite(values).all():
        row = int(np.flatnonzero(~np.isfinite(values))[0]) + 1
        raise DataError(f"column {name!r} holds an infinite number in row {row}: correct it.")
    low, high = float(values.min()), float(values.max())
    special = find_piles(values) if piles else None
    if np.array_equal(np.rint(values), values):
        if max(-low, high) >= EXACT_INTEGERS:
            raise DataError(
                f"column {name!r} holds whole numbers beyond 2**53: leave it out. If they "
                f"identify rows, declare type: id; if they are codes, categorical; if they are "
                f"amounts, float."
            )
        whole = tuple(map(int, special)) if special else None
        return Integer(name, int(low), int(high), special=whole, source=Source.DATA)
    if not np.isfinite(high - low):
        raise DataError(f"column {name!r} holds numbers too far apart for a float: leave it out.")
    decimals = _count_decimals(values)
    return Float(name, low, high, decimals, special=special, source=Source.DATA)


def _count_decimals(values: NDArray[np.float64]) -> int | None:
    """Return the fewest decimals that represent all values; None if there are too many."""
    for digits in range(MOST_DRAFTED_DECIMALS + 1):
        if np.array_equal(np.round(values, digits), values):
            return digits
    return None


def _draft_categorical(name: str, array: pa.Array) -> Categorical:
    distinct = pc.unique(read_texts(array))
    if len(distinct) > MOST_CATEGORIES:
        raise DataError(
            f"column {name!r} holds more than {MOST_CATEGORIES} different texts: names, ids and "
            f"free text can not be synthesised; drop the column. If it has a known list of values, "
            f"declare them, or estimate the most common ones privately (top in "
            f"docs/how-to/private-schema.md)."
        )
    return Categorical(name, tuple(sorted(distinct.to_pylist())), source=Source.DATA)
