"""Whether a ledger knows a certificate."""

from __future__ import annotations

from pathlib import Path

from tabpe.errors import LedgerError
from tabpe.privacy import Certificate
from tabpe.privacy.ledger import Ledger
from tabpe.verify.report import FAILED, OK, Check

_SHOWN = 16


def ledger_check(stated: Certificate, ledger: Ledger) -> Check:
    """Compare a certificate with the entry of the ledger that it names.

    The ledger noted the digest of the certificate when the run was spent, so every field is
    compared, but for `release`: one run may be written to several files.
    """
    problem = _problem(stated, ledger)
    if problem is not None:
        return Check("ledger", FAILED, f"{ledger.path}: {problem}")
    return Check("ledger", OK, f"noted {stated.digest[:_SHOWN]}... for this run in {ledger.path}")


def existing(path: Path) -> Ledger:
    """Return a ledger to read: one that is not there is a mistake."""
    ledger = Ledger(path)
    if not ledger.exists():
        raise LedgerError(f"{path}: no ledger there.")
    return ledger


def _problem(stated: Certificate, ledger: Ledger) -> str | None:
    if stated.ledger is None:
        return "the certificate names no entry of a ledger."
    broken = ledger.verify()
    if broken:
        return broken[0]
    try:
        entry = ledger.entry(stated.ledger.entry)
    except LedgerError as error:
        return str(error)
    if entry.dataset != stated.ledger.dataset or entry.state != "spent":
        return f"its entry is {entry.state}, for the data set {entry.dataset!r}."
    if entry.certificate_sha256 != stated.digest:
        return "it noted another certificate for this run: one of them was changed."
    return None
