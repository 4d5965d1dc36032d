"""What noise hardly ever exceeds."""

import numpy as np

from tabpe.accounting import ExactNoise
from tabpe.schema_inference.bounds import ERROR_PROBABILITY, compute_noise_threshold


def exceeded(above, cells=20, times=20_000, sigma=10.0):
    drawn = ExactNoise().draw(times * cells, sigma).reshape(times, cells)
    return int((drawn > above).any(axis=1).sum())


def test_noise_exceeds_it_about_as_seldom_as_it_says():
    """20 are expected, and more than 60 have a probability below 1e-11."""
    assert exceeded(compute_noise_threshold(10.0, 20)) <= 60


def test_a_lower_threshold_is_noticed():
    assert exceeded(0.75 * compute_noise_threshold(10.0, 20)) > 60


def test_it_grows_with_noise_and_cells():
    assert compute_noise_threshold(20.0, 50) == 2 * compute_noise_threshold(10.0, 50)
    assert compute_noise_threshold(10.0, 200) > compute_noise_threshold(10.0, 50) > 0
    assert np.isclose(ERROR_PROBABILITY, 1e-3)
