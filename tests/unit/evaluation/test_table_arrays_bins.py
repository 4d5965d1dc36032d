"""Edges of bins: everything has a place, and nearly everything is seen."""

import numpy as np
import pytest

from tabpe.evaluation.table_arrays import choose_edges, find_bins
from tabpe.schema import Float, Integer

BINS = 24


def shares(edges, cells):
    return np.bincount(find_bins(cells, edges), minlength=len(edges) - 1) / len(cells)


def test_without_cells_the_declared_range_is_divided():
    edges = choose_edges(Float("x", 0, 12), [], BINS)
    assert edges == pytest.approx(np.linspace(0, 12, BINS + 1))


def test_cells_outside_the_bounds_widen_the_range():
    edges = choose_edges(Float("x", 0, 1), [np.linspace(-1, 1, 50), np.linspace(0, 3, 50)], BINS)
    assert (edges[0], edges[-1]) == (-1, 3)


@pytest.mark.parametrize("high", [1, 5, BINS - 1])
def test_few_whole_numbers_get_a_bin_each(high):
    edges = choose_edges(Integer("x", 0, high), [], BINS)
    cells = np.arange(high + 1.0)
    assert find_bins(cells, edges).tolist() == list(range(high + 1))
    assert ((edges[:-1] + edges[1:]) / 2).tolist() == cells.tolist()


@pytest.mark.parametrize(("decimals", "scale"), [(0, 1), (1, 10), (2, 100)])
@pytest.mark.parametrize("most", [24, 25, 73, 1000])
def test_each_bin_holds_equally_many_values(decimals, scale, most):
    """Otherwise a flat column would look like a comb."""
    column = Float("x", 0, most / scale, decimals=decimals)
    cells = np.round(np.arange(most + 1) / scale, decimals)
    edges = choose_edges(column, [cells], BINS)
    counts = np.bincount(find_bins(cells, edges))
    assert len(counts) <= BINS
    assert len(set(counts[:-1])) == 1
    assert 0 < counts[-1] <= counts[0]


def test_a_fortune_does_not_hide_the_incomes():
    incomes = np.append(np.random.default_rng(0).uniform(0, 1000, 999), 1e9)
    edges = choose_edges(Float("x", 0, 1e9), [incomes], BINS)
    assert edges[-1] < 1100
    assert np.count_nonzero(shares(edges, incomes) > 0.02) >= 20


def test_a_sliver_is_shown_whole_if_there_is_nothing_beyond():
    cells = np.linspace(0, 100, 1000)
    edges = choose_edges(Float("x", -1e6, 1e6), [cells], BINS)
    assert (edges[0], edges[-1]) == (0, 100)


def test_what_one_table_spreads_over_is_shown_for_both():
    sliver, spread = np.linspace(0, 1, 100), np.linspace(0, 1000, 100)
    edges = choose_edges(Float("x", 0, 1000), [sliver, spread], BINS)
    assert (edges[0], edges[-1]) == (0, 1000)


def test_cells_that_are_nearly_all_equal_are_shown_in_the_declared_range():
    cells = np.append(np.zeros(999), 50.0)
    edges = choose_edges(Float("x", 0, 100), [cells], BINS)
    assert (edges[0], edges[-1]) == (0, 100)


AWKWARD = {
    "constant": (Float("x", 3, 3), [3.0]),
    "constant and large": (Float("x", 1e300, 1e300), [1e300]),
    "one step apart": (Float("x", 1, np.nextafter(1, 2)), [1.0]),
    "widest": (Float("x", -8e307, 8e307), [-1.7e308, 0.0, 1.7e308]),
    "far beyond the bounds": (Integer("x", 0, 10), [0.0, 1e300]),
    "far beyond decimals": (Float("x", 0, 1, decimals=12), [0.5, 1e15]),
    "denormal": (Float("x", 0, 1e-310), [0.0, 1e-320]),
    "largest whole numbers": (Integer("x", -(2**53), 2**53), [0.0, 5.0]),
    "not on the grid": (Integer("x", 0, 3), [0.5, 1.7]),
    "none": (Integer("x", 0, 3), []),
}


@pytest.mark.parametrize(("column", "cells"), AWKWARD.values(), ids=AWKWARD)
def test_awkward_numbers_get_bins_all_the_same(column, cells):
    edges = choose_edges(column, [np.array(cells)], BINS)
    assert np.isfinite(edges).all()
    assert (np.diff(edges) > 0).all()
    assert 1 <= len(edges) - 1 <= BINS
    assert set(find_bins(np.array(cells), edges)) <= set(range(len(edges) - 1))
