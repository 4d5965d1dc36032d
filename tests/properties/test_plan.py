"""A plan keeps its guarantee by both accountants, however the budget is divided."""

import math

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tabpe.accounting import ROW_LEVEL, Adjacency, NeighboringRelation, Spend, compose_epsilon
from tabpe.accounting.calibration import calibrate_spends
from tabpe.accounting.pld import solve_gaussian_mu
from tabpe.accounting.recount import recount_epsilon
from tabpe.evolution import Evolution


@given(
    rounds=st.integers(1, 60),
    votes=st.sampled_from([1, 4, 16]),
    tilt=st.floats(-4, 4),
    epsilon=st.floats(math.log(0.05), math.log(12)).map(math.exp),
    delta=st.floats(-10, -4).map(lambda power: 10**power),
    neighbours=st.sampled_from(
        [
            ROW_LEVEL,
            NeighboringRelation(Adjacency.REPLACE_ONE),
            NeighboringRelation(Adjacency.REPLACE_ONE, max_rows=3),
        ]
    ),
    spent=st.sampled_from([0.0, 0.02, 0.5]),
)
@settings(deadline=None, max_examples=20)
def test_tilted_votes_keep_the_guarantee_and_waste_little(
    rounds, votes, tilt, epsilon, delta, neighbours, spent
):
    """`spent` is the part of the budget that tables have taken before."""
    parts = Evolution(rounds=rounds, votes=votes, tilt=tilt).plan_queries(5, 2).rest
    assert sum(part.times for part in parts) == rounds * votes
    mu = solve_gaussian_mu(epsilon, delta) / math.sqrt(neighbours.squared_distance)
    least = min(math.sqrt(part.times / part.share) for part in parts) / mu
    assume(least > 1.1)
    besides = [Spend("tables", math.sqrt(5 / spent) / mu, times=5)] if spent else []
    spends = [*besides, *calibrate_spends(parts, epsilon, delta, neighbours, besides)]
    certified = compose_epsilon(spends, delta, neighbours)
    assert 0.99 * epsilon <= certified <= epsilon
    assert 0.995 * certified <= recount_epsilon(spends, delta, neighbours) <= 1.001 * certified
