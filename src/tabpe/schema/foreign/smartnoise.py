"""The YAML of SmartNoise: database, schema, table, and columns among properties of the table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tabpe.schema.foreign.parts import (
    Entry,
    Imported,
    entry,
    mapping,
    nullable,
    one_of_tables,
    read_columns,
)

TYPES = ("int", "float", "string", "boolean", "datetime")


def fits(plain: Mapping[str, Any]) -> bool:
    """Whether it looks like the YAML of SmartNoise: columns with such a type, in tables."""
    schemas = [schema for database in _mappings(plain) for schema in _mappings(database)]
    tables = [table for schema in schemas for table in _mappings(schema)]
    return any(
        column.get("type") in TYPES
        for table in (*schemas, *tables)
        for column in _mappings(table)
        if isinstance(column.get("type"), str)
    )


def read(plain: Mapping[str, Any], table: str | None = None) -> Imported:
    """Return what the YAML of SmartNoise says.

    Example:
        >>> visits = {"rows": 100, "age": {"type": "int", "lower": 0}}
        >>> read({"": {"clinic": {"visits": visits}}}).columns
        ({'name': 'age', 'type': 'integer', 'min': 0},)
    """
    schemas = mapping("database", one_of_tables(plain, None))
    tables = {
        name: told
        for schema in _mappings({"": schemas} if _has_tables(schemas) else schemas)
        for name, told in schema.items()
    }
    told = mapping("table", one_of_tables(tables, table))
    columns = {name: one for name, one in told.items() if isinstance(one, Mapping)}
    return read_columns(
        columns, lambda name, one: nullable(_column(name, one), one.get("nullable"))
    )


def _column(name: str, told: Mapping[str, Any]) -> Entry | str:
    if told.get("private_id"):
        return "it tells people apart: name it as unit (docs/how-to/users.md)"
    kind = told.get("type")
    bounds = {"min": told.get("lower"), "max": told.get("upper")}
    if kind == "int":
        return entry(name, "integer", **bounds)
    if kind == "float":
        return entry(name, "float", **bounds)
    if kind == "string":
        return entry(name, "categorical")
    if kind in ("boolean", "datetime"):
        return entry(name, str(kind))
    return f"type {kind!r} is none of {', '.join(TYPES)}"


def _mappings(plain: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [one for one in plain.values() if isinstance(one, Mapping)]


def _has_tables(level: Mapping[str, Any]) -> bool:
    """Whether tables follow at once, as where a schema has no name."""
    return any("type" in column for table in _mappings(level) for column in _mappings(table))
