"""Variations: the random walk of the paper, and the genetic operator."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare, kstest

from tabpe.encoding import Records, RecordSpace
from tabpe.encoding.records import draw_uniform_records
from tabpe.evolution import Evolution
from tabpe.evolution.proposals import cross_and_mutate, random_walk, vary_rows

MANY = 20_000
FAIR = 1e-4


def rng(seed=5):
    return np.random.default_rng(seed)


def space(low=(), high=(), steps=(), sizes=()):
    return RecordSpace(
        *(np.array(x, dtype=float) for x in (low, high, steps)), np.array(sizes, int)
    )


def repeated(numbers, codes, times=MANY):
    code_type = np.uint8
    return Records(np.tile(numbers, (times, 1)), np.tile(codes, (times, 1)).astype(code_type))


NUMBER = space([0], [1], [0])
CATEGORY = space(sizes=[5])


@pytest.mark.parametrize("rate", [0.02, 0.1])
def test_numbers_move_by_a_gaussian_of_the_rate(rate):
    moved = random_walk(repeated([[0.5]], np.empty((1, 0))), NUMBER, rate, rng())
    steps = moved.numbers[:, 0] - 0.5
    assert kstest(steps, "norm", args=(0, rate)).pvalue > FAIR
    assert kstest(steps, "norm", args=(0, rate * 1.1)).pvalue < FAIR


def test_uniform_steps_reach_the_rate_and_no_further():
    start = repeated([[0.5]], np.empty((1, 0)))
    moved = random_walk(start, NUMBER, 0.2, rng(), step="uniform")
    assert kstest(moved.numbers[:, 0], "uniform", args=(0.3, 0.4)).pvalue > FAIR
    assert np.abs(moved.numbers - 0.5).max() <= 0.2


def test_steps_scale_with_the_range_of_a_class():
    narrow = space([0.25], [0.75], [0])
    moved = random_walk(repeated([[0.5]], np.empty((1, 0))), narrow, 0.1, rng())
    assert moved.numbers.std() == pytest.approx(0.05, rel=0.03)


def test_what_leaves_the_range_is_projected_onto_its_border():
    moved = random_walk(repeated([[0.0]], np.empty((1, 0))), NUMBER, 0.1, rng())
    assert moved.numbers.min() == 0.0
    assert (moved.numbers == 0).mean() == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize("rate", [0.1, 0.5, 1.0])
def test_categories_are_redrawn_uniformly_over_the_whole_domain(rate):
    """A redrawn category may be the old one: each of the 5 has a chance of rate / 5."""
    moved = random_walk(repeated(np.empty((1, 0)), [[3]]), CATEGORY, rate, rng())
    expected = np.full(5, rate / 5) + (1 - rate) * (np.arange(5) == 3)
    counts = np.bincount(moved.codes[:, 0], minlength=5)
    assert chisquare(counts, expected * MANY).pvalue > FAIR


def test_categories_are_redrawn_one_by_one():
    where = space(sizes=[100, 100])
    moved = random_walk(repeated(np.empty((1, 0)), [[0, 0]]), where, 0.5, rng())
    changed = moved.codes != 0
    assert abs(np.corrcoef(changed.T)[0, 1]) < 0.03


@pytest.mark.parametrize("operator", ["random-walk", "genetic"])
def test_the_settings_choose_the_operator(operator):
    where = space([0], [1], [0], [3])
    rows = draw_uniform_records(where, 20, rng())
    direct = {"random-walk": random_walk, "genetic": cross_and_mutate}[operator]
    chosen = vary_rows(rows, where, 0.3, Evolution(operator=operator), rng())
    assert (chosen.numbers == direct(rows, where, 0.3, rng()).numbers).all()


def test_the_settings_choose_the_step():
    rows = repeated([[0.5]], np.empty((1, 0)))
    uniform = vary_rows(rows, NUMBER, 0.1, Evolution(step="uniform"), rng())
    assert np.abs(uniform.numbers - 0.5).max() <= 0.1


@st.composite
def spaces(draw):
    numeric, categorical = draw(st.integers(0, 3)), draw(st.integers(0, 3))
    steps = draw(st.lists(st.sampled_from([0, 1, 7, 1000]), min_size=numeric, max_size=numeric))
    constant = draw(st.lists(st.booleans(), min_size=numeric, max_size=numeric))
    sizes = draw(
        st.lists(st.sampled_from([1, 2, 255, 256, 257]), min_size=categorical, max_size=categorical)
    )
    high = [0.0 if flat else 1.0 for flat in constant]
    grid = [0 if flat else step for flat, step in zip(constant, steps, strict=True)]
    return space([0.0] * numeric, high, grid, sizes)


@given(
    where=spaces(),
    size=st.integers(0, 6),
    rate=st.floats(0, 1),
    config=st.sampled_from([Evolution(), Evolution(step="uniform"), Evolution(operator="genetic")]),
)
@settings(deadline=None, max_examples=150)
def test_variations_stay_in_the_space_and_on_its_grid(where, size, rate, config):
    rows = draw_uniform_records(where, size, rng())
    moved = vary_rows(rows, where, rate, config, rng(1))
    assert len(moved) == size
    assert moved.codes.dtype == rows.codes.dtype
    assert ((moved.numbers >= where.low) & (moved.numbers <= where.high)).all()
    assert (moved.codes < where.sizes).all()
    on_grid = moved.numbers[:, where.steps > 0] * where.steps[where.steps > 0]
    assert np.abs(on_grid - np.rint(on_grid)).max(initial=0) < 1e-9


@given(where=spaces(), step=st.sampled_from(["gaussian", "uniform"]))
@settings(deadline=None, max_examples=50)
def test_a_walk_of_rate_zero_stays(where, step):
    rows = draw_uniform_records(where, 5, rng())
    same = random_walk(rows, where, 0.0, rng(1), step=step)
    assert (same.numbers == rows.numbers).all()
    assert (same.codes == rows.codes).all()


def distinct_rows(size, numeric, categorical):
    """Rows that share no cell in any column."""
    codes = np.tile(np.arange(size)[:, None], (1, categorical)).astype(np.uint8)
    numbers = np.tile(np.arange(size)[:, None] / size, (1, numeric))
    return Records(numbers, codes)


@pytest.mark.parametrize(("numeric", "categorical"), [(2, 2), (3, 0), (0, 3)])
def test_crossover_takes_at_most_one_cell_and_from_another_row(numeric, categorical):
    size = 100
    where = space([0] * numeric, [1] * numeric, [0] * numeric, [size] * categorical)
    rows = distinct_rows(size, numeric, categorical)
    child = cross_and_mutate(rows, where, 0.0, rng())
    numbers, codes = child.numbers != rows.numbers, child.codes != rows.codes
    changed = numbers.sum(axis=1) + codes.sum(axis=1)
    assert set(changed.tolist()) <= {0, 1}
    assert changed.mean() > 0.9
    assert np.isin(child.numbers, rows.numbers).all()
    assert (codes.sum(axis=0) > 0).all()
    assert (numbers.sum(axis=0) > 0).all()


def test_full_mutation_redraws_every_attribute():
    where = space([0], [1], [0], [200])
    rows = repeated([[0.5]], [[7]])
    child = cross_and_mutate(rows, where, 1.0, rng())
    assert kstest(child.numbers[:, 0], "uniform").pvalue > FAIR
    assert chisquare(np.bincount(child.codes[:, 0], minlength=200)).pvalue > FAIR


def test_mutation_reaches_attributes_at_its_rate():
    child = cross_and_mutate(
        repeated([[0.5, 0.5]], [[7]]), space([0, 0], [1, 1], [0, 0], [200]), 0.3, rng()
    )
    changed = (child.numbers != 0.5).mean(axis=0)
    assert changed == pytest.approx([0.3, 0.3], abs=0.02)


def test_rows_that_are_varied_stay_as_they_were():
    where = space([0], [1], [0], [5])
    rows = draw_uniform_records(where, 30, rng())
    before = rows.numbers.copy(), rows.codes.copy()
    for operator in ("random-walk", "genetic"):
        vary_rows(rows, where, 1.0, Evolution(operator=operator), rng())
    assert (rows.numbers == before[0]).all()
    assert (rows.codes == before[1]).all()
