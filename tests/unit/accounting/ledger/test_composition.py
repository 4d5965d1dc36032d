"""Totals at the edges of what a budget may be."""

import math

import pytest

from tabpe.accounting import Adjacency, NeighboringRelation, Spend
from tabpe.accounting.ledger import Budget, RunEntry
from tabpe.accounting.ledger.composition import (
    compute_entries_epsilon,
    compute_remaining_epsilon,
    is_over_budget,
)

USERS = NeighboringRelation(max_rows=3)


def entries_of(*all_spends, adjacency=Adjacency.ADD_REMOVE):
    return [
        RunEntry(str(place), "patients", tuple(spends), NeighboringRelation(adjacency))
        for place, spends in enumerate(all_spends)
    ]


def test_a_hundred_runs_well_within_the_budget_are_not_composed(monkeypatch):
    """To compose them takes seconds, and every reservation would wait for it."""

    def never(*_):
        raise AssertionError

    monkeypatch.setattr("tabpe.accounting.ledger.composition.compose_epsilon", never)
    runs = entries_of(*([Spend("votes", 100 + run / 7, 15)] for run in range(100)))
    assert not is_over_budget(runs, Budget("patients", 4.0, 1e-6))


@pytest.mark.parametrize("adjacency", list(Adjacency))
@pytest.mark.parametrize("delta", [1e-11, 1e-6, 1e-4])
@pytest.mark.parametrize(("sigma", "times"), [(0.7, 1), (2.0, 40), (17.0, 15), (900.0, 3)])
def test_the_bound_never_decides_otherwise_than_the_exact_total(sigma, times, delta, adjacency):
    spends = [Spend("votes", sigma, times), Spend("class counts", 3 * sigma, 1)]
    runs = entries_of(spends, adjacency=adjacency)
    exact = compute_entries_epsilon(runs, Budget("patients", 1.0, delta, adjacency))
    for factor in (0.9, 0.999999, 1.000001, 1.02, 1.05, 1.2):
        assert is_over_budget(runs, Budget("patients", exact * factor, delta, adjacency)) == (
            factor < 1
        )


@pytest.mark.parametrize("unit", [None, "person"])
@pytest.mark.parametrize(("sigma", "times"), [(3e3, 10**5), (17.0, 15), (0.6, 2), (1e-3, 1)])
@pytest.mark.parametrize("delta", [1e-12, 0.5])
@pytest.mark.parametrize("epsilon", [1e-6, 1e-3, 50.0, 1e4])
def test_every_budget_and_run_have_a_total_and_a_rest(epsilon, delta, sigma, times, unit):
    budget = Budget("patients", epsilon, delta, unit=unit)
    neighbours = NeighboringRelation() if unit is None else USERS
    spends = (Spend("votes", sigma, times),)
    entries = [RunEntry("run", "patients", spends, neighbours, unit)]
    spent, left = (
        compute_entries_epsilon(entries, budget),
        compute_remaining_epsilon(entries, budget),
    )
    assert spent >= 0
    assert 0 <= left <= epsilon
    assert is_over_budget(entries, budget) == (spent > epsilon)
    assert (left == 0) or not math.isinf(spent)


def test_nothing_is_left_where_a_run_would_drown_in_noise():
    budget = Budget("patients", 1.1e-5, 1e-6)
    entry = RunEntry("run", "patients", (Spend("votes", 9e4, 1),), NeighboringRelation())
    assert 0 < compute_entries_epsilon([entry], budget) < budget.epsilon
    assert compute_remaining_epsilon([entry], budget) == 0
