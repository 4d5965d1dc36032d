"""Progress bars in a terminal and in a notebook; nothing in pipes and logs.

Privacy: they show public numbers and names only: rounds, shards, sections, steps.
"""

from __future__ import annotations

import html
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class ProgressCallbacks:
    """Functions that update a progress bar.

    Args:
        rounds: Called with the number of completed rounds.
        shards: Called with the number of shards that have answered, and of all shards.
    """

    rounds: Callable[[int], None] = lambda _: None
    shards: Callable[[int, int], None] = lambda _done, _all: None


@contextmanager
def show_round_bar(
    rounds: int, classes: int | None, *, visible: bool
) -> Iterator[ProgressCallbacks]:
    """Show a bar of rounds; yield the functions that update it.

    Privacy: classes are those that are declared, or None.
    """
    over = "" if classes is None else f" over {classes} class{'es' if classes > 1 else ''}"
    with _show_bar("evolving", rounds, visible=visible) as update:
        done = 0

        def count(now: int) -> None:
            nonlocal done
            done = now
            update(done, f"round {done}/{rounds}{over}")

        count(0)
        yield ProgressCallbacks(
            count,
            lambda near, of: update(done, f"round {done}/{rounds}{over}, shard {near}/{of}"),
        )


@contextmanager
def show_step_line(*, visible: bool) -> Iterator[Callable[[str], None]]:
    """Show the current step; yield a function to call with its name."""
    if visible and not _is_notebook() and sys.stderr.isatty():
        from rich.console import Console

        with Console(stderr=True).status("") as status:
            yield status.update
    elif visible and _is_notebook():
        with _NotebookLine() as line:
            yield lambda text: line.write(html.escape(text))
    else:
        yield lambda _: None


@contextmanager
def show_section_bar(sections: int, *, visible: bool) -> Iterator[Callable[[str], None]]:
    """Show a bar of sections; yield a function to call with each name."""
    with _show_bar("measuring", sections, visible=visible) as update:
        begun = -1

        def begin(name: str) -> None:
            nonlocal begun
            begun += 1
            update(begun, f"{begun}/{sections} {name}")

        yield begin


def _show_bar(
    title: str, total: int, *, visible: bool
) -> AbstractContextManager[Callable[[int, str], None]]:
    """Show a bar where there is somebody to see it; give what sets its length and its text."""
    if visible and _is_notebook():
        return _show_notebook_bar(title, total)
    if visible and sys.stderr.isatty():
        return _show_terminal_bar(title, total)
    return _show_nothing()


@contextmanager
def _show_nothing() -> Iterator[Callable[[int, str], None]]:
    yield lambda _done, _text: None


@contextmanager
def _show_terminal_bar(title: str, total: int) -> Iterator[Callable[[int, str], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    with Progress(
        TextColumn(title),
        BarColumn(bar_width=None),
        TextColumn("{task.description}", markup=False),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    ) as bar:
        task = bar.add_task("", total=total)
        yield lambda done, text: bar.update(task, completed=done, description=text)


@contextmanager
def _show_notebook_bar(title: str, total: int) -> Iterator[Callable[[int, str], None]]:
    with _NotebookLine() as line:
        yield lambda done, text: line.write(
            f'{title} <progress value="{done}" max="{total}"></progress> {html.escape(text)}'
        )


def _is_notebook() -> bool:
    """Whether a kernel of Jupyter runs this; IPython in a terminal is a terminal."""
    ipython = sys.modules.get("IPython")
    shell: Any = None if ipython is None else ipython.get_ipython()
    return getattr(shell, "kernel", None) is not None


class _NotebookLine:
    """A line in the output of a cell of a notebook, which is written anew, and then emptied."""

    def __enter__(self) -> _NotebookLine:
        from IPython.display import HTML, display

        self._wrap = HTML
        self._shown: Any = display(HTML(""), display_id=True)
        return self

    def write(self, markup: str) -> None:
        """Replace the line by other HTML."""
        self._shown.update(self._wrap(markup))

    def __exit__(self, *_: object) -> None:
        self.write("")
