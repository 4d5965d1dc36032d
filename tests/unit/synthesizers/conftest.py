"""The table and the ledger of these tests, and a data folder that is not that of the user."""

import pyarrow as pa
import pytest

from facade import columns
from tabpe.accounting.ledger import Ledger


@pytest.fixture
def table():
    return pa.table(columns())


@pytest.fixture
def ledger(tmp_path):
    """A ledger with room for a run or two."""
    found = Ledger(tmp_path / "ledger.db")
    found.set_budget("patients", epsilon=60.0, delta=1e-6)
    return found


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    monkeypatch.setattr("sys.platform", "linux")
