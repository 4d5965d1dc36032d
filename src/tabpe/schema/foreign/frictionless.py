"""Table Schema of Frictionless, by itself or in a data package: types with constraints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tabpe.errors import SchemaError
from tabpe.schema.foreign.parts import (
    Entry,
    Imported,
    entry,
    mapping,
    nullable,
    one_of_tables,
    read_columns,
)

_USUAL = ("default", "any")
_MOMENTS = ("date", "datetime", "time")
_RANGED = ("integer", "year", "number", *_MOMENTS)
_TYPES = {
    "integer": "integer",
    "year": "integer",
    "number": "float",
    "boolean": "boolean",
    "string": "categorical",
    **dict(zip(_MOMENTS, _MOMENTS, strict=True)),
}


def fits(plain: Mapping[str, Any]) -> bool:
    """Whether it looks like a Table Schema or a data package."""
    return isinstance(plain.get("fields"), list) or isinstance(plain.get("resources"), list)


def read(plain: Mapping[str, Any], table: str | None = None) -> Imported:
    """Return what a Table Schema says.

    Example:
        >>> age = {"name": "age", "type": "integer", "constraints": {"minimum": 0}}
        >>> read({"fields": [age]}).columns
        ({'name': 'age', 'type': 'integer', 'min': 0},)
    """
    if "resources" in plain:
        tables = {str(one.get("name", place)): one for place, one in enumerate(plain["resources"])}
        plain = mapping("schema", mapping("resource", one_of_tables(tables, table)).get("schema"))
    keys = plain.get("primaryKey", ())
    alone = keys if isinstance(keys, str) else keys[0] if len(keys) == 1 else None
    fields = {}
    for place, field in enumerate(plain.get("fields", ()), start=1):
        if not isinstance(field, Mapping) or "name" not in field:
            raise SchemaError(f"fields: entry {place} has no name.")
        fields[str(field["name"])] = {**field, "is_key": field["name"] == alone}
    return read_columns(fields, _with_nulls)


def _with_nulls(name: str, told: Mapping[str, Any]) -> Entry | str:
    limits = mapping("constraints", told.get("constraints", {}))
    return nullable(_column(name, told), limits.get("required") is False)


def _column(name: str, told: Mapping[str, Any]) -> Entry | str:
    kind = told.get("type", "string")
    limits = mapping("constraints", told.get("constraints", {}))
    if told["is_key"]:
        return entry(name, "id")
    if listed := _categories(told, limits):
        ordered = True if told.get("categoriesOrdered") else None
        return entry(name, "categorical", values=listed, ordered=ordered)
    if kind not in _TYPES:
        return f"type {kind!r} can not be synthesised: convert it before"
    bounds = {"min": limits.get("minimum"), "max": limits.get("maximum")}
    pattern = told.get("format", "default") if kind in _MOMENTS else None
    return entry(
        name,
        _TYPES[kind],
        **(bounds if kind in _RANGED else {}),
        format=None if pattern in _USUAL else pattern,
    )


def _categories(told: Mapping[str, Any], limits: Mapping[str, Any]) -> list[Any]:
    given = limits.get("enum") or told.get("categories") or ()
    return [one["value"] if isinstance(one, Mapping) else one for one in given]
