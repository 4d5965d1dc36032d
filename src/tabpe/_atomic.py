"""Files that are written whole or not at all.

The content goes to a hidden file in the same folder, reaches the disk, and takes the place of
the target in one step: never through a link, never into a file that others hold open or have
linked to. Whatever stops it on the way, Ctrl-C included, leaves no trace.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from tabpe._paths import check_output
from tabpe.errors import OutputError


def write(path: Path, fill: Callable[[BinaryIO], None]) -> None:
    """Let `fill` write the content of `path`."""
    write_together({path: fill})


def create(path: Path, fill: Callable[[BinaryIO], None]) -> None:
    """Let `fill` write a new file, for the eyes of its owner, that reaches the disk.

    Where the system can, the file has no name before it is complete: not even a process that is
    killed leaves a part of it behind.

    Raises:
        OutputError: If it can not be written, or exists already.

    Example:
        >>> note = Path(tempfile.mkdtemp()) / "note.txt"
        >>> create(note, text_filler("hello"))
        >>> note.read_text(), [file.name for file in note.parent.iterdir()]
        ('hello', ['note.txt'])
    """
    try:
        _create(path, fill)
        _sync_folder(path.parent)
    except FileExistsError:
        raise OutputError(f"{path}: exists already.") from None
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
        file.flush()
        with Path(file.name).open("rb") as written:
            tell(hashlib.file_digest(written, "sha256").hexdigest(), written.tell())

    return fill_and_tell


def write_together(contents: dict[Path, Callable[[BinaryIO], None]]) -> None:
    """Write several files; none takes its place before all are complete.

    They are filled in the order given, so that one can speak of those before it. They take their
    places in the opposite order: what speaks of a file is there before the file is.
    """
    finished: dict[Path, Path] = {}
    try:
        for path, fill in contents.items():
            check_output(path)
            finished[path] = _hidden(path)
            _fill(finished[path], fill)
        for path, temporary in reversed(finished.items()):
            temporary.replace(path)
    except OutputError:
        raise
    except OSError as error:
        raise OutputError(f"{path}: can not write ({error.strerror or error}).") from None
    finally:
        for temporary in finished.values():
            temporary.unlink(missing_ok=True)


def _create(path: Path, fill: Callable[[BinaryIO], None]) -> None:
    try:
        _create_unnamed(path, fill)
    except FileExistsError:
        raise
    except (AttributeError, OSError):  # another system, or a file system without such files
        _create_hidden(path, fill)


def _create_unnamed(path: Path, fill: Callable[[BinaryIO], None]) -> None:
    handle = os.open(path.parent, os.O_TMPFILE | os.O_RDWR, 0o600)
    with os.fdopen(handle, "wb") as file:
        fill(file)
        file.flush()
        os.fsync(handle)
        # Only with a folder given does os.link follow the link in /proc to the file itself.
        os.link(f"/proc/self/fd/{handle}", path, src_dir_fd=handle, follow_symlinks=True)


def _create_hidden(path: Path, fill: Callable[[BinaryIO], None]) -> None:
    temporary = _hidden(path)
    try:
        _fill(temporary, fill)
        temporary.chmod(0o600)
        os.link(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _hidden(path: Path) -> Path:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    os.close(handle)
    return Path(name)


def _fill(temporary: Path, fill: Callable[[BinaryIO], None]) -> None:
    with temporary.open("wb") as file:
        fill(file)
        file.flush()
        os.fsync(file.fileno())
    temporary.chmod(0o666 & ~_umask())


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
