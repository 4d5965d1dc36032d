"""Columns of dates and times, read off the cells of a table for a first schema."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tabpe._arrow import attempt, is_text
from tabpe.schema import Date, Datetime, Source, Temporal, Time
from tabpe.schema.times import RESOLUTIONS

_DAY = r"^\d{4}-\d{2}-\d{2}$"
_POINT = r"^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?"
_OFFSET = r"(Z|[+-]\d{2}:?\d{2})"
# Text with offsets is of one zone here, whatever its clocks show: it knows no name of a place.
_KINDS = {
    _DAY: pa.date32(),
    f"{_POINT}$": pa.timestamp("us"),
    f"{_POINT}{_OFFSET}$": pa.timestamp("us", "UTC"),
}


def is_moment(kind: pa.DataType) -> bool:
    """Whether a type is one of dates, points in time or times of the day."""
    return bool(pa.types.is_date(kind) or pa.types.is_timestamp(kind) or pa.types.is_time(kind))


def drafted_moments(name: str, array: pa.Array) -> Temporal | None:
    """Return the column of an array of dates or times, or of text that holds nothing else.

    Args:
        name: Name of the column.
        array: Its cells, without nulls.

    Example:
        >>> drafted_moments("seen", pa.array(["2024-03-31", "2024-01-01"])).min
        datetime.date(2024, 1, 1)
        >>> drafted_moments("ward", pa.array(["eye"])) is None
        True
    """
    if is_text(array.type):
        read = _read(array)
        return None if read is None else drafted_moments(name, read)
    if pa.types.is_date(array.type):
        return Date(name, *_ends(array.cast(pa.date32(), safe=False)), source=Source.DATA)
    if pa.types.is_time(array.type):
        ticks = array.cast(pa.time64("us"), safe=False).cast(pa.int64())
        low, high = map(_clock, _ends(ticks))
        return Time(name, low, high, _resolution(ticks, "hour"), source=Source.DATA)
    if pa.types.is_timestamp(array.type):
        return _points(name, array)
    return None


def _points(name: str, array: pa.Array) -> Datetime:
    zone = array.type.tz
    points = array.cast(pa.timestamp("us", zone), safe=False)
    local = points if zone is None else pc.local_timestamp(points)
    resolution = _resolution(points.cast(pa.int64()), "day")
    return Datetime(name, *_ends(local), resolution, zone, source=Source.DATA)


def _read(text: pa.Array) -> pa.Array | None:
    for pattern, kind in _KINDS.items():
        if pc.all(pc.match_substring_regex(text, pattern)).as_py():
            return attempt(lambda kind=kind: text.cast(pa.string()).cast(kind))  # type: ignore[misc]
    return None


def _ends(array: pa.Array) -> tuple[Any, Any]:
    found = pc.min_max(array).as_py()
    return found["min"], found["max"]


def _clock(microseconds: int) -> dt.time:
    clock: dt.time = pa.scalar(microseconds, pa.time64("us")).as_py()
    return clock


def _resolution(ticks: pa.Array, coarsest: str) -> str:
    """Return the coarsest resolution of which all cells are whole numbers."""
    values = ticks.to_numpy(zero_copy_only=False)
    names = list(RESOLUTIONS)
    fitting = [
        name
        for name in names[: names.index(coarsest) + 1]
        if not np.any(values % RESOLUTIONS[name])
    ]
    return fitting[-1]
