"""What is shown of runs: averages over seeds, the best setting, and how runs ended."""

import pytest
from made_runs import run

from tabpe.errors import ParameterError
from tabpe_lab.summary import SeedStatistics, find_limit, summarize_groups, summarize_runs


def accuracies(values, **more):
    return [run(seed=n, metrics={"accuracy": value}, **more) for n, value in enumerate(values)]


def test_seeds_are_averaged_with_the_deviation_of_a_sample():
    found = summarize_runs(accuracies([0.5, 0.6, 0.7]), ["accuracy"])
    assert found.values["accuracy"].mean == pytest.approx(0.6)
    assert found.values["accuracy"].std == pytest.approx(0.1)
    assert found.seeds == 3


def test_one_seed_has_no_deviation():
    assert summarize_runs(accuracies([0.5]), ["accuracy"]).values["accuracy"] == SeedStatistics(0.5)


def test_the_best_setting_is_taken_by_validation_not_by_test():
    good = run(settings={"degree": 2}, metrics={"accuracy": 0.5, "validation_accuracy": 0.9})
    lucky = run(settings={"degree": 3}, metrics={"accuracy": 0.8, "validation_accuracy": 0.6})
    found = summarize_runs([good, lucky], ["accuracy"])
    assert found.values["accuracy"].mean == 0.5
    assert (found.chosen, found.chosen_by) == ("degree 2", "validation_accuracy")


def test_the_nearest_setting_is_known_beside_the_best():
    def made(degree, accuracy, near, far):
        metrics = {"validation_accuracy": accuracy, "accuracy": 0.5, "1-wd": near, "5-wd": far}
        return run(settings={"degree": degree}, metrics=metrics)

    runs = [made(2, 0.9, 0.1, 0.4), made(3, 0.8, 0.2, 0.3)]
    found = summarize_runs(runs, ["accuracy", "1-wd", "5-wd"])
    assert (found.chosen, found.chosen_by) == ("degree 2", "validation_accuracy")
    assert (found.closest, found.nearest_by) == ("degree 3", "5-wd")
    alone = summarize_runs(runs[:1], ["accuracy", "1-wd", "5-wd"])
    assert (alone.closest, alone.nearest_by) == ("", "")
    assert summarize_runs(runs, ["accuracy"]).nearest_by == ""


def test_without_validation_of_all_the_first_measure_decides():
    first = run(settings={"degree": 2}, metrics={"1-wd": 0.5, "validation_accuracy": 0.9})
    closer = run(settings={"degree": 3}, metrics={"1-wd": 0.1})
    found = summarize_runs([first, closer], ["1-wd"])
    assert found.values["1-wd"].mean == 0.1
    assert found.chosen_by == "1-wd"


def test_a_setting_that_did_not_fit_leaves_the_place_to_the_others():
    fits = run(settings={"degree": 2}, metrics={"accuracy": 0.5})
    large = run(settings={"degree": 5}, status="did not fit", reason="memory", metrics={})
    found = summarize_runs([fits, large], ["accuracy"])
    assert (found.outcome, found.chosen) == ("done", "degree 2")


def test_seeds_that_failed_are_not_counted():
    found = summarize_runs([*accuracies([0.5, 0.7]), run(seed=2, status="failed")], ["accuracy"])
    assert (found.outcome, found.seeds, found.values["accuracy"].count) == ("done", 2, 2)


@pytest.mark.parametrize(
    ("status", "outcome"),
    [("did not fit", "did not fit"), ("failed", "failed"), ("not run", "not run")],
)
def test_without_a_run_that_is_done_it_says_how_they_ended(status, outcome):
    assert summarize_runs([run(status=status)], ["accuracy"]).outcome == outcome


@pytest.mark.parametrize(
    ("reason", "limit"),
    [
        ("memory: took more than 8 GB", "8 GB"),
        ("time: longer than 3600 seconds", "3600 s"),
        ("AIM: a marginal of 3,000,000 cells, limit 250,000", ""),
    ],
)
def test_the_limit_is_the_one_that_the_reason_names(reason, limit):
    assert find_limit(run(status="did not fit", reason=reason)) == limit


def test_runs_of_different_budgets_never_share_a_place():
    runs = [run(epsilon=0.1), run(epsilon=1.0)]
    with pytest.raises(ParameterError, match=r"utility: .*epsilon 0\.1, 1"):
        summarize_groups(runs, ["data", "method"], ["accuracy"], where="utility")


def test_runs_on_different_options_of_the_data_never_share_a_place():
    runs = [run("xor", data_options={"features": d}) for d in (2, 3)]
    with pytest.raises(ParameterError, match=r"data_options\.features 2, 3"):
        summarize_groups(runs, ["data", "method"], ["accuracy"], where="utility")
    fields = ["data_options.features", "method"]
    assert list(summarize_groups(runs, fields, ["accuracy"], where="u")) == [
        (2, "tabpe"),
        (3, "tabpe"),
    ]
