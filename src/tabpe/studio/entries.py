"""Entries of columns as forms: what a form says, in the words of a schema file and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tabpe._utils import yaml12
from tabpe.cli.schema import ESTIMATE, LATER, LEAVE_OUT, PUBLIC, apply_answer
from tabpe.errors import SchemaError
from tabpe.schema import PartialColumn, PartialSchema
from tabpe.schema.dictionaries import DICTIONARIES
from tabpe.schema.files import COLUMN_TYPES, DROP

CHOICES = (PUBLIC, ESTIMATE, LEAVE_OUT)
TYPES = tuple(COLUMN_TYPES)
NUMBERS = ("integer", "float")
MOMENTS = ("date", "datetime", "time")
LISTED = "categorical"
_LONGEST_YAML = 2**18


@dataclass(frozen=True)
class ColumnForm:
    """What the form of a column shows.

    Args:
        place: Its place in the schema.
        name: Its name.
        choice: `public`, `estimate`, `drop`, or `later` while it is undecided.
        type: Its type; empty if it is left out or to be estimated.
        min: Its lower bound.
        max: Its upper bound.
        values: Its values, one a line, or the name of a public dictionary.
        nullable: Whether cells may be missing.
        is_label: Whether it is a label.
        note: What it seems to be, and what to check.
        yaml: All its fields.
        missing: What will be estimated.
    """

    place: int
    name: str
    choice: str
    type: str
    min: str
    max: str
    values: str
    nullable: bool
    is_label: bool
    note: str
    yaml: str
    missing: tuple[str, ...]

    @property
    def has_bounds(self) -> bool:
        """Whether its type has bounds."""
        return self.type in NUMBERS or self.type in MOMENTS

    @property
    def has_values(self) -> bool:
        """Whether its type has a list of values."""
        return self.type == LISTED


def list_forms(schema: Mapping[str, Any], notes: Mapping[str, str]) -> list[ColumnForm]:
    """Return the forms of all columns of a schema.

    Example:
        >>> plain = {"columns": [{"name": "age", "type": "integer", "min": 0, "max": 9}]}
        >>> [(one.name, one.choice, one.max) for one in list_forms(plain, {})]
        [('age', 'public', '9')]
    """
    labels = PartialSchema.from_schema({"columns": [], "label": schema.get("label")}).labels
    return [
        make_form(place, entry, notes.get(entry["name"], ""), is_label=entry["name"] in labels)
        for place, entry in enumerate(schema["columns"])
    ]


def make_form(
    place: int, entry: Mapping[str, Any], note: str, *, is_label: bool = False
) -> ColumnForm:
    """Return the form of a column."""
    values = entry.get("values", "")
    shown = {key: value for key, value in entry.items() if key != "name"}
    return ColumnForm(
        place=place,
        name=entry["name"],
        choice=get_choice(entry),
        type=str(entry.get("type", "")),
        min=format_scalar(entry.get("min")),
        max=format_scalar(entry.get("max")),
        values=values if isinstance(values, str) else "\n".join(map(format_scalar, values)),
        nullable=bool(entry.get("nullable")),
        is_label=is_label,
        note=note,
        yaml=yaml12.dump(shown) if shown else "",
        missing=() if DROP in entry else PartialColumn.from_dict(entry).missing,
    )


def get_choice(entry: Mapping[str, Any]) -> str:
    """Return what was decided about a column; `later` if nothing was.

    Example:
        >>> get_choice({"name": "id", "drop": True})
        'drop'
        >>> get_choice({"name": "age", "type": "integer", "min": 3, "max": 9, "source": "data"})
        'later'
    """
    if DROP in entry:
        return LEAVE_OUT
    if entry.get("source") == "data":
        return LATER
    partial = PartialColumn.from_dict(entry)
    return ESTIMATE if partial.missing else PUBLIC


def list_undecided(schema: Mapping[str, Any]) -> list[str]:
    """Return the columns that nobody has decided about."""
    return [entry["name"] for entry in schema["columns"] if get_choice(entry) == LATER]


def read_entry(
    old: Mapping[str, Any], drafted: Mapping[str, Any] | None, form: Mapping[str, str]
) -> dict[str, Any]:
    """Return the entry of a column as a form says it.

    Args:
        old: The entry as it is.
        drafted: The entry as it was drafted, which comes back with a column that was left out.
        form: The fields of the form.

    Raises:
        SchemaError: If a field can not be read. Names the column and the field.

    Example:
        >>> old = {"name": "age", "type": "integer", "min": 3, "max": 97, "source": "data"}
        >>> read_entry(old, None, {"choice": "public", "type": "integer", "min": "0", "max": "120"})
        {'name': 'age', 'type': 'integer', 'min': 0, 'max': 120, 'source': 'public'}
    """
    name = old["name"]
    choice = form.get("choice", LATER)
    if choice not in (*CHOICES, LATER):
        raise SchemaError(f"column {name!r}: choose one of {', '.join(CHOICES)}.")
    if choice == LEAVE_OUT:
        return apply_answer(dict(old), LEAVE_OUT)
    entry = dict(old)
    if DROP in entry:
        if choice == LATER:
            return entry
        if drafted is not None and DROP not in drafted and not form.get("type"):
            # What comes back was read from the data: it is decided when it was seen.
            return apply_answer(dict(drafted), ESTIMATE if choice == ESTIMATE else LATER)
        entry = {"name": name}
    kind = form.get("type") or str(entry.get("type", "")) or (TYPES[0] if choice == PUBLIC else "")
    if kind and kind not in TYPES:
        raise SchemaError(f"column {name!r}: type={kind!r}: choose one of {', '.join(TYPES)}.")
    if choice == ESTIMATE:
        if kind and kind != entry.get("type"):
            entry = {"name": name, "type": kind}
        return apply_answer(entry, ESTIMATE)
    if kind != entry.get("type"):  # fields of another type mean nothing here
        entry = {key: entry[key] for key in ("name", "nullable", "nulls") if key in entry}
        entry["type"] = kind
    _read_fields(entry, kind, form)
    entry["source"] = PUBLIC if choice == PUBLIC else "data"
    return entry


def read_yaml(name: str, text: str) -> dict[str, Any]:
    r"""Return the entry of a column as it is written in YAML.

    Raises:
        SchemaError: If it can not be read.

    Example:
        >>> read_yaml("age", "type: integer\nmin: 0\nmax: 120")
        {'name': 'age', 'type': 'integer', 'min': 0, 'max': 120}
    """
    if len(text) > _LONGEST_YAML:
        raise SchemaError(f"column {name!r}: the text is too long: import a schema file instead.")
    try:
        plain = yaml12.load(text)
    except (ValueError, RecursionError):
        plain = None
    if not isinstance(plain, Mapping):
        raise SchemaError(f"column {name!r}: not readable: write one 'field: value' a line.")
    return {"name": name, **{key: value for key, value in plain.items() if key != "name"}}


def read_scalar(text: str, kind: str, where: str) -> Any:
    """Return a bound as its type has it.

    Example:
        >>> read_scalar("12", "integer", "age"), read_scalar("1.5", "float", "fee")
        (12, 1.5)
    """
    if kind not in NUMBERS:
        return text
    number = text.replace("\N{NO-BREAK SPACE}", "").replace(" ", "")
    if number.count(",") == 1 and "." not in number:
        number = number.replace(",", ".")  # as it is written in many countries
    try:
        return int(number) if kind == "integer" else float(number)
    except ValueError:
        raise SchemaError(f"{where}: expected a number such as 120.") from None


def format_scalar(value: Any) -> str:
    """Return a bound or a value as a form shows it."""
    return "" if value is None else str(value)


def replace_entry(
    schema: Mapping[str, Any], place: int, entry: Mapping[str, Any]
) -> dict[str, Any]:
    """Return a schema with another entry at a place, if it is a schema then.

    Raises:
        SchemaError: If there is no such place, or the schema is none.
    """
    columns = list(schema["columns"])
    if not 0 <= place < len(columns):
        raise SchemaError("There is no such column: reload the page.")
    columns[place] = dict(entry)
    changed = {**schema, "columns": columns}
    PartialSchema.from_schema(changed)
    return changed


def decide_all(schema: Mapping[str, Any], choice: str) -> dict[str, Any]:
    """Return a schema in which every undecided column is decided alike."""
    columns = [
        apply_answer(dict(entry), choice) if get_choice(entry) == LATER else dict(entry)
        for entry in schema["columns"]
    ]
    changed = {**schema, "columns": columns}
    PartialSchema.from_schema(changed)
    return changed


def _read_fields(entry: dict[str, Any], kind: str, form: Mapping[str, str]) -> None:
    name = entry["name"]
    if kind in NUMBERS or kind in MOMENTS:
        for bound in ("min", "max"):
            text = form.get(bound, "").strip()
            if text:
                entry[bound] = read_scalar(text, kind, f"column {name!r}: {bound}")
            elif bound in form:
                entry.pop(bound, None)
    if kind == LISTED and "values" in form:
        values = _read_values(form["values"], entry.get("values"), name)
        entry.pop("values", None)
        if values:
            entry["values"] = values
    if form.get("nullable"):
        entry["nullable"] = True
    elif "min" in form or "values" in form or "type" in form:
        entry.pop("nullable", None)


def _read_values(text: str, old: Any, name: str) -> str | list[Any]:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if len(lines) == 1 and lines[0] in DICTIONARIES:
        return lines[0]
    if isinstance(old, Sequence) and not isinstance(old, str) and old:
        kinds = {type(value) for value in old}
        if kinds <= {int, float}:
            whole = "integer" if kinds == {int} else "float"
            return [read_scalar(line, whole, f"column {name!r}: values") for line in lines]
    return lines
