"""Where an experiment stands: a record for every run that its file names, made or not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from tabpe.bench.exhibits import FigureEntry
from tabpe.bench.experiment import Experiment
from tabpe.bench.fields import case_of
from tabpe.bench.figures import DEPTHS, read_depths, write_depths
from tabpe.bench.grid import REAL, Run, runs_of
from tabpe.bench.records import FOLDER, Record, Status, read_records, record_of, results_path
from tabpe.bench.summary import NOT_RUN


@dataclass(frozen=True)
class Standing:
    """Where an experiment stands.

    Args:
        records: A record for every run that the file names, in the order of data and methods
            there; those that were not made have the status `not run`.
        others: How many records are of runs that the file does not name any more.
    """

    records: tuple[Record, ...]
    others: int = 0


def standing(experiment: Experiment, folder: Path = FOLDER) -> Standing:
    """Return where an experiment stands.

    Args:
        experiment: The experiment, in one variant.
        folder: Where its results are.
    """
    made = {
        record.key: record
        for record in read_records(results_path(experiment.name, experiment.variant, folder))
    }
    runs = sorted(runs_of(experiment), key=_place_in(experiment))
    records = tuple(made.get(run.key) or record_of(run, cast(Status, NOT_RUN)) for run in runs)
    named = {run.key for run in runs}
    return Standing(records, sum(key not in named for key in made))


def depths_of(
    experiment: Experiment, entry: FigureEntry, folder: Path = FOLDER
) -> Mapping[str, Mapping[int, float]] | None:
    """Return what a figure of kind `order` shows: accuracy by depth of trees for each data set.

    It is measured when it is asked for first, and kept beside the records.
    """
    if entry.kind != DEPTHS:
        return None
    path = results_path(experiment.name, experiment.variant, folder).with_suffix(".depths.json")
    found = read_depths(path)
    for run in runs_of(experiment):
        name = case_of(run.data, run.data_options)
        if run.method == REAL and name not in found:
            found[name] = _accuracy_by_depth(run)
            write_depths(path, found)
    return found


def _accuracy_by_depth(run: Run) -> dict[int, float]:
    from tabpe.bench.task import task_of
    from tabpe.metrics.order import order
    from tabpe.metrics.view import views

    task = task_of(run)
    found = order(*views(task.schema, [task.train, task.test]))
    if found is None:
        return {}
    return dict(zip(found.depths, (round(each, 6) for each in found.accuracy), strict=True))


def _place_in(experiment: Experiment) -> Any:
    """Return the place of a run in the order of the file: data, then methods, then seeds."""
    data = {entry.name: place for place, entry in reversed(list(enumerate(experiment.data)))}
    methods = {
        entry.called or entry.name: place
        for place, entry in reversed(list(enumerate(experiment.methods)))
    }
    return lambda run: (data[run.data], methods[run.called], run.seed)
