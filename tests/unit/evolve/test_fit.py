"""The fit of a pool's weights to noisy counts."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize, nnls
from scipy.special import xlogy

from tabpe.evolve.fit import fitted, gather, scatter


@dataclass(frozen=True)
class Task:
    """What there is to fit, but for where to begin."""

    cells: np.ndarray
    targets: np.ndarray
    precisions: np.ndarray
    even: float = 1.0
    pull: float = 0.1

    def fitted(self, begin=None, steps=1):
        """The logarithms of the weights after so many steps, from even ones unless told."""
        begin = np.full(len(self.cells), self.even) if begin is None else begin
        options = {"even": self.even, "pull": self.pull, "steps": steps}
        return fitted(self.cells, self.targets, self.precisions, begin, **options)

    def predicted(self, weights):
        """The counts of a weighted pool."""
        counts = np.zeros(len(self.targets))
        np.add.at(counts, self.cells, weights[:, None])
        return counts

    def terms(self, weights):
        """What the fit minimises the sum of."""
        errors = self.precisions * (self.targets - self.predicted(weights)) ** 2 / 2
        entropies = self.pull * (xlogy(weights, weights) - weights * (1 + self.even))
        return np.concatenate([errors, entropies])

    def slopes(self, weights):
        """The derivative of that sum by each weight."""
        residuals = (self.targets - self.predicted(weights)) * self.precisions
        return self.pull * (np.log(weights) - self.even) - residuals[self.cells].sum(axis=1)


def task(seed, rows=30, columns=4, size=12, **fields):
    """Cells at random, some of them several times in a row; a few targets are below 0."""
    rng = np.random.default_rng(seed)
    cells = rng.integers(0, size, (rows, columns)).astype(np.int32)
    targets = rng.normal(10, 15, size)
    return Task(cells, targets, rng.choice([0.0, 0.1, 1.0, 4.0], size), **fields)


def one_table(targets, **fields):
    """A row in each cell of one table."""
    cells = np.arange(len(targets), dtype=np.int32)[:, None]
    return Task(cells, np.array(targets), np.ones(len(targets)), **fields)


def test_weights_become_the_counts_where_each_row_has_a_cell():
    found = one_table([3.0, 40.0, 0.5], pull=1e-9).fitted(steps=60)
    assert np.exp(found) == pytest.approx([3, 40, 0.5], rel=1e-6)


def test_weights_are_recovered_from_tables_that_tell_all_rows_apart():
    rng = np.random.default_rng(1)
    truth = rng.gamma(2, 5, 12)
    cells = np.array([[i, 4 + j] for i in range(4) for j in range(3)], dtype=np.int32)
    cells = np.concatenate([cells, 7 + rng.permuted(np.arange(12) % 6)[:, None]], axis=1)
    cells = np.concatenate([cells, 13 + rng.permuted(np.arange(12) % 7)[:, None]], axis=1)
    whole = Task(cells.astype(np.int32), np.zeros(20), np.ones(20), pull=1e-9)
    assert np.linalg.matrix_rank(np.stack([whole.predicted(row) for row in np.eye(12)])) == 12
    found = replace(whole, targets=whole.predicted(truth)).fitted(steps=20_000)
    assert np.exp(found) == pytest.approx(truth, rel=1e-3)


@pytest.mark.parametrize("seed", range(8))
def test_steps_end_at_the_minimum(seed):
    """It is where the slopes of a convex sum are 0; another solver gets no lower."""
    small = task(seed, even=0.5 + seed / 4, pull=1 + seed / 2)
    begin = np.full(30, np.exp(small.even))
    bounds = [(1e-12, None)] * 30
    other = minimize(lambda w: small.terms(w).sum(), begin, jac=small.slopes, bounds=bounds)
    found = np.exp(small.fitted(steps=3_000))
    assert small.slopes(found) == pytest.approx(np.zeros(30), abs=1e-6)
    assert small.terms(found).sum() <= other.fun + 1e-9 * np.abs(small.terms(found)).sum()


@pytest.mark.parametrize("seed", range(8))
def test_with_hardly_a_pull_they_end_at_least_squares(seed):
    loose = task(seed, rows=8, size=20, pull=1e-9)
    scales = np.sqrt(loose.precisions)
    sums = np.stack([loose.predicted(row) for row in np.eye(8)], axis=1)
    least, _ = nnls(sums * scales[:, None], loose.targets * scales)
    found = np.exp(loose.fitted(steps=5_000))
    assert found == pytest.approx(least, abs=1e-2)


def test_where_they_end_does_not_depend_on_where_they_begin():
    small = task(11, pull=1.0)
    far = np.random.default_rng(0).normal(0, 4, 30)
    assert small.fitted(far, steps=3_000) == pytest.approx(small.fitted(steps=3_000), abs=1e-6)


@given(
    seed=st.integers(0, 2**32),
    shape=st.tuples(st.integers(1, 20), st.integers(1, 6), st.integers(1, 9)),
    scale=st.sampled_from([0.01, 1.0, 100.0, 1e4]),
    pull=st.sampled_from([1e-6, 0.1, 1.0, 1e3]),
)
@settings(deadline=None, max_examples=200)
def test_no_step_is_for_the_worse(seed, shape, scale, pull):
    wild = task(seed, *shape, pull=pull)
    wild = replace(wild, targets=wild.targets * scale)
    at = np.random.default_rng(seed).normal(0, 3, shape[0])
    before = wild.terms(np.exp(at))
    for _ in range(30):
        at = wild.fitted(at)
        after = wild.terms(np.exp(at))
        assert after.sum() <= before.sum() + 1e-12 * np.abs([before, after]).sum()
        before = after


def test_a_step_has_its_limit():
    found = one_table([1e9, -1e9, 5.0], even=1.0).fitted(np.array([0.0, 0.0, np.log(5)]))
    assert found[:2] == pytest.approx([1, -1])
    assert abs(found[2] - np.log(5)) < 0.1


def test_cells_without_precision_say_nothing():
    known = task(3)
    silent = replace(known, targets=np.append(known.targets, 1e6))
    padded = np.concatenate([known.cells, np.full((30, 2), 12)], axis=1).astype(np.int32)
    silent = replace(silent, cells=padded, precisions=np.append(known.precisions, 0.0))
    assert np.array_equal(silent.fitted(steps=20), known.fitted(steps=20))


def test_without_data_weights_become_even():
    nothing = replace(task(4, even=0.7), precisions=np.zeros(12))
    far = np.linspace(-2, 5, 30)
    assert nothing.fitted(far, steps=10) == pytest.approx(np.full(30, 0.7))


def test_a_strong_pull_keeps_weights_even():
    errors = [np.abs(task(5, pull=pull).fitted(steps=300) - 1.0).max() for pull in (1e-3, 1.0, 1e3)]
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 0.3


def test_the_total_follows_the_counts():
    rng = np.random.default_rng(6)
    cells = np.stack([rng.permutation(60) % size for size in (5, 7)], axis=1)
    both = Task(
        (cells + np.array([0, 5])).astype(np.int32),
        np.concatenate([np.full(5, 300 / 5), np.full(7, 300 / 7)]) + rng.normal(0, 1, 12),
        np.ones(12),
        even=0.0,
        pull=1e-3,
    )
    assert np.exp(both.fitted(steps=100)).sum() == pytest.approx(300, rel=0.02)


def test_the_more_precise_of_two_counts_has_the_say():
    one = Task(
        np.array([[0, 1]], np.int32), np.array([10.0, 20.0]), np.array([1.0, 3.0]), pull=1e-9
    )
    assert np.exp(one.fitted(steps=60)) == pytest.approx([17.5])


def test_equal_rows_keep_equal_weights():
    whole = task(8)
    twice = replace(whole, cells=np.concatenate([whole.cells, whole.cells]))
    found = twice.fitted(steps=50)
    assert np.array_equal(found[:30], found[30:])


def test_what_is_given_stays_as_it_is():
    whole, begin = task(9), np.zeros(30)
    found = whole.fitted(begin, steps=0)
    assert np.array_equal(found, begin)
    found += 1
    whole.fitted(begin, steps=3)
    assert np.array_equal(begin, np.zeros(30))


def test_an_empty_pool_has_no_weights():
    assert task(10, rows=0).fitted(steps=5).shape == (0,)


def test_without_measurements_weights_become_even():
    nothing = Task(np.empty((3, 0), np.int32), np.empty(0), np.empty(0), even=0.2)
    assert nothing.fitted(np.array([0.0, 1.0, 0.4]), steps=3) == pytest.approx(np.full(3, 0.2))


def test_cells_may_lie_in_memory_as_they_like():
    whole = task(12)
    columns_first = replace(whole, cells=np.asfortranarray(whole.cells))
    reversed_twice = replace(whole, cells=whole.cells[::-1].copy()[::-1])
    for same in (columns_first, reversed_twice):
        assert np.array_equal(same.fitted(steps=5), whole.fitted(steps=5))


@pytest.mark.parametrize("place", [-1, 12, 2**31 - 1, -(2**31)])
def test_a_place_that_is_none_is_refused(place):
    cells = task(13).cells.copy()
    cells[29, 3] = place
    with pytest.raises(ValueError, match="cells: expected places from 0"):
        scatter(cells, np.ones(30), 12)
    with pytest.raises(ValueError, match="cells: expected places from 0"):
        gather(cells, np.ones((12, 2)))
