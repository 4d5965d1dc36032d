"""Whole runs in processes of their own: `TabPE.fit`, its memory, and `import tabpe`.

    python -m benchmarks.voting.whole a exact [--quick]

prints the seconds of the first and of a later `fit` of a process, and its peak memory after the
first. The first also loads the packages that it needs (SciPy for `dp_accounting` above all); the
later one asks for another epsilon, so that it calibrates its noise anew.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from benchmarks.common import (
    measure_peak_megabytes,
    measure_seconds,
    run_benchmark,
    run_command,
)
from benchmarks.voting.cases import CASES, EPSILON, Case, Table
from tabpe import TabPE

IMPORTS = 7
ANEW = (1.01 * EPSILON, 1.02 * EPSILON, 1.03 * EPSILON)
IMPORT = """
import time
start = time.perf_counter()
import tabpe
print(time.perf_counter() - start)
"""


def fitted(case: Case, table: Table, noise: str, epsilon: float = EPSILON) -> TabPE:
    """Fit with the class shares and the number of rows taken as public, as in the paper."""
    counts = table.data[table.schema.label].value_counts().to_pylist()
    return TabPE(
        epsilon=epsilon,
        preset="paper",
        n_samples=case.size,
        public_rows=table.data.num_rows,
        public_shares={one["values"]: one["counts"] / table.data.num_rows for one in counts},
        noise=noise,
        random_state=0,
        verbose=0,
        n_jobs=1,
    ).fit(table.data, table.schema)


def run_whole(key: str, noise: str, *, quick: bool) -> dict[str, Any]:
    """Return the measurements of a process of its own."""
    found: dict[str, Any] = run_benchmark(
        "voting.whole", key, noise, *(["--quick"] if quick else [])
    )
    return found


def measure_import(repeats: int = IMPORTS) -> float:
    """Return the least time of `import tabpe` in a fresh process."""
    return min(float(run_command([sys.executable, "-c", IMPORT])) for _ in range(repeats))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("case", choices=["a", "d"])
    parser.add_argument("noise")
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    case = CASES[arguments.case].quick() if arguments.quick else CASES[arguments.case]
    table = case.table(case.rows)
    first = measure_seconds(lambda: fitted(case, table, arguments.noise))
    memory = measure_peak_megabytes()
    later = min(
        measure_seconds(lambda e=epsilon: fitted(case, table, arguments.noise, e))
        for epsilon in ANEW
    )
    print(json.dumps({"first_s": first, "later_s": later, "peak_mb": memory}))


if __name__ == "__main__":
    main()
