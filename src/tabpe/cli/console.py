"""How results, warnings and errors reach people: one line each, and never a private cell."""

from __future__ import annotations

import os
import traceback
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer

from tabpe._utils import files
from tabpe._utils.files import check_distinct_files, check_output
from tabpe.errors import (
    NoBudgetWarning,
    NotPrivateWarning,
    OutputError,
    SlowVotesWarning,
    TabpeError,
    ThinVotesWarning,
)

INTERRUPTED = 2


@contextmanager
def report_errors() -> Iterator[None]:
    """Turn errors into one line and an exit code, and warnings into one line each.

    The message of an unforeseen error may quote a cell of the table, so only its type and place
    are shown. Set TABPE_DEBUG=1 to see all of it.
    """
    with warnings.catch_warnings(), files.track_written_files() as written:
        warnings.simplefilter("ignore")
        for category in (NoBudgetWarning, NotPrivateWarning, SlowVotesWarning, ThinVotesWarning):
            warnings.simplefilter("always", category)
        warnings.showwarning = _show_warning
        try:
            yield
        except TabpeError as error:
            raise _make_exit(str(error), error.exit_code) from None
        except KeyboardInterrupt:
            raise _make_exit(f"interrupted; {_describe_written(written)}.", INTERRUPTED) from None
        except (typer.Exit, BrokenPipeError):
            raise
        except Exception as error:
            if os.environ.get("TABPE_DEBUG"):
                raise
            told = _describe_unprinted if _is_of_printing(error) else _describe_unforeseen
            raise _make_exit(told(error, written), TabpeError.exit_code) from None


def print_line(title: str, text: str) -> None:
    """Print one line of a result."""
    typer.echo(f"{title:<9} {text}")


def check_free(*paths: Path, force: bool, inputs: Iterable[Path] = ()) -> None:
    """Refuse to begin if a file could not be written, or would be overwritten unasked.

    `inputs` are not overwritten even if asked.
    """
    for path in paths:
        check_output(path)
        if not path.parent.is_dir():
            raise OutputError(f"{path}: the folder {path.parent} does not exist: make it first.")
        if path.exists() and not force:
            raise OutputError(f"{path}: exists already: pass --force to overwrite it.")
        if not os.access(path.parent, os.W_OK):
            raise OutputError(f"{path}: the folder {path.parent} can not be written to.")
    check_distinct_files(paths, inputs)


def _make_exit(message: str, code: int) -> typer.Exit:
    typer.echo(f"error: {message}", err=True)
    return typer.Exit(code)


def _describe_unforeseen(error: Exception, written: list[Path]) -> str:
    place = traceback.extract_tb(error.__traceback__)[-1]
    return (
        f"unforeseen {type(error).__name__} in {Path(place.filename).name}:{place.lineno}; "
        f"{_describe_written(written)}. TABPE_DEBUG=1 shows the rest, which may quote private cells."
    )


def _describe_unprinted(error: Exception, written: list[Path]) -> str:
    """Say that a result could not be printed. What it tells of was done before."""
    reason = getattr(error, "strerror", None) or type(error).__name__
    return f"can not print ({reason})" + (f"; {_describe_written(written)}." if written else ".")


def _is_of_printing(error: Exception) -> bool:
    frames = traceback.extract_tb(error.__traceback__)
    return isinstance(error, OSError) and any(frame.name == "echo" for frame in frames)


def _describe_written(written: list[Path]) -> str:
    if not written:
        return "no output was written"
    return f"written before: {', '.join(str(path) for path in written)}"


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    typer.echo(f"warning: {message}", err=True)
