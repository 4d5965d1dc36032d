"""Noisy measurements, and where rows fall in them."""

import numpy as np
import pytest

from tabpe.encode import Records
from tabpe.encode.axes import ListAxis, Marginal, NumberAxis
from tabpe.evolve.evidence import Evidence, Rows, of_table, of_votes
from tabpe.evolve.guide import Table
from tabpe.search.reference import NumpyIndex

AGE = NumberAxis("age", 0, (0.5,), (0.0, 50.0, 100.0))
CLASS = ListAxis("ill", None, (0, 1))


def rows(size=60, seed=0):
    rng = np.random.default_rng(seed)
    plain = Records(rng.random((size, 2)), rng.integers(0, 3, (size, 1)).astype(np.uint8))
    seen = Records(plain.numbers.astype(np.float32), plain.codes)
    return Rows(plain, seen, np.sort(rng.integers(0, 2, size)))


def candidates(sizes=(9, 7)):
    return [rows(size, seed=label + 5).seen for label, size in enumerate(sizes)]


def votes(sizes=(9, 7), each=3):
    return of_votes(
        candidates(sizes), np.arange(sum(sizes)) * 1.0, 2.0, each=each, category_weight=1 / 3
    )


def by_class():
    return of_table(Table(Marginal((CLASS, AGE)), np.array([[4.0, 3.0], [2.0, 1.0]]), 0.5))


def test_a_row_falls_into_one_cell_of_a_table():
    found, pool = by_class(), rows()
    expected = 2 * pool.classes + (pool.plain.numbers[:, 0] >= 0.5)
    assert found.cells(pool).tolist() == expected[:, None].tolist()
    assert found.counts.tolist() == [4, 3, 2, 1, 0]
    assert found.precisions.tolist() == [4, 4, 4, 4, 0]


def test_a_row_falls_where_a_private_row_in_its_place_would_vote():
    found, pool = votes(), rows()
    for label, (part, first) in enumerate(zip(candidates(), (0, 9), strict=True)):
        mine = pool.classes == label
        expected = NumpyIndex(part, 1 / 3).nearest(pool.seen.take(mine), 3)
        assert found.cells(pool)[mine].tolist() == (first + expected).tolist()


@pytest.mark.parametrize("sizes", [(2, 7), (0, 7), (0, 0)])
def test_rows_with_fewer_candidates_than_votes_fall_into_a_cell_that_says_nothing(sizes):
    found, pool = votes(sizes), rows()
    cells = found.cells(pool)[pool.classes == 0]
    nothing = len(found.counts) - 1
    assert (cells[:, sizes[0] :] == nothing).all()
    assert (cells[:, : sizes[0]] < sizes[0]).all()
    assert found.precisions[nothing] == 0


def test_cells_are_counted_through_all_measurements():
    pool = rows()
    evidence = Evidence.about(pool, [by_class()]).with_more(votes(), pool)
    assert evidence.cells.shape == (60, 4)
    assert evidence.cells[:, 0].max() < 5 <= evidence.cells[:, 1:].min()
    assert len(evidence.counts) == len(evidence.precisions) == 5 + 17
    assert (evidence.counts[evidence.cells[:, 1]] == evidence.cells[:, 1] - 5).all()


def test_moved_rows_are_looked_up_again_and_the_others_follow_their_origin():
    pool = rows()
    evidence = Evidence.about(pool, [by_class(), votes()])
    origins = np.sort(np.random.default_rng(1).integers(0, 60, 60))
    moves = np.random.default_rng(2).random(60) < 0.5
    taken = pool.take(origins)
    numbers = np.where(moves[:, None], 1 - taken.plain.numbers, taken.plain.numbers)
    plain = Records(numbers, taken.plain.codes)
    moved = Rows(plain, Records(numbers.astype(np.float32), plain.codes), taken.classes)
    found = evidence.moved(moved, origins, moves)
    assert found.cells.tolist() == Evidence.about(moved, evidence.measurements).cells.tolist()
