"""Theorem 4 of the proofs: discrete noise on a fine grid is rounded continuous noise, almost."""

import math

import numpy as np
import pytest
from scipy.special import ndtr

from tabpe.accounting import Adjacency, NeighboringRelation, Spend, calibrate_sigma, compose_epsilon
from tabpe.accounting.neighboring import (
    FIXED_POINT,
    FIXED_POINT_SAMPLING_ERROR,
    SMALLEST_USER_SIGMA,
)
from tabpe.accounting.pld import compute_gaussian_delta
from tabpe.errors import ParameterError

BOUND = 0.0062


def distance(s):
    """Total variation of the discrete Gaussian and the rounded continuous one, summed directly."""
    steps = np.arange(-math.ceil(14 * s), math.ceil(14 * s) + 1)
    discrete = np.exp(-(steps**2) / (2 * s**2))
    spread = math.sqrt(s**2 - 1 / 12)
    above, below = -np.abs(steps) + 0.5, -np.abs(steps) - 0.5
    rounded = ndtr(above / spread) - ndtr(below / spread)
    return float(np.abs(discrete / discrete.sum() - rounded).sum() / 2)


@pytest.mark.parametrize("s", [1.5, 2.0, 3.0, 5.0, 8.0, 13.0])
def test_the_distance_falls_with_the_fourth_power_of_the_grid_and_is_within_the_bound(s):
    assert BOUND / 20 < distance(s) * s**4 < BOUND


def test_without_a_twelfth_less_of_variance_it_would_not():
    s = 8.0
    steps = np.arange(-200, 201)
    discrete = np.exp(-(steps**2) / (2 * s**2))
    rounded = ndtr((steps + 0.5) / s) - ndtr((steps - 0.5) / s)
    assert np.abs(discrete / discrete.sum() - rounded).sum() / 2 * s**4 > 10 * BOUND


def test_the_sampling_error_that_is_charged_covers_the_bound():
    assert BOUND / (SMALLEST_USER_SIGMA * FIXED_POINT) ** 4 < FIXED_POINT_SAMPLING_ERROR


@pytest.mark.parametrize("adjacency", Adjacency)
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 10.0])
def test_the_list_of_spends_of_users_is_that_of_one_gaussian_mechanism(epsilon, adjacency):
    users = NeighboringRelation(adjacency, max_rows=7)
    counts = Spend("class counts", 40.0, 1)
    sigma = calibrate_sigma(epsilon, 1e-6, 15, users, other_spends=[counts])
    spends = [counts, Spend("votes", sigma, 15)]
    mu = math.sqrt(users.squared_distance * (1 / 40.0**2 + 15 / sigma**2))
    assert compose_epsilon(spends, 1e-6, users) <= epsilon
    assert compute_gaussian_delta(mu, epsilon) <= 1e-6
    assert compute_gaussian_delta(mu, 0.995 * epsilon) > 1e-6


def test_too_little_noise_for_the_grid_is_refused():
    with pytest.raises(ParameterError, match="smaller epsilon"):
        calibrate_sigma(200.0, 1e-6, 1, NeighboringRelation(max_rows=2))
