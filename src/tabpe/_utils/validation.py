"""Checks of parameters; each returns the accepted value or raises `ParameterError`."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from tabpe.errors import ParameterError, did_you_mean

T = TypeVar("T")


def check_real(
    name: str,
    value: Any,
    *,
    above: float,
    below: float = math.inf,
    least: bool = False,
    hint: str = "",
) -> float:
    """Return `value` as a float if it is finite and between `above` and `below`.

    Both limits are exclusive, except `above` with `least`.

    Example:
        >>> check_real("epsilon", 1, above=0)
        1.0
        >>> check_real("epsilon", 0, above=0)
        Traceback (most recent call last):
        tabpe.errors.ParameterError: epsilon=0: expected a finite number > 0.
    """
    allowed = f"{'>=' if least else '>'} {above:g}"
    allowed += "" if math.isinf(below) else f" and < {below:g}"
    inside = _is_number(value) and (above < value < below or (least and value == above))
    if not inside or not math.isfinite(value):
        raise ParameterError(_format_error(name, value, f"a finite number {allowed}", hint))
    return float(value)


def check_flag(name: str, value: Any) -> bool:
    """Return `value` if it is true or false."""
    if not isinstance(value, bool):
        raise ParameterError(_format_error(name, value, "true or false", ""))
    return value


def check_fraction(name: str, value: Any, *, hint: str = "") -> float:
    """Return `value` as a float if it lies in [0, 1]."""
    if not _is_number(value) or not 0 <= value <= 1:
        raise ParameterError(_format_error(name, value, "a number from 0 to 1", hint))
    return float(value)


def check_integer(name: str, value: Any, *, least: int, hint: str = "") -> int:
    """Return `value` as an int if it is a whole number of at least `least`.

    Example:
        >>> check_integer("rounds", 15, least=1)
        15
        >>> check_integer("rounds", 2.5, least=1)
        Traceback (most recent call last):
        tabpe.errors.ParameterError: rounds=2.5: expected a whole number >= 1.
    """
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < least:
        raise ParameterError(_format_error(name, value, f"a whole number >= {least}", hint))
    return int(value)


def check_one_of(name: str, value: Any, options: Sequence[str]) -> str:
    """Return `value` if it is one of `options`.

    Example:
        >>> check_one_of("preset", "papr", ["paper", "reference"])
        Traceback (most recent call last):
        tabpe.errors.ParameterError: preset='papr': did you mean 'paper'?
    """
    if value not in options:
        raise ParameterError(f"{name}={value!r}: {did_you_mean(str(value), options)}")
    return str(value)


def check_optional(check: Callable[..., T], name: str, value: Any, **limits: Any) -> T | None:
    """Apply a check to a value that may be None.

    Example:
        >>> check_optional(check_integer, "rounds", None, least=1) is None
        True
    """
    return None if value is None else check(name, value, **limits)


def is_encodable_text(value: Any) -> bool:
    r"""Return whether a value is text that UTF-8 can encode, without lone surrogates.

    Example:
        >>> is_encodable_text("ward"), is_encodable_text("\ud800"), is_encodable_text(5)
        (True, False, False)
    """
    try:
        return isinstance(value, str) and value.encode() is not None
    except UnicodeEncodeError:
        return False


def _is_number(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        return False
    try:
        float(value)
    except OverflowError:
        return False
    return True


def _format_error(name: str, value: Any, allowed: str, hint: str) -> str:
    return f"{name}={value!r}: expected {allowed}." + (f" {hint}" if hint else "")
