"""How many rows each class gets: largest remainder."""

import itertools
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tabpe.evolve import apportion

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
