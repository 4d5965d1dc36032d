"""Noisy tables that overlap are made to agree; counts below zero go away."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tabpe.baselines.graphical_model import MarginalMeasurement
from tabpe.baselines.privsyn import find_shared_parts, make_consistent, norm_sub

SIZES = (3, 4, 2, 5)
CLIQUES = [(0,), (1,), (2,), (3,), (0, 1), (1, 2), (0, 1, 3), (1, 2, 3)]


def noisy_tables(sigma, rows=2000, seed=0):
    rng = np.random.default_rng(seed)
    codes = np.column_stack([rng.binomial(size - 1, 0.4, rows) for size in SIZES])
    tables = []
    for clique in CLIQUES:
        shape = tuple(SIZES[place] for place in clique)
        exact = np.zeros(shape)
        np.add.at(exact, tuple(codes[:, place] for place in clique), 1.0)
        tables.append(
            (exact, MarginalMeasurement(clique, exact + rng.normal(0, sigma, shape), sigma))
        )
    return [exact for exact, _ in tables], [table for _, table in tables]


def on(counts, clique, part):
    return counts.sum(axis=tuple(axis for axis, one in enumerate(clique) if one not in part))


def test_tables_agree_on_everything_they_share():
    _, tables = noisy_tables(sigma=5.0)
    counts = make_consistent(tables)
    for (one, mine), (other, yours) in itertools.combinations(zip(CLIQUES, counts, strict=True), 2):
        part = tuple(sorted(set(one) & set(other)))
        assert on(mine, one, part) == pytest.approx(on(yours, other, part), abs=0.1)


def test_the_total_is_the_average_that_has_the_least_noise():
    tables = [
        MarginalMeasurement((0,), np.array([60.0, 50.0]), sigma=1.0),
        MarginalMeasurement((1,), np.array([30.0, 30.0, 20.0, 20.0]), sigma=2.0),
    ]
    # The noise of the sums has variance 2 and 16.
    expected = (110 / 2 + 100 / 16) / (1 / 2 + 1 / 16)
    assert [some.sum() for some in make_consistent(tables)] == pytest.approx([expected] * 2)


def test_no_count_is_below_zero_and_totals_stay():
    _, tables = noisy_tables(sigma=60.0)
    counts = make_consistent(tables)
    assert min(float(some.min()) for some in counts) >= 0
    totals = [some.sum() for some in counts]
    assert totals == pytest.approx([totals[0]] * len(totals), rel=1e-3)


def test_tables_without_noise_stay_as_they_are():
    exact, tables = noisy_tables(sigma=0.0)
    kept = [MarginalMeasurement(table.clique, table.counts, 1.0) for table in tables]
    for before, after in zip(exact, make_consistent(kept), strict=True):
        assert after == pytest.approx(before)


def test_agreement_takes_error_away():
    exact, tables = noisy_tables(sigma=10.0)
    before = [np.abs(t.counts - e).sum() for t, e in zip(tables, exact, strict=True)]
    after = [np.abs(c - e).sum() for c, e in zip(make_consistent(tables), exact, strict=True)]
    assert sum(after) < 0.7 * sum(before)


def test_a_precise_table_is_believed():
    precise = MarginalMeasurement((0,), np.array([80.0, 20.0]), sigma=0.01)
    vague = MarginalMeasurement((0,), np.array([50.0, 50.0]), sigma=10.0)
    _, moved = make_consistent([precise, vague])
    assert moved == pytest.approx([80.0, 20.0], abs=0.01)


def test_what_is_given_is_not_changed():
    _, tables = noisy_tables(sigma=30.0)
    before = [table.counts.copy() for table in tables]
    make_consistent(tables)
    for table, counts in zip(tables, before, strict=True):
        assert (table.counts == counts).all()


def test_nothing_but_noise_gives_counts_that_can_be_shares():
    (counts,) = make_consistent([MarginalMeasurement((0,), np.array([-3.0, -5.0]), sigma=4.0)])
    assert counts.min() >= 0
    assert counts.sum() > 0


@given(
    counts=st.lists(st.floats(-1e4, 1e4), min_size=1, max_size=20),
    total=st.floats(0.1, 1e4),
)
@settings(deadline=None, max_examples=200)
def test_norm_sub_keeps_the_sum_and_the_order(counts, total):
    given_counts = np.array(counts)
    found = norm_sub(given_counts, total)
    assert found.min() >= 0
    assert found.sum() == pytest.approx(total, rel=1e-6, abs=1e-6)
    order = np.argsort(given_counts)
    assert (np.diff(found[order]) >= 0).all()


def test_norm_sub_is_the_closest_of_all():
    rng = np.random.default_rng(0)
    counts = rng.normal(0, 10, 6)
    found = norm_sub(counts, 12.0)
    others = 12.0 * rng.dirichlet(np.ones(6), 5000)
    assert ((others - counts) ** 2).sum(axis=1).min() >= ((found - counts) ** 2).sum()


def test_parts_come_smallest_first_and_hold_their_common_parts():
    parts = find_shared_parts([(0, 1, 2), (0, 1, 3), (1, 2, 3), (4,)])
    assert parts[0] == ()
    assert [len(part) for part in parts] == sorted(len(part) for part in parts)
    assert set(parts) == {(), (1,), (0, 1), (1, 2), (1, 3)}
