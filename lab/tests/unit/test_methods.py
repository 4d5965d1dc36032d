"""Methods by name: what a run makes of its settings."""

import dataclasses
from dataclasses import replace

import pyarrow as pa
import pytest

from tabpe.baselines import METHODS
from tabpe.errors import ParameterError
from tabpe.evolution import PRESETS, Evolution, Posterior
from tabpe_lab.exhibits import parse_experiment
from tabpe_lab.grid import list_runs
from tabpe_lab.methods import build_maker, list_method_names, parse_strategy
from tabpe_lab.task import load_task

FAST = {"rounds": 2, "sampling_rounds": 1}


def run_of(method, data=None, **settings):
    plain = {
        "name": "small",
        "title": "A small one",
        "data": [{"hospital": {"rows": 400, **(data or {})}}],
        "methods": [{method: settings}],
        "metrics": ["accuracy"],
        "seeds": 1,
    }
    (run,) = list_runs(parse_experiment(plain, "full", where="small.yaml"))
    return run


def made_by(method, data=None, **settings):
    run = run_of(method, data, **settings)
    return build_maker(run)(load_task(run))


def test_real_rows_are_the_training_rows_and_cost_nothing():
    made = made_by("real")
    assert made.table.equals(load_task(run_of("real")).train)
    assert (made.seconds, made.certified_epsilon) == (0.0, None)


@pytest.mark.parametrize(("given", "rows"), [(30, 30), (0.1, 28), (None, 28)])
def test_the_number_of_rows_is_given_or_a_share_of_the_training_rows(given, rows):
    assert made_by("tabpe", n_samples=given, **FAST).table.num_rows == rows


def test_settings_of_the_evolution_and_of_the_model_reach_it():
    with pytest.raises(ParameterError, match="gamma=-1"):
        made_by("tabpe", gamma=-1)
    with pytest.raises(ParameterError, match="engine='remote'"):
        made_by("tabpe", engine="remote", n_samples=20, **FAST)


@pytest.mark.parametrize(
    ("settings", "strategy"),
    [
        ({}, PRESETS["paper"]),
        ({"rounds": 7}, Evolution(rounds=7)),
        ({"preset": "reference", "votes": 2}, replace(PRESETS["reference"], votes=2)),
        ({"preset": "best", "rounds": 0}, Posterior(rounds=0)),
    ],
)
def test_settings_are_a_preset_and_fields_that_replace_its(settings, strategy):
    assert parse_strategy({"n_samples": 20, **settings}) == strategy
    build_maker(run_of("tabpe", **settings))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"poool": 9, "preset": "best"},
            "preset best: unknown setting 'poool': did you mean 'pool'",
        ),
        ({"gamma": 1, "preset": "best"}, "preset best: unknown setting 'gamma'"),
        ({"pool": 9}, "methods: tabpe: unknown setting 'pool'"),
        ({"preset": "papper"}, "preset='papper': did you mean 'paper'"),
        ({"votes": 0, "preset": "best"}, "votes=0"),
        ({"most_samples": 0}, "most_samples=0"),
    ],
)
def test_a_field_of_another_strategy_is_refused(settings, message):
    with pytest.raises(ParameterError, match=message):
        build_maker(run_of("tabpe", **settings))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"preset": "best"}, "keep: rounds: needs rounds"),
        ({"tables": 0.1}, "tables=0.1: expected 0"),
    ],
)
def test_single_rounds_are_those_of_an_evolution_without_tables(settings, message):
    kept = dataclasses.replace(run_of("tabpe", **settings), keep=("rounds",))
    with pytest.raises(ParameterError, match=message):
        build_maker(kept)


def test_a_share_of_rows_may_have_a_limit():
    assert made_by("tabpe", n_samples=0.5, most_samples=30, **FAST).table.num_rows == 30
    assert made_by("tabpe", n_samples=0.1, most_samples=30, **FAST).table.num_rows == 28


def test_oversampling_repeats_every_row():
    made = made_by("tabpe", n_samples=20, oversample=3, **FAST)
    counts = made.table.group_by(made.table.column_names).aggregate([([], "count_all")])
    assert made.table.num_rows == 60
    assert {count % 3 for count in counts["count_all"].to_pylist()} == {0}


def test_copies_may_move():
    made = made_by("tabpe", n_samples=20, oversample=3, smooth=True, **FAST)
    counts = made.table.group_by(made.table.column_names).aggregate([([], "count_all")])
    assert made.table.num_rows == 60
    assert 1 in counts["count_all"].to_pylist()
    with pytest.raises(ParameterError, match="smooth='yes'"):
        made_by("tabpe", smooth="yes", **FAST)


def test_shares_of_classes_are_public_or_measured(monkeypatch):
    spends = []
    monkeypatch.setattr(
        "tabpe_lab.methods.TabPE.sample",
        lambda model, n, smooth: (
            spends.append([item.name for item in model.certificate.spends]) or pa.table({"a": [1]})
        ),
    )
    made_by("tabpe", n_samples=20, **FAST)
    made_by("tabpe", n_samples=20, shares="measured", **FAST)
    public, measured = spends
    assert len(public) == 1
    assert set(measured) > set(public)
    with pytest.raises(ParameterError, match="shares='free'"):
        made_by("tabpe", shares="free")


def test_shares_may_be_noisy_where_the_number_of_rows_is_public(monkeypatch):
    def read_terms(model, n, smooth):
        sigmas = {spend.name: spend.sigma for spend in model.certificate.spends}
        seen.append((model.public_rows, sigmas.get("class counts")))
        return pa.table({"a": [1]})

    seen = []
    monkeypatch.setattr("tabpe_lab.methods.TabPE.sample", read_terms)
    for shares in ("public", "noisy", "measured"):
        made_by("tabpe", n_samples=20, shares=shares, class_budget=0.01, **FAST)
    (rows, public), (same, noisy), (none, measured) = seen
    assert rows == same > 0
    assert none is public is None
    assert noisy == measured > 0


def test_a_baseline_gets_its_own_settings_and_those_of_bins():
    made = made_by("independent", bins="uniform", n_samples=25)
    assert made.table.num_rows == 25
    assert 0.9 < made.certified_epsilon <= 1
    with pytest.raises(ParameterError, match="bins='round'"):
        made_by("independent", bins="round")


def test_every_baseline_is_a_method():
    assert set(list_method_names()) == {"real", "tabpe", *METHODS}


def test_fewer_training_rows_may_be_taken():
    run = run_of("real", {"train_rows": 100})
    task = load_task(run)
    assert task.train.num_rows == 100
    assert sum(task.shares.values()) == pytest.approx(1)
    assert task.train.equals(load_task(run).train)
    with pytest.raises(ParameterError, match="train_rows=500"):
        load_task(run_of("real", {"train_rows": 500}))


def test_the_split_follows_the_seed_if_it_is_asked_to():
    run = run_of("real")
    moved = dataclasses.replace(run, seed=5)
    assert load_task(run).train.equals(load_task(moved).train)
    by_seed = [dataclasses.replace(each, split="seed") for each in (run, moved)]
    assert not load_task(by_seed[0]).train.equals(load_task(by_seed[1]).train)
