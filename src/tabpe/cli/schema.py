"""`tabpe schema`: draft, import and check schemas."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import typer
from numpy.typing import NDArray

from tabpe._utils.files import strip_secrets
from tabpe.cli.console import check_free, print_line, report_errors
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
from tabpe.encoding import Encoder
from tabpe.encoding.cells import find_column_misfits, read_microseconds
from tabpe.errors import SchemaError
from tabpe.io import use_source
from tabpe.io.canonical import flatten_column, read_numbers
from tabpe.io.detect import TableDraft, draft_table
from tabpe.io.layout import detect_layout
from tabpe.schema import (
    Boolean,
    Categorical,
    Column,
    Id,
    PartialColumn,
    PartialSchema,
    Schema,
    Temporal,
)
from tabpe.schema.files import DROP, write_schema_file
from tabpe.schema.importers import FORMATS, imported
from tabpe.schema.json_schema import build_json_schema
from tabpe.schema.table_format import TableFormat, TableReading

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
_PUBLIC, _ESTIMATE, _DROP, _LATER = "public", "estimate", "drop", "later"
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
        print_line("wrote", f"{output}: {len(kept)} columns, {marked} marked 'source: data'")
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
        print_line("", f"{name:<{width}}  {one.kind:<11}  {said}")


def _ask_columns(draft: TableDraft) -> dict[str, Any]:
    """Ask for each column what is to be done with it, and return the plain values of a schema."""
    plain = draft.to_dict()
    choices = f"[{_PUBLIC}/{_ESTIMATE}/{_DROP}/{_LATER}]"
    if "format" in plain and typer.confirm("Is the layout of the file publicly known?"):
        plain["format"]["source"] = _PUBLIC
    entries = []
    for one, entry in zip(draft.columns, plain["columns"], strict=True):
        if DROP in entry:
            entries.append(entry)
            continue
        answer = ""
        while answer not in (_PUBLIC, _ESTIMATE, _DROP, _LATER):
            given = typer.prompt(f"{one.name}: {one.kind}, {one.why} {choices}", default=_LATER)
            answer = next((word for word in choices[1:-1].split("/") if word.startswith(given)), "")
        entries.append(_apply_answer(entry, answer))
    return {**plain, "columns": entries}


def _apply_answer(entry: dict[str, Any], answer: str) -> dict[str, Any]:
    if answer == _DROP:
        return {"name": entry["name"], DROP: "left out as asked"}
    if answer == _PUBLIC:
        return {**entry, "source": _PUBLIC}
    if answer == _ESTIMATE:
        rest = {key: value for key, value in entry.items() if key not in _DOMAIN}
        if entry["type"] == "boolean":
            rest.pop("type")  # its values are no gap
        return {**rest, "source": _PUBLIC}
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
        print_line("wrote", f"{output}: {len(found.columns)} columns")
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
        print_line("schema", f"{schema_file}: {len(schema.columns)} columns, {label}")
        if not schema.missing:
            _check_rules(schema.fill_gaps({}))
        absent = []
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


def _check_table(schema: PartialSchema, data: str, private: Any) -> list[str]:
    """Print how many cells of each column do not fit; return the columns that are not there."""
    full = [one.fill_gaps() for one in schema.columns if not one.missing]
    columns = {one.name: one for one in full if not isinstance(one, Id)}
    counts = {name: np.zeros(4, dtype=np.int64) for name in columns}
    rows = 0
    with use_source(private, reading=TableReading.from_schema(schema)) as source:
        wanted = [*columns, *(one.name for one in schema.columns if one.missing)]
        absent = [name for name in wanted if name not in source.names]
        nested = [name for name in columns if name in source.nested]
        found = [name for name in columns if name not in (*absent, *nested)]
        for batch in source.batches(found) if found else ():
            rows += batch.table.num_rows
            for name in found:
                counts[name] += _count_misfits(columns[name], batch.table[name])
        named = {one.name for one in schema.columns}
        left_out = [name for name in source.names if name not in named]
    wrong = {name: found for name, found in counts.items() if found.any()}
    how = (
        "fits" if not wrong else f"{len(wrong)} of {len(counts)} columns have cells that do not fit"
    )
    print_line("table", f"{strip_secrets(data)}: {rows:,} rows: {how}")
    if left_out:
        _print_wrapped("", f"left out: {', '.join(left_out)}")
    for name in nested:
        print_line("misfit", f"{name}: lists or other nested values: remove it from the schema")
    for name, misfits in wrong.items():
        print_line("misfit", f"{name}: {_describe_misfits(columns[name], misfits)}")
        for advice in _advise(columns[name], misfits, rows):
            _print_wrapped("change", f"{name}: {advice}")
    if wrong:
        print_line(
            "next", "correct the schema or the table, or keep them: no cell stops a release."
        )
        print_line("caution", "these counts are exact and private: do not share them.")
    return absent


def _print_wrapped(title: str, text: str) -> None:
    for number, line in enumerate(textwrap.wrap(text, 70)):
        print_line("" if number else title, line)


def _advise(column: Column, misfits: NDArray[np.int64], rows: int) -> list[str]:
    """Return what to change in the entry of a column, one text for each kind of misfit."""
    missing, unreadable, below, above = map(int, misfits)
    advice = []
    if unreadable * 2 > rows:
        advice.append(f"most cells are no {column.type_name}: correct its type or format")
    elif unreadable:
        advice.append("state a format, or list the words for a missing value in nulls")
    if missing or (unreadable and not column.nullable):
        advice.append("write nullable: true, or a default")
    if isinstance(column, (Categorical, Boolean)):
        if below + above:
            advice.append("list more values, or write other: one of values")
        return advice
    for count, bound, word in ((below, "min", "lower"), (above, "max", "higher")):
        if count > _MASS * rows:
            advice.append(f"{bound} cuts {count / rows:.1%} of the rows: write a {word} one")
    return advice


_MASS = 0.01  # the share of rows that a bound may cut without advice


def _count_misfits(column: Column, cells: pa.ChunkedArray) -> NDArray[np.int64]:
    """Return how many cells are missing without need, unreadable, below and above the bounds."""
    found = find_column_misfits(column, cells)
    missing = 0 if column.nullable else int(found.missing.sum())
    outside = int(found.outside.sum())
    below = outside if isinstance(column, (Categorical, Boolean)) else _count_below(column, cells)
    return np.array([missing, int(found.unreadable.sum()), below, outside - below])


def _count_below(column: Column, cells: pa.ChunkedArray) -> int:
    """Return how many cells are below the lower bound."""
    array = flatten_column(cells, column.name)
    if isinstance(column, Temporal):
        ticks = read_microseconds(column, array)
        return int(pc.sum(pc.less(ticks, column.first)).as_py() or 0)
    return int((read_numbers(array) < getattr(column, "min", -np.inf)).sum())


def _describe_misfits(column: Column, found: NDArray[np.int64]) -> str:
    listed = isinstance(column, (Categorical, Boolean))
    words = ("missing", "unreadable", "not listed" if listed else "out of bounds")
    shown = (*found[:2], found[2] + found[3])
    counts = ", ".join(f"{n:,} {word}" for n, word in zip(shown, words, strict=True) if n)
    without = "null" if column.nullable else _format_default(column)
    becomes = {
        "clamp": f"the nearest bound, or {without}",
        "null": "null" if column.nullable else without,
        "other": f"{getattr(column, 'other', None)!r}",
        "default": _format_default(column),
    }
    return f"{counts}; counts as {becomes[column.on_invalid]}"


def _format_default(column: Column) -> str:
    if isinstance(column, Temporal):
        return str(getattr(column, "min") if column.default is None else column.default)  # noqa: B009
    return repr(column.default_value)


def _show_gaps(schema: PartialSchema) -> None:
    if schema.missing:
        print_line("estimates", f"{len(schema.missing)} fields privately, with --private-schema:")
        _print_wrapped("", ", ".join(schema.missing))


def _show_sources(schema: PartialSchema) -> None:
    fields = schema.fields_from_data
    if not fields:
        what = "all declared fields" if schema.missing else "all fields"
        print_line("public", f"{what} are declared public")
        return
    print_line("caution", f"{len(fields)} fields are from the data, not covered by the guarantee:")
    _print_wrapped("", ", ".join(fields))
    print_line("change", "enter what is publicly known, and write source: public for each")
