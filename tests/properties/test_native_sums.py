"""The sums and products of the fit: compiled or in numpy, the same bits."""

import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from awkward import examples
from tabpe import native
from tabpe.evolution.evidence import CellCounts, fit_weights, scale_weights, sum_by_cell

search = native.search
pytestmark = pytest.mark.skipif(search is None, reason="the native votes are not installed")

SCALES = {
    "alike": lambda rng, shape: rng.random(shape),
    "both signs": lambda rng, shape: rng.standard_normal(shape),
    "wide": lambda rng, shape: rng.choice([-1, 1], shape) * 10.0 ** rng.uniform(-300, 300, shape),
    "both zeros": lambda rng, shape: rng.choice([0.0, -0.0], shape),
    "denormal": lambda rng, shape: 2.0**-1074 * rng.integers(-9, 10, shape),
    "endless": lambda rng, shape: rng.choice([np.inf, 1.0, -1.0], shape),
}
LINES = [0, 1, 2, 3, 8, 53, 130]


@st.composite
def tables(draw):
    """Cells of rows, in one to many lines, often the same cell several times in a row."""
    size = draw(st.sampled_from([1, 2, 3, 17, 500]))
    shape = draw(st.sampled_from(LINES)), draw(st.integers(0, 200))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    return rng.integers(0, size, shape, dtype=np.int32), size, rng


def in_numpy(function, *arguments, **options):
    with pytest.MonkeyPatch.context() as patch, np.errstate(over="ignore"):
        patch.setattr(native, "search", None)
        return function(*arguments, **options)


def assert_same(found, right):
    assert (found.dtype, found.shape) == (right.dtype, right.shape)
    assert found.tobytes() == right.tobytes()


@pytest.mark.parametrize("scale_of_weights", SCALES)
@given(table=tables())
@examples(60)
def test_sums_by_cell_are_those_of_numpy(scale_of_weights, table):
    cells, size, rng = table
    weights = SCALES[scale_of_weights](rng, cells.shape[1])
    assert_same(search.scatter(cells, weights, size), in_numpy(sum_by_cell, cells, weights, size))


@pytest.mark.parametrize("scale_of_both", SCALES)
@given(table=tables())
@examples(60)
def test_products_by_row_are_those_of_numpy(scale_of_both, table):
    cells, size, rng = table
    weights, factors = (SCALES[scale_of_both](rng, count) for count in (cells.shape[1], size))
    assert_same(
        search.scale(cells, weights, factors), in_numpy(scale_weights, cells, weights, factors)
    )


@given(table=tables())
@examples(60)
def test_one_after_the_other_is_added_and_multiplied_line_by_line(table):
    """Numpy is not its own judge: additions and products one by one are."""
    cells, size, rng = table
    cells = np.ascontiguousarray(cells[:, :20])
    weights, factors = rng.standard_normal(cells.shape[1]), rng.standard_normal(size)
    by_cell, by_row = np.zeros(size), weights.copy()
    for line in cells:
        for row, place in enumerate(line):
            by_cell[place] += weights[row]
            by_row[row] *= factors[place]
    assert_same(search.scatter(cells, weights, size), by_cell)
    assert_same(search.scale(cells, weights, factors), by_row)


@given(
    lines=st.lists(st.sampled_from(LINES), max_size=4),
    rows=st.integers(0, 200),
    seed=st.integers(0, 2**32),
)
@examples(60)
def test_a_fit_is_that_of_numpy(lines, rows, seed):
    rng = np.random.default_rng(seed)
    measured = []
    for width in lines:
        size = int(rng.choice([1, 2, 17, 500]))
        cells = rng.integers(0, size, (width, rows), dtype=np.int32)
        precisions = rng.choice([0.0, 0.3, 2.0], size)
        measured.append(CellCounts(cells, rng.normal(20, 9, size), precisions))
    options = {"even": 1.3, "pull": 0.2, "sweeps": 4}
    assert_same(
        fit_weights(measured, rows, **options), in_numpy(fit_weights, measured, rows, **options)
    )


def test_the_order_would_show():
    """Power: in another order the bits are others, and the tests above would see it."""
    rng = np.random.default_rng(0)
    cells = rng.integers(0, 3, (8, 200), dtype=np.int32)
    weights, factors = rng.random(200), rng.random(3)
    right = search.scatter(cells, weights, 3).tobytes()
    right_to_left = np.ascontiguousarray(cells[:, ::-1])
    assert search.scatter(right_to_left, weights[::-1].copy(), 3).tobytes() != right
    row_by_row = np.ascontiguousarray(cells.T.reshape(1, -1))
    assert search.scatter(row_by_row, np.repeat(weights, 8), 3).tobytes() != right
    last_line_first = np.ascontiguousarray(cells[::-1])
    assert search.scatter(last_line_first, weights, 3).tobytes() != right
    right = search.scale(cells, weights, factors).tobytes()
    assert search.scale(last_line_first, weights, factors).tobytes() != right
    factors_first = weights * np.prod(factors[cells], axis=0)
    assert factors_first.tobytes() != right


@pytest.mark.parametrize("place", [-1, 5, 2**31 - 1, -(2**31)])
@pytest.mark.parametrize("where", [(0, 0), (1, 2), (2, 3)])
def test_no_place_outside_is_read_or_written(place, where):
    cells = np.zeros((3, 4), dtype=np.int32)
    cells[where] = place
    for refuse in (lambda function, *given: function(*given), in_numpy):
        with pytest.raises(ValueError, match="cells: expected"):
            refuse(sum_by_cell, cells, np.ones(4), 5)
        with pytest.raises(ValueError, match="cells: expected"):
            refuse(scale_weights, cells, np.ones(4), np.ones(5))


def test_without_cells_no_place_is_one():
    cells = np.zeros((1, 1), dtype=np.int32)
    with pytest.raises(ValueError, match="cells: expected"):
        search.scatter(cells, np.ones(1), 0)
    with pytest.raises(ValueError, match="cells: expected"):
        search.scale(cells, np.ones(1), np.ones(0))


@pytest.mark.parametrize("count", [0, 3, 5, 12])
def test_weights_are_one_for_each_row(count):
    cells = np.zeros((3, 4), dtype=np.int32)
    with pytest.raises(ValueError, match="weights: expected one for each row"):
        search.scatter(cells, np.ones(count), 5)
    with pytest.raises(ValueError, match="weights: expected one for each row"):
        search.scale(cells, np.ones(count), np.ones(5))


def test_wrong_shapes_are_refused():
    cells = np.zeros((3, 4), dtype=np.int32)
    with pytest.raises(ValueError, match="size: expected at least 0"):
        search.scatter(cells, np.ones(4), -1)
    with pytest.raises(TypeError):
        search.scatter(cells[0], np.ones(4), 5)
    with pytest.raises(TypeError):
        search.scale(cells, np.ones(4), np.ones((5, 2)))
    with pytest.raises(TypeError):
        search.scale(cells, np.ones((4, 1)), np.ones(5))


def test_weights_and_factors_that_are_given_stay_as_they_are():
    cells = np.array([[0, 1], [1, 1]], dtype=np.int32)
    weights, factors = np.array([1.0, 5.0]), np.array([2.0, 3.0])
    for found in (
        scale_weights(cells, weights, factors),
        in_numpy(scale_weights, cells, weights, factors),
    ):
        assert found.tolist() == [6, 45]
        assert not np.shares_memory(found, weights)
        assert (weights.tolist(), factors.tolist()) == ([1, 5], [2, 3])


def test_threads_do_not_disturb_each_other():
    rng = np.random.default_rng(2)
    cells = rng.integers(0, 50, (20, 2000), dtype=np.int32)
    weights, factors = rng.random(2000), rng.random(50)

    def both():
        sums, products = search.scatter(cells, weights, 50), search.scale(cells, weights, factors)
        return sums.tobytes() + products.tobytes()

    right, found = both(), []
    work = [threading.Thread(target=lambda: found.append(both())) for _ in range(4)]
    for each in work:
        each.start()
    for each in work:
        each.join()
    assert found == [right] * 4
