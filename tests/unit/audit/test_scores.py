"""Thresholds are chosen on scores that are not counted, and likeness is noticed."""

import numpy as np
import pytest

from tabpe.accounting.pld import solve_gaussian_mu
from tabpe.audit.attacks import compute_correlation_p_value, compute_epsilon_bounds
from tabpe.audit.bounds import ALARM
from tabpe.audit.report import PrivacyClaim

CLAIM = PrivacyClaim(1.0, 1e-5)
SIZE = 100_000


def gaussian(mu, size=SIZE, seed=0):
    rng = np.random.default_rng(seed)
    return compute_epsilon_bounds("x", mu + rng.normal(size=size), rng.normal(size=size), CLAIM)


def test_scores_at_the_claim_are_under_it_and_not_far():
    for finding in gaussian(solve_gaussian_mu(CLAIM.epsilon, CLAIM.delta)):
        assert 0.3 < finding.epsilon < 1.0 < finding.visible
        assert finding.holds


def test_scores_half_as_noisy_are_above_the_claim():
    plain, by_gauss = gaussian(2 * solve_gaussian_mu(CLAIM.epsilon, CLAIM.delta))
    assert not by_gauss.holds
    assert plain.epsilon < by_gauss.epsilon


def test_scores_that_tell_nothing_show_nothing():
    assert [finding.epsilon for finding in gaussian(0.0)] == [0.0, 0.0]


def test_the_choice_of_a_threshold_does_not_count_as_evidence():
    """Few scores that look telling by chance, and no others: nothing is shown."""
    ins, outs = np.ones(4000), np.ones(4000)
    outs[:1000] = 0
    assert [finding.epsilon for finding in compute_epsilon_bounds("x", ins, outs, CLAIM)] == [
        0.0,
        0.0,
    ]


def test_no_attack_shows_more_than_is_visible():
    ins, outs = np.ones(400), np.zeros(400)
    for finding in compute_epsilon_bounds("x", ins, outs, CLAIM):
        assert finding.epsilon == pytest.approx(finding.visible)


def test_few_scores_that_tell_much_are_enough():
    rng = np.random.default_rng(0)
    plain, by_gauss = compute_epsilon_bounds(
        "x", 4 + rng.normal(size=200), rng.normal(size=200), CLAIM
    )
    assert plain.epsilon > 1.0
    assert by_gauss.epsilon > 5.0


@pytest.fixture
def noises():
    return np.random.default_rng(0).normal(size=(15, 10_000))


def test_independent_noise_is_not_alike(noises):
    assert compute_correlation_p_value(noises) > 1e-3


def test_many_pairs_make_a_likeness_by_chance_no_surprise():
    """Of 19,900 pairs the most alike would be a surprise if it were the only one."""
    few = np.random.default_rng(0).normal(size=(200, 50))
    assert compute_correlation_p_value(few) > 0.01
    assert (
        min(
            compute_correlation_p_value(few[[one, other]])
            for one in range(40)
            for other in range(one)
        )
        < 0.01
    )


def test_one_pair_alike_among_many_is_noticed(noises):
    noises[11] = noises[3]
    assert compute_correlation_p_value(noises) < ALARM


def test_a_part_that_is_shared_is_noticed(noises):
    noises[1] += 0.1 * noises[0]
    assert compute_correlation_p_value(noises) < ALARM


def test_the_opposite_is_alike(noises):
    noises[1] = -noises[0]
    assert compute_correlation_p_value(noises) < ALARM


def test_noise_that_never_changes_is_alike(noises):
    noises[1] = 5
    assert compute_correlation_p_value(noises) == 0.0
