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
    """Return the folder for data of this user; it need not exist.

    Example:
        >>> data_folder().name
        'tabpe'
    """
    try:
        return _folder_for_all() / "tabpe"
    except RuntimeError:
        raise OutputError(
            "this user has no home folder: set XDG_DATA_HOME, or name a file or a folder."
        ) from None


def make_private_folder(folder: Path) -> None:
    """Make a folder that its user alone can enter; leave one that is there."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{folder}: can not make the folder ({error.strerror}).") from None


def secret_key() -> bytes:
    """Return the key of this user, which never leaves the data folder.

    Fingerprints of private tables are made with it: without the key nobody can tell by a
    fingerprint which table it is of.
    """
    path = data_folder() / "fingerprint.key"
    if not path.exists():
        make_private_folder(path.parent)
        try:
            _atomic.create(path, _atomic.filler(secrets.token_bytes(_KEY_BYTES)))
        except OutputError:
            if not path.exists():  # else another process made one in this moment
                raise
    key = path.read_bytes()
    if len(key) != _KEY_BYTES:
        raise OutputError(f"{path}: damaged: delete it to get a new one; runs begin anew then.")
    return key


def _folder_for_all() -> Path:
    if sys.platform == "win32":
        return _named("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support"
    return _named("XDG_DATA_HOME") or Path.home() / ".local" / "share"


def _named(variable: str) -> Path | None:
    """Return the folder that a variable of the environment names; a relative one is none."""
    folder = Path(os.environ.get(variable, ""))
    return folder if folder.is_absolute() else None
