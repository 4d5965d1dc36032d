"""Bounds of dates and times: bought as those of whole numbers, in steps of their grid.

Steps are counted since 1970, or since midnight, over all that a calendar can write: years 1 to
9999, or a day.
"""

from __future__ import annotations

import datetime as dt
import zoneinfo
from collections.abc import Iterable
from typing import Any

from tabpe.schema import Date, Datetime, Sketch, Temporal, Time

_EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001 (what clocks show, wherever they are)
_DAY = dt.timedelta(days=1) // dt.timedelta(microseconds=1)
# A day less on both sides, so that a time zone leads nowhere outside.
_FIRST_YEAR = (dt.datetime(1, 1, 2) - _EPOCH) // dt.timedelta(microseconds=1)  # noqa: DTZ001
_LAST_YEAR = (dt.datetime(9999, 12, 30) - _EPOCH) // dt.timedelta(microseconds=1)  # noqa: DTZ001


def probes(sketches: Iterable[Sketch]) -> dict[str, Temporal]:
    """Return a column for each one of dates or times with gaps: its cells are read by it.

    Example:
        >>> probes([Sketch("seen", Date)])["seen"].tick == 86_400 * 10**6
        True
    """
    return {
        sketch.name: _probe(sketch)
        for sketch in sketches
        if sketch.missing and sketch.kind is not None and issubclass(sketch.kind, Temporal)
    }


def declared_ticks(sketch: Sketch) -> tuple[int | None, int | None]:
    """Return the bounds that are declared, in steps; None for those that are not."""
    low, high = (_declared(sketch, bound) for bound in ("min", "max"))
    tick = _probe(sketch).tick
    return None if low is None else low // tick, None if high is None else -(-high // tick)


def bounds_bought(sketch: Sketch, low: int, high: int) -> dict[str, Any]:
    """Return the bounds that were bought in steps, as the column has them.

    Where a bound is declared, or a zone has days of its own, the grid begins there: the other bound
    is a whole number of steps away.

    Example:
        >>> bounds_bought(Sketch("seen", Date, {"min": "2024-01-01"}), 19723, 19753)
        {'max': datetime.date(2024, 1, 31)}
    """
    probe = _probe(sketch)
    inside = (0, _DAY - 1) if isinstance(probe, Time) else (_FIRST_YEAR, _LAST_YEAR)
    first, last = (min(max(steps * probe.tick, inside[0]), inside[1]) for steps in (low, high))
    begin, end = (_declared(sketch, bound) for bound in ("min", "max"))
    if begin is None and end is not None:
        begin = end - -(-(end - first) // probe.tick) * probe.tick
    elif begin is None:
        begin = _grid_start(probe, first)
    if end is None:
        end = begin + (max(last, begin) - begin) // probe.tick * probe.tick
    found = {"min": _moment(probe, begin), "max": _moment(probe, end)}
    return {bound: found[bound] for bound in sketch.missing if bound in found}


def _probe(sketch: Sketch) -> Temporal:
    """Return the column with some bounds, of which nothing is read."""
    some = dt.time() if sketch.kind is Time else dt.date(2000, 1, 1).isoformat()
    return _only(sketch, sketch.fields.get("min", sketch.fields.get("max", some)))


def _only(sketch: Sketch, bound: Any) -> Temporal:
    """Return the column with a single value."""
    kind: Any = sketch.kind
    column: Temporal = kind(sketch.name, **{**sketch.fields, "min": bound, "max": bound})
    return column


def _declared(sketch: Sketch, bound: str) -> int | None:
    """Return a declared bound in microseconds since 1970 or midnight."""
    return _only(sketch, sketch.fields[bound]).first if bound in sketch.fields else None


def _grid_start(column: Temporal, first: int) -> int:
    """Return a bound moved back to where clocks show a whole number of steps."""
    if not isinstance(column, Datetime) or column.timezone is None:
        return first // column.tick * column.tick
    shown = _local(column, first)
    midnight = shown.replace(hour=0, minute=0, second=0, microsecond=0)
    since = (shown - midnight) // dt.timedelta(microseconds=1)
    return first - since % column.tick


def _moment(column: Temporal, since: int) -> dt.date | dt.datetime | dt.time:
    shown = _local(column, since)
    if isinstance(column, Date):
        return shown.date()
    return shown.time() if isinstance(column, Time) else shown


def _local(column: Temporal, since: int) -> dt.datetime:
    """Return what clocks show so many microseconds after 1970 began."""
    moment = _EPOCH + dt.timedelta(microseconds=since)
    zone = column.timezone if isinstance(column, Datetime) else None
    if zone is None:
        return moment
    return moment.replace(tzinfo=dt.UTC).astimezone(zoneinfo.ZoneInfo(zone)).replace(tzinfo=None)
