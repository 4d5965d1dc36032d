"""Domains: `domain.yaml` of dpsynth, with attributes by name; that of mbi, with sizes by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tabpe.schema.foreign.parts import Entry, Imported, entry, mapping, one_of_tables, read_columns

_NUMBER, _LIST, _OPEN = "NumericalAttribute", "CategoricalAttribute", "OpenSetCategoricalAttribute"
_MOST_CODES = 10**6


def fits_dpsynth(plain: Mapping[str, Any]) -> bool:
    """Whether it looks like a domain of dpsynth."""
    tables = plain.get("tables")
    inner = list(tables.values()) if isinstance(tables, Mapping) else [plain]
    return any(
        isinstance(told, Mapping) and str(told.get("type", "")).endswith("Attribute")
        for table in inner
        if isinstance(table, Mapping)
        for told in table.values()
    )


def fits_mbi(plain: Mapping[str, Any]) -> bool:
    """Whether it looks like a domain of mbi: a number of values for each column."""
    return bool(plain) and all(type(size) is int and size > 0 for size in plain.values())


def read_dpsynth(plain: Mapping[str, Any], table: str | None = None) -> Imported:
    """Return what a domain of dpsynth says.

    Example:
        >>> ill = {"type": "CategoricalAttribute", "possible_values": ["?", "yes"]}
        >>> read_dpsynth({"ill": ill}).columns
        ({'name': 'ill', 'type': 'categorical', 'values': ['?', 'yes'], 'other': '?'},)
    """
    told: Any = plain
    if "tables" in plain:
        told = one_of_tables(mapping("tables", plain["tables"]), table)
    return read_columns(mapping("domain", told), _attribute)


def read_mbi(plain: Mapping[str, Any], table: str | None = None) -> Imported:  # noqa: ARG001
    """Return what a domain of mbi says: columns of codes.

    Example:
        >>> read_mbi({"sex": 2}).columns
        ({'name': 'sex', 'type': 'categorical', 'values': [0, 1]},)
    """
    columns = {name: {"size": size} for name, size in plain.items()}
    return read_columns(columns, _codes)


def _attribute(name: str, told: Mapping[str, Any]) -> Entry | str:
    kind = told.get("type")
    if kind == _NUMBER:
        whole = told.get("dtype") == "int"
        bounds = {"min": told.get("min_value"), "max": told.get("max_value")}
        return entry(name, "integer" if whole else "float", **bounds)
    if kind == _LIST:
        return _listed(name, told)
    if kind == _OPEN:
        known = told.get("public_possible_values") or None
        return entry(name, "categorical", values=known, open=True if known else None)
    return f"{kind!r} is free text or the like"


def _listed(name: str, told: Mapping[str, Any]) -> Entry | str:
    values = list(told.get("possible_values") or ())
    if not values:
        return "it has no possible values"
    if all(isinstance(value, bool) for value in values):
        return entry(name, "boolean")
    place = told.get("out_of_domain_index", 0)
    other = values[place] if type(place) is int and 0 <= place < len(values) else None
    return entry(name, "categorical", values=values, other=other)


def _codes(name: str, told: Mapping[str, Any]) -> Entry | str:
    size = told["size"]
    if type(size) is not int or not 0 < size <= _MOST_CODES:
        return f"expected a number of values from 1 to {_MOST_CODES:,}"
    return entry(name, "categorical", values=list(range(size)))
