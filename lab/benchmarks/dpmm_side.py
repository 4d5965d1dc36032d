"""AIM and MST of dpmm, in an environment of its own that has dpmm and not tabpe.

    python dpmm_side.py aim codes.csv sizes.json made.csv --epsilon 1 --delta 1e-6 --iterations 1000

Reads a table of codes and the number of cells of each column, writes as many rows of codes, and
prints seconds and versions as JSON.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from importlib.metadata import version
from pathlib import Path

import pandas as pd
from dpmm.pipelines import AIMPipeline, MSTPipeline

# Cells are merged by MST, as in its paper, and not by AIM, as in its own.
PIPELINES = {"aim": AIMPipeline, "mst": MSTPipeline}
SETTINGS = {"aim": {"compress": False, "max_model_size": 100}, "mst": {"compress": True}}
MORE = {"aim": {"degree": 2, "max_cells": 250_000}, "mst": {}}


def main() -> None:
    given = _arguments()
    table = pd.read_csv(given.codes)
    start, worked = time.perf_counter(), time.process_time()
    pipeline = PIPELINES[given.method](
        epsilon=given.epsilon,
        delta=given.delta,
        disable_processing=True,
        n_jobs=1,
        gen_kwargs={"n_iters": given.iterations, **MORE[given.method]},
        **SETTINGS[given.method],
    )
    domain = json.loads(given.sizes.read_text())
    pipeline.fit(table, domain=domain, random_state=given.seed)
    made = pipeline.generate(n_records=len(table), random_state=given.seed)
    seconds, worked = time.perf_counter() - start, time.process_time() - worked
    made[table.columns].to_csv(given.made, index=False)
    names = ("dpmm", "numpy", "scipy", "opendp")
    versions = {"python": platform.python_version(), **{name: version(name) for name in names}}
    times = {"seconds": round(seconds, 1), "cpu_seconds": round(worked, 1)}
    print(json.dumps({**times, "versions": versions}))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("method", choices=sorted(PIPELINES))
    for name in ("codes", "sizes", "made"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--epsilon", type=float, required=True)
    parser.add_argument("--delta", type=float, required=True)
    parser.add_argument("--iterations", type=int, required=True)
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


if __name__ == "__main__":
    main()
