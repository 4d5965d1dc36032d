"""The second accountant: against the exact sum, against the first one, and at its own seams."""

import math
import subprocess
import sys

import numpy as np
import pytest
from scipy import integrate, stats

from exact_losses import exact_delta
from tabpe.accounting import (
    ROW_LEVEL,
    Adjacency,
    NeighboringRelation,
    Spend,
    calibrate_sigma,
    compose_epsilon,
)
from tabpe.accounting import recount as module
from tabpe.accounting.pld import compute_divergences
from tabpe.accounting.recount import recount_epsilon
from tabpe.errors import ParameterError

REPLACED = NeighboringRelation(Adjacency.REPLACE_ONE)
USERS = NeighboringRelation(max_rows=4)


def spends(*items):
    return [Spend(f"item {place}", *item) for place, item in enumerate(items)]


@pytest.mark.parametrize("neighbours", [ROW_LEVEL, REPLACED])
@pytest.mark.parametrize("delta", [1e-12, 1e-9, 1e-5, 1e-2])
@pytest.mark.parametrize(
    "items",
    [
        spends((0.3, 1)),
        spends((0.7, 30)),
        spends((1.14, 1)),
        spends((2.99, 4)),
        spends((3.0, 4)),
        spends((14.05, 15)),
        spends((4.0, 3), (9.0, 1)),
        spends((0.9, 4), (2.0, 3)),
    ],
)
def test_it_is_never_below_the_truth_and_hardly_above(items, delta, neighbours):
    found = recount_epsilon(items, delta, neighbours)
    assert exact_delta(items, found, neighbours) <= delta
    assert exact_delta(items, found * 0.998, neighbours) > delta


@pytest.mark.parametrize("neighbours", [ROW_LEVEL, REPLACED, USERS])
@pytest.mark.parametrize(
    "items",
    [
        spends((14.05, 15)),
        spends((1.9, 15), (30.0, 1)),
        spends((0.6, 3), (0.8, 1)),
        spends((100.0, 1000), (19_000.0, 1)),
        spends((5199.0, 15), (19_000.0, 1)),
        spends((14.0, 15), (20.0, 1), (25.0, 8), (60.0, 2), (61.0, 1)),
    ],
)
@pytest.mark.parametrize("delta", [1e-11, 1e-6])
def test_it_agrees_with_the_accountant_of_the_certificate(items, delta, neighbours):
    certified = compose_epsilon(items, delta, neighbours)
    found = recount_epsilon(items, delta, neighbours)
    assert 0.995 * certified <= found <= 1.0005 * certified


@pytest.mark.parametrize("neighbours", [ROW_LEVEL, REPLACED, USERS])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
def test_one_percent_less_noise_than_was_calibrated_is_seen(epsilon, neighbours):
    sigma = calibrate_sigma(epsilon, 1e-6, 15, neighbours)
    assert recount_epsilon(spends((sigma, 15)), 1e-6, neighbours) <= 1.0005 * epsilon
    assert recount_epsilon(spends((0.99 * sigma, 15)), 1e-6, neighbours) > 1.008 * epsilon


@pytest.mark.parametrize("draws", [1, 2, 3, 7, 64, 1001])
def test_a_sum_of_smooth_noise_is_a_discrete_gaussian(draws):
    added = module._convolve_noise(3.0, draws)
    direct = module._compute_gaussian_masses(3.0 * math.sqrt(draws))
    spare = (len(direct) - len(added)) // 2
    direct = direct[spare : len(direct) - spare] if spare > 0 else direct
    assert np.abs(added - direct).sum() < 1e-12


def test_a_sum_of_rough_noise_is_not():
    added = module._convolve_noise(0.4, 4)
    direct = module._compute_gaussian_masses(0.8)
    assert np.abs(added - direct).sum() > 0.01


def test_many_terms_and_the_continuous_bound_of_them_meet():
    below, above = (module._DENSE * factor / math.sqrt(15) for factor in (0.99999, 1.00001))
    one, other = (recount_epsilon(spends((sigma, 15)), 1e-6) for sigma in (below, above))
    assert other == pytest.approx(one, rel=2e-4)
    assert other >= one * (1 - 2e-5)


def test_a_continuous_gaussian_and_one_is_above_the_discrete_one():
    sigma = 5.0
    terms = module._compute_gaussian_masses(sigma)
    values = np.arange(len(terms)) - len(terms) // 2
    above = 1 - np.cumsum(terms)
    assert (above <= stats.norm.sf((values - 1) / sigma) + 1e-15).all()
    assert not (above <= stats.norm.sf((values + 1) / sigma) + 1e-15).all()


@pytest.mark.parametrize(("width", "step"), [(1.0, 0.3), (0.37, 0.05), (3.0, 0.7), (0.2, 0.011)])
def test_a_selection_on_a_coarse_grid_is_never_below_the_truth(width, step):
    masses = module._discretize_choice(width, step)
    places = np.flatnonzero(masses)
    losses = module._compute_choice_mean(width) + step * (places - len(masses) // 2)
    epsilons = np.linspace(-1.2 * width, 1.2 * width, 2001)
    counted = [
        module._compute_hockey_stick(losses, masses[places], epsilon) for epsilon in epsilons
    ]
    assert (counted >= compute_divergences(epsilons, width) - 1e-12).all()


def test_a_spend_split_in_two_costs_the_same():
    whole = recount_epsilon(spends((6.0, 10)), 1e-6)
    assert recount_epsilon(spends((6.0, 4), (6.0, 6)), 1e-6) == whole
    assert recount_epsilon(spends((6.0, 4), (6.000001, 6)), 1e-6) == pytest.approx(whole, rel=1e-4)


def test_the_closed_form_of_users_is_the_hockey_stick_of_two_gaussians():
    mu, epsilon = 1.3, 2.0
    over = integrate.quad(
        lambda x: max(0.0, stats.norm.pdf(x - mu) - math.exp(epsilon) * stats.norm.pdf(x)),
        epsilon / mu + mu / 2,
        30,
    )[0]
    assert module._compute_gaussian_delta(mu, epsilon) == pytest.approx(over, rel=1e-6)


def test_users_with_one_row_pay_hardly_more_than_rows():
    users = recount_epsilon(spends((10.0, 15)), 1e-6, NeighboringRelation(max_rows=1))
    assert users == pytest.approx(recount_epsilon(spends((10.0, 15)), 1e-6), rel=2e-3)


@pytest.mark.parametrize("neighbours", [ROW_LEVEL, REPLACED, USERS])
def test_sampling_error_and_probabilities_are_parts_of_delta(neighbours):
    plain, delta = spends((10.0, 15)), 1e-6
    telling = [Spend("values", 10.0, 15, delta_share=1e-9)]
    left = delta - 15 * neighbours.cells * 1e-9 - 3e-7
    found = recount_epsilon(telling, delta, neighbours, sampling_delta=3e-7)
    assert found == pytest.approx(recount_epsilon(plain, left, neighbours), rel=1e-9)
    assert found > recount_epsilon(plain, delta, neighbours)


def test_an_empty_list_of_spends_and_strong_noise_cost_nothing():
    assert recount_epsilon([], 1e-6) == 0
    assert recount_epsilon(spends((1e3, 1)), 0.01) == 0
    assert recount_epsilon(spends((1e3, 1)), 0.01, USERS) == 0


@pytest.mark.parametrize(
    ("items", "delta", "neighbours", "said"),
    [
        (spends((10.0, 1)), 1e-13, ROW_LEVEL, "delta="),
        (spends((10.0, 1)), 1.5, ROW_LEVEL, "delta="),
        (spends((10.0, 1)), math.nan, ROW_LEVEL, "delta="),
        ([Spend("values", 10.0, 10, delta_share=1e-7)], 1e-6, ROW_LEVEL, "delta="),
        (spends((1e-5, 1)), 1e-6, ROW_LEVEL, "sigma="),
        (spends((1e300, 1)), 1e-6, ROW_LEVEL, "sigma="),
        (spends((1e-300, 1)), 1e-6, ROW_LEVEL, "sigma="),
        (spends((10.0, 10**400)), 1e-6, ROW_LEVEL, "times"),
        (spends((0.01, 10**9)), 1e-6, ROW_LEVEL, "so little noise"),
        (spends((2.0, 10**6)), 1e-6, ROW_LEVEL, "times"),
        (spends((0.4, 1)), 1e-6, USERS, "sigma=0.4"),
        (spends(*((10.0 + place, 1) for place in range(300))), 1e-6, ROW_LEVEL, "different sigmas"),
    ],
)
def test_what_no_run_could_have_charged_is_refused_in_words(items, delta, neighbours, said):
    with pytest.raises(ParameterError, match=said):
        recount_epsilon(items, delta, neighbours)


@pytest.mark.parametrize("item", [(1e12, 1), (1e9, 10**15), (3.0, 10**6)])
def test_numbers_beyond_any_run_take_no_time(item):
    assert recount_epsilon(spends(item), 1e-6) >= 0


def test_it_needs_no_library_of_accounting():
    code = (
        "import sys; sys.modules['dp_accounting'] = None\n"
        "from tabpe.accounting import Spend\n"
        "from tabpe.accounting.recount import recount_epsilon\n"
        "print(recount_epsilon([Spend('votes', 14.05, 15)], 1.5754e-5))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert float(run.stdout) == pytest.approx(1.0, abs=1e-3)
