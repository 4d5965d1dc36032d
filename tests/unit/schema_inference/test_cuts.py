"""Cuts by noisy quantiles: on the grid, inside the bounds, rising, and near what they should be."""

import numpy as np
import pytest

from tabpe.encoding.raw_cells import ClampedBins
from tabpe.schema import Float, Integer, Schema
from tabpe.schema_inference.bounds import CELLS, CutGrid, count_rows_below, find_cuts

RNG = np.random.default_rng(0)
SIZE = 5000
COLUMNS = {
    "uniform": (Float("x", 0, 1), RNG.uniform(0, 1, SIZE)),
    "skewed": (Float("x", 0, 1e6, decimals=2), np.round(np.exp(RNG.normal(8, 1, SIZE)), 2)),
    "far from zero": (Float("x", 1e6, 1e6 + 50), RNG.uniform(1e6 + 20, 1e6 + 22, SIZE)),
    "heavy tail": (Float("x", 0, 1e7), 100 * RNG.pareto(1.0, SIZE)),
    "on both sides": (Float("x", -1e5, 1e5), RNG.normal(0, 3, SIZE)),
    "whole": (Integer("x", 0, 5000), RNG.integers(0, 5000, SIZE)),
    "dense whole": (Integer("x", 0, 60), RNG.integers(0, 61, SIZE)),
}


def counts_of(edges, values, sigma=0.0):
    counts = np.bincount(edges.find_cells(values), minlength=edges.count).astype(float)
    return counts + np.random.default_rng(1).normal(0, sigma, edges.count)


def cuts(column, values, classes=4, sigma=0.0):
    line = CutGrid(column)
    edges = line.even_bins
    if not line.is_resolved:
        edges = line.build_balanced_bins(edges, counts_of(edges, values, sigma))
        assert edges.count <= CELLS
    return find_cuts(line, edges, counts_of(edges, values, sigma), classes)


@pytest.mark.parametrize("kind", list(COLUMNS))
@pytest.mark.parametrize("classes", [2, 3, 4, 10])
def test_every_class_holds_about_as_many_rows(kind, classes):
    column, values = COLUMNS[kind]
    found = cuts(column, values, classes)
    assert len(found) == classes - 1
    below = [(values < cut).mean() for cut in found]
    assert below == pytest.approx(np.arange(1, classes) / classes, abs=2 / CELLS)
    assert Schema((column,), label="x", label_cuts=found).label_cuts == found


@pytest.mark.parametrize("kind", list(COLUMNS))
def test_cuts_are_allowed_whatever_the_noise(kind):
    column, values = COLUMNS[kind]
    for rows in (values, values[:0], values[:3]):
        found = cuts(column, rows, sigma=200.0)
        Schema((column,), label="x", label_cuts=found, label_classes=4)


@pytest.mark.parametrize(
    ("column", "values", "expected"),
    [
        (Integer("x", 5, 5), [5] * 100, ()),
        (Float("x", 5, 5), [5.0] * 100, ()),
        (Integer("x", 0, 100), [7] * 100, ()),
        (Float("x", 0, 100), [7.0] * 100, ()),
        (Float("x", 0, 100), [0.0] * 98 + [50.0, 60.0], ()),
        (Integer("x", 0, 100), [0] * 80 + [50] * 20, (1,)),
        (Integer("x", 0, 1), [0, 1] * 50, ()),
        (Integer("x", 0, 2), [0, 1, 2, 2] * 25, (1,)),
        (Integer("x", 0, 9), [1, 2, 3, 4] * 25, (2, 3, 4)),
        (Float("x", 0, 1, decimals=1), [0.1, 0.2, 0.3, 0.4] * 25, (0.2, 0.3, 0.4)),
    ],
    ids=[
        "constant bounds",
        "constant float bounds",
        "constant",
        "constant float",
        "nearly constant",
        "many zeros",
        "two values",
        "three values",
        "few values",
        "few decimals",
    ],
)
def test_values_that_do_not_divide_give_fewer_classes(column, values, expected):
    found = cuts(column, np.array(values, dtype=float))
    assert len(found) == len(expected)
    for cut, wanted in zip(found, expected, strict=True):
        between = (np.array(values) < cut) == (np.array(values) < wanted)
        assert between.all()


def test_every_number_is_in_one_bin_whatever_the_others_are():
    edges = ClampedBins((0.0, 1.0))
    values = np.array([-np.inf, -1.0, 0.0, 0.5, 1.0, np.inf])
    assert edges.find_cells(values).tolist() == [0, 0, 1, 1, 2, 2]
    assert [int(edges.find_cells(values[i : i + 1])[0]) for i in range(6)] == [0, 0, 1, 1, 2, 2]


def test_sums_of_noisy_counts_rise():
    below = count_rows_below(np.random.default_rng(0).normal(0, 10, 50))
    assert below[0] == 0
    assert (np.diff(below) >= 0).all()


def test_no_class_begins_at_a_bound_or_twice():
    found = CutGrid(Integer("x", 0, 100)).find_class_starts(
        np.array([-0.5, 2.4, 2.6, 98.7, 99.5, 200.0])
    )
    assert found.tolist() == [3.0, 99.0]
