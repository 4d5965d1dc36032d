"""The cells of dates and times: Arrow to steps on their grid, and back."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tabpe._arrow import is_text
from tabpe.encode import cells
from tabpe.io.canonical import DAY as _DAY
from tabpe.io.canonical import flat, read_instants, read_raw_texts, read_times
from tabpe.schema import Column, Date, Datetime, Temporal, Time

_MICROSECONDS = pa.timestamp("us")
# Years 1 to 9999, less a day on both sides, so that a time zone leads nowhere outside.
_FIRST, _LAST = -719_161 * _DAY, 2_932_895 * _DAY
_FEW_DAYS = 5


def steps_of(
    column: Temporal, found: pa.ChunkedArray, *, strict: bool = False
) -> NDArray[np.float64]:
    """Return how many steps of its grid each cell is after the first value of the column.

    A cell between two values counts as the earlier; one outside the bounds or without a value by
    the rule of the column. A null is NaN.
    """
    array = flat(found, column.name)
    ticks = microseconds(column, array)
    # Whole numbers with nulls among them would become floats, which are too short for these.
    since = pc.fill_null(ticks, column.first).to_numpy(zero_copy_only=False) - column.first
    steps: NDArray[np.float64] = (since // column.tick).astype(np.float64)
    steps[pc.is_null(ticks).to_numpy(zero_copy_only=False)] = np.nan
    bounds = (0.0, float(column.steps))
    default = float(column.default_value)
    return cells.fitted(column, array, steps, bounds=bounds, default=default, strict=strict)


def microseconds(column: Temporal, array: pa.Array) -> pa.Array:
    """Return cells as whole numbers: microseconds since 1970 or midnight; null if they are not.

    Each cell by itself, whatever the others are and however they are stored.

    Args:
        column: The column, whose format and time zone say how cells are read.
        array: Canonical cells.
    """
    pattern = getattr(column, "format", None)
    if pattern is None or pa.types.is_temporal(array.type):
        return _of_iso(column, array)
    encoded = read_raw_texts(array).dictionary_encode()
    texts = encoded.dictionary
    # Dates beside text of another kind are text of ISO 8601.
    found = pc.coalesce(_of_format(column, texts, pattern), _of_iso(column, texts))
    return pc.take(found, encoded.indices)


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


def written_columns(table: pa.Table, columns: Sequence[Column]) -> pa.Table:
    """Return a table with the dates and times of some columns as text.

    Example:
        >>> seen = Date("seen", "2024-01-01", "2024-12-31")
        >>> table = pa.table({"seen": cells_of_steps(seen, pa.array([1]))})
        >>> written_columns(table, [seen]).to_pylist()
        [{'seen': '2024-01-02'}]
    """
    for column in columns:
        if isinstance(column, Temporal) and not is_text(table[column.name].type):
            cells = written(column, table[column.name].combine_chunks())
            place = table.schema.get_field_index(column.name)
            table = table.set_column(place, column.name, cells)
    return table


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


def _of_iso(column: Temporal, array: pa.Array) -> pa.Array:
    if isinstance(column, Time):
        return read_times(array)
    zone = getattr(column, "timezone", None)
    local = _inside(read_instants(array, zoned=False))
    if zone is not None:
        local = _instants(local, zone)
    return pc.coalesce(local, _inside(read_instants(array, zoned=True)))


def _of_format(column: Temporal, texts: pa.Array, pattern: str) -> pa.Array:
    text = pc.utf8_trim_whitespace(texts)
    found = pc.strptime(text, format=pattern, unit="us", error_is_null=True)
    ticks = _inside(found.cast(pa.int64()))
    zone = getattr(column, "timezone", None)
    if isinstance(column, Time):
        days = pc.cast(pc.floor(pc.divide(ticks.cast(pa.float64()), float(_DAY))), pa.int64())
        return pc.subtract(ticks, pc.multiply(days, _DAY))
    return ticks if zone is None or "%z" in pattern else _instants(ticks, zone)


def _instants(ticks: pa.Array, zone: str) -> pa.Array:
    """Return what clocks of a zone show, in microseconds since 1970."""
    moments = ticks.cast(_MICROSECONDS)
    there = pc.assume_timezone(moments, zone, ambiguous="earliest", nonexistent="earliest")
    return there.cast(pa.int64())


def _inside(ticks: pa.Array) -> pa.Array:
    """Return instants within the years that a calendar has: what is beyond counts as its end."""
    return pc.min_element_wise(
        pc.max_element_wise(ticks, _FIRST, skip_nulls=False), _LAST, skip_nulls=False
    )
