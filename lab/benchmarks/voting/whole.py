"""Whole runs in processes of their own: `TabPE.fit`, its memory, and `import tabpe`.

    python -m benchmarks.voting.whole a opendp [--quick]

prints the seconds of the first and of a later `fit` of a process, and its peak memory after the
first. The first also loads the packages that it needs (SciPy for `dp_accounting` above all); the
later one asks for another epsilon, so that it calibrates its noise anew.
"""

from __future__ import annotations

import argparse
import inspect
import json
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.compute as pc

from benchmarks.voting.cases import CASES, EPSILON, Case
from benchmarks.voting.tables import ROOT, Table
from benchmarks.voting.timing import seconds
from tabpe import TabPE
from tabpe.errors import ParameterError

STATUS = Path("/proc/self/status")
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
    counts = pc.value_counts(table.data[table.schema.label]).to_pylist()
    threads = {"n_jobs": 1} if "n_jobs" in inspect.signature(TabPE).parameters else {}
    return TabPE(
        epsilon=epsilon,
        n_samples=case.size,
        public_rows=table.data.num_rows,
        public_shares={one["values"]: one["counts"] / table.data.num_rows for one in counts},
        noise=noise,
        random_state=0,
        verbose=0,
        **threads,
    ).fit(table.data, table.schema)


def peak_megabytes() -> float:
    """Return the most memory that this process held.

    Linux hands `ru_maxrss` on from a large parent to the process that it starts, so the mark of
    the process itself comes first.
    """
    if STATUS.exists():
        lines = STATUS.read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024
    unit = 1024**2 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def whole_run(key: str, noise: str, *, quick: bool) -> dict[str, Any] | None:
    """Return what a process of its own measured; None if this version has no such noise."""
    module = [sys.executable, "-m", "benchmarks.voting.whole", key, noise]
    found = json.loads(output([*module, "--quick"] if quick else module))
    return found or None


def import_seconds(repeats: int = IMPORTS) -> float:
    """Return the least that `import tabpe` took in a fresh process."""
    return min(float(output([sys.executable, "-c", IMPORT])) for _ in range(repeats))


def output(command: list[str]) -> str:
    """Return what a command prints; what it says goes wrong ends this process."""
    # The commands are those of the benchmarks, word by word.
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr}")
    return done.stdout


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("case", choices=["a", "d"])
    parser.add_argument("noise")
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    case = CASES[arguments.case].quick() if arguments.quick else CASES[arguments.case]
    table = case.table(case.rows)
    try:
        first = seconds(lambda: fitted(case, table, arguments.noise))
    except ParameterError as refused:
        if not str(refused).startswith("noise="):
            raise
        print(json.dumps({}))
        return
    memory = peak_megabytes()
    later = min(
        seconds(lambda e=epsilon: fitted(case, table, arguments.noise, e)) for epsilon in ANEW
    )
    print(json.dumps({"first_s": first, "later_s": later, "peak_mb": memory}))


if __name__ == "__main__":
    main()
