"""What is wrong with a file, said without a cell of it.

The words of Arrow and of Python about a file often quote it. So a failure is dropped whole where
it happens, and an error of our own is raised outside of any `except`: nothing stands behind it.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pyarrow as pa

from tabpe.errors import DataError

T = TypeVar("T")
UNREADABLE = (UnicodeDecodeError, csv.Error, EOFError)


def tried(path: Path, call: Callable[[], T], fault: Callable[[], str]) -> T:
    """Return what `call` reads from `path`.

    Args:
        path: The file, to name in errors.
        call: What reads it.
        fault: Says what is wrong with the file after `call` failed.

    Raises:
        DataError: If `call` fails, in our own words.
    """
    problem = None
    try:
        return call()
    except OSError as error:
        problem = f"can not read ({error.strerror or 'damaged file'})."
    except pa.ArrowMemoryError:
        problem = "does not fit into memory."
    except (pa.ArrowException, *UNREADABLE):
        pass
    raise DataError(f"{path}: {problem or fault()}")


def each(path: Path, items: Iterator[T], fault: Callable[[], str]) -> Iterator[T]:
    """Yield what `items` reads from `path`, each under `tried`."""
    while (item := tried(path, lambda: next(items, None), fault)) is not None:
        yield item


def check_names(names: list[str], *, where: str) -> None:
    """Refuse columns without a name and names that stand twice."""
    seen: set[str] = set()
    for place, name in enumerate(names, start=1):
        if not name.strip():
            raise DataError(f"{where}: column {place} has no name.")
        if name in seen:
            raise DataError(f"{where}: the column {name!r} stands there twice.")
        seen.add(name)
