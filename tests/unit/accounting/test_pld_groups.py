"""Many sigmas: never below the exact epsilon, hardly above it, and fast for a thousand runs."""

import math

import numpy as np
import pytest

from exact_losses import exact_delta
from tabpe.accounting import ROW_LEVEL, Adjacency, NeighboringRelation, Spend, compose_epsilon, pld

REPLACED = NeighboringRelation(Adjacency.REPLACE_ONE)
DELTA = 1e-6
MOST_GROUPS = pld.MOST_GROUPS  # fixtures change it


@pytest.fixture
def limits(monkeypatch):
    """Set how many spends are many, and the most groups of them; forget earlier results."""

    def set_limits(few, groups):
        monkeypatch.setattr(pld, "FEW", few)
        monkeypatch.setattr(pld, "MOST_GROUPS", groups)
        forget()

    def forget():
        pld._compose_epsilon.cache_clear()
        pld._compose_losses.cache_clear()

    yield set_limits
    forget()


def runs(number, spread, seed=0):
    """Spends of votes and counts whose noise differs from run to run."""
    rng = np.random.default_rng(seed)
    scales = np.exp(rng.uniform(0, math.log(spread), number))
    base = 17 * math.sqrt(number)
    return tuple(
        item
        for scale in scales.tolist()
        for item in (Spend("votes", base * scale, 15), Spend("counts", 5 * base * scale, 1))
    )


@pytest.mark.parametrize("times", [1, 15, 200])
@pytest.mark.parametrize("sigma", [0.3, 0.5, 1.0, 3.7, 20.0, 300.0])
def test_one_scale_costs_what_dp_accounting_says(limits, sigma, times):
    spends = [Spend("votes", sigma, times)]
    limits(few=1, groups=1)
    expected = compose_epsilon(spends, DELTA)
    limits(few=0, groups=1)
    assert compose_epsilon(spends, DELTA) == pytest.approx(expected, rel=1e-6)


# The second pair is one where more noise protects less.
@pytest.mark.parametrize("delta", [1e-3, 1e-5, 1e-9])
@pytest.mark.parametrize("neighbours", [ROW_LEVEL, REPLACED])
@pytest.mark.parametrize("sigmas", [(3.0, 3.05), (1.14, 1.16), (0.6, 0.7, 0.8), (2.0, 9.0)])
def test_a_group_is_safe_whatever_its_scales(limits, sigmas, neighbours, delta):
    spends = [Spend("votes", sigma, 1) for sigma in sigmas]
    limits(few=0, groups=1)
    epsilon = compose_epsilon(spends, delta, neighbours)
    assert exact_delta(spends, epsilon, neighbours) <= delta


@pytest.mark.parametrize("delta", [1e-12, 1e-9])
def test_a_long_list_of_spends_is_safe_at_a_tiny_delta(limits, delta):
    """All scales are equal here, so that the truth can be summed; the ledger does not know."""
    whole = Spend("votes", 14.0, 60)
    limits(few=0, groups=2)
    spends = [Spend("votes", 14.0, 6)] * 10
    assert exact_delta([whole], compose_epsilon(spends, delta), ROW_LEVEL) <= delta


@pytest.mark.parametrize(("spread", "waste"), [(1.05, 0.001), (3.0, 0.01), (100.0, 0.03)])
def test_groups_cost_hardly_more_and_never_less(limits, spread, waste):
    spends = runs(60, spread)
    limits(few=4, groups=10**9)
    exact = compose_epsilon(spends, DELTA)
    limits(few=4, groups=MOST_GROUPS)
    assert exact * (1 - 1e-6) <= compose_epsilon(spends, DELTA) <= exact * (1 + waste)


def test_groups_are_of_neighbors_and_lose_nothing():
    spends = runs(500, 10.0)
    found = pld.group_spends(spends)
    assert 16 <= len(found) <= pld.MOST_GROUPS
    flat = [item for group in found for item in group]
    assert flat == sorted(spends, key=lambda item: item.sigma)


def test_next_to_no_noise_costs_a_lot_and_no_memory(limits):
    """One draw that tells all, among many that tell nothing."""
    spends = [Spend("a", 1e-3, 1), *(Spend("b", 1e4 + i, 10**5) for i in range(6))]
    assert compose_epsilon(spends, DELTA) > 1e5
