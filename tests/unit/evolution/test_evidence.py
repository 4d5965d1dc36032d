"""Noisy measurements, and where rows fall in them."""

import numpy as np
import pytest

from tabpe.backends.nearest import NumpyIndex
from tabpe.encoding import Records
from tabpe.encoding.marginals import ListAxis, Marginal, NumberAxis
from tabpe.evolution.evidence import (
    Evidence,
    Measurement,
    PoolRows,
    build_table_evidence,
    build_vote_evidence,
)
from tabpe.evolution.marginal_prior import NoisyMarginal

AGE = NumberAxis("age", 0, (0.5,), (0.0, 50.0, 100.0))
CLASS = ListAxis("ill", None, (0, 1))


def rows(size=60, seed=0):
    rng = np.random.default_rng(seed)
    plain = Records(rng.random((size, 2)), rng.integers(0, 3, (size, 1)).astype(np.uint8))
    seen = Records(plain.numbers.astype(np.float32), plain.codes)
    return PoolRows(plain, seen, np.sort(rng.integers(0, 2, size)))


def candidates(sizes=(9, 7)):
    return [rows(size, seed=label + 5).in_voting_space for label, size in enumerate(sizes)]


def votes(sizes=(9, 7), each=3):
    return build_vote_evidence(
        candidates(sizes),
        np.arange(sum(sizes)) * 1.0,
        2.0,
        votes_per_row=each,
        category_weight=1 / 3,
    )


def by_class():
    return build_table_evidence(
        NoisyMarginal(Marginal((CLASS, AGE)), np.array([[4.0, 3.0], [2.0, 1.0]]), 0.5)
    )


def test_a_row_falls_into_one_cell_of_a_table():
    found, pool = by_class(), rows()
    expected = 2 * pool.classes + (pool.plain.numbers[:, 0] >= 0.5)
    assert found.cells(pool).tolist() == [expected.tolist()]
    assert found.counts.tolist() == [4, 3, 2, 1, 0]
    assert found.precisions.tolist() == [4, 4, 4, 4, 0]


def test_a_row_falls_where_a_private_row_in_its_place_would_vote():
    found, pool = votes(), rows()
    for label, (part, first) in enumerate(zip(candidates(), (0, 9), strict=True)):
        mine = pool.classes == label
        expected = NumpyIndex(part, 1 / 3).find_nearest(pool.in_voting_space.take(mine), 3)
        assert found.cells(pool)[:, mine].tolist() == (first + expected).T.tolist()


@pytest.mark.parametrize("sizes", [(2, 7), (0, 7), (0, 0)])
def test_rows_with_fewer_candidates_than_votes_fall_into_a_cell_that_says_nothing(sizes):
    found, pool = votes(sizes), rows()
    cells = found.cells(pool)[:, pool.classes == 0]
    nothing = len(found.counts) - 1
    assert cells.shape == (3, (pool.classes == 0).sum())
    assert (cells[sizes[0] :] == nothing).all()
    assert (cells[: sizes[0]] < sizes[0]).all()
    assert found.precisions[nothing] == 0


def test_each_measurement_counts_its_own_cells():
    pool = rows()
    evidence = Evidence.from_rows(pool, [by_class()]).add_measurement(votes(), pool)
    table, vote = evidence.cells
    assert (table.shape, vote.shape) == ((1, 60), (3, 60))
    assert table.dtype == vote.dtype == np.int32
    assert (table.min(), table.max()) == (0, 3)
    assert (vote.min(), vote.max()) == (0, 15)
    assert np.array_equal(vote, votes().cells(pool))


def test_counts_come_with_the_cells_of_the_rows():
    pool = rows()
    evidence = Evidence.from_rows(pool, [by_class(), votes()])
    for one, each, cells in zip(
        evidence.counted, evidence.measurements, evidence.cells, strict=True
    ):
        assert one.cells is cells
        assert one.targets.tolist() == each.counts.tolist()
        assert one.precisions.tolist() == each.precisions.tolist()
    of_vote = evidence.counted[1]
    assert (of_vote.targets[of_vote.cells] == of_vote.cells).all()


def test_more_evidence_leaves_what_there_was_as_it_is():
    pool = rows()
    before = Evidence.from_rows(pool, [by_class()])
    after = before.add_measurement(votes(), pool)
    assert (len(before.cells), len(after.cells)) == (1, 2)
    assert after.cells[0] is before.cells[0]
    assert after.measurements[0] is before.measurements[0]


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_moved_rows_are_looked_up_again_and_the_others_follow_their_origin(share):
    pool = rows()
    evidence = Evidence.from_rows(pool, [by_class(), votes()])
    before = [cells.copy() for cells in evidence.cells]
    origins = np.sort(np.random.default_rng(1).integers(0, 60, 60))
    moves = np.random.default_rng(2).random(60) < share
    taken = pool.take(origins)
    numbers = np.where(moves[:, None], 1 - taken.plain.numbers, taken.plain.numbers)
    plain = Records(numbers, taken.plain.codes)
    moved = PoolRows(plain, Records(numbers.astype(np.float32), plain.codes), taken.classes)
    found = evidence.update_cells(moved, origins, moves)
    right = Evidence.from_rows(moved, evidence.measurements)
    assert all(map(np.array_equal, found.cells, right.cells))
    assert [cells.dtype for cells in found.cells] == [np.int32] * 2
    assert all(map(np.array_equal, evidence.cells, before))


def test_rows_that_did_not_move_are_not_looked_up():
    pool, asked = rows(), []

    def cells(fresh):
        asked.append(len(fresh))
        return np.zeros((2, len(fresh)), dtype=np.int32)

    evidence = Evidence.from_rows(pool, [Measurement(np.zeros(1), np.zeros(1), cells)])
    moves = np.arange(60) < 7
    evidence.update_cells(pool, np.arange(60), moves)
    assert asked == [60, 7]
