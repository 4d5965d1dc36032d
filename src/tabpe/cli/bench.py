"""`tabpe bench`: experiments on public data."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Annotated

import typer

from tabpe.cli import bench_show
from tabpe.cli.console import INTERRUPTED, reported, say

if TYPE_CHECKING:
    from rich.console import OverflowMethod

    from tabpe.bench.grid import Run
    from tabpe.bench.outlook import Outlook
    from tabpe.bench.records import Record
    from tabpe.bench.runner import Plan

FAILED = 1
BESIDE = 36  # what a bar shows beside the run that it is at
RESULTS = Path("experiments/results")

app = typer.Typer(
    help="Run experiments on public data, and show what came of them.", no_args_is_help=True
)

File = Annotated[
    Path, typer.Argument(metavar="FILE", help="An experiment, or a suite of them: .yaml.")
]
Variant = Annotated[
    str | None, typer.Option("--variant", help="Such as 'quick'; 'full' if left out.")
]
Folder = Annotated[Path, typer.Option("--results", help="The folder of the results.")]
Jobs = Annotated[
    int, typer.Option("--jobs", "-j", help="Runs at once; cores are divided among them.")
]
Again = Annotated[bool, typer.Option("--again", help="Make runs that are done once more.")]
Only = Annotated[
    list[str] | None,
    typer.Option("--only", help="Only runs whose line holds this text. May be repeated."),
]
Listed = Annotated[bool, typer.Option("--list", help="Say what would be run, and run nothing.")]
Parquet = Annotated[bool, typer.Option("--parquet", help="Write the results as Parquet too.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")]


@app.command("run")
def run(
    file: File,
    variant: Variant = None,
    folder: Folder = RESULTS,
    jobs: Jobs = 1,
    again: Again = False,
    only: Only = None,
    listed: Listed = False,
    parquet: Parquet = False,
    quiet: Quiet = False,
) -> None:
    """Make the runs of an experiment that are not made yet.

    Each has a process of its own, with limits of time and memory. Results are kept as runs end:
    after an interruption the same command goes on. For figures of time leave --jobs at 1.

    Exit codes: 0 all runs are done or did not fit, 1 a run failed, 2 wrong use or interrupted.
    """
    with reported():
        from tabpe.bench.files import read_suite
        from tabpe.bench.runner import plan_of

        plan = plan_of(read_suite(file, variant), folder, again=again, only=only or ())
        if listed:
            _list(plan)
            return
        made = _carried_out(plan, jobs, quiet=quiet)
        if parquet:
            _export(plan)
        if not quiet:
            _summarise(plan, made)
        if any(record.status == "failed" for record in made):
            raise typer.Exit(FAILED)


app.command("table")(bench_show.table)
app.command("figure")(bench_show.figure)


def _list(plan: Plan) -> None:
    for each in plan.todo:
        typer.echo(str(each))
    say("to do", f"{len(plan.todo)} of {len(plan.todo) + len(plan.known)} runs")


def _carried_out(plan: Plan, jobs: int, *, quiet: bool) -> list[Record]:
    from tabpe.bench.outlook import Outlook
    from tabpe.bench.runner import carry_out

    outlook = Outlook(plan.todo, plan.known, jobs)
    ended: list[Record] = []
    try:
        with _shown(len(plan.todo), outlook, quiet=quiet) as (on_begin, on_end):

            def end(each: Run, record: Record) -> None:
                ended.append(record)
                on_end(each, record)

            return carry_out(plan, jobs=jobs, on_begin=on_begin, on_end=end)
    except KeyboardInterrupt:
        typer.echo(
            f"error: interrupted; {len(ended)} of {len(plan.todo)} runs were made and are kept. "
            f"The same command goes on from there.",
            err=True,
        )
        raise typer.Exit(INTERRUPTED) from None


Shown = tuple[Callable[["Run"], None], Callable[["Run", "Record"], None]]


@contextmanager
def _shown(total: int, outlook: Outlook, *, quiet: bool) -> Iterator[Shown]:
    """Show each run as it ends; in a terminal also what is going on, and the time left."""
    if quiet or not sys.stderr.isatty():
        yield _plainly(total, outlook, quiet=quiet)
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn
    from rich.text import Text

    class Left(ProgressColumn):
        """The time left, as it is now."""

        def render(self, task: Task) -> Text:  # noqa: ARG002
            return Text(_left(outlook))

    console = Console(stderr=True, highlight=False)
    room = max(20, console.width - BESIDE)
    with Progress(
        BarColumn(bar_width=10),
        TextColumn("{task.completed}/{task.total}"),
        Left(),
        TextColumn("{task.description}", markup=False),
        console=console,
        transient=True,
    ) as bar:
        task = bar.add_task("", total=total)

        def begin(each: Run) -> None:
            outlook.begin(each)
            bar.update(task, description=shorten(str(each), room, placeholder=" .."))

        def end(each: Run, record: Record) -> None:
            outlook.end(each)
            short = record.status == "done"  # a reason is shown whole
            how: OverflowMethod = "ellipsis" if short else "fold"
            console.print(_line(each, record), markup=False, no_wrap=short, overflow=how)
            bar.update(task, advance=1)

        yield begin, end


def _plainly(total: int, outlook: Outlook, *, quiet: bool) -> Shown:
    """Return what prints a line for each run, with its number and the time left."""
    count = 0

    def end(each: Run, record: Record) -> None:
        nonlocal count
        count += 1
        outlook.end(each)
        if not quiet:
            left = f" ({_left(outlook)})" if count < total else ""
            typer.echo(f"{count}/{total} {_line(each, record)}{left}", err=True)

    return outlook.begin, end


def _left(outlook: Outlook) -> str:
    from tabpe.bench.outlook import in_words

    left = outlook.left
    return "" if left is None else f"{in_words(left)} left"


def _line(each: Run, record: Record) -> str:
    from tabpe.bench.outlook import in_words

    if record.status != "done":
        return f"{record.status}: {each}: {record.reason}"
    took = "" if record.seconds is None else f" in {in_words(record.seconds)}"
    metric = next(iter(record.metrics), None)
    told = "" if metric is None else f", {metric} {record.metrics[metric]:.3f}"
    return f"done{took}{told}: {each}"


def _export(plan: Plan) -> None:
    from tabpe.bench.records import read_records, results_path, to_parquet

    for experiment in plan.suite.experiments:
        path = results_path(experiment.name, experiment.variant, plan.folder)
        records = read_records(path)
        if records:
            to_parquet(records, path.with_suffix(".parquet"))


def _summarise(plan: Plan, made: Sequence[Record]) -> None:
    """Say what is done, what did not fit and what failed, with reasons."""
    from tabpe.bench.records import results_path

    every = [*plan.known, *made]
    before = f", {len(plan.known)} of them before" if plan.known else ""
    say("ended", f"{len(every)} runs{before}")
    say("done", str(sum(record.status == "done" for record in every)))
    for status in ("did not fit", "failed"):
        _say_reasons(status, [record for record in every if record.status == status])
    for experiment in plan.suite.experiments:
        path = results_path(experiment.name, experiment.variant, plan.folder)
        say("results", str(path))


def _say_reasons(status: str, records: Sequence[Record]) -> None:
    if not records:
        return
    say(status, str(len(records)))
    for (name, data, reason), count in Counter(
        (record.called, record.data, record.reason) for record in records
    ).items():
        typer.echo(f"  {name} on {data}" + (f", {count} runs" if count > 1 else "") + f": {reason}")
