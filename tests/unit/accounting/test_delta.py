"""The default delta when the number of rows is declared or noisy."""

import contextlib
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tabpe.accounting.delta import FEWEST_ROWS, MISS_PROBABILITY, RowCount
from tabpe.errors import ParameterError


def true_delta(rows):
    return 1 / (rows * math.log(rows))


@given(
    rows=st.integers(FEWEST_ROWS, 10**9),
    sigma=st.floats(0.3, 1e4),
    cells=st.integers(1, 500),
    offset=st.floats(-1, 1),
)
@settings(deadline=None, max_examples=300)
def test_noise_is_calibrated_below_and_stated_above_the_true_delta(rows, sigma, cells, offset):
    margin = RowCount.from_noisy_counts(0, sigma=sigma, cells=cells).margin
    count = RowCount.from_noisy_counts(rows + offset * margin, sigma=sigma, cells=cells)
    assert count.calibration_delta <= true_delta(rows) * (1 + 1e-12)
    with contextlib.suppress(ParameterError):  # a table too small, see below
        assert count.guaranteed_delta >= true_delta(rows) * (1 - 1e-12)


@pytest.mark.parametrize("rows", [1_000, 7_152, 10**8])
def test_a_usual_table_gets_a_delta_close_to_the_true_one(rows):
    count = RowCount.from_noisy_counts(rows, sigma=25, cells=1)
    assert true_delta(rows) < count.guaranteed_delta < 2 * true_delta(rows)
    assert count.calibration_delta > true_delta(rows) / 2


@given(margin_share=st.floats(0.01, 0.4))
@settings(deadline=None)
def test_the_stated_delta_holds_for_a_neighbour_with_one_row_less_too(margin_share):
    """At the farthest that the noise may be off, where nothing is left to spare."""
    count = RowCount(estimate=5000 * (1 + margin_share), margin=5000 * margin_share)
    assert count.guaranteed_delta >= true_delta(5000 - 1)


@given(sigma=st.floats(0.3, 1e4), cells=st.integers(1, 500))
@settings(deadline=None, max_examples=100)
def test_the_margin_is_missed_with_probability_below_the_stated_one(sigma, cells):
    margin = RowCount.from_noisy_counts(0, sigma=sigma, cells=cells).margin
    spread = sigma * math.sqrt(cells)
    assert math.erfc(margin / spread / math.sqrt(2)) / 2 <= MISS_PROBABILITY


@pytest.mark.parametrize("rows", [20, 7152, 10**8])
def test_a_declared_number_gives_delta_at_once(rows):
    count = RowCount.from_declared(rows)
    assert count.is_declared
    assert count.calibration_delta == count.guaranteed_delta == true_delta(rows)


def test_a_noisy_number_is_not_declared():
    assert not RowCount.from_noisy_counts(7152, sigma=25, cells=10).is_declared


@pytest.mark.parametrize("total", [-50, 0, 19, 100])
def test_a_table_too_small_for_a_noisy_delta_is_refused_with_the_way_out(total):
    count = RowCount.from_noisy_counts(total, sigma=25, cells=10)
    with pytest.raises(ParameterError, match="public_rows") as caught:
        _ = count.guaranteed_delta
    assert "delta" in str(caught.value)


@pytest.mark.parametrize("total", [-1000, 0, 5])
def test_calibration_survives_a_noisy_number_below_zero(total):
    assert 0 < RowCount.from_noisy_counts(total, sigma=1, cells=1).calibration_delta < 1
