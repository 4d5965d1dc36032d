"""What a schema with gaps may say beside the fields of columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tabpe.errors import SchemaError, shown
from tabpe.schema.columns import Categorical, Column


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
