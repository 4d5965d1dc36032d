"""A generator learns what was measured, and leaves small errors alone."""

import numpy as np
import pytest

from tabpe.baselines.gem import (
    AttributeLayout,
    GeneratorTraining,
    MarginalAnswers,
    RowGenerator,
    WeightAverage,
)

pytest.importorskip("jax")
pytest.importorskip("optax")
LAYOUT = AttributeLayout((2, 3, 2))
PAIR = np.array([0.4, 0.1, 0.0, 0.0, 0.1, 0.4])


def training(**settings):
    noise = np.random.default_rng(0).normal(size=(64, 8)).astype(np.float32)
    settings = {"rate": 1e-2, "steps": 60, "most": 10} | settings
    return GeneratorTraining(RowGenerator(LAYOUT, noise, hidden=16), **settings)


def init_weights(fit):
    return fit.generator.init_weights(np.random.default_rng(1))


def pair_answers():
    return MarginalAnswers(LAYOUT).add_answer((0, 1), PAIR)


def test_every_attribute_of_a_generated_row_is_a_distribution():
    fit = training()
    for part, size in zip(fit.generate_rows(init_weights(fit)), LAYOUT.sizes, strict=True):
        assert part.shape == (64, size)
        assert part.min() >= 0
        assert part.sum(axis=1) == pytest.approx(np.ones(64), abs=1e-5)


def test_a_fit_brings_the_largest_error_down_to_where_it_may_stay():
    fit, answers = training(), pair_answers()
    before = init_weights(fit)
    after = fit.fit_weights(before, answers, above=0.02)
    assert answers.compute_errors(fit.generate_rows(before)).max() > 0.1
    assert answers.compute_errors(fit.generate_rows(after)).max() < 0.025


def test_a_fit_stops_where_no_error_stands_out():
    fit, answers = training(), pair_answers()
    before = init_weights(fit)
    assert fit.fit_weights(before, answers, above=1.1) is before


def test_cells_that_fill_up_a_step_do_not_count():
    narrow, wide = training(most=6), training(most=60)
    answers = pair_answers()
    results = [fit.fit_weights(init_weights(fit), answers, above=0.1) for fit in (narrow, wide)]
    for one, other in zip(*results, strict=True):
        for left, right in zip(one, other, strict=True):
            assert np.asarray(left) == pytest.approx(np.asarray(right), abs=1e-3)


def test_the_worst_cells_are_those_with_the_largest_errors_that_stand_out():
    answers = MarginalAnswers(AttributeLayout((4,))).add_answer(
        (0,), np.array([0.0, 0.5, 0.3, 0.2])
    )
    rows = [np.full((3, 4), 0.25)]
    assert sorted(answers.find_worst(rows, above=0.1, most=9)) == [0, 1]
    assert sorted(answers.find_worst(rows, above=0.0, most=2)) == [0, 1]
    assert answers.find_worst(rows, above=0.0, most=1).shape == (1,)


def test_an_average_is_plain_at_first_and_then_forgets():
    average = WeightAverage(0.5)
    for value in (0.0, 1.0, 5.0):
        average = average.add_weights([np.array(value)])
    assert float(average.weights[0]) == 0.5 * 0.5 + 0.5 * 5.0


def test_the_same_seed_gives_the_same_weights():
    fits = [training(), training()]
    first, second = (
        fit.generate_rows(fit.fit_weights(init_weights(fit), pair_answers(), 0.1)) for fit in fits
    )
    for one, other in zip(first, second, strict=True):
        assert np.array_equal(one, other)
