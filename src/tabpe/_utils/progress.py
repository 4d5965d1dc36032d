"""Progress bars in a terminal; nothing in pipes and logs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


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
