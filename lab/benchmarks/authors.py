"""Whole runs against the package of the paper's authors, on the same tables and one thread.

    TABPE_AUTHORS=FOLDER python -m benchmarks.authors [--repeats 2] [--quick] [--out FILE]

FOLDER is a checkout of microsoft/DPSDA, whose package `pe` is theirs; it is read and not changed.
It needs torch, and `pip install omegaconf==2.3.0 generalimport`. Of its parts for images and text
nothing is loaded, so what these need is not either.

The tables are cases a (35,000 rows, ten numbers) and d (Adult, eight of 14 columns categories) of
`benchmarks.voting`, with epsilon 1, 2,000 rows and their 15 populations, which are 14 histograms.
Theirs runs as in their example, with `backend="torch"`, without checkpoints and scores. Ours runs
as the preset `paper`, which asks for one histogram more, and as `reference`, which has the settings
of their code. Both know bounds and class shares.

Each system has a process of its own, which runs once on few rows before the clock starts: packages
are loaded then. Reading the table is not timed for them, and is for us. Each run has an epsilon of
its own, so that no calibration is reused. The least of the runs counts; processor times are there
too, which other programs on the machine disturb little.
"""

from __future__ import annotations

import argparse
import importlib.machinery
import json
import math
import os
import sys
import tempfile
import time
import types
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import (
    EPSILON,
    make_parser,
    make_public_model,
    measure_peak_megabytes,
    run_benchmark,
    write_record,
)
from benchmarks.strategies import ONE_THREAD
from benchmarks.voting.cases import CASES, Case, Table
from tabpe import Categorical
from tabpe.evolution import PRESETS

KEYS = ("a", "d")
AUTHORS = "authors"
OURS = ("paper", "reference")
WARM_ROWS = 600
LEAST_GAIN = 40.0
GROWING = 5
# The parts of their package that a table needs nothing of.
LEFT_OUT = ("image", "text")
Run = Callable[[], object]


class EmptyModules(MetaPathFinder, Loader):
    """Stands in for the parts of their package that are left out: every name in them is None."""

    def find_spec(self, name: str, *_: Any) -> importlib.machinery.ModuleSpec | None:
        """Return a specification of an empty module, for a part that is left out."""
        parts = name.split(".")
        if parts[0] == "pe" and parts[-1] in LEFT_OUT:
            return importlib.machinery.ModuleSpec(name, self)
        return None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        """Return a module in which every name is None."""
        module = types.ModuleType(spec.name)
        module.__getattr__ = lambda _: None  # type: ignore[method-assign]
        return module

    def exec_module(self, module: types.ModuleType) -> None:
        """Run nothing."""


def find_package() -> Path:
    """Return the checkout of the authors' package; end if there is none."""
    package = Path(os.environ.get("TABPE_AUTHORS", "")).resolve()
    if not (package / "pe" / "runner").is_dir():
        raise SystemExit("Set TABPE_AUTHORS to a checkout of microsoft/DPSDA.")
    return package


def prepare_authors(
    package: Path, table: Table, size: int, folder: Path, epsilon: float = EPSILON
) -> Run:
    """Return a run of their package on a table that it has read."""
    if str(package) not in sys.path:
        sys.path.insert(0, str(package))
        sys.meta_path.insert(0, EmptyModules())
    import torch
    from pe.api import TabularAPI
    from pe.data import TabularCSV
    from pe.embedding import TabularEmbedding
    from pe.histogram import NearestNeighbors
    from pe.population import CompositePopulation, PEPopulation
    from pe.runner import PE

    torch.set_num_threads(1)
    rounds = PRESETS["reference"].rounds + 1
    rows = TabularCSV(*_write_csv(table, folder))
    info = rows.get_tab_info()

    def run() -> object:
        api = TabularAPI(info=info, num_iterations=rounds)
        sampling = PEPopulation(
            api=api,
            initial_variation_api_fold=0,
            next_variation_api_fold=1,
            keep_selected=False,
            selection_mode="sample",
            histogram_threshold=0,
        )
        ranking = PEPopulation(
            api=api,
            initial_variation_api_fold=3,
            next_variation_api_fold=3,
            keep_selected=True,
            selection_mode="rank",
        )
        populations = [sampling] * GROWING + [ranking] * (rounds - GROWING)
        histogram = NearestNeighbors(
            embedding=TabularEmbedding(info=info), mode="L2", lookahead_degree=0, backend="torch"
        )
        count = table.data.num_rows
        return PE(
            priv_data=rows,
            population=CompositePopulation(populations=populations),
            histogram=histogram,
        ).run(
            num_samples_schedule=[size] * rounds,
            delta=1 / count / math.log(count),
            epsilon=epsilon,
            save_checkpoint=False,
        )

    return run


def _write_csv(table: Table, folder: Path) -> tuple[str, str]:
    """Write a table as their package reads it; return the paths of the rows and of the columns."""
    label = str(table.schema.label)
    listed = [c.name for c in table.schema.columns if isinstance(c, Categorical)]
    known = {
        "cat_columns": [name for name in listed if name != label],
        "int_columns": [],
        "float_columns": [c.name for c in table.schema.columns if c.name not in {*listed, label}],
        "label_columns": [label],
    }
    rows, columns = folder / "rows.csv", folder / "columns.json"
    table.data.to_pandas().to_csv(rows, index=False)
    columns.write_text(json.dumps(known))
    return str(rows), str(columns)


def prepare_ours(preset: str, table: Table, size: int, epsilon: float = EPSILON) -> Run:
    """Return a run of ours."""
    model = make_public_model(
        table.data.to_pandas(),
        str(table.schema.label),
        epsilon=epsilon,
        preset=preset,
        n_samples=size,
        n_jobs=1,
        random_state=0,
    )
    return lambda: model.fit(table.data, table.schema).sample()


def time_system(system: str, case: Case, package: Path, repeats: int) -> dict[str, Any]:
    """Run in this process."""
    with tempfile.TemporaryDirectory() as folder:

        def prepare(rows: int, size: int, epsilon: float = EPSILON) -> Run:
            if system == AUTHORS:
                return prepare_authors(package, case.table(rows), size, Path(folder), epsilon)
            return prepare_ours(system, case.table(rows), size, epsilon)

        prepare(WARM_ROWS, WARM_ROWS // 6)()
        times = []
        for repeat in range(repeats):
            # Theirs keeps what it computed of the rows.
            run = prepare(case.rows, case.size, EPSILON * (1 + (repeat + 1) / 100))
            clock, processor = time.perf_counter(), time.process_time()
            run()
            times.append((time.perf_counter() - clock, time.process_time() - processor))
    seconds, processor_seconds = (round(float(least), 3) for least in np.min(times, axis=0))
    return {
        "seconds": seconds,
        "processor_seconds": processor_seconds,
        "peak_mb": round(measure_peak_megabytes()),
    }


def compute_gains(runs: dict[str, dict[str, Any]]) -> dict[str, float]:
    """Return how many times longer theirs takes than each of ours.

    Example:
        >>> compute_gains({"authors": {"seconds": 9.0}, "paper": {"seconds": 0.2}})
        {'paper': 45.0}
    """
    least = runs[AUTHORS]["seconds"]
    return {name: round(least / runs[name]["seconds"], 1) for name in runs if name != AUTHORS}


def measure_case(key: str, words: Sequence[Any]) -> dict[str, Any]:
    """Measure all systems on a case, each in a process of its own."""
    runs = {}
    for system in (AUTHORS, *OURS):
        runs[system] = found = run_benchmark("authors", "--run", system, key, *words)
        print(
            f"{key} {system:<10} {found['seconds']:>8.2f} s"
            f" ({found['processor_seconds']:.2f} s of the processor) {found['peak_mb']:>6} MB",
            flush=True,
        )
    return {"table": _get_case(key, words).table(WARM_ROWS).source, "runs": runs} | {
        "times_faster": compute_gains(runs)
    }


def _get_case(key: str, words: Sequence[Any]) -> Case:
    return CASES[key].quick() if "--quick" in words else CASES[key]


def main() -> None:
    parser = make_parser(__doc__, "authors", repeats=2)
    parser.add_argument("--quick", action="store_true", help="few rows: a smoke run")
    parser.add_argument("--run", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    os.environ.update(dict.fromkeys(ONE_THREAD, "1"))
    words = ["--repeats", arguments.repeats, *(["--quick"] if arguments.quick else [])]
    if arguments.run:
        system, key = arguments.run
        case = _get_case(key, words)
        print(json.dumps(time_system(system, case, find_package(), arguments.repeats)))
        return
    cases = {key: measure_case(key, words) for key in KEYS}
    goals = {
        f"{key}: at least {LEAST_GAIN:g} times as fast as the authors' package": (
            found["times_faster"]["paper"] >= LEAST_GAIN
        )
        for key, found in cases.items()
    }
    for name, is_met in goals.items():
        print(f"{name:<56} {'ok' if is_met else 'MISSED'}")
    record = {
        "threads": 1,
        "epsilon": EPSILON,
        "rows": {key: _get_case(key, words).rows for key in KEYS},
        "synthetic_rows": {key: _get_case(key, words).size for key in KEYS},
        "cases": cases,
        "goals": goals,
    }
    write_record(arguments.out, "authors", record)


if __name__ == "__main__":
    main()
