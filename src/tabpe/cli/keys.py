"""`tabpe keys`: make a key to sign certificates with; and keys that other commands are given."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from tabpe._utils.extras import require_sign_extra
from tabpe.cli.console import check_free, print_line, report_errors
from tabpe.errors import ParameterError
from tabpe.verification.signing import (
    PUBLIC_SUFFIX,
    SigningKey,
    make_key_pair,
    needs_passphrase,
)


def keys(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The private key, such as office.key.")
    ],
    passphrase: Annotated[
        bool, typer.Option("--passphrase", help="Ask for a passphrase, and encrypt the key.")
    ] = False,
    passphrase_env: Annotated[
        str | None,
        typer.Option(
            "--passphrase-env",
            help="The environment variable that holds the passphrase.",
            metavar="NAME",
        ),
    ] = None,
) -> None:
    """Make a key pair to sign certificates with.

    Keep the private key secret: only you can read its file. Give the public key, beside it as .pub,
    to everybody, with its fingerprint.
    """
    with report_errors():
        require_sign_extra("tabpe keys")
        public = output.with_suffix(PUBLIC_SUFFIX)
        check_free(output, public, force=True)  # `make_key_pair` refuses to overwrite
        secret = _read_variable(passphrase_env)
        if passphrase and secret is None:
            secret = typer.prompt("Passphrase", hide_input=True, confirmation_prompt=True, err=True)
        key = make_key_pair(output, secret)
        lock = "encrypted" if secret is not None else "not encrypted: --passphrase does that"
        print_line("wrote", f"{output}: the private key, {lock}")
        print_line("wrote", f"{public}: the public key, for everybody")
        print_line("key", key.fingerprint)
        print_line("next", f"tabpe synth DATA --sign {output}, then tabpe verify --key {public}")


def load_signing_key(path: Path | None, passphrase_env: str | None) -> SigningKey | None:
    """Return the key to sign with; ask for its passphrase in a terminal, if it needs one."""
    secret = _read_variable(passphrase_env)
    if path is None:
        if passphrase_env is not None:
            raise ParameterError("--passphrase-env: only with --sign KEY.")
        return None
    require_sign_extra("--sign")
    if secret is None and needs_passphrase(path) and sys.stdin.isatty():
        secret = typer.prompt(f"Passphrase of {path}", hide_input=True, err=True)
    return SigningKey.load(path, secret)


def _read_variable(name: str | None) -> str | None:
    if name is None:
        return None
    found = os.environ.get(name)
    if not found:
        raise ParameterError(f"--passphrase-env {name}: this variable is not set: set it first.")
    return found
