"""Schema files: YAML and JSON, read strictly.

YAML is read by the rules of YAML 1.2 for plain words: `yes`, `no`, `on` and `off` are text, as are
dates and `12:30`. A duplicate or unknown key is an error.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from tabpe._utils import files as atomic
from tabpe._utils.files import open_regular
from tabpe.errors import SchemaError, did_you_mean, shown
from tabpe.schema.columns import Boolean, Categorical, Column, Float, Id, Integer, Source
from tabpe.schema.temporal import Date, Datetime, Time

COLUMN_TYPES: dict[str, type[Column]] = {
    kind.type_name: kind
    for kind in (Categorical, Integer, Float, Boolean, Date, Datetime, Time, Id)
}
# Type names of other tools, and what to write instead.
FOREIGN_TYPE_HINTS = {
    "drop": "drop: true in the place of the type, to leave the column out",
    "text": "categorical with its values; free text can not be synthesised: leave it out",
    "string": "categorical with its values; free text can not be synthesised: leave it out",
    "timestamp": "datetime",
    "decimal": "float with decimals",
    "number": "float, or integer",
    "ordinal": "categorical with ordered: true",
    "key": "id",
    "uuid": "id",
    "duration": "integer or float, in a unit of your choice",
    "list": "a column for each part, or leave it out",
}


T = TypeVar("T")
SUFFIXES = (".yaml", ".yml", ".json")
LARGEST_JSON = 16 * 2**20
LARGEST_YAML = 4 * 2**20  # takes about ten seconds to parse
GAP_KEYS = ("open", "top")
_SCHEMA_KEYS = (
    "label",
    "label_cuts",
    "label_classes",
    "label_rare",
    "format",
    "columns",
    "rules",
)
DROP = "drop"


def read_schema_file(path: Path) -> Mapping[str, Any]:
    """Return the plain values of a schema file."""
    _check_suffix(path)
    most = LARGEST_JSON if path.suffix == ".json" else LARGEST_YAML
    with open_regular(path, SchemaError) as file:
        content = file.read(most + 1)
    if len(content) > most:
        then = "not a schema" if path.suffix == ".json" else "write JSON, which may be larger"
        raise SchemaError(f"{path}: larger than {most:,} bytes: {then}.")
    try:
        return _parse_text(path, content.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise SchemaError(f"{path}: not UTF-8 text: save it as UTF-8.") from None


def write_schema_file(
    path: Path,
    plain: Mapping[str, Any],
    *,
    comment: str = "",
    notes: Mapping[str, str] | None = None,
    tail: str = "",
) -> None:
    """Write plain values to a schema file, atomically.

    Args:
        path: The file, .yaml or .json.
        plain: The plain values.
        comment: A comment at the top of a YAML file.
        notes: Comments above columns in a YAML file, by name.
        tail: A comment at the end of a YAML file.
    """
    _check_suffix(path)
    if path.suffix == ".json":
        text = json.dumps(plain, indent=2, ensure_ascii=False) + "\n"
    else:
        text = _format_comment(comment) + _format_yaml(plain, notes or {}) + _format_comment(tail)
    atomic.write_text(path, text)


def _format_yaml(plain: Mapping[str, Any], notes: Mapping[str, str]) -> str:
    from tabpe._utils import yaml12

    columns = plain.get("columns")
    if not notes or not columns:
        return yaml12.dump(plain)
    head = {key: value for key, value in plain.items() if key != "columns"}
    text = (yaml12.dump(head) if head else "") + "columns:\n"
    for entry in columns:
        text += _format_comment(notes.get(entry["name"], "")) + yaml12.dump([entry])
    return text


def _format_comment(comment: str) -> str:
    return "".join(f"# {line}".rstrip() + "\n" for line in comment.splitlines())


def schema_from_dict(
    build: Callable[..., T],
    plain: Mapping[str, Any],
    column: Callable[[Mapping[str, Any]], Any] | None = None,
    *,
    keep_dropped: bool = False,
) -> T:
    """Build a schema from the plain values of a schema file; errors name what does not fit.

    Args:
        build: Takes the columns, and all other keys that are given.
        plain: The plain values.
        column: Parses the entry of a column; None for columns without gaps.
        keep_dropped: Whether `build` takes the names of the columns that are marked `drop`.
    """
    if not isinstance(plain, Mapping):
        raise SchemaError("a schema is a mapping with the keys columns and label.")
    refuse_unknown("schema", plain, _SCHEMA_KEYS)
    columns = plain.get("columns")
    if not isinstance(columns, (list, tuple)):
        raise SchemaError("columns: expected a list of columns.")
    head = {key: value for key, value in plain.items() if key != "columns" and value is not None}
    cuts = head.get("label_cuts", ())
    if not isinstance(cuts, (list, tuple)):
        raise SchemaError(f"label_cuts={shown(cuts)}: expected a list of numbers.")
    for number, entry in enumerate(columns, start=1):
        if not isinstance(entry, Mapping) or "name" not in entry:
            raise SchemaError(f"columns: entry {number} has no name.")
    dropped = tuple(entry["name"] for entry in columns if _is_dropped(entry))
    parsed = tuple(map(column or _parse_column, (e for e in columns if DROP not in e)))
    return build(parsed, **head, **({"drop": dropped} if keep_dropped else {}))


def _is_dropped(entry: Mapping[str, Any]) -> bool:
    """Whether a column is marked as left out; refuse fields that would have no meaning then."""
    if DROP not in entry:
        return False
    where = f"column {shown(entry['name'])}"
    refuse_unknown(f"{where} with {DROP}", entry, ("name", DROP))
    if not isinstance(entry[DROP], (str, bool)) or entry[DROP] is False:
        raise SchemaError(f"{where}: drop={shown(entry[DROP])}: expected true, or the reason.")
    return True


def parse_type_and_fields(
    entry: Mapping[str, Any], *more: str
) -> tuple[type[Column], dict[str, Any]]:
    """Return the type of the entry of a column, and its fields; refuse unknown ones.

    Args:
        entry: The plain values of a column.
        more: Keys that are allowed beside the fields of the type.
    """
    fields = dict(entry)
    where = f"column {shown(fields['name'])}"
    given = fields.pop("type", "")
    if not isinstance(given, str) or given not in COLUMN_TYPES:
        hint = did_you_mean(str(given), COLUMN_TYPES)
        if isinstance(given, str) and given in FOREIGN_TYPE_HINTS:
            hint = f"write {FOREIGN_TYPE_HINTS[given]}."
        raise SchemaError(f"{where}: type={shown(given)}: {hint}")
    kind = COLUMN_TYPES[given]
    refuse_unknown(where, fields, [*(field.name for field in dataclasses.fields(kind)), *more])
    if kind is Categorical and isinstance(fields.get("values"), str):
        named = Categorical(fields["name"], fields["values"], fields.get("other"))
        fields["values"] = list(named.values)
    if "invalid" in fields and fields["invalid"] is None:
        fields["invalid"] = "null"  # null is a keyword of YAML and JSON
    return kind, {**fields, "source": parse_source(where, fields.get("source", "public"))}


def list_required_fields(kind: type[Column]) -> list[str]:
    """Return the required fields of a column type.

    Example:
        >>> list_required_fields(COLUMN_TYPES["integer"])
        ['name', 'min', 'max']
    """
    return [f.name for f in dataclasses.fields(kind) if f.default is dataclasses.MISSING]


def _parse_column(entry: Mapping[str, Any]) -> Column:
    for key in GAP_KEYS:
        if key in entry:
            raise SchemaError(
                f"column {shown(entry['name'])}: {key} needs a private estimate: pass "
                f"schema='private' (--private-schema), or declare all values and leave out {key}."
            )
    kind, fields = parse_type_and_fields(entry)
    missing = [name for name in list_required_fields(kind) if name not in fields]
    if missing:
        where = f"column {shown(fields['name'])}"
        raise SchemaError(f"{where}: {' and '.join(missing)} missing from type {kind.type_name}.")
    return kind(**fields)


def parse_source(where: str, given: Any) -> Source:
    """Return the `Source` of that name."""
    known = [source.value for source in Source]
    if given not in known:
        raise SchemaError(f"{where}: source={shown(given)}: {did_you_mean(str(given), known)}")
    return Source(given)


def refuse_unknown(
    where: str, given: Mapping[str, Any], known: list[str] | tuple[str, ...]
) -> None:
    """Refuse an unknown key, and suggest the closest known one."""
    for key in given:
        if key not in known:
            raise SchemaError(f"{where}: unknown key {shown(key)}: {did_you_mean(str(key), known)}")


def _parse_text(path: Path, text: str) -> Mapping[str, Any]:
    try:
        if path.suffix == ".json":
            plain = json.loads(text, object_pairs_hook=_reject_duplicate_keys)
        else:
            from tabpe._utils import yaml12

            plain = yaml12.load(text)
    except (ValueError, RecursionError) as error:
        raise SchemaError(f"{path}: not a readable schema ({_describe_error(error)}).") from None
    if not isinstance(plain, Mapping):
        raise SchemaError(f"{path}: not a schema: expected a mapping with the key columns.")
    return plain


def _check_suffix(path: Path) -> None:
    if path.suffix not in SUFFIXES:
        raise SchemaError(f"{path}: a schema file ends in {', '.join(SUFFIXES)}.")


def _describe_error(error: Exception) -> str:
    if isinstance(error, OSError):
        return error.strerror or type(error).__name__
    return str(error).splitlines()[0] if str(error) else type(error).__name__


def _reject_duplicate_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"key {shown(key)} is given twice")
        found[key] = value
    return found
