"""What a schema with gaps may say beside the fields of columns, and what storage says for it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tabpe.errors import SchemaError, shown
from tabpe.schema.columns import MOST_DECIMALS, Categorical, Column, Float
from tabpe.schema.times import Date, Datetime, Time

_DECIMAL = re.compile(r"decimal\d*\(\d+, (?P<scale>-?\d+)\)")


def check_top(
    name: str, kind: type[Column] | None, fields: Mapping[str, Any], top: Any, *, is_open: bool
) -> None:
    """Refuse a `top` that does not go with what else is declared of a column.

    Args:
        name: Name of the column.
        kind: Its type, or None.
        fields: The fields that are declared.
        top: The most values that stay apart.
        is_open: Whether there may be more values than those declared.

    Example:
        >>> check_top("ward", Categorical, {"values": ("eye", "heart")}, 0, is_open=False)
        Traceback (most recent call last):
        tabpe.errors.SchemaError: column 'ward': top=0: expected a whole number of at least 1.
    """
    where, values = f"column {name!r}: top={shown(top)}", fields.get("values", ())
    if type(top) is not int or top < 1:
        raise SchemaError(f"{where}: expected a whole number of at least 1.")
    if kind is not Categorical or fields.get("ordered"):
        raise SchemaError(f"{where}: top is for type categorical, without ordered.")
    if is_open and values:
        raise SchemaError(f"{where}: leave open out, or values.")
    if "other" not in fields and not all(isinstance(value, str) for value in values):
        raise SchemaError(f"{where}: declare other, the number that stands for the rest.")


def stored_as(arrow_type: str, *, is_label: bool = False) -> dict[str, Any]:
    """Return what is known of a column that is stored as dates, times or decimals of a database.

    Example:
        >>> stored_as("timestamp[us, tz=UTC]")["fields"]
        {'timezone': 'UTC'}
        >>> stored_as("decimal128(10, 2)")["fields"]
        {'decimals': 2}
        >>> stored_as("string")
        {}
    """
    if arrow_type.startswith("date"):
        return {"kind": Date}
    if arrow_type.startswith("timestamp"):
        _, _, zone = arrow_type.removesuffix("]").partition("tz=")
        return {"kind": Datetime, "fields": {"timezone": zone} if zone else {}}
    if arrow_type.startswith("time"):
        return {"kind": Time, "open": True}
    decimals = _DECIMAL.match(arrow_type)
    if decimals is None or is_label:  # decimals may be classes: their cells are asked
        return {}
    digits = int(decimals["scale"])
    known = 0 <= digits <= MOST_DECIMALS
    return {"kind": Float, "fields": {"decimals": digits} if known else {}}
