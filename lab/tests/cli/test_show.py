"""`tabpe-lab table` and `tabpe-lab figure`: what they print and write, and how they end."""

from dataclasses import replace

import pytest

from tabpe_lab.exhibits import read_suite
from tabpe_lab.grid import list_runs
from tabpe_lab.records import append_record, get_results_path, make_record

FILE = """\
name: made-up
title: Made up
data: [adult]
methods: [real, {tabpe: {rounds: [5, 10]}}, aim]
metrics: [accuracy]
seeds: 1
tables: [{name: utility, title: Utility, metrics: [accuracy], paper: low-order-real}]
figures:
  - {name: bars, title: Bars, kind: bars, y: [accuracy], by: method}
  - {name: rates, title: Rates, kind: schedules, by: settings.rounds, where: {method: tabpe}}
variants: {full: {}, quick: {}}
"""


@pytest.fixture
def experiment(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    file = tmp_path / "made-up.yaml"
    file.write_text(FILE)
    (found,) = read_suite(file, "full").experiments
    results = tmp_path / "results"
    for place, run in enumerate(list_runs(found)):
        score = {"accuracy": 0.5 + place / 10}
        done = replace(make_record(run, "done"), metrics=score, seconds=1.0)
        append_record(get_results_path("made-up", "full", results), done)
    return file


def test_a_table_is_shown(experiment, lab):
    result = lab("table", experiment, "--results", "results")
    assert result.exit_code == 0, result.output
    assert "Utility" in result.stdout
    assert "Tab-PE" in result.stdout
    assert "80.00" in result.stdout
    assert "paper" not in result.stdout


@pytest.mark.parametrize(("form", "sign"), [("markdown", "| Adult | "), ("latex", r"\toprule")])
def test_a_table_is_written_in_other_formats_beside_the_paper(experiment, lab, form, sign):
    options = ("--results", "results", "--format", form, "--paper")
    result = lab("table", experiment, *options)
    assert result.exit_code == 0, result.output
    assert sign in result.stdout
    assert "83.36" in result.stdout


def test_runs_that_are_not_made_are_shown_as_such(experiment, lab):
    result = lab("table", experiment, "--variant", "quick", "--results", "results")
    assert result.exit_code == 0
    assert "not run" in result.stdout


def test_records_of_runs_that_the_file_does_not_name_are_told(experiment, lab):
    experiment.write_text(FILE.replace("rounds: [5, 10]", "rounds: 5"))
    result = lab("table", experiment, "--results", "results")
    assert result.exit_code == 0
    assert "left out 1 of the records" in result.stderr


def test_wrong_use_is_refused_in_a_line(experiment, lab):
    for options, message in (
        (("table", experiment, "--format", "word"), "format='word'"),
        (("table", experiment, "--name", "utilty"), "did you mean 'utility'?"),
        (("table", "none.yaml"), "none.yaml"),
        (("figure", experiment, "--variant", "quik"), "did you mean 'quick'?"),
        (("figure", experiment, "-o", "a.svg", "--results", "results"), "--name"),
        (("figure", experiment, "-o", "a.pdf", "--name", "bars", "--results", "results"), ".svg"),
    ):
        result = lab(*options)
        assert result.exit_code == 2, result.output
        assert result.stderr.startswith("error: ")
        assert message in result.stderr


def test_figures_go_beside_the_results(experiment, lab, tmp_path):
    pytest.importorskip("matplotlib")
    for _ in range(2):
        result = lab("figure", experiment, "--results", "results")
        assert result.exit_code == 0, result.output
    names = sorted(path.name for path in (tmp_path / "results" / "figures").iterdir())
    assert names == ["made-up.full.bars.svg", "made-up.full.rates.svg"]


def test_one_figure_goes_where_it_is_wanted_and_overwrites_nothing_unasked(
    experiment, lab, tmp_path
):
    pytest.importorskip("matplotlib")
    wanted = ("figure", experiment, "--results", "results", "--name", "bars", "-o", "bars.png")
    assert lab(*wanted).exit_code == 0
    assert (tmp_path / "bars.png").read_bytes().startswith(b"\x89PNG")
    refused = lab(*wanted)
    assert refused.exit_code == 2
    assert "--force" in refused.stderr
    assert lab(*wanted, "--force").exit_code == 0


def test_a_figure_without_runs_says_so(experiment, lab):
    pytest.importorskip("matplotlib")
    options = ("--variant", "quick", "--name", "bars", "--results", "results")
    result = lab("figure", experiment, *options)
    assert result.exit_code == 2
    assert "no run is done" in result.stderr


def test_of_several_figures_those_that_have_runs_are_drawn(experiment, lab):
    pytest.importorskip("matplotlib")
    result = lab("figure", experiment, "--variant", "quick", "--results", "results")
    assert result.exit_code == 0
    assert "note: made-up: bars: no run is done" in result.stderr
    assert "made-up.quick.rates.svg" in result.stdout
