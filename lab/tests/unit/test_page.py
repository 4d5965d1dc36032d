"""The page of results: made blocks change, what people wrote stays."""

from dataclasses import replace

import pytest

from tabpe.errors import ParameterError
from tabpe_lab.exhibits import read_suite
from tabpe_lab.grid import list_runs
from tabpe_lab.page import REMARKS, PageSources, find_experiments_with_results, remake_page
from tabpe_lab.records import append_record, get_results_path, make_record

pytest.importorskip("matplotlib")
FILE = """\
name: made-up
title: Made up
paper: Table 9
data: [adult]
methods: [real, {tabpe: {rounds: [5, 10]}}]
metrics: [accuracy]
seeds: 1
tables: [{name: utility, title: Utility, metrics: [accuracy], paper: low-order-real}]
figures: [{name: bars, title: Bars, kind: bars, y: [accuracy], by: method}]
variants: {full: {}, quick: {}}
"""


@pytest.fixture
def sources(tmp_path):
    (tmp_path / "experiments").mkdir()
    (tmp_path / "experiments" / "made-up.yaml").write_text(FILE)
    return PageSources(
        tmp_path / "experiments", ["made-up"], tmp_path / "results", tmp_path / "pictures"
    )


def make(sources, accuracy, variant="full"):
    (experiment,) = read_suite(sources.experiments / "made-up.yaml", variant).experiments
    for run in list_runs(experiment):
        done = replace(make_record(run, "done"), metrics={"accuracy": accuracy}, seconds=36.0)
        machine = {"threads": 2, "processor": "A Processor"}
        append_record(
            get_results_path("made-up", variant, sources.results), replace(done, machine=machine)
        )


def test_an_experiment_with_results_gets_a_section(sources):
    assert remake_page("# Results\n", sources) == "# Results\n"
    make(sources, 0.5)
    page = remake_page("# Results\n", sources)
    assert "## Made up" in page
    assert "Remakes: Table 9." in page
    assert (
        "tabpe-lab run lab/experiments/made-up.yaml --variant full`: 3 runs, 3 done; 1 min 48 s of"
        in page
    )
    assert "On 2 threads of A Processor." in page
    assert "| Adult | Real rows | *50.00* | *84.41 ± 0.57* |" in page
    assert "![Bars](pictures/made-up-bars.svg)" in page
    assert REMARKS in page
    assert (sources.pictures / "made-up-bars.svg").exists()


def test_a_table_of_runs_that_are_still_to_be_made_is_a_line(sources):
    block = "<!-- made: table made-up full utility -->"
    page = remake_page(f"{block}\n<!-- end -->\n", sources)
    assert page == f"{block}\n\nUtility: no run is done yet.\n\n<!-- end -->\n"


def test_remarks_stay_and_numbers_change(sources):
    make(sources, 0.5)
    page = remake_page("# Results\n", sources).replace(REMARKS, "We are *worse* here, because.")
    make(sources, 0.7)
    again = remake_page(page, sources)
    assert "We are *worse* here, because." in again
    assert "*70.00*" in again
    assert "50.00" not in again
    assert again.count("## Made up") == 1
    assert remake_page(again, sources) == again


def test_the_variant_that_says_most_is_shown(sources):
    make(sources, 0.5, "quick")
    assert find_experiments_with_results(sources) == [("made-up", "quick")]
    make(sources, 0.5, "full")
    assert find_experiments_with_results(sources) == [("made-up", "full")]


@pytest.mark.parametrize(
    ("block", "message"),
    [
        ("table made-up full utilty", "block 'table made-up full utilty': did you mean 'utility'"),
        ("tabel made-up full utility", "block 'tabel made-up full utility': expected"),
        ("runs made-up", "block 'runs made-up': expected"),
        ("figure made-up full curve", "block 'figure made-up full curve': known: 'bars'"),
    ],
)
def test_a_block_that_there_is_not_is_named(sources, block, message):
    with pytest.raises(ParameterError, match=message):
        remake_page(f"<!-- made: {block} -->\n<!-- end -->\n", sources)


def test_an_experiment_in_a_folder_has_its_file_and_its_records_there(sources):
    (sources.experiments / "more").mkdir()
    text = FILE.replace("name: made-up", "name: more/made-up")
    (sources.experiments / "more" / "made-up.yaml").write_text(text)
    (experiment,) = read_suite(sources.experiments / "more" / "made-up.yaml").experiments
    for run in list_runs(experiment):
        done = replace(make_record(run, "done"), metrics={"accuracy": 0.5}, seconds=1.0)
        append_record(get_results_path("more/made-up", "full", sources.results), done)
    page = remake_page("# Results\n", replace(sources, names=["more/made-up"]))
    assert "tabpe-lab run lab/experiments/more/made-up.yaml --variant full`: 3 runs, 3 done" in page
    assert (sources.pictures / "more-made-up-bars.svg").exists()
