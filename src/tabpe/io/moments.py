"""Columns of dates and times, read off the cells of a table for a first schema."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tabpe.io.canonical import DAY, read_instants, read_times
from tabpe.schema import Date, Datetime, Source, Temporal, Time
from tabpe.schema.times import RESOLUTIONS

_EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001 (what clocks show, wherever they are)


def drafted_moments(name: str, array: pa.Array) -> Temporal | None:
    """Return the column of cells that are all dates, instants or times; None if they are not.

    Args:
        name: Name of the column.
        array: Its cells; none is missing.

    Example:
        >>> drafted_moments("seen", pa.array(["2024-03-31", "2024-01-01"])).min
        datetime.date(2024, 1, 1)
        >>> drafted_moments("ward", pa.array(["eye"])) is None
        True
    """
    for zone, read in ((None, False), ("UTC", True)):
        ticks = read_instants(array, zoned=read)
        if not ticks.null_count:
            return _instants(name, ticks.to_numpy(), zone)
    clock = read_times(array)
    if clock.null_count:
        return None
    low, high = (_moment(tick).time() for tick in _ends(clock.to_numpy()))
    return Time(name, low, high, _resolution(clock.to_numpy(), "hour"), source=Source.DATA)


def _instants(name: str, ticks: NDArray[np.int64], zone: str | None) -> Date | Datetime:
    low, high = map(_moment, _ends(ticks))
    if zone is None and not np.any(ticks % DAY):
        return Date(name, low.date(), high.date(), source=Source.DATA)
    resolution = _resolution(ticks, "day")
    return Datetime(name, low, high, resolution, zone, source=Source.DATA)


def _ends(ticks: NDArray[np.int64]) -> tuple[int, int]:
    return int(ticks.min()), int(ticks.max())


def _moment(tick: int) -> dt.datetime:
    return _EPOCH + dt.timedelta(microseconds=tick)


def _resolution(ticks: NDArray[np.int64], coarsest: str) -> str:
    """Return the coarsest resolution of which all cells are whole numbers."""
    names = list(RESOLUTIONS)
    known = names[: names.index(coarsest) + 1]
    return [name for name in known if not np.any(ticks % RESOLUTIONS[name])][-1]
