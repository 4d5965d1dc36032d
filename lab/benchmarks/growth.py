"""How whole runs grow with rows, columns, classes and candidates, with a picture.

    python -m benchmarks.growth [--quick] [--only PRESET] [--out FILE]

Runs of the presets `paper` and `best` on the simulated table of `strategies`, one thread each. One
of the four sizes changes, the others stay at `USUAL`. Times are of the processor, so that a busy
machine disturbs them little, and each run has a process of its own, which runs once on few rows
before the clock starts. The slope is that of the logarithm of the time against that of the size: 1
where twice the size takes twice as long. The picture is beside the record, as an SVG.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.common import (
    EPSILON,
    compute_slope,
    make_parser,
    measure_peak_megabytes,
    run_benchmark,
    write_record,
)
from benchmarks.strategies import ONE_THREAD
from benchmarks.voting.cases import simulate_table
from tabpe import TabPE
from tabpe.evolution import Posterior, resolve_strategy

COLOURS = {"paper": "#4878a8", "best": "#b8562c"}
WARM_ROWS = 2000


@dataclass(frozen=True)
class RunSize:
    """The sizes of one run.

    Args:
        rows: Private rows.
        columns: Columns of numbers.
        classes: Classes.
        candidates: Candidates of a round of `best`, and rows that `paper` evolves.
    """

    rows: int = 300_000
    columns: int = 10
    classes: int = 2
    candidates: int = 2000


USUAL = RunSize()
SIZES: dict[str, tuple[int, ...]] = {
    "rows": (100_000, 300_000, 1_000_000, 3_000_000, 10_000_000),
    "columns": (5, 10, 20, 40, 80),
    "classes": (2, 4, 8, 16, 32),
    "candidates": (1000, 2000, 4000, 8000, 16_000),
}
QUICK = {"rows": (2000, 4000), "columns": (2, 4), "classes": (2, 3), "candidates": (50, 100)}
QUICK_USUAL = RunSize(rows=3000, columns=3, candidates=60)


def time_run(preset: str, size: RunSize) -> dict[str, float]:
    """Run in this process; return the processor time and the peak memory."""
    _run(preset, RunSize(WARM_ROWS, 3, 2, 100))
    return {
        "seconds": round(_run(preset, size), 3),
        "peak_mb": round(measure_peak_megabytes()),
    }


def _run(preset: str, size: RunSize) -> float:
    table = simulate_table(size.rows, size.columns, (), size.classes)
    strategy, kept = resolve_strategy(preset), size.candidates
    if isinstance(strategy, Posterior):
        strategy = replace(strategy, candidates=size.candidates)
    model = TabPE(
        epsilon=EPSILON,
        n_samples=kept,
        preset=strategy,
        public_rows=size.rows,
        public_shares=dict.fromkeys(range(size.classes), 1 / size.classes),
        engine="local",
        random_state=0,
        n_jobs=1,
        verbose=0,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.process_time()
        model.fit(table.data, table.schema)
    return time.process_time() - start


def measure_growth(preset: str, *, quick: bool) -> dict[str, Any]:
    """Return, for each of the sizes, the runs and the slope."""
    usual, sizes = (QUICK_USUAL, QUICK) if quick else (USUAL, SIZES)
    found = {}
    for name, values in sizes.items():
        runs = {}
        for value in values:
            size = replace(usual, **{name: value})
            runs[value] = run_benchmark("growth", "--run", preset, json.dumps(asdict(size)))
            seconds, peak = runs[value]["seconds"], runs[value]["peak_mb"]
            print(f"{preset:<6} {name:<11} {value:>12,} {seconds:>9.2f} s {peak:>6} MB", flush=True)
        found[name] = summarize_growth(runs)
    return found


def summarize_growth(runs: Mapping[int, Mapping[str, float]]) -> dict[str, Any]:
    """Return runs with their slope, and that of the last two, where what is fixed weighs least.

    Example:
        >>> found = summarize_growth({1: {"seconds": 1.0}, 2: {"seconds": 2.0}})
        >>> round(found["slope"], 3), round(found["last_slope"], 3)
        (1.0, 1.0)
    """
    times = {size: run["seconds"] for size, run in runs.items()}
    return {
        "runs": {str(size): dict(run) for size, run in runs.items()},
        "slope": round(compute_slope(times), 3),
        "last_slope": round(compute_slope(dict(list(times.items())[-2:])), 3),
    }


def draw_growth(results: Mapping[str, Mapping[str, Any]], path: Path) -> None:
    """Write a picture with one panel for each of the sizes."""
    import matplotlib as mpl

    mpl.use("Agg")
    mpl.rcParams |= {
        "svg.hashsalt": "tabpe",
        "svg.fonttype": "none",
        "axes.spines.top": False,
        "axes.spines.right": False,
    }
    from matplotlib import pyplot as plt

    figure, panels = plt.subplots(1, len(SIZES), figsize=(13, 3.6), layout="constrained")
    for axes, name in zip(panels, SIZES, strict=True):
        for preset, growth in results.items():
            points = {int(size): run["seconds"] for size, run in growth[name]["runs"].items()}
            label = f"{preset}: slope {growth[name]['slope']:.2f}"
            axes.loglog(
                list(points), list(points.values()), "o-", color=COLOURS[preset], label=label
            )
        axes.set_xlabel(name)
        axes.grid(alpha=0.3)
        axes.legend(fontsize=8, frameon=False)
    panels[0].set_ylabel("seconds of one core")
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def main() -> None:
    parser = make_parser(__doc__, "growth")
    parser.add_argument("--quick", action="store_true", help="few rows: a smoke run")
    parser.add_argument("--only", choices=COLOURS, help="one of the presets")
    parser.add_argument("--run", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    os.environ.update(dict.fromkeys(ONE_THREAD, "1"))
    if arguments.run:
        preset, size = arguments.run
        print(json.dumps(time_run(preset, RunSize(**json.loads(size)))))
        return
    names = [arguments.only] if arguments.only else list(COLOURS)
    results = {name: measure_growth(name, quick=arguments.quick) for name in names}
    record = {
        "threads": 1,
        "epsilon": EPSILON,
        "usual": asdict(QUICK_USUAL if arguments.quick else USUAL),
        "presets": results,
    }
    write_record(arguments.out, "growth", record)
    draw_growth(results, arguments.out.with_suffix(".svg"))


if __name__ == "__main__":
    main()
