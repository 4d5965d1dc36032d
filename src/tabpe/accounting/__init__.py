"""Privacy accounting: guarantees, spends, noise sources, certificates and the ledger.

- `neighboring`: the neighboring relation; `spend`: what touched private rows
- `pld`: the epsilon of all spends; `zcdp_filter`: where noise follows earlier answers
- `calibration`: from (epsilon, delta) to noise; `delta`: its default and the sampling error
- `recount`: a second, independent accountant, for those who verify
- `noise`: exact noise, and fake noise for tests; `noise_table`: faster, not quite exact
- `certificate`: the guarantee in writing; `ledger`: what earlier runs spent (import it by itself)
"""

from tabpe.accounting.calibration import calibrate_sigma
from tabpe.accounting.certificate import (
    Certificate,
    LedgerEntry,
    ReleaseStatement,
    SpentTotal,
    WrittenTable,
)
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
    "ReleaseStatement",
    "Spend",
    "SpentTotal",
    "TableNoise",
    "WrittenTable",
    "calibrate_sigma",
    "compose_epsilon",
    "compute_epsilon",
]
