"""Atomic writes, checked paths, addresses without secrets, and the user's data folder.

Paths: inputs may be links to regular files. Outputs are no links and no input: what is written
always gets a file of its own.

Atomic writes: the content goes to an unnamed file, is synced to the disk, and gets the name of the
target in one step: never through a link, never into a file that others hold open or have linked to.
If it is interrupted, even by a kill, it leaves no trace. To replace an existing file, the complete
content needs a hidden name for a moment. On systems without unnamed files it has a hidden name from
the beginning, which a killed process leaves behind.

The data folder holds what belongs to the user: the ledger, and a secret key.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import secrets
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import BinaryIO

from tabpe.errors import OutputError, TabpeError

DATABASES = ("postgresql", "postgres", "duckdb", "sqlite")
STORES = ("s3", "gs", "gcs", "abfs", "abfss", "hdfs", "viewfs", "file")

# Two letters at least, so that the drives of Windows are none. A `Path` keeps one slash of two.
_ADDRESS = re.compile(
    r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]+):/(?P<rest>/?(?P<authority>[^/?#]*)(?P<path>[^?#]*).*)",
    re.DOTALL,
)
_LOOKS_LIKE_A_PASSWORD = re.compile(r":[^@]*@", re.DOTALL)


def get_scheme(address: str | Path) -> str | None:
    """Return the scheme of an address in lower case; None for a file path.

    Example:
        >>> get_scheme("S3://ward/visits"), get_scheme("visits.csv"), get_scheme("C:/visits.csv")
        ('s3', None, None)
    """
    found = _ADDRESS.fullmatch(str(address))
    return None if found is None else found["scheme"].lower()


def has_password(address: str) -> bool:
    """Return whether an address contains a password.

    Example:
        >>> has_password("postgresql://ann@db/ward"), has_password("postgresql://ann:pw@db/ward")
        (False, True)
    """
    found = _ADDRESS.fullmatch(address)
    if found is None:
        return False
    named = re.search(r"[?&][^=&]*(password|secret|token)[^=&]*=", address, re.IGNORECASE)
    return bool(named or _LOOKS_LIKE_A_PASSWORD.search(found["rest"]))


def strip_secrets(address: str | Path) -> str:
    """Return an address without user, password and options.

    Privacy: the result consists of the host and the path. If it is unclear which part is a
    password, neither is shown.

    Example:
        >>> strip_secrets("postgresql://ann:pw@db:5432/ward?sslpassword=pw")
        'postgresql://db:5432/ward'
        >>> strip_secrets("postgresql://ann:p/w@db/ward")
        'postgresql://...'
        >>> strip_secrets("visits.csv")
        'visits.csv'
    """
    text = str(address)
    found = _ADDRESS.fullmatch(text)
    if found is None:
        secret = _LOOKS_LIKE_A_PASSWORD.search(text)
        return text if secret is None else f"{text[: secret.start()]}:..."
    after = found["rest"][found["rest"].index(found["authority"]) + len(found["authority"]) :]
    if "@" in after:
        return f"{found['scheme']}://..."
    return f"{found['scheme']}://{found['authority'].rpartition('@')[2]}{found['path']}"


# Errors for a missing file, which opening it reports better.
_ABSENT = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)


def check_local_path(path: str | Path, refuse: type[TabpeError]) -> None:
    """Refuse what can not be the path of a local file.

    Args:
        path: A path.
        refuse: The error to raise.

    Example:
        >>> from tabpe.errors import DataError
        >>> check_local_path("s3://ward/visits.csv", DataError)
        Traceback (most recent call last):
        tabpe.errors.DataError: s3://ward/visits.csv: a URL: expected a file; copy it here first.
    """
    if get_scheme(path) is not None:
        then = "write it here" if issubclass(refuse, OutputError) else "copy it here"
        raise refuse(f"{strip_secrets(path)}: a URL: expected a file; {then} first.")
    problem = None
    try:
        os.lstat(path)
    except OSError as error:
        problem = None if error.errno in _ABSENT else _describe_os_error(error)
    except ValueError:
        raise refuse(f"{str(path)!a}: expected valid text without NUL.") from None
    if problem:
        raise refuse(f"{path}: can not be accessed ({problem}).")


def open_regular(path: str | Path, refuse: type[TabpeError]) -> BinaryIO:
    """Open a regular file for reading; refuse pipes and devices, which may never end.

    Args:
        path: The file, or a link to it.
        refuse: The error to raise.
    """
    check_local_path(path, refuse)
    try:
        # Non-blocking, since opening a pipe without a writer would wait forever.
        flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        file = os.fdopen(os.open(path, flags | getattr(os, "O_CLOEXEC", 0)), "rb")
    except IsADirectoryError:
        raise refuse(describe_irregular(path)) from None
    except OSError as error:
        problem = (
            "no such file"
            if error.errno == errno.ENOENT
            else f"can not read ({_describe_os_error(error)})"
        )
        raise refuse(f"{path}: {problem}.") from None
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise refuse(describe_irregular(path))
    return file


def describe_irregular(path: str | Path) -> str:
    """Return the message for a path of a pipe, a device, a socket or a folder."""
    return f"{path}: not a regular file: expected a file, no folder, pipe or device."


def check_output(path: Path) -> None:
    """Refuse an output path that can not become a file of its own.

    Raises:
        OutputError: If the path is a URL, a folder, a device, or a link: following it would write
            somewhere else, and replacing it would break it.
    """
    check_local_path(path, OutputError)
    if path.is_symlink():
        raise OutputError(f"{path}: a link, and links are not written through: name the file.")
    if path.is_dir():
        raise OutputError(f"{path}: is a folder: expected the name of a file.")
    if path.exists() and not path.is_file():
        raise OutputError(describe_irregular(path))


def check_distinct_files(outputs: Iterable[Path], inputs: Iterable[Path]) -> None:
    """Refuse to overwrite an input, under any name or link."""
    read = {(found.st_dev, found.st_ino): path for path in inputs if (found := _get_status(path))}
    for output in outputs:
        found = _get_status(output)
        if found and (same := read.get((found.st_dev, found.st_ino))):
            raise OutputError(f"{output}: the same file as the input {same}: name another.")


def _describe_os_error(error: OSError) -> str:
    return (error.strerror or type(error).__name__).lower()


def _get_status(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except OSError:
        return None


_CHUNK_BYTES = 2**20
_written_files: ContextVar[list[Path] | None] = ContextVar("_placed", default=None)


@contextlib.contextmanager
def track_written_files() -> Iterator[list[Path]]:
    """Yield the list of files written in the block, for messages about later errors.

    Example:
        >>> note = Path(tempfile.mkdtemp()) / "note.txt"
        >>> with track_written_files() as written:
        ...     write_text(note, "hello")
        >>> written == [note]
        True
    """
    written: list[Path] = []
    before = _written_files.set(written)
    try:
        yield written
    finally:
        _written_files.reset(before)


def write_file(path: Path, fill: Callable[[BinaryIO], None]) -> None:
    """Write `path` atomically, with the content that `fill` writes."""
    write_files({path: fill})


def create_file(path: Path, fill: Callable[[BinaryIO], None]) -> None:
    """Create a file that only its owner can read, synced to the disk.

    Raises:
        OutputError: If it can not be written, or exists already.

    Example:
        >>> note = Path(tempfile.mkdtemp()) / "note.txt"
        >>> create_file(note, make_text_filler("hello"))
        >>> note.read_text(), [file.name for file in note.parent.iterdir()]
        ('hello', ['note.txt'])
    """
    try:
        with _PendingFile(path, 0o600) as draft:
            draft.fill(fill)
            draft.link_new_file()
        _sync_name(path)
    except FileExistsError:
        raise OutputError(f"{path}: exists already.") from None
    except OSError as error:
        raise OutputError(f"{path}: can not write ({error.strerror or error}).") from None


def append_line(path: Path, line: str) -> None:
    """Append a line to an existing file, synced to the disk.

    An interruption may leave the beginning of the line, without its end.

    Raises:
        OutputError: If it can not be written.
    """
    content = f"{line}\n".encode()
    try:
        # Without O_BINARY, Windows would write another end of line than the digests are about.
        flags = os.O_WRONLY | os.O_APPEND | getattr(os, "O_BINARY", 0)
        handle = os.open(path, flags)
        try:
            if os.write(handle, content) < len(content):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as error:
        raise OutputError(f"{path}: can not write ({error.strerror or error}).") from None


def write_text(path: Path, text: str) -> None:
    """Write `text` to `path` atomically, in UTF-8.

    Example:
        >>> folder = Path(tempfile.mkdtemp())
        >>> write_text(folder / "note.txt", "hello")
        >>> [file.name for file in folder.iterdir()]
        ['note.txt']
    """
    write_file(path, make_text_filler(text))


def make_text_filler(text: str) -> Callable[[BinaryIO], None]:
    """Return a function that writes `text` to a file in UTF-8."""
    return make_filler(text.encode())


def make_filler(content: bytes) -> Callable[[BinaryIO], None]:
    """Return a function that writes `content` to a file."""

    def fill(file: BinaryIO) -> None:
        file.write(content)

    return fill


def make_hashing_filler(
    fill: Callable[[BinaryIO], None], report: Callable[[str, int], None]
) -> Callable[[BinaryIO], None]:
    """Return a function that writes as `fill` does, then reports the SHA-256 and the length.

    The bytes are read back from the file.
    """

    def fill_and_report(file: BinaryIO) -> None:
        fill(file)
        file.seek(0)
        digest = hashlib.sha256()
        while part := file.read(_CHUNK_BYTES):
            digest.update(part)
        report(digest.hexdigest(), file.tell())

    return fill_and_report


def write_files(contents: dict[Path, Callable[[BinaryIO], None]]) -> None:
    """Write several files; none gets its name before all are complete.

    They are filled in the given order, so that one can refer to those before it. They get their
    names in the opposite order: a file that refers to another exists before it.
    """
    try:
        with contextlib.ExitStack() as drafts:
            finished = []
            for path, fill in contents.items():
                check_output(path)
                finished.append(drafts.enter_context(_PendingFile(path, 0o666 & ~_get_umask())))
                finished[-1].fill(fill)
            for draft in reversed(finished):
                path = draft.path
                draft.replace_target()
                _record_written(path)
    except OutputError:
        raise
    except OSError as error:
        raise OutputError(f"{path}: can not write ({error.strerror or error}).") from None


@contextlib.contextmanager
def stage_folder(path: Path) -> Iterator[Path]:
    """Yield a hidden folder, which becomes `path` in one step when the block ends.

    If the block fails, nothing is left. A process that is killed leaves the hidden folder.

    Raises:
        OutputError: If `path` exists already, or can not be written.

    Example:
        >>> target = Path(tempfile.mkdtemp()) / "release"
        >>> with stage_folder(target) as staged:
        ...     write_text(staged / "note.txt", "hello")
        ...     target.exists()
        False
        >>> (target / "note.txt").read_text()
        'hello'
    """
    check_new_folder(path)
    try:
        hidden = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}."))
    except OSError as error:
        raise OutputError(f"{path}: can not write ({error.strerror or error}).") from None
    try:
        with track_written_files():  # these names do not last
            yield hidden
        try:
            hidden.chmod(0o777 & ~_get_umask())
            _sync_names_in(hidden)
            check_new_folder(path)  # again: renaming would replace an empty folder
            hidden.rename(path)
            _sync_names_in(path.parent)
        except OSError as error:
            if isinstance(error, OutputError):
                raise
            raise OutputError(f"{path}: can not write ({error.strerror or error}).") from None
        _record_written(path)
    finally:
        shutil.rmtree(hidden, ignore_errors=True)


def check_new_folder(path: Path) -> None:
    """Refuse a path that is taken, or whose folder can not hold a new one."""
    check_local_path(path, OutputError)
    if os.path.lexists(path):
        raise OutputError(f"{path}: exists already: name a folder that does not exist yet.")
    if not path.name:
        raise OutputError(f"{path}: expected the name of a new folder.")
    if not path.parent.is_dir():
        raise OutputError(f"{path}: the folder {path.parent} does not exist: create it first.")
    if not os.access(path.parent, os.W_OK):
        raise OutputError(f"{path}: the folder {path.parent} can not be written to.")


class _PendingFile:
    """A file that is written before it gets its name.

    Args:
        path: The name it will have.
        mode: Its permissions.
    """

    def __init__(self, path: Path, mode: int) -> None:
        self.path = path
        self._mode = mode
        self._hidden: Path | None = None
        self._file: BinaryIO = self._open_unnamed() or self._open_hidden()

    def __enter__(self) -> _PendingFile:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        if self._hidden is not None:
            self._hidden.unlink(missing_ok=True)

    def fill(self, fill: Callable[[BinaryIO], None]) -> None:
        """Write the content and sync it to the disk."""
        fill(self._file)
        self._file.flush()
        os.fsync(self._file.fileno())
        if self._hidden is not None:  # an unnamed file exists only while it is open
            self._file.close()

    def link_new_file(self) -> None:
        """Give it its name; raise `FileExistsError` if the name is taken."""
        if self._hidden is None:
            try:
                self._link_name(self.path)
            except FileExistsError:
                raise
            except OSError:
                self._link_hidden_name()
            else:
                return
        if self._hidden is not None:
            os.link(self._hidden, self.path)

    def replace_target(self) -> None:
        """Give it its name, replacing an existing file."""
        if self._hidden is None:
            try:
                self._link_name(self.path)
            except OSError:
                self._link_hidden_name()
            else:
                return
        if self._hidden is not None:
            self._hidden.replace(self.path)

    def _link_name(self, name: Path) -> None:
        """Name an unnamed file. This fails on file systems without links, and without /proc."""
        handle = self._file.fileno()
        # os.link follows the link in /proc to the file itself only with src_dir_fd.
        os.link(f"/proc/self/fd/{handle}", name, src_dir_fd=handle, follow_symlinks=True)

    def _link_hidden_name(self) -> None:
        """Give an unnamed file a hidden name, or copy it to a file with one."""
        hidden = self.path.with_name(f".{self.path.name}.{secrets.token_hex(8)}")
        try:
            self._link_name(hidden)
            self._hidden = hidden
        except OSError:
            self._file = self._open_hidden(self._file)

    def _open_unnamed(self) -> BinaryIO | None:
        flags = getattr(os, "O_TMPFILE", None)
        if flags is None:
            return None
        try:
            handle = os.open(self.path.parent, flags | os.O_RDWR, self._mode)
        except OSError:  # no unnamed files here, or a problem that occurs again
            return None
        return os.fdopen(handle, "w+b")

    def _open_hidden(self, content: BinaryIO | None = None) -> BinaryIO:
        handle, name = tempfile.mkstemp(dir=self.path.parent, prefix=f".{self.path.name}.")
        self._hidden = Path(name)
        file = os.fdopen(handle, "w+b")
        self._hidden.chmod(self._mode)
        if content is not None:
            content.seek(0)
            shutil.copyfileobj(content, file)
            content.close()
            file.flush()
            os.fsync(handle)
        return file


def _record_written(path: Path) -> None:
    written = _written_files.get()
    if written is not None:
        written.append(path)


def _sync_name(file: Path) -> None:
    """Sync the name of a new file to the disk."""
    if sys.platform == "win32":
        # A folder can not be synced there. NTFS records names in a journal, in order: a sync of
        # the file writes it up to here.
        with file.open("rb+") as opened:
            os.fsync(opened.fileno())
        return
    _sync_names_in(file.parent)


def _sync_names_in(folder: Path) -> None:
    """Sync the names in a folder to the disk; on Windows they follow in the order of changes."""
    if sys.platform == "win32":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _get_umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


_KEY_BYTES = 32


def get_data_folder() -> Path:
    """Return the data folder of this user; it need not exist.

    Example:
        >>> get_data_folder().name
        'tabpe'
    """
    try:
        return _get_base_folder() / "tabpe"
    except RuntimeError:
        raise OutputError(
            "this user has no home folder: set XDG_DATA_HOME, or name a file or a folder."
        ) from None


def make_private_folder(folder: Path) -> None:
    """Create a folder that only its user can enter, unless it exists."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{folder}: can not create the folder ({error.strerror}).") from None


def load_secret_key() -> bytes:
    """Return the secret key of this user, which never leaves the data folder.

    Privacy: fingerprints of private tables are keyed with it. Without the key, nobody can find out
    from a fingerprint which table it belongs to.
    """
    path = get_data_folder() / "fingerprint.key"
    if not path.exists():
        make_private_folder(path.parent)
        try:
            create_file(path, make_filler(secrets.token_bytes(_KEY_BYTES)))
        except OutputError:
            if not path.exists():  # otherwise another process created one
                raise
    key = path.read_bytes()
    if len(key) != _KEY_BYTES:
        raise OutputError(
            f"{path}: damaged: delete it to get a new one; runs can not be resumed then."
        )
    return key


def _get_base_folder() -> Path:
    if sys.platform == "win32":
        return _read_folder_variable("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support"
    return _read_folder_variable("XDG_DATA_HOME") or Path.home() / ".local" / "share"


def _read_folder_variable(variable: str) -> Path | None:
    """Return the absolute folder in an environment variable; None for anything else."""
    folder = Path(os.environ.get(variable, ""))
    return folder if folder.is_absolute() else None
