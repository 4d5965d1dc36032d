"""AIM and MST of tabpe and of dpmm on the same table: errors of marginals, accuracy, time.

    python -m benchmarks.rivals [--methods mst aim] [--seeds 1] [--iterations 1000]
                           [--inference mbi] [--out benchmarks/results/rivals.json]

dpmm goes back to the code of the methods' authors, with messages passed in numpy. It is installed
into an environment of its own, build/dpmm. Both sides get the same codes of Adult (numbers at 16
quantiles; the cuts are not private, so only the methods are compared), epsilon 1, the same delta,
the settings of the papers, and the same steps of mirror descent; AIM of tabpe takes a tenth of them
in its rounds, dpmm all of them. Synthetic rows are cached in build/rivals. On a busy machine,
compare `cpu_seconds`.
"""

from __future__ import annotations

import argparse
import json
import time
import venv
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from benchmarks.common import ROOT, make_parser, run_command, write_record
from tabpe.baselines import AIM, MST, Baseline, SynthesisMethod
from tabpe.evaluation.metrics.distances import total_variation
from tabpe.evaluation.metrics.utility import measure_utility
from tabpe.evaluation.table_arrays import build_table_arrays
from tabpe.schema import Categorical, Column, Integer, Schema
from tabpe_lab.datasets import Dataset, load
from tabpe_lab.worker import collect_versions

EPSILON, DELTA = 1.0, 2.9e-6  # about 1 / (n ln n)
PACKAGE = "dpmm==0.1.9"
ENVIRONMENT, KEPT = ROOT.parent / "build" / "dpmm", ROOT.parent / "build" / "rivals"
METHODS = ("mst", "aim")
ORDERS = (1, 2, 3)


BINS = 16


@dataclass(frozen=True)
class Cells:
    """A table of codes, and their meaning.

    Args:
        schema: Numbers as the number of their bin, categories as they are.
        train: The training rows, in terms of the schema.
        test: The test rows.
    """

    schema: Schema
    train: pa.Table
    test: pa.Table

    @property
    def sizes(self) -> dict[str, int]:
        """The number of cells of each column."""
        return {column.name: _size(column) for column in self.schema.columns}

    def codes(self, table: pa.Table) -> pd.DataFrame:
        """Return rows in terms of the schema as codes."""
        frame = table.to_pandas()
        return pd.DataFrame(
            {c.name: _coded(frame[c.name], c) for c in self.schema.columns}, dtype=np.int64
        )

    def decoded(self, codes: pd.DataFrame) -> pa.Table:
        """Return codes as rows in terms of the schema."""
        columns = {}
        for column in self.schema.columns:
            values = codes[column.name].to_numpy()
            if isinstance(column, Categorical):
                values = np.array(column.values)[values]
            columns[column.name] = values
        return pa.table(columns)


def adult_in_cells() -> Cells:
    """Return Adult with numbers cut at quantiles of the training rows, which is not private."""
    data = load("adult")
    train, test = data.train.to_pandas(), data.test.to_pandas()
    columns: list[Column] = []
    for column in data.schema.columns:
        if isinstance(column, Categorical):
            columns.append(column)
            continue
        cuts = np.unique(np.quantile(train[column.name], np.linspace(0, 1, BINS + 1)[1:-1]))
        for frame in (train, test):
            frame[column.name] = np.searchsorted(cuts, frame[column.name], side="right")
        columns.append(Integer(column.name, 0, len(cuts)))
    return Cells(Schema(tuple(columns), label=data.label), _table(train, data), _table(test, data))


def _table(frame: pd.DataFrame, data: Dataset) -> pa.Table:
    return pa.Table.from_pandas(frame[list(data.schema.names)], preserve_index=False)


def _size(column: Column) -> int:
    return len(column.values) if isinstance(column, Categorical) else int(column.max) + 1


def _coded(values: pd.Series, column: Column) -> pd.Series:
    if not isinstance(column, Categorical):
        return values
    return values.map({value: place for place, value in enumerate(column.values)})


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
    script = Path(__file__).with_name("dpmm_side.py")
    output = run_command([_environment(), script, method, codes, sizes, out, *options])
    found: dict[str, Any] = json.loads(output.splitlines()[-1])
    return found


def _environment() -> Path:
    """Return the Python that has dpmm, after installing it where that is needed."""
    python = ENVIRONMENT / "bin" / "python"
    if not (ENVIRONMENT / ".done").exists():
        venv.create(ENVIRONMENT, with_pip=True, clear=True)
        run_command([python, "-m", "pip", "install", "--quiet", PACKAGE])
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
    names = ["accuracy", "seconds", "cpu_seconds"]
    frame = pd.DataFrame(results)
    errors = pd.DataFrame(list(frame["total_variation"])).add_suffix("-way TV")
    values = pd.concat([errors, frame[names]], axis=1).round(10)
    means = {
        method: {
            side: values[(frame["method"] == method) & (frame["side"] == side)].mean().round(5)
            for side in ("tabpe", "dpmm")
        }
        for method in frame["method"].unique()
    }
    return {
        "data": "Adult, numbers at 16 quantiles",
        "epsilon": EPSILON,
        "delta": DELTA,
        "iterations": given.iterations,
        "means": {m: {s: v.to_dict() for s, v in by.items()} for m, by in means.items()},
        "runs": results,
    }


def main() -> None:
    parser = make_parser(__doc__, "rivals", seeds=1, iterations=1000)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS)
    parser.add_argument("--inference", choices=("mbi", "numpy"), default="mbi")
    given = parser.parse_args()
    cells = adult_in_cells()
    results = []
    for seed in range(given.seeds):
        for method in given.methods:
            for side in ("tabpe", "dpmm"):
                made, about = _made(cells, side, method, seed, given)
                found = {"method": method, "side": side, "seed": seed, **about}
                results.append(found | _scores(cells, made))
                print(json.dumps(results[-1]), flush=True)
    write_record(given.out, "rivals", report(results, given))


if __name__ == "__main__":
    main()
