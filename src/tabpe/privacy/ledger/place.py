"""Where a ledger is, if nobody says."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tabpe.errors import LedgerError

FILE_NAME = "ledger.db"


def default_path() -> Path:
    """Return the ledger in the user's data folder; it need not exist.

    Example:
        >>> default_path().parts[-2:]
        ('tabpe', 'ledger.db')
    """
    try:
        return _data_folder() / "tabpe" / FILE_NAME
    except RuntimeError:
        raise LedgerError("ledger: this user has no home folder. Name a file.") from None


def make_private_folder(folder: Path) -> None:
    """Make a folder that its user alone can enter; leave one that is there."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise LedgerError(f"{folder}: can not make the folder ({error.strerror}).") from None


def _data_folder() -> Path:
    if sys.platform == "win32":
        return _folder_of("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support"
    return _folder_of("XDG_DATA_HOME") or Path.home() / ".local" / "share"


def _folder_of(variable: str) -> Path | None:
    """Return the folder that a variable of the environment names; a relative one is none."""
    folder = Path(os.environ.get(variable, ""))
    return folder if folder.is_absolute() else None
