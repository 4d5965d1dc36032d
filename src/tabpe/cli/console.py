"""Results, warnings and errors in the terminal: one line each, never a private cell."""

from __future__ import annotations

import os
import shutil
import textwrap
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
    ThinSupportWarning,
    ThinVotesWarning,
)

INTERRUPTED = 2
_NARROWEST, _WIDEST = 30, 80


@contextmanager
def report_errors() -> Iterator[None]:
    """Turn errors into one line and an exit code, and warnings into one line each.

    Privacy: the message of an unexpected error may quote a cell of the table, so only its type and
    code location are shown. Set TABPE_DEBUG=1 to see all of it.
    """
    with warnings.catch_warnings(), files.track_written_files() as written:
        warnings.simplefilter("ignore")
        for category in (
            NoBudgetWarning,
            NotPrivateWarning,
            SlowVotesWarning,
            ThinSupportWarning,
            ThinVotesWarning,
        ):
            warnings.simplefilter("always", category)
        warnings.showwarning = _show_warning
        try:
            yield
        except TabpeError as error:
            raise _make_exit(error.in_terminal or str(error), error.exit_code) from None
        except KeyboardInterrupt as error:
            what = f"interrupted; {_describe_written(written)}.{_read_notes(error)}"
            raise _make_exit(what, INTERRUPTED) from None
        except (typer.Exit, BrokenPipeError):
            raise
        except Exception as error:
            if os.environ.get("TABPE_DEBUG"):
                raise
            describe = _describe_unprinted if _is_of_printing(error) else _describe_unexpected
            raise _make_exit(
                describe(error, written) + _read_notes(error), TabpeError.exit_code
            ) from None


def print_line(title: str, text: str) -> None:
    """Print one line of a result."""
    typer.echo(f"{title:<9} {text}")


def print_wrapped(title: str, text: str, *, indent: str = "") -> None:
    """Print a long text of a result on as many lines as it needs, from the second on indented."""
    first, rest = f"{title:<9} ", f"{'':<9} {indent}"
    width = min(_WIDEST, max(_NARROWEST, shutil.get_terminal_size().columns))
    typer.echo(
        textwrap.fill(
            text, width, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False
        )
    )


def format_count(count: int, noun: str) -> str:
    """Return a number and what it counts: "1 field", "1,200 fields"."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def check_free(*paths: Path, force: bool, inputs: Iterable[Path] = ()) -> None:
    """Refuse to start if an output can not be written, or exists and `force` is false.

    `inputs` are never overwritten, even with `force`.
    """
    for path in paths:
        check_output(path)
        if not path.parent.is_dir():
            raise OutputError(f"{path}: the folder {path.parent} does not exist: create it first.")
        if path.exists() and not force:
            raise OutputError(f"{path}: exists already: pass --force to overwrite it.")
        if not os.access(path.parent, os.W_OK):
            raise OutputError(f"{path}: the folder {path.parent} can not be written to.")
    check_distinct_files(paths, inputs)


def _make_exit(message: str, code: int) -> typer.Exit:
    typer.echo(f"error: {message}", err=True)
    return typer.Exit(code)


def _read_notes(error: BaseException) -> str:
    """Return what was noted about an error on its way: what it cost."""
    return "".join(f" {note}" for note in getattr(error, "__notes__", ()))


def _describe_unexpected(error: Exception, written: list[Path]) -> str:
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return (
        f"unexpected {type(error).__name__} in {Path(frame.filename).name}:{frame.lineno}; "
        f"{_describe_written(written)}. TABPE_DEBUG=1 shows the rest, which may quote private "
        f"cells."
    )


def _describe_unprinted(error: Exception, written: list[Path]) -> str:
    """Describe a failure to print the result of work that is complete."""
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
    typer.echo(f"warning: {getattr(message, 'in_terminal', None) or message}", err=True)
