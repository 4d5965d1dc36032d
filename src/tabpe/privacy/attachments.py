"""What a certificate is tied to: the table that was written, and the ledger that was charged."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class WrittenTable:
    """The file that a certificate lies beside.

    Args:
        file: Its name, without its folder.
        sha256: The SHA-256 of its bytes.
        rows: Its number of rows.
        size_bytes: Its length.
        formulas_escaped: Whether text that a spreadsheet would run has an apostrophe before it.
    """

    file: str
    sha256: str
    rows: int
    size_bytes: int
    formulas_escaped: bool = False


@dataclass(frozen=True)
class LedgerEntry:
    """Where the charge is recorded.

    Args:
        dataset: The name of the data set in the ledger.
        entry: The id of the entry.
    """

    dataset: str
    entry: str
