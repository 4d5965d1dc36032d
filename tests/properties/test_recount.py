"""The second accountant is an upper bound, whatever the spends, and a close one."""

import math

from hypothesis import given, settings
from hypothesis import strategies as st

from exact_losses import exact_delta
from tabpe.accounting import (
    ROW_LEVEL,
    Adjacency,
    NeighboringRelation,
    Spend,
    calibrate_sigma,
    compose_epsilon,
)
from tabpe.accounting.recount import recount_epsilon

REPLACED = NeighboringRelation(Adjacency.REPLACE_ONE)
sigmas = st.floats(math.log(0.3), math.log(8)).map(math.exp)
items = st.builds(Spend, st.just("votes"), sigmas, st.integers(1, 4))
all_spends = st.lists(items, min_size=1, max_size=2)
deltas = st.floats(-12, -2).map(lambda power: 10**power)
rows = st.sampled_from([ROW_LEVEL, REPLACED])


@given(spends=all_spends, delta=deltas, neighbours=rows)
@settings(deadline=None, max_examples=25)
def test_the_true_delta_at_the_recounted_epsilon_is_within_the_guarantee(spends, delta, neighbours):
    found = recount_epsilon(spends, delta, neighbours)
    assert exact_delta(spends, found, neighbours) <= delta


@given(
    spends=st.lists(
        st.builds(Spend, st.just("votes"), sigmas.map(lambda s: 3 * s), st.integers(1, 30)),
        min_size=1,
        max_size=4,
    ),
    delta=st.floats(-12, -4).map(lambda power: 10**power),
    neighbours=st.sampled_from([ROW_LEVEL, REPLACED, NeighboringRelation(max_rows=3)]),
)
@settings(deadline=None, max_examples=25)
def test_two_accountants_agree(spends, delta, neighbours):
    certified = compose_epsilon(spends, delta, neighbours)
    assert 0.995 * certified <= recount_epsilon(spends, delta, neighbours) <= 1.001 * certified


@given(
    epsilon=st.floats(math.log(0.05), math.log(12)).map(math.exp),
    delta=st.floats(-10, -3).map(lambda power: 10**power),
    rounds=st.integers(3, 40),
    neighbours=st.sampled_from([ROW_LEVEL, REPLACED, NeighboringRelation(max_rows=3)]),
)
@settings(deadline=None, max_examples=15)
def test_calibrated_noise_is_known_from_noise_that_is_one_percent_less(
    epsilon, delta, rounds, neighbours
):
    """What the tolerance of `tabpe verify` stands on."""
    sigma = max(calibrate_sigma(epsilon, delta, rounds, neighbours), 4 / math.sqrt(rounds))
    spends, less = ([Spend("votes", part * sigma, rounds)] for part in (1, 0.99))
    certified = compose_epsilon(spends, delta, neighbours)
    assert recount_epsilon(spends, delta, neighbours) <= 1.001 * certified
    assert recount_epsilon(less, delta, neighbours) > 1.004 * certified
