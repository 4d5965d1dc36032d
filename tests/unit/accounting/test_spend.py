"""Spends, and the account that authorizes them."""

import math

import pytest

from tabpe.accounting import Account, Adjacency, NeighboringRelation, Spend
from tabpe.errors import BudgetError, ParameterError


@pytest.fixture
def account():
    account = Account()
    account.authorize(Spend("votes", sigma=14.0, times=2))
    return account


def test_a_charge_returns_the_agreed_sigma(account):
    assert account.charge("votes") == 14.0


def test_what_was_not_agreed_on_is_refused(account):
    with pytest.raises(BudgetError, match="class counts: not authorized"):
        account.charge("class counts")


def test_what_is_used_up_is_refused(account):
    account.charge("votes")
    account.charge("votes")
    with pytest.raises(BudgetError, match="used up"):
        account.charge("votes")


def test_a_refused_charge_is_not_on_the_list_of_spends(account):
    for _ in range(2):
        account.charge("votes")
    with pytest.raises(BudgetError):
        account.charge("votes")
    assert account.spent == account.authorized


def test_a_name_is_agreed_on_once(account):
    with pytest.raises(BudgetError, match="already authorized"):
        account.authorize(Spend("votes", sigma=100.0, times=1))
    assert account.authorized == (Spend("votes", 14.0, 2),)


def test_what_is_not_charged_yet_is_counted_down_to_nothing(account):
    found = [account.count_uncharged(*account.authorized)]
    for _ in range(2):
        account.charge("votes")
        found.append(account.count_uncharged(*account.authorized))
    assert found == [2, 1, 0]


def test_nothing_is_spent_before_a_charge(account):
    assert account.spent == ()


def test_spent_counts_the_charges_so_far(account):
    account.charge("votes")
    assert account.spent == (Spend("votes", 14.0, times=1),)
    assert account.spent != account.authorized


def test_spends_are_charged_apart(account):
    account.authorize(Spend("class counts", sigma=50.0, times=1))
    assert account.charge("class counts") == 50.0
    assert account.spent == (Spend("class counts", 50.0, 1),)


def test_a_refusal_exits_with_3(account):
    with pytest.raises(BudgetError) as caught:
        account.charge("marginals")
    assert caught.value.exit_code == 3


@pytest.mark.parametrize("sigma", [0, -1.0, math.nan, math.inf, "14", True, None])
def test_a_spend_without_noise_can_not_be_written(sigma):
    with pytest.raises(ParameterError, match="sigma="):
        Spend("votes", sigma=sigma, times=1)


@pytest.mark.parametrize("times", [0, -1, 1.5, True])
def test_a_spend_is_released_at_least_once(times):
    with pytest.raises(ParameterError, match="times="):
        Spend("votes", sigma=1.0, times=times)


def test_losses_add_up_over_times():
    assert Spend("votes", 2.0, 6).loss == pytest.approx(6 * Spend("votes", 2.0, 1).loss)


def test_a_spend_in_a_file_names_its_mechanism():
    plain = Spend("votes", 2.0, 6).to_dict()
    assert plain == {
        "mechanism": "discrete Gaussian",
        "name": "votes",
        "sigma": 2.0,
        "times": 6,
        "delta_share": 0.0,
    }


@pytest.mark.parametrize(("name", "cells"), [("add-remove", 1), ("replace-one", 2)])
def test_an_adjacency_is_found_by_its_name(name, cells):
    adjacency = Adjacency.from_name(name)
    assert Adjacency.from_name(adjacency) is adjacency
    assert NeighboringRelation(adjacency).cells == cells
    assert NeighboringRelation(adjacency, max_rows=5).cells == 5 * cells
    assert "row" in NeighboringRelation(adjacency).meaning
    assert "user" in NeighboringRelation(adjacency, max_rows=5).meaning


@pytest.mark.parametrize("given", ["replace", "", None, 3, "ADD_REMOVE"])
def test_an_unknown_adjacency_is_refused(given):
    with pytest.raises(ParameterError, match="adjacency="):
        Adjacency.from_name(given)


def test_a_spend_with_other_noise_than_was_authorized_is_refused(account):
    with pytest.raises(BudgetError, match="other noise"):
        account.charge_spend(Spend("votes", 13.0, times=1), 1)
    with pytest.raises(BudgetError, match="not authorized"):
        account.charge_spend(Spend("marginals", 14.0, times=1), 1)
    assert account.spent == ()
    assert account.charge_spend(Spend("votes", 14.0, times=9), 2) == Spend("votes", 14.0, times=2)
