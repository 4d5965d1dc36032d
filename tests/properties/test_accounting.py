"""The certified epsilon is never above the request, and hardly below."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

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
from tabpe.accounting.pld import solve_gaussian_mu

REPLACED = NeighboringRelation(Adjacency.REPLACE_ONE)
logarithmic = st.floats(math.log(0.05), math.log(12)).map(math.exp)
deltas = st.floats(-9, -2).map(lambda power: 10**power)
small_deltas = st.floats(-9, -5).map(lambda power: 10**power)
mus = st.floats(0.2, 3)  # the Gaussian-DP parameter of all spends


@given(
    epsilon=logarithmic,
    delta=deltas,
    rounds=st.integers(1, 60),
    neighbours=st.sampled_from([ROW_LEVEL, REPLACED, NeighboringRelation(max_rows=3)]),
    spent=st.sampled_from([0.0, 0.02, 0.5]),
)
@settings(deadline=None, max_examples=25)
def test_calibrated_noise_keeps_the_guarantee_and_wastes_little(
    epsilon, delta, rounds, neighbours, spent
):
    """`spent` is the part of the budget that another item has taken before."""
    assume(
        not neighbours.is_user_level or math.sqrt(rounds) > 0.6 * solve_gaussian_mu(epsilon, delta)
    )
    besides = []
    if spent:
        sigma = math.sqrt(neighbours.squared_distance / spent) / solve_gaussian_mu(epsilon, delta)
        besides = [Spend("class counts", sigma, times=1)]
    sigma = calibrate_sigma(epsilon, delta, rounds, neighbours, other_spends=besides)
    certified = compute_epsilon(sigma, delta, rounds, neighbours, other_spends=besides)
    assert certified <= epsilon
    # Below that the losses of discrete noise lie on a coarse grid, and so do the epsilons.
    if sigma >= 1:
        assert certified >= 0.99 * epsilon


@given(mu=mus, rounds=st.integers(1, 20), delta=small_deltas, factor=st.floats(1.02, 3))
@settings(deadline=None, max_examples=10)
def test_more_noise_never_costs_more(mu, rounds, delta, factor):
    """But for little noise in few rounds, see the unit tests."""
    sigma = max(4 / math.sqrt(rounds), math.sqrt(rounds) / mu)
    assert compute_epsilon(sigma * factor, delta, rounds) <= compute_epsilon(sigma, delta, rounds)


@given(mu=mus, rounds=st.integers(1, 20), delta=small_deltas)
@settings(deadline=None, max_examples=10)
def test_replace_one_costs_as_much_as_every_histogram_twice(mu, rounds, delta):
    sigma = math.sqrt(rounds) / mu
    once = compose_epsilon([Spend("votes", sigma, rounds)], delta, REPLACED)
    twice = compose_epsilon([Spend("votes", sigma, 2 * rounds)], delta)
    assert once == pytest.approx(twice, rel=1e-9)


FOUND = np.arange(-16, 18)  # all of the noise that matters here, around 0 and around 1


@given(
    sigma=st.floats(0.7, 1.6),
    moves=st.lists(st.sampled_from([(0, 0), (1, 0), (-1, 0), (1, 1), (-1, 1), (1, -1)])),
    epsilon=st.floats(0, 3),
    data=st.data(),
)
@settings(deadline=None, max_examples=60)
def test_what_is_asked_may_follow_from_answers_where_all_noise_is_the_same(
    sigma, moves, epsilon, data
):
    """One cell first; then two votes, two tables, one of them or nothing, as the answer decides.

    Which way cells move, and whether they do, is decided for each answer by an enemy. The
    divergence of that is summed over all outcomes, and compared with three histograms.
    """
    choice = st.sampled_from([*moves, (1, 1)])
    chosen = [data.draw(choice) for _ in range(4)]
    with_row, without = (outcomes(sigma, chosen, present) for present in (1, 0))
    spends = [Spend("votes, or 1-way marginals", sigma, times=3)]
    most = exact_delta(spends, epsilon, ROW_LEVEL) + 1e-12
    for one, other in ((with_row, without), (without, with_row)):
        assert np.maximum(one - math.exp(epsilon) * other, 0).sum() <= most


def outcomes(sigma, chosen, present):
    """The chance of each answer and the two that follow; `chosen` says how the row moves these."""
    joint = np.empty((len(FOUND),) * 3)
    for place, (answer, chance) in enumerate(zip(FOUND, noise(sigma, present), strict=True)):
        first, second = (noise(sigma, move * present) for move in chosen[answer % len(chosen)])
        joint[place] = chance * np.multiply.outer(first, second)
    return joint


def noise(sigma, centre):
    chances = np.exp(-((FOUND - centre) ** 2) / (2 * sigma**2))
    return chances / np.exp(-((np.arange(-40, 41)) ** 2) / (2 * sigma**2)).sum()
