"""One run, in a process of its own: `python -m tabpe_lab.worker`.

It reads one line of JSON, the run and its memory limit, and writes events as lines of JSON:
`loaded`, `made`, then `done`, or `ended` with the reason. When its input closes, its parent is
gone, and it ends with all its children.
"""

from __future__ import annotations

import importlib.metadata
import json
import math
import os
import platform
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, TextIO

import pyarrow as pa

from tabpe import __version__
from tabpe._utils import serialization
from tabpe._utils.resources import count_usable_cores
from tabpe.errors import CapacityError, TabpeError
from tabpe_lab.evaluate import evaluate_rows
from tabpe_lab.grid import ExperimentRun
from tabpe_lab.methods import MethodOutput, build_maker, warm_up
from tabpe_lab.task import Task, load_task

PACKAGES = ("numpy", "scipy", "scikit-learn", "dp-accounting", "pot")
OPTIONAL_PACKAGES = ("opendp", "mbi", "jax", "torch", "tabicl")
CPU, _MEMORY = Path("/proc/cpuinfo"), Path("/proc/meminfo")
_STATUS = Path("/proc/self/status")


def collect_versions() -> dict[str, Any]:
    """Return the versions of the packages that determine results, as far as installed.

    Example:
        >>> collect_versions()["tabpe"] == __version__
        True
    """
    found = {name: find_version(name) for name in (*PACKAGES, *OPTIONAL_PACKAGES)}
    installed = {name: version for name, version in found.items() if version is not None}
    return {"tabpe": __version__, "python": platform.python_version(), **installed}


def describe_machine() -> dict[str, Any]:
    """Return the processor, the cores that this process may use, and the memory.

    Example:
        >>> describe_machine()["threads"] <= describe_machine()["cores"]
        True
    """
    return {
        "processor": read_system_field(CPU, "model name")
        or platform.processor()
        or platform.machine(),
        "cores": os.cpu_count(),
        "threads": count_usable_cores(),
        "memory": read_system_field(_MEMORY, "MemTotal"),
        "system": platform.system(),
    }


def read_peak_megabytes() -> float:
    """Return the peak memory of this process; 0 if it is unknown."""
    words = read_system_field(_STATUS, "VmHWM").split()
    return int(words[0]) / 1024 if words else 0.0


def read_system_field(file: Path, name: str) -> str:
    """Return a field of a file of the system; empty if there is none."""
    if not file.exists():
        return ""
    lines = file.read_text().splitlines()
    found = (line.partition(":")[2].strip() for line in lines if line.startswith(name))
    return next(found, "")


def find_version(package: str) -> str | None:
    """Return the version of a package; None if it is not installed."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


LOADED, MADE, DONE, ENDED = "loaded", "made", "done", "ended"
# Libraries reserve more than they use: this limit is for a single request that is far too large.
RESERVED_BEYOND = 2.0
DIGITS = 6
OUT_OF_MEMORY = ("RESOURCE_EXHAUSTED", "Out of memory", "out of memory", "bad_alloc")
EventSender = Callable[[str, Mapping[str, Any]], None]


def execute_run(run: ExperimentRun, send_event: EventSender) -> None:
    """Load the data, make synthetic rows, measure them, and report each step."""
    make, task = build_maker(run), load_task(run)
    warm_up(run)
    send_event(LOADED, {"rows": task.train.num_rows, "delta": task.delta})
    output = make(task)
    send_event(
        MADE,
        {
            "seconds": round(output.seconds, 4),
            "synthetic_rows": output.table.num_rows,
            "certified_epsilon": output.certified_epsilon,
            "peak_megabytes": read_peak_megabytes(),
        },
    )
    found = evaluate_rows(task, output.table, run.metrics, run.evaluate)
    send_event(
        DONE,
        {
            "metrics": _round_metrics(found.metrics),
            "evaluation": {**asdict(run.evaluate), **found.notes},
            "versions": collect_versions(),
            "machine": describe_machine(),
            "extra": _collect_extra(run, task, output),
        },
    )


def _collect_extra(run: ExperimentRun, task: Task, output: MethodOutput) -> dict[str, Any] | None:
    """Return the rows that are kept beside the record."""
    most, kept = run.evaluate.kept_rows, dict[str, Any]()
    if "rows" in run.keep:
        kept["rows"] = _take_columns(output.table, most)
        kept["real_rows"] = _take_columns(task.train, most)
    if "rounds" in run.keep:
        kept["rounds"] = {
            str(number): {
                "rows": _take_columns(table, most),
                "metrics": _round_metrics(
                    evaluate_rows(task, table, run.metrics, run.evaluate).metrics
                ),
            }
            for number, table in output.rounds.items()
        }
    return kept or None


def _take_columns(table: pa.Table, most: int) -> dict[str, list[Any]]:
    """Return the first rows of a table, column by column."""
    columns = table[:most].to_pydict()
    return {
        name: [round(v, DIGITS) if isinstance(v, float) else v for v in values]
        for name, values in columns.items()
    }


def _round_metrics(metrics: Mapping[str, float]) -> dict[str, float]:
    return {k: round(float(v), DIGITS) for k, v in metrics.items() if math.isfinite(v)}


def describe_error(error: BaseException) -> dict[str, Any]:
    """Return whether a run that failed with an error fitted, and the reason.

    Example:
        >>> describe_error(MemoryError())["fits"], describe_error(ValueError("no"))
        (False, {'fits': True, 'reason': 'ValueError: no'})
    """
    named = type(error).__name__
    if isinstance(error, MemoryError) or any(mark in str(error) for mark in OUT_OF_MEMORY):
        return {"fits": False, "reason": "out of memory: asked for more than the limit"}
    reason = str(error) if isinstance(error, TabpeError) else f"{named}: {error}"
    return {"fits": not isinstance(error, CapacityError), "reason": " ".join(reason.split())}


def main() -> None:
    """Run the run of the input."""
    out = _claim_output()
    payload = serialization.parse_strict_json(sys.stdin.readline())
    run = serialization.read_dataclass(ExperimentRun, payload["run"], where="run")
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    _limit_memory(float(payload["gigabytes"]))
    warnings.simplefilter("ignore")

    def send_event(event: str, content: Mapping[str, Any]) -> None:
        out.write(json.dumps({"event": event, **content}, allow_nan=False, default=str) + "\n")
        out.flush()

    try:
        execute_run(run, send_event)
    except Exception as error:
        send_event(ENDED, describe_error(error))


def _claim_output() -> TextIO:
    """Return the standard output for events alone; prints of libraries go to the errors."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return out


def _exit_with_parent() -> None:
    while os.read(0, 1024):
        pass
    os.killpg(0, signal.SIGKILL)


def _limit_memory(gigabytes: float) -> None:
    try:
        import resource
    except ImportError:  # not on this system: only the parent limits memory
        return
    most = int((gigabytes + RESERVED_BEYOND) * 2**30)
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))


if __name__ == "__main__":
    main()
