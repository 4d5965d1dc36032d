"""The bounds hold as often as they say, and see what is there."""

import numpy as np
import pytest
from scipy import stats

from tabpe.accounting.pld import compute_gaussian_delta, solve_gaussian_mu
from tabpe.audit.attacks import DELTA as DELTA_OF_ONE_RUN
from tabpe.audit.bounds import (
    ALARM,
    AttackErrors,
    compute_bound_by_errors,
    compute_bound_by_gaussian_errors,
    compute_bound_by_guesses,
    compute_gaussian_epsilon,
    compute_guess_probability,
    count_guesses_needed,
)

DELTA = 1e-5
EPSILONS = (0.5, 1.0, 4.0, 10.0)


@pytest.mark.parametrize("rate", [0.001, 0.1, 0.5, 0.9])
def test_a_limit_is_exceeded_as_rarely_as_it_says(rate):
    """Summed over all outcomes of 200 trials, exactly."""
    trials, alarm = 200, 1e-3
    limits = [
        AttackErrors(wrong, trials, 0, 1).compute_limits(alarm)[0] for wrong in range(trials + 1)
    ]
    chances = stats.binom.pmf(np.arange(trials + 1), trials, rate)
    assert chances[np.array(limits) < rate].sum() <= alarm / 2


def test_limits_of_both_sides_are_alike():
    assert (
        AttackErrors(3, 50, 7, 60).compute_limits(0.01)
        == AttackErrors(7, 60, 3, 50).compute_limits(0.01)[::-1]
    )
    assert AttackErrors(50, 50, 60, 60).compute_limits(0.01) == (1.0, 1.0)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_randomised_response_is_bounded_by_its_epsilon_and_hardly_less(epsilon):
    """It tells the truth with the chance p, which is as much as epsilon allows."""
    trials, lie = 10**7, 1 / (1 + np.exp(epsilon))
    wrong = round(trials * lie)
    found = compute_bound_by_errors(AttackErrors(wrong, trials, wrong, trials), 0.0)
    assert 0.7 * epsilon < found < epsilon


def test_delta_is_taken_off():
    all_found = AttackErrors(0, 10**6, 10**6 - 100, 10**6)
    assert compute_bound_by_errors(all_found, 0.0) > 0.5
    assert compute_bound_by_errors(all_found, 2e-4) == 0.0


def test_an_attack_that_always_errs_shows_nothing():
    assert (
        compute_bound_by_errors(AttackErrors(9, 9, 9, 9), DELTA)
        == compute_bound_by_gaussian_errors(AttackErrors(9, 9, 9, 9), DELTA)
        == 0
    )


def test_both_directions_count():
    assert compute_bound_by_errors(
        AttackErrors(0, 1000, 900, 1000), DELTA
    ) == compute_bound_by_errors(AttackErrors(900, 1000, 0, 1000), DELTA)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_a_gaussian_mechanism_is_bounded_by_its_epsilon_and_hardly_less(epsilon):
    trials, mu = 10**7, solve_gaussian_mu(epsilon, DELTA)
    wrong = round(trials * stats.norm.sf(mu / 2))
    errors = AttackErrors(wrong, trials, wrong, trials)
    assert 0.95 * epsilon < compute_bound_by_gaussian_errors(errors, DELTA) < epsilon
    assert compute_bound_by_errors(errors, DELTA) < compute_bound_by_gaussian_errors(errors, DELTA)


@pytest.mark.parametrize("mu", [0.01, 0.3, 2.0, 8.0])
def test_the_epsilon_of_a_gaussian_mechanism_is_where_its_delta_is(mu):
    epsilon = compute_gaussian_epsilon(mu, DELTA)
    assert compute_gaussian_delta(mu, epsilon) == pytest.approx(DELTA, rel=1e-6)


def test_no_separation_is_no_epsilon():
    assert compute_gaussian_epsilon(-1.0, DELTA) == compute_gaussian_epsilon(1e-6, DELTA) == 0.0
    assert compute_bound_by_gaussian_errors(AttackErrors(50, 100, 50, 100), DELTA) == 0.0


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
def test_guesses_accuse_randomised_response_as_rarely_as_they_say(epsilon):
    """Summed over all outcomes, exactly."""
    guesses, alarm = 500, 1e-3
    chances = stats.binom.pmf(np.arange(guesses + 1), guesses, 1 / (1 + np.exp(-epsilon)))
    bounds = np.array(
        [compute_bound_by_guesses(v, guesses, guesses, 0.0, alarm) for v in range(guesses + 1)]
    )
    assert chances[bounds > epsilon].sum() <= alarm
    assert chances[bounds > epsilon / 4].sum() > 0.8


@pytest.mark.parametrize("canaries", [100, 10_000])
def test_a_release_that_gives_all_away_with_the_chance_delta_is_not_accused(canaries):
    """It guarantees no more, so its chance to have all guesses right must be granted."""
    for delta in (1e-4, 1e-9):
        assert compute_guess_probability(canaries, canaries, canaries, 0.0, delta) >= delta


def test_the_search_for_alpha_leaves_nothing_out():
    guesses, right, epsilon, delta = 400, 330, 1.0, 1e-4
    accuracy = 1 / (1 + np.exp(-epsilon))
    tail = stats.binom.sf(np.arange(right) - 1, guesses, accuracy)
    beta = stats.binom.sf(right - 1, guesses, accuracy)
    alpha = ((tail[::-1] - beta) / np.arange(1, right + 1)).max()
    found = compute_guess_probability(right, guesses, guesses, epsilon, delta)
    assert found == pytest.approx(beta + 2 * guesses * delta * alpha, rel=1e-6)


def test_abstaining_is_not_held_against_the_release():
    few = compute_bound_by_guesses(200, 200, 10_000, 1e-10)
    assert compute_bound_by_guesses(200, 200, 200, 1e-10) > few > 0
    assert compute_bound_by_guesses(0, 0, 100, 1e-9) == 0.0


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_so_many_guesses_are_enough_and_half_are_not(epsilon):
    guesses = count_guesses_needed(epsilon)
    assert compute_guess_probability(guesses, guesses, guesses, epsilon, DELTA_OF_ONE_RUN) <= ALARM
    assert compute_guess_probability(guesses // 2, guesses // 2, guesses // 2, epsilon, 0.0) > ALARM
