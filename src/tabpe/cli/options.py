"""Options of `tabpe synth` in the groups of its help, and arguments that name a table."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import unquote

import typer

from tabpe._utils.files import DATABASES, STORES, get_scheme, has_password, strip_secrets
from tabpe.errors import ParameterError
from tabpe.io import SqlTable
from tabpe.io.files import list_files
from tabpe.io.stores import parse_local_path

GUARANTEE, PUBLIC, CHARGED = "Privacy guarantee", "What is public", "Ledger and resuming"
SEARCH, MACHINE = "Evolution", "Engine and resources"

SchemaFile = Annotated[
    Path | None,
    typer.Option(
        "--schema",
        "-s",
        help="What is public about it (see 'tabpe schema init').",
        rich_help_panel=PUBLIC,
    ),
]
Label = Annotated[
    list[str] | None,
    typer.Option(
        "--label",
        "-l",
        help="The column whose values are classes; repeat it for their combinations.",
        rich_help_panel=PUBLIC,
    ),
]
Epsilon = Annotated[
    float,
    typer.Option(
        "--epsilon",
        "-e",
        help="The privacy budget; smaller is more private.",
        rich_help_panel=GUARANTEE,
    ),
]
Output = Annotated[
    Path, typer.Option("--output", "-o", help="The synthetic table: .csv or .parquet.")
]
Delta = Annotated[
    float | None,
    typer.Option(
        "--delta",
        help="Probability that the guarantee fails; 1/(n ln n) if left out.",
        rich_help_panel=GUARANTEE,
    ),
]
Rows = Annotated[
    int | None,
    typer.Option("--rows", "-n", help="Rows to write; all generated ones if left out."),
]
Evolve = Annotated[
    int | None,
    typer.Option(
        "--evolve", help="Rows to generate, if other than --rows.", rich_help_panel=SEARCH
    ),
]
ClassFloor = Annotated[
    int | None,
    typer.Option(
        "--class-floor", help="Rows to generate of every class, at least.", rich_help_panel=SEARCH
    ),
]
Preset = Annotated[
    str,
    typer.Option("--preset", help="'best', 'paper' or 'reference'.", rich_help_panel=SEARCH),
]
Adjacent = Annotated[
    str,
    typer.Option("--adjacency", help="'add-remove' or 'replace-one'.", rich_help_panel=GUARANTEE),
]
Unit = Annotated[
    str | None,
    typer.Option(
        "--unit",
        help="The column of user ids, for user-level privacy.",
        rich_help_panel=GUARANTEE,
    ),
]
MaxRows = Annotated[
    int | None,
    typer.Option(
        "--max-rows-per-user",
        help="Rows of a user that count; 10 if left out.",
        rich_help_panel=GUARANTEE,
    ),
]
RunDir = Annotated[
    Path | None,
    typer.Option(
        "--run-dir", help="A folder to resume from after a crash.", rich_help_panel=CHARGED
    ),
]
Dataset = Annotated[
    str | None,
    typer.Option("--dataset", help="The data set in a ledger to charge.", rich_help_panel=CHARGED),
]
LedgerFile = Annotated[
    Path | None,
    typer.Option(
        "--ledger", help="The ledger; one in your data folder if left out.", rich_help_panel=CHARGED
    ),
]
RequireBudget = Annotated[
    bool,
    typer.Option(
        "--require-budget",
        help="Refuse a data set without a budget in the ledger.",
        rich_help_panel=CHARGED,
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
SchemaBudget = Annotated[
    float,
    typer.Option(
        "--schema-budget", help="Share of the budget for estimating it.", rich_help_panel=PUBLIC
    ),
]
Drop = Annotated[
    list[str] | None,
    typer.Option(
        "--drop",
        help="A column to leave out of a private schema; may be repeated.",
        rich_help_panel=PUBLIC,
    ),
]
Strict = Annotated[
    bool,
    typer.Option(
        "--strict",
        help="Stop at a cell that does not fit, where the schema states no rule for it. Whether "
        "there is a release is then not covered by the guarantee.",
        rich_help_panel=PUBLIC,
    ),
]
PublicRows = Annotated[
    int | None,
    typer.Option(
        "--public-rows",
        help="Rows, or users with --unit, if publicly known.",
        rich_help_panel=PUBLIC,
    ),
]
ClassShare = Annotated[
    list[str] | None,
    typer.Option(
        "--class-share",
        help="CLASS=SHARE, if publicly known; once for each class.",
        rich_help_panel=PUBLIC,
    ),
]
Noise = Annotated[
    str,
    typer.Option(
        "--noise",
        help="'opendp' is exact; 'table' is faster, with a tiny sampling error.",
        rich_help_panel=GUARANTEE,
    ),
]
Seed = Annotated[
    int | None,
    typer.Option(
        "--seed", help="Seed of the evolution; the noise takes none.", rich_help_panel=SEARCH
    ),
]
EngineName = Annotated[
    str,
    typer.Option(
        "--engine",
        help="'local' in memory, 'stream' from disk, 'ray', 'spark', or 'auto'.",
        rich_help_panel=MACHINE,
    ),
]
Address = Annotated[
    str | None,
    typer.Option(
        "--address",
        help="A cluster: 'auto', HOST:PORT, ray://HOST:PORT or spark://HOST:PORT.",
        rich_help_panel=MACHINE,
    ),
]
MemoryLimit = Annotated[
    str | None,
    typer.Option(
        "--memory-limit",
        help="Stream above this, like 2GB; half the memory if left out.",
        rich_help_panel=MACHINE,
    ),
]
SpillFolder = Annotated[
    Path | None,
    typer.Option(
        "--spill-dir",
        help="Folder to stream from; the temporary one if left out.",
        rich_help_panel=MACHINE,
    ),
]
NoSpill = Annotated[
    bool,
    typer.Option(
        "--no-spill", help="Stream from the table itself, in every round.", rich_help_panel=MACHINE
    ),
]
Jobs = Annotated[
    int | None,
    typer.Option(
        "--jobs", "-j", help="Threads or workers; all cores if left out.", rich_help_panel=MACHINE
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors and warnings only.")]
Force = Annotated[bool, typer.Option("--force", "-f", help="Overwrite files.")]
Save = Annotated[
    Path | None,
    typer.Option("--save", help="Save the run, to sample from or evaluate: .tabpe."),
]
Escape = Annotated[
    bool,
    typer.Option(
        "--escape-formulas",
        help="Escape CSV text that a spreadsheet would run.",
    ),
]


DATABASE = "A table in a database"

Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="The private table: a CSV, Parquet or Arrow file, a folder, a pattern, an address "
        "like s3://bucket/folder, or a database like postgresql://user@host/name.",
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
