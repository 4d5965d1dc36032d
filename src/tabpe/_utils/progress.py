"""Progress bars in a terminal; nothing in pipes and logs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass


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
    """Show a bar of rounds in a terminal; yield the functions that update it.

    Privacy: the bar shows only public numbers: rounds, and classes if they are declared.
    """
    if not visible or not sys.stderr.isatty():
        yield ProgressCallbacks()
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    over = "" if classes is None else f" over {classes} class{'es' if classes > 1 else ''}"
    with Progress(
        TextColumn("evolving"),
        BarColumn(bar_width=None),
        TextColumn("round {task.completed}/{task.total}" + over + "{task.description}"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    ) as bar:
        task = bar.add_task("", total=rounds)
        yield ProgressCallbacks(
            lambda done: bar.update(task, completed=done),
            lambda done, of: bar.update(task, description=f", shard {done}/{of}"),
        )


@contextmanager
def show_step_line(*, visible: bool) -> Iterator[Callable[[str], None]]:
    """Show the current step in a terminal; yield a function to call with its name."""
    if not visible or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console

    with Console(stderr=True).status("") as status:
        yield status.update


@contextmanager
def show_section_bar(sections: int, *, visible: bool) -> Iterator[Callable[[str], None]]:
    """Show a bar of sections in a terminal; yield a function to call with each name."""
    if not visible or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    with Progress(
        TextColumn("measuring"),
        BarColumn(bar_width=None),
        TextColumn("{task.completed}/{task.total} {task.description}"),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    ) as bar:
        task = bar.add_task("", total=sections)
        begun = -1

        def begin(name: str) -> None:
            nonlocal begun
            begun += 1
            bar.update(task, completed=begun, description=name)

        yield begin
