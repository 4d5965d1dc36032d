"""Kinds of Arrow types."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import pyarrow as pa

T = TypeVar("T")

# What text is a number. Digits with leading zeros are the code of something, such as a postcode.
WHOLE_NUMBER = r"^[+-]?(0|[1-9][0-9]*)$"
NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
CODE = r"^[+-]?0[0-9]"


def try_call(call: Callable[[], T], *failures: type[Exception]) -> T | None:
    """Return what `call` gives, or None if it fails.

    The message of such a failure often quotes the cell that caused it. Python keeps an error that
    is being handled behind the one that is raised then; so a failure is dropped here, whole, and
    the caller raises its own, outside of any `except`.

    Args:
        call: What to try.
        failures: What counts as a failure, beside whatever Arrow raises.

    Example:
        >>> try_call(lambda: pa.array(["x"]).cast(pa.int64())) is None
        True
    """
    try:
        return call()
    except (pa.ArrowException, *failures):
        return None


def convert_decimals(array: pa.Array) -> pa.Array:
    """Return decimals as the floats that are nearest to them; all else as it is.

    Arrow's own cast is off by a digit of the float now and then, and then 0.07 is not 0.07.

    Example:
        >>> from decimal import Decimal
        >>> convert_decimals(pa.array([Decimal("0.07")])).to_pylist()
        [0.07]
    """
    if not pa.types.is_decimal(array.type):
        return array
    return array.cast(pa.string()).cast(pa.float64())


def is_text(kind: pa.DataType) -> bool:
    """Whether a type is one of the kinds of text.

    Example:
        >>> is_text(pa.large_string()), is_text(pa.int8())
        (True, False)
    """
    return bool(
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    )
