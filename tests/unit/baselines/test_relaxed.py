"""Relaxed rows: rows are a special case of them, and can be drawn from them."""

import itertools

import numpy as np
import pytest

from tabpe.baselines import gem
from tabpe.baselines.domain import Domain
from tabpe.baselines.gem import AttributeLayout
from tabpe.encoding.marginals import ListAxis

SIZES = (2, 3, 4, 1)
DOMAIN = Domain(tuple(ListAxis(str(s), j, tuple(range(s))) for j, s in enumerate(SIZES)), None)


def some_codes(rows=50):
    rng = np.random.default_rng(1)
    return np.stack([rng.integers(0, size, rows) for size in SIZES], axis=1)


def some_relaxed(points=20):
    rng = np.random.default_rng(2)
    return [rng.dirichlet(np.ones(size), points) for size in SIZES]


@pytest.mark.parametrize("degree", [1, 2, 3, 4])
def test_marginals_of_rows_are_their_exact_marginals(degree):
    codes = some_codes()
    rows = gem.encode_one_hot(codes, SIZES)
    for clique in itertools.combinations(range(len(SIZES)), degree):
        counts = DOMAIN.count_rows(codes, clique).ravel()
        assert gem.compute_marginal(rows, clique) * len(codes) == pytest.approx(counts, abs=1e-4)


@pytest.mark.parametrize("clique", [(0,), (1, 2), (0, 1, 2)])
def test_a_cell_is_the_average_of_the_products_of_its_values(clique):
    rows, layout = some_relaxed(), AttributeLayout(SIZES)
    together = np.concatenate(rows, axis=1)
    one_by_one = [together[:, cell].prod(axis=1).mean() for cell in layout.list_cells(clique)]
    assert gem.compute_marginal(rows, clique) == pytest.approx(np.array(one_by_one))


def test_a_layout_splits_what_stands_side_by_side():
    rows = some_relaxed()
    for part, found in zip(
        rows, AttributeLayout(SIZES).slice_attributes(np.concatenate(rows, axis=1)), strict=True
    ):
        assert np.array_equal(part, found)


def test_rows_drawn_from_rows_are_these_rows():
    codes = some_codes()
    drawn = gem.draw_rows(gem.encode_one_hot(codes, SIZES), np.arange(50), np.random.default_rng(3))
    assert np.array_equal(drawn, codes)


def test_drawn_values_have_their_probabilities():
    rows = [np.array([[0.2, 0.0, 0.8]])]
    drawn = gem.draw_rows(rows, np.zeros(10_000, dtype=np.int64), np.random.default_rng(4))
    assert np.bincount(drawn[:, 0]) / 10_000 == pytest.approx([0.2, 0.0, 0.8], abs=0.03)


def test_rounding_never_draws_a_value_without_mass_or_beyond_the_last():
    class Highest:
        def random(self, size):
            return np.full(size, np.nextafter(1.0, 0.0))

    rows = [np.array([[0.5, 0.5 - 1e-9, 0.0]], dtype=np.float32)]
    assert gem.draw_rows(rows, np.array([0]), Highest()).tolist() == [[1]]


@pytest.mark.parametrize("size", [0, 1, 5, 6, 17])
def test_points_are_used_in_turn(size):
    used = np.bincount(gem.cycle_points(5, size, np.random.default_rng(0)), minlength=5)
    assert used.sum() == size
    assert used.max() - used.min() <= 1
