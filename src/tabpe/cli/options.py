"""Options of commands, in groups as help shows them.

The options of `tabpe synth`, in groups as its help shows them.

Which table a command is about: files, a store, or a table of a database.
"""

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

PROMISE, PUBLIC, CHARGED = "The promise", "What is public", "Ledger and crashes"
SEARCH, MACHINE = "The search", "The machine"

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
        rich_help_panel=PROMISE,
    ),
]
Output = Annotated[
    Path, typer.Option("--output", "-o", help="The synthetic table: .csv or .parquet.")
]
Delta = Annotated[
    float | None,
    typer.Option(
        "--delta",
        help="Chance that the promise fails; 1/(n ln n) if left out.",
        rich_help_panel=PROMISE,
    ),
]
Rows = Annotated[
    int | None,
    typer.Option("--rows", "-n", help="Rows to write; those made if left out."),
]
Evolve = Annotated[
    int | None,
    typer.Option("--evolve", help="Rows to make, if other than --rows.", rich_help_panel=SEARCH),
]
ClassFloor = Annotated[
    int | None,
    typer.Option(
        "--class-floor", help="Rows to make of every class, at least.", rich_help_panel=SEARCH
    ),
]
Preset = Annotated[
    str,
    typer.Option("--preset", help="'best', 'paper' or 'reference'.", rich_help_panel=SEARCH),
]
Adjacent = Annotated[
    str,
    typer.Option("--adjacency", help="'add-remove' or 'replace-one'.", rich_help_panel=PROMISE),
]
Unit = Annotated[
    str | None,
    typer.Option(
        "--unit",
        help="The column of user ids: protects users, not rows.",
        rich_help_panel=PROMISE,
    ),
]
MaxRows = Annotated[
    int | None,
    typer.Option(
        "--max-rows-per-user", help="Rows of a user that count; 10.", rich_help_panel=PROMISE
    ),
]
RunDir = Annotated[
    Path | None,
    typer.Option(
        "--run-dir", help="A folder to go on from after a crash.", rich_help_panel=CHARGED
    ),
]
Dataset = Annotated[
    str | None,
    typer.Option(
        "--dataset", help="Its name in a ledger, to which it is charged.", rich_help_panel=CHARGED
    ),
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
        "--private-schema", help="Buy what the schema lacks, or all of it.", rich_help_panel=PUBLIC
    ),
]
SchemaBudget = Annotated[
    float,
    typer.Option(
        "--schema-budget", help="Part of the budget that buying it takes.", rich_help_panel=PUBLIC
    ),
]
Drop = Annotated[
    list[str] | None,
    typer.Option(
        "--drop",
        help="A column to leave out of a bought schema; may be repeated.",
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
        help="'opendp' is exact; 'table' is faster, and all but exact.",
        rich_help_panel=PROMISE,
    ),
]
Seed = Annotated[
    int | None,
    typer.Option(
        "--seed", help="Seed of the search; the noise takes none.", rich_help_panel=SEARCH
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
        "--spill-dir", help="Where to stream from; the temporary folder.", rich_help_panel=MACHINE
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
    typer.Option("--save", help="Keep the run, to sample from or evaluate: .tabpe."),
]
Escape = Annotated[
    bool,
    typer.Option(
        "--escape-formulas",
        help="Defuse CSV text that a spreadsheet would run.",
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
    """Return what `TabPE.fit` takes for the words of a command.

    Raises:
        ParameterError: If a password is among them: others see what a process was called with.
    """
    scheme, place = get_scheme(data), strip_secrets(data)
    if has_password(data):
        how = "pass --password-env NAME, set PGPASSWORD, or use ~/.pgpass"
        keys = how if scheme in DATABASES else "set it in the environment"
        raise ParameterError(
            f"{place}: a password in a command is seen by others: leave it out, and {keys}."
        )
    if scheme not in DATABASES:
        _refuse_options(place, {"--table": table, "--query": query, "--password-env": password_env})
        return data
    if (table is None) == (query is None):
        raise ParameterError(f"{place}: a database: name one of --table and --query.")
    return SqlTable(data, table, query=query, password_env=password_env)


def _refuse_options(place: str, options: Mapping[str, str | None]) -> None:
    for option, given in options.items():
        if given is not None:
            raise ParameterError(f"{option}: only for a database: {place} is none.")


def find_input_files(data: str) -> list[Path]:
    """Return the files of this machine that a table is read from, not to be overwritten.

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
