"""What a synthetic table and a purchase guarantee together."""

import dataclasses

import pytest

from certificates import KINDS, TABLE_NOISE, USERS, honest
from tabpe.accounting import (
    ROW_LEVEL,
    Adjacency,
    ExactNoise,
    FakeNoise,
    NeighboringRelation,
    Spend,
    compose_epsilon,
)
from tabpe.accounting.calibration import BudgetShare, calibrate_spends
from tabpe.accounting.spend import EXPONENTIAL
from tabpe.accounting.zcdp_filter import ZCDP, compute_epsilon_from_loss, find_largest_loss
from tabpe.baselines.base import UNUSED
from tabpe.evaluation.private_metrics.measure import compute_joint_guarantee, resolve_terms

# A removed source of noise has no total.
ADDED = [kind for kind in KINDS if kind != "noise from a table"]
SPENDS = (Spend("marginals", 40.0, 20),)


def together(certificate, spends=SPENDS, **changes):
    usual = {"epsilon": 1.0, "delta": 1e-6, "neighbours": None, "unit": None, "charge": None}
    offer = resolve_terms(certificate=certificate, **({"noise": ExactNoise()} | usual | changes))
    return compute_joint_guarantee(offer, spends)


@pytest.mark.parametrize("kind", ADDED)
def test_both_all_spends_are_composed_whatever_the_certificate(kind):
    certificate = honest(**KINDS[kind])
    found = together(certificate, delta=None)
    assert found.note == ""
    items = (*certificate.spends, *SPENDS)
    delta = certificate.accounted_delta - certificate.sampling_delta * 2
    both = compose_epsilon(items, delta, certificate.neighbours)
    # With little noise, or by zCDP, what holds for every way to choose the second costs more.
    most = 1.1 if certificate.epsilon > 10 or certificate.filter == ZCDP else 1.002
    assert both * (1 - 1e-4) <= found.epsilon <= both * most
    assert certificate.epsilon < found.epsilon
    assert found.delta == certificate.delta


def test_the_larger_delta_is_that_of_both():
    certificate = honest()
    assert together(certificate, delta=1e-5).delta == 1e-5
    assert together(certificate, delta=1e-7).delta == 1e-6
    small, large = (together(certificate, delta=delta).epsilon for delta in (1e-7, 1e-5))
    assert large < small


def test_a_noisy_delta_is_composed_at_the_smaller_and_stated_as_the_larger():
    certificate = honest(**KINDS["a noisy delta"])
    found = together(certificate, delta=None)
    both = compose_epsilon((*certificate.spends, *SPENDS), certificate.accounted_delta)
    assert found.epsilon >= both * (1 - 1e-4)
    assert found.delta == certificate.delta > certificate.accounted_delta


def test_a_table_with_noise_of_a_removed_source_has_no_total():
    assert "unknown source" in together(honest(noise=TABLE_NOISE)).note


def test_a_table_within_a_limit_of_zcdp_counts_with_all_of_it():
    """A PrivSyn table of epsilon 1 and measures of 0.05 were once stated as 0.93 in total."""
    table = honest(filtered=ZCDP)
    measures = calibrate_spends((BudgetShare("marginals", 1.0, 20),), 0.05, 1e-6)
    found = together(table, measures, epsilon=0.05)
    whole = find_largest_loss(1.0, 1e-6) + sum(item.loss for item in measures)
    assert found.epsilon >= compute_epsilon_from_loss(whole, 1e-6) > table.epsilon
    assert found.epsilon < 1.01
    spent, unused = table.spends[:-1], table.spends[-1].loss
    less = dataclasses.replace(table, spends=(*spent, Spend(UNUSED, unused**-0.5, 1)))
    assert together(less, measures).epsilon == pytest.approx(found.epsilon, rel=1e-9)
    old = dataclasses.replace(table, filter=None)  # from before there was this field
    assert together(old, measures) == found


@pytest.mark.parametrize("adaptive", [False, True])
def test_a_table_by_choices_adds_up_as_zcdp(adaptive):
    chosen = (*honest().spends, Spend("choices", 30.0, 5, mechanism=EXPONENTIAL))
    table = dataclasses.replace(honest(filtered=ZCDP), spends=chosen, adaptive=adaptive)
    found = together(dataclasses.replace(table, filter=ZCDP if adaptive else None))
    loss = sum(item.loss for item in (*chosen, *SPENDS))
    assert found.epsilon == pytest.approx(compute_epsilon_from_loss(loss, 1e-6), rel=2e-5)


@pytest.mark.parametrize("kind", ADDED)
@pytest.mark.parametrize("delta", [None, 1e-5])
@pytest.mark.parametrize("measures", [(Spend("marginals", 5e3, 1),), SPENDS])
def test_a_total_is_never_below_a_part(kind, delta, measures):
    certificate = honest(**KINDS[kind])
    found = together(certificate, measures, delta=delta)
    part = compose_epsilon(measures, delta or certificate.delta, certificate.neighbours)
    assert found.epsilon >= max(certificate.epsilon, part)


NONE = {
    "no certificate": (None, {}, "no certificate"),
    "a fake certificate": (honest(private=False), {}, "fake"),
    "fake measures": (honest(), {"noise": FakeNoise()}, "fake"),
    "unknown noise": (dataclasses.replace(honest(), noise="dice"), {}, "unknown source"),
    "another relation": (
        honest(),
        {"neighbours": NeighboringRelation(Adjacency.REPLACE_ONE)},
        "another neighboring relation",
    ),
    "rows after users": (
        honest(neighbours=USERS),
        {"neighbours": ROW_LEVEL},
        "another neighboring relation",
    ),
    "other users": (
        honest(neighbours=USERS),
        {"neighbours": USERS, "unit": "doctor"},
        "another neighboring relation",
    ),
}


@pytest.mark.parametrize("kind", NONE)
def test_what_does_not_add_up_is_no_guarantee_and_says_why(kind):
    certificate, changes, words = NONE[kind]
    found = together(certificate, **changes)
    assert (found.epsilon, found.delta) == (None, None)
    assert words in found.note


def test_a_spends_that_no_ledger_could_hold_is_no_guarantee():
    odd = dataclasses.replace(honest(), spends=(Spend("votes", 1e9, 1),))
    found = together(odd)
    assert found.epsilon is None
    assert "do not add up" in found.note


def test_all_spends_that_take_all_of_delta_are_no_guarantee():
    told = dataclasses.replace(honest(), spends=(Spend("categories", 10.0, 1, 9e-7),) * 2)
    assert "all of delta" in together(told).note


def test_users_with_other_numbers_of_rows_add_up():
    certificate = honest(neighbours=USERS)
    more = NeighboringRelation(USERS.adjacency, max_rows=9)
    found = together(certificate, neighbours=more, unit=certificate.unit)
    assert found.epsilon > certificate.epsilon
