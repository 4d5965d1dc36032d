"""The folder in which tabpe keeps what belongs to its user: the ledger, and a secret key."""

from __future__ import annotations

import os
import secrets
import sys
from pathlib import Path

from tabpe import _atomic
from tabpe.errors import OutputError

_KEY_BYTES = 32


def data_folder() -> Path:
    """Return the folder for data of this user, which is made if it does not exist.

    `TABPE_HOME` names another one.
    """
    folder = Path(os.environ.get("TABPE_HOME") or _usual_folder())
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(
            f"{folder}: can not make the folder ({error.strerror}): set TABPE_HOME to one that you "
            f"may write to."
        ) from None
    return folder


def secret_key() -> bytes:
    """Return the key of this user, which never leaves the data folder.

    Fingerprints of private tables are made with it: without the key nobody can tell by a
    fingerprint which table it is of.
    """
    path = data_folder() / "fingerprint.key"
    if not path.exists():
        fresh = secrets.token_bytes(_KEY_BYTES)
        try:
            _atomic.create(path, _atomic.filler(fresh))
        except OutputError:
            if not path.exists():  # else another process made one in this moment
                raise
    key = path.read_bytes()
    if len(key) != _KEY_BYTES:
        raise OutputError(f"{path}: damaged: delete it to get a new one; runs begin anew then.")
    return key


def _usual_folder() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "tabpe"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "tabpe"
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "tabpe"
