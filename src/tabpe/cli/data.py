"""Which table a command is about: files, a store, or a table of a database."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import unquote

import typer

from tabpe._addresses import DATABASES, STORES, has_password, scheme_of, without_secrets
from tabpe.errors import ParameterError
from tabpe.io import SqlTable
from tabpe.io.folders import files_of
from tabpe.io.stores import local_path

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


def data_of(
    data: str, table: str | None = None, query: str | None = None, password_env: str | None = None
) -> Any:
    """Return what `TabPE.fit` takes for the words of a command.

    Raises:
        ParameterError: If a password is among them: others see what a process was called with.
    """
    scheme, place = scheme_of(data), without_secrets(data)
    if has_password(data):
        how = "pass --password-env NAME, set PGPASSWORD, or use ~/.pgpass"
        keys = how if scheme in DATABASES else "set it in the environment"
        raise ParameterError(
            f"{place}: a password in a command is seen by others: leave it out, and {keys}."
        )
    if scheme not in DATABASES:
        _refuse(place, {"--table": table, "--query": query, "--password-env": password_env})
        return data
    if (table is None) == (query is None):
        raise ParameterError(f"{place}: a database: name one of --table and --query.")
    return SqlTable(data, table, query=query, password_env=password_env)


def _refuse(place: str, options: Mapping[str, str | None]) -> None:
    for option, given in options.items():
        if given is not None:
            raise ParameterError(f"{option}: only for a database: {place} is none.")


def files_behind(data: str) -> list[Path]:
    """Return the files of this machine that a table is read from, not to be overwritten.

    Example:
        >>> files_behind("s3://ward/visits/"), files_behind("sqlite:///ward.db")
        ([], [PosixPath('ward.db')])
    """
    scheme = scheme_of(data)
    if scheme in {"sqlite", "duckdb"}:
        return [Path(unquote(data.partition(":///")[2]))]
    if scheme == "file":
        return files_of(local_path(data))
    return [] if scheme in DATABASES or scheme in STORES else files_of(data)
