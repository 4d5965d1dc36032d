"""Read schemas of other tools, as far as they declare public facts.

Formats, given by name or recognised by their content:

- dpsynth: `domain.yaml`, attributes by name; mbi: domain sizes by name;
- Frictionless: a Table Schema by itself or in a data package, types with constraints;
- SDV: metadata of version 1, types of columns with little about their domains;
- SmartNoise: YAML of database, schema, table, and columns among properties of the table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tabpe._utils import validation
from tabpe.errors import SchemaError, did_you_mean, shown
from tabpe.schema import files
from tabpe.schema.partial import PartialSchema

ColumnEntry = dict[str, Any]


@dataclass(frozen=True)
class ImportedSchema:
    """The content of a schema of another tool.

    Args:
        columns: The entries of the columns as in a schema file; some have gaps.
        notes: What was left out, and why.
        left_out: The columns that were left out.
    """

    columns: tuple[ColumnEntry, ...]
    notes: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()

    @property
    def plain(self) -> dict[str, Any]:
        """The plain values of a schema file, to be read as a `PartialSchema`."""
        return {"columns": [dict(entry) for entry in self.columns]}


# Returns the entry of a column, or the reason why it is left out.
ColumnReader = Callable[[str, Mapping[str, Any]], ColumnEntry | str]


def read_columns(columns: Mapping[str, Any], reader: ColumnReader) -> ImportedSchema:
    """Read column by column; a column that can not be read is left out with a note."""
    entries, notes, left_out = [], [], []
    for name, properties in columns.items():
        if not isinstance(properties, Mapping):
            raise SchemaError(f"column {shown(name)}: expected a mapping of its properties.")
        found = reader(str(name), properties)
        if isinstance(found, str):
            notes.append(f"{name!r} is left out: {found}")
            left_out.append(str(name))
        else:
            entries.append(found)
    if not entries:
        raise SchemaError("no column of it can be synthesised.")
    return ImportedSchema(tuple(entries), tuple(notes), tuple(left_out))


def make_entry(name: str, kind: str, **fields: Any) -> ColumnEntry:
    """Return the entry of a column, without fields that are None."""
    return {"name": name, "type": kind, **{k: v for k, v in fields.items() if v is not None}}


def add_nullable(found: ColumnEntry | str, is_nullable: Any) -> ColumnEntry | str:
    """Return the entry of a column, marked as nullable if it is."""
    if isinstance(found, str) or found["type"] == "id" or is_nullable is not True:
        return found
    return {**found, "nullable": True}


def choose_table(tables: Mapping[str, Any], table: str | None) -> Any:
    """Return the table of that name, or the only one."""
    names = list(map(str, tables))
    if table is None and len(names) == 1:
        return next(iter(tables.values()))
    if table is None:
        raise SchemaError(f"it has {len(names)} tables: choose one of {_format_names(names)}.")
    if table not in names:
        raise SchemaError(f"table={table!r}: {did_you_mean(table, names)}")
    return tables[table]


def check_mapping(where: str, given: Any) -> Mapping[str, Any]:
    """Return a mapping; refuse anything else."""
    if not isinstance(given, Mapping):
        raise SchemaError(f"{where}: expected a mapping.")
    return given


def _format_names(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:10])) + (", ..." if len(names) > 10 else "")  # noqa: PLR2004


_NUMBER, _LIST, _OPEN = "NumericalAttribute", "CategoricalAttribute", "OpenSetCategoricalAttribute"
_MOST_CODES = 10**6


def fits_dpsynth(plain: Mapping[str, Any]) -> bool:
    """Return whether it looks like a domain of dpsynth."""
    tables = plain.get("tables")
    inner = list(tables.values()) if isinstance(tables, Mapping) else [plain]
    return any(
        str(properties.get("type", "")).endswith("Attribute")
        for table in inner
        if isinstance(table, Mapping)
        for properties in _list_mappings(table)
    )


def fits_mbi(plain: Mapping[str, Any]) -> bool:
    """Return whether it looks like a domain of mbi: a number of values for each column."""
    return bool(plain) and all(type(size) is int and size > 0 for size in plain.values())


def read_dpsynth(plain: Mapping[str, Any], table: str | None = None) -> ImportedSchema:
    """Read a domain of dpsynth.

    Example:
        >>> ill = {"type": "CategoricalAttribute", "possible_values": ["?", "yes"]}
        >>> read_dpsynth({"ill": ill}).columns
        ({'name': 'ill', 'type': 'categorical', 'values': ['?', 'yes'], 'other': '?'},)
    """
    domain: Any = plain
    if "tables" in plain:
        domain = choose_table(check_mapping("tables", plain["tables"]), table)
    return read_columns(check_mapping("domain", domain), _read_dpsynth_column)


def read_mbi(plain: Mapping[str, Any], table: str | None = None) -> ImportedSchema:  # noqa: ARG001
    """Read a domain of mbi: columns of codes.

    Example:
        >>> read_mbi({"sex": 2}).columns
        ({'name': 'sex', 'type': 'categorical', 'values': [0, 1]},)
    """
    columns = {name: {"size": size} for name, size in plain.items()}
    return read_columns(columns, _read_mbi_column)


def _read_dpsynth_column(name: str, properties: Mapping[str, Any]) -> ColumnEntry | str:
    kind = properties.get("type")
    if kind == _NUMBER:
        whole = properties.get("dtype") == "int"
        bounds = {"min": properties.get("min_value"), "max": properties.get("max_value")}
        return make_entry(name, "integer" if whole else "float", **bounds)
    if kind == _LIST:
        return _read_dpsynth_values(name, properties)
    if kind == _OPEN:
        known = properties.get("public_possible_values") or None
        return make_entry(name, "categorical", values=known, open=True if known else None)
    return f"{kind!r} is free text or the like"


def _read_dpsynth_values(name: str, properties: Mapping[str, Any]) -> ColumnEntry | str:
    values = list(properties.get("possible_values") or ())
    if not values:
        return "it has no possible values"
    if all(isinstance(value, bool) for value in values):
        return make_entry(name, "boolean")
    index = properties.get("out_of_domain_index", 0)
    other = values[index] if type(index) is int and 0 <= index < len(values) else None
    return make_entry(name, "categorical", values=values, other=other)


def _read_mbi_column(name: str, properties: Mapping[str, Any]) -> ColumnEntry | str:
    size = properties["size"]
    if type(size) is not int or not 0 < size <= _MOST_CODES:
        return f"expected a number of values from 1 to {_MOST_CODES:,}"
    return make_entry(name, "categorical", values=list(range(size)))


_DEFAULT_FORMATS = ("default", "any")
_TEMPORAL = ("date", "datetime", "time")
_RANGED = ("integer", "year", "number", *_TEMPORAL)
_TYPES = {
    "integer": "integer",
    "year": "integer",
    "number": "float",
    "boolean": "boolean",
    "string": "categorical",
    **dict(zip(_TEMPORAL, _TEMPORAL, strict=True)),
}


def fits_frictionless(plain: Mapping[str, Any]) -> bool:
    """Return whether it looks like a Table Schema or a data package."""
    return isinstance(plain.get("fields"), list) or isinstance(plain.get("resources"), list)


def read_frictionless(plain: Mapping[str, Any], table: str | None = None) -> ImportedSchema:
    """Read a Table Schema of Frictionless.

    Example:
        >>> age = {"name": "age", "type": "integer", "constraints": {"minimum": 0}}
        >>> read_frictionless({"fields": [age]}).columns
        ({'name': 'age', 'type': 'integer', 'min': 0},)
    """
    if "resources" in plain:
        tables = {str(one.get("name", index)): one for index, one in enumerate(plain["resources"])}
        plain = check_mapping(
            "schema", check_mapping("resource", choose_table(tables, table)).get("schema")
        )
    keys = plain.get("primaryKey", ())
    single = keys if isinstance(keys, str) else keys[0] if len(keys) == 1 else None
    fields = {}
    for number, field in enumerate(plain.get("fields", ()), start=1):
        if not isinstance(field, Mapping) or "name" not in field:
            raise SchemaError(f"fields: entry {number} has no name.")
        fields[str(field["name"])] = {**field, "is_key": field["name"] == single}
    return read_columns(fields, _read_frictionless_column)


def _read_frictionless_column(name: str, properties: Mapping[str, Any]) -> ColumnEntry | str:
    limits = check_mapping("constraints", properties.get("constraints", {}))
    return add_nullable(_read_frictionless_type(name, properties), limits.get("required") is False)


def _read_frictionless_type(name: str, properties: Mapping[str, Any]) -> ColumnEntry | str:
    kind = properties.get("type", "string")
    limits = check_mapping("constraints", properties.get("constraints", {}))
    if properties["is_key"]:
        return make_entry(name, "id")
    if listed := _list_categories(properties, limits):
        ordered = True if properties.get("categoriesOrdered") else None
        return make_entry(name, "categorical", values=listed, ordered=ordered)
    if kind not in _TYPES:
        return f"type {kind!r} can not be synthesised: convert it first"
    bounds = {"min": limits.get("minimum"), "max": limits.get("maximum")}
    pattern = properties.get("format", "default") if kind in _TEMPORAL else None
    return make_entry(
        name,
        _TYPES[kind],
        **(bounds if kind in _RANGED else {}),
        format=None if pattern in _DEFAULT_FORMATS else pattern,
    )


def _list_categories(properties: Mapping[str, Any], limits: Mapping[str, Any]) -> list[Any]:
    given = limits.get("enum") or properties.get("categories") or ()
    return [one["value"] if isinstance(one, Mapping) else one for one in given]


VERSIONS = ("SINGLE_TABLE_V1", "V1", "MULTI_TABLE_V1")


def fits_sdv(plain: Mapping[str, Any]) -> bool:
    """Return whether it looks like metadata of SDV."""
    return plain.get("METADATA_SPEC_VERSION") in VERSIONS


def read_sdv(plain: Mapping[str, Any], table: str | None = None) -> ImportedSchema:
    """Read metadata of SDV.

    Example:
        >>> metadata = {
        ...     "METADATA_SPEC_VERSION": "SINGLE_TABLE_V1",
        ...     "columns": {"age": {"sdtype": "numerical", "computer_representation": "Int64"}},
        ... }
        >>> read_sdv(metadata).columns
        ({'name': 'age', 'type': 'integer'},)
    """
    if "tables" in plain:
        plain = check_mapping(
            "tables", choose_table(check_mapping("tables", plain["tables"]), table)
        )
    return read_columns(check_mapping("columns", plain.get("columns")), _read_sdv_column)


def _read_sdv_column(name: str, properties: Mapping[str, Any]) -> ColumnEntry | str:
    kind = properties.get("sdtype")
    if kind == "numerical":
        whole = "int" in str(properties.get("computer_representation", "")).lower()
        return make_entry(name, "integer" if whole else "float")
    if kind == "categorical":
        order = properties.get("order")
        return make_entry(name, "categorical", values=order, ordered=True if order else None)
    if kind == "datetime":
        pattern = properties.get("datetime_format")
        clock = pattern is None or any(part in pattern for part in ("%H", "%I", "%T", "%X", "%c"))
        return make_entry(name, "datetime" if clock else "date", format=pattern)
    if kind == "boolean":
        return make_entry(name, "boolean")
    if kind == "id":
        return make_entry(name, "id")
    return f"sdtype {kind!r} identifies people, or is free text"


TYPES = ("int", "float", "string", "boolean", "datetime")


def fits_smartnoise(plain: Mapping[str, Any]) -> bool:
    """Return whether it looks like YAML of SmartNoise: tables of columns with such a type."""
    schemas = [schema for database in _list_mappings(plain) for schema in _list_mappings(database)]
    tables = [table for schema in schemas for table in _list_mappings(schema)]
    return any(
        column.get("type") in TYPES
        for table in (*schemas, *tables)
        for column in _list_mappings(table)
        if isinstance(column.get("type"), str)
    )


def read_smartnoise(plain: Mapping[str, Any], table: str | None = None) -> ImportedSchema:
    """Read YAML of SmartNoise.

    Example:
        >>> visits = {"rows": 100, "age": {"type": "int", "lower": 0}}
        >>> read_smartnoise({"": {"clinic": {"visits": visits}}}).columns
        ({'name': 'age', 'type': 'integer', 'min': 0},)
    """
    schemas = check_mapping("database", choose_table(plain, None))
    tables = {
        name: properties
        for schema in _list_mappings({"": schemas} if _has_tables(schemas) else schemas)
        for name, properties in schema.items()
    }
    chosen = check_mapping("table", choose_table(tables, table))
    columns = {name: one for name, one in chosen.items() if isinstance(one, Mapping)}
    return read_columns(
        columns,
        lambda name, one: add_nullable(_read_smartnoise_column(name, one), one.get("nullable")),
    )


def _read_smartnoise_column(name: str, properties: Mapping[str, Any]) -> ColumnEntry | str:
    if properties.get("private_id"):
        return "it identifies people: name it as unit (docs/how-to/users.md)"
    kind = properties.get("type")
    bounds = {"min": properties.get("lower"), "max": properties.get("upper")}
    if kind == "int":
        return make_entry(name, "integer", **bounds)
    if kind == "float":
        return make_entry(name, "float", **bounds)
    if kind == "string":
        return make_entry(name, "categorical")
    if kind in ("boolean", "datetime"):
        return make_entry(name, str(kind))
    return f"type {kind!r} is none of {', '.join(TYPES)}"


def _list_mappings(plain: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [one for one in plain.values() if isinstance(one, Mapping)]


def _has_tables(level: Mapping[str, Any]) -> bool:
    """Whether a level holds tables directly, as where a schema has no name."""
    return any(
        "type" in column for table in _list_mappings(level) for column in _list_mappings(table)
    )


@dataclass(frozen=True)
class SchemaFormat:
    """How to recognise and read schemas of a tool.

    Args:
        fits: Whether plain values look like one.
        read: Reads the plain values, for the table of that name.
    """

    fits: Callable[[Mapping[str, Any]], bool]
    read: Callable[[Mapping[str, Any], str | None], ImportedSchema]


FORMATS = {
    "sdv": SchemaFormat(fits_sdv, read_sdv),
    "frictionless": SchemaFormat(fits_frictionless, read_frictionless),
    "dpsynth": SchemaFormat(fits_dpsynth, read_dpsynth),
    "smartnoise": SchemaFormat(fits_smartnoise, read_smartnoise),
    "mbi": SchemaFormat(fits_mbi, read_mbi),
}


def imported(
    given: Mapping[str, Any] | str | Path, *, tool: str | None = None, table: str | None = None
) -> ImportedSchema:
    """Read a schema of another tool.

    Args:
        given: The schema, or the path of its file: `.yaml`, `.yml` or `.json`.
        tool: One of `FORMATS`; None to recognise it by its content.
        table: Which table, if it has several.

    Raises:
        SchemaError: If its format is unknown, or it declares something that tabpe does not allow.

    Example:
        >>> found = imported({"age": 90, "sex": 2})
        >>> [column["name"] for column in found.columns]
        ['age', 'sex']
    """
    plain = files.read_schema_file(Path(given)) if isinstance(given, (str, Path)) else given
    name = (
        _recognize_format(plain)
        if tool is None
        else validation.check_one_of("tool", tool, [*FORMATS])
    )
    found = FORMATS[name].read(plain, table)
    PartialSchema.from_dict(found.plain)
    return found


def _recognize_format(plain: Mapping[str, Any]) -> str:
    for name, form in FORMATS.items():
        if form.fits(plain):
            return name
    raise SchemaError(
        f"it looks like none of {', '.join(FORMATS)}: say which tool wrote it, or write a "
        f"schema of tabpe's own (docs/how-to/schema.md)."
    )
