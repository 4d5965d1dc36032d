"""Epsilon as odds: against first principles."""

import itertools
import math

import numpy as np
import pytest

from exact_losses import losses
from tabpe.accounting import Adjacency, BillItem, Neighbours, composed_epsilon
from tabpe.evaluation.report.guarantee import COMMON, PRIORS, Promise, sure

EPSILONS = (0.01, 0.5, 1.0, 3.0, 8.0, 50.0, 1000.0)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("prior", PRIORS)
def test_odds_grow_by_e_to_the_epsilon_without_delta(epsilon, prior):
    odds = math.exp(min(epsilon, 600)) * prior / (1 - prior)
    assert Promise(epsilon, 0.0).belief(prior).most == pytest.approx(odds / (1 + odds))


def test_randomized_response_reaches_the_bounds_and_no_further():
    epsilon = 1.3
    truth = math.exp(epsilon) / (1 + math.exp(epsilon))
    promise = Promise(epsilon, 0.0)
    assert promise.belief(0.5).most == pytest.approx(truth)
    assert promise.detection(1 - truth) == pytest.approx(truth)


@pytest.mark.parametrize("epsilon", EPSILONS[:5])
def test_no_event_that_is_common_moves_a_belief_further(epsilon):
    delta, prior = 1e-5, 0.1
    most = Promise(epsilon, delta).belief(prior).most
    for common in (COMMON * delta, 0.1, 0.5, 1.0):
        out = (common - delta) * math.exp(-epsilon)
        assert prior * common / (prior * common + (1 - prior) * out) <= most + 1e-12


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("delta", [0.0, 1e-6, 0.1])
def test_detection_keeps_to_both_sides_of_the_promise(epsilon, delta):
    promise = Promise(epsilon, delta)
    for alarms in (0.0, 0.01, 0.05, 0.5, 1.0):
        found = promise.detection(alarms)
        assert alarms <= found + 1e-12
        assert found <= 1
        assert found <= math.exp(min(epsilon, 600)) * alarms + delta + 1e-12
        if epsilon < 10:
            assert 1 - alarms <= math.exp(epsilon) * (1 - found) + delta + 1e-9


def test_a_larger_epsilon_is_a_weaker_promise():
    found = [Promise(epsilon, 1e-6) for epsilon in EPSILONS]
    for one, two in itertools.pairwise(found):
        assert one.belief(0.1).most <= two.belief(0.1).most
        assert one.detection() <= two.detection()


def test_words_say_how_often_a_release_may_tell_more():
    assert Promise(1.0, 1e-6).words.endswith("release, but for a chance of 0.01%.")
    assert Promise(1.0, 2.506e-5).words.endswith("but for a chance of 0.251%.")
    assert Promise(1.0, 0.0).words.endswith("release.")
    assert Promise(1.0, 0.01).exception == 1.0


def test_words_name_who_is_protected():
    words = {
        neighbours: Promise(1.0, 1e-6, neighbours).words + Promise(1.0, 1e-6, neighbours).question
        for neighbours in (
            Neighbours(),
            Neighbours(Adjacency.REPLACE_ONE),
            Neighbours(max_rows=4),
            Neighbours(Adjacency.REPLACE_ONE, max_rows=4),
        )
    }
    assert len(set(words.values())) == 4
    for neighbours, told in words.items():
        assert ("user" in told) == neighbours.of_users
        assert ("in the table" in told) == (neighbours.adjacency is Adjacency.ADD_REMOVE)


@pytest.mark.parametrize(
    ("chance", "told"), [(0.0, "0%"), (0.7311, "73.2%"), (0.99999, "> 99.9%"), (1.0, "100%")]
)
def test_a_chance_is_rounded_up(chance, told):
    assert sure(chance) == told


@pytest.mark.parametrize("neighbours", [Neighbours(), Neighbours(Adjacency.REPLACE_ONE)])
@pytest.mark.parametrize(("sigma", "times"), [(0.8, 1), (2.0, 3), (9.0, 15)])
def test_no_test_of_the_noise_itself_gets_further(neighbours, sigma, times):
    """The best tests accuse where the loss is large: all of them, of the exact noise."""
    delta = 1e-5
    epsilon = composed_epsilon([BillItem("votes", sigma, times)], delta, neighbours)
    promise = Promise(epsilon, delta, neighbours)
    values, found = losses(sigma, times * neighbours.cells)
    order = np.argsort(-values)
    found, loss = found[order], values[order]
    right, alarms = np.cumsum(found), np.cumsum(found * np.exp(-loss))
    for prior in PRIORS:
        common = right >= COMMON * delta
        sure_of, mistaken = prior * right[common], (1 - prior) * alarms[common]
        assert (sure_of / (sure_of + mistaken)).max() <= promise.belief(prior).most
    moved = loss > epsilon - math.log1p(-1 / COMMON)
    assert found[moved].sum() <= promise.exception
    for caught, accused in zip(right, alarms, strict=True):
        assert caught <= promise.detection(min(accused, 1.0)) + 1e-12
