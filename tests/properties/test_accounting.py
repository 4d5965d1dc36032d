"""The certified epsilon is never above the request, and hardly below."""

import math

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tabpe.privacy import (
    ROWS,
    Adjacency,
    BillItem,
    Neighbours,
    calibrate,
    composed_epsilon,
    epsilon_of,
)
from tabpe.privacy.accounting import gaussian_mu

REPLACED = Neighbours(Adjacency.REPLACE_ONE)
logarithmic = st.floats(math.log(0.05), math.log(12)).map(math.exp)
deltas = st.floats(-9, -2).map(lambda power: 10**power)
small_deltas = st.floats(-9, -5).map(lambda power: 10**power)
mus = st.floats(0.2, 3)  # the Gaussian-DP parameter of the whole bill


@given(
    epsilon=logarithmic,
    delta=deltas,
    rounds=st.integers(1, 60),
    neighbours=st.sampled_from([ROWS, REPLACED, Neighbours(max_rows=3)]),
    spent=st.sampled_from([0.0, 0.02, 0.5]),
)
@settings(deadline=None, max_examples=25)
def test_calibrated_noise_keeps_the_promise_and_wastes_little(
    epsilon, delta, rounds, neighbours, spent
):
    """`spent` is the part of the budget that another item has taken before."""
    assume(not neighbours.of_users or math.sqrt(rounds) > 0.6 * gaussian_mu(epsilon, delta))
    besides = []
    if spent:
        sigma = math.sqrt(neighbours.squared_distance / spent) / gaussian_mu(epsilon, delta)
        besides = [BillItem("class counts", sigma, times=1)]
    sigma = calibrate(epsilon, delta, rounds, neighbours, besides=besides)
    certified = epsilon_of(sigma, delta, rounds, neighbours, besides=besides)
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
    once = composed_epsilon([BillItem("votes", sigma, rounds)], delta, REPLACED)
    twice = composed_epsilon([BillItem("votes", sigma, 2 * rounds)], delta)
    assert once == pytest.approx(twice, rel=1e-9)
