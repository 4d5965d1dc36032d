"""Attacks on our own guarantee.

- `run`: `audit`, all tests on the code as it is installed; `audit_broken`, on what is broken
- `bounds`: how large epsilon must be, given what an attack got right and wrong
- `scores`: from scores to findings; thresholds, and noise that is alike
- `system`: what is audited
- `channel`: the votes, from inside
- `columns`: 1-way marginals, from inside
- `game`: many small runs, from outside
- `canaries`: many rows of one run, from outside
- `storage`: neighbouring tables in many storage forms
- `find_broken`: systems that violate the guarantee
- `report`: what was found

An audit can refute a guarantee, never prove it. The proof is in `docs/explanation/proofs.md`.
"""

from tabpe.audit.report import (
    AuditReport,
    EpsilonLowerBound,
    NeighborDistance,
    NoiseRepetition,
    PrivacyClaim,
)
from tabpe.audit.run import AuditEffort, audit, audit_broken

__all__ = [
    "AuditEffort",
    "AuditReport",
    "EpsilonLowerBound",
    "NeighborDistance",
    "NoiseRepetition",
    "PrivacyClaim",
    "audit",
    "audit_broken",
]
