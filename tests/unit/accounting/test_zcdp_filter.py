"""The zCDP filter: its limit and its guarantee."""

import math

import numpy as np
import pytest

from tabpe.accounting import Spend, compose_epsilon
from tabpe.accounting.recount import recount_epsilon
from tabpe.accounting.spend import EXPONENTIAL
from tabpe.accounting.zcdp_filter import PrivacyFilter, compute_epsilon_from_loss, find_largest_loss
from tabpe.errors import BudgetError


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0, 10.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-5])
def test_the_loss_within_a_guarantee_keeps_it_and_hardly_more(epsilon, delta):
    loss = find_largest_loss(epsilon, delta)
    assert epsilon * (1 - 1e-6) < compute_epsilon_from_loss(loss, delta) <= epsilon


@pytest.mark.parametrize("loss", [0.001, 0.07, 2.0])
def test_it_is_never_below_the_tight_epsilon_of_a_fixed_list_of_spends(loss):
    spends = (Spend("counts", math.sqrt(10 / loss), 10),)
    tight = compose_epsilon(spends, 1e-6)
    assert tight < compute_epsilon_from_loss(loss, 1e-6) < 1.25 * tight


@pytest.mark.parametrize("loss", [0.001, 0.07, 2.0, 50.0])
def test_two_accountants_agree(loss):
    spends = (
        Spend("counts", math.sqrt(20 / loss), 10),
        Spend("choices", math.sqrt(20 / loss), 10, mechanism=EXPONENTIAL),
    )
    found = recount_epsilon(spends, 1e-6, adaptive=True)
    assert found == pytest.approx(compute_epsilon_from_loss(loss, 1e-6), rel=1e-5)


@pytest.mark.parametrize("order", [1.5, 2.0, 8.0, 50.0])
def test_every_order_bounds_the_divergence_of_a_gaussian(order):
    """The hockey-stick divergence of continuous noise is within what the formula allows."""
    from tabpe.accounting.pld import compute_gaussian_delta
    from tabpe.accounting.zcdp_filter import _compute_renyi_epsilon

    for mu in (0.1, 0.5, 2.0):
        for delta in (1e-3, 1e-6):
            epsilon = max(_compute_renyi_epsilon(mu**2 / 2, delta, order), 0.0)
            assert compute_gaussian_delta(mu, epsilon) <= delta


def test_a_filter_lets_through_what_is_within_its_limit():
    account = PrivacyFilter(1.0)
    account.authorize_more("choices", sigma=2.0, times=2, mechanism=EXPONENTIAL)
    account.authorize_more("counts", sigma=2.0, times=1)
    account.authorize_more("counts", sigma=2.0, times=1)
    assert account.left == pytest.approx(0.0)
    assert [(item.name, item.times) for item in account.authorized] == [
        ("choices", 2),
        ("counts", 2),
    ]
    with pytest.raises(BudgetError, match="is left"):
        account.authorize_more("counts", sigma=100.0)


def test_what_is_refused_leaves_no_trace():
    account = PrivacyFilter(1.0)
    with pytest.raises(BudgetError):
        account.authorize_more("counts", sigma=0.5)
    assert account.authorized == ()
    assert account.left == 1.0


def test_one_name_has_one_noise():
    account = PrivacyFilter(1.0)
    account.authorize_more("counts", sigma=5.0)
    with pytest.raises(BudgetError, match="use another name"):
        account.authorize_more("counts", sigma=6.0)
    with pytest.raises(BudgetError, match="use another name"):
        account.authorize_more("counts", sigma=5.0, mechanism=EXPONENTIAL)


def test_what_is_allowed_must_still_be_charged_and_only_once():
    account = PrivacyFilter(1.0)
    account.authorize_more("counts", sigma=5.0)
    assert account.spent == ()
    account.charge("counts")
    with pytest.raises(BudgetError, match="used up"):
        account.charge("counts")


def test_many_small_spends_never_exceed_the_limit():
    account, rng = PrivacyFilter(1.0), np.random.default_rng(0)
    for place in range(10_000):
        try:
            account.authorize_more(f"item {place}", sigma=float(rng.uniform(5, 50)))
        except BudgetError:
            break
    assert math.fsum(item.loss for item in account.authorized) <= 1.0 + 1e-8


def test_nothing_fits_twice_into_what_rounding_is_allowed():
    account = PrivacyFilter(1.0)
    account.authorize(Spend("all", 1.0, 1))
    account.authorize_more("within rounding", sigma=4e4)
    account.authorize_more("again", sigma=1e5)
    with pytest.raises(BudgetError):
        account.authorize_more("once too often", sigma=4e4)


def test_a_plan_is_held_to_the_limit_too():
    with pytest.raises(BudgetError, match="is left"):
        PrivacyFilter(1.0).authorize(Spend("too much", 0.9, 1))
