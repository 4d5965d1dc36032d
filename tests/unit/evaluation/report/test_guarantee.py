"""Epsilon as odds: against first principles."""

import itertools
import math

import numpy as np
import pytest

from exact_losses import losses
from tabpe.accounting import Adjacency, NeighboringRelation, Spend, compose_epsilon
from tabpe.evaluation.report.guarantee import COMMON, PRIORS, AttackerBound, format_certainty

EPSILONS = (0.01, 0.5, 1.0, 3.0, 8.0, 50.0, 1000.0)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("prior", PRIORS)
def test_odds_grow_by_e_to_the_epsilon_without_delta(epsilon, prior):
    odds = math.exp(min(epsilon, 600)) * prior / (1 - prior)
    assert AttackerBound(epsilon, 0.0).bound_belief(prior).most == pytest.approx(odds / (1 + odds))


def test_randomized_response_reaches_the_bounds_and_no_further():
    epsilon = 1.3
    truth = math.exp(epsilon) / (1 + math.exp(epsilon))
    bound = AttackerBound(epsilon, 0.0)
    assert bound.bound_belief(0.5).most == pytest.approx(truth)
    assert bound.detection(1 - truth) == pytest.approx(truth)


@pytest.mark.parametrize("epsilon", EPSILONS[:5])
def test_no_event_that_is_common_moves_a_belief_further(epsilon):
    delta, prior = 1e-5, 0.1
    most = AttackerBound(epsilon, delta).bound_belief(prior).most
    for common in (COMMON * delta, 0.1, 0.5, 1.0):
        out = (common - delta) * math.exp(-epsilon)
        assert prior * common / (prior * common + (1 - prior) * out) <= most + 1e-12


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("delta", [0.0, 1e-6, 0.1])
def test_detection_keeps_to_both_sides_of_the_guarantee(epsilon, delta):
    bound = AttackerBound(epsilon, delta)
    for alarms in (0.0, 0.01, 0.05, 0.5, 1.0):
        found = bound.detection(alarms)
        assert alarms <= found + 1e-12
        assert found <= 1
        assert found <= math.exp(min(epsilon, 600)) * alarms + delta + 1e-12
        if epsilon < 10:
            assert 1 - alarms <= math.exp(epsilon) * (1 - found) + delta + 1e-9


def test_a_larger_epsilon_is_a_weaker_guarantee():
    found = [AttackerBound(epsilon, 1e-6) for epsilon in EPSILONS]
    for one, two in itertools.pairwise(found):
        assert one.bound_belief(0.1).most <= two.bound_belief(0.1).most
        assert one.detection() <= two.detection()


def test_words_say_how_often_a_release_may_reveal_more():
    assert AttackerBound(1.0, 1e-6).words.endswith("(100 times delta) a release may reveal more.")
    assert "at most 0.251% " in AttackerBound(1.0, 2.506e-5).words
    assert AttackerBound(1.0, 0.0).words.endswith("release.")
    assert AttackerBound(1.0, 0.01).exception == 1.0


def test_words_name_who_is_protected():
    words = {
        neighbours: AttackerBound(1.0, 1e-6, neighbours).words
        + AttackerBound(1.0, 1e-6, neighbours).question
        for neighbours in (
            NeighboringRelation(),
            NeighboringRelation(Adjacency.REPLACE_ONE),
            NeighboringRelation(max_rows=4),
            NeighboringRelation(Adjacency.REPLACE_ONE, max_rows=4),
        )
    }
    assert len(set(words.values())) == 4
    for neighbours, text in words.items():
        assert ("user" in text) == neighbours.is_user_level
        assert ("in the table" in text) == (neighbours.adjacency is Adjacency.ADD_REMOVE)


@pytest.mark.parametrize(
    ("probability", "text"), [(0.0, "0%"), (0.7311, "73.2%"), (0.99999, "> 99.9%"), (1.0, "100%")]
)
def test_a_probability_is_rounded_up(probability, text):
    assert format_certainty(probability) == text


@pytest.mark.parametrize(
    "neighbours", [NeighboringRelation(), NeighboringRelation(Adjacency.REPLACE_ONE)]
)
@pytest.mark.parametrize(("sigma", "times"), [(0.8, 1), (2.0, 3), (9.0, 15)])
def test_no_test_of_the_noise_itself_gets_further(neighbours, sigma, times):
    """The best tests accuse where the loss is large: all of them, of the exact noise."""
    delta = 1e-5
    epsilon = compose_epsilon([Spend("votes", sigma, times)], delta, neighbours)
    bound = AttackerBound(epsilon, delta, neighbours)
    values, found = losses(sigma, times * neighbours.cells)
    order = np.argsort(-values)
    found, loss = found[order], values[order]
    right, alarms = np.cumsum(found), np.cumsum(found * np.exp(-loss))
    for prior in PRIORS:
        common = right >= COMMON * delta
        sure_of, mistaken = prior * right[common], (1 - prior) * alarms[common]
        assert (sure_of / (sure_of + mistaken)).max() <= bound.bound_belief(prior).most
    moved = loss > epsilon - math.log1p(-1 / COMMON)
    assert found[moved].sum() <= bound.exception
    for caught, accused in zip(right, alarms, strict=True):
        assert caught <= bound.detection(min(accused, 1.0)) + 1e-12
