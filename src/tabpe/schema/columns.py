"""Column types: frozen values that say which cells a column may hold.

All their fields are assumed to be public. A field that was read from the data instead is marked by
`source=Source.DATA`, one that was estimated with a part of the budget by `source=Source.ESTIMATED`.
The certificate repeats the marks.

The scale of a number says which values are close to each other: two amounts that differ by 10 are
similar at 100,000 and not at 20. Whole numbers are limited by what a float represents exactly: 2^53
of them, counted from the smallest.
"""

from __future__ import annotations

import enum
import itertools
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from tabpe._utils.validation import is_encodable_text
from tabpe.errors import SchemaError, shown
from tabpe.schema.dictionaries import DICTIONARIES, list_dictionary
from tabpe.schema.number_format import NumberFormat

EXACT_INTEGERS = 2**53
_LEAST, _LARGEST = -(2**63), 2**64 - 1
_INSTEAD = "id if it identifies rows, categorical for codes, float for amounts"


def is_64_bit_integer(given: Any) -> bool:
    """Return whether a value is an integer of 64 bits, with or without a sign.

    Example:
        >>> is_64_bit_integer(2**64 - 1), is_64_bit_integer(2**64), is_64_bit_integer(True)
        (True, False, False)
    """
    return isinstance(given, int) and not isinstance(given, bool) and _LEAST <= given <= _LARGEST


def find_reach_fault(low: int, high: int) -> tuple[str, int, str] | None:
    """Return a bound that is too large, its value and what is expected; None if both are fine.

    Example:
        >>> find_reach_fault(2**60, 2**60 + 9) is None, find_reach_fault(0, 2**60)[0]
        (True, 'max')
    """
    name, farthest = ("min", low) if abs(low) > abs(high) else ("max", high)
    if abs(farthest) <= EXACT_INTEGERS or high - low <= EXACT_INTEGERS:
        return None
    then = f"a whole number within +-2**53, or bounds at most 2**53 apart; or write {_INSTEAD}"
    return name, farthest, then


LINEAR, LOG, QUANTILE = SCALES = "linear", "log", "quantile"
FEWEST_QUANTILES = 4
MOST_QUANTILES = 257
MOST_SPECIAL = 16
# On a nonlinear scale adjacent grid values must stay distinct as floats, and invert exactly. With
# more steps, whole numbers are refused, and decimals have no grid.
MOST_BENT_STEPS = 2**40

_LEAST_SCALED = 1e-300

FieldFault = tuple[str, Any, str]


def find_scale_fault(column: Integer | Float, *, estimated: bool) -> FieldFault | None:
    """Return a field that does not fit, its value and what is expected; None if all do.

    Args:
        column: A numeric column with parsed quantiles, or without any.
        estimated: Whether the quantiles were estimated privately: they may be few then, since most
            rows can share one value.

    Example:
        >>> from tabpe.schema import Integer
        >>> Integer("pay", 0, 9000, scale="logarithm")
        Traceback (most recent call last):
        tabpe.errors.SchemaError: column 'pay': scale='logarithm': expected linear, log or quantile.
    """
    allowed = _find_allowed_scale(column)
    if allowed is not None:
        return "scale", column.scale, allowed
    if column.scale != QUANTILE:
        unused = column.quantiles
        return None if unused is None else ("quantiles", list(unused), "none, or scale: quantile")
    if column.quantiles is None:
        then = (
            "values from min to max that divide rows into equal parts, or estimate them privately"
        )
        return "quantiles", None, f"{then} (docs/how-to/private-schema.md)"
    return _find_quantiles_fault(column, column.quantiles, estimated=estimated)


def parse_quantiles(given: Any, *, whole: bool) -> tuple[float, ...] | None:
    """Return quantiles as a tuple of numbers; None if they are not a list of such numbers.

    Example:
        >>> parse_quantiles([0, 10.5, 90], whole=False)
        (0.0, 10.5, 90.0)
        >>> parse_quantiles([0, 10.5, 90], whole=True) is None
        True
    """
    if not isinstance(given, (list, tuple)):
        return None
    values = [value.item() if hasattr(value, "item") else value for value in given]
    for value in values:
        fits = isinstance(value, int if whole else (int, float))
        if isinstance(value, bool) or not fits or not math.isfinite(value):
            return None
    return tuple(values) if whole else tuple(float(value) for value in values)


def add_scale(scale: str, plain: dict[str, Any]) -> dict[str, Any]:
    """Return the plain values of a numeric column with its scale, if that is not linear.

    Example:
        >>> add_scale("log", {"name": "pay", "source": "public"})
        {'name': 'pay', 'scale': 'log', 'source': 'public'}
    """
    if scale == LINEAR:
        return plain
    after = ("quantiles", "special", "format", "source", "estimated")
    early = {key: value for key, value in plain.items() if key not in after}
    return {**early, "scale": scale, **{key: plain[key] for key in after if key in plain}}


def _find_allowed_scale(column: Integer | Float) -> str | None:
    """Return which scale is expected; None if that of the column is allowed."""
    if column.scale not in SCALES:
        return "linear, log or quantile"
    if column.scale == LINEAR:
        return None
    if column.steps > MOST_BENT_STEPS:
        return "linear for more than 2**40 steps; or narrower bounds"
    if _is_large(column):
        return "linear for whole numbers beyond 2**53"
    if column.scale == LOG and not _has_logs(float(column.min), float(column.max)):
        return "linear for bounds whose ratio is beyond 1e300"
    return None


def _has_logs(low: float, high: float) -> bool:
    """Whether a float can hold the ratio of the bounds, or of the larger one to 1."""
    near, far = sorted((abs(low), abs(high)))
    if low <= 0 <= high:
        return far == 0 or far > _LEAST_SCALED
    return near > far * _LEAST_SCALED


def _is_large(column: Integer | Float) -> bool:
    return isinstance(column.min, int) and max(-column.min, column.max) > EXACT_INTEGERS


def _find_quantiles_fault(
    column: Integer | Float, quantiles: tuple[float, ...], *, estimated: bool
) -> FieldFault | None:
    given, digits = list(quantiles), column.decimals
    rising = all(low < high for low, high in itertools.pairwise(quantiles))
    if not rising or not quantiles or (quantiles[0], quantiles[-1]) != (column.min, column.max):
        return (
            "quantiles",
            given,
            f"increasing numbers from min={column.min!r} to max={column.max!r}",
        )
    if len(quantiles) > MOST_QUANTILES:
        return "quantiles", given, f"at most {MOST_QUANTILES} of them"
    if len(quantiles) < FEWEST_QUANTILES and not estimated:
        return "quantiles", given, "at least two between min and max; or scale: linear"
    if digits is not None and any(round(value, digits) != value for value in quantiles):
        return "quantiles", given, f"at most {digits} decimals, as declared"
    return None


Value = str | int | float
MOST_DECIMALS = 12


class Source(enum.Enum):
    """Where the domain of a column comes from."""

    PUBLIC = "public"
    DATA = "data"
    ESTIMATED = "estimated"


@dataclass(frozen=True)
class Column:
    """The base of all column types: a name, and the source of its domain.

    Args:
        name: Name of the column.
        source: Where its domain comes from.
        estimated: Which fields were estimated privately, if others were declared; empty for all.
        nullable: Whether a cell may be null; if not, a missing one counts as `default`.
        invalid: What a cell that does not fit the column counts as: `clamp` to the nearest bound
            (numbers, dates, times), `null`, `other` (listed values) or `default`. None for the
            rule of its type: see `on_invalid`.
        default: The value of a missing cell; None for that of its type: the smallest number, the
            first listed value, false.
        nulls: Values that stand for a missing one, such as `unknown` or 999.
    """

    name: str
    source: Source = field(default=Source.PUBLIC, kw_only=True)
    estimated: tuple[str, ...] = field(default=(), kw_only=True)
    nullable: bool = field(default=False, kw_only=True)
    invalid: str | None = field(default=None, kw_only=True)
    default: Any = field(default=None, kw_only=True)
    nulls: tuple[str | int | float, ...] = field(default=(), kw_only=True)

    type_name: ClassVar[str] = "column"
    domain_fields: ClassVar[tuple[str, ...]] = ()
    flags: ClassVar[tuple[str, ...]] = ("nullable",)
    invalid_rules: ClassVar[tuple[str, ...]] = ("clamp", "null", "default")

    def __post_init__(self) -> None:
        if not is_encodable_text(self.name) or not self.name:
            raise SchemaError(f"name={shown(self.name)}: expected a text of at least 1 character.")
        if not isinstance(self.source, Source):
            expected = "Source.PUBLIC, Source.DATA or Source.ESTIMATED"
            raise make_field_error(self, "source", self.source, expected)
        for flag in self.flags:
            if not isinstance(getattr(self, flag), bool):
                raise make_field_error(self, flag, getattr(self, flag), "true or false")
        self._check_estimated()
        self._check_invalid()
        self._check_nulls()

    @property
    def on_invalid(self) -> str:
        """The rule for a cell that does not fit: `invalid`, or that of the type."""
        return self.invalid or "clamp"

    @property
    def default_value(self) -> Any:
        """The value of a missing cell, unless that is null."""
        return self.default

    def _check_invalid(self) -> None:
        known = self.invalid_rules
        if self.invalid is not None and self.invalid not in known:
            raise make_field_error(
                self, "invalid", self.invalid, " or ".join(known) or "none for this type"
            )
        if self.default is not None and not known:
            raise make_field_error(self, "default", self.default, "none for this type")
        if self.invalid == "null" and not self.nullable:
            raise make_field_error(self, "invalid", "null", "nullable: true beside it")
        if self.invalid == "default" and self.default is None:
            raise make_field_error(self, "invalid", "default", "a default beside it")

    def _check_nulls(self) -> None:
        given = self.nulls
        if isinstance(given, str) or not isinstance(given, (list, tuple)):
            raise make_field_error(self, "nulls", given, "a list of values")
        for value in given:
            plain = isinstance(value, (str, int, float)) and not isinstance(value, bool)
            if not plain or (isinstance(value, str) and not is_encodable_text(value)):
                raise make_field_error(self, "nulls", value, "texts and numbers; quote the others")
        object.__setattr__(self, "nulls", tuple(given))

    def _check_estimated(self) -> None:
        known = ("type", *self.domain_fields, "nullable")
        if isinstance(self.estimated, str) or not isinstance(self.estimated, (list, tuple)):
            raise make_field_error(self, "estimated", self.estimated, "a list of fields")
        object.__setattr__(self, "estimated", tuple(self.estimated))
        for name in self.estimated:
            if name not in known:
                raise make_field_error(self, "estimated", name, f"some of {', '.join(known)}")
        if self.estimated and self.source is not Source.ESTIMATED:
            given = list(self.estimated)
            raise make_field_error(self, "estimated", given, "none, or source: estimated")

    def to_dict(self) -> dict[str, Any]:
        """Return the column as plain values, in the order of a schema file."""
        domain = {name: getattr(self, name) for name in self.domain_fields}
        present = {
            name: _format_field(value) for name, value in domain.items() if value is not None
        }
        flags = {flag: True for flag in self.flags if getattr(self, flag)}
        head = {"name": self.name, "type": self.type_name}
        stated = {"invalid": self.invalid, "default": _format_field(self.default)}
        stated = {name: value for name, value in stated.items() if value is not None}
        if self.nulls:
            stated["nulls"] = list(self.nulls)
        tail = {"estimated": list(self.estimated)} if self.estimated else {}
        return {**head, **present, **flags, **stated, "source": self.source.value, **tail}


@dataclass(frozen=True)
class Categorical(Column):
    """A column of values from a known list.

    Args:
        name: Name of the column.
        values: All values that may occur: all text, all whole numbers or all decimals; or the name
            of a public dictionary, such as `iso-3166`.
        other: The one of `values` for everything not listed; without it unlisted cells become
            null if the column is nullable, and the first of `values` if it is not.
        ordered: Whether the values are ordered, so that neighbours in the list are similar; if not,
            two values are either equal or different.
        source: Where the list comes from.

    Example:
        >>> Categorical("ward", ("surgery", "heart", "else"), other="else").size
        3
    """

    values: tuple[Value, ...]
    other: Value | None = None
    ordered: bool = False

    type_name: ClassVar[str] = "categorical"
    domain_fields: ClassVar[tuple[str, ...]] = ("values", "other")
    flags: ClassVar[tuple[str, ...]] = ("ordered", "nullable")
    invalid_rules: ClassVar[tuple[str, ...]] = ("other", "null", "default")

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.values, str):
            object.__setattr__(self, "values", self._list_named_values(self.values))
        if not isinstance(self.values, (list, tuple)):
            raise make_field_error(self, "values", self.values, "a list of values")
        object.__setattr__(
            self, "values", _check_values(self, tuple(map(_unwrap_numpy, self.values)))
        )
        for name in ("other", "default"):
            given = _unwrap_numpy(getattr(self, name))
            if given is None:
                continue
            if isinstance(given, bool) or given not in self.values:
                raise make_field_error(self, name, given, "one of values; add it to them")
            object.__setattr__(self, name, self.values[self.values.index(given)])
        if self.invalid == "other" and self.other is None:
            raise make_field_error(self, "invalid", "other", "an other beside it")

    def _list_named_values(self, name: str) -> tuple[Value, ...]:
        """Return the values of a public dictionary, and the declared `other`."""
        found = list_dictionary(name)
        if found is None:
            known = ", ".join(DICTIONARIES)
            raise make_field_error(self, "values", name, f"a list of values, or one of {known}")
        more = [one for one in (self.other, self.default) if one is not None and one not in found]
        return (*found, *dict.fromkeys(more))

    @property
    def on_invalid(self) -> str:
        """The rule for an unlisted cell: `invalid`, or else `other`, `null` or `default`."""
        usual = "null" if self.nullable else "default"
        return self.invalid or ("other" if self.other is not None else usual)

    @property
    def default_value(self) -> Value:
        """The declared default, or the first listed value."""
        return self.values[0] if self.default is None else self.default

    @property
    def size(self) -> int:
        """Number of values."""
        return len(self.values)

    @property
    def states(self) -> int:
        """Number of values, plus one for null if that is allowed."""
        return self.size + self.nullable


@dataclass(frozen=True)
class Boolean(Column):
    """A column of true and false.

    Example:
        >>> Boolean("smoker").size
        2
    """

    type_name: ClassVar[str] = "boolean"
    values: ClassVar[tuple[bool, bool]] = (False, True)
    size: ClassVar[int] = 2
    invalid_rules: ClassVar[tuple[str, ...]] = ("null", "default")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.default is not None and not isinstance(self.default, bool):
            raise make_field_error(self, "default", self.default, "true or false")

    @property
    def on_invalid(self) -> str:
        """The rule for a cell that is neither: `invalid`, or else `null` or `default`."""
        return self.invalid or ("null" if self.nullable else "default")

    @property
    def default_value(self) -> bool:
        """The declared default, or false."""
        return bool(self.default)

    @property
    def states(self) -> int:
        """Number of values, plus one for null if that is allowed."""
        return self.size + self.nullable


@dataclass(frozen=True)
class Integer(Column):
    """A column of whole numbers from `min` to `max`; data outside is clamped.

    Args:
        name: Name of the column.
        min: Smallest value.
        max: Largest value; the same as `min` for a constant column.
        scale: Which values are close to each other: `linear`, `log` or `quantile`.
        quantiles: For the scale `quantile`: increasing values from `min` to `max` that divide rows
            into equal parts.
        special: Values at which very many rows pile up, such as 0 or a cap.
        format: How the table writes 1234.56, if not as in Python: `1.234,56 EUR`.
        source: Where the bounds and the quantiles come from.

    Example:
        >>> Integer("age", 0, 120).steps
        120
        >>> Integer("pay", 0, 10**6, scale="log").to_dict()["scale"]
        'log'
    """

    min: int
    max: int
    scale: str = field(default=LINEAR, kw_only=True)
    quantiles: tuple[int, ...] | None = field(default=None, kw_only=True)
    special: tuple[int, ...] | None = field(default=None, kw_only=True)
    format: str | None = field(default=None, kw_only=True)

    type_name: ClassVar[str] = "integer"
    domain_fields: ClassVar[tuple[str, ...]] = ("min", "max", "quantiles", "special", "format")
    decimals: ClassVar[int] = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        for bound in ("min", "max"):
            given = _unwrap_numpy(getattr(self, bound))
            if not is_64_bit_integer(given):
                raise make_field_error(self, bound, given, "a whole number of 64 bits")
            object.__setattr__(self, bound, given)
        _check_bounds(self, self.min, self.max)
        fault = find_reach_fault(self.min, self.max)
        if fault is not None:
            raise make_field_error(self, *fault)
        _set_scale(self, whole=True)
        _set_special(self, whole=True)
        _set_default(self)
        _check_number_format(self)

    @property
    def default_value(self) -> int:
        """The declared default, or the smallest value."""
        return self.min if self.default is None else int(self.default)

    @property
    def steps(self) -> int:
        """Number of steps of 1 from `min` to `max`; 0 for a constant column."""
        return self.max - self.min

    def to_dict(self) -> dict[str, Any]:
        """Return the column as plain values, with its scale if that is not linear."""
        return add_scale(self.scale, super().to_dict())


@dataclass(frozen=True)
class Float(Column):
    """A column of numbers from `min` to `max`; data outside is clamped.

    Args:
        name: Name of the column.
        min: Smallest value.
        max: Largest value; the same as `min` for a constant column.
        decimals: Digits after the point that values have; None for as many as a float holds.
        scale: Which values are close to each other: `linear`, `log` or `quantile`.
        quantiles: For the scale `quantile`: increasing values from `min` to `max` that divide rows
            into equal parts.
        special: Values at which very many rows pile up, such as 0 or a cap.
        format: How the table writes 1234.56, if not as in Python: `1.234,56 EUR`.
        source: Where the bounds and the quantiles come from.

    Example:
        >>> Float("bmi", 10.0, 60.0, decimals=1).steps
        500
    """

    min: float
    max: float
    decimals: int | None = None
    scale: str = field(default=LINEAR, kw_only=True)
    quantiles: tuple[float, ...] | None = field(default=None, kw_only=True)
    special: tuple[float, ...] | None = field(default=None, kw_only=True)
    format: str | None = field(default=None, kw_only=True)

    type_name: ClassVar[str] = "float"
    domain_fields: ClassVar[tuple[str, ...]] = (
        *("min", "max", "decimals"),
        *("quantiles", "special", "format"),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        for bound in ("min", "max"):
            given = _unwrap_numpy(getattr(self, bound))
            if isinstance(given, bool) or not isinstance(given, (int, float)):
                raise make_field_error(self, bound, given, "a number")
            if not abs(given) <= sys.float_info.max:
                raise make_field_error(self, bound, given, "a finite number")
            object.__setattr__(self, bound, float(given))
        _check_bounds(self, self.min, self.max)
        if not math.isfinite(self.max - self.min):
            raise make_field_error(
                self, "max", self.max, f"a range from min={self.min!r} that a float holds"
            )
        self._check_decimals()
        _set_scale(self, whole=False)
        _set_special(self, whole=False)
        _set_default(self)
        _check_number_format(self)

    @property
    def default_value(self) -> float:
        """The declared default, or the smallest value."""
        return self.min if self.default is None else float(self.default)

    def _check_decimals(self) -> None:
        if self.decimals is None:
            return
        if type(self.decimals) is not int or self.decimals not in range(MOST_DECIMALS + 1):
            raise make_field_error(
                self, "decimals", self.decimals, f"a whole number from 0 to {MOST_DECIMALS}"
            )
        for bound in ("min", "max"):
            given = getattr(self, bound)
            if round(given, self.decimals) != given:
                raise make_field_error(
                    self, bound, given, f"at most {self.decimals} decimals, as declared"
                )
        if not math.isfinite((self.max - self.min) * 10.0**self.decimals):
            raise make_field_error(
                self, "decimals", self.decimals, "fewer, or bounds nearer to each other"
            )

    @property
    def steps(self) -> int:
        """Number of steps of the last declared decimal from `min` to `max`; 0 if undeclared.

        It is 0 as well if a nonlinear scale could not tell so many steps apart: decimals then only
        say how values are written.
        """
        if self.decimals is None:
            return 0
        steps = round((self.max - self.min) * 10.0**self.decimals)
        return 0 if self.scale != LINEAR and steps > MOST_BENT_STEPS else steps

    def to_dict(self) -> dict[str, Any]:
        """Return the column as plain values, with its scale if that is not linear."""
        return add_scale(self.scale, super().to_dict())


def _format_field(value: Any) -> Any:
    """Return a field as plain values: lists for tuples, text for dates and times."""
    if isinstance(value, tuple):
        return [_format_field(one) for one in value]
    return value.isoformat() if hasattr(value, "isoformat") else value


def make_field_error(column: Column, parameter: str, given: Any, allowed: str) -> SchemaError:
    """Return the error for an invalid field of a column."""
    return SchemaError(
        f"column {shown(column.name)}: {parameter}={shown(given)}: expected {allowed}."
    )


def _unwrap_numpy(value: Any) -> Any:
    """Return a numpy scalar as a Python value."""
    return value.item() if type(value).__module__ == "numpy" and value.ndim == 0 else value


def _set_default(column: Integer | Float) -> None:
    given = _unwrap_numpy(column.default)
    if given is None:
        return
    kinds = int if isinstance(column, Integer) else (int, float)
    if isinstance(given, bool) or not isinstance(given, kinds):
        raise make_field_error(column, "default", given, "a number of that type")
    if not column.min <= given <= column.max:
        raise make_field_error(column, "default", given, "a number from min to max")
    object.__setattr__(column, "default", type(column.min)(given))


def _check_number_format(column: Integer | Float) -> None:
    given = column.format
    if given is not None and NumberFormat.from_example(given) is None:
        raise make_field_error(
            column, "format", given, "how 1234.56 is written in the table, such as '1.234,56 EUR'"
        )


def _set_scale(column: Integer | Float, *, whole: bool) -> None:
    if column.quantiles is not None:
        kept = parse_quantiles(column.quantiles, whole=whole)
        if kept is None:
            numbers = "whole numbers" if whole else "numbers"
            raise make_field_error(column, "quantiles", column.quantiles, f"a list of {numbers}")
        object.__setattr__(column, "quantiles", kept)
    fault = find_scale_fault(column, estimated=column.source is Source.ESTIMATED)
    if fault is not None:
        raise make_field_error(column, *fault)


def _set_special(column: Integer | Float, *, whole: bool) -> None:
    if column.special is None:
        return
    kept = parse_quantiles(column.special, whole=whole)
    if kept is None:
        numbers = "whole numbers" if whole else "numbers"
        raise make_field_error(column, "special", column.special, f"a list of {numbers}")
    check_special(column, kept, [column.min <= one <= column.max for one in kept])
    digits = column.decimals
    if digits is not None and any(round(value, digits) != value for value in kept):
        raise make_field_error(
            column, "special", list(kept), f"at most {digits} decimals, as declared"
        )
    object.__setattr__(column, "special", tuple(sorted(kept)))


def check_special(column: Column, values: Sequence[Any], inside: Sequence[bool]) -> None:
    """Refuse special values that are outside of the bounds, repeated, or too many.

    Args:
        column: The column.
        values: The special values.
        inside: Whether each is within the bounds.
    """
    given = [_format_field(value) for value in values]
    if not 0 < len(given) <= MOST_SPECIAL:
        raise make_field_error(column, "special", given, f"1 to {MOST_SPECIAL} values")
    if not all(inside):
        raise make_field_error(column, "special", given, "values from min to max")
    if len(set(given)) < len(given):
        raise make_field_error(column, "special", given, "each value once")


def _check_bounds(column: Column, low: float, high: float) -> None:
    if low > high:
        raise SchemaError(
            f"column {column.name!r}: min={low!r} is above max={high!r}: swap them, or declare "
            f"the same number twice for a constant column."
        )


def _check_values(column: Categorical, values: tuple[Any, ...]) -> tuple[Value, ...]:
    """Return the values, if there are any, all of one type and each once."""
    if not values:
        raise make_field_error(column, "values", [], "at least one value")
    kinds = {type(value) for value in values}
    if bool in kinds:
        raise SchemaError(
            f"column {column.name!r}: values holds true or false: use type boolean, or quote "
            f"them as text."
        )
    if kinds == {int, float}:
        values, kinds = tuple(float(value) for value in values), {float}
    if len(kinds) > 1 or not kinds <= {str, int, float}:
        names = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise SchemaError(
            f"column {column.name!r}: values mixes {names}: write all as text or all as numbers."
        )
    _refuse_duplicates(column, values)
    if kinds == {str} and not all(map(is_encodable_text, values)):
        raise make_field_error(column, "values", "a lone surrogate", "valid Unicode text")
    if kinds == {int} and not all(-(2**63) <= value < 2**63 for value in values):
        raise make_field_error(
            column, "values", "whole numbers", "those of 64 bits; quote larger ones"
        )
    if kinds == {float} and not all(math.isfinite(value) for value in values):
        raise make_field_error(column, "values", "nan or inf", "finite numbers")
    return values


def _refuse_duplicates(column: Categorical, values: tuple[Any, ...]) -> None:
    seen: set[Any] = set()
    for value in values:
        if value in seen:
            raise SchemaError(f"column {column.name!r}: values lists {shown(value)} twice.")
        seen.add(value)


@dataclass(frozen=True)
class Id(Column):
    """A column of identifiers, such as patient numbers: never read, and generated.

    Synthetic rows are numbered from `first` on, so no id occurs twice. The column of the private
    table is not read at all, and need not exist.

    Args:
        name: Name of the column.
        prefix: Text before each number; without it ids are whole numbers.
        first: The first number.

    Example:
        >>> Id("patient", prefix="P").to_dict()
        {'name': 'patient', 'type': 'id', 'prefix': 'P', 'first': 1, 'source': 'public'}
    """

    prefix: str | None = None
    first: int = 1

    type_name: ClassVar[str] = "id"
    domain_fields: ClassVar[tuple[str, ...]] = ("prefix", "first")
    invalid_rules: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.nullable:
            raise make_field_error(self, "nullable", self.nullable, "none: every row gets an id")
        if self.prefix is not None and not is_encodable_text(self.prefix):
            raise make_field_error(self, "prefix", self.prefix, "a text, such as 'P'")
        if type(self.first) is not int or not 0 <= self.first < EXACT_INTEGERS:
            raise make_field_error(self, "first", self.first, "a whole number from 0 on")
