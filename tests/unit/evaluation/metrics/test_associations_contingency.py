"""Contingency tables: counted whole or sorted, the same; Cramer's V as scipy has it."""

import math

import numpy as np
import pytest
from scipy.stats.contingency import association

from tabpe.evaluation.metrics import associations as module
from tabpe.evaluation.metrics.associations import (
    compute_corrected_cramers_v,
    compute_cramers_v,
    compute_overlap,
    count_contingency,
)


def crossed(first, second, shape):
    table = np.zeros(shape, dtype=int)
    np.add.at(table, (first, second), 1)
    return table


@pytest.fixture(params=["whole", "sorted"])
def how(request, monkeypatch):
    if request.param == "sorted":
        monkeypatch.setattr(module, "_MOST_CELLS", 0)


@pytest.mark.usefixtures("how")
def test_it_counts_each_pair_of_codes():
    rng = np.random.default_rng(0)
    first, second = rng.integers(0, 5, 100), rng.integers(1, 4, 100)
    found = count_contingency(first, second, (5, 7))
    table = np.zeros(35, dtype=int)
    table[found.keys] = found.counts
    assert (table.reshape(5, 7) == crossed(first, second, (5, 7))).all()
    assert found.total == 100


@pytest.mark.usefixtures("how")
@pytest.mark.parametrize("rows", [5, 50, 5000])
def test_cramers_v_is_that_of_scipy(rows):
    rng = np.random.default_rng(rows)
    first = rng.integers(0, 3, rows)
    second = (first + rng.integers(0, 3, rows)) % 5
    table = crossed(first, second, (3, 5))
    table = table[np.ix_(table.any(axis=1), table.any(axis=0))]
    expected = association(table, method="cramer")
    assert compute_cramers_v(count_contingency(first, second, (9, 9))) == pytest.approx(
        expected, abs=1e-9
    )


def test_the_correction_is_that_of_bergsma():
    rng = np.random.default_rng(1)
    first = rng.integers(0, 4, 300)
    second = np.where(rng.random(300) < 0.5, first, rng.integers(0, 3, 300))
    n, r, k = 300, 4, 4
    phi = association(crossed(first, second, (4, 4)), method="cramer") ** 2 * 3
    smaller = min(r - (r - 1) ** 2 / (n - 1), k - (k - 1) ** 2 / (n - 1)) - 1
    expected = math.sqrt(max(0, phi - (k - 1) * (r - 1) / (n - 1)) / smaller)
    found = compute_corrected_cramers_v(count_contingency(first, second, (4, 4)))
    assert found == pytest.approx(expected, abs=1e-9)


def test_the_same_column_goes_together_with_itself():
    codes = np.random.default_rng(2).integers(0, 4, 300)
    assert compute_corrected_cramers_v(count_contingency(codes, codes, (4, 4))) == pytest.approx(
        1.0
    )


def test_of_a_column_with_a_category_for_each_row_nothing_can_be_told():
    every, some = np.arange(50), np.arange(50) % 2
    assert compute_corrected_cramers_v(count_contingency(every, some, (50, 2))) == 0.0


@pytest.mark.parametrize("measure", [compute_cramers_v, compute_corrected_cramers_v])
@pytest.mark.parametrize("rows", [0, 1, 10])
def test_a_constant_column_goes_together_with_nothing(measure, rows):
    constant, varies = np.zeros(rows, dtype=int), np.arange(rows)
    assert math.isnan(measure(count_contingency(constant, varies, (1, 10))))
    assert math.isnan(measure(count_contingency(varies, constant, (10, 1))))


@pytest.mark.usefixtures("how")
def test_overlap_is_one_less_total_variation():
    rng = np.random.default_rng(3)
    pairs = [rng.integers(0, 4, (2, rows)) for rows in (70, 30)]
    tables = [crossed(*pair, (4, 4)) / pair.shape[1] for pair in pairs]
    expected = 1 - np.abs(tables[0] - tables[1]).sum() / 2
    one, two = (count_contingency(*pair, (4, 4)) for pair in pairs)
    assert compute_overlap(one, two) == pytest.approx(expected)
    assert compute_overlap(one, one) == 1.0
