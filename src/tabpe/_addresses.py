"""Addresses of databases and stores, and how to show one without what would let others in."""

from __future__ import annotations

import re
from pathlib import Path

DATABASES = ("postgresql", "postgres", "duckdb", "sqlite")
STORES = ("s3", "gs", "gcs", "abfs", "abfss", "hdfs", "viewfs", "file")

# Two letters at least, so that the drives of Windows are none. A `Path` keeps one slash of two.
_ADDRESS = re.compile(
    r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]+):/(?P<rest>/?(?P<authority>[^/?#]*)(?P<path>[^?#]*).*)",
    re.DOTALL,
)
_LOOKS_LIKE_A_PASSWORD = re.compile(r":[^@]*@", re.DOTALL)


def scheme_of(address: str | Path) -> str | None:
    """Return the scheme of an address, in small letters; None for the path of a file.

    Example:
        >>> scheme_of("S3://ward/visits"), scheme_of("visits.csv"), scheme_of("C:/visits.csv")
        ('s3', None, None)
    """
    found = _ADDRESS.fullmatch(str(address))
    return None if found is None else found["scheme"].lower()


def has_password(address: str) -> bool:
    """Whether an address has a password in it.

    Example:
        >>> has_password("postgresql://ann@db/ward"), has_password("postgresql://ann:pw@db/ward")
        (False, True)
    """
    found = _ADDRESS.fullmatch(address)
    if found is None:
        return False
    named = re.search(r"[?&][^=&]*(password|secret|token)[^=&]*=", address, re.IGNORECASE)
    return bool(named or _LOOKS_LIKE_A_PASSWORD.search(found["rest"]))


def without_secrets(address: str | Path) -> str:
    """Return where an address leads: no user, no password and no options are in it.

    Privacy: what is shown is put together from the host and the path. Where it is unclear which
    part is a password, neither is shown.

    Example:
        >>> without_secrets("postgresql://ann:pw@db:5432/ward?sslpassword=pw")
        'postgresql://db:5432/ward'
        >>> without_secrets("postgresql://ann:p/w@db/ward")
        'postgresql://...'
        >>> without_secrets("visits.csv")
        'visits.csv'
    """
    text = str(address)
    found = _ADDRESS.fullmatch(text)
    if found is None:
        secret = _LOOKS_LIKE_A_PASSWORD.search(text)
        return text if secret is None else f"{text[: secret.start()]}:..."
    after = found["rest"][found["rest"].index(found["authority"]) + len(found["authority"]) :]
    if "@" in after:
        return f"{found['scheme']}://..."
    return f"{found['scheme']}://{found['authority'].rpartition('@')[2]}{found['path']}"
