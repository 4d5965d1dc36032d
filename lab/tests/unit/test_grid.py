"""From an experiment to its runs."""

import dataclasses

from tabpe_lab.exhibits import parse_experiment
from tabpe_lab.experiment import RunLimits
from tabpe_lab.grid import list_runs

PLAIN = {
    "name": "small",
    "title": "A small one",
    "data": ["hospital"],
    "methods": ["real"],
    "metrics": ["accuracy"],
    "seeds": 1,
}


def runs(**changes):
    return list_runs(parse_experiment(PLAIN | changes, "full", where="small.yaml"))


def test_the_split_may_follow_from_the_data():
    data = ["hospital", "adult", "bank"]
    split = {"adult": "authors", "others": "seed"}
    assert [run.split for run in runs(data=data, split=split)] == ["seed", "authors", "seed"]
    assert [run.split for run in runs(data=data, split={"bank": "seed"})] == [
        "authors",
        "authors",
        "seed",
    ]
    (by_data,), (plain,) = runs(split={"hospital": "seed"}), runs(split="seed")
    assert by_data.key == plain.key


def test_lists_are_grids_over_data_epsilons_settings_and_seeds():
    found = runs(
        data=[{"xor": {"features": [2, 3]}}],
        methods=[{"tabpe": {"rounds": [5, 10], "gamma": 0.5}}],
        epsilons=[1, 3],
        seeds=2,
    )
    told = {
        (r.data_options["features"], r.settings["rounds"], r.settings["gamma"], r.epsilon, r.seed)
        for r in found
    }
    expected = {
        (f, t, 0.5, e, s) for f in (2, 3) for t in (5, 10) for e in (1.0, 3.0) for s in (0, 1)
    }
    assert len(found) == len(expected)
    assert told == expected


def test_real_rows_have_no_budget_and_are_run_once_a_seed():
    assert [run.epsilon for run in runs(epsilons=[1, 3, 10])] == [None]


def test_the_first_seed_of_everything_comes_first_and_cheap_methods_before_others():
    found = runs(methods=["aim", "mst", "tabpe", "real"], seeds=2)
    assert [(run.seed, run.method) for run in found] == [
        (seed, method) for seed in (0, 1) for method in ("real", "tabpe", "mst", "aim")
    ]


def test_a_setting_may_choose_by_the_data():
    found = runs(
        data=["hospital", "adult", "bank"],
        methods=[{"tabpe": {"n_samples": {"hospital": 50, "adult": [10, 20]}}}],
    )
    assert [(run.data, run.settings) for run in found] == [
        ("hospital", {"n_samples": 50}),
        ("adult", {"n_samples": 10}),
        ("adult", {"n_samples": 20}),
        ("bank", {}),
    ]
    others = runs(
        data=["hospital", "adult"],
        methods=[{"tabpe": {"n_samples": {"hospital": 50, "others": 7}}}],
    )
    assert [run.settings["n_samples"] for run in others] == [50, 7]


def test_a_method_may_be_for_some_data_alone():
    found = runs(data=["hospital", "adult"], methods=[{"tabpe": {"on": ["adult"]}}, "real"])
    assert {(run.method, run.data) for run in found} == {
        ("real", "hospital"),
        ("real", "adult"),
        ("tabpe", "adult"),
    }


def test_equal_runs_are_one():
    assert len(runs(methods=["real", "real"])) == 1


def test_the_key_follows_from_all_that_decides_what_comes_out_and_from_nothing_else():
    (run,) = runs(methods=[{"tabpe": {"rounds": 5}}])
    same = {
        "experiment": "other",
        "variant": "quick",
        "called": "Tab-PE",
        "limits": RunLimits(1, 1),
    }
    for name, value in same.items():
        assert dataclasses.replace(run, **{name: value}).key == run.key
    differ = {
        "data": "adult",
        "data_options": {"rows": 3},
        "method": "aim",
        "settings": {"rounds": 6},
        "epsilon": 2.0,
        "delta": 1e-5,
        "seed": 1,
        "split": "seed",
        "metrics": ("auc",),
        "evaluate": dataclasses.replace(run.evaluate, rows=7),
        "keep": ("rows",),
        "rounds_kept": (1,),
    }
    assert {*same, *differ} == {field.name for field in dataclasses.fields(run)}
    keys = {dataclasses.replace(run, **{name: value}).key for name, value in differ.items()}
    assert len(keys) == len(differ)
    assert run.key not in keys


def test_the_key_is_the_same_in_every_process():
    (run,) = runs()
    assert run.key == "caaa9b2e82bd93c1"


def test_rounds_are_kept_of_an_evolution_alone():
    found = runs(methods=["real", "tabpe"], keep=["rows", "rounds"], rounds_kept=[0, 1])
    assert [(run.keep, run.rounds_kept) for run in found] == [
        (("rows",), ()),
        (("rows", "rounds"), (0, 1)),
    ]
