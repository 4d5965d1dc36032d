"""Pages of the reference that follow from the code: commands, schema files, certificates."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from importlib import resources
from typing import Any

import typer

from tabpe.cli.app import app
from tabpe.schema.json_schema import build_json_schema
from tabpe.schema.table_format import TableFormat

COMMANDS = """\
# Command line

Generated from the commands as they are installed; `tabpe COMMAND --help` prints the same.
[Options of `TabPE` and `tabpe synth`](options.md) describes the options that Python has too.

Exit codes: 0 done, 1 failed, 2 wrong use or bad input, 3 budget refused.
"""
SCHEMA = """\
# Fields of a schema file

Generated from the JSON Schema of schema files, which `tabpe schema editor -o tabpe.schema.json`
writes for completion and checks in an editor. [The schema](../how-to/schema.md) says what the
fields mean.

```yaml
label: ill
columns:
- {name: age, type: integer, min: 0, max: 120}
- {name: ward, type: categorical, values: [surgery, heart, other], other: other}
- {name: ill, type: boolean}
rules:
- age >= 18 or ward != heart
```
"""
CERTIFICATE = """\
# Certificate format

Generated from `tabpe/accounting/certificate.schema.json`, the JSON Schema of certificates. `tabpe
verify` checks a certificate against it and [counts its epsilon anew](../how-to/verify.md).
`Certificate` in [Accounting](api/accounting.md) reads one in Python.

```sh
tabpe verify synthetic.certificate.json synthetic.csv
```
"""


def render_commands() -> str:
    """Return the page of all commands, with their arguments and options."""
    root = typer.main.get_command(app)
    parts = [COMMANDS]
    for words, command in list_commands(root, "tabpe"):
        parts += _render_command(words, command)
    return "\n".join(parts) + "\n"


def list_commands(command: Any, words: str) -> Iterator[tuple[str, Any]]:
    """Yield each command below one, and itself, with the words that call it."""
    yield words, command
    for name, below in getattr(command, "commands", {}).items():
        yield from list_commands(below, f"{words} {name}")


def _render_command(words: str, command: Any) -> Iterator[str]:
    yield f"## `{words}`\n"
    yield _clean(command.help or "") + "\n"
    parameters = [one for one in command.params if not one.hidden]
    arguments = [one for one in parameters if one.param_type_name == "argument"]
    options = [one for one in parameters if one.param_type_name == "option"]
    usage = " ".join([words, *(_name_argument(one) for one in arguments)])
    yield f"```sh\n{usage}{' [OPTIONS]' if options else ''}\n```\n"
    if arguments:
        yield "| argument | what it is |\n|---|---|"
        yield from (f"| `{_name_argument(one)}` | {_cell(one.help)} |" for one in arguments)
        yield ""
    panels = dict.fromkeys(getattr(one, "rich_help_panel", None) or "Options" for one in options)
    for panel in panels:
        yield f"**{panel}**\n"
        yield "| option | takes | what it does |\n|---|---|---|"
        for one in options:
            if (getattr(one, "rich_help_panel", None) or "Options") == panel:
                yield _render_option(one)
        yield ""


def _name_argument(argument: Any) -> str:
    name = (argument.metavar or argument.name).upper().strip("{}[]")
    return str(name if argument.required else f"[{name}]")


def _render_option(option: Any) -> str:
    flags = ", ".join(f"`{flag}`" for flag in [*option.opts, *option.secondary_opts])
    kind, repeated = _name_type(option)
    takes = "" if option.is_flag else f"`{option.metavar or kind}`"
    told = any(word in (option.help or "") for word in ("repeat", "once for each"))
    many = " May be repeated." if repeated and not told else ""
    default = ""
    plain = isinstance(option.default, str | int | float)
    if plain and not isinstance(option.default, bool) and not option.is_flag:
        default = f" Default: `{option.default}`."
    return f"| {flags} | {takes} | {_cell(option.help)}{many}{default} |"


def _name_type(option: Any) -> tuple[str, bool]:
    """Return what an option takes, and whether it may be repeated."""
    if hasattr(option, "type"):  # typer before 0.28 stands on click
        return option.type.name.upper(), option.multiple
    annotation = str(option.type_descriptor.annotation)
    names = {"Path": "PATH", "int": "INTEGER", "float": "FLOAT"}
    kind = next((names[name] for name in names if name in annotation), "TEXT")
    return kind, option.multiple or annotation.startswith("list")


def _clean(text: str) -> str:
    return re.sub(r"(?m)^ +", "", text.replace("\b", "")).strip()


def _cell(text: str | None) -> str:
    return " ".join((text or "").split()).replace("|", "\\|")


def render_schema_fields() -> str:
    """Return the page of the fields of a schema file."""
    schema = build_json_schema()
    parts = [SCHEMA, "## The file\n", *_render_fields(schema)]
    parts += ["## `format`\n", *_render_fields(schema["properties"]["format"])]
    parts.append(
        f"Fields in the order of a file: {_list_code(TableFormat.__dataclass_fields__)}.\n"
    )
    for column in schema["properties"]["columns"]["items"]["oneOf"]:
        named = column["properties"].get("type")
        parts.append(f"## {'Type `' + column['title'] + '`' if named else 'A column left out'}\n")
        parts += _render_fields(column)
    return "\n".join(parts)


def render_certificate() -> str:
    """Return the page of the fields of a certificate."""
    package = resources.files("tabpe.accounting")
    text = package.joinpath("certificate.schema.json").read_text(encoding="utf-8")
    schema = json.loads(text)
    parts = [CERTIFICATE, "## Fields\n", *_render_fields(schema)]
    for name, field in schema["properties"].items():
        for where, nested in _find_objects(f"{name}", field):
            parts += [f"## `{where}`\n", *_render_fields(nested)]
    return "\n".join(parts)


def _find_objects(where: str, field: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield each object with named fields inside of a field, and where it is."""
    if "properties" in field:
        yield where, field
        for name, below in field["properties"].items():
            yield from _find_objects(f"{where}.{name}", below)
    for choice in [*field.get("anyOf", ()), *field.get("oneOf", ())]:
        yield from _find_objects(where, choice)
    if isinstance(field.get("items"), dict):
        yield from _find_objects(f"{where}[]", field["items"])


def _render_fields(schema: Mapping[str, Any]) -> Iterator[str]:
    described = any("description" in field for field in schema["properties"].values())
    yield f"| field | takes | required |{' what it is |' if described else ''}"
    yield f"|---|---|---|{'---|' if described else ''}"
    for name, field in schema["properties"].items():
        needed = "yes" if name in schema.get("required", ()) else ""
        meaning = f" {_cell(field.get('description'))} |" if described else ""
        yield f"| `{name}` | {describe_type(field)} | {needed} |{meaning}"
    yield ""


def describe_type(field: Mapping[str, Any]) -> str:
    """Return in words what a JSON Schema allows.

    Example:
        >>> describe_type({"type": "integer", "minimum": 0})
        'integer, at least 0'
        >>> describe_type({"anyOf": [{"type": "string"}, {"type": "null"}]})
        'string or null'
    """
    if "const" in field:
        return f"`{field['const']}`"
    if "enum" in field:
        return " or ".join(f"`{json.dumps(one).strip(chr(34))}`" for one in field["enum"])
    choices = field.get("anyOf") or field.get("oneOf")
    if choices:
        return " or ".join(dict.fromkeys(describe_type(one) for one in choices))
    kinds = field.get("type", "anything")
    words = kinds if isinstance(kinds, str) else " or ".join(kinds)
    items = field.get("items")
    if kinds == "array" and isinstance(items, dict) and "properties" not in items:
        words = "list" if "oneOf" in items else f"list of {describe_type(items)}"
    elif kinds == "array":
        words = "list of objects"
    return words + "".join(f", {text}" for text in _list_limits(field))


def _list_limits(field: Mapping[str, Any]) -> Iterator[str]:
    said = {
        "minimum": "at least",
        "exclusiveMinimum": "above",
        "maximum": "at most",
        "exclusiveMaximum": "below",
    }
    for key, words in said.items():
        if key in field:
            yield f"{words} {field[key]}"
    if "pattern" in field:
        yield f"matching `{field['pattern']}`".replace("|", "\\|")


def _list_code(names: Mapping[str, Any]) -> str:
    return ", ".join(f"`{name}`" for name in names)
