"""Totals of a ledger: never below a part, the same in any order, and more for more."""

import dataclasses
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exact_losses import adaptive_delta
from tabpe.accounting import ROW_LEVEL, Adjacency, NeighboringRelation, Spend
from tabpe.accounting.ledger import Budget, Ledger, RunEntry
from tabpe.accounting.ledger.composition import compute_entries_epsilon
from tabpe.accounting.spend import EXPONENTIAL
from tabpe.errors import ParameterError

BUDGETS = [Budget("d", 1.0, 1e-6), Budget("d", 1.0, 1e-9, Adjacency.REPLACE_ONE)]
CHOICE = Spend("choices", 20.0, 3, mechanism=EXPONENTIAL)
sigmas = st.floats(math.log(0.7), math.log(300)).map(math.exp)


@st.composite
def runs(draw):
    item = Spend("votes", draw(sigmas), draw(st.integers(1, 30)), draw(st.sampled_from([0, 1e-12])))
    limit = draw(st.sampled_from([None, None, item.loss, 2 * item.loss]))
    adaptive = limit is not None or draw(st.booleans())
    return RunEntry("run", "d", (item,), ROW_LEVEL, adaptive=adaptive, limit=limit)


@given(
    entries=st.lists(runs(), min_size=1, max_size=4),
    more=runs(),
    budget=st.sampled_from(BUDGETS),
    data=st.data(),
)
@settings(deadline=None, max_examples=40)
def test_totals_are_never_below_a_part_and_do_not_depend_on_the_order(entries, more, budget, data):
    total = compute_entries_epsilon([*entries, more], budget)
    for part in (entries, [more], *([one] for one in entries)):
        assert compute_entries_epsilon(part, budget) <= total
    mixed = data.draw(st.permutations([*entries, more]))
    assert compute_entries_epsilon(mixed, budget) == pytest.approx(total, rel=1e-9)


@given(
    entries=st.lists(runs(), max_size=3),
    one=runs(),
    factor=st.floats(1.02, 3),
    budget=st.sampled_from(BUDGETS),
)
@settings(deadline=None, max_examples=40)
def test_less_noise_or_a_larger_limit_never_costs_less(entries, one, factor, budget):
    """In a single fixed plan of little noise it may: see `test_accounting`."""
    one = dataclasses.replace(one, adaptive=True)
    (item,) = one.spends
    less = dataclasses.replace(item, sigma=item.sigma / factor)
    limit = None if one.limit is None else one.limit * factor
    worse = dataclasses.replace(one, spends=(less,), limit=limit)
    assert compute_entries_epsilon([*entries, one], budget) <= compute_entries_epsilon(
        [*entries, worse], budget
    )


@given(sigma=st.floats(0.8, 3), rest=st.floats(0.8, 3), within=st.booleans())
@settings(deadline=None, max_examples=15)
def test_an_enemy_within_a_limit_and_beside_it_stays_within_the_total(sigma, rest, within):
    """After one histogram, one more or several of the same loss, as the answer decides.

    They are one run within a limit of zCDP (`within`), or a run and one that follows from it.
    """
    options = [(Spend("votes", rest * math.sqrt(n), n),) for n in (1, 2, 3, 6)]
    budget = Budget("d", 1.0, 1e-6)
    first = (Spend("votes", sigma, 1),)
    totals = []
    for option in options:
        loss = sum(item.loss for item in (*first, *option))
        entries = [RunEntry("1", "d", first, ROW_LEVEL), RunEntry("2", "d", option, ROW_LEVEL)]
        if within:
            entries = [RunEntry("1", "d", (*first, *option), ROW_LEVEL, adaptive=True, limit=loss)]
        totals.append(compute_entries_epsilon(entries, budget))
    assert adaptive_delta(sigma, options, max(totals)) <= budget.delta


def test_the_ledger_keeps_the_limit_and_charges_all_of_it(tmp_path):
    ledger = Ledger(tmp_path / "ledger.db")
    ledger.set_budget("patients", epsilon=2, delta=1e-6)
    planned = [Spend("limit", 0.05**-0.5, 1)]
    run = ledger.reserve("patients", planned, adaptive=True, limit=0.05)
    reserved = ledger.spent("patients")
    spent = ledger.spend(run.id, [Spend("votes", 30.0, 1), CHOICE], "a" * 64)
    assert (spent.adaptive, spent.limit, spent.spends[1].mechanism) == (True, 0.05, EXPONENTIAL)
    assert ledger.spent("patients") == reserved
    assert Ledger(ledger.path).entry(run.id) == spent
    assert ledger.verify() == []
    assert 0 < ledger.left("patients") < 2
    again = ledger.reserve("patients", [Spend("votes", 60.0, 4)])
    assert "limit" not in again.to_dict()
    assert "adaptive" not in again.to_dict()
    assert ledger.spent("patients") > reserved


@pytest.mark.parametrize(
    "changes",
    [
        {"spends": (CHOICE,)},
        {"adaptive": 1},
        {"limit": 0.0},
        {"limit": math.inf},
        {"limit": "much"},
        {"limit": 0.1, "neighbours": NeighboringRelation(Adjacency.REPLACE_ONE)},
    ],
)
def test_what_no_run_can_have_is_refused(changes):
    run = RunEntry("run", "d", (Spend("votes", 10.0, 1),), ROW_LEVEL)
    with pytest.raises(ParameterError):
        dataclasses.replace(run, **changes)
