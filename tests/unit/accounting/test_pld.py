"""Calibration and accounting, against published numbers and an independent exact sum."""

import itertools
import math
import os
import subprocess
import sys

import numpy as np
import pytest

from exact_losses import exact_delta
from tabpe.accounting import (
    ROW_LEVEL,
    Adjacency,
    NeighboringRelation,
    Spend,
    calibrate_sigma,
    compose_epsilon,
    compute_epsilon,
)
from tabpe.accounting.pld import compute_gaussian_delta, solve_gaussian_mu
from tabpe.errors import BudgetError, ParameterError

DELTA = 1.5754e-5
REPLACED = NeighboringRelation(Adjacency.REPLACE_ONE)


@pytest.mark.parametrize(("epsilon", "exact"), [(0.1, 114.5535), (1.0, 14.0491), (10.0, 1.9038)])
def test_sigma_is_hardly_above_that_of_the_exact_discrete_mechanism(epsilon, exact):
    assert exact <= calibrate_sigma(epsilon, DELTA, rounds=15) <= 1.0005 * exact


@pytest.mark.parametrize(("epsilon", "sigma"), [(0.1, 115.3414), (1.0, 14.0587), (10.0, 1.9040)])
def test_sigma_is_not_above_that_of_the_published_table(epsilon, sigma):
    assert calibrate_sigma(epsilon, DELTA, rounds=15) <= 1.0005 * sigma


@pytest.mark.parametrize("delta", [1e-12, 1e-11, 1e-10])
@pytest.mark.parametrize(("sigma", "rounds"), [(0.7, 60), (1.5, 60), (0.9, 15), (14.0, 15)])
def test_floating_point_does_not_break_the_guarantee_at_a_tiny_delta(sigma, rounds, delta):
    spends = [Spend("votes", sigma, rounds)]
    certified = compose_epsilon(spends, delta)
    assert exact_delta(spends, certified, ROW_LEVEL) <= delta


@pytest.mark.parametrize("rounds", [1, 2, 15])
def test_an_epsilon_beyond_floating_point_is_kept_too(rounds):
    assert compute_epsilon(calibrate_sigma(1000.0, 1e-12, rounds), 1e-12, rounds) <= 1000.0


@pytest.mark.parametrize("neighbours", [ROW_LEVEL, REPLACED])
@pytest.mark.parametrize("rounds", [1, 2, 15])
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 8.0])
def test_the_true_delta_of_calibrated_noise_is_within_the_guarantee(epsilon, rounds, neighbours):
    sigma = calibrate_sigma(epsilon, 1e-5, rounds, neighbours)
    spends = [Spend("votes", sigma, rounds)]
    assert exact_delta(spends, epsilon, neighbours) <= 1e-5


@pytest.mark.parametrize("neighbours", [ROW_LEVEL, REPLACED])
@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_the_true_delta_of_two_spends_is_within_the_guarantee(epsilon, neighbours):
    counts = Spend("class counts", 8 / solve_gaussian_mu(epsilon, 1e-5), times=1)
    sigma = calibrate_sigma(epsilon, 1e-5, 3, neighbours, other_spends=[counts])
    assert exact_delta([counts, Spend("votes", sigma, 3)], epsilon, neighbours) <= 1e-5


@pytest.mark.parametrize("sigma", [0.5, 1.0, 3.7, 20.0])
@pytest.mark.parametrize("rounds", [1, 2])
def test_the_certified_epsilon_is_safe_and_hardly_wasteful(sigma, rounds):
    spends = [Spend("votes", sigma, rounds)]
    certified = compose_epsilon(spends, 1e-5)
    assert exact_delta(spends, certified, ROW_LEVEL) <= 1e-5
    assert exact_delta(spends, certified * 0.99, ROW_LEVEL) > 1e-5


def test_ten_percent_less_noise_breaks_the_guarantee():
    sigma = 0.9 * calibrate_sigma(1.0, 1e-5, rounds=15)
    assert compute_epsilon(sigma, 1e-5, rounds=15) > 1.0
    assert exact_delta([Spend("votes", sigma, 15)], 1.0, ROW_LEVEL) > 1e-5


@pytest.mark.parametrize(("asked", "paid"), [(1.0, 1.47), (5.0, 7.56), (10.0, 15.5)])
def test_noise_for_add_remove_keeps_a_weaker_guarantee_under_replace_one(asked, paid):
    sigma = calibrate_sigma(asked, DELTA, rounds=15)
    found = compute_epsilon(sigma, DELTA, rounds=15, neighbours=REPLACED)
    assert found == pytest.approx(paid, rel=0.005)


def test_replace_one_costs_what_twice_the_rounds_cost():
    assert compute_epsilon(9.0, 1e-6, 7, REPLACED) == compute_epsilon(9.0, 1e-6, 14)
    assert calibrate_sigma(1.0, 1e-6, 7, REPLACED) == pytest.approx(
        calibrate_sigma(1.0, 1e-6, 14), rel=1e-4
    )


def test_a_spend_split_in_two_costs_the_same():
    whole = compose_epsilon([Spend("votes", 6.0, 10)], 1e-6)
    parts = compose_epsilon([Spend("a", 6.0, 4), Spend("b", 6.0, 6)], 1e-6)
    assert parts == pytest.approx(whole, rel=1e-6)


def test_an_empty_list_of_spends_costs_nothing():
    assert compose_epsilon([], 1e-6) == 0.0


def test_another_spend_on_the_list_of_spends_takes_noise_from_the_votes():
    counts = Spend("class counts", 40.0, times=1)
    alone = calibrate_sigma(1.0, 1e-5, rounds=15)
    beside = calibrate_sigma(1.0, 1e-5, rounds=15, other_spends=[counts])
    assert beside > alone
    assert compute_epsilon(beside, 1e-5, 15, other_spends=[counts]) <= 1.0


def rises(values):
    return all(low < high for low, high in itertools.pairwise(values))


def test_sigma_rises_with_rounds_and_falls_with_epsilon_and_delta():
    assert rises([calibrate_sigma(1.0, 1e-5, rounds) for rounds in (5, 10, 20)])
    assert rises([calibrate_sigma(epsilon, 1e-5, 15) for epsilon in (2.0, 1.0, 0.5)])
    assert rises([calibrate_sigma(1.0, delta, 15) for delta in (1e-4, 1e-6, 1e-9)])


def test_epsilon_rises_with_rounds_and_falls_with_sigma_and_delta():
    assert rises([compute_epsilon(14.0, 1e-5, rounds) for rounds in (5, 10, 20)])
    assert rises([compute_epsilon(sigma, 1e-5, 15) for sigma in (28.0, 14.0, 7.0)])
    assert rises([compute_epsilon(14.0, delta, 15) for delta in (1e-4, 1e-6, 1e-9)])


def exact_epsilon(spends, delta):
    low, high = 0.0, 400.0
    while high - low > 1e-10:
        middle = (low + high) / 2
        over = exact_delta(spends, middle, ROW_LEVEL) > delta
        low, high = (middle, high) if over else (low, middle)
    return high


def scaled(shape, factor):
    return [Spend("votes", factor * sigma, times) for sigma, times in shape]


@pytest.mark.parametrize("delta", [1e-12, 1e-6])
@pytest.mark.parametrize("rounds", [1, 3, 15])
def test_enough_noise_protects_more_as_it_grows(rounds, delta):
    """What a delta that follows noisy counts stands on, and where it begins to hold.

    The losses of discrete noise lie 1 / sigma^2 apart. Where that is not small against their
    spread, sqrt(rounds) / sigma, a larger sigma can cost more: by 6% for one round at sigma 1.
    """
    sigmas = np.geomspace(4, 6, 40) / math.sqrt(rounds)
    assert rises([exact_epsilon(scaled([(1, rounds)], s), delta) for s in sigmas[::-1]])


def test_little_noise_may_protect_less_as_it_grows():
    more, less = (exact_epsilon(scaled([(1, 1)], sigma), 1e-9) for sigma in (1.16, 1.14))
    assert more > 1.001 * less


def test_calibration_is_repeatable():
    assert calibrate_sigma(0.7, 1e-6, 9) == calibrate_sigma(0.7, 1e-6, 9)


@pytest.mark.parametrize(
    ("mu", "epsilon", "delta"),
    [
        (1.0, 1.0, 0.126936737507),  # Phi(-1/2) - e Phi(-3/2), the curve of 1-GDP
        (1.0, 0.0, 0.382924922548),  # total variation: 2 Phi(1/2) - 1
        (2.0, 0.0, 0.682689492137),  # 2 Phi(1) - 1
    ],
)
def test_the_analytic_curve_goes_through_known_points(mu, epsilon, delta):
    assert compute_gaussian_delta(mu, epsilon) == pytest.approx(delta, rel=1e-9)


@pytest.mark.parametrize("delta", [1e-12, 1e-6, 1e-2])
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 30.0])
def test_the_analytic_inverse_agrees(epsilon, delta):
    mu = solve_gaussian_mu(epsilon, delta)
    assert compute_gaussian_delta(mu, epsilon) == pytest.approx(delta, rel=1e-6)


def test_the_analytic_sigma_is_that_of_the_published_table():
    for epsilon, sigma in [(0.1, 114.5535), (1.0, 14.0493), (10.0, 1.9031)]:
        assert math.sqrt(15) / solve_gaussian_mu(epsilon, DELTA) == pytest.approx(sigma, rel=1e-5)


def test_strong_noise_needs_no_epsilon_at_a_large_delta():
    assert compute_epsilon(1e3, 0.01, rounds=1) == 0.0


@pytest.mark.parametrize("epsilon", [0, 0.0, -1, math.inf, -math.inf, math.nan, True, "1", None])
def test_epsilon_must_be_a_finite_number_above_zero(epsilon):
    with pytest.raises(ParameterError, match=r"epsilon="):
        calibrate_sigma(epsilon, 1e-5, 15)


@pytest.mark.parametrize("delta", [0, 0.0, -1e-6, 1, 1.0, 2, math.inf, math.nan, True, "1e-5"])
def test_delta_must_lie_between_zero_and_one(delta):
    with pytest.raises(ParameterError, match=r"delta="):
        calibrate_sigma(1.0, delta, 15)
    with pytest.raises(ParameterError, match=r"delta="):
        compute_epsilon(14.0, delta, 15)


@pytest.mark.parametrize("delta", [1e-13, 1e-300])
def test_a_delta_beyond_the_precision_of_the_accountant_is_refused(delta):
    with pytest.raises(ParameterError, match="at least 1e-12"):
        calibrate_sigma(1.0, delta, 15)


@pytest.mark.parametrize("rounds", [0, -1, 1.5, True, "15", None])
def test_rounds_must_be_a_whole_number_above_zero(rounds):
    with pytest.raises(ParameterError):
        calibrate_sigma(1.0, 1e-5, rounds)


@pytest.mark.parametrize("sigma", [0, -1.0, math.inf, math.nan, "14"])
def test_sigma_must_be_a_finite_number_above_zero(sigma):
    with pytest.raises(ParameterError, match="sigma="):
        compute_epsilon(sigma, 1e-5, 15)


def test_a_list_of_spends_that_leaves_nothing_is_refused_with_exit_code_3():
    with pytest.raises(BudgetError) as caught:
        calibrate_sigma(1.0, 1e-5, 15, other_spends=[Spend("class counts", 0.5, times=1)])
    assert caught.value.exit_code == 3


@pytest.mark.parametrize("epsilon", [1e-5, 1e-9, 1e-12, 1e-300])
def test_an_epsilon_too_small_for_any_table_is_refused_in_words(epsilon):
    with pytest.raises(ParameterError, match="epsilon="):
        calibrate_sigma(epsilon, 1e-12, 15)


@pytest.mark.parametrize("epsilon", [1e12, 1e300])
def test_an_epsilon_too_large_to_mean_anything_is_refused_in_words(epsilon):
    with pytest.raises(ParameterError, match="epsilon="):
        calibrate_sigma(epsilon, 1e-6, 15)


@pytest.mark.parametrize(
    "call", ["calibrate_sigma(0.001, 0.9, 15)", "compute_epsilon(100, 0.02, 15)"]
)
def test_a_large_delta_fits_into_modest_memory(call):
    resource = pytest.importorskip("resource")
    most = 2 * 2**30
    done = subprocess.run(
        [sys.executable, "-c", f"from tabpe.accounting import *; print({call})"],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (most, most)),
    )
    assert done.returncode == 0, done.stderr[-500:]
    assert float(done.stdout) >= 0


@pytest.mark.parametrize(
    "neighbours",
    [
        ROW_LEVEL,
        REPLACED,
        NeighboringRelation(max_rows=3),
        NeighboringRelation(Adjacency.REPLACE_ONE, 3),
    ],
)
def test_the_probability_to_tell_a_rare_value_comes_off_delta_for_every_time_and_cell(neighbours):
    told = Spend("categories", 40.0, 4, delta_share=1e-8)
    silent = Spend("categories", 40.0, 4)
    left = 1e-6 - 4 * neighbours.cells * 1e-8
    found = compose_epsilon([told], 1e-6, neighbours)
    assert found == pytest.approx(compose_epsilon([silent], left, neighbours), rel=1e-9)
    assert found > compose_epsilon([silent], 1e-6, neighbours)


def test_calibration_leaves_room_for_the_probability_to_tell_a_rare_value():
    told = Spend("categories", 40.0, 4, delta_share=1e-7)
    silent = Spend("categories", 40.0, 4)
    sigma = calibrate_sigma(1.0, 1e-6, 15, other_spends=[told])
    assert sigma > calibrate_sigma(1.0, 1e-6, 15, other_spends=[silent])
    assert compose_epsilon([silent, Spend("votes", sigma, 15)], 6e-7) <= 1.0


def test_a_probability_that_takes_all_of_delta_is_refused():
    with pytest.raises(ParameterError, match="larger delta"):
        compose_epsilon([Spend("categories", 40.0, 100, delta_share=1e-8)], 1e-6)
