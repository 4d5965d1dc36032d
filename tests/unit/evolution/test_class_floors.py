"""A floor for small classes: which class gets how many rows."""

import numpy as np
import pytest

from tabpe.evolution import apportion
from tabpe.evolution.marginal_prior import MarginalPrior
from tabpe.evolution.posterior import lift_small_classes
from tabpe.evolution.private_evolution import apportion_with_floor


@pytest.mark.parametrize("floor", [0, 1, 7, 20, 25])
def test_all_rows_are_given_and_nobody_is_below_the_floor(floor):
    weights = [500, 3, 0.01, 90]
    sizes = apportion_with_floor(100, weights, floor)
    assert sum(sizes) == 100
    assert min(sizes) >= floor
    assert max(sizes) == sizes[0]


def test_without_a_floor_it_is_the_largest_remainder():
    for weights in ([3, 3, 1, -2], [0, 0], [5.5, 1e-9, 7]):
        assert apportion_with_floor(11, weights, 0) == apportion(11, weights)


def test_those_above_the_floor_keep_their_proportion():
    assert apportion_with_floor(130, [600, 300, 1], floor=10) == [80, 40, 10]


def test_a_class_without_weight_gets_nothing():
    assert apportion_with_floor(20, [5, 0, -3], floor=10) == [20, 0, 0]


def test_if_nobody_has_weight_all_are_alike():
    assert apportion_with_floor(20, [0, -1], floor=10) == [10, 10]


def test_too_high_a_floor_is_shared():
    assert apportion_with_floor(9, [100, 1, 1], floor=10) == [3, 3, 3]


def test_lifting_lets_nothing_be_lost():
    prior = MarginalPrior(np.array([990.0, 9.0, 1.0, 0.0]), (), (), ())
    changed = lift_small_classes(prior, pool=2000, floor=10)
    rows = 2000 * changed.sizes * changed.lift / (changed.sizes * changed.lift).sum()
    assert rows[1:3] == pytest.approx([80, 80])
    assert np.isfinite(changed.lift).all()
    even = changed.rows / 2000 * changed.mean_lift / changed.lift
    assert (rows * even)[:3] == pytest.approx(changed.sizes[:3])
    assert lift_small_classes(prior, pool=2000, floor=0) is prior
