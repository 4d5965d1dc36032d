"""The ledger: what earlier runs on a data set have spent, kept between runs.

- `ledger`: `Ledger`, which reserves, spends and refunds; the status of a data set
- `events`: budgets, entries and progress of runs as a hash chain of events, and their state
- `file`: the SQLite file of the events
- `composition`: what the entries of a data set cost together, and what is left
"""

from tabpe.accounting.ledger.events import Budget, RunEntry, RunStart
from tabpe.accounting.ledger.ledger import DatasetStatus, Ledger, get_default_path

__all__ = ["Budget", "DatasetStatus", "Ledger", "RunEntry", "RunStart", "get_default_path"]
