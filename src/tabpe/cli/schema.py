"""`tabpe schema`: draft, import and check schemas."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from tabpe._utils.files import strip_secrets
from tabpe.cli.console import check_free, format_count, print_line, print_wrapped, report_errors
from tabpe.cli.options import (
    Data,
    Decimal,
    Delimiter,
    Encoding,
    PasswordEnv,
    Query,
    Table,
    find_input_files,
    override_format,
    parse_data,
)
from tabpe.cli.table_fit import measure_fit
from tabpe.encoding import Encoder
from tabpe.errors import SchemaError
from tabpe.io.detect import TableDraft, draft_table
from tabpe.io.layout import detect_layout
from tabpe.schema import PartialColumn, PartialSchema, Schema
from tabpe.schema.files import DROP, write_schema_file
from tabpe.schema.importers import FORMATS, imported
from tabpe.schema.json_schema import build_json_schema
from tabpe.schema.table_format import TableFormat

app = typer.Typer(help="Declare what is public about a table.", no_args_is_help=True)

COMMENT = """\
What is public about the table. Everything marked 'source: data' was read from
the private rows and is NOT covered by any privacy guarantee. For each column
enter what is known without the data (an age is from 0 to 120), then write
'source: public'. Columns that are not named, or marked 'drop', are left out of
the synthetic table: to keep one, give it a type instead of 'drop'. Unlisted
values of a categorical count as its 'other: VALUE', if you declare one, as null
if it is nullable, and otherwise as its first value.
"""
PUBLIC, ESTIMATE, LEAVE_OUT, LATER = "public", "estimate", "drop", "later"
_DOMAIN = ("min", "max", "values", "other", "decimals", "quantiles", "ordered", "nullable")


@app.command()
def init(
    data: Data,
    output: Annotated[Path, typer.Option("--output", "-o", help=".yaml or .json to write.")],
    table: Table = None,
    query: Query = None,
    password_env: PasswordEnv = None,
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    label: Annotated[
        str | None, typer.Option("--label", "-l", help="The column whose values are classes.")
    ] = None,
    drop: Annotated[
        list[str] | None, typer.Option("--drop", help="A column to leave out; may be repeated.")
    ] = None,
    interactive: Annotated[
        bool,
        typer.Option("--interactive", help="Ask for each column: public, estimate or drop."),
    ] = False,
    force: Annotated[bool, typer.Option("--force", "-f", help="Overwrite the file.")] = False,
) -> None:
    """Draft a whole schema from a table, for you to check and correct."""
    with report_errors():
        private = parse_data(data, table, query, password_env)
        check_free(output, force=force, inputs=find_input_files(data))
        layout = _detect_format(private, delimiter, decimal, encoding)
        draft = draft_table(private, label=label, drop=drop or (), layout=layout)
        _print_draft(draft)
        plain = _ask_columns(draft) if interactive else draft.to_dict()
        _write_draft(output, plain, draft)
        kept = [entry for entry in plain["columns"] if DROP not in entry]
        marked = sum(entry.get("source") == "data" for entry in kept)
        print_line(
            "wrote",
            f"{output}: {format_count(len(kept), 'column')}, {marked} marked 'source: data'",
        )
        if draft.unit is not None:
            print_line("persons", f"several rows share a value of {draft.unit!r}: pass")
            print_line("", f"--unit {shlex.quote(draft.unit)} to 'tabpe synth' to protect persons")
        for rule in draft.rules:
            print_line("rule?", f"{rule}: add it to rules if it always holds")
        print_line("next", "enter what is publicly known, write 'source: public', then")
        again = _repeat_arguments(data, table, query, password_env)
        print_line("", f"tabpe schema check {output} {again}")
        if any("top" in entry or _is_gap(entry) for entry in kept):
            print_line("", "and 'tabpe synth --private-schema', for what is to be estimated")


def _is_gap(entry: Mapping[str, Any]) -> bool:
    return bool(PartialColumn.from_dict(entry).missing)


def _detect_format(
    private: Any, delimiter: str | None, decimal: str | None, encoding: str | None
) -> TableFormat | None:
    """Return the layout of a text file: as given, or detected; None if it is not text."""
    local = isinstance(private, str) and "://" not in private
    found = detect_layout(private) if local else None
    return found and found.override(delimiter=delimiter, decimal=decimal, encoding=encoding)


def _print_draft(draft: TableDraft) -> None:
    """Print one line for each column: its type, why, and what to check. No cell is shown."""
    if draft.layout is not None and draft.layout.stated:
        stated = ", ".join(
            f"{name} {getattr(draft.layout, name)!r}" for name in draft.layout.stated
        )
        print_line("format", stated)
    width = min(24, max([6, *(len(one.name) for one in draft.columns)]))
    print_line("", f"{'column':<{width}}  {'type':<11}  why; what to check")
    for one in draft.columns:
        name = one.name if len(one.name) <= width else f"{one.name[: width - 1]}~"
        said = f"{one.why}; {one.check}" if one.check else one.why
        print_wrapped("", f"{name:<{width}}  {one.kind:<11}  {said}", indent=" " * (width + 15))


def _ask_columns(draft: TableDraft) -> dict[str, Any]:
    """Ask for each column what is to be done with it, and return the plain values of a schema."""
    plain = draft.to_dict()
    choices = f"[{PUBLIC}/{ESTIMATE}/{LEAVE_OUT}/{LATER}]"
    if "format" in plain and typer.confirm("Is the layout of the file publicly known?"):
        plain["format"]["source"] = PUBLIC
    entries = []
    for one, entry in zip(draft.columns, plain["columns"], strict=True):
        if DROP in entry:
            entries.append(entry)
            continue
        answer = ""
        while answer not in (PUBLIC, ESTIMATE, LEAVE_OUT, LATER):
            given = typer.prompt(f"{one.name}: {one.kind}, {one.why} {choices}", default=LATER)
            answer = next((word for word in choices[1:-1].split("/") if word.startswith(given)), "")
        entries.append(apply_answer(entry, answer))
    return {**plain, "columns": entries}


def apply_answer(entry: dict[str, Any], answer: str) -> dict[str, Any]:
    """Return the entry of a drafted column, as a custodian answered for it.

    Args:
        entry: The entry as drafted.
        answer: `PUBLIC`, `ESTIMATE`, `LEAVE_OUT` or `LATER`.

    Example:
        >>> drafted = {"name": "age", "type": "integer", "min": 3, "max": 97, "source": "data"}
        >>> apply_answer(drafted, ESTIMATE)
        {'name': 'age', 'type': 'integer', 'source': 'public'}
    """
    if answer == LEAVE_OUT:
        return {"name": entry["name"], DROP: "left out as asked"}
    if answer == PUBLIC:
        return {**entry, "source": PUBLIC}
    if answer == ESTIMATE:
        rest = {key: value for key, value in entry.items() if key not in _DOMAIN}
        if entry["type"] == "boolean":
            rest.pop("type")  # its values are no gap
        return {**rest, "source": PUBLIC}
    return entry


def _write_draft(output: Path, plain: Mapping[str, Any], draft: TableDraft) -> None:
    """Write the draft; in YAML, what each column seems to be comes as a comment above it."""
    if output.suffix == ".json":
        write_schema_file(output, plain)
        return
    notes = {one.name: f"{one.why}; {one.check}" if one.check else one.why for one in draft.columns}
    proposed = [f"- {rule}" for rule in draft.rules]
    tail = ["Likely rules, if they always hold:", "rules:", *proposed] if proposed else []
    write_schema_file(output, plain, comment=COMMENT, notes=notes, tail="\n".join(tail))


def _repeat_arguments(
    data: str, table: str | None, query: str | None, password_env: str | None
) -> str:
    """Return the arguments that name a table, for another command."""
    options = {"--table": table, "--query": query, "--password-env": password_env}
    named = [f"{option} {shlex.quote(given)}" for option, given in options.items() if given]
    return " ".join([data, *named])


@app.command("import")
def import_(
    foreign: Annotated[Path, typer.Argument(metavar="FILE", help="A schema of another tool.")],
    output: Annotated[Path, typer.Option("--output", "-o", help=".yaml or .json to write.")],
    tool: Annotated[
        str | None,
        typer.Option("--from", help=f"{', '.join(FORMATS)}; recognised if left out."),
    ] = None,
    table: Annotated[str | None, typer.Option(help="Which table, if it has several.")] = None,
    force: Annotated[bool, typer.Option("--force", "-f", help="Overwrite the file.")] = False,
) -> None:
    """Make a schema from one of SDV, SmartNoise, dpsynth, mbi or Frictionless."""
    with report_errors():
        check_free(output, force=force, inputs=[foreign])
        found = imported(foreign, tool=tool, table=table)
        write_schema_file(output, found.plain, comment=f"From {foreign.name}.")
        print_line("wrote", f"{output}: {format_count(len(found.columns), 'column')}")
        for note in found.notes:
            print_line("note", note)
        missing = PartialSchema.from_schema(found.plain).missing
        if missing:
            print_line("open", ", ".join(missing))
            print_line("next", "declare what is publicly known, or estimate it privately:")
            print_line("", f"tabpe synth DATA --schema {output} --private-schema")


@app.command()
def editor(
    output: Annotated[Path, typer.Option("--output", "-o", help=".json to write.")],
    force: Annotated[bool, typer.Option("--force", "-f", help="Overwrite the file.")] = False,
) -> None:
    """Write the JSON Schema of schema files, for completion and checks in editors."""
    with report_errors():
        check_free(output, force=force, inputs=[])
        write_schema_file(output, build_json_schema())
        print_line("wrote", f"{output}: start a schema file with")
        print_line("", f"# yaml-language-server: $schema={output}")


@app.command()
def check(
    schema_file: Annotated[Path, typer.Argument(metavar="SCHEMA", help="The schema to check.")],
    data: Annotated[
        str | None,
        typer.Argument(metavar="DATA", help="A table that should fit it."),
    ] = None,
    table: Table = None,
    query: Query = None,
    password_env: PasswordEnv = None,
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
) -> None:
    """Check a schema, and how a table fits it: everything at once, with what to change."""
    with report_errors():
        given = override_format(schema_file, delimiter, decimal, encoding)
        schema = PartialSchema.from_schema(given)
        label = "no label" if schema.label is None else f"label {schema.label!r}"
        print_line(
            "schema", f"{schema_file}: {format_count(len(schema.columns), 'column')}, {label}"
        )
        if not schema.missing:
            _check_rules(schema.fill_gaps({}))
        absent: tuple[str, ...] = ()
        if data is not None:
            absent = _check_table(schema, data, parse_data(data, table, query, password_env))
        _show_gaps(schema)
        _show_sources(schema)
        if absent:
            raise SchemaError(
                f"{len(absent)} columns of the schema are not in the table: "
                f"{', '.join(map(repr, absent))}: correct their names, or remove them."
            )


def _check_rules(schema: Schema) -> None:
    if not schema.rules:
        return
    from tabpe.evolution.constraint_repair import ConstraintSet

    ConstraintSet.from_encoder(Encoder(schema))
    print_line("rules", f"{len(schema.rules)}, which rows of every class can satisfy")


def _check_table(schema: PartialSchema, data: str, private: Any) -> tuple[str, ...]:
    """Print how many cells of each column do not fit; return the columns that are not there."""
    fit = measure_fit(schema, private)
    wrong = fit.wrong
    how = (
        "fits"
        if not wrong
        else f"{len(wrong)} of {format_count(len(fit.columns), 'column')} have cells that do not "
        f"fit"
    )
    print_line("table", f"{strip_secrets(data)}: {format_count(fit.rows, 'row')}: {how}")
    if fit.left_out:
        print_wrapped("", f"left out: {', '.join(fit.left_out)}")
    for name in fit.nested:
        print_line("misfit", f"{name}: lists or other nested values: remove it from the schema")
    for one in wrong:
        print_line("misfit", f"{one.name}: {one.describe()}")
        for advice in one.list_advice(fit.rows):
            print_wrapped("change", f"{one.name}: {advice}")
    if wrong:
        print_line(
            "next", "correct the schema or the table, or keep them: no cell stops a release."
        )
        print_line("caution", "these counts are exact and private: do not share them.")
    return fit.absent


def _show_gaps(schema: PartialSchema) -> None:
    if schema.missing:
        print_line(
            "estimates",
            f"{format_count(len(schema.missing), 'field')} privately, with --private-schema:",
        )
        print_wrapped("", ", ".join(schema.missing))


def _show_sources(schema: PartialSchema) -> None:
    fields = schema.fields_from_data
    if not fields:
        what = "all declared fields" if schema.missing else "all fields"
        print_line("public", f"{what} are declared public")
        return
    verb = "is" if len(fields) == 1 else "are"
    said = (
        f"{format_count(len(fields), 'field')} {verb} from the data, not covered by the guarantee:"
    )
    print_line("caution", said)
    print_wrapped("", ", ".join(fields))
    print_line("change", "enter what is publicly known, and write source: public for each")
