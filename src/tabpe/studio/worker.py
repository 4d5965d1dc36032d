"""The process of a job: `python -m tabpe.studio.worker FOLDER [LOCK]`.

It runs commands of `tabpe`, one after the other, as somebody at a terminal would, and writes down
how far they are and how they ended. LOCK is the descriptor of the lock that it inherits. It reads
nothing else and listens to nobody.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tabpe._utils import files
from tabpe.studio.jobs import COMMANDS, ENDED, LOCK, PROCESS, PROGRESS
from tabpe.studio.project import hold_lock

_ROUND = "round %d of %d"  # what `TabPE.fit` logs after each round
_INTERRUPTED = 130
_PATIENCE = 5.0


class ProgressRecorder(logging.Handler):
    """Writes rounds that are logged to a file: how many are done, of how many. Both are public.

    Args:
        path: The file.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(logging.INFO)
        self._path = path
        self._started = time.time()
        self._write({})

    def emit(self, record: logging.LogRecord) -> None:
        """Write a round down; leave everything else alone."""
        if record.msg == _ROUND and isinstance(record.args, tuple):
            done, rounds = record.args
            self._write({"round": done, "rounds": rounds})

    def _write(self, content: dict[str, object]) -> None:
        files.write_text(self._path, json.dumps({"started": self._started, **content}))


def run_commands(commands: Sequence[Sequence[str]]) -> tuple[int, bool]:
    """Run commands until one fails; return its exit code, and whether it was interrupted."""
    from tabpe.cli.app import app
    from tabpe.cli.console import INTERRUPTED

    for words in commands:
        try:
            app(list(words))
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
            if code:
                return code, _was_interrupted
        except KeyboardInterrupt:
            return INTERRUPTED, True
        except Exception:  # a module that was interrupted while it was loaded says so in its way
            if not _was_interrupted:
                raise
            return INTERRUPTED, True
    return 0, False


_was_interrupted = False


def _note_interrupt(*_: object) -> None:
    global _was_interrupted  # noqa: PLW0603 (a signal has no other way to say so)
    _was_interrupted = True
    raise KeyboardInterrupt


def _take_lock(folder: Path, stack: contextlib.ExitStack) -> bool:
    """Hold the lock of the job; return whether this process is the one to do it."""
    if len(sys.argv) > 2:  # noqa: PLR2004 (the lock is the second argument)
        os.set_inheritable(int(sys.argv[2]), False)  # noqa: FBT003 (no name for it)
        return True
    until = time.monotonic() + _PATIENCE
    while time.monotonic() < until:
        try:
            hold_lock(folder / LOCK, stack)
        except OSError:
            continue  # whoever started it lets go of it now, or another process does the job
        return not (folder / ENDED).exists()
    return False


def main() -> None:
    """Run the job of a folder."""
    import signal

    folder = Path(sys.argv[1])
    with contextlib.ExitStack() as stack:
        if not _take_lock(folder, stack):
            return  # another process does this job
        began = time.monotonic()
        plain = json.loads((folder / COMMANDS).read_bytes())
        recorder = ProgressRecorder(folder / PROGRESS)
        logger = logging.getLogger("tabpe")
        logger.addHandler(recorder)
        logger.setLevel(logging.INFO)
        os.chdir(plain["folder"])
        signal.signal(signal.SIGINT, _note_interrupt)
        files.write_text(folder / PROCESS, json.dumps({"pid": os.getpid()}))
        try:
            code, interrupted = run_commands(plain["commands"])
        except KeyboardInterrupt:
            code, interrupted = _INTERRUPTED, True
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # too late: how it ended is written down
        ended = {
            "code": code,
            "interrupted": interrupted,
            "seconds": round(time.monotonic() - began, 2),
        }
        sys.stdout.flush()
        files.write_text(folder / ENDED, json.dumps(ended))


if __name__ == "__main__":
    main()
