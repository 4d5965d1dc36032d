"""The benchmark of the noise measures what it says, and tells goals from misses."""

import time

import numpy as np
import pytest

pytest.importorskip("threadpoolctl")

from benchmarks.noise import (
    GOALS,
    TimedNoise,
    add_users,
    compare_choices,
    compare_draws,
    list_goals,
    make_runs,
    measure_share,
)
from benchmarks.voting.cases import simulate_table
from tabpe.accounting.noise import NoiseSource, SelectionSource


def test_the_part_of_noise_is_that_of_its_own_time():
    def run(noise):
        noise.draw(200_000, 14.0)
        assert noise.choose(np.array([0, 1000]), 1.0) == 1
        end = time.process_time() + 0.05
        while time.process_time() < end:
            pass

    found = measure_share(run)
    assert found["draws"] == 200_000
    assert 0 < found["noise_seconds"] < found["seconds"] - 0.05 + 1e-3
    assert found["share"] == pytest.approx(found["noise_seconds"] / found["seconds"], rel=0.05)


def test_the_timed_source_is_a_private_source_that_selects():
    noise = TimedNoise()
    assert isinstance(noise, NoiseSource)
    assert isinstance(noise, SelectionSource)
    assert noise.private


@pytest.mark.parametrize("name", ["paper", "paper, users"])
def test_a_whole_run_draws_its_noise_from_the_timed_source(name):
    found = measure_share(make_runs(simulate_table(1000, 3))[name])
    assert found["draws"] >= 15 * 100
    assert 0 < found["share"] < 1


def test_every_user_has_two_rows():
    people = add_users(simulate_table(1000, 3)).data["person"].to_numpy()
    assert np.unique(people, return_counts=True)[1].tolist() == [2] * 500


def test_both_sources_are_timed_per_draw_and_per_choice():
    pytest.importorskip("opendp")
    for found in (compare_draws(14.0, repeats=1), compare_choices(10, repeats=1)):
        assert found["ratio"] == pytest.approx(found["opendp_ns"] / found["exact_ns"], rel=0.05)


def test_goals_are_told_from_misses():
    met = {f"{sigma:g}": {"ratio": goal} for sigma, goal in GOALS.items()}
    missed = {f"{sigma:g}": {"ratio": goal - 1} for sigma, goal in GOALS.items()}
    assert all(list_goals(met, {"best": {"share": 0.04}}).values())
    assert not any(list_goals(missed, {"best": {"share": 0.06}}).values())
