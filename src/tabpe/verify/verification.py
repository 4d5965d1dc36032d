"""A certificate and perhaps its table in, what was found out about them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tabpe import _plain
from tabpe.errors import ArchiveError, FieldError
from tabpe.privacy import Certificate
from tabpe.verify.claims import (
    delta_check,
    derived_check,
    epsilon_checks,
    given_checks,
    noise_check,
    schema_check,
)
from tabpe.verify.entry import existing, ledger_check
from tabpe.verify.report import FAILED, OK, Check, Verification
from tabpe.verify.table import table_checks

LARGEST_CERTIFICATE = 64 * 2**20
NOT_SIGNED = (
    "The certificate is not signed: whoever can change the file can also change it so that all of "
    "this agrees. A ledger notes what it was: compare with --ledger."
)
NOTED = (
    "The ledger vouches for all of the certificate but release: the table that it names. Whoever "
    "can change the ledger as well can change both; note its head elsewhere."
)
UNREAD = "Anything else: its fields are not those of a certificate."
STATEMENTS = (
    "Plain statements, not checked: accountant, assumed_public, bought, chance and name of an "
    "item, configuration, created, delta_source, file and formulas_escaped of release, ledger, "
    "notes, seed_policy, unit, versions, and a requested_epsilon above the stated one."
)


def verify(
    certificate: str | Path, rows: str | Path | None = None, ledger: str | Path | None = None
) -> Verification:
    """Check a certificate, and what it speaks of if that is given too.

    Args:
        certificate: The file that `tabpe synth` wrote beside the table.
        rows: The synthetic table.
        ledger: The ledger that the run was charged to.

    Raises:
        ArchiveError: If the file is not a certificate. One with fields that are missing, unknown
            or malformed is one that does not hold.
        DataError: If there is no such table.
        LedgerError: If there is no such ledger.
    """
    plain = read_certificate(Path(certificate))
    return verify_plain(plain, *(None if path is None else Path(path) for path in (rows, ledger)))


def verify_plain(
    plain: Mapping[str, Any], rows: Path | None = None, ledger: Path | None = None
) -> Verification:
    """Check a certificate that was read already."""
    try:
        stated = Certificate.from_dict(plain)
    except FieldError as error:
        return Verification((Check("format", FAILED, str(error)),), None, (UNREAD,))
    schema, of_schema = schema_check(stated)
    found = [
        Check("format", OK, "a certificate of format 1"),
        derived_check(stated, plain),
        of_schema,
        noise_check(stated),
        delta_check(stated),
        *epsilon_checks(stated),
        *given_checks(stated),
    ]
    not_checked = [STATEMENTS, NOT_SIGNED]
    if ledger is not None:
        found.append(ledger_check(stated, existing(ledger)))
        not_checked = [NOTED]
    if rows is not None:
        found += table_checks(stated.release, schema, rows)
    elif stated.release is not None:
        not_checked.insert(0, f"The table {stated.release.file}: give its path as well.")
    else:
        not_checked.insert(0, "Any table: the certificate names none.")
    return Verification(tuple(found), stated.guarantee, tuple(not_checked))


def read_certificate(path: Path) -> Mapping[str, Any]:
    """Return the plain values of a certificate file, strictly read."""
    try:
        if path.stat().st_size > LARGEST_CERTIFICATE:
            raise ArchiveError(f"{path}: larger than 64 MiB: not a certificate.")
        text = path.read_text(encoding="utf-8")
        plain = _plain.strict_json(text)
    except OSError as error:
        raise ArchiveError(f"{path}: can not read it ({error.strerror}).") from None
    except (ValueError, RecursionError) as error:
        if isinstance(error, ArchiveError):
            raise
        raise ArchiveError(
            f"{path}: not a certificate: expected JSON, with each key once and numbers that a "
            f"float can hold."
        ) from None
    if not isinstance(plain, dict):
        raise ArchiveError(f"{path}: not a certificate: expected a mapping of fields.")
    return plain
