"""Files that are written whole or not at all.

The content goes to a file without a name, reaches the disk, and gets the name of the target in one
step: never through a link, never into a file that others hold open or have linked to. Whatever
stops it on the way, a kill included, leaves no trace. To take the place of a file that is there, it
needs a hidden name for a moment, when it is complete. On systems without files that have no name it
has a hidden one from the beginning, which a killed process leaves behind.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import BinaryIO

from tabpe._paths import check_output
from tabpe.errors import OutputError

_PART = 2**20
_placed: ContextVar[list[Path] | None] = ContextVar("_placed", default=None)


@contextlib.contextmanager
def watched() -> Iterator[list[Path]]:
    """Yield the files that were written so far, for messages about what went wrong after them.

    Example:
        >>> note = Path(tempfile.mkdtemp()) / "note.txt"
        >>> with watched() as written:
        ...     write_text(note, "hello")
        >>> written == [note]
        True
    """
    written: list[Path] = []
    before = _placed.set(written)
    try:
        yield written
    finally:
        _placed.reset(before)


def write(path: Path, fill: Callable[[BinaryIO], None]) -> None:
    """Let `fill` write the content of `path`."""
    write_together({path: fill})


def create(path: Path, fill: Callable[[BinaryIO], None]) -> None:
    """Let `fill` write a new file, for the eyes of its owner, that reaches the disk.

    Raises:
        OutputError: If it can not be written, or exists already.

    Example:
        >>> note = Path(tempfile.mkdtemp()) / "note.txt"
        >>> create(note, text_filler("hello"))
        >>> note.read_text(), [file.name for file in note.parent.iterdir()]
        ('hello', ['note.txt'])
    """
    try:
        with _Draft(path, 0o600) as draft:
            draft.fill(fill)
            draft.place()
        _sync_folder(path.parent)
    except FileExistsError:
        raise OutputError(f"{path}: exists already.") from None
    except OSError as error:
        raise OutputError(f"{path}: can not write ({error.strerror or error}).") from None


def append(path: Path, line: str) -> None:
    """Add a line to a file that exists. When this returns, it is on the disk.

    What stops it may leave the beginning of the line, without its end.

    Raises:
        OutputError: If it can not be written.
    """
    content = f"{line}\n".encode()
    try:
        handle = os.open(path, os.O_WRONLY | os.O_APPEND)
        try:
            if os.write(handle, content) < len(content):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as error:
        raise OutputError(f"{path}: can not write ({error.strerror or error}).") from None


def write_text(path: Path, text: str) -> None:
    """Write `text` to `path` in UTF-8.

    Example:
        >>> folder = Path(tempfile.mkdtemp())
        >>> write_text(folder / "note.txt", "hello")
        >>> [file.name for file in folder.iterdir()]
        ['note.txt']
    """
    write(path, text_filler(text))


def text_filler(text: str) -> Callable[[BinaryIO], None]:
    """Return what fills a file with `text` in UTF-8."""
    return filler(text.encode())


def filler(content: bytes) -> Callable[[BinaryIO], None]:
    """Return what fills a file with `content`."""

    def fill(file: BinaryIO) -> None:
        file.write(content)

    return fill


def measured(
    fill: Callable[[BinaryIO], None], tell: Callable[[str, int], None]
) -> Callable[[BinaryIO], None]:
    """Return what fills a file as `fill` does, then tells the SHA-256 and length of its bytes.

    They are read back: what counts is what is in the file.
    """

    def fill_and_tell(file: BinaryIO) -> None:
        fill(file)
        file.seek(0)
        digest = hashlib.sha256()
        while part := file.read(_PART):
            digest.update(part)
        tell(digest.hexdigest(), file.tell())

    return fill_and_tell


def write_together(contents: dict[Path, Callable[[BinaryIO], None]]) -> None:
    """Write several files; none takes its place before all are complete.

    They are filled in the order given, so that one can speak of those before it. They take their
    places in the opposite order: what speaks of a file is there before the file is.
    """
    try:
        with contextlib.ExitStack() as drafts:
            finished = []
            for path, fill in contents.items():
                check_output(path)
                finished.append(drafts.enter_context(_Draft(path, 0o666 & ~_umask())))
                finished[-1].fill(fill)
            for draft in reversed(finished):
                path = draft.path
                draft.take_place()
                _note(path)
    except OutputError:
        raise
    except OSError as error:
        raise OutputError(f"{path}: can not write ({error.strerror or error}).") from None


class _Draft:
    """The content of a file before it has its name.

    Args:
        path: The name that it will have.
        mode: Who may read and write it.
    """

    def __init__(self, path: Path, mode: int) -> None:
        self.path = path
        self._mode = mode
        self._hidden: Path | None = None
        self._file: BinaryIO = self._unnamed() or self._named()

    def __enter__(self) -> _Draft:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        if self._hidden is not None:
            self._hidden.unlink(missing_ok=True)

    def fill(self, fill: Callable[[BinaryIO], None]) -> None:
        """Write the content, up to the disk."""
        fill(self._file)
        self._file.flush()
        os.fsync(self._file.fileno())
        if self._hidden is not None:  # one without a name lives as long as it is open
            self._file.close()

    def place(self) -> None:
        """Give it its name, if no other file has it.

        Raises:
            FileExistsError: If there is such a file.
        """
        if self._hidden is None:
            try:
                self._name(self.path)
            except FileExistsError:
                raise
            except OSError:
                self._hide()
            else:
                return
        if self._hidden is not None:
            os.link(self._hidden, self.path)

    def take_place(self) -> None:
        """Give it its name, in the place of what has it now."""
        if self._hidden is None:
            try:
                self._name(self.path)
            except OSError:
                self._hide()
            else:
                return
        if self._hidden is not None:
            self._hidden.replace(self.path)

    def _name(self, name: Path) -> None:
        """Name a file that has no name. That fails on file systems without links, and /proc."""
        handle = self._file.fileno()
        # Only with a folder given does os.link follow the link in /proc to the file itself.
        os.link(f"/proc/self/fd/{handle}", name, src_dir_fd=handle, follow_symlinks=True)

    def _hide(self) -> None:
        """Give a file that has no name a hidden one, or make a copy that has one."""
        hidden = self.path.with_name(f".{self.path.name}.{secrets.token_hex(8)}")
        try:
            self._name(hidden)
            self._hidden = hidden
        except OSError:
            self._file = self._named(self._file)

    def _unnamed(self) -> BinaryIO | None:
        flags = getattr(os, "O_TMPFILE", None)
        if flags is None:
            return None
        try:
            handle = os.open(self.path.parent, flags | os.O_RDWR, self._mode)
        except OSError:  # a file system without such files, or another problem that comes up again
            return None
        return os.fdopen(handle, "w+b")

    def _named(self, content: BinaryIO | None = None) -> BinaryIO:
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


def _note(path: Path) -> None:
    written = _placed.get()
    if written is not None:
        written.append(path)


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
