"""Many runs: which are still to be made, one after the other or side by side, each recorded."""

from __future__ import annotations

import datetime
import os
import queue
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from tabpe import _validate
from tabpe.bench.experiment import Limits, Suite
from tabpe.bench.grid import Run, runs_of
from tabpe.bench.isolate import Ending, Interrupted, attempt
from tabpe.bench.methods import maker_of
from tabpe.bench.records import (
    FOLDER,
    Record,
    append,
    extra_path,
    read_records,
    record_of,
    results_path,
    write_extra,
)
from tabpe.bench.task import check_data
from tabpe.errors import ParameterError, TabpeError
from tabpe.resources import usable_cores

Attempt = Callable[..., Ending]


@dataclass(frozen=True)
class Plan:
    """What there is to do.

    Args:
        suite: The experiments.
        folder: Where results go.
        todo: The runs that are still to be made, in their order.
        known: The records of those that are made.
    """

    suite: Suite
    folder: Path
    todo: tuple[Run, ...]
    known: tuple[Record, ...]


def plan_of(
    suite: Suite, folder: Path = FOLDER, *, again: bool = False, only: Sequence[str] = ()
) -> Plan:
    """Return which runs of some experiments are still to be made.

    A run that is done is not made again. One that failed is. One that did not fit is, if it may
    take more now than it might then.

    Args:
        suite: The experiments.
        folder: Where results are.
        again: Whether to make all of them, whatever there is.
        only: Only runs whose description holds one of these texts; none for all.

    Raises:
        ParameterError: If data, a method or a setting is not known: before anything is run.
    """
    todo: list[Run] = []
    known: list[Record] = []
    for experiment in suite.experiments:
        runs = runs_of(experiment)
        _check(experiment.name, runs)
        runs = [run for run in runs if not only or any(text in str(run) for text in only)]
        found = {} if again else _found(experiment.name, experiment.variant, folder)
        settled = {r.key: found[r.key] for r in runs if r.key in found and is_settled(r, found)}
        known += settled.values()
        todo += [run for run in runs if run.key not in settled]
    if only and not todo and not known:
        raise ParameterError(f"only: no run holds {' or '.join(map(repr, only))}; see --list.")
    return Plan(suite, folder, tuple(sorted(todo, key=_turn(suite))), tuple(known))


def _check(experiment: str, runs: Sequence[Run]) -> None:
    """Refuse runs that could not begin."""
    try:
        for run in runs:
            check_data(run.data)
            maker_of(run)
    except TabpeError as error:
        raise ParameterError(f"experiment {experiment}: {error}") from None


def is_settled(run: Run, found: Mapping[str, Record]) -> bool:
    """Whether there is no use in making a run again."""
    record = found[run.key]
    if record.status != "did not fit":
        return record.status == "done"
    return not grew(run.limits, record.limits)


def grew(limits: Limits, before: Mapping[str, float]) -> bool:
    """Whether a run may take more now than before.

    Example:
        >>> grew(Limits(60, 8), {"seconds": 60, "gigabytes": 4})
        True
        >>> grew(Limits(60, 8), {"seconds": 60, "gigabytes": 8})
        False
    """
    return any(value > before.get(name, 0.0) for name, value in asdict(limits).items())


def carry_out(
    plan: Plan,
    *,
    jobs: int = 1,
    on_begin: Callable[[Run], None] = lambda _: None,
    on_end: Callable[[Run, Record], None] = lambda _, __: None,
    attempt: Attempt = attempt,
) -> list[Record]:
    """Make the runs of a plan, and return their records; each is on the disk when it is told.

    Args:
        plan: The runs.
        jobs: How many at once. Cores are divided among them, so that figures of time are of fewer.
        on_begin: Called when a run begins, by the thread that watches it.
        on_end: Called when it has ended, by the thread that called us.
        attempt: What runs a process; another one in tests.

    Raises:
        KeyboardInterrupt: All processes are ended before it is passed on. What was done is kept.
    """
    _validate.whole("jobs", jobs, least=1)
    stop, places, writing = threading.Event(), _Places(jobs), threading.Lock()

    def make(run: Run) -> tuple[Run, Record]:
        if stop.is_set():
            raise Interrupted
        with places.taken() as cores:
            on_begin(run)
            payload = {"run": asdict(run), "gigabytes": run.limits.gigabytes}
            ending = attempt(payload, run.limits, cores=cores, stop=stop)
        with writing:
            return run, _recorded(run, ending, plan.folder)

    records = []
    with ThreadPoolExecutor(jobs) as pool, _stopping(stop):
        for future in as_completed([pool.submit(make, run) for run in plan.todo]):
            run, record = future.result()
            records.append(record)
            on_end(run, record)
    return records


@contextmanager
def _stopping(stop: threading.Event) -> Iterator[None]:
    """End all processes when something is raised here."""
    try:
        yield
    finally:
        stop.set()


class _Places:
    """Who may use which cores: all of them for one job, an equal part for each of several."""

    def __init__(self, jobs: int) -> None:
        self._free: queue.Queue[tuple[int, ...]] = queue.Queue()
        for part in divided(_cores(), jobs):
            self._free.put(part)

    @contextmanager
    def taken(self) -> Iterator[tuple[int, ...]]:
        place = self._free.get()
        try:
            yield place
        finally:
            self._free.put(place)


def divided(cores: Sequence[int], jobs: int) -> list[tuple[int, ...]]:
    """Return the cores of each job; with more jobs than cores some share one.

    Example:
        >>> divided([0, 1, 2, 3], 2), divided([0, 1], 3), divided([0, 1], 1)
        ([(0, 1), (2, 3)], [(0,), (1,), (0,)], [(0, 1)])
    """
    each = max(1, len(cores) // jobs)
    starts = [(job * each) % len(cores) for job in range(jobs)]
    return [tuple(cores[start : start + each]) for start in starts]


def _cores() -> list[int]:
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(usable_cores()))


def _found(name: str, variant: str, folder: Path) -> dict[str, Record]:
    records = read_records(results_path(name, variant, folder))
    return {record.key: record for record in records}


def _turn(suite: Suite) -> Callable[[Run], int]:
    """Return the order of runs: the first seed of every experiment comes before any second one."""
    places = {e.name: {seed: n for n, seed in enumerate(e.seeds)} for e in suite.experiments}
    return lambda run: places[run.experiment][run.seed]


def _recorded(run: Run, ending: Ending, folder: Path) -> Record:
    """Write down how a run ended."""
    told = dict(ending.told)
    extra: Any = told.pop("extra", None)
    record = replace(
        record_of(run, ending.status),
        reason=ending.reason,
        limits=asdict(run.limits),
        peak_megabytes=ending.peak_megabytes,
        made=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        extra=None if extra is None else f"{run.key}.json",
        **{name: told[name] for name in _TOLD if name in told},
    )
    beside = extra_path(record, folder)
    if beside is not None:
        write_extra(beside, extra)
    append(results_path(run.experiment, run.variant, folder), record)
    return record


_TOLD = (
    "rows",
    "delta",
    "seconds",
    "synthetic_rows",
    "certified_epsilon",
    "metrics",
    "evaluation",
    "versions",
    "machine",
)
