"""The least cost must be that of POT, whichever way it is found."""

from __future__ import annotations

import numpy as np
import ot
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist
from scipy.stats import wasserstein_distance

from tabpe.errors import TabpeError
from tabpe.evaluation.metrics import distances as module
from tabpe.evaluation.metrics.distances import compute_line_cost, compute_surplus, solve_transport
from tabpe.evaluation.table_arrays import IntegerCodes


def masses(rng, places, units):
    cuts = np.sort(rng.choice(np.arange(1, units), places - 1, replace=False))
    return np.diff(np.concatenate([[0], cuts, [units]]))


@pytest.mark.parametrize("places", [(1, 1), (1, 9), (9, 1), (30, 40), (40, 30)])
@pytest.mark.parametrize("units", [41, 400, 5000, 10**6])
def test_the_cost_is_that_of_pot(places, units):
    rng = np.random.default_rng(units)
    costs = rng.random(places)
    supply, demand = (masses(rng, count, units) for count in places)
    direct = ot.emd2(supply / units, demand / units, costs)
    assert solve_transport(costs, supply, demand) / units == pytest.approx(direct, abs=1e-9)


@pytest.mark.parametrize("scale", [1e-300, 1e-9, 1.0, 1e12, 1e300])
@pytest.mark.parametrize("shape", ["even", "outliers", "mostly equal", "all equal", "zero"])
def test_costs_may_be_of_any_size_and_shape(scale, shape):
    rng = np.random.default_rng(1)
    costs = {
        "even": rng.random((60, 60)),
        "outliers": np.where(rng.random((60, 60)) < 0.05, 1e6, 1.0) * rng.random((60, 60)),
        "mostly equal": 1.0 + (rng.random((60, 60)) < 0.1),
        "all equal": np.ones((60, 60)),
        "zero": np.zeros((60, 60)),
    }[shape]
    ones = np.ones(60, np.int64)
    rows, columns = linear_sum_assignment(costs)
    least = costs[rows, columns].sum()
    assert solve_transport(costs * scale, ones, ones) == pytest.approx(least * scale, rel=1e-9)


@pytest.mark.parametrize("times", [1, 3, 10**6])
def test_units_may_be_of_any_size(times):
    costs = np.random.default_rng(0).random((6, 7))
    supply, demand = np.array([7, 1, 1, 1, 1, 3]), np.array([2] * 7)
    once = solve_transport(costs, supply, demand)
    assert solve_transport(costs, supply * times, demand * times) == pytest.approx(once * times)


def test_both_solvers_find_the_same_cost(monkeypatch):
    rng = np.random.default_rng(3)
    costs = cdist(rng.random((50, 3)), rng.random((60, 3)))
    supply, demand = masses(rng, 50, 300), masses(rng, 60, 300)
    assigned = solve_transport(costs, supply, demand)
    monkeypatch.setattr(module, "FEW_UNITS", 0)
    flown = solve_transport(costs, supply, demand)
    assert flown == pytest.approx(assigned, abs=1e-9 * 300)


def test_a_solver_that_gives_up_is_no_answer(monkeypatch):
    monkeypatch.setattr(module, "MOST_PIVOTS", 3)
    rng = np.random.default_rng(0)
    supply, demand = masses(rng, 40, 10**6), masses(rng, 40, 10**6)
    with (
        pytest.warns(UserWarning, match="numItermax"),
        pytest.raises(TabpeError, match="3 steps"),
    ):
        solve_transport(rng.random((40, 40)), supply, demand)


points = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=12)


@settings(max_examples=100, deadline=None)
@given(points, points)
def test_merging_and_cancelling_cost_nothing(real, synthetic):
    rows = np.array(real + synthetic, dtype=float)
    places = IntegerCodes(np.array([4 * x + y for x, y in real + synthetic]), 16)
    first, units, total = compute_surplus(places, len(real))
    assert units.sum() == 0
    assert len(set(first)) == len(first) == len(set(real + synthetic))
    gives, lacks = units > 0, units < 0
    costs = cdist(rows[first[gives]], rows[first[lacks]])
    found = solve_transport(costs, units[gives], -units[lacks]) / total if gives.any() else 0.0
    direct = ot.emd2([], [], cdist(rows[: len(real)], rows[len(real) :]))
    assert found == pytest.approx(direct, abs=1e-9)


@settings(max_examples=100, deadline=None)
@given(*[st.lists(st.floats(-5, 5), min_size=1, max_size=12)] * 2)
def test_a_line_costs_what_scipy_says(real, synthetic):
    positions = np.array(real + synthetic)
    first, units, total = compute_surplus(IntegerCodes.from_distinct(positions), len(real))
    found = compute_line_cost(positions[first], units) / total
    assert found == pytest.approx(wasserstein_distance(real, synthetic), abs=1e-12)
