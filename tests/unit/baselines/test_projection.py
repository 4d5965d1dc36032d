"""Points are moved towards what was measured, and stay points."""

import numpy as np
import pytest

from tabpe.baselines import gem
from tabpe.baselines import rappp as module
from tabpe.baselines.gem import AttributeLayout
from tabpe.baselines.rappp import LearningRates, MixedPoints, ProjectionTargets, move_points

pytest.importorskip("jax")
LAYOUT = AttributeLayout((2, 3, 1))
PAIR = np.array([[0.4, 0.1, 0.0], [0.0, 0.1, 0.4]])
LISTS, NUMBERS = LearningRates(0.0, 3e-2, 0), LearningRates(3e-2, 3e-2, 3)


def started(count=100):
    rng = np.random.default_rng(0)
    chances = [rng.dirichlet(np.ones(size), count) for size in LAYOUT.sizes]
    together = np.concatenate(chances, axis=1).astype(np.float32)
    return MixedPoints(rng.random((count, 2), dtype=np.float32), together)


def nothing():
    return ProjectionTargets.make_empty(LAYOUT, numbers=2, most=4)


def share_below(points, limit, value):
    """Return the share of points whose first number is at most a limit and that have a value."""
    chances = LAYOUT.slice_attributes(np.asarray(points.probabilities))[0][:, value]
    return float(np.mean((np.asarray(points.numbers)[:, 0] <= limit) * chances))


def below_half(shares):
    """Return what is wanted if the first attribute has these shares below a half."""
    return nothing().with_halfspace(0, np.array([1.0, 0.0, 0.5]), 0, np.array(shares))


def test_points_learn_a_marginal_while_numbers_stay():
    points, wanted = started(), nothing().with_marginal((0, 1), PAIR)
    after = move_points(points, wanted, LISTS)
    found = gem.compute_marginal(LAYOUT.slice_attributes(np.asarray(after.probabilities)), (0, 1))
    assert found == pytest.approx(PAIR.ravel(), abs=0.02)
    assert np.array_equal(after.numbers, points.numbers)


def test_points_learn_a_halfspace_with_hard_edges():
    after = move_points(started(), below_half([0.1, 0.6]), NUMBERS)
    assert share_below(after, 0.5, 0) == pytest.approx(0.1, abs=0.03)
    assert share_below(after, 0.5, 1) == pytest.approx(0.6, abs=0.03)


def test_points_learn_a_halfspace_of_all_rows():
    wanted = nothing().with_halfspace(3, np.array([1.0, 0.0, 0.3]), 2, np.array([0.9]))
    after = move_points(started(), wanted, NUMBERS)
    assert np.mean(np.asarray(after.numbers)[:, 0] <= 0.3) == pytest.approx(0.9, abs=0.1)


def test_points_stay_in_the_cube_and_on_the_simplex():
    wanted = below_half([0.1, 0.6]).with_marginal((0, 1), PAIR)
    after = move_points(started(), wanted, NUMBERS)
    assert np.asarray(after.numbers).min() >= 0
    assert np.asarray(after.numbers).max() <= 1
    for part in LAYOUT.slice_attributes(np.asarray(after.probabilities)):
        assert part.min() >= 0
        assert part.sum(axis=1) == pytest.approx(np.ones(100), abs=1e-4)


def test_points_that_are_right_stay():
    wanted = nothing().with_marginal((2,), np.array([1.0]))
    points = started()
    assert move_points(points, wanted, LISTS) is points


def test_what_was_measured_before_is_not_forgotten():
    wanted = nothing().with_marginal((0, 1), PAIR)
    points = move_points(started(), wanted, LISTS)
    more = wanted.with_halfspace(0, np.array([1.0, 0.0, 0.5]), 0, np.array([0.4, 0.1]))
    after = move_points(points, more, NUMBERS)
    found = gem.compute_marginal(LAYOUT.slice_attributes(np.asarray(after.probabilities)), (0, 1))
    assert found == pytest.approx(PAIR.ravel(), abs=0.03)
    assert share_below(after, 0.5, 0) == pytest.approx(0.4, abs=0.04)


def nearest_by_sorting(rows):
    ordered = -np.sort(-rows, axis=1)
    ranks = np.arange(1, rows.shape[1] + 1)
    levels = (np.cumsum(ordered, axis=1) - 1) / ranks
    level = levels[np.arange(len(rows)), (ordered > levels).sum(axis=1) - 1]
    return np.maximum(rows - level[:, None], 0)


def test_the_way_back_to_the_simplex_is_the_shortest():
    layout, rng = AttributeLayout((1, 2, 42)), np.random.default_rng(1)
    moved = [
        rng.dirichlet(np.ones(size), 200) + rng.normal(0, 0.01, (200, size))
        for size in layout.sizes
    ]
    found = layout.slice_attributes(
        np.asarray(module._project_to_simplex(np.concatenate(moved, axis=1), layout))
    )
    for part, rows in zip(found, moved, strict=True):
        assert part == pytest.approx(nearest_by_sorting(rows), abs=1e-5)
