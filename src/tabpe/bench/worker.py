"""One run, in a process of its own: `python -m tabpe.bench.worker`.

It reads one line of JSON, the run and the memory it may take, and tells in lines of JSON what it
has come to: `loaded`, `made`, then `done`, or `ended` with the reason. When the other end of its
input closes, whoever started it is gone, and it ends with all that it started.
"""

from __future__ import annotations

import json
import math
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any, TextIO

import pyarrow as pa

from tabpe import _plain
from tabpe.bench.evaluate import measured
from tabpe.bench.grid import Run
from tabpe.bench.machine import machine, peak_megabytes, versions
from tabpe.bench.methods import Made, maker_of, warm_up
from tabpe.bench.task import Task, task_of
from tabpe.errors import CapacityError, TabpeError

LOADED, MADE, DONE, ENDED = "loaded", "made", "done", "ended"
# Libraries reserve more than they use: this limit is for a single request that is far too large.
RESERVED_BEYOND = 2.0
DIGITS = 6
OUT_OF_MEMORY = ("RESOURCE_EXHAUSTED", "Out of memory", "out of memory", "bad_alloc")
Tell = Callable[[str, Mapping[str, Any]], None]


def run_one(run: Run, tell: Tell) -> None:
    """Load the data, make synthetic rows, measure them, and tell what came of each."""
    make, task = maker_of(run), task_of(run)
    warm_up(run)
    tell(LOADED, {"rows": task.train.num_rows, "delta": task.delta})
    made = make(task)
    tell(
        MADE,
        {
            "seconds": round(made.seconds, 4),
            "synthetic_rows": made.table.num_rows,
            "certified_epsilon": made.certified_epsilon,
            "peak_megabytes": peak_megabytes(),
        },
    )
    found = measured(task, made.table, run.metrics, run.evaluate)
    tell(
        DONE,
        {
            "metrics": _rounded(found.metrics),
            "evaluation": {**asdict(run.evaluate), **found.notes},
            "versions": versions(),
            "machine": machine(),
            "extra": _extra(run, task, made),
        },
    )


def _extra(run: Run, task: Task, made: Made) -> dict[str, Any] | None:
    """Return what is kept beside the record."""
    most, kept = run.evaluate.kept_rows, dict[str, Any]()
    if "rows" in run.keep:
        kept["rows"] = _columns(made.table, most)
        kept["real_rows"] = _columns(task.train, most)
    if "rounds" in run.keep:
        kept["rounds"] = {
            str(number): {
                "rows": _columns(table, most),
                "metrics": _rounded(measured(task, table, run.metrics, run.evaluate).metrics),
            }
            for number, table in made.rounds.items()
        }
    return kept or None


def _columns(table: pa.Table, most: int) -> dict[str, list[Any]]:
    """Return the first rows of a table, column by column."""
    columns = table[:most].to_pydict()
    return {
        name: [round(v, DIGITS) if isinstance(v, float) else v for v in values]
        for name, values in columns.items()
    }


def _rounded(metrics: Mapping[str, float]) -> dict[str, float]:
    return {k: round(float(v), DIGITS) for k, v in metrics.items() if math.isfinite(v)}


def ended(error: BaseException) -> dict[str, Any]:
    """Return how a run ended that an error stopped, and why.

    Example:
        >>> ended(MemoryError())["fits"], ended(ValueError("no"))
        (False, {'fits': True, 'reason': 'ValueError: no'})
    """
    named = type(error).__name__
    if isinstance(error, MemoryError) or any(mark in str(error) for mark in OUT_OF_MEMORY):
        return {"fits": False, "reason": "out of memory: asked for more than the limit"}
    told = str(error) if isinstance(error, TabpeError) else f"{named}: {error}"
    return {"fits": not isinstance(error, CapacityError), "reason": " ".join(told.split())}


def main() -> None:
    """Run what the input says."""
    out = _own_output()
    told = _plain.strict_json(sys.stdin.readline())
    run = _plain.read(Run, told["run"], where="run")
    threading.Thread(target=_end_with_starter, daemon=True).start()
    _limit_memory(float(told["gigabytes"]))
    warnings.simplefilter("ignore")

    def tell(event: str, content: Mapping[str, Any]) -> None:
        out.write(json.dumps({"event": event, **content}, allow_nan=False, default=str) + "\n")
        out.flush()

    try:
        run_one(run, tell)
    except Exception as error:
        tell(ENDED, ended(error))


def _own_output() -> TextIO:
    """Return the standard output for ourselves alone: what libraries print goes to the errors."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return out


def _end_with_starter() -> None:
    while os.read(0, 1024):
        pass
    os.killpg(0, signal.SIGKILL)


def _limit_memory(gigabytes: float) -> None:
    try:
        import resource
    except ImportError:  # not on this system: the watch from outside is all there is
        return
    most = int((gigabytes + RESERVED_BEYOND) * 2**30)
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))


if __name__ == "__main__":
    main()
