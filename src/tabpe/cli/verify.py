"""`tabpe verify`: whether a certificate holds, and what it guarantees."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from tabpe.cli.console import report_errors
from tabpe.verification import Verification
from tabpe.verification import verify as verified

_WIDTH = 80


def verify(
    certificate: Annotated[
        Path, typer.Argument(metavar="CERT", help="The certificate, a .json file.")
    ],
    rows: Annotated[
        Path | None, typer.Argument(metavar="[ROWS]", help="The table that it certifies.")
    ] = None,
    ledger: Annotated[
        Path | None, typer.Option("--ledger", help="The ledger that the run was charged to.")
    ] = None,
    key: Annotated[
        Path | None,
        typer.Option("--key", help="The public key that must have signed it.", metavar="PUBLIC"),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Check a certificate, and the table that it certifies.

    Recomputes epsilon from the privacy spends, with an independent accountant, and checks the
    signature that lies beside the certificate. Only --key shows whose it is. Exit codes: 0 all
    checks hold, 1 a check fails, 2 a file can not be read.
    """
    with report_errors():
        found = verified(certificate, rows, ledger, key=key)
        if as_json:
            typer.echo(json.dumps(found.to_dict(), indent=2, ensure_ascii=False))
        else:
            _print_verification(found)
        raise typer.Exit(0 if found.holds else 1)


def _print_verification(found: Verification) -> None:
    for check in found.checks:
        _print_wrapped(f"{check.outcome:<7} {check.name:<8} ", check.words)
    if not found.holds or found.guarantee is None:
        typer.echo("\nThe certificate does not hold: do not rely on it.")
        return
    _print_list("Guaranteed", found.guarantee.guaranteed)
    _print_list("Not guaranteed", found.guarantee.not_guaranteed)
    _print_list("Not checked", found.not_checked)


def _print_list(title: str, entries: Iterable[str]) -> None:
    typer.echo(f"\n{title}:")
    for entry in entries:
        _print_wrapped("- ", entry)


def _print_wrapped(head: str, words: str) -> None:
    indent = " " * len(head)
    typer.echo(textwrap.fill(words, _WIDTH, initial_indent=head, subsequent_indent=indent))
