"""Columns of dates and times, whose values lie on a regular grid."""

from __future__ import annotations

import datetime as dt
import zoneinfo
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, TypeVar

from tabpe.errors import SchemaError, did_you_mean, shown
from tabpe.schema.columns import EXACT_INTEGERS, Column, check_special, make_field_error
from tabpe.schema.month_names import MONTH_LANGUAGES, split_language

T = TypeVar("T", dt.date, dt.datetime, dt.time)

# Microseconds per unit.
RESOLUTIONS = {
    "microsecond": 1,
    "millisecond": 1000,
    "second": 10**6,
    "minute": 60 * 10**6,
    "hour": 3600 * 10**6,
    "day": 86_400 * 10**6,
}
_EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001 (local time of any zone)
_MICROSECOND = dt.timedelta(microseconds=1)


@dataclass(frozen=True)
class Temporal(Column):
    """A column of dates or times: a grid of equal steps from `min` to `max`.

    Args:
        name: Name of the column.
        special: Values at which very many rows pile up, such as 1900-01-01.
    """

    special: tuple[Any, ...] | None = field(default=None, kw_only=True)

    @property
    def tick(self) -> int:
        """Microseconds per step."""
        raise NotImplementedError

    def ticks_of(self, value: Any) -> int:
        """Return a value in microseconds since 1970 or since midnight."""
        raise NotImplementedError

    @cached_property
    def first(self) -> int:
        """The first value, in microseconds since 1970 or since midnight."""
        return self.ticks_of(getattr(self, "min"))  # noqa: B009

    @cached_property
    def last(self) -> int:
        """The last value, in microseconds since 1970 or since midnight."""
        return self.ticks_of(getattr(self, "max"))  # noqa: B009

    @property
    def default_value(self) -> int:
        """The step of the declared default, or the first one."""
        return (
            0 if self.default is None else (self.ticks_of(self.default) - self.first) // self.tick
        )

    def _check_default(self) -> None:
        if self.default is not None and not self.first <= self.ticks_of(self.default) <= self.last:
            raise make_field_error(
                self, "default", self.default.isoformat(), "a value from min to max"
            )

    @property
    def steps(self) -> int:
        """Number of steps from the first value to the last; 0 for a constant column."""
        return (self.last - self.first) // self.tick

    def _check_range(self, resolution: str) -> None:
        if self.last < self.first:
            raise SchemaError(f"column {shown(self.name)}: min is after max: swap them.")
        if (self.last - self.first) % self.tick:
            raise SchemaError(
                f"column {shown(self.name)}: max is not a whole number of {resolution}s after min: "
                f"move one of them, or declare a finer resolution."
            )
        if self.steps > EXACT_INTEGERS:
            raise SchemaError(
                f"column {shown(self.name)}: more than 2**53 {resolution}s from min to max: "
                f"declare a coarser resolution."
            )

    def _parse_bound(self, parameter: str, kind: type[T]) -> T:
        """Convert a bound given as ISO text to a date or time, and set it."""
        parsed = self._parse_value(parameter, getattr(self, parameter), kind)
        object.__setattr__(self, parameter, parsed)
        return parsed

    def _parse_value(self, parameter: str, given: Any, kind: type[T]) -> T:
        """Return a value given as ISO text as a date or time."""
        parsed: Any = given
        if isinstance(given, str):
            try:
                parsed = kind.fromisoformat(given)
            except ValueError:
                parsed = None
        exact = type(parsed) is kind or (kind is dt.datetime and isinstance(parsed, kind))
        if not exact:
            raise make_field_error(
                self, parameter, given, f"a {kind.__name__} such as {_EXAMPLES[kind]!r}"
            )
        kept: T = parsed
        return kept

    def _set_special(self, parse: Callable[[Any], Any]) -> None:
        """Convert special values, given as ISO text, and set them; refuse any off the grid."""
        given = self.special
        if given is None:
            return
        if isinstance(given, str) or not isinstance(given, (list, tuple)):
            raise make_field_error(self, "special", given, "a list of values")
        kept = tuple(map(parse, given))
        ticks = [self.ticks_of(one) for one in kept]
        inside = [
            self.first <= one <= self.last and not (one - self.first) % self.tick for one in ticks
        ]
        check_special(self, kept, inside)
        object.__setattr__(self, "special", tuple(sorted(kept)))

    def _check_format(self, given: Any) -> None:
        if given is not None and (not isinstance(given, str) or "%" not in given):
            raise make_field_error(self, "format", given, "a pattern such as '%d.%m.%Y'")
        language = None if given is None else split_language(given)[1]
        if language is not None and language not in MONTH_LANGUAGES:
            known = ", ".join(MONTH_LANGUAGES)
            raise make_field_error(self, "format", given, f"a language of months: {known}")


_EXAMPLES = {dt.date: "2024-03-31", dt.datetime: "2024-03-31T18:30", dt.time: "18:30"}


@dataclass(frozen=True)
class Date(Temporal):
    """A column of days from `min` to `max`; data outside is clamped.

    Args:
        name: Name of the column.
        min: First day, as a date or as text: `2024-03-31`.
        max: Last day.
        format: The format of dates as text in the table, if not ISO: `%d.%m.%Y`; with months in
            another language than English `%d-%b-%Y (es)`.
        special: Values at which very many rows pile up, on the grid.
        source: Where the bounds come from.

    Example:
        >>> Date("born", "1900-01-01", "1900-12-31").steps
        364
    """

    min: dt.date
    max: dt.date
    format: str | None = None

    type_name: ClassVar[str] = "date"
    domain_fields: ClassVar[tuple[str, ...]] = ("min", "max", "special", "format")

    def __post_init__(self) -> None:
        super().__post_init__()
        for bound in ("min", "max", *_list_default_field(self)):
            self._parse_bound(bound, dt.date)
        self._check_format(self.format)
        self._check_range("day")
        self._check_default()
        self._set_special(lambda given: self._parse_value("special", given, dt.date))

    @property
    def tick(self) -> int:
        """Microseconds per step: a day."""
        return RESOLUTIONS["day"]

    def ticks_of(self, value: dt.date) -> int:
        """Return a day in microseconds since 1970."""
        return _count_microseconds(dt.datetime.combine(value, dt.time()))


@dataclass(frozen=True)
class Datetime(Temporal):
    """A column of points in time from `min` to `max`; data outside is clamped.

    Args:
        name: Name of the column.
        min: First point in time: a datetime, or text such as `2024-03-31T18:30`.
        max: Last point in time.
        resolution: The step between values: from `microsecond` to `day`.
        timezone: Their time zone, such as `Europe/Berlin`; None if it is not known.
        format: Their format as text in the table, if not ISO.
        special: Values at which very many rows pile up, on the grid.
        source: Where the bounds come from.

    Example:
        >>> Datetime("seen", "2024-01-01", "2024-01-02", resolution="hour").steps
        24
    """

    min: dt.datetime
    max: dt.datetime
    resolution: str = "second"
    timezone: str | None = None
    format: str | None = None

    type_name: ClassVar[str] = "datetime"
    domain_fields: ClassVar[tuple[str, ...]] = (
        *("min", "max", "resolution", "timezone"),
        *("special", "format"),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_resolution(self, self.resolution)
        self._check_zone()
        for bound in ("min", "max", *_list_default_field(self)):
            object.__setattr__(
                self, bound, self._convert_to_local(bound, self._parse_bound(bound, dt.datetime))
            )
        self._check_format(self.format)
        if self.format is not None and "%z" in self.format and self.timezone is None:
            raise make_field_error(
                self, "format", self.format, "no offset (%z), or declare a timezone"
            )
        self._check_range(self.resolution)
        self._check_default()
        self._set_special(
            lambda given: self._convert_to_local(
                "special", self._parse_value("special", given, dt.datetime)
            )
        )

    def _check_zone(self) -> None:
        if self.timezone is None:
            return
        if not isinstance(self.timezone, str) or not _is_zone(self.timezone):
            raise make_field_error(
                self, "timezone", self.timezone, "a name such as 'UTC' or 'Europe/Berlin'"
            )

    def _convert_to_local(self, bound: str, value: dt.datetime) -> dt.datetime:
        """Return a point in time as local time of the declared zone."""
        if value.tzinfo is None:
            return value
        if self.timezone is None:
            raise make_field_error(
                self, bound, value.isoformat(), "no offset, or declare a timezone"
            )
        return value.astimezone(zoneinfo.ZoneInfo(self.timezone)).replace(tzinfo=None)

    @property
    def tick(self) -> int:
        """Microseconds per step."""
        return RESOLUTIONS[self.resolution]

    def ticks_of(self, value: dt.datetime) -> int:
        """Return a local time as microseconds since 1970."""
        if self.timezone is None:
            return _count_microseconds(value)
        instant = value.replace(tzinfo=zoneinfo.ZoneInfo(self.timezone)).astimezone(dt.UTC)
        return _count_microseconds(instant.replace(tzinfo=None))


@dataclass(frozen=True)
class Time(Temporal):
    """A column of times of the day from `min` to `max`; data outside is clamped.

    Args:
        name: Name of the column.
        min: First time of the day: a time, or text such as `18:30`.
        max: Last time of the day.
        resolution: The step between values: from `microsecond` to `hour`.
        format: Their format as text in the table, if not ISO.
        special: Values at which very many rows pile up, on the grid.
        source: Where the bounds come from.

    Example:
        >>> Time("opens", "08:00", "18:00", resolution="minute").steps
        600
    """

    min: dt.time = dt.time()
    max: dt.time = dt.time(23, 59, 59)
    resolution: str = "second"
    format: str | None = None

    type_name: ClassVar[str] = "time"
    domain_fields: ClassVar[tuple[str, ...]] = ("min", "max", "resolution", "special", "format")

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_resolution(self, self.resolution)
        for bound in ("min", "max", *_list_default_field(self)):
            if self._parse_bound(bound, dt.time).tzinfo is not None:
                raise make_field_error(
                    self, bound, getattr(self, bound).isoformat(), "a time without offset"
                )
        self._check_format(self.format)
        self._check_range(self.resolution)
        self._check_default()
        self._set_special(lambda given: self._parse_value("special", given, dt.time))

    @property
    def tick(self) -> int:
        """Microseconds per step."""
        return RESOLUTIONS[self.resolution]

    def ticks_of(self, value: dt.time) -> int:
        """Return a time of the day in microseconds since midnight."""
        return _count_microseconds(dt.datetime.combine(_EPOCH, value))


def _list_default_field(column: Column) -> tuple[str, ...]:
    return () if column.default is None else ("default",)


def _count_microseconds(moment: dt.datetime) -> int:
    return (moment - _EPOCH) // _MICROSECOND


def _check_resolution(column: Column, given: Any) -> None:
    if not isinstance(given, str) or given not in RESOLUTIONS:
        raise SchemaError(
            f"column {shown(column.name)}: resolution={shown(given)}: "
            f"{did_you_mean(str(given), RESOLUTIONS)}"
        )


def _is_zone(name: str) -> bool:
    try:
        zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True
