"""The sums of the fit: compiled or in numpy, the same bits."""

import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from awkward import examples
from tabpe import _native
from tabpe.evolve.fit import fitted, gather, scatter

search = _native.search
pytestmark = pytest.mark.skipif(search is None, reason="the native votes are not installed")

SCALES = {
    "alike": lambda rng, shape: rng.random(shape),
    "both signs": lambda rng, shape: rng.standard_normal(shape),
    "wide": lambda rng, shape: rng.choice([-1, 1], shape) * 10.0 ** rng.uniform(-300, 300, shape),
    "both zeros": lambda rng, shape: rng.choice([0.0, -0.0], shape),
    "denormal": lambda rng, shape: 2.0**-1074 * rng.integers(-9, 10, shape),
    "endless": lambda rng, shape: rng.choice([np.inf, 1.0, -1.0], shape),
}


@st.composite
def tables(draw):
    """Cells of rows, one to many columns, often the same cell several times in a row."""
    size = draw(st.sampled_from([1, 2, 3, 17, 500]))
    rows, columns = draw(st.integers(0, 200)), draw(st.sampled_from([0, 1, 2, 3, 8, 53, 130]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    cells = rng.integers(0, size, (rows, columns), dtype=np.int32)
    return cells, size, rng


def in_numpy(function, *arguments, **options):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_native, "search", None)
        return function(*arguments, **options)


def assert_same(found, right):
    assert (found.dtype, found.shape) == (right.dtype, right.shape)
    assert found.tobytes() == right.tobytes()


@pytest.mark.parametrize("scale", SCALES)
@given(table=tables())
@examples(60)
def test_sums_by_cell_are_those_of_numpy(scale, table):
    cells, size, rng = table
    weights = SCALES[scale](rng, len(cells))
    assert_same(search.scatter(cells, weights, size), in_numpy(scatter, cells, weights, size))


@pytest.mark.parametrize("scale", SCALES)
@given(table=tables())
@examples(60)
def test_sums_by_row_are_those_of_numpy(scale, table):
    cells, size, rng = table
    values = SCALES[scale](rng, (size, 2))
    assert_same(search.gather(cells, values), in_numpy(gather, cells, values))


@given(table=tables())
@examples(60)
def test_sums_are_added_row_by_row_and_left_to_right(table):
    """Numpy is not its own judge: additions one by one are."""
    cells, size, rng = table
    cells = cells[:20]
    weights, values = rng.standard_normal(len(cells)), rng.standard_normal((size, 2))
    by_cell, by_row = np.zeros(size), np.zeros((len(cells), 2))
    for row, places in enumerate(cells):
        for place in places:
            by_cell[place] += weights[row]
            by_row[row] += values[place]
    assert_same(search.scatter(cells, weights, size), by_cell)
    assert_same(search.gather(cells, values), by_row)


@given(table=tables())
@examples(60)
def test_a_fit_is_that_of_numpy(table):
    cells, size, rng = table
    task = cells, rng.normal(20, 9, size), rng.choice([0.0, 0.3, 2.0], size), rng.random(len(cells))
    options = {"even": 1.3, "pull": 0.2, "steps": 4}
    assert_same(fitted(*task, **options), in_numpy(fitted, *task, **options))


def test_the_order_of_rows_would_show():
    """Power: sums in another order have other bits, and the tests above would see it."""
    rng = np.random.default_rng(0)
    cells = rng.integers(0, 3, (200, 8), dtype=np.int32)
    weights, values = rng.random(200), rng.random((3, 2))
    backwards = search.scatter(np.ascontiguousarray(cells[::-1]), weights[::-1].copy(), 3)
    assert search.scatter(cells, weights, 3).tobytes() != backwards.tobytes()
    mirrored = np.ascontiguousarray(cells[:, ::-1])
    assert search.gather(cells, values).tobytes() != search.gather(mirrored, values).tobytes()


@pytest.mark.parametrize("place", [-1, 5, 2**31 - 1, -(2**31)])
@pytest.mark.parametrize("where", [(0, 0), (2, 1), (3, 2)])
def test_no_place_outside_is_read_or_written(place, where):
    cells = np.zeros((4, 3), dtype=np.int32)
    cells[where] = place
    with pytest.raises(ValueError, match="cells: expected places from 0"):
        search.scatter(cells, np.ones(4), 5)
    with pytest.raises(ValueError, match="cells: expected places from 0"):
        search.gather(cells, np.ones((5, 2)))


def test_wrong_shapes_are_refused():
    cells = np.zeros((4, 3), dtype=np.int32)
    with pytest.raises(ValueError, match="weights: expected one for each row"):
        search.scatter(cells, np.ones(3), 5)
    with pytest.raises(ValueError, match="size: expected at least 0"):
        search.scatter(cells, np.ones(4), -1)
    with pytest.raises(TypeError):
        search.gather(cells, np.ones((5, 3)))


def test_threads_do_not_disturb_each_other():
    rng = np.random.default_rng(2)
    cells = rng.integers(0, 50, (2000, 20), dtype=np.int32)
    weights = rng.random(2000)
    right, found = search.scatter(cells, weights, 50), []
    work = [
        threading.Thread(target=lambda: found.append(search.scatter(cells, weights, 50)))
        for _ in range(4)
    ]
    for each in work:
        each.start()
    for each in work:
        each.join()
    assert [one.tobytes() for one in found] == [right.tobytes()] * 4
