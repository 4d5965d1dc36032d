"""The part of delta that is charged for noise that is not what the spends are composed for."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tabpe.accounting import ROW_LEVEL, Adjacency, NeighboringRelation
from tabpe.accounting.delta import LARGEST_SHARE, compute_sampling_delta, subtract_sampling_delta
from tabpe.accounting.neighboring import FIXED_POINT_SAMPLING_ERROR
from tabpe.errors import ParameterError


@pytest.mark.parametrize("adjacency", Adjacency)
@pytest.mark.parametrize("max_rows", [1, 10])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
def test_every_cell_that_a_user_can_change_is_charged_on_both_tables(epsilon, max_rows, adjacency):
    neighbours = NeighboringRelation(adjacency, max_rows)
    cells = max_rows * (2 if adjacency is Adjacency.REPLACE_ONE else 1)
    expected = (1 + math.e**epsilon) * 16 * cells * FIXED_POINT_SAMPLING_ERROR
    assert compute_sampling_delta(16, epsilon, neighbours) == pytest.approx(expected)


@pytest.mark.parametrize("adjacency", Adjacency)
def test_noise_for_rows_costs_nothing_even_at_the_largest_epsilon(adjacency):
    assert compute_sampling_delta(15, 1e4, NeighboringRelation(adjacency)) == 0
    assert subtract_sampling_delta(0.1 + 0.2, 0.0) == 0.1 + 0.2


@given(delta=st.floats(1e-11, 0.99), part=st.floats(1e-40, LARGEST_SHARE * 0.999))
@settings(deadline=None)
def test_what_is_left_and_the_sampling_error_are_never_more_than_delta(delta, part):
    sampling_error = delta * part
    assert Fraction(subtract_sampling_delta(delta, sampling_error)) + Fraction(
        sampling_error
    ) <= Fraction(delta)


@pytest.mark.parametrize(
    ("delta", "sampling_error"), [(1e-6, 1.01e-8), (1e-6, 1.0), (1e-6, math.inf), (1e-12, 1e-30)]
)
def test_a_sampling_error_too_large_is_refused_with_the_way_out(delta, sampling_error):
    with pytest.raises(ParameterError, match=r"unit: .*max_rows_per_user"):
        subtract_sampling_delta(delta, sampling_error)


def discrete_gaussian(sigma, reach=40):
    weights = np.exp(-(np.arange(-reach, reach + 1) ** 2) / (2 * sigma**2))
    return weights / weights.sum()


def delta_at(epsilon, noise, rounds):
    """The smallest delta of `rounds` counts that differ by one, by summing over all outcomes."""
    one, other = np.append(noise, 0.0), np.append(0.0, noise)
    with_row, without = one, other
    for _ in range(rounds - 1):
        with_row, without = np.outer(with_row, one).ravel(), np.outer(without, other).ravel()
    factor = math.exp(epsilon)
    return max(
        np.maximum(with_row - factor * without, 0).sum(),
        np.maximum(without - factor * with_row, 0).sum(),
    )


@pytest.mark.parametrize("rounds", [1, 2])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("grain", [2.0**-6, 2.0**-10])
def test_noise_from_a_coarse_table_keeps_the_guarantee_with_its_sampling_error(
    monkeypatch, grain, epsilon, rounds
):
    """Probabilities are rounded down but for that of zero, on a grid so coarse that it shows."""
    ideal = discrete_gaussian(2.0)
    coarse = np.floor(ideal / grain) * grain
    coarse[len(coarse) // 2] += 1 - coarse.sum()
    sampling_error = np.abs(coarse - ideal).sum() / 2
    monkeypatch.setattr(NeighboringRelation, "sampling_error", sampling_error)
    charged = compute_sampling_delta(rounds, epsilon, ROW_LEVEL)
    exact, real = delta_at(epsilon, ideal, rounds), delta_at(epsilon, coarse, rounds)
    assert exact < real <= exact + charged + 1e-12
