"""Whole runs before and after a change, in turns: does reading cells in one form cost time?

    python -m benchmarks.storage --before /path/to/old/.venv/bin/python [--repeats 5]

Each run is a process of its own: it makes a table, fits once on few rows, so that loading packages
is not counted, and then times `fit` on one thread. Runs of the two versions take turns. Times are
those of the processor. The figure is the ratio of the medians, and of the least times.

- 35,000 rows, ten numbers and two classes: the default strategy.
- 35,000 rows with six categories as text and four numbers: the default strategy.
- 5,000,000 rows, ten numbers and two classes: the paper's algorithm, 2,000 rows.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PROGRAM = """
import sys, time, warnings
import numpy as np, pandas as pd
from tabpe import Categorical, Float, Schema, TabPE

rows, texts, preset = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
hidden = rng.normal(size=(rows, 5)).astype(np.float32)
columns = {f"x{i}": hidden[:, i % 5] + rng.normal(0, 0.5, rows) for i in range(10 - texts)}
words = np.array([f"value {i}" for i in range(12)])
columns |= {f"c{i}": words[rng.integers(0, 12, rows)] for i in range(texts)}
columns["y"] = np.where(hidden[:, 0] * hidden[:, 1] > 0, "yes", "no")
frame = pd.DataFrame(columns)
schema = Schema(
    (*(Float(f"x{i}", -6.0, 6.0) for i in range(10 - texts)),
     *(Categorical(f"c{i}", tuple(words.tolist())) for i in range(texts)),
     Categorical("y", ("no", "yes"))), label="y")
options = {"epsilon": 1.0, "delta": 1e-6, "public_rows": rows, "noise": "table", "preset": preset,
           "public_shares": {"no": 0.5, "yes": 0.5}, "random_state": 0, "verbose": 0, "n_jobs": 1}
size = {"n_samples": 2000} if preset == "paper" else {}
TabPE(**options | {"public_rows": 500}, n_samples=200).fit(frame[:500], schema)
started = time.process_time()
TabPE(**options, **size).fit(frame, schema)
print(time.process_time() - started)
"""
CASES = {
    "35,000 rows, numbers, default": (35_000, 0, "best"),
    "35,000 rows, text and numbers, default": (35_000, 6, "best"),
    "5,000,000 rows, numbers, paper": (5_000_000, 0, "paper"),
}


def time_run(python: str, case: tuple[int, int, str]) -> float:
    """Return the seconds of one run of an installation."""
    rows, texts, preset = case
    command = [python, "-c", PROGRAM, str(rows), str(texts), preset]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd="/")  # noqa: S603
    return float(done.stdout.strip().splitlines()[-1])


def compare(before: str, case: tuple[int, int, str], repeats: int) -> dict[str, Any]:
    """Return the times of both versions, which take turns."""
    times: dict[str, list[float]] = {"before": [], "after": []}
    for _ in range(repeats):
        times["before"].append(time_run(before, case))
        times["after"].append(time_run(sys.executable, case))
    middle = {name: statistics.median(found) for name, found in times.items()}
    return {
        "seconds": {name: [round(one, 3) for one in found] for name, found in times.items()},
        "ratio_of_medians": round(middle["after"] / middle["before"], 3),
        "ratio_of_least": round(min(times["after"]) / min(times["before"]), 3),
    }


def main() -> None:
    """Time all cases and write the record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", required=True, help="the Python of the other installation")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks/results/storage.json")
    given = parser.parse_args()
    found = {name: compare(given.before, case, given.repeats) for name, case in CASES.items()}
    command = "python -m benchmarks.storage --before /path/to/the/other/.venv/bin/python"
    given.out.write_text(json.dumps({"command": command, "cases": found}, indent=2) + "\n")
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
