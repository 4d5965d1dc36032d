"""Privacy accounting: guarantees, spends, noise sources, certificates and the ledger.

- `neighboring`: the neighboring relation; `spend`: what touched private rows
- `pld`: the epsilon of all spends; `zcdp_filter`: where noise follows earlier answers
- `calibration`: from (epsilon, delta) to noise; `delta`: its default, and what users take of it
- `recount`: a second, independent accountant, for those who verify
- `noise`: what a source of noise is, that of OpenDP, and fake noise for tests; `exact_noise`: the
  default, exact by bounds of `enclosures`
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
from tabpe.accounting.exact_noise import ExactNoise
from tabpe.accounting.neighboring import ROW_LEVEL, Adjacency, NeighboringRelation
from tabpe.accounting.noise import FakeNoise, NoiseSource, OpenDPNoise
from tabpe.accounting.pld import compose_epsilon, compute_epsilon
from tabpe.accounting.spend import Account, Spend

__all__ = [
    "ROW_LEVEL",
    "Account",
    "Adjacency",
    "Certificate",
    "ExactNoise",
    "FakeNoise",
    "LedgerEntry",
    "NeighboringRelation",
    "NoiseSource",
    "OpenDPNoise",
    "ReleaseStatement",
    "Spend",
    "SpentTotal",
    "WrittenTable",
    "calibrate_sigma",
    "compose_epsilon",
    "compute_epsilon",
]
