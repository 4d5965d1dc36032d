"""Bounds of exponentials and cumulative probabilities, against decimals of 150 digits."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enclosed import SCALE, cumulative, exponential
from tabpe.accounting import enclosures as module
from tabpe.accounting.enclosures import enclose_cumulative, enclose_exponential

TINY = Fraction(1, 10**140)
each_bits = pytest.mark.parametrize("bits", [1, 8, 64, 200])


@given(
    numerator=st.integers(0, 10**30),
    denominator=st.integers(1, 10**30),
    bits=st.integers(0, 300),
)
@settings(deadline=None, max_examples=200)
def test_an_exponential_lies_between_its_bounds_and_they_are_close(numerator, denominator, bits):
    numerator %= 400 * denominator
    lower, upper = enclose_exponential(numerator, denominator, bits)
    exact = exponential(numerator, denominator) * 2**bits
    assert lower - TINY * 2**bits <= exact <= upper + TINY * 2**bits
    assert upper - lower <= 2


@pytest.mark.parametrize(
    ("numerator", "denominator"), [(0, 1), (10**400, 1), (1, 10**400), (64, 1)]
)
def test_extreme_exponents_are_enclosed(numerator, denominator):
    lower, upper = enclose_exponential(numerator, denominator, 64)
    assert 0 <= lower <= upper <= lower + 2
    assert (lower <= 2**64 <= upper) == (numerator * 2**70 < denominator)


@pytest.mark.parametrize("sigma", [0.05, 0.6, 1.904, 14.0587])
@pytest.mark.parametrize("halve_zero", [True, False])
@each_bits
def test_cumulative_probabilities_lie_between_their_bounds(sigma, halve_zero, bits):
    lower, upper = enclose_cumulative(sigma, bits, halve_zero=halve_zero)
    exact = cumulative(sigma, halve_zero=halve_zero)
    slack = SCALE >> 340
    for low, right, high in zip(lower, exact, upper, strict=False):
        assert low * SCALE - (slack << bits) <= right << bits <= high * SCALE + (slack << bits)
        assert 0 <= high - low <= 2
    assert 2**bits - lower[-1] <= 2  # what is beyond


@pytest.mark.parametrize("sigma", [5e-324, 1e-300, 1e-3])
def test_a_tiny_sigma_leaves_almost_all_to_zero(sigma):
    assert enclose_cumulative(sigma, 64, halve_zero=True) == ((2**64 - 1,), (2**64,))


@pytest.mark.parametrize("sigma", [63.999, 127.9])
def test_bounds_stay_close_for_the_largest_sigma_of_a_table(sigma):
    for bits in (64, 128):
        lower, upper = enclose_cumulative(sigma, bits, halve_zero=False)
        assert max(high - low for low, high in zip(lower, upper, strict=True)) <= 2
        assert list(lower) == sorted(lower)
        assert list(upper) == sorted(upper)


@pytest.mark.parametrize("precision", range(1, 30))
def test_a_short_series_is_enclosed_with_the_terms_that_it_leaves_out(precision):
    for numerator in range(17):
        lower, upper = module._sum_series(numerator, 32, precision)
        exact = exponential(numerator, 32) * 2**precision
        assert lower - TINY <= exact <= upper + TINY
