"""Selection by noisy votes, and draws by weight."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from tabpe.evolution.private_evolution import (
    draw_systematic,
    rank_by_votes,
    sample_by_votes,
)


def rng():
    return np.random.default_rng(5)


def select(votes, size, *, samples):
    return sample_by_votes(votes, size, rng()) if samples else rank_by_votes(votes, size)


def test_sampling_is_proportional_to_positive_votes():
    votes = np.array([10, -30, 0, 20, 70])
    counts = np.bincount(sample_by_votes(votes, 20_000, rng()), minlength=5)
    assert counts[1] == counts[2] == 0
    kept = [0, 3, 4]
    assert chisquare(counts[kept], votes[kept] * 200).pvalue > 1e-4


@pytest.mark.parametrize("votes", [[0, 0, 0, 0], [-5, -1, 0, -7], [-1, -1, -1, -1]])
def test_without_positive_votes_sampling_is_uniform(votes):
    counts = np.bincount(sample_by_votes(np.array(votes), 20_000, rng()), minlength=4)
    assert chisquare(counts).pvalue > 1e-4


def test_sampling_is_with_replacement():
    assert sample_by_votes(np.array([0, 3]), 5, rng()).tolist() == [1] * 5


def test_ranking_takes_the_most_votes_first():
    assert rank_by_votes(np.array([-4, 9, 3, -1, 7]), 3).tolist() == [1, 4, 2]


def test_ranking_breaks_ties_by_index():
    assert rank_by_votes(np.array([2, 2, 5, 2, 2]), 4).tolist() == [2, 0, 1, 3]


def test_ranking_takes_negative_votes_where_nothing_else_is_left():
    assert rank_by_votes(np.array([-4, -2, -9]), 2).tolist() == [1, 0]


@given(
    votes=st.lists(st.integers(-(10**9), 10**9), min_size=1, max_size=40),
    samples=st.booleans(),
    data=st.data(),
)
@settings(deadline=None, max_examples=100)
def test_selection_gives_as_many_places_as_asked(votes, samples, data):
    size = data.draw(st.integers(0, len(votes)))
    chosen = select(np.array(votes), size, samples=samples)
    assert len(chosen) == size
    assert ((chosen >= 0) & (chosen < len(votes))).all()
    assert samples or len(set(chosen.tolist())) == size


@pytest.mark.parametrize("samples", [True, False])
def test_an_empty_class_selects_nobody(samples):
    assert select(np.array([], dtype=np.int64), 0, samples=samples).tolist() == []


@pytest.mark.parametrize("weights", [[1.0], [1.0, 0.0, 3.0], [0.0, 0.0, 1.0], [1e-300, 1e300]])
@pytest.mark.parametrize("size", [0, 1, 7, 100])
def test_systematic_draws_are_even(weights, size):
    weights = np.array(weights)
    places = draw_systematic(weights, size, np.random.default_rng(3))
    counts = np.bincount(places, minlength=len(weights))
    assert (np.diff(places) >= 0).all()
    assert counts.sum() == size
    assert np.abs(counts - size * weights / weights.sum()).max(initial=0) < 1 + 1e-9
