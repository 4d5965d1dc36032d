"""`Project`: a folder that holds what a custodian has decided so far, and the runs.

Everything is in one JSON file, which is written atomically after each decision: a crash loses
nothing. Each state has a number. A form sends the number that it was made from, so a second tab
can not silently undo what the first one decided.

Privacy: no private row is in the folder, but for a file that the user uploads into it. The schema
is there as it was drafted: bounds and values from the data, marked so, until they are corrected.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import re
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import Any, BinaryIO

from tabpe._utils import files
from tabpe._utils.files import make_private_folder, open_regular
from tabpe.cli.options import parse_data
from tabpe.errors import ArchiveError, OutputError, ParameterError, TabpeError
from tabpe.studio.messages import N_

fcntl: ModuleType | None
try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

FORMAT = 1
STATE, LOCK, UPLOADS, RUNS = "studio.json", ".studio.lock", "uploads", "runs"
MOST_UNDO = 30
STALE = N_(
    "The project was changed in another tab since this page was loaded. Nothing was saved. Look at "
    "the page as it is now, and decide again."
)
_LARGEST_STATE = 64 * 2**20
_GLANCE = 0.1  # seconds: longer than it takes to look whether a lock is held
_CROWD = 10.0  # seconds until so many have looked at once that something else is wrong
_PLAIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


class StaleStateError(TabpeError):
    """A form was made from an older state: another tab has changed the project since."""


@dataclass(frozen=True)
class DataChoice:
    """The private table that was chosen.

    Args:
        address: The path of a file, or the address of a database.
        table: The table of a database.
        query: A query instead.
        password_env: The environment variable that holds the password.
        is_example: Whether it is the embedded example.

    Example:
        >>> DataChoice("/data/visits.csv").title
        'visits.csv'
    """

    address: str
    table: str | None = None
    query: str | None = None
    password_env: str | None = None
    is_example: bool = False

    @property
    def title(self) -> str:
        """A short name of the table, without the folder that it is in and without secrets."""
        return self.table or Path(files.strip_secrets(self.address)).name

    def open_table(self) -> Any:
        """Return the table as `TabPE.fit` takes it."""
        return parse_data(self.address, self.table, self.query, self.password_env)

    def list_arguments(self) -> list[str]:
        """Return the arguments that name the table in a command."""
        named = {"--table": self.table, "--query": self.query, "--password-env": self.password_env}
        return [self.address, *(word for one in named.items() if one[1] for word in one if word)]


@dataclass(frozen=True)
class BudgetChoice:
    """What a run may spend, and on which data set of the ledger.

    Args:
        dataset: The name of the data set in the ledger.
        epsilon: The epsilon of the next run.
        delta: Its delta.
        rows: About how many rows, or persons, the table has: publicly known, or a guess.
        output_rows: How many rows to make; None for as many as there are.
    """

    dataset: str
    epsilon: float
    delta: float
    rows: int
    output_rows: int | None = None


@dataclass(frozen=True)
class StudioRun:
    """A run that was started.

    Args:
        number: Its number in the project, from 1.
        data: The table.
        dataset: The data set that it is charged to.
        epsilon: Its epsilon.
        delta: Its delta.
        unit: The column of persons; None for a guarantee to rows.
        started: When, in UTC.
    """

    number: int
    data: DataChoice
    dataset: str
    epsilon: float
    delta: float
    unit: str | None
    started: str

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> StudioRun:
        """Read plain values."""
        return cls(**{**plain, "data": DataChoice(**plain["data"])})


@dataclass(frozen=True)
class ReleaseRequest:
    """A release that somebody asks for, and who approved it.

    Args:
        run: The number of the run.
        digest: The digest of its certificate: what is approved is this and nothing else.
        requested_by: Who asks.
        purpose: What it is released for.
        contact: Who answers for it.
        requested_at: When, in UTC.
        approved_by: Who approved; None until somebody did.
        approved_at: When, in UTC.
        folder: The name of the bundle, once it is written.
        signed_by: The fingerprint of the key that signed it.
    """

    run: int
    digest: str
    requested_by: str
    purpose: str
    contact: str
    requested_at: str
    approved_by: str | None = None
    approved_at: str | None = None
    folder: str | None = None
    signed_by: str | None = None


@dataclass(frozen=True)
class ProjectState:
    """All that was decided so far.

    Args:
        version: How often it was changed.
        language: The language of the pages; None for that of the browser.
        tour: Whether explanations of the example are shown.
        data: The table.
        schema: The plain values of its schema.
        drafts: The entries of columns as they were drafted, by name.
        notes: What a column seems to be and what to check, by name.
        proposed_rules: Rules that every row of the table obeys, to be considered.
        proposed_unit: The column that seems to hold the keys of persons.
        undo: Earlier schemas, the last one last.
        protects: `rows` or `persons`; None until it is decided.
        unit: The column of persons.
        max_rows: How many rows of a person count.
        budget: The budget of the next run.
        runs: All runs, oldest first.
        report_seen: The runs whose report was opened.
        release: The release that was asked for last.
    """

    version: int = 0
    language: str | None = None
    tour: bool = False
    data: DataChoice | None = None
    schema: Mapping[str, Any] | None = None
    drafts: Mapping[str, Any] = field(default_factory=dict)
    notes: Mapping[str, str] = field(default_factory=dict)
    proposed_rules: tuple[str, ...] = ()
    proposed_unit: str | None = None
    undo: tuple[Mapping[str, Any], ...] = ()
    protects: str | None = None
    unit: str | None = None
    max_rows: int | None = None
    budget: BudgetChoice | None = None
    runs: tuple[StudioRun, ...] = ()
    report_seen: tuple[int, ...] = ()
    release: ReleaseRequest | None = None

    @property
    def run(self) -> StudioRun | None:
        """The last run."""
        return self.runs[-1] if self.runs else None

    def with_schema(self, schema: Mapping[str, Any]) -> ProjectState:
        """Return the state with another schema, which can be undone."""
        if schema == self.schema:
            return self
        undo = self.undo if self.schema is None else (*self.undo, self.schema)
        return dataclasses.replace(self, schema=schema, undo=undo[-MOST_UNDO:])

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {"format": FORMAT, **dataclasses.asdict(self)}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> ProjectState:
        """Read plain values.

        Example:
            >>> state = ProjectState(data=DataChoice("visits.csv"), protects="rows")
            >>> ProjectState.from_dict(state.to_dict()) == state
            True
        """
        if plain.get("format") != FORMAT:
            raise ParameterError(f"format={plain.get('format')!r}: expected {FORMAT}.")
        given = {name: value for name, value in plain.items() if name != "format"}
        for name, kind in (
            ("data", DataChoice),
            ("budget", BudgetChoice),
            ("release", ReleaseRequest),
        ):
            if given.get(name) is not None:
                given[name] = kind(**given[name])
        given["runs"] = tuple(StudioRun.from_dict(one) for one in given.get("runs", ()))
        for name in ("proposed_rules", "undo", "report_seen"):
            given[name] = tuple(given.get(name, ()))
        return cls(**given)


class Project:
    """A folder with a state. One process has it open at a time.

    Args:
        folder: The folder, made if it does not exist.

    Raises:
        OutputError: If another process has it open, or it can not be written to.
        ArchiveError: If its state can not be read.

    Example:
        >>> import tempfile
        >>> with Project(Path(tempfile.mkdtemp()) / "ward") as project:
        ...     _ = project.change(lambda state: dataclasses.replace(state, protects="rows"))
        ...     project.state.protects, project.state.version
        ('rows', 1)
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder.absolute()
        files.check_local_path(self.folder, OutputError)
        if self.folder.exists() and not self.folder.is_dir():
            raise OutputError(f"{folder}: is a file: name a folder for the project.")
        make_private_folder(self.folder)
        self._lock = _lock_project(self.folder)
        self._one_at_a_time = threading.Lock()
        try:
            self.state = _load_state(self.folder / STATE)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Project:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let others open the folder."""
        self._lock.close()

    def change(
        self, decide: Callable[[ProjectState], ProjectState], version: int | None = None
    ) -> ProjectState:
        """Apply a decision and write it to the disk.

        Args:
            decide: Returns the new state.
            version: The version that the decision was made from; None for the present one.

        Raises:
            StaleStateError: If the state has changed since.
        """
        with self._one_at_a_time:
            self.check_version(version)
            decided = decide(self.state)
            if decided == self.state:
                return self.state
            changed = dataclasses.replace(decided, version=self.state.version + 1)
            text = json.dumps(changed.to_dict(), indent=1, ensure_ascii=False)
            files.write_text(self.folder / STATE, text + "\n")
            (self.folder / STATE).chmod(0o600)
            self.state = changed
            return changed

    def check_version(self, version: int | None) -> None:
        """Refuse a form that was made from an older state."""
        if version is not None and version != self.state.version:
            raise StaleStateError(STALE)

    def get_run_folder(self, number: int) -> Path:
        """Return the folder of a run."""
        return self.folder / RUNS / str(number)

    def make_upload_path(self, name: str) -> Path:
        """Return a new path for an uploaded file; of the name it has, only letters and digits.

        Example:
            >>> import tempfile
            >>> with Project(Path(tempfile.mkdtemp())) as project:
            ...     project.make_upload_path("../../etc/visits 2024.csv").name
            'visits2024.csv'
        """
        plain = "".join(part for part in name.rpartition("/")[2] if part.isalnum() or part in "._-")
        plain = plain.encode("ascii", "ignore").decode().lstrip(".-_")[-80:]
        if not _PLAIN_NAME.fullmatch(plain):
            plain = "table.csv"
        folder = self.folder / UPLOADS / secrets.token_hex(4)
        make_private_folder(folder)
        return folder / plain


def get_time() -> str:
    """Return the time in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _load_state(path: Path) -> ProjectState:
    if not path.exists():
        return ProjectState()
    with open_regular(path, ArchiveError) as file:
        content = file.read(_LARGEST_STATE)  # what is cut off can not be read
    try:
        return ProjectState.from_dict(json.loads(content))
    except (ValueError, TypeError, AttributeError, RecursionError):
        raise ArchiveError(
            f"{path}: not a project of this version of tabpe studio: name another folder."
        ) from None


def _lock_project(folder: Path) -> contextlib.ExitStack:
    """Hold the folder, until the process ends however it ends."""
    stack = contextlib.ExitStack()
    try:
        hold_lock(folder / LOCK, stack)
    except OSError:
        stack.close()
        raise OutputError(
            f"{folder}: is open in another tabpe studio: use that one, or name another folder."
        ) from None
    return stack


def hold_lock(path: Path, stack: contextlib.ExitStack) -> int | None:
    """Hold a lock file until `stack` is closed or the process ends.

    Whoever asks `is_lock_held` at the same time is not in the way.

    Returns:
        The descriptor that holds it: a process that inherits it holds the lock too. None on
        Windows, where locks are not inherited.

    Raises:
        OSError: If another process holds it.
    """
    if fcntl is None:
        from filelock import FileLock

        stack.enter_context(FileLock(path).acquire(_GLANCE, poll_interval=_GLANCE / 20))
        return None
    file: BinaryIO = stack.enter_context(path.open("a+b"))
    until = time.monotonic() + _CROWD
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            if is_lock_held(path) or time.monotonic() > until:
                raise
            time.sleep(0.001)  # somebody looked whether it is held
        else:
            return file.fileno()


def is_lock_held(path: Path) -> bool:
    """Whether a process holds a lock file. Any number may ask at once: they share the lock."""
    if fcntl is None:
        return _is_file_lock_held(path)
    try:
        with path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return False


def _is_file_lock_held(path: Path) -> bool:
    """Answer where locks can not be shared: whoever only looks lets go of it at once."""
    from filelock import FileLock

    if not path.exists():
        return False
    try:
        with FileLock(path).acquire(_GLANCE, poll_interval=_GLANCE / 20):
            return False
    except OSError:  # filelock's Timeout is one
        return True
