"""How long what is left will take."""

import dataclasses

import pytest

from tabpe_lab import runner as module
from tabpe_lab.exhibits import parse_experiment
from tabpe_lab.grid import list_runs
from tabpe_lab.records import RunRecord
from tabpe_lab.runner import RunTimeEstimator, format_duration

PLAIN = {
    "name": "small",
    "title": "A small one",
    "data": ["hospital", "adult"],
    "methods": ["real", "tabpe"],
    "metrics": ["accuracy"],
    "seeds": 2,
}
RUNS = list_runs(parse_experiment(PLAIN, "full", where="small.yaml"))


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still until it is moved."""
    now = [0.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    return now


def make(outlook, clock, run, seconds):
    outlook.begin_run(run)
    clock[0] += seconds
    outlook.end_run(run)


def test_nothing_is_said_before_anything_is_known():
    assert RunTimeEstimator(RUNS, []).seconds_left is None


def test_runs_are_expected_to_take_what_those_of_their_kind_took(clock):
    outlook = RunTimeEstimator(RUNS, [])
    make(outlook, clock, RUNS[0], 1.0)  # real, hospital
    assert outlook.seconds_left == 7 * 1.0
    make(outlook, clock, RUNS[2], 9.0)  # tabpe, hospital
    assert outlook.seconds_left == 3 * 1.0 + 3 * 9.0
    make(outlook, clock, RUNS[3], 19.0)  # tabpe, adult
    assert outlook.seconds_left == 3 * 1.0 + 9.0 + 19.0


def test_what_runs_already_is_taken_off_and_jobs_share_the_rest(clock):
    outlook = RunTimeEstimator(RUNS[:4], [], jobs=2)
    make(outlook, clock, RUNS[0], 4.0)
    outlook.begin_run(RUNS[1])
    clock[0] += 3.0
    assert outlook.seconds_left == (3 * 4.0 - 3.0) / 2
    clock[0] += 100.0
    assert outlook.seconds_left == 0.0


def test_earlier_records_are_known(clock):
    run = RUNS[2]
    record = RunRecord("small", "full", "0f", run.data, run.method, "tabpe", 0, "seed", "done")
    record = dataclasses.replace(record, seconds=2.0, evaluation={"seconds": 3.0})
    assert RunTimeEstimator([run], [record]).seconds_left == 5.0


@pytest.mark.parametrize(("seconds", "words"), [(59.6, "1 min 0 s"), (3600, "1 h 0 min")])
def test_times_are_rounded_as_people_say_them(seconds, words):
    assert format_duration(seconds) == words
