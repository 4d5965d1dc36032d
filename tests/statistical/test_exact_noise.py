"""Exact noise and exact choices follow their distributions, whatever decides them.

Small sigmas get the chi-square test of `conftest`, also with tables of 8 bits, where a tenth of the
draws and more are decided by integers of any length, and in blocks of 8, where a fifth of the
proposals is rejected. Large sigmas get a test of Kolmogorov's kind: the distance D of n draws from
the distribution function exceeds t with probability at most 2 exp(-2 n t^2) (Dvoretzky, Kiefer,
Wolfowitz and Massart). With t for 1e-8, a scale 10% off is missed with probability below 1e-40. The
distribution function at k is that of a normal at k + 1/2, within 1 / (24 sigma^2) < 1e-6.

20 tests of noise that is right alarm with probability 1e-8 each: fewer than one run in 5 million.
"""

import math
import os

import numpy as np
import pytest
from scipy import stats

from tabpe.accounting import OpenDPNoise
from tabpe.accounting.exact_noise import ExactNoise, Precision, draw_discrete_gaussian

ALARM = 1e-8
SHORT = Precision(3, 8, 8)
BLOCKS = Precision(direct_bits=1)
SHORT_BLOCKS = Precision(3, 8, 8, 1)
LARGE = [200.5, 230_000.0, 2.0**14 * 30, 1e7, 1e12]
DRAWS = 200_000
each_large = pytest.mark.parametrize("sigma", LARGE)
each_way = pytest.mark.parametrize(
    ("precision", "sigma"),
    [(SHORT, 0.6), (SHORT, 14.0587), (BLOCKS, 2.3), (BLOCKS, 14.0587), (SHORT_BLOCKS, 14.0587)],
)
SCORES = np.array([0, -3, 2, 2, 5, -40, 7, 1])


def draw(fit, sigma, precision):
    return draw_discrete_gaussian(fit.draws, sigma, os.urandom, precision)


@each_way
def test_every_way_of_deciding_gives_the_discrete_gaussian(fit, precision, sigma):
    assert fit.accepts(draw(fit, sigma, precision), sigma)


@each_way
@pytest.mark.parametrize("factor", [0.9, 1.1])
def test_every_way_of_deciding_shows_a_scale_ten_percent_off(fit, precision, sigma, factor):
    assert not fit.accepts(draw(fit, sigma * factor, precision), sigma)


def distance(drawn, sigma):
    places, counts = np.unique(drawn, return_counts=True)
    upto = np.cumsum(counts) / len(drawn)
    exact = stats.norm.cdf((places + 0.5) / sigma)
    before = stats.norm.cdf((places - 0.5) / sigma)
    return max(np.abs(upto - exact).max(), np.abs(upto - counts / len(drawn) - before).max())


LIMIT = math.sqrt(math.log(2 / ALARM) / (2 * DRAWS))


@each_large
def test_noise_of_a_large_sigma_has_the_right_distribution_function(sigma):
    assert distance(ExactNoise().draw(DRAWS, sigma), sigma) < LIMIT


@pytest.mark.parametrize("factor", [0.9, 1.1])
def test_a_large_sigma_ten_percent_off_is_rejected(factor):
    drawn = ExactNoise().draw(DRAWS, 230_000.0 * factor)
    assert distance(drawn, 230_000.0) > LIMIT
    apart = np.abs(
        np.diff([stats.norm.cdf([0.5, 1, 1.5]), stats.norm.cdf([0.55, 1.1, 1.65])], axis=0)
    )
    assert 2 * math.exp(-2 * DRAWS * (apart.max() - LIMIT) ** 2) < 1e-40


@each_large
def test_the_last_digits_of_a_large_sigma_are_uniform(sigma):
    """Within a block all integers are nearly alike; mod 16 they are so within 1e-100."""
    counts = np.bincount(ExactNoise().draw(DRAWS, sigma) % 16, minlength=16)
    assert stats.chisquare(counts).pvalue > ALARM


def test_a_digit_that_is_too_frequent_by_a_tenth_is_seen():
    drawn = ExactNoise().draw(DRAWS, 1e7) % 16
    drawn[(drawn == 1) & (np.arange(DRAWS) % 10 == 0)] = 0
    assert stats.chisquare(np.bincount(drawn, minlength=16)).pvalue < ALARM


def test_zero_is_not_twice_as_frequent_in_blocks():
    """Both signs propose it."""
    zeros = (ExactNoise().draw(10 * DRAWS, 130.0) == 0).sum()
    chance = 1 / math.sqrt(2 * math.pi * 130.0**2)
    assert stats.binomtest(zeros, 10 * DRAWS, chance).pvalue > ALARM
    assert (
        stats.binom.cdf(stats.binom.isf(ALARM / 2, 10 * DRAWS, chance), 10 * DRAWS, 2 * chance)
        < ALARM
    )


def test_opendp_and_exact_noise_draw_alike_for_users(fit):
    sigma, source = 14.0587 * 2**14, OpenDPNoise()
    drawn, theirs = ExactNoise().draw(2 * fit.draws, sigma), source.draw(2 * fit.draws, sigma)
    edges = stats.norm.ppf(np.arange(1, 12) / 12) * sigma
    found = [np.bincount(np.searchsorted(edges, one), minlength=12) for one in (drawn, theirs)]
    assert stats.chi2_contingency(found).pvalue > ALARM


def choose(scale, times=6000):
    noise = ExactNoise()
    found = [noise.choose(SCORES, scale) for _ in range(times)]
    return np.bincount(found, minlength=len(SCORES))


def fits(counts, scale):
    """A chi-square test; options that expect below 300 count with the least of the others."""
    weights = np.exp(SCORES / scale)
    expected = weights / weights.sum() * counts.sum()
    order = np.argsort(-expected)
    bins = np.minimum(np.arange(len(order)), (expected >= 300).sum() - 1)
    found, right = (np.bincount(bins, one[order]) for one in (counts, expected))
    return stats.chisquare(found, right).pvalue > ALARM


@pytest.mark.parametrize("scale", [0.9, 4.0, 1000.0])
def test_choices_have_the_probabilities_of_the_exponential_mechanism(scale):
    assert fits(choose(scale), scale)


@pytest.mark.parametrize("factor", [0.7, 1.4])
def test_choices_of_another_scale_are_rejected(factor):
    assert not fits(choose(4.0 * factor), 4.0)
