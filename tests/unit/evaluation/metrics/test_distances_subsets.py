"""Sets of columns: all of them, or a fair sample."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import pytest

from tabpe.errors import ParameterError
from tabpe.evaluation.metrics.distances import (
    KWayDistance,
    check_orders,
    choose_subsets,
    make_generator,
)


@pytest.mark.parametrize("most", [None, 35, 36, 10**9])
def test_all_are_measured_if_they_are_few(most):
    assert choose_subsets(7, 3, most, 0) == list(itertools.combinations(range(7), 3))


@pytest.mark.parametrize("most", [1, 10, 17, 18, 30, 34])
def test_a_sample_has_no_subset_twice(most):
    found = choose_subsets(7, 3, most, 0)
    assert len(set(found)) == most
    assert set(found) <= set(itertools.combinations(range(7), 3))
    assert found == choose_subsets(7, 3, most, 0)


@pytest.mark.parametrize("most", [2, 4])
def test_every_subset_is_as_likely(most):
    seeds = 3000
    counts = Counter(found for seed in range(seeds) for found in choose_subsets(4, 2, most, seed))
    share = most / 6
    wide = 6 * math.sqrt(seeds * share * (1 - share))  # chance: 6 subsets at 2e-9 each
    assert all(
        abs(counts[each] - seeds * share) < wide for each in itertools.combinations(range(4), 2)
    )
    assert wide < seeds * share / 4  # a subset that is a quarter rarer would be noticed


def test_seeds_differ_and_none_draws_anew():
    assert choose_subsets(60, 5, 20, 0) != choose_subsets(60, 5, 20, 1)
    assert choose_subsets(60, 5, 20, None) != choose_subsets(60, 5, 20, None)


def test_astronomically_many_are_not_listed():
    found = choose_subsets(2000, 40, 10, 0)
    assert len(found) == 10
    assert all(len(set(subset)) == 40 for subset in found)


def test_too_many_are_refused_if_all_are_asked_for():
    with pytest.raises(ParameterError, match="subsets=None"):
        choose_subsets(100, 7, None, 0)


def test_streams_of_purposes_are_their_own():
    draws = {make_generator(0, *purpose).random() for purpose in [(), (0, 0), (0, 1), (1,), (2,)]}
    assert len(draws) == 5


def test_orders_must_be_whole_numbers_from_one():
    assert check_orders((3, 1, 9), 4) == [3, 1]
    with pytest.raises(ParameterError, match="orders=0"):
        check_orders([2, 0], 4)


def test_a_subset_that_could_not_be_measured_counts_for_nothing():
    found = KWayDistance.from_distances(
        ["a", "b", "c"], [(0,), (1,), (2,)], [0.2, math.nan, 0.4], (5, 6)
    )
    assert (found.measured, found.possible, found.rows) == (2, 3, (5, 6))
    assert found.distance == pytest.approx(0.3)
    assert found.spread == pytest.approx(0.1)
    assert found.worst == (("c",), 0.4)
