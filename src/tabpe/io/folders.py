"""Which files a path stands for: a file, a pattern, or a folder with all that is below it.

Below a folder, and below the part of a pattern that is plain text, folders named `key=value`
say what all rows in them have in common. Keys become columns of text.
"""

from __future__ import annotations

import glob
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from urllib.parse import unquote

from tabpe._addresses import without_secrets
from tabpe._paths import check_local, not_regular
from tabpe.errors import DataError
from tabpe.io.faults import UNREADABLE, tried
from tabpe.io.limits import Limits

MISSING = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True)
class Found:
    """A file, and what its folders say of all its rows.

    Args:
        path: The file.
        keys: Name and value of each `key=value` folder; None for a missing value.
    """

    path: Path
    keys: tuple[tuple[str, str | None], ...] = ()

    @property
    def key_names(self) -> list[str]:
        """The names of the columns that its folders add."""
        return [name for name, _ in self.keys]


def files_of(path: str | Path) -> list[Path]:
    """Return the files that a path, a pattern or a folder stands for."""
    return [found.path for found in find_files(path, Limits.of())]


def find_files(path: str | Path, limits: Limits) -> list[Found]:
    """Return the files that a path, a pattern or a folder stands for, in the order of their names.

    In a folder, what is hidden or begins with `_` is passed over (`.crc`, `_SUCCESS`).

    Raises:
        DataError: If there is no file, or one that is there twice by way of a link: its rows
            would count twice.
    """
    check_local(path, DataError)
    if Path(path).is_file():
        return [Found(Path(path))]
    if Path(path).is_dir():
        root = Path(path)
        found = _below(root, ())
    else:
        root = _plain_part(Path(path))
        found = _matches(path)
    most = itertools.islice(found, limits.files + 1)
    files = tried(root, lambda: list(most), lambda: "not readable.")
    limits.check("files", len(files), where=str(path))
    if not files:
        what = "no file in this folder" if Path(path).is_dir() else "no such file"
        raise DataError(f"{without_secrets(path)}: {what}.")
    _refuse_twice(files)
    return [Found(file, keys_of(file.relative_to(root))) for file in sorted(files)]


def _below(folder: Path, above: Sequence[Path]) -> Iterator[Path]:
    """Yield the files in a folder and its folders, those that are linked to included."""
    real = folder.resolve()
    if real in above:
        raise DataError(f"{folder}: a link that leads back to a folder above it.")
    for entry in folder.iterdir():
        if entry.name.startswith("."):
            continue
        if entry.is_dir() and (not entry.name.startswith("_") or "=" in entry.name):
            yield from _below(entry, (*above, real))
        elif not entry.name.startswith("_"):
            yield _regular(entry)


def _matches(pattern: str | Path) -> Iterator[Path]:
    for match in map(Path, glob.iglob(str(pattern))):  # noqa: PTH207
        if not match.is_dir():
            yield _regular(match)


def _regular(path: Path) -> Path:
    """Return a file, and refuse what is none: a pipe, a device, a link to nowhere."""
    if not path.is_file():
        raise DataError(not_regular(path))
    return path


def _plain_part(pattern: Path) -> Path:
    """Return the folder of a pattern below which parts are matched."""
    plain = pattern.parent
    while glob.has_magic(str(plain)):
        plain = plain.parent
    return plain


def _refuse_twice(files: Sequence[Path]) -> None:
    seen: dict[Path, Path] = {}
    for file in sorted(files):
        first = seen.setdefault(file.resolve(), file)
        if first != file:
            raise DataError(f"{file}: the same file as {first}: its rows would count twice.")


def keys_of(below: PurePath) -> tuple[tuple[str, str | None], ...]:
    """Return name and value of each `key=value` folder above a file."""
    split = [part.partition("=") for part in below.parts[:-1]]
    return tuple(
        (_decoded(below, name), None if value == MISSING else _decoded(below, value))
        for name, separator, value in split
        if name and separator
    )


def _decoded(path: PurePath, text: str) -> str:
    try:
        return unquote(text, errors="strict")
    except UNREADABLE:
        problem = "the name of a folder is not UTF-8 text."
    raise DataError(f"{path}: {problem}")
