"""Which files a path stands for: a file, a pattern, or a folder with all that is below it.

Below a folder, and below the part of a pattern that is plain text, folders named `key=value`
say what all rows in them have in common. Keys become columns of text.
"""

from __future__ import annotations

import glob
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from tabpe.errors import DataError
from tabpe.io.faults import UNREADABLE, tried

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


def find_files(path: str | Path) -> list[Found]:
    """Return the files that a path, a pattern or a folder stands for, in the order of their names.

    In a folder, what is hidden or begins with `_` is passed over (`.crc`, `_SUCCESS`).

    Raises:
        DataError: If there is no file, or one that is there twice by way of a link: its rows
            would count twice.
    """
    if Path(path).is_file():
        return [Found(Path(path))]
    if Path(path).is_dir():
        root = Path(path)
        files = tried(root, lambda: list(_below(root, ())), lambda: "not readable.")
    else:
        root = _plain_part(Path(path))
        files = [Path(match) for match in glob.glob(str(path)) if Path(match).is_file()]  # noqa: PTH207
    if not files:
        what = "no file in this folder" if Path(path).is_dir() else "no such file"
        raise DataError(f"{path}: {what}.")
    _refuse_twice(files)
    return [Found(file, _keys(file.relative_to(root))) for file in sorted(files)]


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
        elif entry.is_file() and not entry.name.startswith("_"):
            yield entry


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


def _keys(below: Path) -> tuple[tuple[str, str | None], ...]:
    split = [part.partition("=") for part in below.parts[:-1]]
    return tuple(
        (_decoded(below, name), None if value == MISSING else _decoded(below, value))
        for name, separator, value in split
        if name and separator
    )


def _decoded(path: Path, text: str) -> str:
    try:
        return unquote(text, errors="strict")
    except UNREADABLE:
        problem = "the name of a folder is not UTF-8 text."
    raise DataError(f"{path}: {problem}")
