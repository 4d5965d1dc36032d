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
from tabpe.audit import AuditReport, Effort, audit, audit_broken
from tabpe.audit.attacks import FITTED, Channel, Columns, Edges, Game, Places
from tabpe.audit.storage_forms import Storage

ROOT = Path(__file__).resolve().parents[1]
QUICK = Effort(
    Channel(2**12),
    Channel(2**8, 2),
    Channel(2**8, 8, rows_a_user=4),
    Game(20),
    Places(100),
    Edges(20, 100),
    Channel(2**10, 2, each=4, repeats=2),
    Columns(2**10, 4),
    Game(20, FITTED, "runs of best"),
    Storage(1, 20),
)


def attack(epsilon: float, effort: Effort) -> dict[str, Any]:
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
    effort = QUICK if arguments.quick else Effort()
    record = {
        "command": "python -m benchmarks.audit",
        "tabpe": tabpe.__version__,
        "python": platform.python_version(),
        "results": [attack(epsilon, effort) for epsilon in arguments.epsilons],
    }
    arguments.out.write_text(json.dumps(record, indent=2) + "\n")


if __name__ == "__main__":
    main()
