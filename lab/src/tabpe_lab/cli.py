"""`tabpe-lab`: run experiments on public data, and show their tables and figures."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from tabpe.cli.console import INTERRUPTED, check_free, print_line, report_errors
from tabpe.errors import ParameterError, did_you_mean

if TYPE_CHECKING:
    from tabpe_lab.exhibits import FigureEntry, TableEntry
    from tabpe_lab.experiment import Experiment
    from tabpe_lab.grid import ExperimentRun
    from tabpe_lab.page import ExperimentStatus
    from tabpe_lab.records import RunRecord
    from tabpe_lab.runner import RunTimeEstimator, SuitePlan

    Entry = TypeVar("Entry", TableEntry, FigureEntry)


ExperimentFile = Annotated[
    Path, typer.Argument(metavar="FILE", help="An experiment, or a suite of them: .yaml.")
]
Variant = Annotated[
    str | None, typer.Option("--variant", help="'quick', 'small' or 'full'; 'full' if left out.")
]
Results = Annotated[Path, typer.Option("--results", help="The folder of the results.")]
Format = Annotated[str, typer.Option("--format", help="'terminal', 'markdown' or 'latex'.")]
Name = Annotated[str | None, typer.Option("--name", help="One of several, by its name.")]
Paper = Annotated[
    bool, typer.Option("--paper", help="Show the paper's numbers beside ours, where it has them.")
]
Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", help="The picture: .svg or .png; a folder for several."),
]
Force = Annotated[bool, typer.Option("--force", "-f", help="Overwrite files.")]
FOLDER = Path("lab/results")


def show_tables(
    file: ExperimentFile,
    variant: Variant = None,
    form: Format = "terminal",
    name: Name = None,
    results: Results = FOLDER,
    paper: Paper = False,
) -> None:
    """Show the tables of an experiment: means over seeds, the best in bold, the second underlined.

    A run that was not started, did not fit or failed is shown as such.
    """
    with report_errors():
        from rich.console import Console

        from tabpe._utils import validation
        from tabpe_lab import tables
        from tabpe_lab.exhibits import parse_tables
        from tabpe_lab.tables import build_table

        validation.check_one_of("format", form, tables.FORMATS)
        for experiment, status in _load_experiments(file, variant, results):
            entries = parse_tables(experiment.tables, where=experiment.name)
            for entry in _select_entries(entries, name, "tables"):
                table = build_table(entry, status.records, beside_paper=paper)
                if form == "terminal":
                    tables.print_table(table, Console())
                else:
                    typer.echo(getattr(tables, form)(table))


def draw_figures(
    file: ExperimentFile,
    variant: Variant = None,
    output: Output = None,
    name: Name = None,
    results: Results = FOLDER,
    force: Force = False,
) -> None:
    """Draw the figures of an experiment.

    Without --output they go to the folder 'figures' beside the results, over those of before.
    """
    with report_errors():
        from tabpe_lab.exhibits import NothingDoneError, parse_figures
        from tabpe_lab.figures import save_figure
        from tabpe_lab.page import ensure_depths

        wanted = [
            (experiment, status, entry)
            for experiment, status in _load_experiments(file, variant, results)
            for entry in _select_entries(
                parse_figures(experiment.figures, where=experiment.name), name
            )
        ]
        paths = [_build_figure_path(output, results, each, entry) for each, _, entry in wanted]
        if output is not None:
            _check_output(output, [entry.name for *_, entry in wanted])
            check_free(*paths, force=force, inputs=[file])
        for (experiment, status, entry), path in zip(wanted, paths, strict=True):
            depths = ensure_depths(experiment, entry, results)
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                save_figure(entry, status.records, path, folder=results, depths=depths)
            except NothingDoneError as error:
                if len(wanted) == 1:
                    raise
                typer.echo(f"note: {experiment.name}: {error}", err=True)
            else:
                print_line("wrote", str(path))


def _load_experiments(
    file: Path, variant: str | None, results: Path
) -> Iterator[tuple[Experiment, ExperimentStatus]]:
    from tabpe_lab.exhibits import read_suite
    from tabpe_lab.page import load_status

    for experiment in read_suite(file, variant).experiments:
        status = load_status(experiment, results)
        if status.orphan_count:
            typer.echo(
                f"note: {experiment.name}: left out {status.orphan_count} of the records: the file "
                f"does not name their runs any more.",
                err=True,
            )
        yield experiment, status


def _select_entries(
    entries: Sequence[Entry], name: str | None, kind: str = "figures"
) -> Sequence[Entry]:
    if not entries:
        raise ParameterError(f"{kind}: the file asks for none; see lab/experiments/*.yaml for how.")
    if name is None:
        return entries
    found = [entry for entry in entries if entry.name == name]
    if not found:
        hint = did_you_mean(name, [entry.name for entry in entries])
        raise ParameterError(f"name={name!r}: none of the {kind}: {hint}")
    return found


def _build_figure_path(
    output: Path | None, results: Path, experiment: Experiment, entry: FigureEntry
) -> Path:
    if output is not None and output.suffix:
        return output
    folder = results / "figures" if output is None else output
    return folder / f"{experiment.name}.{experiment.variant}.{entry.name}.svg"


def _check_output(output: Path, names: Sequence[str]) -> None:
    if output.suffix and len(names) > 1:
        raise ParameterError(
            f"output={str(output)!r}: there are {len(names)} figures ({', '.join(names)}): choose "
            f"one with --name, or give a folder."
        )


FAILED = 1
PROGRESS_WIDTH = 36  # width of a progress bar without the description of the run

app = typer.Typer(
    help="Run experiments on public data, and show their results.", no_args_is_help=True
)

Jobs = Annotated[
    int, typer.Option("--jobs", "-j", help="Runs at once; cores are divided among them.")
]
Again = Annotated[bool, typer.Option("--again", help="Repeat runs that are done.")]
Only = Annotated[
    list[str] | None,
    typer.Option("--only", help="Only runs whose line holds this text. May be repeated."),
]
Listed = Annotated[bool, typer.Option("--list", help="List the runs to do, and run nothing.")]
Parquet = Annotated[bool, typer.Option("--parquet", help="Write the results as Parquet too.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")]


@app.command("run")
def run_experiments(
    file: ExperimentFile,
    variant: Variant = None,
    results: Results = FOLDER,
    jobs: Jobs = 1,
    again: Again = False,
    only: Only = None,
    listed: Listed = False,
    parquet: Parquet = False,
    quiet: Quiet = False,
) -> None:
    """Run what is missing of an experiment.

    Each run has a process of its own, with limits of time and memory. Results are written as runs
    end: after an interruption the same command goes on. To measure time leave --jobs at 1.

    Exit codes: 0 all runs are done or did not fit, 1 a run failed, 2 wrong use or interrupted.
    """
    with report_errors():
        from tabpe_lab.exhibits import read_suite
        from tabpe_lab.runner import make_plan

        plan = make_plan(read_suite(file, variant), results, again=again, only=only or ())
        if listed:
            _list_runs(plan)
            return
        records = _run_with_progress(plan, jobs, quiet=quiet)
        if parquet:
            _export_parquet(plan)
        if not quiet:
            _print_summary(plan, records)
        if any(record.status == "failed" for record in records):
            raise typer.Exit(FAILED)


app.command("table")(show_tables)
app.command("figure")(draw_figures)


def _list_runs(plan: SuitePlan) -> None:
    for each in plan.todo:
        typer.echo(str(each))
    print_line("to do", f"{len(plan.todo)} of {len(plan.todo) + len(plan.known)} runs")


def _run_with_progress(plan: SuitePlan, jobs: int, *, quiet: bool) -> list[RunRecord]:
    from tabpe_lab.runner import RunTimeEstimator, run_plan

    estimator = RunTimeEstimator(plan.todo, plan.known, jobs)
    ended: list[RunRecord] = []
    try:
        with _show_progress(len(plan.todo), estimator, quiet=quiet) as (on_begin, on_end):

            def end(each: ExperimentRun, record: RunRecord) -> None:
                ended.append(record)
                on_end(each, record)

            return run_plan(plan, jobs=jobs, on_begin=on_begin, on_end=end)
    except KeyboardInterrupt:
        typer.echo(
            f"error: interrupted; {len(ended)} of {len(plan.todo)} runs are done and kept. "
            f"The same command goes on from there.",
            err=True,
        )
        raise typer.Exit(INTERRUPTED) from None


RunProgressBars = tuple[
    Callable[["ExperimentRun"], None], Callable[["ExperimentRun", "RunRecord"], None]
]


@contextmanager
def _show_progress(
    total: int, estimator: RunTimeEstimator, *, quiet: bool
) -> Iterator[RunProgressBars]:
    """Show each run as it ends; in a terminal also the current run and the time left."""
    if quiet or not sys.stderr.isatty():
        yield _make_line_callbacks(total, estimator, quiet=quiet)
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn
    from rich.text import Text

    class Left(ProgressColumn):
        """The time left."""

        def render(self, task: Task) -> Text:  # noqa: ARG002
            return Text(_format_time_left(estimator))

    console = Console(stderr=True, highlight=False)
    room = max(20, console.width - PROGRESS_WIDTH)
    with Progress(
        BarColumn(bar_width=10),
        TextColumn("{task.completed}/{task.total}"),
        Left(),
        TextColumn("{task.description}", markup=False),
        console=console,
        transient=True,
    ) as bar:
        task = bar.add_task("", total=total)

        def begin(each: ExperimentRun) -> None:
            estimator.begin_run(each)
            bar.update(task, description=shorten(str(each), room, placeholder=" .."))

        def end(each: ExperimentRun, record: RunRecord) -> None:
            estimator.end_run(each)
            short = record.status == "done"  # a reason is shown whole
            text = Text(_format_record(each, record), overflow="ellipsis" if short else "fold")
            console.print(text, no_wrap=short)
            bar.update(task, advance=1)

        yield begin, end


def _make_line_callbacks(
    total: int, estimator: RunTimeEstimator, *, quiet: bool
) -> RunProgressBars:
    """Return callbacks that print a line for each run, with its number and the time left."""
    count = 0

    def end(each: ExperimentRun, record: RunRecord) -> None:
        nonlocal count
        count += 1
        estimator.end_run(each)
        if not quiet:
            left = f" ({_format_time_left(estimator)})" if count < total else ""
            typer.echo(f"{count}/{total} {_format_record(each, record)}{left}", err=True)

    return estimator.begin_run, end


def _format_time_left(estimator: RunTimeEstimator) -> str:
    from tabpe_lab.runner import format_duration

    left = estimator.seconds_left
    return "" if left is None else f"{format_duration(left)} left"


def _format_record(each: ExperimentRun, record: RunRecord) -> str:
    from tabpe_lab.runner import format_duration

    if record.status != "done":
        return f"{record.status}: {each}: {record.reason}"
    took = "" if record.seconds is None else f" in {format_duration(record.seconds)}"
    metric = next(iter(record.metrics), None)
    score = "" if metric is None else f", {metric} {record.metrics[metric]:.3f}"
    return f"done{took}{score}: {each}"


def _list_result_files(plan: SuitePlan) -> list[Path]:
    from tabpe_lab.records import get_results_path

    each = plan.suite.experiments
    return [get_results_path(one.name, one.variant, plan.folder) for one in each]


def _export_parquet(plan: SuitePlan) -> None:
    from tabpe_lab.records import read_records, write_parquet

    for path in _list_result_files(plan):
        records = read_records(path)
        if records:
            write_parquet(records, path.with_suffix(".parquet"))


def _print_summary(plan: SuitePlan, records: Sequence[RunRecord]) -> None:
    """Print how many runs are done, did not fit and failed, with reasons."""
    every = [*plan.known, *records]
    before = f", {len(plan.known)} of them before" if plan.known else ""
    print_line("ended", f"{len(every)} runs{before}")
    print_line("done", str(sum(record.status == "done" for record in every)))
    for status in ("did not fit", "failed"):
        _print_reasons(status, [record for record in every if record.status == status])
    for path in _list_result_files(plan):
        print_line("results", str(path))


def _print_reasons(status: str, records: Sequence[RunRecord]) -> None:
    if not records:
        return
    print_line(status, str(len(records)))
    for (name, data, reason), count in Counter(
        (record.called, record.data, record.reason) for record in records
    ).items():
        typer.echo(f"  {name} on {data}" + (f", {count} runs" if count > 1 else "") + f": {reason}")


def main() -> None:
    """Run the command line."""
    app()
