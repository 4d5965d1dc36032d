"""Metadata of SDV, version 1: types of columns, and hardly anything about their domains."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tabpe.schema.foreign.parts import Entry, Imported, entry, mapping, one_of_tables, read_columns

VERSIONS = ("SINGLE_TABLE_V1", "V1", "MULTI_TABLE_V1")


def fits(plain: Mapping[str, Any]) -> bool:
    """Whether it looks like metadata of SDV."""
    return plain.get("METADATA_SPEC_VERSION") in VERSIONS


def read(plain: Mapping[str, Any], table: str | None = None) -> Imported:
    """Return what metadata of SDV say.

    Example:
        >>> metadata = {
        ...     "METADATA_SPEC_VERSION": "SINGLE_TABLE_V1",
        ...     "columns": {"age": {"sdtype": "numerical", "computer_representation": "Int64"}},
        ... }
        >>> read(metadata).columns
        ({'name': 'age', 'type': 'integer'},)
    """
    told = plain
    if "tables" in plain:
        told = mapping("tables", one_of_tables(mapping("tables", plain["tables"]), table))
    return read_columns(mapping("columns", told.get("columns")), _column)


def _column(name: str, told: Mapping[str, Any]) -> Entry | str:
    kind = told.get("sdtype")
    if kind == "numerical":
        whole = "int" in str(told.get("computer_representation", "")).lower()
        return entry(name, "integer" if whole else "float")
    if kind == "categorical":
        order = told.get("order")
        return entry(name, "categorical", values=order, ordered=True if order else None)
    if kind == "datetime":
        pattern = told.get("datetime_format")
        clock = pattern is None or any(part in pattern for part in ("%H", "%I", "%T", "%X", "%c"))
        return entry(name, "datetime" if clock else "date", format=pattern)
    if kind == "boolean":
        return entry(name, "boolean")
    if kind == "id":
        return entry(name, "id")
    return f"sdtype {kind!r} says who someone is, or is free text"
