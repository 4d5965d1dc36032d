"""What attacks show about the promise: the code as shipped, and systems broken on purpose.

    python -m benchmarks.audit [--epsilons 1 4 10] [--quick] [--out benchmarks/results/audit.json]

For each epsilon (delta 1e-5) all tests of `tabpe.audit` on the shipped code, whose bounds must be
under the claim, and on each broken system, whose promise must be refuted. `--quick` takes few
samples, to see that it runs; then not all that is broken is noticed.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from pathlib import Path
from typing import Any

import tabpe
from tabpe.audit import AuditEffort, AuditReport, audit, audit_broken
from tabpe.audit.attacks import (
    FITTED,
    BoundaryCanaries,
    MarginalChannel,
    MembershipGame,
    ScatteredCanaries,
    VoteChannel,
)
from tabpe.audit.storage_forms import StorageAudit

ROOT = Path(__file__).resolve().parents[1]
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
    seconds = time.perf_counter() - start
    print(f"{shipped}\n\n{seconds:.0f} s\n", flush=True)
    broken = audit_broken(epsilon, effort=effort)
    for report in broken:
        print(f"{report.system:<30} {_noticed(report)}", flush=True)
    print(flush=True)
    return {
        "epsilon": epsilon,
        "shipped": shipped.to_dict(),
        "broken": [report.to_dict() for report in broken],
    }


def _noticed(report: AuditReport) -> str:
    return ", ".join(report.refuting) or "NOT NOTICED"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epsilons", type=float, nargs="+", default=[1.0, 4.0, 10.0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks/results/audit.json")
    arguments = parser.parse_args()
    effort = QUICK if arguments.quick else AuditEffort()
    record = {
        "command": "python -m benchmarks.audit",
        "tabpe": tabpe.__version__,
        "python": platform.python_version(),
        "results": [attack(epsilon, effort) for epsilon in arguments.epsilons],
    }
    arguments.out.write_text(json.dumps(record, indent=2) + "\n")


if __name__ == "__main__":
    main()
