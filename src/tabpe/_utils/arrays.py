"""Helpers for Arrow arrays: text types, decimals, and calls that may fail."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import pyarrow as pa

T = TypeVar("T")

# Text that is a number. Digits with leading zeros are a code, such as a postcode.
NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
CODE = r"^[+-]?0[0-9]"


def try_call(call: Callable[[], T], *failures: type[Exception]) -> T | None:
    """Return the result of `call`, or None if it fails.

    Privacy: the message of such an error often quotes the cell that caused it, and Python attaches
    an error that is being handled to the next one raised. So the error is dropped here, and the
    caller raises its own outside of any `except`.

    Args:
        call: The function to call.
        failures: Exceptions that count as failures, beside those of Arrow.

    Example:
        >>> try_call(lambda: pa.array(["x"]).cast(pa.int64())) is None
        True
    """
    try:
        return call()
    except (pa.ArrowException, *failures):
        return None


def convert_decimals(array: pa.Array) -> pa.Array:
    """Return decimals as their nearest floats; other arrays unchanged.

    Arrow's own cast is sometimes off by the last digit of the float.

    Example:
        >>> from decimal import Decimal
        >>> convert_decimals(pa.array([Decimal("0.07")])).to_pylist()
        [0.07]
    """
    if not pa.types.is_decimal(array.type):
        return array
    return array.cast(pa.string()).cast(pa.float64())


def is_text(kind: pa.DataType) -> bool:
    """Return whether a type is a kind of text.

    Example:
        >>> is_text(pa.large_string()), is_text(pa.int8())
        (True, False)
    """
    return bool(
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    )
