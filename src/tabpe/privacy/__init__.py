"""What is promised, what it costs, and the sources of noise.

- `adjacency`: which two tables the promise does not tell apart
- `accounting`: sigma from (epsilon, delta) and back, verified by privacy loss distributions
- `bill`: what touched private rows; `Account` refuses what was not paid for
- `noise`: integer noise from the operating system, and a fake one for tests
- `table`: the same noise faster, all but exact
- `slack`: which part of delta pays for the difference
- `certificate`: the promise in writing
- `ledger`: what earlier runs have spent, in a file (imported by itself)
"""

from tabpe.privacy.accounting import calibrate, composed_epsilon, epsilon_of
from tabpe.privacy.adjacency import ROWS, Adjacency, Neighbours
from tabpe.privacy.bill import Account, BillItem
from tabpe.privacy.certificate import Certificate
from tabpe.privacy.noise import FakeNoise, NoiseSource, OpenDPNoise
from tabpe.privacy.table import TableNoise

__all__ = [
    "ROWS",
    "Account",
    "Adjacency",
    "BillItem",
    "Certificate",
    "FakeNoise",
    "Neighbours",
    "NoiseSource",
    "OpenDPNoise",
    "TableNoise",
    "calibrate",
    "composed_epsilon",
    "epsilon_of",
]
