"""`RunFolder`: the noisy measurements of a run on the disk, so that a crash costs no privacy.

Noisy measurements are public: they were charged for, and the synthetic rows follow from them and
from public choices. Each is on the disk before anything is made of it. So after a crash the same
run finds what it has measured, and goes on from there. What is not on the disk was seen by nobody.

The fingerprint of the private table is made with a key that stays in the data folder of the user,
and tells nothing without it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from tabpe import _atomic
from tabpe._home import make_private_folder
from tabpe.archive import Archive
from tabpe.errors import ArchiveError, OutputError, ParameterError
from tabpe.measure import Measured
from tabpe.privacy import BillItem

FORMAT = 1
_HEAD, _FINGERPRINT = "run.json", "fingerprint"


@dataclass(frozen=True)
class Run:
    """What a run has from its beginning to its end, however often it is interrupted.

    Args:
        id: A random name.
        seed: Seed of the search.
        started: When it began, in UTC.
    """

    id: str
    seed: int
    started: str

    @classmethod
    def begin(cls, seed: int | None) -> Run:
        """Return a new run, with a random seed if none is given."""
        seed = secrets.randbits(63) if seed is None else seed
        return cls(secrets.token_hex(16), seed, datetime.now(UTC).isoformat(timespec="seconds"))


class RunFolder:
    """A folder that remembers one run.

    Args:
        path: The folder, made if it does not exist; an empty one, or that of the same run.
        run: The run, if it begins now.
        identity: What must be the same for a run to go on, by name. None of it is private.

    Attributes:
        run: The run of the folder.
        is_new: Whether it begins now.

    Raises:
        ParameterError: If the folder holds a run that differs in any part of `identity`.
        OutputError: If another process works in it, or it can not be written to.
    """

    def __init__(self, path: Path, run: Run, identity: Mapping[str, Any]) -> None:
        self._path = path
        make_private_folder(path)
        with _locked(path) as lock:
            for left_over in path.glob(".*.measured.*"):  # by a killed process, on some systems
                left_over.unlink()
            self.run = self._opened(run, json.loads(json.dumps(identity)))
            self._lock = lock.pop_all()

    def _opened(self, run: Run, identity: Mapping[str, Any]) -> Run:
        """Return the run of the folder, which is `run` if it begins now."""
        head = self._read_head()
        self.is_new = head is None
        if head is None:
            self._write_head(run, identity)
            return run
        _check_same(self._path, head["identity"], identity)
        return Run(**head["run"])

    def check_fingerprint(self, fingerprint: str) -> None:
        """Refuse to go on with another table than the one that the run began with."""
        path = self._path / _FINGERPRINT
        if not path.exists():
            if any(self._path.glob("*.measured")):
                raise ArchiveError(
                    f"{path}: missing: the run can not go on; begin in a new folder."
                )
            _atomic.create(path, _atomic.text_filler(fingerprint))
        if path.read_text() != fingerprint:
            raise ParameterError(
                f"run_dir={str(self._path)!r}: the table is not the one that the run began with: "
                f"begin in a new folder."
            )

    def recall(self, name: str, place: int) -> Archive | None:
        """Return what was recorded under that name and place, if anything was."""
        path = self._file(name, place)
        return Archive.load(path) if path.exists() else None

    def record(self, name: str, place: int, content: Archive) -> None:
        """Keep a measurement. When this returns, it is on the disk."""
        _atomic.create(self._file(name, place), content.fill)

    def forget(self) -> None:
        """Leave the folder empty. Only for a run that has read nothing."""
        (self._path / _HEAD).unlink(missing_ok=True)

    def close(self) -> None:
        """Let other processes work in the folder."""
        self._lock.close()

    def _file(self, name: str, place: int) -> Path:
        # Numbers in a name are as wide as places, so that files stand in the order of rounds.
        words = re.findall("[a-z]+|[0-9]+", name)
        plain = "-".join(f"{int(word):03}" if word.isdigit() else word for word in words)
        return self._path / f"{plain}-{place:03}.measured"

    def _read_head(self) -> dict[str, Any] | None:
        path = self._path / _HEAD
        if not path.exists():
            if any(not entry.name.startswith(".") for entry in self._path.iterdir()):
                raise OutputError(
                    f"run_dir={str(self._path)!r}: holds other files: name an empty folder, or a "
                    f"new one."
                )
            return None
        try:
            head = json.loads(path.read_text())
            if head["format"] == FORMAT and set(head["run"]) == {"id", "seed", "started"}:
                return dict(head)
        except (OSError, ValueError, KeyError, TypeError):
            pass
        raise ArchiveError(f"{path}: not the head of a tabpe run.")

    def _write_head(self, run: Run, identity: Mapping[str, Any]) -> None:
        head = {"format": FORMAT, "run": vars(run), "identity": identity}
        text = json.dumps(head, indent=2) + "\n"
        _atomic.create(self._path / _HEAD, _atomic.text_filler(text))


def archive_of(measured: Measured) -> Archive:
    """Return a measurement as a file holds it."""
    item = measured.item
    text = {
        "name": item.name,
        "sigma": item.sigma,
        "times": item.times,
        "scale": measured.scale,
        "repeats": measured.repeats,
    }
    return Archive(text, {str(label): part for label, part in enumerate(measured.values)})


def measured_of(archive: Archive) -> Measured:
    """Return a measurement from a file."""
    try:
        text, arrays = archive.text, archive.arrays
        values = [arrays[str(label)] for label in range(len(arrays))]
        item = BillItem(str(text["name"]), float(text["sigma"]), text["times"])
        scale, repeats = int(text["scale"]), int(text["repeats"])
    except (KeyError, TypeError, ValueError):
        values = []
    if not values or any(part.dtype != np.int64 or part.ndim != 1 for part in values):
        raise ArchiveError("a measurement in the folder of the run is damaged.")
    return Measured(values, item, scale, repeats)


def code_digest() -> str:
    """Return SHA-256 over the Python files of tabpe: another version may draw other numbers."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def _check_same(path: Path, before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    changed = [name for name in sorted({*before, *now}) if before.get(name) != now.get(name)]
    if changed:
        raise ParameterError(
            f"run_dir={str(path)!r}: the run there began with another {' and '.join(changed)}: "
            f"repeat the command that began it, or begin in a new folder."
        )


def _locked(path: Path) -> contextlib.ExitStack:
    """Hold the folder for this process alone, until closed or until the process ends."""
    import os

    stack = contextlib.ExitStack()
    try:
        import fcntl
    except ImportError:  # not on this system
        return stack
    handle = os.open(path, os.O_RDONLY)
    stack.callback(os.close, handle)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        stack.close()
        raise OutputError(
            f"run_dir={str(path)!r}: another process works in it: wait for its end."
        ) from None
    return stack
