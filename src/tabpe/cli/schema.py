"""`tabpe schema`: draft, import and check schemas."""

from __future__ import annotations

import shlex
import textwrap
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
import typer
from numpy.typing import NDArray

from tabpe._utils.files import strip_secrets
from tabpe.cli.console import check_free, print_line, report_errors
from tabpe.cli.options import Data, PasswordEnv, Query, Table, find_input_files, parse_data
from tabpe.encoding import Encoder
from tabpe.encoding.cells import find_column_misfits
from tabpe.io import draft_schema, use_source
from tabpe.schema import Boolean, Categorical, Column, PartialSchema, Schema, Temporal
from tabpe.schema.files import write_schema_file
from tabpe.schema.importers import FORMATS, imported
from tabpe.schema.json_schema import build_json_schema

app = typer.Typer(help="Declare what is public about a table.", no_args_is_help=True)

COMMENT = """\
What is public about the table. Everything marked 'source: data' was read from
the private rows and is NOT covered by any privacy guarantee. For each column
enter what is known without the data (an age is from 0 to 120), then write
'source: public'. Columns that you delete here are left out of the synthetic
table. Unlisted values of a categorical count as its 'other: VALUE', if you
declare one, as null if it is nullable, and otherwise as its first value.
"""


@app.command()
def init(
    data: Data,
    output: Annotated[Path, typer.Option("--output", "-o", help=".yaml or .json to write.")],
    table: Table = None,
    query: Query = None,
    password_env: PasswordEnv = None,
    label: Annotated[
        str | None, typer.Option("--label", "-l", help="The column whose values are classes.")
    ] = None,
    drop: Annotated[
        list[str] | None, typer.Option("--drop", help="A column to leave out; may be repeated.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", "-f", help="Overwrite the file.")] = False,
) -> None:
    """Draft a schema from a table, for you to check and correct."""
    with report_errors():
        private = parse_data(data, table, query, password_env)
        check_free(output, force=force, inputs=find_input_files(data))
        schema = draft_schema(private, label=label, drop=drop or ())
        schema.save(output, comment=COMMENT)
        print_line("wrote", f"{output}: {len(schema.columns)} columns, all marked 'source: data'")
        print_line("next", "enter what is publicly known, write 'source: public', then")
        print_line(
            "", f"tabpe schema check {output} {_repeat_arguments(data, table, query, password_env)}"
        )


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
) -> None:
    """Check a schema, and whether a table fits it."""
    with report_errors():
        schema = Schema.load(schema_file)
        label = "no label" if schema.label is None else f"label {schema.label!r}"
        print_line("schema", f"{schema_file}: {len(schema.columns)} columns, {label}")
        _check_rules(schema)
        if data is not None:
            _check_table(schema, data, parse_data(data, table, query, password_env))
        _show_sources(schema)


def _check_rules(schema: Schema) -> None:
    if not schema.rules:
        return
    from tabpe.evolution.constraint_repair import ConstraintSet

    ConstraintSet.from_encoder(Encoder(schema))
    print_line("rules", f"{len(schema.rules)}, which rows of every class can satisfy")


def _check_table(schema: Schema, data: str, private: Any) -> None:
    """Print how many cells of each column do not fit, and what they count as."""
    encoder = Encoder(schema)
    counts = {name: np.zeros(3, dtype=np.int64) for name in encoder.names}
    rows = 0
    with use_source(private) as source:
        encoder.check_names(source.names)
        for batch in source.batches(encoder.names):
            rows += batch.table.num_rows
            for name in encoder.names:
                counts[name] += _count_misfits(schema[name], batch.table[name])
        left_out = [name for name in source.names if name not in schema.names]
    wrong = {name: found for name, found in counts.items() if found.any()}
    how = (
        "fits" if not wrong else f"{len(wrong)} of {len(counts)} columns have cells that do not fit"
    )
    also = f"; left out: {', '.join(left_out)}" if left_out else ""
    print_line("table", f"{strip_secrets(data)}: {rows:,} rows: {how}{also}")
    for name, found in wrong.items():
        print_line("misfit", f"{name}: {_describe_misfits(schema[name], found)}")
    if wrong:
        print_line(
            "next", "correct the schema or the table, or keep them: no cell stops a release."
        )
        print_line("caution", "these counts are exact and private: do not share them.")


def _count_misfits(column: Column, cells: pa.ChunkedArray) -> NDArray[np.int64]:
    """Return how many cells are missing in a column without nulls, unreadable, and outside."""
    found = find_column_misfits(column, cells)
    missing = 0 if column.nullable else int(found.missing.sum())
    return np.array([missing, int(found.unreadable.sum()), int(found.outside.sum())])


def _describe_misfits(column: Column, found: NDArray[np.int64]) -> str:
    listed = isinstance(column, (Categorical, Boolean))
    words = ("missing", "unreadable", "not listed" if listed else "out of bounds")
    counts = ", ".join(f"{n:,} {word}" for n, word in zip(found, words, strict=True) if n)
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


def _show_sources(schema: Schema) -> None:
    fields = schema.fields_from_data
    if not fields:
        print_line("public", "all fields are declared public")
        return
    print_line("caution", f"{len(fields)} fields are from the data, not covered by the guarantee:")
    for line in textwrap.wrap(", ".join(fields), 70):
        print_line("", line)
