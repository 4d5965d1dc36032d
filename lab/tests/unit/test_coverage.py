"""What of the paper was run: no exhibit, no experiment and no empty cell is left out."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from tabpe.errors import ParameterError
from tabpe_lab.coverage import (
    PaperExhibit,
    describe_reduction,
    load_paper_exhibits,
    measure_tables,
    read_coverage,
    write_coverage_page,
)
from tabpe_lab.exhibits import read_suite
from tabpe_lab.grid import list_runs
from tabpe_lab.page import PageSources
from tabpe_lab.records import append_record, get_results_path, make_record
from tabpe_lab.summary import group_records

LAB = Path(__file__).parents[2]
EXPERIMENTS = LAB / "experiments"
SOURCE = LAB.parents[1] / "shared" / "paper"
LABEL = r"(?:fig|tab):[\w-]+"
NAMES = [each.name for each in read_suite(EXPERIMENTS / "quick.yaml").experiments]


def sources(results=LAB / "results", experiments=EXPERIMENTS, names=NAMES):
    return PageSources(experiments, names, results, results / "pictures")


def find_labels(name):
    (experiment,) = read_suite(EXPERIMENTS / f"{name}.yaml", "quick").experiments
    return set(re.findall(LABEL, experiment.paper))


@pytest.mark.skipif(not SOURCE.is_dir(), reason="the paper is not on this machine")
def test_the_list_has_every_table_and_figure_of_the_paper():
    (file,) = SOURCE.glob("*.txt")
    labels = re.findall(rf"\\label\{{({LABEL})\}}", file.read_text(encoding="utf-8"))
    assert [each.label for each in load_paper_exhibits()] == labels


def test_the_list_and_the_experiment_files_name_each_other():
    exhibits = load_paper_exhibits()
    named = {name for each in exhibits for name in each.experiments}
    assert named == set(NAMES)
    for name in NAMES:
        of_list = {each.label for each in exhibits if name in each.experiments}
        assert find_labels(name) == of_list, name


def test_an_exhibit_has_experiments_or_a_reason():
    for wrong in ({}, {"experiments": ("xor",), "nothing": "A drawing."}):
        with pytest.raises(ParameterError, match="fig:a: expected experiments, or in `nothing`"):
            PaperExhibit("fig:a", "A", **wrong)


def test_every_missing_run_and_every_empty_cell_has_a_reason():
    for name, each in read_coverage(sources(), EXPERIMENTS / "queue.yaml").items():
        for called, runs in group_records(each.missing, lambda run: run.called).items():
            assert each.explain_missing(runs), (name, called)
        for table in measure_tables(each):
            for cells in table.empty:
                assert cells.reason, (table.table, cells.row)


def test_every_variant_that_is_smaller_than_the_paper_says_why():
    for name in NAMES:
        try:
            (small,) = read_suite(EXPERIMENTS / f"{name}.yaml", "small").experiments
        except ParameterError:
            continue
        (full,) = read_suite(EXPERIMENTS / f"{name}.yaml", "full").experiments
        assert small.reduced.endswith("."), name
        assert describe_reduction(full, small), name
        assert not full.reduced, name


def test_the_queue_has_every_experiment_of_the_paper_once():
    queue = read_suite(EXPERIMENTS / "queue.yaml")
    assert sorted(each.name for each in queue.experiments) == sorted(NAMES)
    assert queue.one_by_one
    last = [each.name for each in queue.experiments][-3:]
    assert last == ["runtime-degree", "runtime-epsilon", "runtime-rows"]


def test_halfspaces_are_few_where_the_machine_is_small():
    for each in read_suite(EXPERIMENTS / "queue.yaml").experiments:
        for run in list_runs(each) if each.variant == "small" else ():
            if run.method == "rap++":
                assert run.settings["projections"] <= 200_000, (each.name, str(run))


FILE = """\
name: made
title: Made
paper: A table (tab:a)
data: [adult]
methods: [real, gem, {aim: {degree: [2, 3]}}]
metrics: [accuracy, 1-wd]
seeds: 3
tables: [{name: utility, title: Utility, metrics: [accuracy, 1-wd], paper: low-order-real}]
variants: {full: {}, small: {reduced: Two cores., methods: [real, gem, aim]}, quick: {seeds: 1}}
"""


@pytest.fixture
def made(tmp_path):
    (tmp_path / "made.yaml").write_text(FILE)
    queue = tmp_path / "queue.yaml"
    queue.write_text("{name: queue, include: [{made.yaml: small}]}")
    return sources(tmp_path / "results", tmp_path, ["made"]), queue


def record_runs(sources, variant, **endings):
    (experiment,) = read_suite(sources.experiments / "made.yaml", variant).experiments
    for run in list_runs(experiment):
        if run.method not in endings:
            continue
        status, reason = endings[run.method]
        metrics = {"accuracy": 0.5} if status == "done" else {}
        record = replace(make_record(run, status), reason=reason, metrics=metrics, seconds=60.0)
        append_record(get_results_path("made", variant, sources.results), record)


def test_the_state_of_an_experiment_follows_from_its_records(made):
    def find_state():
        return read_coverage(*made)["made"].state

    assert find_state() == "not run"
    record_runs(made[0], "small", real=("done", ""))
    assert find_state() == "partly run"
    record_runs(made[0], "small", gem=("did not fit", "time: over 9 s"), aim=("done", ""))
    assert find_state() == "reduced"
    record_runs(made[0], "full", real=("done", ""), gem=("done", ""), aim=("done", ""))
    assert find_state() == "full"


def test_cells_are_counted_and_explained(made):
    record_runs(made[0], "small", real=("done", ""), gem=("did not fit", "time: over 9 s"))
    (table,) = measure_tables(read_coverage(*made)["made"])
    assert (table.cells, table.filled, table.rows, table.repeated) == (6, 1, 3, 1)
    assert [(each.row, each.metrics, each.reason) for each in table.empty] == [
        ("Adult, Real rows", ("1-wd",), "not defined for this data"),
        ("Adult, GEM", ("accuracy", "1-wd"), "did not fit: time: over 9 s"),
        (
            "Adult, AIM",
            ("accuracy", "1-wd"),
            "waits in the queue, about 3 min 0 s of computing",
        ),
    ]


def test_what_is_in_no_queue_has_no_reason(made, tmp_path):
    (tmp_path / "other.yaml").write_text(FILE.replace("name: made", "name: other"))
    made[1].write_text("{name: queue, include: [other.yaml]}")
    coverage = read_coverage(*made)["made"]
    assert coverage.explain_missing(coverage.missing[:1]) == ""
    left_out = replace(coverage, shown=replace(coverage.shown, left_out={"real": "No rows."}))
    assert left_out.explain_missing(coverage.missing[:1]) == "No rows."


def test_the_page_says_how_a_variant_is_smaller(made, monkeypatch):
    exhibits = (PaperExhibit("tab:a", "A table", ("made",)),)
    monkeypatch.setattr("tabpe_lab.coverage.load_paper_exhibits", lambda: exhibits)
    page = write_coverage_page(*made)
    assert "| `made` | AIM: degree by default instead of 2, 3 | Two cores. |" in page
    assert "| `tab:a` | A table | `made` | not run | small: 9 not run |" in page
    assert "0 of 6 cells of the paper's tables have a number of ours" in page
