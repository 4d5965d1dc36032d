"""The numbers of candidates and rows of the pool, and the spread of weights."""

import itertools
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tabpe.evolution import Posterior, apportion
from tabpe.evolution.posterior import choose_population_sizes, compute_weight_spread

weights = st.lists(
    st.one_of(st.integers(-(10**6), 10**6), st.floats(-1e6, 1e6)), min_size=1, max_size=30
)


@given(total=st.integers(0, 10**6), weights=weights)
@settings(deadline=None, max_examples=300)
def test_the_sizes_add_up_and_are_quotas_rounded_up_or_down(total, weights):
    sizes = apportion(total, weights)
    assert sum(sizes) == total
    assert len(sizes) == len(weights)
    positive = [max(0.0, weight) for weight in weights]
    if sum(positive) > 1e-3:
        quotas = [total * weight / sum(positive) for weight in positive]
        assert all(abs(size - quota) < 1 + 1e-6 for size, quota in zip(sizes, quotas, strict=True))


@given(total=st.integers(1, 1000), weights=weights)
@settings(deadline=None, max_examples=100)
def test_a_larger_weight_never_gets_fewer_rows(total, weights):
    pairs = sorted(zip(weights, apportion(total, weights), strict=True))
    for (low, few), (high, many) in itertools.pairwise(pairs):
        assert few <= many or low == high or max(low, high) <= 0 or math.isclose(low, high)


@pytest.mark.parametrize(
    ("total", "weights", "sizes"),
    [
        (10, [0.5, 0.5], [5, 5]),
        (7, [5, 3, 2], [4, 2, 1]),
        (100, [0.479, 0.311, 0.21], [48, 31, 21]),
        (1, [1, 1, 1], [1, 0, 0]),
        (5, [1, 1, 1], [2, 2, 1]),
        (0, [3, 4], [0, 0]),
        (9, [2.0], [9]),
    ],
)
def test_the_largest_remainders_get_the_rest(total, weights, sizes):
    assert apportion(total, weights) == sizes


def test_negative_weights_get_nothing():
    assert apportion(10, [-5, 3, 3]) == [0, 5, 5]


@pytest.mark.parametrize("weights", [[0, 0], [-3, -1]])
def test_without_a_positive_weight_all_are_equal(weights):
    assert apportion(5, weights) == [3, 2]


def test_sizes_are_plain_integers():
    assert {type(size) for size in apportion(10, [1, 2, 3])} == {int}


def extent(config=None, **changes):
    table = {"rows": 1e6, "sigma": 22.0, "classes": 2, "tables": 20, "size": 1000}
    return choose_population_sizes(config or Posterior(), **{**table, **changes})


@pytest.mark.parametrize(
    ("classes", "candidates", "pool"),
    [(1, 4000, 64_000), (2, 4000, 64_000), (10, 6000, 80_000), (20, 12_000, 128_000)],
)
def test_many_classes_have_more_candidates_at_most(classes, candidates, pool):
    found = extent(classes=classes)
    assert (found.candidates, found.pool, found.rows) == (candidates, pool, 1000)


def test_any_number_of_classes_leaves_the_cost_bounded():
    found = extent(classes=5000)
    assert found.candidates == extent(classes=50).candidates == 16_000
    assert found.pool * (20 + 8 * 4) <= 12_000_000


def test_few_rows_or_much_noise_leave_fewer_candidates():
    assert extent(rows=3500).candidates == extent(rows=7000, sigma=44.0).candidates == 909
    assert extent(rows=10, classes=7).candidates == 28


def test_what_is_given_is_taken():
    found = extent(Posterior(candidates=123, pool=456))
    assert (found.candidates, found.pool) == (123, 456)
    assert compute_weight_spread(Posterior(spread=0.3), 20) == 0.3


def test_weights_may_differ_more_the_more_classes_there_are():
    spreads = [compute_weight_spread(Posterior(), classes) for classes in range(1, 40)]
    assert spreads[:2] == [1.0, 1.0]
    assert all(low < high for low, high in itertools.pairwise(spreads[1:]))
    assert spreads[17] == 3.0
