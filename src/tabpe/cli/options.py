"""Options of `tabpe synth` beside those of `TabPE`, and arguments that name a table."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, TypeVar
from urllib.parse import unquote

import typer

from tabpe._utils.files import DATABASES, STORES, get_scheme, has_password, strip_secrets
from tabpe.errors import ParameterError
from tabpe.io import SqlTable
from tabpe.io.files import list_files
from tabpe.io.stores import parse_local_path
from tabpe.schema.files import read_schema_file
from tabpe.schema.table_format import TableFormat
from tabpe.synthesizers.options import MACHINE, PUBLIC, DeclaredOption, list_options

Command = TypeVar("Command", bound=Callable[..., None])

SchemaFile = Annotated[
    Path | None,
    typer.Option(
        "--schema",
        "-s",
        help="What is public about it (see 'tabpe schema init').",
        rich_help_panel=PUBLIC,
    ),
]
PrivateSchema = Annotated[
    bool,
    typer.Option(
        "--private-schema",
        help="Estimate what the schema lacks, privately.",
        rich_help_panel=PUBLIC,
    ),
]
NoSpill = Annotated[
    bool,
    typer.Option(
        "--no-spill", help="Stream from the table itself, in every round.", rich_help_panel=MACHINE
    ),
]
Output = Annotated[
    Path | None, typer.Option("--output", "-o", help="The synthetic table: .csv or .parquet.")
]
Rows = Annotated[
    int | None,
    typer.Option("--rows", "-n", help="Rows to write; all generated ones if left out."),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors and warnings only.")]
Force = Annotated[bool, typer.Option("--force", "-f", help="Overwrite files.")]
Save = Annotated[
    Path | None,
    typer.Option("--save", help="Save the run, to sample from or evaluate: .tabpe."),
]
Escape = Annotated[
    bool,
    typer.Option("--escape-formulas", help="Escape CSV text that a spreadsheet would run."),
]

RELEASE = "Release"

Bundle = Annotated[
    Path | None,
    typer.Option(
        "--bundle",
        help="A new folder for all that a release needs: rows, certificate, report, metadata.",
        rich_help_panel=RELEASE,
        metavar="DIR",
    ),
]
Purpose = Annotated[
    str | None,
    typer.Option(
        "--purpose", help="What it is released for; on the sheet.", rich_help_panel=RELEASE
    ),
]
Contact = Annotated[
    str | None,
    typer.Option("--contact", help="Who answers for it; on the sheet.", rich_help_panel=RELEASE),
]
Sign = Annotated[
    Path | None,
    typer.Option(
        "--sign",
        help="Sign the certificate with this key ('tabpe keys').",
        rich_help_panel=RELEASE,
        metavar="KEY",
    ),
]
PassphraseEnv = Annotated[
    str | None,
    typer.Option(
        "--passphrase-env",
        help="The environment variable that holds the passphrase of the key.",
        rich_help_panel=RELEASE,
        metavar="NAME",
    ),
]


def add_options(synthesizer: type) -> Callable[[Command], Command]:
    """Return a decorator that gives a command the options of a synthesizer that have flags.

    The command takes them by their names, as `**chosen`. In its help they come after its
    positional parameters and before its keyword-only ones.
    """
    declared = [_make_parameter(one) for one in list_options(synthesizer) if one.option.flags]

    def add(command: Command) -> Command:
        signature = inspect.signature(command, eval_str=True)
        own = [one for one in signature.parameters.values() if one.kind is not one.VAR_KEYWORD]
        parameters = sorted([*declared, *own], key=lambda one: one.kind)
        command.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        return command

    return add


def _make_parameter(one: DeclaredOption) -> inspect.Parameter:
    option = one.option
    shown = typer.Option(
        one.plain_default,
        *option.flags,
        help=option.brief or option.help,
        rich_help_panel=option.group,
    )
    kind = option.terminal or one.type
    return inspect.Parameter(
        one.name, inspect.Parameter.KEYWORD_ONLY, default=shown, annotation=kind
    )


DATABASE = "A table in a database"

Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="The private table: a CSV, Parquet, Arrow, Excel, JSON lines, Stata, SAS or SPSS "
        "file, a folder, a pattern, an address like s3://bucket/folder, or a database like "
        "postgresql://user@host/name.",
    ),
]
Table = Annotated[
    str | None,
    typer.Option(
        "--table", help="Its table: NAME or SCHEMA.NAME.", rich_help_panel=DATABASE, metavar="NAME"
    ),
]
Query = Annotated[
    str | None,
    typer.Option(
        "--query", help="A single SELECT instead.", rich_help_panel=DATABASE, metavar="SQL"
    ),
]
PasswordEnv = Annotated[
    str | None,
    typer.Option(
        "--password-env",
        help="The environment variable that holds the password.",
        rich_help_panel=DATABASE,
        metavar="NAME",
    ),
]

FILE = "How the file is written"
Delimiter = Annotated[
    str | None,
    typer.Option(
        "--delimiter",
        help="What separates cells: a character, or comma, semicolon, tab, pipe, space.",
        rich_help_panel=FILE,
    ),
]
Decimal = Annotated[
    str | None,
    typer.Option("--decimal", help="The decimal mark: '.' or ','.", rich_help_panel=FILE),
]
Encoding = Annotated[
    str | None,
    typer.Option(
        "--encoding", help="utf-8, utf-16, latin-1, windows-1252, ...", rich_help_panel=FILE
    ),
]


def override_format(
    schema: Path | None, delimiter: str | None, decimal: str | None, encoding: str | None
) -> Path | dict[str, Any] | None:
    """Return a schema file, or its plain values with another format if an option is given.

    Example:
        >>> override_format(None, ";", None, None)
        {'columns': [], 'format': {'delimiter': ';', 'source': 'public'}}
    """
    given = {"delimiter": delimiter, "decimal": decimal, "encoding": encoding}
    if not any(value is not None for value in given.values()):
        return schema
    plain = {"columns": []} if schema is None else dict(read_schema_file(schema))
    stated = TableFormat.from_dict(plain.get("format") or {}).override(**given)
    return {**plain, "format": stated.to_dict() or None}


def parse_data(
    data: str, table: str | None = None, query: str | None = None, password_env: str | None = None
) -> Any:
    """Return the table named by the arguments of a command, for `TabPE.fit`.

    Raises:
        ParameterError: If they contain a password: other users can see the arguments of a process.
    """
    scheme, shown_data = get_scheme(data), strip_secrets(data)
    if has_password(data):
        how = "pass --password-env NAME, set PGPASSWORD, or use ~/.pgpass"
        keys = how if scheme in DATABASES else "set it in the environment"
        raise ParameterError(
            f"{shown_data}: others can see a password in a command: leave it out, and {keys}."
        )
    if scheme not in DATABASES:
        _refuse_options(
            shown_data, {"--table": table, "--query": query, "--password-env": password_env}
        )
        return data
    if (table is None) == (query is None):
        raise ParameterError(f"{shown_data}: a database: name one of --table and --query.")
    return SqlTable(data, table, query=query, password_env=password_env)


def _refuse_options(shown_data: str, options: Mapping[str, str | None]) -> None:
    for option, given in options.items():
        if given is not None:
            raise ParameterError(f"{option}: only for a database, which {shown_data} is not.")


def find_input_files(data: str) -> list[Path]:
    """Return the local files that a table is read from, not to be overwritten.

    Example:
        >>> find_input_files("s3://ward/visits/"), find_input_files("sqlite:///ward.db")
        ([], [PosixPath('ward.db')])
    """
    scheme = get_scheme(data)
    if scheme in {"sqlite", "duckdb"}:
        return [Path(unquote(data.partition(":///")[2]))]
    if scheme == "file":
        return list_files(parse_local_path(data))
    return [] if scheme in DATABASES or scheme in STORES else list_files(data)
