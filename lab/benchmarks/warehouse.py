"""A million rows evolved straight from a table in PostgreSQL, against the same rows in Parquet.

    python -m benchmarks.warehouse [--rows 1000000] [--out benchmarks/results/warehouse.json]

Starts a server of its own (as the tests do), loads a made-up table of 10 columns of many types, and
evolves 10,000 rows from it with the default preset, each time in a process of its own:

- from a tenth of the rows and from all of them: the peak memory of our process must be about the
  same, because rows are streamed;
- from the same rows in Parquet, with the same engine: the ratio of the times;
- from both with a fake, repeatable source of noise: the rows at the end must be identical.
"""

from __future__ import annotations

import argparse
import datetime
import hashlib
import json
import os
import platform
import statistics
import subprocess
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
from tabpe.accounting.noise import FakeNoise
from tabpe.io import use_source

ROOT = Path(__file__).resolve().parents[1]
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
        noise=FakeNoise(seed=0) if fake else "opendp",
        engine="stream",
        random_state=0,
        verbose=0,
    ).fit(data, schema())
    rows = model.sample()
    return {
        "seconds": round(time.perf_counter() - began, 2),
        "reading_seconds": round(reading, 2),
        "peak_mb": peak_mb(),
        "digest": hashlib.sha256(json.dumps(rows.to_pylist(), default=str).encode()).hexdigest(),
    }


def peak_mb() -> int:
    """Return the most memory of this process; `ru_maxrss` would count that of its parent too."""
    lines = Path("/proc/self/status").read_text().splitlines()
    (peak,) = [line for line in lines if line.startswith("VmHWM:")]
    return round(int(peak.split()[1]) / 1024)


def data_of(place: str) -> Any:
    """Return the table of a child process: a path, or a table of the server."""
    return tabpe.SqlTable(os.environ["WAREHOUSE"], place[3:]) if place[:3] == "pg:" else place


def in_a_process(place: str, address: str, *, fake: bool = False) -> dict[str, Any]:
    """Run once in a process of its own."""
    words = [
        sys.executable,
        "-m",
        "benchmarks.warehouse",
        "--run",
        place,
        *(["--fake"] if fake else []),
    ]
    environment = os.environ | {"WAREHOUSE": address}
    told = subprocess.run(  # noqa: S603
        words, check=True, capture_output=True, cwd=ROOT, env=environment
    )
    return json.loads(told.stdout)


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
            {name: in_a_process(place, server.address) for name, place in places.items()}
            for _ in range(REPEATS)
        ]
        fakes = [
            in_a_process(place, server.address, fake=True)["digest"]
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
        "machine": {
            "cores": os.cpu_count(),
            "python": platform.python_version(),
            "load_average": [round(load, 1) for load in os.getloadavg()],
        },
    }


def main() -> None:
    """Measure and write, or run once for the process that measures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument(
        "--out", type=Path, default=ROOT / "benchmarks" / "results" / "warehouse.json"
    )
    parser.add_argument("--run")
    parser.add_argument("--fake", action="store_true")
    given = parser.parse_args()
    if given.run is not None:
        print(json.dumps(evolve(data_of(given.run), fake=given.fake)))
        return
    found = measure(given.rows)
    text = json.dumps(found, indent=2) + "\n"
    given.out.write_text(text)
    print(text)


if __name__ == "__main__":
    main()
