"""A plan keeps its promise by both accountants, however the budget is divided."""

import math

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tabpe.accounting import ROWS, Adjacency, BillItem, Neighbours, composed_epsilon
from tabpe.accounting.calibration import items_for
from tabpe.accounting.pld import gaussian_mu
from tabpe.accounting.recount import recounted_epsilon
from tabpe.evolution import Evolution


@given(
    rounds=st.integers(1, 60),
    votes=st.sampled_from([1, 4, 16]),
    tilt=st.floats(-4, 4),
    epsilon=st.floats(math.log(0.05), math.log(12)).map(math.exp),
    delta=st.floats(-10, -4).map(lambda power: 10**power),
    neighbours=st.sampled_from(
        [ROWS, Neighbours(Adjacency.REPLACE_ONE), Neighbours(Adjacency.REPLACE_ONE, max_rows=3)]
    ),
    spent=st.sampled_from([0.0, 0.02, 0.5]),
)
@settings(deadline=None, max_examples=20)
def test_tilted_votes_keep_the_promise_and_waste_little(
    rounds, votes, tilt, epsilon, delta, neighbours, spent
):
    """`spent` is the part of the budget that tables have taken before."""
    parts = Evolution(rounds=rounds, votes=votes, tilt=tilt).asked(5, 2).rest
    assert sum(part.times for part in parts) == rounds * votes
    mu = gaussian_mu(epsilon, delta) / math.sqrt(neighbours.squared_distance)
    least = min(math.sqrt(part.times / part.share) for part in parts) / mu
    assume(least > 1.1)
    besides = [BillItem("tables", math.sqrt(5 / spent) / mu, times=5)] if spent else []
    bill = [*besides, *items_for(parts, epsilon, delta, neighbours, besides)]
    certified = composed_epsilon(bill, delta, neighbours)
    assert 0.99 * epsilon <= certified <= epsilon
    assert 0.995 * certified <= recounted_epsilon(bill, delta, neighbours) <= 1.001 * certified
