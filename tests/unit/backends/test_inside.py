"""Rows in halfspaces: counted exactly, once, and by the cells of an axis."""

import numpy as np
import pytest

from tabpe.backends import CachedMarginalCounter
from tabpe.encoding import Records
from tabpe.encoding.halfspaces import Halfspaces
from tabpe.encoding.marginals import ListAxis

WARD, ILL = ListAxis("ward", 0, (0, 1, 1)), ListAxis("ill", None, (0, 1))


def batches(rows=2500, sizes=(1000, 1500)):
    rng = np.random.default_rng(0)
    numbers = rng.random((rows, 3), dtype=np.float32)
    codes = rng.integers(0, 3, (rows, 1)).astype(np.uint8)
    classes = rng.integers(0, 2, rows)
    places = np.split(np.arange(rows), np.cumsum(sizes)[:-1])
    return [(Records(numbers, codes).take(some), classes[some]) for some in places]


def halfspaces(axis):
    return Halfspaces.draw_halfspaces(axis, 400, 3, np.random.default_rng(1))


@pytest.mark.parametrize(
    ("axis", "cells"), [(None, 1), (WARD, 2), (ILL, 2)], ids=["all", "values", "classes"]
)
def test_counts_are_those_of_one_row_after_the_other(axis, cells):
    asked = halfspaces(axis)
    expected = np.zeros((400, cells))
    for rows, classes in batches():
        grid = np.rint(rows.numbers.astype(np.float64) * asked.steps).astype(np.int64)
        inside = asked.weights.astype(np.int64) @ grid.T <= asked.limits[:, None]
        on = np.zeros(len(rows), dtype=int) if axis is None else axis.find_cells(rows, classes)
        expected += inside @ np.eye(cells)[on]
    assert np.array_equal(CachedMarginalCounter(batches()).count_inside(asked), expected)


def test_batches_and_the_order_of_rows_do_not_matter():
    asked = halfspaces(WARD)
    parts = batches(sizes=(7, 1, 2492))
    one, other = CachedMarginalCounter(parts), CachedMarginalCounter(parts[::-1])
    assert np.array_equal(one.count_inside(asked), other.count_inside(asked))


def test_without_rows_there_is_nothing_inside():
    assert not CachedMarginalCounter([]).count_inside(halfspaces(WARD)).any()


def test_what_is_kept_can_not_be_changed():
    tables, asked = CachedMarginalCounter(batches()), halfspaces(None)
    first = tables.count_inside(asked)
    with pytest.raises(ValueError, match="read-only"):
        first[0] = 1
    assert tables.count_inside(asked) is first
