"""The certified epsilon is never above the request, and hardly below."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tabpe.privacy import Adjacency, BillItem, calibrate, composed_epsilon, epsilon_of
from tabpe.privacy.accounting import gaussian_mu

logarithmic = st.floats(math.log(0.05), math.log(12)).map(math.exp)
deltas = st.floats(-9, -2).map(lambda power: 10**power)
small_deltas = st.floats(-9, -5).map(lambda power: 10**power)
mus = st.floats(0.2, 3)  # the Gaussian-DP parameter of the whole bill


@given(
    epsilon=logarithmic,
    delta=deltas,
    rounds=st.integers(1, 60),
    adjacency=st.sampled_from(Adjacency),
    spent=st.sampled_from([0.0, 0.02, 0.5]),
)
@settings(deadline=None, max_examples=25)
def test_calibrated_noise_keeps_the_promise_and_wastes_little(
    epsilon, delta, rounds, adjacency, spent
):
    """`spent` is the part of the budget that another item has taken before."""
    besides = []
    if spent:
        sigma = math.sqrt(adjacency.cells / spent) / gaussian_mu(epsilon, delta)
        besides = [BillItem("class counts", sigma, times=1)]
    sigma = calibrate(epsilon, delta, rounds, adjacency, besides=besides)
    certified = epsilon_of(sigma, delta, rounds, adjacency, besides=besides)
    assert certified <= epsilon
    # Below that the losses of discrete noise lie on a coarse grid, and so do the epsilons.
    if sigma >= 1:
        assert certified >= 0.99 * epsilon


@given(mu=mus, rounds=st.integers(1, 20), delta=small_deltas, factor=st.floats(1.02, 3))
@settings(deadline=None, max_examples=10)
def test_more_noise_never_costs_more(mu, rounds, delta, factor):
    """But for little noise in few rounds, see the unit tests."""
    sigma = max(4 / math.sqrt(rounds), math.sqrt(rounds) / mu)
    assert epsilon_of(sigma * factor, delta, rounds) <= epsilon_of(sigma, delta, rounds)


@given(mu=mus, rounds=st.integers(1, 20), delta=small_deltas)
@settings(deadline=None, max_examples=10)
def test_replace_one_costs_as_much_as_every_histogram_twice(mu, rounds, delta):
    sigma = math.sqrt(rounds) / mu
    once = composed_epsilon([BillItem("votes", sigma, rounds)], delta, Adjacency.REPLACE_ONE)
    twice = composed_epsilon([BillItem("votes", sigma, 2 * rounds)], delta)
    assert once == pytest.approx(twice, rel=1e-9)
