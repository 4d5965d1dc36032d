"""`Job`: long work in a process of its own, known by its folder.

The process is started apart from the server: it goes on if the server ends, and a server that
starts later finds it. That it is alive is known from a lock that it holds, so that no number of a
process that is long gone is mistaken for it. It inherits the lock from whoever starts it: there is
no moment in which nobody holds it. How it ended is in a file that it writes last: without that file
and without the lock, it was killed.

Privacy: what a job prints is what the command line prints, which quotes no cell.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from tabpe._utils import files
from tabpe._utils.files import make_private_folder
from tabpe.errors import OutputError
from tabpe.studio.project import hold_lock, is_lock_held

COMMANDS, PROGRESS, ENDED, OUTPUT, LOCK, PROCESS = (
    "commands.json",
    "progress.json",
    "ended.json",
    "output.txt",
    ".lock",
    "process.json",
)
CANCELLED = 2  # the exit code of a command that was interrupted
_SHOWN = 4000
_PATIENCE = 60.0

JobState = Literal["new", "running", "done", "failed", "cancelled", "killed"]


@dataclass(frozen=True)
class JobStatus:
    """How far a job is.

    Args:
        state: `killed` is what ended without a word: it can go on.
        round: Rounds that are done.
        rounds: All rounds; 0 if that is not known yet.
        seconds: How long it has been running, or ran.
        code: The exit code of the command, once it ended.
        words: What it printed last.
    """

    state: JobState
    round: int = 0
    rounds: int = 0
    seconds: float = 0.0
    code: int | None = None
    words: str = ""

    @property
    def seconds_left(self) -> float | None:
        """About how long it still takes; None before the second round."""
        if not 1 < self.round <= self.rounds:
            return None
        return self.seconds / self.round * (self.rounds - self.round)


class Job:
    """A job and its folder.

    Args:
        folder: The folder, made when the job starts.

    Example:
        >>> import tempfile
        >>> Job(Path(tempfile.mkdtemp()) / "plan").status().state
        'new'
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def start(self, commands: Sequence[Sequence[str]], working_folder: Path) -> None:
        """Start the commands of `tabpe`, one after the other, unless they run already.

        Args:
            commands: The words of each command. The first one that fails ends the job.
            working_folder: The folder that relative paths in them start from.
        """
        make_private_folder(self.folder)
        with contextlib.ExitStack() as stack:
            try:
                lock = hold_lock(self.folder / LOCK, stack)
            except OSError:
                return
            for name in (ENDED, PROGRESS, PROCESS):
                (self.folder / name).unlink(missing_ok=True)
            plain = {"commands": [list(words) for words in commands], "folder": str(working_folder)}
            files.write_text(self.folder / COMMANDS, json.dumps(plain))
            if lock is None:
                stack.close()
            self._spawn(lock)

    def resume(self) -> None:
        """Start the same commands again."""
        plain = _read_json(self.folder / COMMANDS)
        if not plain:
            raise OutputError(f"{self.folder}: no job was started here.")
        self.start(plain["commands"], Path(plain["folder"]))

    def cancel(self) -> None:
        """Interrupt the process as a person would, so that it ends in good order; wait for that."""
        until = time.monotonic() + _PATIENCE
        while self.is_alive() and time.monotonic() < until:
            process = _read_json(self.folder / PROCESS)
            if process:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(process["pid"]), signal.SIGINT)
                self.wait()
                return
            time.sleep(0.02)  # it has only just been started

    def wait(self, seconds: float = _PATIENCE) -> JobStatus:
        """Return the status once it has ended, or after so many seconds."""
        until = time.monotonic() + seconds
        while (found := self.status()).state == "running" and time.monotonic() < until:
            time.sleep(0.02)
        return found

    def is_alive(self) -> bool:
        """Whether its process runs."""
        return is_lock_held(self.folder / LOCK)

    def status(self) -> JobStatus:
        """Return how far it is."""
        if not (self.folder / COMMANDS).exists():
            return JobStatus("new")
        alive, ended = self._look()
        if not alive and not ended:  # killed, unless it was started between the two looks
            alive, ended = self._look()
        progress = _read_json(self.folder / PROGRESS)
        rounds = {name: int(progress.get(name, 0)) for name in ("round", "rounds")}
        words = self._read_words()
        if ended and not alive:
            code = int(ended["code"])
            state: JobState = "done" if code == 0 else "failed"
            if ended.get("interrupted"):
                state = "cancelled"
            return JobStatus(state, **rounds, seconds=ended["seconds"], code=code, words=words)
        started = progress.get("started", time.time())
        seconds = max(0.0, time.time() - float(started))
        return JobStatus("running" if alive else "killed", **rounds, seconds=seconds, words=words)

    def remove(self) -> None:
        """Delete its files, but for the lock, if nothing runs."""
        with contextlib.ExitStack() as stack:
            try:
                hold_lock(self.folder / LOCK, stack)
            except OSError:
                return
            for path in self.folder.iterdir():
                if path.name != LOCK:
                    path.unlink(missing_ok=True)

    def _look(self) -> tuple[bool, Mapping[str, Any]]:
        """Return whether it is alive, and how it ended. What is dead writes nothing any more."""
        return self.is_alive(), _read_json(self.folder / ENDED)

    def _spawn(self, lock: int | None) -> None:
        """Start the process with the lock, and return when it has begun."""
        words = [sys.executable, "-m", "tabpe.studio.worker", str(self.folder)]
        apart: dict[str, Any] = {"start_new_session": True}
        if sys.platform == "win32":
            apart = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
        if lock is not None:
            words.append(str(lock))
            apart["pass_fds"] = (lock,)
        with (self.folder / OUTPUT).open("wb") as output:
            child = subprocess.Popen(  # noqa: S603 (our own module, words from a file)
                words, stdin=subprocess.DEVNULL, stdout=output, stderr=output, **apart
            )
        until = time.monotonic() + _PATIENCE
        while time.monotonic() < until:
            if child.poll() is not None or (self.folder / PROCESS).exists():
                break
            time.sleep(0.01)
        # It may outlive this process. If it does not, it is not left behind as a zombie.
        threading.Thread(target=child.wait, name="job", daemon=True).start()

    def _read_words(self) -> str:
        try:
            return (self.folder / OUTPUT).read_bytes()[-_SHOWN:].decode("utf-8", "replace")
        except OSError:
            return ""


def _read_json(path: Path) -> Mapping[str, Any]:
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
