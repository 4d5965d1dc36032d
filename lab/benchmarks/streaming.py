"""A table of 20 million rows from Parquet on disk, synthesised in constant memory.

    python -m benchmarks.streaming [--rows 20000000] [--folder DIR] [--out FILE]

Writes a simulated table (9 numbers and a class, float32, in files of a million rows), then evolves
2,000 rows from it with the paper preset, each time in a process of its own:

- `stream`, with OpenDP noise, chosen because of a memory limit of 64 MB: peak memory and time.
- `stream` and `local` with the same seed and fake, repeatable noise: the history and the rows must
  be identical, which shows that all votes were.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import tabpe
from benchmarks.common import (
    compute_digest,
    make_parser,
    measure_peak_megabytes,
    run_benchmark,
    write_record,
)
from tabpe.accounting.noise import FakeNoise

NUMBERS = 9
FACTORS = 4
ROWS_A_FILE = 1_000_000
SIZE = 2000
LARGEST_MEMORY = 1.5 * 2**30
RUNS = {
    "stream, OpenDP noise": {"memory_limit": "64MB"},
    "stream, fake noise": {"memory_limit": "64MB", "fake": True},
    "local, fake noise": {"engine": "local", "fake": True},
}


def schema() -> tabpe.Schema:
    """Numbers between bounds that nearly all of them keep, and two classes."""
    numbers = [tabpe.Float(f"x{place}", -4.0, 4.0) for place in range(NUMBERS)]
    return tabpe.Schema((*numbers, tabpe.Categorical("y", (0, 1))), label="y")


def write_table(folder: Path, rows: int) -> None:
    """Write numbers of few common factors, the class by the sign of a product of two."""
    mixing = np.random.default_rng(0).normal(size=(FACTORS, NUMBERS)) / 2
    for number, start in enumerate(range(0, rows, ROWS_A_FILE)):
        rng = np.random.default_rng([1, number])
        factors = rng.normal(size=(min(ROWS_A_FILE, rows - start), FACTORS))
        numbers = (factors @ mixing + 0.2 * rng.normal(size=(len(factors), NUMBERS))).astype("f4")
        columns = {f"x{place}": column for place, column in enumerate(numbers.T)}
        columns["y"] = (factors[:, 0] * factors[:, 1] > 0).astype(np.int8)
        pq.write_table(pa.table(columns), folder / f"part-{number:03}.parquet")


def evolve(folder: Path, *, fake: bool = False, **settings: Any) -> dict[str, Any]:
    """Run once in this process."""
    warnings.simplefilter("ignore", tabpe.errors.NotPrivateWarning)
    start = time.perf_counter()
    model = tabpe.TabPE(
        epsilon=1.0,
        delta=1e-9,
        n_samples=SIZE,
        preset="paper",
        noise=FakeNoise(seed=0) if fake else "opendp",
        random_state=0,
        verbose=0,
        **settings,
    ).fit(folder, schema())
    seconds = time.perf_counter() - start
    peak = round(measure_peak_megabytes() * 2**20)
    digest = compute_digest([model.history_, model.sample().to_pylist()])
    return {"seconds": round(seconds, 1), "peak_bytes": peak, "sha256": digest}


def in_own_process(folder: Path, name: str) -> dict[str, Any]:
    """Run once in a fresh process, so that the peak is its own."""
    result: dict[str, Any] = run_benchmark("streaming", "--run", name, "--folder", folder)
    megabytes = result["peak_bytes"] / 2**20
    print(f"{name:<22} {result['seconds']:>7.1f} s {megabytes:>7.0f} MB", flush=True)
    return result


def compare(folder: Path, rows: int) -> dict[str, Any]:
    """Write the table and make all runs."""
    write_table(folder, rows)
    size = sum(file.stat().st_size for file in folder.glob("*.parquet"))
    print(f"{rows:,} rows, {NUMBERS + 1} columns, {size / 2**20:,.0f} MB of Parquet", flush=True)
    results = {name: in_own_process(folder, name) for name in RUNS}
    streamed, held = (results[name]["sha256"] for name in list(RUNS)[1:])
    peak = results["stream, OpenDP noise"]["peak_bytes"]
    return {
        "rows": rows,
        "columns": NUMBERS + 1,
        "parquet_bytes": size,
        "evolved": SIZE,
        "runs": results,
        "peak_below_1.5_GB": peak < LARGEST_MEMORY,
        "same_votes_streamed_and_in_memory": streamed == held,
    }


def main() -> None:
    parser = make_parser(__doc__, "streaming", rows=20_000_000)
    parser.add_argument("--folder", type=Path, help="where the table is written; deleted after")
    parser.add_argument("--run", choices=RUNS, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.run:
        print(json.dumps(evolve(arguments.folder, **RUNS[arguments.run])))
        return
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        record = compare(Path(folder), arguments.rows)
    for name in ("peak_below_1.5_GB", "same_votes_streamed_and_in_memory"):
        print(f"{name:<34} {'ok' if record[name] else 'FAILED'}")
    write_record(arguments.out, "streaming", record)


if __name__ == "__main__":
    main()
