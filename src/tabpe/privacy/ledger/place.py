"""Where a ledger is, if nobody says."""

from __future__ import annotations

from pathlib import Path

from tabpe._home import data_folder

FILE_NAME = "ledger.db"


def default_path() -> Path:
    """Return the ledger in the user's data folder; it need not exist.

    Example:
        >>> default_path().parts[-2:]
        ('tabpe', 'ledger.db')
    """
    return data_folder() / FILE_NAME
