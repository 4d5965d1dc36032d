"""One run in its own process, on a small table."""

import dataclasses
import json

import pytest

from tabpe.errors import CapacityError, ParameterError
from tabpe_lab.exhibits import parse_experiment
from tabpe_lab.experiment import RunLimits
from tabpe_lab.grid import list_runs
from tabpe_lab.runner import run_process
from tabpe_lab.worker import describe_error, execute_run, read_peak_megabytes

PLAIN = {
    "name": "small",
    "title": "A small one",
    "data": [{"hospital": {"rows": 400}}],
    "methods": [{"tabpe": {"n_samples": 30, "rounds": 3, "sampling_rounds": 1}}],
    "metrics": ["accuracy", "1-wd", "2-tv"],
    "evaluate": {"learners": ["nearest neighbours"]},
    "seeds": 1,
}


def run_of(**changes):
    (run,) = list_runs(parse_experiment(PLAIN | changes, "full", where="small.yaml"))
    return run


def told_by(run):
    told = []
    execute_run(run, lambda event, content: told.append((event, json.loads(json.dumps(content)))))
    return dict(told)


def test_a_run_in_a_process_of_its_own_tells_all_that_is_recorded():
    run = run_of()
    payload = {"run": dataclasses.asdict(run), "gigabytes": 4.0}
    ending = run_process(payload, RunLimits(seconds=3600, gigabytes=4))
    assert (ending.status, ending.reason) == ("done", "")
    told = ending.reported
    assert (told["rows"], told["synthetic_rows"]) == (280, 30)
    assert 0.9 < told["certified_epsilon"] <= 1
    assert told["seconds"] > 0
    assert set(told["metrics"]) == {"accuracy", "validation_accuracy", "1-wd", "2-tv"}
    assert told["evaluation"]["learner"] == "nearest neighbours"
    assert told["versions"]["tabpe"]
    assert told["machine"]["cores"] >= 1
    assert told["extra"] is None
    assert ending.peak_megabytes > 50 or not read_peak_megabytes()


def test_what_is_no_run_ends_the_process_with_the_reason():
    ending = run_process({"run": {"data": 5}, "gigabytes": 4.0}, RunLimits())
    assert ending.status == "failed"
    assert "run.experiment: missing" in ending.reason


def test_rows_are_kept_beside_if_they_are_asked_for():
    told = told_by(run_of(keep=["rows"], evaluate={"kept_rows": 12, "learners": ["extra trees"]}))
    extra = told["done"]["extra"]
    assert set(extra) == {"rows", "real_rows"}
    assert {len(values) for values in extra["rows"].values()} == {12}
    assert set(extra["rows"]["readmitted"]) <= {"no", "yes"}


def test_rounds_are_kept_with_their_rows_and_metrics():
    told = told_by(run_of(keep=["rounds"], rounds_kept=[0, 2, 3, 9], metrics=["1-wd"]))
    rounds = told["done"]["extra"]["rounds"]
    assert set(rounds) == {"0", "2", "3"}
    assert {len(each["rows"]["age"]) for each in rounds.values()} == {30}
    assert rounds["3"]["metrics"]["1-wd"] == pytest.approx(told["done"]["metrics"]["1-wd"])
    assert rounds["0"]["rows"] != rounds["2"]["rows"]


@pytest.mark.parametrize(
    ("error", "fits", "reason"),
    [
        (MemoryError(), False, "out of memory"),
        (RuntimeError("RESOURCE_EXHAUSTED: Out of memory allocating 5 bytes"), False, "out of"),
        (CapacityError("AIM: a marginal of 9 cells"), False, "AIM: a marginal of 9 cells"),
        (ParameterError("rounds=0: no"), True, "rounds=0: no"),
        (ValueError("two\nlines"), True, "ValueError: two lines"),
    ],
)
def test_an_error_is_told_apart_from_what_does_not_fit(error, fits, reason):
    told = describe_error(error)
    assert told["fits"] is fits
    assert told["reason"].startswith(reason)
