"""The cells of dates and times: Arrow to steps on their grid, and back."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tabpe._arrow import is_text
from tabpe.encode import cells
from tabpe.errors import DataError
from tabpe.schema import Date, Datetime, Temporal, Time

_MICROSECONDS = pa.timestamp("us")
_DAY = 86_400 * 10**6
_FEW_DAYS = 5


def steps_of(column: Temporal, found: pa.ChunkedArray) -> NDArray[np.float64]:
    """Return how many steps of its grid each cell is after the first value of the column.

    A cell between two values counts as the earlier, one outside the bounds as the nearer of them.
    A null has no place: it is NaN.
    """
    array = cells.known_cells(column, found)
    moments = microseconds(column, array)
    unread = pc.and_(pc.is_null(moments), pc.is_valid(array))
    cells.refuse(column.name, unread, f"expected {_expected(column)}")
    # Whole numbers with nulls among them would become floats, which are too short for these.
    since = pc.fill_null(moments, column.first).to_numpy(zero_copy_only=False)
    inside = np.clip(since, column.first, column.last)
    steps: NDArray[np.float64] = ((inside - column.first) // column.tick).astype(np.float64)
    steps[pc.is_null(array).to_numpy(zero_copy_only=False)] = np.nan
    return steps


def microseconds(column: Temporal, array: pa.Array) -> pa.Array:
    """Return cells as whole numbers: microseconds since 1970 or midnight; null if they are not.

    Each cell by itself, whatever the others are.
    """
    if is_text(array.type):
        return _of_text(column, array)
    kind = array.type
    if isinstance(column, Time):
        fits = pa.types.is_time(kind)
        target = pa.time64("us")
    else:
        fits = pa.types.is_timestamp(kind) or pa.types.is_date(kind)
        target = pa.timestamp("us", getattr(kind, "tz", None))
    if not fits:
        raise DataError(
            f"column {column.name!r} is declared a {column.type_name} and is of type {kind}: "
            f"expected {_expected(column)}."
        )
    moments = array.cast(target, safe=False)
    return moments.cast(pa.int64()) if isinstance(column, Time) else _instants(column, moments)


def cells_of_steps(column: Temporal, steps: pa.Array) -> pa.Array:
    """Return steps on the grid of a column as the dates or times that they stand for.

    Example:
        >>> cells_of_steps(Date("seen", "2024-02-28", "2024-12-31"), pa.array([2])).to_pylist()
        [datetime.date(2024, 3, 1)]
    """
    count = pc.fill_null(steps, 0).to_numpy(zero_copy_only=False).astype(np.int64)
    missing = pc.is_null(steps).to_numpy(zero_copy_only=False)
    whole = pa.array(count * column.tick + column.first, mask=missing)
    if isinstance(column, Date):
        return whole.cast(_MICROSECONDS).cast(pa.date32())
    if isinstance(column, Time):
        return whole.cast(pa.time64("us"))
    zone = column.timezone if isinstance(column, Datetime) else None
    return whole.cast(pa.timestamp("us", zone))


def written(column: Temporal, moments: pa.Array) -> pa.Array:
    """Return dates or times as text, in the format of the column.

    Example:
        >>> date = Date("seen", "2024-01-01", "2024-12-31", format="%d.%m.%Y")
        >>> written(date, cells_of_steps(date, pa.array([30]))).to_pylist()
        ['31.01.2024']
    """
    pattern = getattr(column, "format", None)
    if isinstance(column, Time):
        clock = _cut(column, moments.cast(pa.int64()).cast(_MICROSECONDS))
        return pc.strftime(clock, format=pattern or _clock(column))
    if pattern is None:
        return moments.cast(pa.string()) if isinstance(column, Date) else _iso(column, moments)
    return pc.strftime(_cut(column, moments), format=pattern)


def marked(column: Temporal, steps: pa.Array) -> list[str]:
    """Return steps in few letters, for the axis of a chart: days, or hours if it is about few days.

    Example:
        >>> marked(Datetime("seen", "2024-01-01", "2025-01-01"), pa.array([0, 86_400]))
        ['2024-01-01', '2024-01-02']
    """
    moments = cells_of_steps(column, steps)
    if isinstance(column, Datetime):
        days = (column.last - column.first) > _FEW_DAYS * _DAY
        moments = pc.strftime(moments, format="%Y-%m-%d" if days else "%m-%d %H:%M")
        return list(moments.to_pylist())
    return list(written(column, moments).to_pylist())


def _clock(column: Temporal) -> str:
    return "%H:%M" if column.tick >= 60 * 10**6 else "%H:%M:%S"


def _cut(column: Temporal, moments: pa.Array) -> pa.Array:
    """Return moments in whole seconds where the grid has nothing finer."""
    if pa.types.is_timestamp(moments.type) and column.tick % 10**6 == 0:
        return moments.cast(pa.timestamp("s", moments.type.tz), safe=False)
    return moments


def _iso(column: Temporal, moments: pa.Array) -> pa.Array:
    if column.tick == _DAY and moments.type.tz is None:
        return moments.cast(pa.date32()).cast(pa.string())
    cut = _cut(column, moments)
    if cut.type.tz is None:
        return pc.strftime(cut, format="%Y-%m-%dT%H:%M:%S")
    text = pc.strftime(cut, format="%Y-%m-%dT%H:%M:%S%z")
    return pc.replace_substring_regex(text, r"(\d{2})(\d{2})$", r"\1:\2")


def _of_text(column: Temporal, array: pa.Array) -> pa.Array:
    text = pc.utf8_trim_whitespace(array.cast(pa.string()))
    if isinstance(column, Time):
        return _of_clock(column, text)
    instants = _instants(column, _moments(column, text))
    if getattr(column, "timezone", None) is None:
        return instants
    with_offset = cells.comparable(text, pa.timestamp("us", "UTC"))
    return pc.coalesce(with_offset.cast(pa.int64()), instants)


def _instants(column: Temporal, moments: pa.Array) -> pa.Array:
    """Return moments in microseconds since 1970; those without a zone are in that of the column."""
    zone = getattr(column, "timezone", None)
    if zone is not None and moments.type.tz is None:
        moments = pc.assume_timezone(moments, zone, ambiguous="earliest", nonexistent="earliest")
    return moments.cast(pa.int64())


def _of_clock(column: Time, text: pa.Array) -> pa.Array:
    if column.format is None:
        text = pc.binary_join_element_wise("1970-01-01T", text, "")
    whole = _moments(column, text).cast(pa.int64())
    days = pc.cast(pc.floor(pc.divide(whole.cast(pa.float64()), float(_DAY))), pa.int64())
    return pc.subtract(whole, pc.multiply(days, _DAY))


def _moments(column: Temporal, text: pa.Array) -> pa.Array:
    """Return text as what clocks show; null where it is something else, such as with an offset."""
    pattern = getattr(column, "format", None)
    if pattern is not None:
        return pc.strptime(text, format=pattern, unit="us", error_is_null=True)
    return cells.comparable(text, _MICROSECONDS)


def _expected(column: Temporal) -> str:
    pattern = getattr(column, "format", None)
    if pattern is not None:
        return f"text in the format {pattern!r}"
    if isinstance(column, Time):
        return "times such as 18:30, or declare a format"
    if isinstance(column, Date):
        return "dates such as 2024-03-31, or declare a format"
    return "points in time such as 2024-03-31T18:30, or declare a format"
