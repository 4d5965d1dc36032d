"""Many runs: which are still to be made, one after the other or side by side, each recorded.

A run in a process of its own, watched from outside: time, memory, and an end that is certain.

The process speaks the lines of `tabpe_lab.worker`. The time limit counts from `loaded` to `made`;
loading and measuring have a limit of their own. Memory is what the process and all that it started
hold in the machine, looked at several times a second. What is over its limit is killed with all its
children, and told apart from what failed.

How long what is left will take, by what was seen so far.
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
from tabpe._utils.resources import usable_cores
from tabpe.errors import ParameterError, TabpeError
from tabpe_lab.experiment import Limits, Suite
from tabpe_lab.grid import Run, runs_of
from tabpe_lab.methods import maker_of
from tabpe_lab.records import (
    FOLDER,
    Record,
    Status,
    append,
    extra_path,
    read_records,
    record_of,
    results_path,
    write_extra,
)
from tabpe_lab.task import check_data
from tabpe_lab.worker import DONE, ENDED, LOADED, MADE

WORKER = (sys.executable, "-m", "tabpe_lab.worker")
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")
PATIENCE = 1800.0  # seconds to load data, and as many to measure
TICK = 0.1
NEAR = 0.8
STARTED = "started"
_DOING = {STARTED: " to load", LOADED: "", MADE: " to measure", DONE: "", ENDED: ""}
_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
_PROC = Path("/proc")


class Interrupted(Exception):  # noqa: N818
    """Whoever asked for runs does not want them any more."""


@dataclass(frozen=True)
class Ending:
    """How a process ended.

    Args:
        status: `done`, `did not fit` or `failed`.
        reason: Why it did not fit or failed.
        told: What it told on its way, all events together.
        peak_megabytes: The most memory up to `made` that was seen, or that the process told.
    """

    status: Status
    reason: str = ""
    told: dict[str, Any] = field(default_factory=dict)
    peak_megabytes: float = 0.0


def attempt(
    payload: Mapping[str, Any],
    limits: Limits,
    *,
    cores: Sequence[int] = (),
    stop: threading.Event | None = None,
    command: Sequence[str] = WORKER,
) -> Ending:
    """Run a process within limits and return how it ended.

    Args:
        payload: What it is told, as plain values.
        limits: What it may take.
        cores: The cores that it may use; none for all.
        stop: When this is set, the process is ended and `Interrupted` raised.
        command: The process.
    """
    with tempfile.TemporaryFile() as errors, _started(command, cores, errors) as process:
        watch = _Watch(process, limits, stop or threading.Event())
        _give(process, payload)
        watch.until_it_ends()
        return watch.ending(_last_line(errors))


@contextmanager
def _started(
    command: Sequence[str], cores: Sequence[int], errors: IO[bytes]
) -> Iterator[subprocess.Popen[bytes]]:
    """Start a process in a group of its own, and end all of the group whatever happens."""
    process = subprocess.Popen(  # noqa: S603
        _on_cores(command, cores),
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


def _on_cores(command: Sequence[str], cores: Sequence[int]) -> list[str]:
    """Return a command that may use some cores alone: every library looks at that."""
    if not cores or not hasattr(os, "sched_setaffinity"):
        return list(command)
    pin = f"os.sched_setaffinity(0, {list(cores)}); os.execv(sys.argv[1], sys.argv[1:])"
    return [sys.executable, "-c", f"import os, sys; {pin}", *command]


def _give(process: subprocess.Popen[bytes], payload: Mapping[str, Any]) -> None:
    assert process.stdin is not None  # noqa: S101
    with suppress(BrokenPipeError):  # it has ended already, and will be asked why
        process.stdin.write(json.dumps(payload).encode() + b"\n")
        process.stdin.flush()


def _last_line(errors: IO[bytes]) -> str:
    errors.seek(0)
    lines = errors.read().decode("utf-8", "replace").strip().splitlines()
    return lines[-1].strip() if lines else ""


class _Watch:
    """What a process says and takes, until it ends or must be ended."""

    def __init__(
        self, process: subprocess.Popen[bytes], limits: Limits, stop: threading.Event
    ) -> None:
        self._process, self._limits, self._stop = process, limits, stop
        self._told: dict[str, Any] = {}
        self._peak = 0.0
        self._over: tuple[Status, str] | None = None
        self._events: queue.Queue[bytes | None] = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()
        self._enter(STARTED)

    def until_it_ends(self) -> None:
        """Wait for the last word of the process, or for a limit."""
        while self._over is None and self._stage not in (DONE, ENDED):
            if self._stop.is_set():
                raise Interrupted
            try:
                line = self._events.get(timeout=TICK)
            except queue.Empty:
                self._look_at_memory()
                self._look_at_time()
                continue
            self._look_at_memory()
            if line is None:
                break
            self._hear(line)

    def ending(self, complaint: str) -> Ending:
        """Return how it ended."""
        status, reason = self._verdict(complaint)
        return Ending(status, reason, self._told, round(self._peak, 1))

    def _verdict(self, complaint: str) -> tuple[Status, str]:
        if self._over is not None:
            return self._over
        if self._stage == DONE:
            return "done", ""
        if self._stage == ENDED:
            return ("failed" if self._told["fits"] else "did not fit"), str(self._told["reason"])
        code = self._process.wait()
        if code < 0 and self._peak >= NEAR * self._limits.gigabytes * 1024:
            return "did not fit", f"memory: ended by the system at {self._peak:,.0f} MB"
        named = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        return "failed", f"ended with {named}" + (f": {complaint}" if complaint else "")

    def _listen(self) -> None:
        assert self._process.stdout is not None  # noqa: S101
        with suppress(ValueError, OSError):  # it was closed while we listened
            for line in self._process.stdout:
                self._events.put(line)
        self._events.put(None)

    def _enter(self, stage: str) -> None:
        self._stage, self._since = stage, time.monotonic()

    def _hear(self, line: bytes) -> None:
        told = json.loads(line)
        self._enter(told.pop("event"))
        self._peak = max(self._peak, told.pop("peak_megabytes", 0.0))
        self._told |= told

    def _look_at_memory(self) -> None:
        held = _megabytes(self._process.pid)
        if self._stage != MADE:
            self._peak = max(self._peak, held)
        if held > self._limits.gigabytes * 1024:
            reason = f"memory: over {self._limits.gigabytes:g} GB{_DOING[self._stage]}"
            self._over = ("failed" if self._stage == MADE else "did not fit"), reason

    def _look_at_time(self) -> None:
        """Compare how long a stage takes with its limit, while there is no word of its end."""
        most = self._limits.seconds if self._stage == LOADED else PATIENCE
        if time.monotonic() - self._since > most:
            reason = f"time: over {most:g} s{_DOING[self._stage]}"
            self._over = ("did not fit" if self._stage == LOADED else "failed"), reason


def _megabytes(leader: int) -> float:
    """Return what the processes of a session hold in memory; 0 where the system does not tell."""
    if not _PROC.is_dir():
        return 0.0
    held = 0
    for folder in _PROC.iterdir():
        if folder.name.isdigit():
            with suppress(OSError, IndexError, ValueError):
                after = (folder / "stat").read_text().rpartition(")")[2].split()
                if int(after[3]) == leader:  # its session
                    held += int(after[21])  # its resident pages
    return held * _PAGE / 2**20


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
    validation.whole("jobs", jobs, least=1)
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


FEW = 10.0  # seconds of which a tenth is told


class Outlook:
    """Learns how long runs take: those of a method on a data set, of a method, or of any.

    Args:
        todo: The runs to come.
        known: Records of runs that were made before.
        jobs: How many run at once.

    Example:
        >>> Outlook([], []).left is None
        True
    """

    def __init__(self, todo: Iterable[Run], known: Iterable[Record], jobs: int = 1) -> None:
        self._todo = {run.key: run for run in todo}
        self._jobs = jobs
        self._began: dict[str, float] = {}
        self._seen: defaultdict[tuple[str, ...], list[float]] = defaultdict(list)
        for record in known:
            if record.seconds is not None:
                measuring = float(record.evaluation.get("seconds", 0.0))
                self._learn(record.method, record.data, record.seconds + measuring)

    def begin(self, run: Run) -> None:
        """Take note that a run begins."""
        self._began[run.key] = time.monotonic()

    def end(self, run: Run) -> None:
        """Take note that a run has ended."""
        self._todo.pop(run.key, None)
        began = self._began.pop(run.key, None)
        if began is not None:
            self._learn(run.method, run.data, time.monotonic() - began)

    @property
    def left(self) -> float | None:
        """Seconds until all is done; None if nothing is known of it yet."""
        if not self._seen[()]:
            return None
        now = time.monotonic()
        spent = sum(now - began for began in list(self._began.values()))
        whole = sum(self._expected(run) for run in list(self._todo.values()))
        return max(whole - spent, 0.0) / self._jobs

    def _learn(self, method: str, data: str, seconds: float) -> None:
        for known in ((method, data), (method,), ()):
            self._seen[known].append(seconds)

    def _expected(self, run: Run) -> float:
        ways = ((run.method, run.data), (run.method,), ())
        seen = next(found for way in ways if (found := self._seen.get(way)))
        return sum(seen) / len(seen)


def in_words(seconds: float) -> str:
    """Return a time for people.

    Example:
        >>> in_words(0.25), in_words(42), in_words(200), in_words(9000)
        ('0.2 s', '42 s', '3 min 20 s', '2 h 30 min')
    """
    if seconds < FEW:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
