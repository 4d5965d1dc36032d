"""Pages of results: blocks between marks are generated from records, the rest is hand-written.

    <!-- made: table high-order full utility -->
    (a table, as Markdown)
    <!-- end -->

A block is one of `runs EXPERIMENT VARIANT`, `table EXPERIMENT VARIANT NAME` and `figure EXPERIMENT
VARIANT NAME`. An update replaces only the text between the marks, and adds a section for each
experiment that has results and is not on the page yet.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, cast

from tabpe.errors import ParameterError, did_you_mean
from tabpe_lab.exhibits import FigureEntry, format_case, parse_figures, parse_tables, read_suite
from tabpe_lab.experiment import Experiment
from tabpe_lab.figures import DEPTHS, read_depths, save_figure, write_depths
from tabpe_lab.grid import REAL, ExperimentRun, list_runs
from tabpe_lab.records import FOLDER, RunRecord, Status, get_results_path, make_record, read_records
from tabpe_lab.runner import format_duration
from tabpe_lab.summary import DID_NOT_FIT, DONE, FAILED, NOT_RUN
from tabpe_lab.tables import build_table, markdown


@dataclass(frozen=True)
class ExperimentStatus:
    """The records of an experiment.

    Args:
        records: A record for every run of the file, in the order of data and methods there; missing
            ones have the status `not run`.
        orphan_count: Number of records of runs that the file does not name any more.
    """

    records: tuple[RunRecord, ...]
    orphan_count: int = 0


def load_status(experiment: Experiment, folder: Path = FOLDER) -> ExperimentStatus:
    """Return the records of an experiment.

    Args:
        experiment: The experiment, in one variant.
        folder: The folder of the results.
    """
    known = {
        record.key: record
        for record in read_records(get_results_path(experiment.name, experiment.variant, folder))
    }
    runs = sorted(list_runs(experiment), key=_make_sort_key(experiment))
    records = tuple(known.get(run.key) or make_record(run, cast(Status, NOT_RUN)) for run in runs)
    named = {run.key for run in runs}
    return ExperimentStatus(records, sum(key not in named for key in known))


def ensure_depths(
    experiment: Experiment, entry: FigureEntry, folder: Path = FOLDER
) -> Mapping[str, Mapping[int, float]] | None:
    """Return accuracy by depth of trees for each data set, for a figure of kind `order`.

    It is measured once, and kept beside the records.
    """
    if entry.kind != DEPTHS:
        return None
    path = get_results_path(experiment.name, experiment.variant, folder).with_suffix(".depths.json")
    found = read_depths(path)
    for run in list_runs(experiment):
        name = format_case(run.data, run.data_options)
        if run.method == REAL and name not in found:
            found[name] = _measure_accuracy_by_depth(run)
            write_depths(path, found)
    return found


def _measure_accuracy_by_depth(run: ExperimentRun) -> dict[int, float]:
    from tabpe.evaluation.metrics.correlation_order import measure_correlation_order
    from tabpe.evaluation.table_arrays import build_table_arrays
    from tabpe_lab.task import load_task

    task = load_task(run)
    found = measure_correlation_order(*build_table_arrays(task.schema, [task.train, task.test]))
    if found is None:
        return {}
    return dict(zip(found.depths, (round(each, 6) for each in found.accuracy), strict=True))


def _make_sort_key(experiment: Experiment) -> Any:
    """Return a sort key by the order of the file: data, then methods, then seeds."""
    data = {entry.name: index for index, entry in reversed(list(enumerate(experiment.data)))}
    methods = {
        entry.called or entry.name: index
        for index, entry in reversed(list(enumerate(experiment.methods)))
    }
    return lambda run: (data[run.data], methods[run.called], run.seed)


T = TypeVar("T")
KINDS = ("runs", "table", "figure")
REMARKS = "Remarks: none yet."
_BLOCK = re.compile(r"<!-- made: ([^>]*?) -->\n.*?<!-- end -->", re.DOTALL)


@dataclass(frozen=True)
class PageSources:
    """Sources of a page.

    Args:
        experiments: The folder of experiment files, named as the experiments; those of a
            `folder/name` in that folder.
        names: The experiments, in the order of new sections.
        results: The folder of the records.
        pictures: The folder that figures are written to.
        link: The path of that folder from the page.
    """

    experiments: Path
    names: Sequence[str]
    results: Path
    pictures: Path
    link: str = "pictures"


def remake_page(text: str, sources: PageSources) -> str:
    """Return a page with all blocks updated, and sections for results that it lacks.

    Raises:
        ParameterError: If a block names something unknown; names the block.
    """
    known = [match.split()[1:3] for match in _BLOCK.findall(text)]
    missing = [pair for pair in find_experiments_with_results(sources) if list(pair) not in known]
    whole = (
        "\n\n".join([text.rstrip(), *(_build_section(*pair, sources) for pair in missing)]) + "\n"
    )
    return update_blocks(whole, sources)


def update_blocks(text: str, sources: PageSources) -> str:
    """Return a page with all blocks updated, and nothing added.

    Raises:
        ParameterError: If a block names something unknown; names the block.
    """
    return fill_blocks(text, lambda block: _make_block(block, sources))


def fill_blocks(text: str, make: Callable[[str], str]) -> str:
    r"""Return a text with the blocks between marks replaced.

    Example:
        >>> page = "Ours:\n<!-- made: table a full b -->\nold\n<!-- end -->\nRemark.\n"
        >>> print(fill_blocks(page, lambda block: f"[{block}]"), end="")
        Ours:
        <!-- made: table a full b -->
        <BLANKLINE>
        [table a full b]
        <BLANKLINE>
        <!-- end -->
        Remark.
    """

    def replace(match: re.Match[str]) -> str:
        return f"<!-- made: {match[1]} -->\n\n{make(match[1]).strip()}\n\n<!-- end -->"

    return _BLOCK.sub(replace, text)


def find_experiments_with_results(sources: PageSources) -> list[tuple[str, str]]:
    """Return the experiments that have results, each in its largest variant."""
    found = []
    for name in sources.names:
        for variant in ("full", "small", "quick"):
            if get_results_path(name, variant, sources.results).exists():
                found.append((name, variant))
                break
    return found


def describe_runs(experiment: Experiment, status: ExperimentStatus) -> str:
    """Return the command of the runs, how they ended, and the machine."""
    counts: Counter[str] = Counter(record.status for record in status.records)
    ended = [
        f"{counts[outcome]} {outcome}"
        for outcome in (DONE, DID_NOT_FIT, FAILED, NOT_RUN)
        if counts[outcome]
    ]
    done = [record for record in status.records if record.status == DONE]
    command = f"tabpe-lab run lab/experiments/{experiment.name}.yaml --variant {experiment.variant}"
    took = format_duration(sum(record.seconds or 0.0 for record in done))
    lines = [
        f"Remakes: {experiment.paper}." if experiment.paper else "",
        f"`{command}`: {len(status.records)} runs, {', '.join(ended)}; "
        f"{took} of fitting and sampling.",
        _describe_machines(done),
    ]
    return "  \n".join(line for line in lines if line)


def _describe_machines(records: Iterable[RunRecord]) -> str:
    machines = dict.fromkeys(
        f"{run.machine['threads']} threads of {run.machine.get('processor', 'a processor')}"
        for run in records
        if "threads" in run.machine
    )
    return f"On {'; '.join(machines)}." if machines else ""


def _build_section(name: str, variant: str, sources: PageSources) -> str:
    experiment = _read_experiment(name, variant, sources)
    blocks = [f"runs {name} {variant}"]
    blocks += [f"table {name} {variant} {entry['name']}" for entry in experiment.tables]
    blocks += [f"figure {name} {variant} {entry['name']}" for entry in experiment.figures]
    parts = [f"<!-- made: {block} -->\n<!-- end -->" for block in blocks]
    return "\n\n".join([f"## {experiment.title}", *parts, REMARKS])


def _make_block(block: str, sources: PageSources) -> str:
    kind, name, variant, *entry = _parse_block(block)
    experiment = _read_experiment(name, variant, sources)
    status = load_status(experiment, sources.results)
    if kind == "runs":
        return describe_runs(experiment, status)
    if kind == "table":
        wanted = _find_entry(parse_tables(experiment.tables, where=name), entry[0], block)
        if not any(record.status == DONE for record in status.records):
            return f"{wanted.title}: no run is done yet."
        return markdown(build_table(wanted, status.records, beside_paper=True))
    figure = _find_entry(parse_figures(experiment.figures, where=name), entry[0], block)
    file = f"{name.replace('/', '-')}-{figure.name}.svg"
    sources.pictures.mkdir(parents=True, exist_ok=True)
    save_figure(
        figure,
        status.records,
        sources.pictures / file,
        folder=sources.results,
        depths=ensure_depths(experiment, figure, sources.results),
    )
    return f"![{figure.title}]({sources.link}/{file})"


def _parse_block(block: str) -> Sequence[str]:
    words = block.split()
    if not words or words[0] not in KINDS or len(words) != (3 if words[0] == "runs" else 4):
        raise ParameterError(
            f"block {block!r}: expected 'runs EXPERIMENT VARIANT', or 'table' or 'figure' with "
            f"EXPERIMENT VARIANT NAME."
        )
    return words


def _read_experiment(name: str, variant: str, sources: PageSources) -> Experiment:
    (experiment,) = read_suite(sources.experiments / f"{name}.yaml", variant).experiments
    return experiment


def _find_entry(entries: Sequence[T], name: str, block: str) -> T:
    found = {getattr(entry, "name", ""): entry for entry in entries}
    if name not in found:
        raise ParameterError(f"block {block!r}: {did_you_mean(name, found)}")
    return found[name]
