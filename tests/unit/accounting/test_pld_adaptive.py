"""Adaptive noise: discrete noise as Gaussian DP, and a limit that holds for it."""

import numpy as np
import pytest

from exact_losses import adaptive_delta, exact_hockey_stick, losses
from tabpe.accounting import ROW_LEVEL, Adjacency, NeighboringRelation, Spend, compose_epsilon
from tabpe.accounting.calibration import BudgetShare, calibrate_spends
from tabpe.accounting.ledger import Budget, RunEntry
from tabpe.accounting.ledger.composition import is_over_budget
from tabpe.accounting.pld import compute_gaussian_delta, compute_gaussian_parameter
from tabpe.accounting.recount import recount_epsilon
from tabpe.accounting.spend import EXPONENTIAL
from tabpe.errors import ParameterError

SIGMAS = [0.3, 0.5, 0.71, 1.0, 1.14, 1.16, 1.5, 2.2, 3.0, 7.0, 20.0]
REPLACED = NeighboringRelation(Adjacency.REPLACE_ONE)


def spends(sigma, times=1):
    return (Spend("votes", sigma, times),)


@pytest.mark.parametrize("sigma", SIGMAS)
def test_a_gaussian_mechanism_dominates_discrete_noise_at_every_epsilon(sigma):
    """Also at the losses of the noise, and far out in the tails."""
    mu = compute_gaussian_parameter(sigma)
    values, chances = losses(sigma, 1)
    seen = values[chances > 1e-14]
    grid = np.concatenate([seen, np.linspace(seen.min(), seen.max(), 301)])
    for epsilon in grid.tolist():
        exact = exact_hockey_stick(spends(sigma), epsilon)
        assert exact <= compute_gaussian_delta(mu, epsilon) * (1 + 1e-9) + 1e-14


@pytest.mark.parametrize("sigma", SIGMAS)
def test_and_one_with_a_thousandth_less_does_not(sigma):
    mu = 0.999 * compute_gaussian_parameter(sigma)
    values, _ = losses(sigma, 1)
    excess = [
        exact_hockey_stick(spends(sigma), e) - compute_gaussian_delta(mu, e)
        for e in values.tolist()
    ]
    middle = np.linspace(-1, 1, 101) / sigma
    excess += [exact_hockey_stick(spends(sigma), e) - compute_gaussian_delta(mu, e) for e in middle]
    assert max(excess) > 1e-6 / sigma


def test_the_parameter_is_hardly_more_than_that_of_continuous_noise():
    for sigma, most in ((1.0, 0.046), (2.2, 0.0088), (10.0, 5e-4), (100.0, 5e-6), (2e4, 1e-8)):
        assert 0 <= sigma * compute_gaussian_parameter(sigma) - 1 < most
    assert compute_gaussian_parameter(999.999) == pytest.approx(
        compute_gaussian_parameter(1000.0), rel=1e-5
    )


@pytest.mark.parametrize("sigma", [0.2, 0.7, 1.0, 2.2, 17.0, 59.0, 61.0, 1e3, 1e5])
@pytest.mark.parametrize("neighbours", [ROW_LEVEL, REPLACED])
def test_two_accountants_agree(sigma, neighbours):
    items = (*spends(sigma, 12), Spend("counts", 3 * sigma, 1, 1e-8))
    stated = compose_epsilon(items, 1e-6, neighbours, adaptive=True)
    found = recount_epsilon(items, 1e-6, neighbours, adaptive=True, gaussian=True)
    assert found == pytest.approx(stated, rel=1.2e-3)


def taken_by_an_enemy(sigma, epsilon, delta, *, adaptive):
    """The delta of one histogram, then as many more as its answer decides, with what is left."""
    options = [
        calibrate_spends(
            (BudgetShare("votes", 1.0, times),),
            epsilon,
            delta,
            ROW_LEVEL,
            spends(sigma),
            adaptive=adaptive,
        )
        for times in (1, 2, 3, 6)
    ]
    return adaptive_delta(sigma, options, epsilon)


LITTLE_NOISE = [(1.0, 7.0), (1.3, 9.0), (4.0, 2.0)]


@pytest.mark.parametrize(("sigma", "epsilon"), [*LITTLE_NOISE, (2.0, 3.3), (10.0, 0.7)])
@pytest.mark.parametrize("delta", [1e-3, 1e-6])
def test_an_enemy_who_picks_the_noise_by_the_answers_stays_within_the_limit(sigma, epsilon, delta):
    assert taken_by_an_enemy(sigma, epsilon, delta, adaptive=True) <= delta


@pytest.mark.parametrize(("sigma", "epsilon"), LITTLE_NOISE)
def test_accounted_for_as_if_the_plan_were_fixed_the_enemy_takes_more(sigma, epsilon):
    """So the test above tells something."""
    assert taken_by_an_enemy(sigma, epsilon, 1e-6, adaptive=False) > 1.005e-6


@pytest.mark.parametrize(("sigma", "epsilon"), [(1.3, 9.0), (1.6, 8.0), (2.5, 4.0)])
def test_runs_that_follow_from_releases_never_exceed_the_budget_of_a_ledger(sigma, epsilon):
    """A custodian sees the first run and then takes the worst of all that the ledger lets pass."""
    budget = Budget("patients", epsilon, 1e-6)
    first = RunEntry("first", "patients", spends(sigma), ROW_LEVEL)
    assert not is_over_budget([first], budget)

    def least_noise(times):
        low, high = 0.5, 50.0
        while high - low > 1e-6:
            middle = (low + high) / 2
            second = RunEntry("second", "patients", spends(middle, times), ROW_LEVEL)
            low, high = (middle, high) if is_over_budget([first, second], budget) else (low, middle)
        return spends(high, times)

    options = [least_noise(times) for times in (1, 2, 3, 6)]
    assert adaptive_delta(sigma, options, epsilon) <= budget.delta


def test_selections_have_no_place_in_it():
    chosen = [Spend("choices", 5.0, 3, mechanism=EXPONENTIAL)]
    with pytest.raises(ParameterError, match="selections"):
        compose_epsilon(chosen, 1e-6, adaptive=True)
    with pytest.raises(ParameterError, match="selections"):
        recount_epsilon(chosen, 1e-6, adaptive=True, gaussian=True)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 20.0])
@pytest.mark.parametrize("neighbours", [ROW_LEVEL, REPLACED])
def test_a_plan_whose_noise_follows_answers_is_calibrated_for_that(epsilon, neighbours):
    parts = (BudgetShare("votes", 1.0, 15),)
    items = calibrate_spends(parts, epsilon, 1e-6, neighbours, adaptive=True)
    total = compose_epsilon(items, 1e-6, neighbours, adaptive=True)
    assert 0.99 * epsilon < total <= epsilon


@pytest.mark.parametrize("sigma", [10.0, 30.0, 100.0])
def test_under_usual_noise_it_costs_next_to_nothing(sigma):
    fixed, adaptive = (compose_epsilon(spends(sigma, 20), 1e-6, adaptive=a) for a in (False, True))
    assert adaptive == pytest.approx(fixed, rel=6e-4)
