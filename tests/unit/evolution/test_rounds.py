"""What each round does, by the formulas of the paper."""

import pytest

from tabpe.evolution import PRESETS, Evolution
from tabpe.evolution.private_evolution import compute_mutation_rate, plan_rounds


def is_sampling(step):
    return step.selection == "sampling"


@pytest.mark.parametrize("t", range(15))
def test_the_paper_preset_follows_the_paper(t):
    step = plan_rounds(PRESETS["paper"])[t]
    assert step.index == t
    assert is_sampling(step) == (t <= 5)
    assert step.keeps_parents == (t >= 5)
    assert step.variations == (1 if t < 5 else 3)
    assert step.mutation_rate == pytest.approx(0.5 - 0.48 * (t / 15) ** 0.2)


@pytest.mark.parametrize("t", range(14))
def test_the_reference_preset_follows_the_published_code(t):
    step = plan_rounds(PRESETS["reference"])[t]
    assert is_sampling(step) == (t < 4)
    assert step.keeps_parents == (t >= 4)
    assert step.variations == (1 if t < 4 else 3)
    assert step.mutation_rate == pytest.approx(0.5 - 0.49 * (t / 15) ** 0.2)


@pytest.mark.parametrize(("preset", "rounds"), [("paper", 15), ("reference", 14)])
def test_there_is_a_round_for_every_histogram(preset, rounds):
    assert len(plan_rounds(PRESETS[preset])) == rounds


def test_the_linear_schedule_falls_evenly_whatever_gamma_says():
    config = Evolution(rounds=10, schedule="linear", gamma=0.2)
    rates = [compute_mutation_rate(config, t) for t in range(10)]
    assert rates == pytest.approx([0.5 - 0.048 * t for t in range(10)])


def test_a_schedule_without_fall_stays():
    config = Evolution(mutation_init=0.3, mutation_final=0.3)
    assert [step.mutation_rate for step in plan_rounds(config)] == pytest.approx([0.3] * 15)


@pytest.mark.parametrize("preset", ["paper", "reference"])
def test_rates_fall_and_stay_above_the_final_one(preset):
    rates = [step.mutation_rate for step in plan_rounds(PRESETS[preset])]
    assert rates == sorted(rates, reverse=True)
    assert rates[-1] > PRESETS[preset].mutation_final


def test_sampling_alone_never_ranks_nor_grows():
    steps = plan_rounds(Evolution(selection="sampling"))
    assert all(is_sampling(step) and not step.keeps_parents for step in steps)
    assert {step.variations for step in steps} == {1}


def test_ranking_alone_never_samples_and_always_grows():
    steps = plan_rounds(Evolution(selection="ranking"))
    assert not any(is_sampling(step) for step in steps)
    assert all(step.keeps_parents and step.variations == 3 for step in steps)


def test_without_sampling_rounds_only_the_growing_round_samples():
    assert [is_sampling(step) for step in plan_rounds(Evolution(rounds=3, sampling_rounds=0))] == [
        True,
        False,
        False,
    ]


def test_sampling_rounds_beyond_the_last_are_all_sampled():
    assert all(is_sampling(step) for step in plan_rounds(Evolution(rounds=3, sampling_rounds=9)))
