"""`tabpe bench table` and `tabpe bench figure`: what experiments found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from tabpe.cli.console import check_free, reported, say
from tabpe.errors import ParameterError, did_you_mean

if TYPE_CHECKING:
    from tabpe.bench.exhibits import FigureEntry, TableEntry
    from tabpe.bench.experiment import Experiment
    from tabpe.bench.standing import Standing

    Entry = TypeVar("Entry", TableEntry, FigureEntry)

ExperimentFile = Annotated[
    Path, typer.Argument(metavar="FILE", help="An experiment, or a suite of them: .yaml.")
]
Variant = Annotated[
    str | None, typer.Option("--variant", help="'quick', 'small' or 'full'; 'full' if left out.")
]
Results = Annotated[
    Path, typer.Option("--results", help="The folder that 'tabpe bench run' writes to.")
]
Format = Annotated[str, typer.Option("--format", help="'terminal', 'markdown' or 'latex'.")]
Name = Annotated[str | None, typer.Option("--name", help="One of several, by its name.")]
Paper = Annotated[
    bool, typer.Option("--paper", help="Put the paper's numbers beside ours, where it has them.")
]
Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", help="The picture: .svg or .png; a folder for several."),
]
Force = Annotated[bool, typer.Option("--force", "-f", help="Overwrite files.")]
FOLDER = Path("experiments/results")


def table(
    file: ExperimentFile,
    variant: Variant = None,
    form: Format = "terminal",
    name: Name = None,
    results: Results = FOLDER,
    paper: Paper = False,
) -> None:
    """Show the tables of an experiment: means over seeds, the best in bold, the second underlined.

    A run that was not made yet, did not fit or failed is shown as such.
    """
    with reported():
        from rich.console import Console

        from tabpe import _validate
        from tabpe.bench import writing
        from tabpe.bench.exhibits import tables_of
        from tabpe.bench.tables import table_of

        _validate.one_of("format", form, writing.FORMATS)
        for experiment, stands in _experiments(file, variant, results):
            entries = tables_of(experiment.tables, where=experiment.name)
            for entry in _chosen(entries, name, "tables"):
                made = table_of(entry, stands.records, beside_paper=paper)
                if form == "terminal":
                    writing.show(made, Console())
                else:
                    typer.echo(getattr(writing, form)(made))


def figure(
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
    with reported():
        from tabpe.bench.exhibits import NothingDoneError, figures_of
        from tabpe.bench.figures import save_figure
        from tabpe.bench.standing import depths_of

        wanted = [
            (experiment, stands, entry)
            for experiment, stands in _experiments(file, variant, results)
            for entry in _chosen(figures_of(experiment.figures, where=experiment.name), name)
        ]
        paths = [_path(output, results, each, entry) for each, _, entry in wanted]
        if output is not None:
            _check_output(output, [entry.name for *_, entry in wanted])
            check_free(*paths, force=force, inputs=[file])
        for (experiment, stands, entry), path in zip(wanted, paths, strict=True):
            depths = depths_of(experiment, entry, results)
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                save_figure(entry, stands.records, path, folder=results, depths=depths)
            except NothingDoneError as error:
                if len(wanted) == 1:
                    raise
                typer.echo(f"note: {experiment.name}: {error}", err=True)
            else:
                say("wrote", str(path))


def _experiments(
    file: Path, variant: str | None, results: Path
) -> Iterator[tuple[Experiment, Standing]]:
    from tabpe.bench.files import read_suite
    from tabpe.bench.standing import standing

    for experiment in read_suite(file, variant).experiments:
        stands = standing(experiment, results)
        if stands.others:
            typer.echo(
                f"note: {experiment.name}: left out {stands.others} of the records: the file does "
                f"not name their runs any more.",
                err=True,
            )
        yield experiment, stands


def _chosen(entries: Sequence[Entry], name: str | None, kind: str = "figures") -> Sequence[Entry]:
    if not entries:
        raise ParameterError(f"{kind}: the file asks for none; see experiments/*.yaml for how.")
    if name is None:
        return entries
    found = [entry for entry in entries if entry.name == name]
    if not found:
        hint = did_you_mean(name, [entry.name for entry in entries])
        raise ParameterError(f"name={name!r}: none of the {kind}: {hint}")
    return found


def _path(output: Path | None, results: Path, experiment: Experiment, entry: FigureEntry) -> Path:
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
