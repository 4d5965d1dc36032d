"""What attacks show about the guarantee: the code as shipped, and systems broken on purpose.

    python -m benchmarks.audit [--epsilons 1 4 10] [--quick] [--out benchmarks/results/audit.json]

For each epsilon (delta 1e-5) all tests of `tabpe.audit` run on the shipped code, whose bounds must
be under the claim, and on each broken system, whose guarantee must be refuted. `--quick` takes few
samples, as a smoke run; it does not refute all broken systems.
"""

from __future__ import annotations

import time
from typing import Any

from benchmarks.common import make_parser, write_record
from tabpe.audit import AuditEffort, audit, audit_broken
from tabpe.audit.attacks import (
    FITTED,
    BoundaryCanaries,
    MarginalChannel,
    MembershipGame,
    ScatteredCanaries,
    VoteChannel,
)
from tabpe.audit.storage_forms import StorageAudit

QUICK = AuditEffort(
    VoteChannel(2**12),
    VoteChannel(2**8, 2),
    VoteChannel(2**8, 8, rows_a_user=4),
    MembershipGame(20),
    ScatteredCanaries(100),
    BoundaryCanaries(20, 100),
    VoteChannel(2**10, 2, votes_per_row=4, repeats=2),
    MarginalChannel(2**10, 4),
    MembershipGame(20, FITTED, "runs of best"),
    StorageAudit(1, 20),
)


def attack(epsilon: float, effort: AuditEffort) -> dict[str, Any]:
    """Return all findings at one epsilon."""
    start = time.perf_counter()
    shipped = audit(epsilon, effort=effort)
    print(f"{shipped}\n\n{time.perf_counter() - start:.0f} s\n", flush=True)
    broken = audit_broken(epsilon, effort=effort)
    for report in broken:
        print(f"{report.system:<30} {', '.join(report.refuting) or 'NOT REFUTED'}", flush=True)
    return {
        "epsilon": epsilon,
        "shipped": shipped.to_dict(),
        "broken": [report.to_dict() for report in broken],
    }


def main() -> None:
    parser = make_parser(__doc__, "audit")
    parser.add_argument("--epsilons", type=float, nargs="+", default=[1.0, 4.0, 10.0])
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    effort = QUICK if arguments.quick else AuditEffort()
    results = [attack(epsilon, effort) for epsilon in arguments.epsilons]
    write_record(arguments.out, "audit", {"results": results})


if __name__ == "__main__":
    main()
