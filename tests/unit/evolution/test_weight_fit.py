"""The fit of a pool's weights to noisy counts."""

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize, nnls
from scipy.special import xlogy

from tabpe.evolution.evidence import CellCounts, fit_weights, scale_weights, sum_by_cell


@dataclass(frozen=True)
class Task:
    """What there is to fit."""

    measured: tuple[CellCounts, ...]
    rows: int
    even: float = 1.0
    pull: float = 0.1

    def fitted(self, sweeps=1):
        """The weights after so many sweeps."""
        return fit_weights(self.measured, self.rows, even=self.even, pull=self.pull, sweeps=sweeps)

    @cached_property
    def joined(self):
        """All measurements as one, with cells that are counted through all of them."""
        sizes = [len(each.targets) for each in self.measured]
        both = zip(self.measured, np.cumsum([0, *sizes[:-1]]), strict=True)
        return CellCounts(
            np.concatenate([each.cells + first for each, first in both]).astype(np.int32),
            np.concatenate([each.targets for each in self.measured]),
            np.concatenate([each.precisions for each in self.measured]),
        )

    def with_targets(self, targets):
        """The same with other counts."""
        parts = np.split(targets, np.cumsum([len(each.targets) for each in self.measured])[:-1])
        both = zip(self.measured, parts, strict=True)
        return replace(self, measured=tuple(replace(each, targets=part) for each, part in both))

    def predicted(self, weights):
        """The counts of a weighted pool."""
        counts = np.zeros(len(self.joined.targets))
        for line in self.joined.cells:
            np.add.at(counts, line, weights)
        return counts

    def errors(self, weights):
        """The squared error of each count, in variances of its noise."""
        return self.joined.precisions * (self.joined.targets - self.predicted(weights)) ** 2

    def terms(self, weights):
        """What the fit minimises the sum of."""
        entropies = self.pull * (xlogy(weights, weights) - weights * (1 + self.even))
        return np.concatenate([self.errors(weights) / 2, entropies])

    def slopes(self, weights):
        """The derivative of that sum by each weight."""
        forces = self.joined.precisions * (self.joined.targets - self.predicted(weights))
        return self.pull * (np.log(weights) - self.even) - forces[self.joined.cells].sum(axis=0)

    def dual_terms(self, weights):
        """What the dual is the sum of, if the last rows fall into one cell each (see `probed`)."""
        known = self.joined.precisions > 0
        targets, precisions = self.joined.targets[known], self.joined.precisions[known]
        multipliers = np.log(weights[-len(known) :] / np.exp(self.even))
        assert (multipliers[~known] == 0).all()
        paid = self.pull / precisions * multipliers[known] ** 2 / 2
        return np.concatenate([targets * multipliers[known], -paid, -weights])


def task(seed, rows=30, lines=(1, 3, 1), size=6, **fields):
    """Cells at random, some of them several times in a row; a few targets are below 0."""
    rng = np.random.default_rng(seed)
    measured = []
    for width in lines:
        cells = rng.integers(0, size, (width, rows)).astype(np.int32)
        precisions = rng.choice([0.0, 0.1, 1.0, 4.0], size)
        measured.append(CellCounts(cells, rng.normal(10, 15, size), precisions))
    return Task(tuple(measured), rows, **fields)


def table(cells, targets, precision=1.0):
    targets = np.array(targets, dtype=float)
    return CellCounts(np.array([cells], np.int32), targets, np.full(len(targets), precision))


def tables_of_pairs(columns=8, values=3, rows=400, sigma=5.0):
    """All tables of two columns, with noisy counts of weights that are not even."""
    rng = np.random.default_rng(0)
    whole = rng.integers(0, values, (columns, rows))
    cells = [values * one + other for one, other in combinations(whole, 2)]
    measured = tuple(table(one, np.zeros(values**2), sigma**-2) for one in cells)
    pairs = Task(measured, rows, even=np.log(10), pull=0.05)
    counts = pairs.predicted(rng.gamma(0.5, 20, rows))
    return pairs.with_targets(counts + rng.normal(0, sigma, len(counts)))


def probed(whole):
    """The same and, last, a row for each cell that falls into no other: it tells the multiplier."""
    sizes = [len(each.targets) + 1 for each in whole.measured]
    firsts = whole.rows + np.cumsum([0, *sizes])
    measured = []
    for each, first, size in zip(whole.measured, firsts[:-1], sizes, strict=True):
        cells = np.full((len(each.cells), firsts[-1]), size - 1, dtype=np.int32)
        cells[:, : whole.rows] = each.cells
        cells[0, first : first + size] = np.arange(size)
        targets, precisions = np.append(each.targets, 0.0), np.append(each.precisions, 0.0)
        measured.append(CellCounts(cells, targets, precisions))
    return replace(whole, measured=tuple(measured), rows=int(firsts[-1]))


def test_weights_become_the_counts_where_each_row_has_a_cell():
    found = Task((table([0, 1, 2], [3.0, 40.0, 0.5]),), 3, pull=1e-9).fitted(sweeps=60)
    assert found == pytest.approx([3, 40, 0.5], rel=1e-6)


def test_weights_are_recovered_from_tables_that_tell_all_rows_apart():
    rng = np.random.default_rng(1)
    truth = rng.gamma(2, 5, 12)
    cells = [np.arange(12) // 3, np.arange(12) % 3]
    cells += [rng.permuted(np.arange(12) % size) for size in (6, 7)]
    whole = Task(tuple(table(one, np.zeros(one.max() + 1)) for one in cells), 12, pull=1e-9)
    assert np.linalg.matrix_rank([whole.predicted(row) for row in np.eye(12)]) == 12
    found = whole.with_targets(whole.predicted(truth)).fitted(sweeps=3_000)
    assert found == pytest.approx(truth, rel=1e-3)


@pytest.mark.parametrize("seed", range(8))
def test_sweeps_end_at_the_minimum(seed):
    """Slopes of a convex sum are 0 there, the dual is as high, and another solver gets no lower."""
    small = probed(task(seed, even=0.5 + seed / 4, pull=1 + seed / 2))
    begin = np.full(small.rows, np.exp(small.even))
    bounds = [(1e-12, None)] * small.rows
    other = minimize(lambda w: small.terms(w).sum(), begin, jac=small.slopes, bounds=bounds)
    found = small.fitted(sweeps=1_500)
    terms = small.terms(found)
    assert small.slopes(found) == pytest.approx(np.zeros(small.rows), abs=1e-6)
    assert terms.sum() <= other.fun + 1e-9 * np.abs(terms).sum()
    assert small.pull * small.dual_terms(found).sum() == pytest.approx(terms.sum(), rel=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_with_hardly_a_pull_they_end_at_least_squares(seed):
    loose = task(seed, rows=5, lines=(1, 2, 1, 1), size=5, even=0.0, pull=0.02)
    loose = loose.with_targets(np.random.default_rng(seed).normal(1, 3, 20))
    scales = np.sqrt(loose.joined.precisions)
    sums = np.stack([loose.predicted(row) for row in np.eye(5)], axis=1)
    least, _ = nnls(sums * scales[:, None], loose.joined.targets * scales)
    assert loose.fitted(sweeps=3_000) == pytest.approx(least, abs=3e-2)


@given(
    seed=st.integers(0, 2**32),
    lines=st.lists(st.integers(1, 6), min_size=1, max_size=4),
    shape=st.tuples(st.integers(1, 20), st.integers(1, 9)),
    wild=st.sampled_from([0.01, 1.0, 100.0, 1e4]),
    even=st.sampled_from([-3.0, 0.0, 2.0, 7.0]),
    pull=st.sampled_from([1e-6, 0.1, 1.0, 1e3]),
)
@settings(deadline=None, max_examples=200)
def test_no_step_and_no_sweep_lowers_the_dual(seed, lines, shape, wild, even, pull):
    whole = probed(task(seed, shape[0], lines, shape[1], even=even, pull=pull))
    whole = whole.with_targets(whole.joined.targets * wild)
    steps = [replace(whole, measured=whole.measured[:count]) for count in range(len(lines) + 1)]
    path = [one.fitted() for one in steps] + [whole.fitted(sweeps) for sweeps in range(2, 13)]
    for before, after in pairwise(whole.dual_terms(weights) for weights in path):
        size = np.abs([before, after]).sum() + np.abs(whole.joined.targets).sum()
        assert after.sum() >= before.sum() - 1e-12 * size


def test_many_tables_are_met_to_within_their_noise_in_ten_sweeps():
    """Power: in steps that move all of them together, they are not."""
    pairs = tables_of_pairs()
    together = replace(pairs, measured=(pairs.joined,))
    assert len(pairs.measured) == 28
    assert pairs.errors(pairs.fitted(sweeps=10)).mean() < 1.5
    assert pairs.errors(together.fitted(sweeps=10)).mean() > 15


@pytest.mark.parametrize("seed", range(3))
def test_where_they_end_does_not_depend_on_the_way(seed):
    whole = task(seed, pull=3.0)
    found = whole.fitted(sweeps=1_500)
    for measured in (whole.measured[::-1], (whole.joined,)):
        other = replace(whole, measured=measured).fitted(sweeps=1_500)
        assert other == pytest.approx(found, rel=1e-6, abs=1e-9)


def test_a_step_has_a_limit_which_the_cells_of_a_row_share():
    single = table([0, 1, 2], [1e9, -1e9, 5.0])
    found = Task((single,), 3, even=np.log(4)).fitted()
    assert np.log(found / 4) == pytest.approx([1, -1, 1 / 4.1])
    cells = np.array([[0, 0, 0, 2], [0, 1, 2, 2], [0, 0, 2, 2], [0, 1, 2, 2]], dtype=np.int32)
    several = CellCounts(cells, np.array([1e9, -1e9, 0.0]), np.array([1.0, 1.0, 0.0]))
    assert np.log(Task((several,), 4, even=0.0).fitted()) == pytest.approx([1, 0, 0.25, 0])


def test_cells_without_precision_say_nothing():
    known = task(3)
    silent = CellCounts(np.zeros((2, 30), np.int32), np.array([1e6]), np.zeros(1))
    more = replace(known, measured=(*known.measured, silent))
    other = known.with_targets(np.where(known.joined.precisions > 0, known.joined.targets, 1e6))
    for same in (more, other):
        assert np.array_equal(same.fitted(sweeps=20), known.fitted(sweeps=20))


def test_a_strong_pull_keeps_weights_even():
    fits = [task(5, pull=pull).fitted(sweeps=300) for pull in (0.1, 10.0, 1e4)]
    errors = [np.abs(np.log(weights) - 1.0).max() for weights in fits]
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 0.1


def test_the_total_follows_the_counts():
    rng = np.random.default_rng(6)
    counts = {size: 300 / size + rng.normal(0, 1, size) for size in (5, 7)}
    tables = [table(rng.permutation(60) % size, targets) for size, targets in counts.items()]
    found = Task(tuple(tables), 60, even=0.0, pull=1e-3).fitted(sweeps=10)
    assert found.sum() == pytest.approx(300, rel=0.02)


@pytest.mark.parametrize("order", [1, -1])
def test_the_more_precise_of_two_counts_has_the_say(order):
    both = (table([0], [10.0], 1.0), table([0], [20.0], 3.0))[::order]
    found = Task(both, 1, even=np.log(17.5), pull=1.0).fitted(sweeps=1_000)
    assert found == pytest.approx([17.5])


def test_equal_rows_keep_equal_weights():
    whole = task(8)
    twice = [replace(each, cells=np.tile(each.cells, 2)) for each in whole.measured]
    found = replace(whole, measured=tuple(twice), rows=60).fitted(sweeps=50)
    assert np.array_equal(found[:30], found[30:])
    assert len(np.unique(found)) > 20


def test_what_is_given_stays_as_it_is():
    whole, weights = task(9), np.ones(30)
    parts = [part for each in whole.measured for part in vars(each).values()]
    before = [part.copy() for part in parts]
    whole.fitted(sweeps=3)
    scale_weights(whole.measured[1].cells, weights, np.full(6, 2.0))
    assert all(map(np.array_equal, parts, before))
    assert (weights == 1).all()


def test_without_sweeps_or_counts_weights_are_even():
    silent = CellCounts(np.zeros((1, 3), np.int32), np.ones(1), np.zeros(1))
    nowhere = CellCounts(np.empty((0, 3), np.int32), np.ones(2), np.ones(2))
    for measured in ((), (silent,), (nowhere,)):
        assert Task(measured, 3).fitted(sweeps=5).tolist() == [np.exp(1.0)] * 3
    assert task(4).fitted(sweeps=0).tolist() == [np.exp(1.0)] * 30


def test_an_empty_pool_has_no_weights():
    assert task(10, rows=0).fitted(sweeps=5).shape == (0,)


@pytest.mark.parametrize("laid", [np.asfortranarray, lambda cells: cells[::-1].copy()[::-1]])
def test_cells_may_lie_in_memory_as_they_like(laid):
    whole = task(12)
    same = tuple(replace(each, cells=laid(each.cells)) for each in whole.measured)
    assert not same[1].cells.flags.c_contiguous
    assert np.array_equal(replace(whole, measured=same).fitted(5), whole.fitted(5))


@pytest.mark.parametrize("place", [-1, 6, 2**31 - 1, -(2**31)])
def test_a_place_that_is_none_is_refused(place):
    cells = task(13).measured[1].cells.copy()
    cells[2, 29] = place
    with pytest.raises(ValueError, match="cells: expected"):
        sum_by_cell(cells, np.ones(30), 6)
    with pytest.raises(ValueError, match="cells: expected"):
        scale_weights(cells, np.ones(30), np.ones(6))
