"""Where an experiment stands: every run of the file, made or not, in the order of the file."""

from dataclasses import replace

from tabpe_lab.exhibits import FigureEntry, parse_experiment
from tabpe_lab.grid import list_runs
from tabpe_lab.page import ensure_depths, load_status
from tabpe_lab.records import append_record, get_results_path, make_record

PLAIN = {
    "name": "made-up",
    "title": "Made up",
    "data": ["hospital", "adult"],
    "methods": [{"tabpe": {"rounds": [5, 10]}}, "real"],
    "metrics": ["accuracy"],
    "seeds": 2,
}
EXPERIMENT = parse_experiment(PLAIN, "full", where="a.yaml")


def test_nothing_was_run():
    found = load_status(EXPERIMENT).records
    assert {record.status for record in found} == {"not run"}
    assert len(found) == len(list_runs(EXPERIMENT)) == 12


def test_runs_are_in_the_order_of_the_file():
    found = load_status(EXPERIMENT).records
    assert list(dict.fromkeys(record.data for record in found)) == ["hospital", "adult"]
    assert list(dict.fromkeys(record.method for record in found)) == ["tabpe", "real"]


def test_what_was_made_takes_its_place_and_others_are_counted(tmp_path):
    first = list_runs(EXPERIMENT)[0]
    done = replace(make_record(first, "done"), metrics={"accuracy": 0.5})
    path = get_results_path("made-up", "full", tmp_path)
    append_record(path, done)
    append_record(path, replace(done, key="0" * 16))
    found = load_status(EXPERIMENT, tmp_path)
    assert [record.key for record in found.records if record.status == "done"] == [first.key]
    assert (len(found.records), found.orphan_count) == (12, 1)


def test_depths_are_for_one_kind_of_figure_alone(tmp_path):
    entry = FigureEntry("s", "S", "schedules", by="settings.schedule")
    assert ensure_depths(EXPERIMENT, entry, tmp_path) is None
