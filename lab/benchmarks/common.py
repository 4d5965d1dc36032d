"""Shared parts of the benchmarks: arguments, records, clocks, processes and public tables.

Public tables are read from $TABPE_DATA, or else from `shared/data` beside the checkout.
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import json
import math
import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import tabpe
from tabpe.schema import Schema, Source
from tabpe_lab.worker import CPU, find_version, read_peak_megabytes, read_system_field

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
DATA = Path(os.environ.get("TABPE_DATA", ROOT.parents[1] / "shared" / "data"))
EPSILON = 1.0
PACKAGES = (
    *("tabpe", "numpy", "scipy", "pandas", "pyarrow", "scikit-learn", "opendp", "pot"),
    *("sdmetrics", "faiss-cpu", "torch"),
)
FLAGS = ("sse4_2", "avx", "f16c", "fma", "avx2", "avx512f", "avx512bw", "avx512vl", "avx512_vnni")


def make_parser(doc: str, name: str, **numbers: int) -> argparse.ArgumentParser:
    """Return a parser with `--out` (results/NAME.json) and an option for each number."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("--out", type=Path, default=RESULTS / f"{name}.json")
    for option, default in numbers.items():
        parser.add_argument(f"--{option}", type=int, default=default)
    return parser


def write_record(out: Path, name: str, content: Mapping[str, Any]) -> None:
    """Write a result file: the command, the machine, and the content."""
    words = [word for word in sys.argv[1:] if str(out) != word and word != "--out"]
    record = {
        "command": " ".join(["python", "-m", f"benchmarks.{name}", *words]),
        "machine": describe_machine(),
        **content,
    }
    out.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


def describe_machine() -> dict[str, Any]:
    """Return the processor, the versions, and how busy the machine is."""
    from threadpoolctl import threadpool_info

    from tabpe import native

    return {
        "cpu": read_system_field(CPU, "model name") or platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "flags": [flag for flag in FLAGS if flag in list_cpu_flags()],
        "load average at the start": [round(load, 2) for load in os.getloadavg()],
        "system": platform.platform(),
        "python": platform.python_version(),
        "packages": {name: found for name in PACKAGES if (found := find_version(name))},
        "native instruction sets": native.search.instruction_sets() if native.search else None,
        "BLAS": {
            Path(pool["filepath"]).name: pool.get("architecture")
            for pool in threadpool_info()
            if pool["user_api"] == "blas"
        },
    }


@cache
def list_cpu_flags() -> frozenset[str]:
    """Return the instruction sets of the processor; none where the system does not name them."""
    return frozenset(read_system_field(CPU, "flags").split())


def measure_peak_megabytes() -> float:
    """Return the peak memory of this process.

    Linux hands `ru_maxrss` on from a large parent to the process that it starts, so the mark of
    the process itself comes first.
    """
    unit = 1024**2 if sys.platform == "darwin" else 1024
    return read_peak_megabytes() or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def run_command(command: Sequence[Any], **environment: str) -> str:
    """Return the output of a command in the folder `lab`; if it fails, end with its errors."""
    done = subprocess.run(  # noqa: S603 - commands of the benchmarks
        [*map(str, command)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | environment,
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))} failed:\n{done.stderr}")
    return done.stdout


def run_benchmark(name: str, *words: Any, **environment: str) -> Any:
    """Run a benchmark in a process of its own; return its last line, which is JSON."""
    command = [sys.executable, "-m", f"benchmarks.{name}", *words]
    return json.loads(run_command(command, **environment).splitlines()[-1])


def measure_seconds(task: Callable[[], object]) -> float:
    """Return the duration of one call."""
    start = time.perf_counter()
    task()
    return time.perf_counter() - start


def run_fastest(tasks: Sequence[Callable[[], Any]], repeats: int) -> list[tuple[Any, float, float]]:
    """Return the result of each task, its least duration and least processor time, in turns."""
    found: list[tuple[Any, float, float]] = [(None, math.inf, math.inf)] * len(tasks)
    for _ in range(repeats):
        for index, task in enumerate(tasks):
            clock, processor = time.perf_counter(), time.process_time()
            result = task()
            times = time.perf_counter() - clock, time.process_time() - processor
            _, *least = found[index]
            found[index] = (result, min(times[0], least[0]), min(times[1], least[1]))
    return found


def summarize_scores(scores: Sequence[float]) -> dict[str, Any]:
    """Return scores with their mean and standard deviation, rounded."""
    return {
        "scores": [round(score, 4) for score in scores],
        "mean": round(float(np.mean(scores)), 4),
        "std": round(float(np.std(scores)), 4),
    }


def compute_slope(points: Mapping[float, float]) -> float:
    """Return the exponent of a power law through the points, by least squares of the logarithms.

    Example:
        >>> round(compute_slope({1: 3.0, 10: 30.0, 100: 300.0}), 6)
        1.0
    """
    sizes, values = np.log(list(points)), np.log(list(points.values()))
    return float(np.polyfit(sizes, values, 1)[0])


def compute_digest(content: Any) -> str:
    """Return the SHA-256 of plain values."""
    return hashlib.sha256(json.dumps(content, default=str).encode()).hexdigest()


def read_public_table(name: str) -> pd.DataFrame:
    """Return a public table in which a question mark is a value like any other."""
    if not DATA.is_dir():
        raise SystemExit(f"{DATA}: no data there. Set TABPE_DATA to a folder that has it.")
    return pd.read_csv(DATA / f"{name}.csv.gz", na_filter=False)


def read_splits(name: str, *parts: str) -> list[pd.DataFrame]:
    """Return splits of the paper's authors; training and test rows unless others are named."""
    return [read_public_table(f"{name}_{part}") for part in parts or ("train", "test")]


def publish(schema: Schema) -> Schema:
    """Mark a schema as public, as that of a published data set is."""
    columns = (dataclasses.replace(column, source=Source.PUBLIC) for column in schema.columns)
    return dataclasses.replace(schema, columns=tuple(columns))


def make_public_model(table: pd.DataFrame, label: str, **settings: Any) -> tabpe.TabPE:
    """Return a model that takes the number of rows and the class shares as public.

    The paper does so too. The preset is `paper` and epsilon is 1 unless settings say otherwise.
    """
    usual = {
        "epsilon": EPSILON,
        "preset": "paper",
        "public_rows": len(table),
        "public_shares": table[label].value_counts(normalize=True).to_dict(),
        "verbose": 0,
    }
    return tabpe.TabPE(**usual | settings)
