"""Which paths are read and written: files on this machine, and nothing that only looks like one.

Inputs may be links to regular files. Outputs are no links and no input: what is written always
gets a file of its own.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO

from tabpe._addresses import scheme_of, without_secrets
from tabpe.errors import OutputError, TabpeError

# Nothing is there, which whoever opens it will say better.
_ABSENT = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)


def check_local(path: str | Path, refuse: type[TabpeError]) -> None:
    """Refuse what can not be the path of a file here.

    Args:
        path: A path, or what was given as one.
        refuse: The error to raise.

    Example:
        >>> from tabpe.errors import DataError
        >>> check_local("s3://ward/visits.csv", DataError)
        Traceback (most recent call last):
        tabpe.errors.DataError: s3://ward/visits.csv: a URL: expected a file; copy it here first.
    """
    if scheme_of(path) is not None:
        then = "write it here" if issubclass(refuse, OutputError) else "copy it here"
        raise refuse(f"{without_secrets(path)}: a URL: expected a file; {then} first.")
    problem = None
    try:
        os.lstat(path)
    except OSError as error:
        problem = None if error.errno in _ABSENT else _reason(error)
    except ValueError:
        raise refuse(f"{str(path)!a}: expected a name without NUL, in whole letters.") from None
    if problem:
        raise refuse(f"{path}: can not be looked at ({problem}).")


def open_regular(path: str | Path, refuse: type[TabpeError]) -> BinaryIO:
    """Open a file to read it, and nothing that is not one: a pipe would never end.

    Args:
        path: The file, or a link to it.
        refuse: The error to raise.
    """
    check_local(path, refuse)
    try:
        # Without waiting: a pipe that nobody writes to would keep us here.
        file = os.open(
            path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        )
    except OSError as error:
        problem = (
            "no such file" if error.errno == errno.ENOENT else f"can not read ({_reason(error)})"
        )
        raise refuse(f"{path}: {problem}.") from None
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise refuse(not_regular(path))
    return os.fdopen(file, "rb")


def not_regular(path: str | Path) -> str:
    """Say that a path leads to a pipe, a device, a socket or a folder."""
    return f"{path}: not a regular file: expected a file, no folder, pipe or device."


def check_output(path: Path) -> None:
    """Refuse to write where no file of its own would come to be.

    Raises:
        OutputError: If the path is a URL, a folder, a device, or a link: to go through it would
            write where nobody looks, and to put a file in its place would break it.
    """
    check_local(path, OutputError)
    if path.is_symlink():
        raise OutputError(f"{path}: a link, and links are not written through: name the file.")
    if path.is_dir():
        raise OutputError(f"{path}: is a folder: expected the name of a file.")
    if path.exists() and not path.is_file():
        raise OutputError(not_regular(path))


def check_apart(outputs: Iterable[Path], inputs: Iterable[Path]) -> None:
    """Refuse to overwrite an input, whatever it is called and however it is linked to."""
    read = {(found.st_dev, found.st_ino): path for path in inputs if (found := _status(path))}
    for output in outputs:
        found = _status(output)
        if found and (same := read.get((found.st_dev, found.st_ino))):
            raise OutputError(f"{output}: the same file as the input {same}: name another.")


def _reason(error: OSError) -> str:
    return (error.strerror or type(error).__name__).lower()


def _status(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except OSError:
        return None
