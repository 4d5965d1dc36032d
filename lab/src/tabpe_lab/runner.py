"""Run what is missing of a suite, each run in its own process with limits, and record it.

A process is watched from outside. It sends the events of `tabpe_lab.worker`. The time limit counts
from `loaded` to `made`; loading and measuring have a limit of their own. Memory is the resident
memory of the process and its children, polled several times a second. A process over its limit is
killed with all its children, and recorded as one that did not fit, not as one that failed.
"""

from __future__ import annotations

import datetime
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import IO, Any

from tabpe._utils import validation
from tabpe._utils.resources import count_usable_cores
from tabpe.errors import ParameterError, TabpeError
from tabpe_lab.experiment import ExperimentSuite, RunLimits
from tabpe_lab.grid import ExperimentRun, list_runs
from tabpe_lab.methods import build_maker
from tabpe_lab.records import (
    FOLDER,
    RunRecord,
    Status,
    append_record,
    get_extra_path,
    get_results_path,
    make_record,
    read_records,
    write_extra,
)
from tabpe_lab.task import check_data
from tabpe_lab.worker import DONE, ENDED, LOADED, MADE

WORKER = (sys.executable, "-m", "tabpe_lab.worker")
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")
STAGE_SECONDS = 1800.0  # seconds to load data, and as many to measure
TICK = 0.1
NEAR_LIMIT = 0.8
STARTED = "started"
TIME = "time"  # the first word of the reason of a run that took too long
_DOING = {STARTED: " to load", LOADED: "", MADE: " to measure", DONE: "", ENDED: ""}
_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
_PROC = Path("/proc")


class Interrupted(Exception):  # noqa: N818
    """The caller has stopped the runs."""


@dataclass(frozen=True)
class ProcessOutcome:
    """How a process ended.

    Args:
        status: `done`, `did not fit` or `failed`.
        reason: Why it did not fit or failed.
        reported: The content of all its events.
        peak_megabytes: The peak memory up to `made`, as polled or as reported.
    """

    status: Status
    reason: str = ""
    reported: dict[str, Any] = field(default_factory=dict)
    peak_megabytes: float = 0.0


def run_process(
    payload: Mapping[str, Any],
    limits: RunLimits,
    *,
    cores: Sequence[int] = (),
    stop: threading.Event | None = None,
    command: Sequence[str] = WORKER,
) -> ProcessOutcome:
    """Run a process within limits and return how it ended.

    Args:
        payload: Its input, as plain values.
        limits: Time and memory.
        cores: The cores that it may use; none for all.
        stop: When this is set, the process is ended and `Interrupted` raised.
        command: The command of the process.
    """
    with tempfile.TemporaryFile() as errors, _start_process(command, cores, errors) as process:
        watch = _ProcessWatch(process, limits, stop or threading.Event())
        _send_payload(process, payload)
        watch.wait_for_end()
        return watch.get_outcome(_read_last_line(errors))


@contextmanager
def _start_process(
    command: Sequence[str], cores: Sequence[int], errors: IO[bytes]
) -> Iterator[subprocess.Popen[bytes]]:
    """Start a process in a group of its own, and always end the whole group."""
    process = subprocess.Popen(  # noqa: S603
        _pin_to_cores(command, cores),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,
        env=os.environ | dict.fromkeys(THREADS, str(len(cores))) if cores else None,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()


def _pin_to_cores(command: Sequence[str], cores: Sequence[int]) -> list[str]:
    """Return a command that may use only some cores, which every library respects."""
    if not cores or not hasattr(os, "sched_setaffinity"):
        return list(command)
    pin = f"os.sched_setaffinity(0, {list(cores)}); os.execv(sys.argv[1], sys.argv[1:])"
    return [sys.executable, "-c", f"import os, sys; {pin}", *command]


def _send_payload(process: subprocess.Popen[bytes], payload: Mapping[str, Any]) -> None:
    assert process.stdin is not None  # noqa: S101
    with suppress(BrokenPipeError):  # it has ended already; its exit code says why
        process.stdin.write(json.dumps(payload).encode() + b"\n")
        process.stdin.flush()


def _read_last_line(errors: IO[bytes]) -> str:
    errors.seek(0)
    lines = errors.read().decode("utf-8", "replace").strip().splitlines()
    return lines[-1].strip() if lines else ""


class _ProcessWatch:
    """Events and resources of a process, until it ends or must be ended."""

    def __init__(
        self, process: subprocess.Popen[bytes], limits: RunLimits, stop: threading.Event
    ) -> None:
        self._process, self._limits, self._stop = process, limits, stop
        self._reported: dict[str, Any] = {}
        self._peak = 0.0
        self._exceeded: tuple[Status, str] | None = None
        self._events: queue.Queue[bytes | None] = queue.Queue()
        threading.Thread(target=self._read_output, daemon=True).start()
        self._enter_stage(STARTED)

    def wait_for_end(self) -> None:
        """Wait for the last event of the process, or for a limit."""
        while self._exceeded is None and self._stage not in (DONE, ENDED):
            if self._stop.is_set():
                raise Interrupted
            try:
                line = self._events.get(timeout=TICK)
            except queue.Empty:
                self._check_memory()
                self._check_time()
                continue
            self._check_memory()
            if line is None:
                break
            self._handle_event(line)

    def get_outcome(self, complaint: str) -> ProcessOutcome:
        """Return how it ended."""
        status, reason = self._determine_outcome(complaint)
        return ProcessOutcome(status, reason, self._reported, round(self._peak, 1))

    def _determine_outcome(self, complaint: str) -> tuple[Status, str]:
        if self._exceeded is not None:
            return self._exceeded
        if self._stage == DONE:
            return "done", ""
        if self._stage == ENDED:
            return ("failed" if self._reported["fits"] else "did not fit"), str(
                self._reported["reason"]
            )
        code = self._process.wait()
        if code < 0 and self._peak >= NEAR_LIMIT * self._limits.gigabytes * 1024:
            return "did not fit", f"memory: ended by the system at {self._peak:,.0f} MB"
        named = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        return "failed", f"ended with {named}" + (f": {complaint}" if complaint else "")

    def _read_output(self) -> None:
        assert self._process.stdout is not None  # noqa: S101
        with suppress(ValueError, OSError):  # it was closed meanwhile
            for line in self._process.stdout:
                self._events.put(line)
        self._events.put(None)

    def _enter_stage(self, stage: str) -> None:
        self._stage, self._since = stage, time.monotonic()

    def _handle_event(self, line: bytes) -> None:
        content = json.loads(line)
        self._enter_stage(content.pop("event"))
        self._peak = max(self._peak, content.pop("peak_megabytes", 0.0))
        self._reported |= content

    def _check_memory(self) -> None:
        used = _measure_megabytes(self._process.pid)
        if self._stage != MADE:
            self._peak = max(self._peak, used)
        if used > self._limits.gigabytes * 1024:
            reason = f"memory: over {self._limits.gigabytes:g} GB{_DOING[self._stage]}"
            self._exceeded = ("failed" if self._stage == MADE else "did not fit"), reason

    def _check_time(self) -> None:
        """Compare the duration of the current stage with its limit."""
        most = self._limits.seconds if self._stage == LOADED else STAGE_SECONDS
        if time.monotonic() - self._since > most:
            reason = f"{TIME}: over {most:g} s{_DOING[self._stage]}"
            self._exceeded = ("did not fit" if self._stage == LOADED else "failed"), reason


def _measure_megabytes(leader: int) -> float:
    """Return the resident memory of the processes of a session; 0 if it is unknown."""
    if not _PROC.is_dir():
        return 0.0
    pages = 0
    for folder in _PROC.iterdir():
        if folder.name.isdigit():
            with suppress(OSError, IndexError, ValueError):
                after = (folder / "stat").read_text().rpartition(")")[2].split()
                if int(after[3]) == leader:  # its session
                    pages += int(after[21])  # its resident pages
    return pages * _PAGE / 2**20


ProcessRunner = Callable[..., ProcessOutcome]


@dataclass(frozen=True)
class SuitePlan:
    """The runs of a suite.

    Args:
        suite: The experiments.
        folder: The folder of the results.
        todo: The runs that are missing, in their order.
        known: The records of the others.
    """

    suite: ExperimentSuite
    folder: Path
    todo: tuple[ExperimentRun, ...]
    known: tuple[RunRecord, ...]


def make_plan(
    suite: ExperimentSuite, folder: Path = FOLDER, *, again: bool = False, only: Sequence[str] = ()
) -> SuitePlan:
    """Return which runs of some experiments are missing.

    A run that is done is not repeated. One that failed is. One that did not fit is, if its limits
    were raised.

    Args:
        suite: The experiments.
        folder: The folder of the results.
        again: Whether to repeat all of them.
        only: Only runs whose description holds one of these texts; none for all.

    Raises:
        ParameterError: If data, a method or a setting is unknown, before anything is run.
    """
    todo: list[ExperimentRun] = []
    known: list[RunRecord] = []
    for experiment in suite.experiments:
        runs = list_runs(experiment)
        _check_runs(experiment.name, runs)
        runs = [run for run in runs if not only or any(text in str(run) for text in only)]
        found = {} if again else _load_records(experiment.name, experiment.variant, folder)
        settled = {r.key: found[r.key] for r in runs if r.key in found and is_settled(r, found)}
        known += settled.values()
        todo += [run for run in runs if run.key not in settled]
    if only and not todo and not known:
        raise ParameterError(f"only: no run holds {' or '.join(map(repr, only))}; see --list.")
    return SuitePlan(suite, folder, tuple(sorted(todo, key=_make_seed_order(suite))), tuple(known))


def _check_runs(experiment: str, runs: Sequence[ExperimentRun]) -> None:
    """Refuse runs with unknown data, methods or settings."""
    try:
        for run in runs:
            check_data(run.data)
            build_maker(run)
    except TabpeError as error:
        raise ParameterError(f"experiment {experiment}: {error}") from None


def is_settled(run: ExperimentRun, records: Mapping[str, RunRecord]) -> bool:
    """Return whether a run need not be repeated."""
    record = records[run.key]
    if record.status != "did not fit":
        return record.status == "done"
    return not are_limits_raised(run.limits, record.limits)


def are_limits_raised(limits: RunLimits, before: Mapping[str, float]) -> bool:
    """Return whether a limit is higher than before.

    Example:
        >>> are_limits_raised(RunLimits(60, 8), {"seconds": 60, "gigabytes": 4})
        True
        >>> are_limits_raised(RunLimits(60, 8), {"seconds": 60, "gigabytes": 8})
        False
    """
    return any(value > before.get(name, 0.0) for name, value in asdict(limits).items())


def run_plan(
    plan: SuitePlan,
    *,
    jobs: int = 1,
    on_begin: Callable[[ExperimentRun], None] = lambda _: None,
    on_end: Callable[[ExperimentRun, RunRecord], None] = lambda _, __: None,
    attempt: ProcessRunner = run_process,
) -> list[RunRecord]:
    """Make the runs of a plan, and return their records.

    Args:
        plan: The runs.
        jobs: Runs at once. Cores are divided among them, so measured times are of fewer cores.
        on_begin: Called when a run begins, by the thread that watches it.
        on_end: Called when a run has ended and its record is on the disk, by the calling thread.
        attempt: The function that runs a process; another one in tests.

    Raises:
        KeyboardInterrupt: All processes are ended before it is passed on. Records are kept.
    """
    validation.check_integer("jobs", jobs, least=1)
    stop, pool_of_cores, writing = threading.Event(), _CorePool(jobs), threading.Lock()

    def make(run: ExperimentRun) -> tuple[ExperimentRun, RunRecord]:
        if stop.is_set():
            raise Interrupted
        with pool_of_cores.take_cores() as cores:
            on_begin(run)
            payload = {"run": asdict(run), "gigabytes": run.limits.gigabytes}
            outcome = attempt(payload, run.limits, cores=cores, stop=stop)
        with writing:
            return run, _save_record(run, outcome, plan.folder)

    records = []
    with ThreadPoolExecutor(jobs) as pool, _stop_on_exit(stop):
        for future in as_completed([pool.submit(make, run) for run in plan.todo]):
            run, record = future.result()
            records.append(record)
            on_end(run, record)
    return records


@contextmanager
def _stop_on_exit(stop: threading.Event) -> Iterator[None]:
    """End all processes if an exception is raised."""
    try:
        yield
    finally:
        stop.set()


class _CorePool:
    """The cores of each job: all for one job, an equal part for each of several."""

    def __init__(self, jobs: int) -> None:
        self._free: queue.Queue[tuple[int, ...]] = queue.Queue()
        for part in divide_cores(_list_cores(), jobs):
            self._free.put(part)

    @contextmanager
    def take_cores(self) -> Iterator[tuple[int, ...]]:
        cores = self._free.get()
        try:
            yield cores
        finally:
            self._free.put(cores)


def divide_cores(cores: Sequence[int], jobs: int) -> list[tuple[int, ...]]:
    """Return the cores of each job; with more jobs than cores some share one.

    Example:
        >>> divide_cores([0, 1, 2, 3], 2), divide_cores([0, 1], 3), divide_cores([0, 1], 1)
        ([(0, 1), (2, 3)], [(0,), (1,), (0,)], [(0, 1)])
    """
    each = max(1, len(cores) // jobs)
    starts = [(job * each) % len(cores) for job in range(jobs)]
    return [tuple(cores[start : start + each]) for start in starts]


def _list_cores() -> list[int]:
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(count_usable_cores()))


def _load_records(name: str, variant: str, folder: Path) -> dict[str, RunRecord]:
    records = read_records(get_results_path(name, variant, folder))
    return {record.key: record for record in records}


def _make_seed_order(suite: ExperimentSuite) -> Callable[[ExperimentRun], int]:
    """Return a sort key: the first seed of every experiment comes before any second one.

    Unless they are run one by one: then runs stay in the order of the experiments.
    """
    if suite.one_by_one:
        return lambda _: 0
    ranks = {e.name: {seed: n for n, seed in enumerate(e.seeds)} for e in suite.experiments}
    return lambda run: ranks[run.experiment][run.seed]


def _save_record(run: ExperimentRun, outcome: ProcessOutcome, folder: Path) -> RunRecord:
    """Write the record of a run."""
    reported = dict(outcome.reported)
    extra: Any = reported.pop("extra", None)
    record = replace(
        make_record(run, outcome.status),
        reason=outcome.reason,
        limits=asdict(run.limits),
        peak_megabytes=outcome.peak_megabytes,
        made=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        extra=None if extra is None else f"{run.key}.json",
        **{name: reported[name] for name in _REPORTED_FIELDS if name in reported},
    )
    beside = get_extra_path(record, folder)
    if beside is not None:
        write_extra(beside, extra)
    append_record(get_results_path(run.experiment, run.variant, folder), record)
    return record


_REPORTED_FIELDS = (
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


SHORT_SECONDS = 10.0  # below this, tenths of a second are shown


class RunTimeEstimator:
    """Estimates how long runs take: of a method on a data set, of a method, or of any.

    A run that did not fit for its time counts with its limit, and no run with more than its own.

    Args:
        todo: The runs to come.
        known: Records of earlier runs.
        jobs: Runs at once.

    Example:
        >>> RunTimeEstimator([], []).seconds_left is None
        True
    """

    def __init__(
        self, todo: Iterable[ExperimentRun], known: Iterable[RunRecord], jobs: int = 1
    ) -> None:
        self._todo = {run.key: run for run in todo}
        self._jobs = jobs
        self._began: dict[str, float] = {}
        self._seen: defaultdict[tuple[str, ...], list[float]] = defaultdict(list)
        for record in known:
            if record.seconds is not None:
                measuring = float(record.evaluation.get("seconds", 0.0))
                self._add_duration(record, record.seconds + measuring)
            elif record.reason.startswith(TIME):
                self._add_duration(record, record.limits["seconds"])

    def begin_run(self, run: ExperimentRun) -> None:
        """Record that a run begins."""
        self._began[run.key] = time.monotonic()

    def end_run(self, run: ExperimentRun) -> None:
        """Record that a run has ended."""
        self._todo.pop(run.key, None)
        began = self._began.pop(run.key, None)
        if began is not None:
            self._add_duration(run, time.monotonic() - began)

    @property
    def seconds_left(self) -> float | None:
        """Seconds until all runs are done; None while there is no estimate."""
        if not self._seen[()]:
            return None
        now = time.monotonic()
        spent = sum(now - began for began in list(self._began.values()))
        whole = sum(self._estimate_seconds(run) for run in list(self._todo.values()))
        return max(whole - spent, 0.0) / self._jobs

    def _add_duration(self, run: ExperimentRun | RunRecord, seconds: float) -> None:
        for kind in _list_kinds(run):
            self._seen[kind].append(seconds)

    def _estimate_seconds(self, run: ExperimentRun) -> float:
        seen = next(found for kind in _list_kinds(run) if (found := self._seen.get(kind)))
        return min(sum(seen) / len(seen), run.limits.seconds + STAGE_SECONDS)


def _list_kinds(run: ExperimentRun | RunRecord) -> tuple[tuple[str, ...], ...]:
    """Return what runs a run is like, the most alike first."""
    preset = str(run.settings.get("preset", ""))
    return (run.method, preset, run.data), (run.method, preset), (run.method,), ()


def format_duration(seconds: float) -> str:
    """Return a duration as text.

    Example:
        >>> format_duration(0.25), format_duration(42), format_duration(200), format_duration(9000)
        ('0.2 s', '42 s', '3 min 20 s', '2 h 30 min')
    """
    if seconds < SHORT_SECONDS:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
