"""What is promised, what it costs, and the sources of noise.

- `adjacency`: which two tables the promise does not tell apart
- `accounting`: the epsilon of a bill, by privacy loss distributions
- `plan`: from (epsilon, delta) and shares of it to the noise of each item, verified by these
- `recount`: the same epsilon by another way, for those who verify
- `bill`: what touched private rows; `Account` refuses what was not paid for
- `noise`: integer noise from the operating system, and a fake one for tests
- `table`: the same noise faster, all but exact
- `slack`: which part of delta pays for the difference
- `certificate`: the promise in writing; `guarantee` says it in plain words, `attachments` are the
  table and the ledger it is tied to, `reading` takes it from a file
- `ledger`: what earlier runs have spent, in a file (imported by itself)
"""

from tabpe.privacy.accounting import composed_epsilon, epsilon_of
from tabpe.privacy.adjacency import ROWS, Adjacency, Neighbours
from tabpe.privacy.attachments import LedgerEntry, WrittenTable
from tabpe.privacy.bill import Account, BillItem
from tabpe.privacy.certificate import Certificate
from tabpe.privacy.noise import FakeNoise, NoiseSource, OpenDPNoise
from tabpe.privacy.plan import calibrate
from tabpe.privacy.table import TableNoise

__all__ = [
    "ROWS",
    "Account",
    "Adjacency",
    "BillItem",
    "Certificate",
    "FakeNoise",
    "LedgerEntry",
    "Neighbours",
    "NoiseSource",
    "OpenDPNoise",
    "TableNoise",
    "WrittenTable",
    "calibrate",
    "composed_epsilon",
    "epsilon_of",
]
