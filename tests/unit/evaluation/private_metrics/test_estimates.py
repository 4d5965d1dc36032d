"""From noisy counts to numbers with intervals that hold the truth."""

import numpy as np
import pytest

from tabpe.evaluation.private_metrics.estimates import (
    NoisyTotal,
    compute_band,
    estimate_accuracy,
    estimate_difference,
    estimate_macro_f1,
    estimate_shares,
    estimate_total,
)

SIGMA, ROWS, TRIES = 20.0, 4_000, 4_000
RNG = np.random.default_rng(0)
REAL = RNG.multinomial(ROWS, np.arange(1, 11) / 55)
SHARES = np.full(10, 0.1)
MISTAKES = np.array([[1500.0, 500.0], [250.0, 1750.0]])


def noisy(exact):
    return exact + RNG.normal(0, SIGMA, (TRIES, *exact.shape))


def covered(truth, intervals):
    """How often an interval holds the truth."""
    return np.mean([abs(truth - value) <= margin for value, margin in intervals])


def test_the_number_of_rows_lies_in_its_interval_as_often_as_guaranteed():
    """A binomial of 4,000 tries strays by more than 2% from 95% once in 10^8."""
    tables = zip(noisy(REAL), noisy(MISTAKES), strict=True)
    found = [estimate_total(list(pair), SIGMA).interval for pair in tables]
    assert 0.93 < covered(ROWS, found) < 0.97


def test_sums_of_fewer_cells_weigh_more():
    one, many = np.array([100.0]), np.full(99, 2.0)
    assert estimate_total([one, many], 1.0).value == pytest.approx(100.98)
    assert estimate_total([one], 1.0).deviation == 1.0


def test_the_number_of_rows_is_at_least_one():
    assert estimate_total([np.array([-50.0])], 1.0).value == 1.0


@pytest.mark.parametrize("others", [0, 1, 3])
@pytest.mark.parametrize("exact", [MISTAKES, np.array([750.0, 3250.0])], ids=["table", "right"])
def test_accuracy_lies_in_its_interval_as_often_as_guaranteed(exact, others):
    """Whichever other tables the number of rows is known from."""
    known = [noisy(REAL) for _ in range(others)]
    found = [
        estimate_accuracy(one, estimate_total([one, *besides], SIGMA), SIGMA)
        for one, *besides in zip(noisy(exact), *known, strict=True)
    ]
    assert 0.93 < covered(3250 / 4000, found) < 0.97


def test_of_wrong_and_right_the_right_ones_are_counted():
    value, margin = estimate_accuracy(np.array([25.0, 75.0]), NoisyTotal(100.0, 0.0), 5.0)
    assert (value, margin) == (0.75, pytest.approx(1.96 * 5 / 100))


def test_differences_are_within_their_margin_of_the_truth():
    truth = np.abs(REAL / ROWS - SHARES).sum() / 2
    found = [
        estimate_difference(("x",), one, SHARES, estimate_total([one], SIGMA), SIGMA)
        for one in noisy(REAL)
    ]
    assert covered(truth, [(one.estimate, one.margin) for one in found]) > 0.95


def test_equal_tables_differ_by_the_floor_on_average():
    found = [
        estimate_difference(("x",), one, REAL / ROWS, NoisyTotal(ROWS, 0.0), SIGMA)
        for one in noisy(REAL)
    ]
    mean = np.mean([one.estimate for one in found])
    assert mean == pytest.approx(found[0].floor, rel=0.02)
    assert covered(0.0, [(one.estimate, one.margin) for one in found]) > 0.95


def test_a_share_lies_in_its_band_as_often_as_guaranteed():
    band = compute_band(NoisyTotal(ROWS, 0.0), SIGMA)
    off = np.abs(noisy(REAL) / ROWS - REAL / ROWS)
    assert 0.94 < np.mean(off <= band) < 0.96


def test_what_noise_drowns_has_margins_of_one_and_no_more():
    drowned = NoisyTotal(1.0, 100.0)
    found = estimate_difference(("x",), np.array([5.0, -9.0]), SHARES[:2], drowned, 100.0)
    assert (found.estimate, found.floor, found.margin) == (1.0, 1.0, 1.0)
    assert estimate_accuracy(np.array([5.0, -9.0]), drowned, 100.0) == (0.0, 1.0)
    assert compute_band(drowned, 100.0) == 1.0


def test_shares_of_nothing_are_zero():
    assert estimate_shares(np.array([-1.0, -2.0])).tolist() == [0.0, 0.0]


def test_macro_f1_is_that_of_the_table_of_mistakes():
    from sklearn.metrics import f1_score

    classes = np.repeat([0, 0, 1, 1], MISTAKES.ravel().astype(int))
    predicted = np.repeat([0, 1, 0, 1], MISTAKES.ravel().astype(int))
    expected = f1_score(classes, predicted, average="macro")
    assert estimate_macro_f1(MISTAKES) == pytest.approx(expected)


def test_macro_f1_of_nothing_is_unknown():
    assert estimate_macro_f1(np.full((2, 2), -1.0)) is None
    assert estimate_macro_f1(np.array([3.0, 4.0])) is None
