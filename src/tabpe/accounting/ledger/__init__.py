"""The ledger: what earlier runs on a data set have spent, kept between runs.

- `chain`: events that hold on to each other
- `file`: the SQLite file that they are in
- `entries`: budgets, entries, and how far a run has got
- `starts`: which copy of a run folder may go on under a charge, and why no crash locks it out
- `book`: what the events come to, and which may follow
- `composition`: what the entries of a data set cost together, and what is left
- `status`: a data set at a glance
- `place`: where the file is, if nobody says
- `ledger`: `Ledger`, which is all of that
"""

from tabpe.accounting.ledger.events import Budget, RunEntry, RunStart
from tabpe.accounting.ledger.ledger import DatasetStatus, Ledger, get_default_path

__all__ = ["Budget", "DatasetStatus", "Ledger", "RunEntry", "RunStart", "get_default_path"]
