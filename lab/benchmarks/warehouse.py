"""A million rows synthesised from a table in PostgreSQL, against the same rows in Parquet.

    python -m benchmarks.warehouse [--rows 1000000] [--out benchmarks/results/warehouse.json]

Starts a server of its own (as the tests do), loads a simulated table of 10 columns of many types,
and makes 10,000 rows from it with the default preset, each time in a process of its own:

- from a tenth of the rows and from all of them: the peak memory of our process must be about the
  same, because rows are streamed;
- from the same rows in Parquet, with the same engine: the ratio of the times;
- from both with fake, repeatable noise: the synthetic rows must be identical.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import statistics
import sys
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
    ROOT,
    compute_digest,
    make_parser,
    measure_peak_megabytes,
    run_benchmark,
    write_record,
)
from tabpe.accounting.noise import FakeNoise
from tabpe.io import use_source

SIZE = 10_000
REPEATS = 3
WARDS = ("heart", "lung", "skin", "eye", "bone")
FIRST, LAST = datetime.date(2020, 1, 1), datetime.date(2024, 12, 31)


def schema() -> tabpe.Schema:
    """Ten declared columns; the table has an id and a note beside them."""
    return tabpe.Schema(
        (
            tabpe.Integer("age", 0, 100),
            tabpe.Integer("stay", 0, 60),
            tabpe.Float("weight", 30.0, 200.0),
            tabpe.Float("height", 100.0, 220.0),
            tabpe.Float("cost", 0.0, 20_000.0, decimals=2),
            tabpe.Categorical("ward", WARDS),
            tabpe.Categorical("sex", ("f", "m")),
            tabpe.Date("admitted", FIRST, LAST),
            tabpe.Boolean("insured"),
            tabpe.Boolean("ill"),
        ),
        label="ill",
    )


def made_up(rows: int) -> pa.Table:
    """Rows in which most columns depend on age."""
    rng = np.random.default_rng(0)
    age = rng.integers(0, 101, rows)
    days = rng.integers(0, (LAST - FIRST).days, rows)
    cost = np.round(np.minimum(rng.gamma(2, 20 + 10 * age), 20_000), 2)
    return pa.table(
        {
            "id": np.arange(rows),
            "age": age,
            "stay": np.minimum(rng.poisson(1 + age / 10), 60),
            "weight": np.clip(rng.normal(40 + age / 2, 15), 30, 200),
            "height": np.clip(rng.normal(165, 12, rows), 100, 220),
            "cost": pa.array(cost).cast(pa.string()).cast(pa.decimal128(10, 2)),
            "ward": pa.array(np.array(WARDS)[(age // 21 + rng.integers(0, 2, rows)) % 5]),
            "sex": pa.array(rng.choice(["f", "m"], rows)),
            "admitted": pa.array(days + FIRST.toordinal() - 719_163, pa.int32()).cast(pa.date32()),
            "insured": rng.integers(0, 5, rows) > 0,
            "ill": rng.random(rows) < age / 120,
            "note": pa.array(["nobody reads this"] * rows),
        }
    )


def evolve(data: Any, *, fake: bool) -> dict[str, Any]:
    """Run once in this process; say how long it took and how much memory."""
    warnings.simplefilter("ignore", tabpe.errors.NotPrivateWarning)
    began = time.perf_counter()
    with use_source(data) as source:
        for _ in source.batches(schema().names):
            pass
    reading = time.perf_counter() - began
    began = time.perf_counter()
    model = tabpe.TabPE(
        epsilon=1.0,
        delta=1e-9,
        n_samples=SIZE,
        noise=FakeNoise(seed=0) if fake else "exact",
        engine="stream",
        random_state=0,
        verbose=0,
    ).fit(data, schema())
    rows = model.sample()
    return {
        "seconds": round(time.perf_counter() - began, 2),
        "reading_seconds": round(reading, 2),
        "peak_mb": round(measure_peak_megabytes()),
        "digest": compute_digest(rows.to_pylist()),
    }


def data_of(place: str) -> Any:
    """Return the table of a child process: a path, or a table of the server."""
    return tabpe.SqlTable(os.environ["WAREHOUSE"], place[3:]) if place[:3] == "pg:" else place


def run_apart(place: str, address: str, *words: str) -> dict[str, Any]:
    """Run once in a process of its own."""
    found: dict[str, Any] = run_benchmark("warehouse", "--run", place, *words, WAREHOUSE=address)
    return found


def summary(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Return medians of times, all times, and the largest peak."""
    return {
        "seconds": statistics.median(run["seconds"] for run in runs),
        "all_seconds": [run["seconds"] for run in runs],
        "reading_seconds": statistics.median(run["reading_seconds"] for run in runs),
        "peak_mb": max(run["peak_mb"] for run in runs),
    }


def measure(rows: int) -> dict[str, Any]:
    """Start a server, load the table, and run from it and from Parquet."""
    sys.path.append(str(ROOT.parent / "tests" / "support"))
    import postgres  # type: ignore[import-not-found]

    table = made_up(rows)
    few = table.slice(0, rows // 10)
    with tempfile.TemporaryDirectory() as folder, postgres.running(postgres.binaries()) as server:
        path = Path(folder, "visits.parquet")
        pq.write_table(table, path)
        began = time.perf_counter()
        for name, part in (("visits", table), ("few", few)):
            server.load(name, part)
            server.run(f"ALTER TABLE {name} ALTER cost TYPE numeric(10, 2)")
        loaded = round(time.perf_counter() - began, 1)
        pq.write_table(few, Path(folder, "few.parquet"))
        places = {
            "PostgreSQL, a tenth of the rows": "pg:few",
            "PostgreSQL": "pg:visits",
            "Parquet": str(path),
        }
        # By turns, so that whatever else the machine does is spread over all of them.
        turns = [
            {name: run_apart(place, server.address) for name, place in places.items()}
            for _ in range(REPEATS)
        ]
        fakes = [
            run_apart(place, server.address, "--fake")["digest"]
            for place in ("pg:few", str(Path(folder, "few.parquet")))
        ]
    runs = {name: summary([turn[name] for turn in turns]) for name in places}
    tenth, whole, files = runs.values()
    return {
        "rows": rows,
        "columns": len(schema().columns),
        "evolved": SIZE,
        "loading_seconds": loaded,
        "runs": runs,
        "memory_ratio_to_a_tenth": round(whole["peak_mb"] / tenth["peak_mb"], 2),
        "time_ratio_to_parquet": round(whole["seconds"] / files["seconds"], 2),
        "identical_rows_with_fake_noise": fakes[0] == fakes[1],
    }


def main() -> None:
    """Measure and write, or run once for the process that measures."""
    parser = make_parser(__doc__, "warehouse", rows=1_000_000)
    parser.add_argument("--run", help=argparse.SUPPRESS)
    parser.add_argument("--fake", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.run is not None:
        print(json.dumps(evolve(data_of(given.run), fake=given.fake)))
        return
    found = measure(given.rows)
    print(json.dumps(found, indent=2))
    write_record(given.out, "warehouse", found)


if __name__ == "__main__":
    main()
