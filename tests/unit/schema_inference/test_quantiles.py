"""Quantiles by noisy counts: between the bounds, rising, on the grid, near those of the rows."""

import numpy as np
import pytest

from tabpe.schema import Float, Integer
from tabpe.schema_inference.bounds import (
    MOST_PARTS,
    PIECES,
    build_quantile_bins,
    estimate_quantiles,
)

COLUMNS = [
    Integer("x", 0, 10**6),
    Integer("x", -500, 20),
    Integer("x", 3, 4),
    Integer("x", 7, 7),
    Integer("x", 0, 2**53),
    Float("x", 0, 1000, 2),
    Float("x", -1e-3, 1e200),
    Float("x", 1e-200, 1e200),
]
every_column = pytest.mark.parametrize(
    "column", COLUMNS, ids=[f"{c.type_name} {c.min:g} to {c.max:g}" for c in COLUMNS]
)


@every_column
def test_pieces_rise_within_the_bounds(column):
    pieces = build_quantile_bins(column)
    assert pieces.count <= 2 * PIECES
    assert (np.diff(pieces.cuts) > 0).all()
    ends = np.array([column.min, column.max], dtype=np.float64)
    assert pieces.find_cells(ends).tolist() == [0, pieces.count - 1]
    outside = np.array([-np.inf, np.inf])
    assert pieces.find_cells(outside).tolist() == [0, pieces.count - 1]


@every_column
@pytest.mark.parametrize("sigma", [0.1, 30.0, 1e5])
@pytest.mark.parametrize("seed", range(3))
def test_whatever_the_noise_says_quantiles_rise_from_min_to_max(column, sigma, seed):
    counts = np.random.default_rng(seed).normal(5.0, sigma, build_quantile_bins(column).count)
    found = estimate_quantiles(column, counts, sigma)
    assert (found[0], found[-1]) == (column.min, column.max)
    assert (np.diff(found) > 0).all()
    assert len(found) <= MOST_PARTS + 1
    if column.decimals is not None:
        assert all(round(value, column.decimals) == value for value in found)


@pytest.mark.parametrize("rows", ["even", "skewed"])
def test_quantiles_are_near_those_of_the_rows(rows):
    rng = np.random.default_rng(0)
    values = {"even": rng.uniform(0, 1000, 50_000), "skewed": np.exp(rng.normal(2, 1, 50_000))}
    column = Float("x", 0, 1000, 2)
    pieces = build_quantile_bins(column)
    counts = np.bincount(pieces.find_cells(values[rows].clip(0, 1000)), minlength=pieces.count)
    found = estimate_quantiles(column, counts + rng.normal(0, 10.0, pieces.count), 10.0)
    ranks = np.searchsorted(np.sort(values[rows]), found[1:-1]) / 50_000
    np.testing.assert_allclose(ranks, np.arange(1, len(ranks) + 1) / (len(ranks) + 1), atol=0.03)
