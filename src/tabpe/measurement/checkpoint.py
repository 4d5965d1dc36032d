"""Noisy measurements on the disk, so that a crash costs no privacy.

`RunFolder`: the noisy measurements of a run on the disk, so that a crash costs no privacy.

Noisy measurements are public: they were charged for, and the synthetic rows follow from them and
from public choices. Each is on the disk before anything is made of it. So after a crash the same
run finds what it has measured, and goes on from there. What is not on the disk was seen by nobody.

The fingerprint of the private table is made with a key that stays in the data folder of the user,
and tells nothing without it.

Measurements are a chain: each file has its number and the digest of all before it. `progress.log`
has a line for every start of a run that is charged to a ledger, written before the ledger hears of
it, and for every measurement, written after its file. It is there before `run.json` is. So a folder
that lost files, by whatever way, lacks a link of the chain or what the log tells of, and is refused
instead of measuring again. A crash only ever leaves a file more than the log tells of, or the
beginning of a last line. Without a ledger nothing outside of the folder knows of it: to put an old
copy of all of it in its place, or to go on in two copies, is not noticed.

`MeasurementJournal`: each thing is measured once, even by a run that was interrupted.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import re
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tabpe._utils import files as _atomic
from tabpe._utils.files import make_private_folder, open_regular
from tabpe._utils.serialization import Archive
from tabpe.accounting import Account, Spend
from tabpe.accounting.ledger import RunStart
from tabpe.errors import ArchiveError, BudgetError, OutputError, ParameterError, TabpeError
from tabpe.measurement.histograms import NoisyCounts

fcntl: ModuleType | None
try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

_LOGGER = logging.getLogger(__name__)
FORMAT = 2
_HEAD, _FINGERPRINT, _LOG = "run.json", "fingerprint", "progress.log"
_STARTED, _MEASURED = "started", "measured"
# What a file has of a measurement beside the measurement.
_LINKS = ("format", "number", "previous")
_THEN = "the run can not go on; begin in a new folder"


NO_ANSWER = hashlib.sha256(b"tabpe: no measurement").hexdigest()


class Transcript:
    """A hash chain over noisy answers: each digest covers the one before it.

    Attributes:
        count: How many answers it covers.
        sha256: The digest of all of them.

    Example:
        >>> one, other = Transcript(), Transcript()
        >>> one.add_answer({"name": "votes"}, {"0": np.array([3, 1])})
        >>> other.add_answer({"name": "votes"}, {"0": np.array([3, 2])})
        >>> one.count, one.sha256 == other.sha256
        (1, False)
    """

    def __init__(self) -> None:
        self.count = 0
        self.sha256 = NO_ANSWER

    def add_answer(
        self, text: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]] | None = None
    ) -> None:
        """Add a noisy answer: plain values, and arrays by name."""
        digest = hashlib.sha256(self.sha256.encode())
        digest.update(json.dumps(text, sort_keys=True, separators=(",", ":")).encode())
        for name, array in sorted((arrays or {}).items()):
            plain = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
            digest.update(f"\0{name} {plain.dtype.str} {plain.shape}\0".encode())
            digest.update(plain.tobytes())
        self.sha256 = digest.hexdigest()
        self.count += 1


@dataclass(frozen=True)
class RunInfo:
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
    def begin_run(cls, seed: int | None) -> RunInfo:
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
        digests: The digest of its first measurements: of none, of one, and so on to all.

    Raises:
        ParameterError: If the folder holds a run that differs in any part of `identity`.
        ArchiveError: If it is damaged, or lost measurements.
        OutputError: If another process works in it, or it can not be written to.
    """

    def __init__(self, path: Path, run: RunInfo, identity: Mapping[str, Any]) -> None:
        self._path = path
        make_private_folder(path)
        with _translate_errors(path), _lock_folder(path) as lock:
            self._delete_leftovers()
            self.run = self._open_run(run, json.loads(json.dumps(identity)))
            self._lock = lock.pop_all()

    def _open_run(self, run: RunInfo, identity: Mapping[str, Any]) -> RunInfo:
        """Return the run of the folder, which is `run` if it begins now."""
        head = self._read_head()
        self.is_new = head is None
        self._transcript, self._starts = Transcript(), list[str]()
        self.digests = [NO_ANSWER]
        if head is None:
            (self._path / _LOG).unlink(missing_ok=True)
            _atomic.create_file(self._path / _LOG, _atomic.make_filler(b""))
            self._write_head(run, identity)
            return run
        _check_identity(self._path, head["identity"], identity)
        begun = _parse_run(self._path / _HEAD, head["run"])
        self._read_measurements()
        self._read_log()
        return begun

    def record_start(self) -> RunStart:
        """Return a new start of the run, for its ledger. When this returns, it is on the disk."""
        found = RunStart(secrets.token_hex(16), tuple(self._starts), tuple(self.digests))
        _atomic.append_line(self._path / _LOG, f"{_STARTED} {found.token}")
        self._starts.append(found.token)
        return found

    def check_fingerprint(self, fingerprint: str) -> None:
        """Refuse to go on with another table than the one that the run began with."""
        path = self._path / _FINGERPRINT
        if not path.exists():
            if len(self.digests) > 1:
                raise ArchiveError(f"{path}: missing: {_THEN}.")
            _atomic.create_file(path, _atomic.make_text_filler(fingerprint))
        if _read_file(path) != fingerprint.encode():
            raise ParameterError(
                f"run_dir={str(self._path)!r}: the table is not the one that the run began with: "
                f"begin in a new folder."
            )

    def load_measurement(self, name: str, index: int) -> Archive | None:
        """Return what was recorded under that name and place, if anything was."""
        path = self._get_path(name, index)
        return _remove_links(Archive.load(path)) if path.exists() else None

    def save_measurement(self, name: str, index: int, content: Archive) -> None:
        """Keep a measurement. When this returns, it is on the disk."""
        number, previous = len(self.digests), self.digests[-1]
        links = {"number": number, "previous": previous}
        linked = Archive({**content.text, **links}, content.arrays)
        _atomic.create_file(self._get_path(name, index), linked.write_into)
        self._transcript.add_answer(content.text, content.arrays)
        self.digests.append(self._transcript.sha256)
        _atomic.append_line(self._path / _LOG, f"{_MEASURED} {number} {self.digests[-1]}")

    def discard_run(self) -> bool:
        """Leave the folder empty, or return False. Only for a run that has read nothing."""
        try:
            (self._path / _HEAD).unlink(missing_ok=True)
            (self._path / _LOG).unlink(missing_ok=True)
        except OSError:
            return not (self._path / _HEAD).exists()
        return True

    def close(self) -> None:
        """Let other processes work in the folder."""
        self._lock.close()

    def _delete_leftovers(self) -> None:
        """Delete what a killed process left half done, on systems where it leaves anything."""
        for name in (_HEAD, _FINGERPRINT, _LOG, "*.measured"):
            for left_over in self._path.glob(f".{name}.*"):
                left_over.unlink()

    def _get_path(self, name: str, index: int) -> Path:
        # Numbers in a name are as wide as places, so that files stand in the order of rounds.
        words = re.findall("[a-z]+|[0-9]+", name)
        plain = "-".join(f"{int(word):03}" if word.isdigit() else word for word in words)
        return self._path / f"{plain}-{index:03}.measured"

    def _read_head(self) -> dict[str, Any] | None:
        path = self._path / _HEAD
        if not path.exists():
            if not self._is_unused():
                raise OutputError(
                    f"run_dir={str(self._path)!r}: holds other files: name an empty folder, or a "
                    f"new one."
                )
            return None
        try:
            head = json.loads(_read_file(path))
            if head["format"] == FORMAT and isinstance(head["identity"], dict):
                return dict(head)
        except (ValueError, KeyError, TypeError, RecursionError):
            pass
        raise ArchiveError(f"{path}: not the head of a tabpe run: {_THEN}.")

    def _is_unused(self) -> bool:
        """Whether there is nothing in it, or the log of a run that ended before it measured."""
        visible = {entry.name for entry in self._path.iterdir() if not entry.name.startswith(".")}
        log = self._path / _LOG
        return not visible or (visible == {_LOG} and _MEASURED.encode() not in _read_file(log))

    def _write_head(self, run: RunInfo, identity: Mapping[str, Any]) -> None:
        head = {"format": FORMAT, "run": vars(run), "identity": identity}
        text = json.dumps(head, indent=2) + "\n"
        _atomic.create_file(self._path / _HEAD, _atomic.make_text_filler(text))

    def _read_measurements(self) -> None:
        """Follow the chain of measurements from the first to the last."""
        files = {path: Archive.load(path) for path in self._path.glob("*.measured")}
        numbers = [archive.text.get("number") for archive in files.values()]
        if not all(type(number) is int for number in numbers):
            raise ArchiveError(f"{self._path}: a measurement is damaged: {_THEN}.")
        found = sorted(files.values(), key=lambda archive: archive.text["number"])
        for number, archive in enumerate(found, start=1):
            links = archive.text["number"], archive.text.get("previous")
            if links != (number, self.digests[-1]):
                raise ArchiveError(f"{self._path}: measurement {number} is missing: {_THEN}.")
            content = _remove_links(archive)
            self._transcript.add_answer(content.text, content.arrays)
            self.digests.append(self._transcript.sha256)

    def _read_log(self) -> None:
        """Compare the measurements with what the log tells of them, and take in earlier starts."""
        path = self._path / _LOG
        if not path.exists():
            raise ArchiveError(f"{path}: missing, files were deleted: {_THEN}.")
        *lines, rest = _read_file(path).split(b"\n")
        if rest:  # the beginning of a line that a crash cut short
            self._truncate_log(len(rest))
        for line in lines:
            match line.decode(errors="replace").split(" "):
                case ["started", token]:
                    self._starts.append(token)
                case ["measured", number, digest] if number.isascii() and number.isdigit():
                    if int(number) >= len(self.digests):
                        raise ArchiveError(
                            f"{self._path}: measurement {int(number)} is missing, files were "
                            f"deleted: {_THEN}."
                        )
                    if self.digests[int(number)] != digest:
                        raise ArchiveError(
                            f"{self._path}: measurement {int(number)} is another one: {_THEN}."
                        )
                case _:
                    raise ArchiveError(f"{path}: damaged: {_THEN}.")

    def _truncate_log(self, size: int) -> None:
        path = self._path / _LOG
        with path.open("rb+") as log:
            log.truncate(path.stat().st_size - size)
            os.fsync(log.fileno())


def archive_measurement(measured: NoisyCounts) -> Archive:
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


def restore_measurement(archive: Archive) -> NoisyCounts:
    """Return a measurement from a file."""
    try:
        text, arrays = archive.text, archive.arrays
        values = [arrays[str(label)] for label in range(len(arrays))]
        item = Spend(str(text["name"]), float(text["sigma"]), text["times"])
        scale, repeats = int(text["scale"]), int(text["repeats"])
    except (KeyError, TypeError, ValueError):
        values = []
    if not values or any(part.dtype != np.int64 or part.ndim != 1 for part in values):
        raise ArchiveError("a measurement in the folder of the run is damaged.")
    return NoisyCounts(values, item, scale, repeats)


def compute_code_digest() -> str:
    """Return SHA-256 over the Python files of tabpe: another version may draw other numbers."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parents[1].rglob("*.py")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def _remove_links(archive: Archive) -> Archive:
    """Return a measurement as it was recorded."""
    text = {name: value for name, value in archive.text.items() if name not in _LINKS}
    return Archive(text, archive.arrays)


def _parse_run(path: Path, plain: Any) -> RunInfo:
    kinds = {"id": str, "seed": int, "started": str}
    if isinstance(plain, dict) and {name: type(plain[name]) for name in plain} == kinds:
        return RunInfo(**plain)
    raise ArchiveError(f"{path}: not the head of a tabpe run: {_THEN}.")


def _read_file(path: Path) -> bytes:
    with open_regular(path, ArchiveError) as file:
        return file.read()


@contextlib.contextmanager
def _translate_errors(path: Path) -> Iterator[None]:
    """Say in one line that the system does not let us read or write in the folder."""
    try:
        yield
    except TabpeError:
        raise
    except OSError as error:
        raise OutputError(f"run_dir={str(path)!r}: can not be used ({error.strerror}).") from None


def _check_identity(path: Path, before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    changed = [name for name in sorted({*before, *now}) if before.get(name) != now.get(name)]
    if changed:
        raise ParameterError(
            f"run_dir={str(path)!r}: the run there began with another {' and '.join(changed)}: "
            f"repeat the command that began it, or begin in a new folder."
        )


def _lock_folder(path: Path) -> contextlib.ExitStack:
    """Hold the folder for this process alone, until closed or until the process ends."""
    stack = contextlib.ExitStack()
    try:
        if fcntl is None:
            _lock_file_in(path, stack)
        else:
            handle = os.open(path, os.O_RDONLY)
            stack.callback(os.close, handle)
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # filelock's Timeout is one
        stack.close()
        raise OutputError(
            f"run_dir={str(path)!r}: another process works in it: wait for its end."
        ) from None
    return stack


def _lock_file_in(folder: Path, stack: contextlib.ExitStack) -> None:
    """Hold a hidden file of the folder, where a folder can not be locked: on Windows."""
    from filelock import FileLock

    stack.enter_context(FileLock(folder / ".lock", timeout=0))


PlainAnswer = dict[str, list[Any]]


class MeasurementObserver(Protocol):
    """Who follows what a start of a run measures: a ledger."""

    def check_start(self) -> None:
        """Refuse to measure if this start is not the last of its run any more."""

    def record_measurement(self, transcript: Transcript) -> None:
        """Take in one more measurement, before anything is made of it."""


class MeasurementJournal:
    """Measures what is not recorded, and records it before anyone sees it.

    Privacy: a measurement that was recorded is charged to the account like any other, as often as
    it was, because it is among the spends of the run, and no row is read for it again.

    Args:
        account: What the measurements are charged to.
        folder: Where they are recorded; None for nowhere.
        is_closed: Whether the run is spent in a ledger: then nothing more is measured.
        observer: Is asked before each measurement, and notified of it.

    Attributes:
        transcript: The digest of all measurements so far, restored or made.
        is_asking: Whether the rows are being asked, or an answer failed: an error then may follow
            from rows, and not from noisy answers alone.
    """

    def __init__(
        self,
        account: Account,
        folder: RunFolder | None = None,
        *,
        is_closed: bool = False,
        observer: MeasurementObserver | None = None,
    ) -> None:
        self.account = account
        self.transcript = Transcript()
        self._folder = folder
        self._is_closed = is_closed
        self._observer = observer
        self._counters: dict[str, int] = {}
        self.is_asking = False

    def measure_once(
        self, spend: Spend, measure: Callable[[], NoisyCounts], *, times: int = 1
    ) -> NoisyCounts:
        """Return the next measurement of a spend, restored or made.

        Args:
            spend: What it is charged to.
            measure: Charges the account, and measures.
            times: How often it is charged: once for each histogram, and for each vote of a row.

        Raises:
            ArchiveError: If what is recorded has other noise, or was charged another number of
                times.
        """
        name = spend.name
        place = self._counters[name] = self._counters.get(name, 0) + 1
        found = self._load_recorded(name, place)
        if found is not None:
            measured = restore_measurement(found)
            if measured.item != self.account.charge_spend(spend, times):
                raise _make_mismatch_error(name)
            _LOGGER.info("%s: %d restored from the run folder", name, times)
            return measured
        self._check_open(name)
        self.is_asking = True
        measured = measure()
        if measured.item.times != times:
            raise TabpeError(f"{name}: was not charged {times} times, as it should have been.")
        self._save_measurement(name, place, archive_measurement(measured))
        _LOGGER.info("%s: %d measured, sigma %.4g", name, times, spend.sigma)
        return measured

    def ask_once(self, spend: Spend, ask: Callable[[], PlainAnswer]) -> PlainAnswer:
        """Return the noisy answer about columns that a spend is for, restored or asked for."""
        found = self._load_recorded(spend.name, 1)
        if found is None:
            self._check_open(spend.name)
            self.is_asking = True
            answer = ask()
            content = Archive({"item": spend.to_dict(), "answer": answer}, {})
            self._save_measurement(spend.name, 1, content)
            _LOGGER.info("%s: %d measured, sigma %.4g", spend.name, spend.times, spend.sigma)
            return answer
        self.account.charge_spend(spend, spend.times)
        recorded = found.text.get("answer")
        if found.text.get("item") != spend.to_dict() or not isinstance(recorded, dict):
            raise _make_mismatch_error(spend.name)
        return recorded

    def _load_recorded(self, name: str, index: int) -> Archive | None:
        """Return what the folder holds, if it is the next measurement of the run."""
        found = None if self._folder is None else self._folder.load_measurement(name, index)
        if found is None or self._folder is None:
            return None
        self.transcript.add_answer(found.text, found.arrays)
        if self.transcript.sha256 != self._folder.digests[self.transcript.count]:
            raise _make_mismatch_error(name)
        return found

    def _save_measurement(self, name: str, index: int, content: Archive) -> None:
        """Keep a measurement before anyone sees it, and tell who follows the run."""
        self.transcript.add_answer(content.text, content.arrays)
        if self._folder is not None:
            self._folder.save_measurement(name, index, content)
        if self._observer is not None:
            self._observer.record_measurement(self.transcript)
        self.is_asking = False

    def _check_open(self, name: str) -> None:
        if self._is_closed:
            raise BudgetError(
                f"{name}: the run is spent in the ledger, and its folder lacks a measurement: "
                f"nothing more is read for it. Begin in a new folder."
            )
        if self._folder is not None and self._folder.digests[-1] != self.transcript.sha256:
            # One that this run did not come to, or came to in another order.
            raise _make_mismatch_error(name)
        if self._observer is not None:
            self._observer.check_start()


def _make_mismatch_error(name: str) -> ArchiveError:
    return ArchiveError(
        f"{name}: the folder of the run holds another measurement: begin in a new folder."
    )


def compute_fingerprint(names: Sequence[str], sums: NDArray[np.uint64], key: bytes) -> str:
    """Return a keyed digest of a table, which reveals nothing without the key.

    Args:
        names: The columns that are read.
        sums: Their `sum_row_hashes`.
        key: The key.
    """
    digest = hashlib.blake2b(key=key, digest_size=32)
    digest.update(repr(list(names)).encode())
    digest.update(sums.tobytes())
    return digest.hexdigest()
