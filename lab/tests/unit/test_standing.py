"""Where an experiment stands: every run of the file, made or not, in the order of the file."""

from dataclasses import replace

from tabpe_lab.exhibits import FigureEntry, experiment_of
from tabpe_lab.grid import runs_of
from tabpe_lab.page import depths_of, standing
from tabpe_lab.records import append, record_of, results_path

PLAIN = {
    "name": "made-up",
    "title": "Made up",
    "data": ["hospital", "adult"],
    "methods": [{"tabpe": {"rounds": [5, 10]}}, "real"],
    "metrics": ["accuracy"],
    "seeds": 2,
}
EXPERIMENT = experiment_of(PLAIN, "full", where="a.yaml")


def test_nothing_was_run():
    found = standing(EXPERIMENT).records
    assert {record.status for record in found} == {"not run"}
    assert len(found) == len(runs_of(EXPERIMENT)) == 12


def test_runs_are_in_the_order_of_the_file():
    found = standing(EXPERIMENT).records
    assert list(dict.fromkeys(record.data for record in found)) == ["hospital", "adult"]
    assert list(dict.fromkeys(record.method for record in found)) == ["tabpe", "real"]


def test_what_was_made_takes_its_place_and_others_are_counted(tmp_path):
    first = runs_of(EXPERIMENT)[0]
    done = replace(record_of(first, "done"), metrics={"accuracy": 0.5})
    path = results_path("made-up", "full", tmp_path)
    append(path, done)
    append(path, replace(done, key="0" * 16))
    found = standing(EXPERIMENT, tmp_path)
    assert [record.key for record in found.records if record.status == "done"] == [first.key]
    assert (len(found.records), found.others) == (12, 1)


def test_depths_are_for_one_kind_of_figure_alone(tmp_path):
    entry = FigureEntry("s", "S", "schedules", by="settings.schedule")
    assert depths_of(EXPERIMENT, entry, tmp_path) is None
