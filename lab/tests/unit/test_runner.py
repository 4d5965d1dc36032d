"""Many runs: which are made, in which order, and what is kept of them."""

import json
import threading
from dataclasses import replace

import pytest

from tabpe.errors import ParameterError
from tabpe_lab.exhibits import parse_experiment
from tabpe_lab.experiment import ExperimentSuite
from tabpe_lab.records import get_extra_path, get_results_path, make_record, read_records
from tabpe_lab.runner import (
    Interrupted,
    ProcessOutcome,
    RunTimeEstimator,
    make_plan,
    run_plan,
)

PLAIN = {
    "name": "small",
    "title": "A small one",
    "data": ["hospital"],
    "methods": ["real", {"tabpe": {"rounds": [5, 10]}}],
    "metrics": ["accuracy"],
    "limits": {"seconds": 60, "gigabytes": 2},
    "seeds": 2,
}
DONE = ProcessOutcome("done", reported={"rows": 70, "seconds": 0.5, "metrics": {"accuracy": 0.5}})


def suite(*names, **changes):
    names = names or ("small",)
    return ExperimentSuite(
        names[0],
        tuple(parse_experiment(PLAIN | changes | {"name": n}, "full", where=n) for n in names),
    )


class Attempts:
    """Ends runs as they are told, and remembers them."""

    def __init__(self, ending=DONE, **by_method):
        self.ending, self.by_method, self.made = ending, by_method, []

    def __call__(self, payload, limits, *, cores, stop):
        """End one run."""
        json.dumps(payload)
        run = payload["run"]
        self.made.append((run["experiment"], run["method"], run["settings"], run["seed"]))
        return self.by_method.get(run["method"], self.ending)


def carried_out(folder, attempts, *names, again=False, only=(), jobs=1, **changes):
    plan = make_plan(suite(*names, **changes), folder, again=again, only=only)
    return run_plan(plan, attempt=attempts, jobs=jobs)


def test_every_run_is_made_and_recorded(tmp_path):
    records = carried_out(tmp_path, Attempts())
    kept = read_records(get_results_path("small", "full", tmp_path))
    assert kept == records
    assert len({record.key for record in kept}) == 6
    assert {record.status for record in kept} == {"done"}
    assert {(record.rows, record.seconds) for record in kept} == {(70, 0.5)}
    assert kept[0].limits == {"seconds": 60.0, "gigabytes": 2.0}
    assert kept[0].made.endswith("+00:00")


def test_the_first_seed_of_every_experiment_comes_before_any_second_one(tmp_path):
    attempts = Attempts()
    carried_out(tmp_path, attempts, "one", "two")
    assert [(name, seed) for name, method, _, seed in attempts.made if method == "real"] == [
        ("one", 0),
        ("two", 0),
        ("one", 1),
        ("two", 1),
    ]


def test_one_by_one_an_experiment_ends_before_the_next_begins(tmp_path):
    plan = make_plan(replace(suite("one", "two"), one_by_one=True), tmp_path)
    assert [(run.experiment, run.seed) for run in plan.todo if run.method == "real"] == [
        ("one", 0),
        ("one", 1),
        ("two", 0),
        ("two", 1),
    ]


def test_estimates_are_of_runs_that_are_alike_and_within_limits(tmp_path):
    todo = make_plan(suite(seeds=1), tmp_path).todo
    known = [replace(make_record(run, "done"), seconds=10.0) for run in todo]
    assert RunTimeEstimator(todo, known).seconds_left == 30
    slow = [replace(record, seconds=None, reason="time: over 60 s") for record in known]
    slow = [replace(record, status="did not fit", limits={"seconds": 60.0}) for record in slow]
    assert RunTimeEstimator(todo, slow).seconds_left == 180
    preset = replace(todo[1], settings={"preset": "best"})
    apart = [*known, replace(make_record(preset, "done"), seconds=500.0)]
    assert RunTimeEstimator([preset], apart).seconds_left == 500
    assert RunTimeEstimator(todo, apart).seconds_left == 30


def test_what_is_done_is_not_made_again_unless_asked_for(tmp_path):
    carried_out(tmp_path, Attempts())
    more, all_of_them = Attempts(), Attempts()
    carried_out(tmp_path, more, seeds=3)
    assert {seed for *_, seed in more.made} == {2}
    carried_out(tmp_path, all_of_them, again=True)
    assert len(all_of_them.made) == 6


def test_what_failed_is_made_again(tmp_path):
    carried_out(tmp_path, Attempts(tabpe=ProcessOutcome("failed", "no luck")))
    again = Attempts()
    carried_out(tmp_path, again)
    assert {method for _, method, *_ in again.made} == {"tabpe"}
    kept = read_records(get_results_path("small", "full", tmp_path))
    assert {record.status for record in kept} == {"done"}


@pytest.mark.parametrize(
    ("limits", "made"),
    [
        ({"seconds": 60, "gigabytes": 2}, 0),
        ({"seconds": 50, "gigabytes": 2}, 0),
        ({"seconds": 61, "gigabytes": 2}, 4),
        ({"seconds": 60, "gigabytes": 3}, 4),
    ],
)
def test_what_did_not_fit_is_made_again_if_it_may_take_more(tmp_path, limits, made):
    carried_out(tmp_path, Attempts(tabpe=ProcessOutcome("did not fit", "time: over 60 s")))
    again = Attempts()
    carried_out(tmp_path, again, limits=limits)
    assert len(again.made) == made


def test_some_runs_may_be_chosen_by_their_line(tmp_path):
    attempts = Attempts()
    carried_out(tmp_path, attempts, only=["rounds 10", "real"])
    assert [(method, settings.get("rounds")) for _, method, settings, _ in attempts.made] == [
        ("real", None),
        ("tabpe", 10),
    ] * 2


@pytest.mark.parametrize(
    ("method", "named"),
    [
        ("tabp", "methods: 'tabp': did you mean 'tabpe'?"),
        (
            {"tabpe": {"round": 3}},
            "methods: tabpe: unknown setting 'round': did you mean 'rounds'?",
        ),
        ({"tabpe": {"rounds": 0}}, "rounds=0"),
        ({"tabpe": {"epsilon": 3}}, "unknown setting 'epsilon'"),
        ({"real": {"rounds": 3}}, "methods: real: unknown setting 'rounds': it takes none"),
        ({"independent": {"degree": 3}}, "methods: independent: unknown setting 'degree'"),
    ],
)
def test_a_method_or_a_setting_that_is_not_known_is_refused_before_anything_runs(
    tmp_path, method, named
):
    with pytest.raises(ParameterError) as refused:
        make_plan(suite(methods=["real", method]), tmp_path)
    assert named in str(refused.value)


def test_data_that_is_not_known_is_refused_before_anything_runs(tmp_path):
    with pytest.raises(ParameterError, match="data: 'hospitl'"):
        make_plan(suite(data=["hospitl"]), tmp_path)


def test_what_is_kept_beside_a_record_is_in_a_file_of_its_own(tmp_path):
    ending = ProcessOutcome("done", reported={"extra": {"rows": {"age": [1, 2]}}})
    (record, *_) = carried_out(tmp_path, Attempts(ending))
    assert json.loads(get_extra_path(record, tmp_path).read_text()) == {"rows": {"age": [1, 2]}}
    assert "age" not in get_results_path("small", "full", tmp_path).read_text()


def test_an_interruption_ends_what_runs_and_keeps_what_is_done(tmp_path):
    plan, running = make_plan(suite(), tmp_path), threading.Event()

    def attempt(payload, limits, *, cores, stop):
        if payload["run"]["method"] == "real" and payload["run"]["seed"] == 0:
            return DONE
        running.set()
        stop.wait()
        raise Interrupted

    def interrupt(run, record):
        running.wait()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_plan(plan, attempt=attempt, on_end=interrupt)
    assert len(read_records(get_results_path("small", "full", tmp_path))) == 1
    assert len(make_plan(suite(), tmp_path).todo) == 5


def test_as_many_run_at_once_as_there_are_jobs(tmp_path):
    meet = threading.Barrier(2, timeout=600)

    def attempt(payload, limits, *, cores, stop):
        meet.wait()
        return DONE

    assert len(carried_out(tmp_path, attempt, jobs=2)) == 6


def test_jobs_below_one_are_refused(tmp_path):
    with pytest.raises(ParameterError, match="jobs=0"):
        carried_out(tmp_path, Attempts(), jobs=0)
