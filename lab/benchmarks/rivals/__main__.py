"""AIM and MST of tabpe and of dpmm on the same table: errors of marginals, accuracy, time.

    python -m benchmarks.rivals [--methods mst aim] [--seeds 1] [--iterations 1000]
                           [--inference mbi] [--out benchmarks/results/rivals.json]

dpmm goes back to the code of the methods' authors, with messages passed in numpy. It is installed
into an environment of its own, build/dpmm. Both sides get the same codes of Adult (numbers at 16
quantiles; the cuts are not private, so only the methods are compared), epsilon 1, the same delta,
the settings of the papers, and the same steps of mirror descent; AIM of tabpe takes a tenth of them
in its rounds, dpmm all of them. What is made is kept in build/rivals, and not made again. Seconds
are of the wall; a machine that does other work as well is fairly compared by seconds of the
processor.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import venv
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from benchmarks.reproduce import ROOT
from benchmarks.rivals.table import BINS, Cells, adult_in_cells
from tabpe.baselines import AIM, MST, Baseline, SynthesisMethod
from tabpe.evaluation.metrics.distances import total_variation
from tabpe.evaluation.metrics.utility import measure_utility
from tabpe.evaluation.table_arrays import build_table_arrays
from tabpe_lab.worker import collect_versions, describe_machine

EPSILON, DELTA = 1.0, 2.9e-6  # about 1 / (n ln n)
PACKAGE = "dpmm==0.1.9"
ENVIRONMENT, KEPT = ROOT.parent / "build" / "dpmm", ROOT.parent / "build" / "rivals"
METHODS = ("mst", "aim")
ORDERS = (1, 2, 3)


def main() -> None:
    given = _arguments()
    cells = adult_in_cells()
    results = []
    for seed in range(given.seeds):
        for method in given.methods:
            for side in ("tabpe", "dpmm"):
                made, about = _made(cells, side, method, seed, given)
                found = {"method": method, "side": side, "seed": seed, **about}
                results.append(found | _scores(cells, made))
                print(json.dumps(results[-1]), flush=True)
    given.out.write_text(json.dumps(report(results, given), indent=1) + "\n")


def _made(
    cells: Cells, side: str, method: str, seed: int, given: argparse.Namespace
) -> tuple[pa.Table, dict[str, Any]]:
    """Return the rows of one side, and how long it took; from an earlier run if there was one."""
    stem = f"{side}-{method}-{given.iterations}-{seed}"
    if side == "tabpe":
        stem += f"-{given.inference}"
    codes, about = KEPT / f"{stem}.csv", KEPT / f"{stem}.json"
    if not about.exists():
        KEPT.mkdir(parents=True, exist_ok=True)
        run = _ours if side == "tabpe" else _theirs
        about.write_text(json.dumps(run(cells, method, seed, codes, given)))
    return cells.decoded(pd.read_csv(codes)), json.loads(about.read_text())


def _ours(
    cells: Cells, method: str, seed: int, out: Path, given: argparse.Namespace
) -> dict[str, Any]:
    start, worked = time.perf_counter(), time.process_time()
    model = Baseline(
        _method(method, given),
        epsilon=EPSILON,
        delta=DELTA,
        public_rows=len(cells.train),
        bins="uniform",
        most_bins=BINS,
        random_state=seed,
    ).fit(cells.train, schema=cells.schema)
    seconds, worked = time.perf_counter() - start, time.process_time() - worked
    cells.codes(model.sample()).to_csv(out, index=False)
    times = {"seconds": round(seconds, 1), "cpu_seconds": round(worked, 1)}
    return {**times, "inference": given.inference, "versions": collect_versions()}


def _method(name: str, given: argparse.Namespace) -> SynthesisMethod:
    if name == "mst":
        return MST(iterations=given.iterations, inference=given.inference)
    return AIM(
        max_iterations=given.iterations,
        round_iterations=max(given.iterations // 10, 1),
        inference=given.inference,
    )


def _theirs(
    cells: Cells, method: str, seed: int, out: Path, given: argparse.Namespace
) -> dict[str, Any]:
    codes, sizes = KEPT / "codes.csv", KEPT / "sizes.json"
    cells.codes(cells.train).to_csv(codes, index=False)
    sizes.write_text(json.dumps(cells.sizes))
    numbers = {"epsilon": EPSILON, "delta": DELTA, "iterations": given.iterations, "seed": seed}
    options = [part for name, value in numbers.items() for part in (f"--{name}", str(value))]
    script = Path(__file__).with_name("theirs.py")
    done = subprocess.run(  # noqa: S603
        [_environment(), script, method, codes, sizes, out, *options],
        check=True,
        capture_output=True,
        text=True,
    )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def _environment() -> Path:
    """Return the Python that has dpmm, after installing it where that is needed."""
    python = ENVIRONMENT / "bin" / "python"
    if not (ENVIRONMENT / ".done").exists():
        venv.create(ENVIRONMENT, with_pip=True, clear=True)
        subprocess.run(  # noqa: S603
            [python, "-m", "pip", "install", "--quiet", PACKAGE], check=True
        )
        (ENVIRONMENT / ".done").touch()
    return python


def _scores(cells: Cells, made: pa.Table) -> dict[str, Any]:
    real, synthetic, test = build_table_arrays(cells.schema, [cells.train, made, cells.test])
    errors = total_variation(real, synthetic, ORDERS, bins=BINS, subsets=None)
    scored = measure_utility(real, synthetic, test, rows=None)
    accuracy = {} if scored is None else {s.trained_on: s.scores["accuracy"] for s in scored.scores}
    return {
        "total_variation": {str(one.order): round(one.distance, 5) for one in errors},
        "accuracy": round(accuracy["synthetic"], 4),
        "accuracy_of_real_rows": round(accuracy["real"], 4),
    }


def report(results: list[dict[str, Any]], given: argparse.Namespace) -> dict[str, Any]:
    """Return what is written: means of both sides of each method, and every run."""
    means: dict[str, dict[str, dict[str, float]]] = {}
    for method in dict.fromkeys(one["method"] for one in results):
        for side in ("tabpe", "dpmm"):
            runs = [r for r in results if (r["method"], r["side"]) == (method, side)]
            flat = [
                {f"{k}-way TV": v for k, v in r["total_variation"].items()}
                | {name: r[name] for name in ("accuracy", "seconds", "cpu_seconds")}
                for r in runs
            ]
            means.setdefault(method, {})[side] = {
                name: round(float(np.mean([one[name] for one in flat])), 5) for name in flat[0]
            }
    return {
        "command": f"python -m benchmarks.rivals {' '.join(sys.argv[1:])}".strip(),
        "machine": describe_machine(),
        "data": "Adult, numbers at 16 quantiles",
        "epsilon": EPSILON,
        "delta": DELTA,
        "iterations": given.iterations,
        "means": means,
        "runs": results,
    }


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--iterations", type=int, default=1000)
    parser.add_argument("--inference", choices=("mbi", "numpy"), default="mbi")
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results" / "rivals.json")
    return parser.parse_args()


if __name__ == "__main__":
    main()
