"""A ledger in an empty folder, and a way to change its file behind its back."""

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from tabpe.accounting.ledger import Ledger


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    """A ledger that has no file yet."""
    return Ledger(tmp_path / "ledger.db")


@pytest.fixture
def tamper(ledger: Ledger) -> Callable[..., None]:
    """Run statements on the file of the ledger; with its triggers out of the way if asked for."""

    def run(*statements: str, triggers: bool = False) -> None:
        connection = sqlite3.connect(ledger.path, isolation_level=None)
        kept = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")
        kept = [] if triggers else kept.fetchall()
        for name, _ in kept:
            connection.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            connection.execute(statement)
        for _, sql in kept:
            connection.execute(sql)
        connection.close()

    return run
