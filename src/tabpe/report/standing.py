"""Whether a report may say of itself that it may be released.

It says so only if all that this rests on was looked at: the synthetic rows are those of the
certificate, the certificate holds, and nothing that is shown was read off the data.
"""

from __future__ import annotations

from collections.abc import Iterator

from tabpe.report.contents import Contents
from tabpe.verify import FAILED
from tabpe.verify.report import OK

# How `tabpe.verify` calls the comparison of a table with the one that a certificate names.
TABLE = "table"


def doubts(contents: Contents) -> tuple[str, ...]:
    """Return why a report does not say that it may be released; empty if it does.

    Example:
        >>> doubts(Contents("public", "t", {"synthetic": 9}, None, (), {}))
        ('no certificate says what the synthetic rows promise',)
    """
    return tuple(_doubts(contents))


def fields_from_data(contents: Contents) -> tuple[str, ...]:
    """Return all fields of schemas that were read off the data: of the rows, and of what is shown.

    Example:
        >>> fields_from_data(Contents("public", "t", {}, None, (), {}, fields_from_data=("a.min",)))
        ('a.min',)
    """
    certificate, bought = contents.certificate, contents.bought
    found = [
        *(() if certificate is None else certificate.fields_from_data),
        *contents.fields_from_data,
        *(() if bought is None else bought.certificate.fields_from_data),
    ]
    return tuple(dict.fromkeys(found))


def failures(contents: Contents) -> tuple[str, ...]:
    """Return what of the certificate does not hold.

    Example:
        >>> failures(Contents("public", "t", {"synthetic": 9}, None, (), {}))
        ()
    """
    checked = contents.verification
    checks = () if checked is None else checked.checks
    return tuple(check.words for check in checks if check.outcome == FAILED)


def _doubts(contents: Contents) -> Iterator[str]:
    certificate, bought = contents.certificate, contents.bought
    if contents.mode != "public":
        yield "it holds statistics of the real rows that are not private"
    # Refused when it was made; a mapping that was changed since is not.
    elif contents.not_private:
        yield f"it holds {', '.join(contents.not_private)}, read off real rows without noise"
    if certificate is None:
        yield "no certificate says what the synthetic rows promise"
    elif not certificate.private:
        yield "the synthetic rows were made with fake noise"
    elif failures(contents):
        yield "the certificate of the synthetic rows does not hold"
    elif not _is_compared(contents):
        yield "the synthetic rows were not compared with the table that a certificate names"
    if bought is not None and not bought.certificate.private:
        yield "the bought measures were made with fake noise"
    if fields_from_data(contents):
        yield "fields of the schema were read off the data"


def _is_compared(contents: Contents) -> bool:
    """Whether the rows are known to be those of the certificate. Else they may be any."""
    checks = () if contents.verification is None else contents.verification.checks
    return any(check.name == TABLE and check.outcome == OK for check in checks)
