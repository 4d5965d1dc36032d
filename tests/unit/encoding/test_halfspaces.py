"""Halfspaces: whether a row is inside depends on that row alone, to the last bit."""

import numpy as np
import pytest

from tabpe.encoding.halfspaces import Halfspaces, locate_halfspace
from tabpe.encoding.marginals import ListAxis
from tabpe.errors import TabpeError

WARD = ListAxis("ward", 0, (0, 1, 2))


def some(size=300, numbers=5, axis=None):
    return Halfspaces.draw_halfspaces(axis, size, numbers, np.random.default_rng(0))


def inside(halfspaces, numbers):
    """Return, in whole numbers throughout, which points are inside which halfspaces."""
    grid = np.rint(np.clip(numbers.astype(np.float64), 0, 1) * halfspaces.steps).astype(np.int64)
    return halfspaces.weights.astype(np.int64) @ grid.T <= halfspaces.limits[:, None]


def on_the_edge(halfspaces, points):
    """Return the halfspaces with limits at which a point lies exactly, or one step beyond it."""
    grid = np.rint(points * halfspaces.steps).astype(np.int64)
    sums = (halfspaces.weights.astype(np.int64) * grid[: len(halfspaces)]).sum(axis=1)
    beyond = np.arange(len(halfspaces)) % 2
    return Halfspaces(halfspaces.axis, halfspaces.weights, (sums - beyond).astype(np.int32))


@pytest.mark.parametrize("numbers", [1, 2, 7, 30, 196])
def test_counts_are_those_of_whole_numbers_even_on_the_edge(numbers):
    points = np.random.default_rng(1).random((1500, numbers))
    halfspaces = on_the_edge(some(numbers=numbers), points)
    counts = halfspaces.sum_masses(points, np.ones((1500, 1)))
    assert np.array_equal(counts[:, 0], inside(halfspaces, points).sum(axis=1))


@pytest.mark.parametrize("numbers", [3, 196])
def test_the_largest_sums_are_exact(numbers):
    weights = np.full((2, numbers), 127, dtype=np.int8)
    weights[1] = -127
    whole = some(1, numbers).steps * 127 * numbers
    edges = Halfspaces(None, np.repeat(weights, 2, axis=0), np.array([whole, whole - 1, -whole, 0]))
    counts = edges.sum_masses(np.ones((3, numbers)), np.ones((3, 1)))
    assert counts.ravel().tolist() == [3, 0, 3, 3]


def test_a_row_counts_alike_whatever_stands_beside_it():
    points = np.random.default_rng(2).random((2100, 7))
    halfspaces = on_the_edge(some(200, 7), points)
    together = halfspaces.sum_masses(points, np.eye(2100)[:, :150])
    for place in (0, 1, 149):
        alone = halfspaces.sum_masses(points[place : place + 1], np.ones((1, 1)))
        assert np.array_equal(together[:, place], alone[:, 0])


def test_one_row_more_moves_one_cell_of_each_halfspace_by_one_or_none():
    rng = np.random.default_rng(3)
    points, cells = rng.random((400, 4)), rng.integers(0, 3, 400)
    halfspaces = some(500, 4, WARD)
    masses = np.eye(3)[cells]
    moved = halfspaces.sum_masses(points, masses) - halfspaces.sum_masses(points[:-1], masses[:-1])
    assert np.array_equal(moved.sum(axis=1), inside(halfspaces, points[-1:])[:, 0])
    assert np.array_equal(np.delete(moved, cells[-1], axis=1), np.zeros((500, 2)))


def test_masses_of_distributions_are_sums_over_the_points_inside():
    rng = np.random.default_rng(4)
    points, masses = rng.random((50, 2)), rng.dirichlet(np.ones(3), 50)
    halfspaces = some(40, 2, WARD)
    expected = inside(halfspaces, points) @ masses
    assert halfspaces.sum_masses(points, masses) == pytest.approx(expected, abs=1e-4)


def test_there_may_be_no_points_and_no_halfspaces():
    assert some(3).sum_masses(np.zeros((0, 5)), np.zeros((0, 2))).tolist() == [[0, 0]] * 3
    assert some(0).sum_masses(np.zeros((4, 5)), np.zeros((4, 2))).shape == (0, 2)


def test_numbers_beyond_their_bounds_are_at_their_bounds():
    halfspaces = some(50, 2)
    outside, bounds = np.array([[-1.0, 2.0]]), np.array([[0.0, 1.0]])
    one = np.ones((1, 1))
    assert np.array_equal(halfspaces.sum_masses(outside, one), halfspaces.sum_masses(bounds, one))


def test_planes_are_the_same_halfspaces_for_numbers_from_0_to_1():
    points = np.random.default_rng(5).random((200, 5))
    halfspaces = some()
    planes = halfspaces.planes.astype(np.float64)
    smooth = planes[:, :-1] @ points.T <= planes[:, -1:]
    assert np.mean(smooth == inside(halfspaces, points)) > 0.999


def test_random_halfspaces_cut_through_the_cube():
    points = np.random.default_rng(6).random((500, 5))
    shares = some(2000).sum_masses(points, np.ones((500, 1)))[:, 0] / 500
    assert 0.25 < np.mean((shares > 0.02) & (shares < 0.98)) < 0.75


def test_what_would_not_be_exact_is_refused():
    with pytest.raises(TabpeError, match="weights"):
        Halfspaces(None, np.full((1, 2), -128, dtype=np.int8), np.zeros(1, np.int32))
    with pytest.raises(TabpeError, match="weights"):
        Halfspaces(None, np.full((1, 2), 1.5), np.zeros(1, np.int32))
    with pytest.raises(TabpeError, match="limits"):
        Halfspaces(None, np.ones((1, 2), dtype=np.int8), np.array([2**23 + 1]))


def test_places_count_through_all():
    asked = [some(3), some(0), some(2)]
    assert [locate_halfspace(asked, place) for place in range(5)] == [
        (0, 0),
        (0, 1),
        (0, 2),
        (2, 0),
        (2, 1),
    ]
