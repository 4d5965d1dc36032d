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

from tabpe.accounting.calibration import calibrate_sigma
from tabpe.accounting.certificate import Certificate, LedgerEntry, WrittenTable
from tabpe.accounting.neighboring import ROW_LEVEL, Adjacency, NeighboringRelation
from tabpe.accounting.noise import FakeNoise, NoiseSource, OpenDPNoise
from tabpe.accounting.noise_table import TableNoise
from tabpe.accounting.pld import compose_epsilon, compute_epsilon
from tabpe.accounting.spend import Account, Spend

__all__ = [
    "ROW_LEVEL",
    "Account",
    "Adjacency",
    "Certificate",
    "FakeNoise",
    "LedgerEntry",
    "NeighboringRelation",
    "NoiseSource",
    "OpenDPNoise",
    "Spend",
    "TableNoise",
    "WrittenTable",
    "calibrate_sigma",
    "compose_epsilon",
    "compute_epsilon",
]
