"""The JSON Schema of schema files, for completion and checks in editors."""

from __future__ import annotations

import dataclasses
from typing import Any

from tabpe.schema.columns import MOST_SPECIAL, SCALES, Column, Source
from tabpe.schema.dictionaries import DICTIONARIES
from tabpe.schema.files import COLUMN_TYPES, list_required_fields
from tabpe.schema.schema import MOST_CLASSES, MOST_RULES
from tabpe.schema.table_format import TableFormat
from tabpe.schema.temporal import RESOLUTIONS

_TEXT: dict[str, Any] = {"type": "string"}
_RULE: dict[str, Any] = {"type": "string", "minLength": 1}
_VALUE: dict[str, Any] = {"type": ["string", "number"]}
_FIELDS: dict[str, Any] = {
    "name": {"type": "string", "minLength": 1},
    "values": {
        "anyOf": [
            {"type": "array", "items": _VALUE, "minItems": 1, "uniqueItems": True},
            {"enum": list(DICTIONARIES)},
        ]
    },
    "other": _VALUE,
    "ordered": {"type": "boolean"},
    "nullable": {"type": "boolean"},
    "invalid": {"enum": ["clamp", "null", None, "other", "default"]},
    "default": {"type": ["string", "number", "boolean"]},
    "nulls": {"type": "array", "items": _VALUE},
    "decimals": {"type": "integer", "minimum": 0},
    "scale": {"enum": list(SCALES)},
    "quantiles": {"type": "array", "items": {"type": "number"}, "minItems": 1},
    "special": {"type": "array", "items": _VALUE, "minItems": 1, "maxItems": MOST_SPECIAL},
    "resolution": {"enum": list(RESOLUTIONS)},
    "timezone": _TEXT,
    "format": _TEXT,
    "prefix": _TEXT,
    "first": {"type": "integer", "minimum": 0},
    "source": {"enum": [source.value for source in Source]},
    "estimated": {"type": "array", "items": _TEXT},
}
_BOUNDS: dict[str, Any] = {"integer": {"type": "integer"}, "float": {"type": "number"}}


def build_json_schema() -> dict[str, Any]:
    """Return the JSON Schema of schema files without gaps.

    Example:
        >>> build_json_schema()["properties"]["columns"]["items"]["oneOf"][1]["required"]
        ['name', 'type', 'min', 'max']
    """
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "What is public about a table, for tabpe",
        "type": "object",
        "additionalProperties": False,
        "required": ["columns"],
        "properties": {
            "label": {"anyOf": [_TEXT, {"type": "array", "items": _TEXT, "minItems": 1}]},
            "label_cuts": {"type": "array", "items": {"type": "number"}},
            "label_classes": {"type": "integer", "minimum": 2, "maximum": MOST_CLASSES},
            "label_rare": {"type": "array", "items": {"type": "array"}, "minItems": 2},
            "format": _describe_format(),
            "columns": {
                "type": "array",
                "minItems": 1,
                "items": {
                    "oneOf": [
                        *(_describe_column(kind) for kind in COLUMN_TYPES.values()),
                        _describe_dropped(),
                    ]
                },
            },
            "rules": {"type": "array", "items": _RULE, "maxItems": MOST_RULES},
        },
    }


def _describe_format() -> dict[str, Any]:
    names = [field.name for field in dataclasses.fields(TableFormat)]
    fields = dict.fromkeys(names, _TEXT) | {
        "skip": {"type": "integer", "minimum": 0},
        "decimal": {"enum": [".", ","]},
        "source": _FIELDS["source"],
    }
    return {"type": "object", "additionalProperties": False, "properties": fields}


def _describe_dropped() -> dict[str, Any]:
    return {
        "title": "left out",
        "type": "object",
        "additionalProperties": False,
        "required": ["name", "drop"],
        "properties": {"name": _FIELDS["name"], "drop": {"type": ["string", "boolean"]}},
    }


def _describe_column(kind: type[Column]) -> dict[str, Any]:
    bound = _BOUNDS.get(kind.type_name, _TEXT)
    names = [field.name for field in dataclasses.fields(kind)]
    fields = {name: bound if name in ("min", "max") else _FIELDS[name] for name in names}
    name, *others = list_required_fields(kind)
    return {
        "title": kind.type_name,
        "type": "object",
        "additionalProperties": False,
        "required": [name, "type", *others],
        "properties": {"type": {"const": kind.type_name}, **fields},
    }
