"""Correlations of many columns: those of scipy, pair by pair."""

import warnings

import numpy as np
import pytest
from scipy import stats

from tabpe.evaluation.metrics import associations
from tabpe.evaluation.metrics.associations import compute_pearson, standardize_column


def pair_by_pair(columns):
    size = len(columns)
    matrix = np.full((size, size), np.nan)
    for i in range(size):
        for j in range(size):
            both = ~(np.isnan(columns[i]) | np.isnan(columns[j]))
            if both.sum() > 1:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", stats.ConstantInputWarning)
                    matrix[i, j] = stats.pearsonr(columns[i][both], columns[j][both])[0]
    return matrix


def related(rng, columns, rows):
    return list(rng.normal(size=(columns, columns)) @ rng.normal(size=(columns, rows)))


@pytest.mark.parametrize("nulls", [0.0, 0.1, 0.9])
@pytest.mark.parametrize("rows", [2, 3, 30, 500])
def test_it_is_that_of_each_pair_by_itself(rows, nulls):
    rng = np.random.default_rng(rows)
    columns = related(rng, 6, rows)
    columns = [np.where(rng.random(rows) < nulls, np.nan, column) for column in columns]
    assert compute_pearson(columns) == pytest.approx(pair_by_pair(columns), abs=1e-9, nan_ok=True)


def test_blocks_of_rows_add_up(monkeypatch):
    columns = related(np.random.default_rng(0), 4, 100)
    whole = compute_pearson(columns)
    monkeypatch.setattr(associations, "_ROWS_AT_ONCE", 7)
    assert compute_pearson(columns) == pytest.approx(whole, abs=1e-12)


@pytest.mark.parametrize("scale", [1e-320, 1e-200, 1.0, 1e200, 1e307])
def test_the_size_of_numbers_does_not_matter(scale):
    rng = np.random.default_rng(1)
    one, two = rng.integers(0, 9, (2, 50)).astype(float)
    expected = stats.pearsonr(one, two)[0]
    assert compute_pearson([one * scale, two])[0, 1] == pytest.approx(expected, abs=1e-3)


def test_numbers_far_from_zero_keep_their_correlation():
    rng = np.random.default_rng(2)
    one = rng.integers(0, 100, 200).astype(float)
    two = one + rng.integers(0, 100, 200)
    far = compute_pearson([one + 1e12, two + 1e12])
    assert far == pytest.approx(compute_pearson([one, two]), abs=1e-12)


def test_rows_that_are_left_may_be_far_from_the_mean_of_all():
    rng = np.random.default_rng(3)
    near, far = rng.integers(0, 9, 20).astype(float), 1e12 * rng.random(20)
    one = np.concatenate([near, far])
    two = np.concatenate([near**2, np.full(20, np.nan)])
    assert compute_pearson([one, two])[0, 1] == pytest.approx(
        stats.pearsonr(near, near**2)[0], abs=1e-9
    )


def test_a_column_that_does_not_vary_has_none():
    rng = np.random.default_rng(4)
    varies = rng.random(10)
    matrix = compute_pearson([varies, np.full(10, 0.1), np.full(10, np.nan)])
    assert matrix[0, 0] == 1
    assert np.isnan(matrix).sum() == 8


def test_a_column_that_varies_only_where_the_other_is_null_has_none():
    one = np.array([0.1, 0.1, 0.1, 5.0, 6.0])
    two = np.array([1.0, 2.0, 3.0, np.nan, np.nan])
    assert np.isnan(compute_pearson([one, two])[0, 1])


@pytest.mark.parametrize("columns", [[], [np.array([])], [np.array([]), np.array([])]])
def test_without_cells_there_is_nothing(columns):
    matrix = compute_pearson(columns)
    assert matrix.shape == (len(columns), len(columns))
    assert np.isnan(matrix).all()


def test_numbers_a_few_roundings_apart_are_centred_all_the_same():
    apart = 1 + np.finfo(float).eps * np.random.default_rng(5).integers(0, 4, 101)
    assert abs(standardize_column(apart).mean()) < 1e-12
