"""A run in a process of its own, watched from outside: time, memory, and an end that is certain.

The process speaks the lines of `tabpe.bench.worker`. The time limit counts from `loaded` to `made`;
loading and measuring have a limit of their own. Memory is what the process and all that it started
hold in the machine, looked at several times a second. What is over its limit is killed with all its
children, and told apart from what failed.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from tabpe.bench.experiment import Limits
from tabpe.bench.records import Status
from tabpe.bench.worker import DONE, ENDED, LOADED, MADE

WORKER = (sys.executable, "-m", "tabpe.bench.worker")
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
