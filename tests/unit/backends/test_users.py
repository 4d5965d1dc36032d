"""Users: which rows count, and that a user is one vector of one length."""

import math
from functools import partial

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tabpe.accounting.neighboring import FIXED_POINT
from tabpe.backends import StoredTable
from tabpe.backends.local import SpillFile
from tabpe.backends.users import limit_contributions, sum_user_vectors
from tabpe.encoding import Records, VotingSpace

SPACE = VotingSpace(np.zeros(2, dtype=bool))  # rows as they are
memberships = st.lists(st.integers(0, 6), min_size=1, max_size=40)


def chosen(ids, most=2, seed=0, batches=1):
    parts = np.array_split(np.array(ids, dtype=object), batches)
    columns = [pa.table({"id": pa.array(list(part))}) for part in parts if len(part)]
    return limit_contributions(columns, column="id", max_rows=most, seed=seed, scale=FIXED_POINT)


@given(ids=memberships, most=st.integers(1, 5), seed=st.integers(0, 2**63))
@settings(deadline=None)
def test_a_user_keeps_as_many_rows_as_allowed(ids, most, seed):
    users = chosen(ids, most, seed)
    kept = np.array(ids)[users.kept]
    for user in set(ids):
        assert (kept == user).sum() == min(most, ids.count(user))
    assert users.count == len(set(ids))


@given(ids=memberships, gone=st.integers(0, 6), seed=st.integers(0, 2**63))
@settings(deadline=None)
def test_which_rows_of_a_user_count_does_not_depend_on_other_users(ids, gone, seed):
    others = [place for place, user in enumerate(ids) if user != gone]
    if not others:
        return
    with_all = chosen(ids, seed=seed).kept[others]
    assert np.array_equal(with_all, chosen([ids[place] for place in others], seed=seed).kept)


@given(ids=memberships, batches=st.integers(1, 5))
@settings(deadline=None)
def test_which_rows_count_does_not_depend_on_the_batches(ids, batches):
    one, many = chosen(ids), chosen(ids, batches=batches)
    assert np.array_equal(one.kept, many.kept)
    assert np.array_equal(one.owners, many.owners)


@given(
    rows=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=40),
    most=st.integers(1, 4),
    seed=st.integers(0, 99),
    data=st.data(),
)
@settings(deadline=None)
def test_which_rows_count_depends_on_no_order(rows, most, seed, data):
    """As a multiset: equal rows of a user may take each other's place."""
    whole = multiset(rows, most, seed)
    assert multiset(data.draw(st.permutations(rows)), most, seed) == whole
    of_one = [row for row in rows if row[0] == rows[0][0]]
    assert multiset(of_one, most, seed) == [row for row in whole if row[0] == rows[0][0]]


def multiset(rows, most, seed):
    ids, cells = zip(*rows, strict=True)
    table = pa.table({"id": ids, "cell": cells})
    users = limit_contributions([table], column="id", max_rows=most, seed=seed, scale=FIXED_POINT)
    return sorted(row for row, kept in zip(rows, users.kept, strict=True) if kept)


@pytest.mark.parametrize("cells", [[0] * 6, [0, 1, 2, 3, 4, 5], [0, 0, 0, 1, 1, 2]])
def test_every_row_counts_equally_often_whatever_is_in_it(cells):
    """As below, for rows of which some are equal, or none."""
    table, often = pa.table({"id": ["a"] * 6, "cell": cells}), np.zeros(6, dtype=int)
    for seed in range(3000):
        often += limit_contributions(
            [table], column="id", max_rows=3, seed=seed, scale=FIXED_POINT
        ).kept
    assert np.abs(often - 1500).max() < 7 * np.sqrt(3000 / 4)


def test_every_row_of_a_user_counts_equally_often():
    """3,000 seeds, 3 of 6 rows: half of the time each; 7 deviations are beyond 1e-11."""
    often = sum(chosen(["a"] * 6 + ["b"], most=3, seed=seed).kept for seed in range(3000))
    assert often[6] == 3000
    assert np.abs(often[:6] - 1500).max() < 7 * np.sqrt(3000 / 4)
    assert often[:6].sum() == 9000


def test_the_rows_of_two_users_are_chosen_apart():
    alike = [chosen(["a", "b"] * 6, most=3, seed=seed).kept for seed in range(200)]
    assert any(not np.array_equal(kept[::2], kept[1::2]) for kept in alike)


def test_a_table_without_rows_has_no_users():
    assert chosen([]).count == 0


@given(
    rows=st.lists(st.tuples(st.integers(0, 5), st.integers(0, 7)), min_size=1, max_size=60),
    gone=st.integers(0, 5),
    length=st.sampled_from([1, 7, FIXED_POINT]),
)
@settings(deadline=None)
def test_a_user_more_or_less_moves_a_histogram_by_its_length_at_most(rows, gone, length):
    owners, cells = np.array(rows, dtype=np.int64).T
    others = owners != gone
    moved = sum_user_vectors(owners, cells, 8, length) - sum_user_vectors(
        owners[others], cells[others], 8, length
    )
    assert (moved >= 0).all()
    assert int((moved**2).sum()) <= length**2


@given(counts=st.lists(st.integers(0, 10_000), min_size=1, max_size=6).filter(any))
@settings(deadline=None)
def test_no_rounding_makes_a_vector_longer_and_hardly_any_shorter(counts):
    cells = np.repeat(np.arange(len(counts)), counts)
    vector = sum_user_vectors(np.zeros_like(cells), cells, len(counts), FIXED_POINT)
    squared = int((vector**2).sum())
    assert squared <= FIXED_POINT**2
    assert squared >= (FIXED_POINT - len(counts)) ** 2


def test_a_user_with_one_row_counts_as_much_as_one_with_many():
    owners, cells = np.array([0, *[1] * 9]), np.array([0, *[1] * 9])
    assert sum_user_vectors(owners, cells, 2, 50).tolist() == [50, 50]


def records(rng, size):
    codes = rng.integers(0, 3, (size, 1)).astype(np.uint8)
    return Records(rng.random((size, 2), dtype=np.float32), codes)


def stored_tables(batches, users):
    common = {"classes": 3, "category_weight": 1 / 3}
    yield StoredTable(batches, users, **common)
    yield StoredTable(batches, users, **common, jobs=3)
    yield StoredTable(batches, users, **common, open_store=partial(SpillFile, None))
    yield StoredTable(batches, users, **common, open_store=None)


def naive_votes(rows, labels, owners, population, each):
    """One user after the other, one row after the other, in Python.

    Candidates differ, and there are `each` of them in every class that has any.
    """
    total = [np.zeros(len(candidates), dtype=np.int64) for candidates in population]
    for user in set(owners.tolist()):
        counts = [np.zeros(len(candidates), dtype=np.int64) for candidates in population]
        for place in np.flatnonzero(owners == user):
            candidates = population[labels[place]]
            if not len(candidates):
                continue
            far = np.float32(1 / 3) * (candidates.codes != rows.codes[place]).sum(axis=1)
            gaps = candidates.numbers.astype(np.float32) - rows.numbers[place]
            nearest = np.argsort(far + (gaps**2).sum(axis=1), kind="stable")[:each]
            counts[labels[place]][nearest] += 1
        squares = sum(int((part**2).sum()) for part in counts)
        for part, whole in zip(counts, total, strict=True):
            for cell in np.flatnonzero(part):
                whole[cell] += math.isqrt(each * FIXED_POINT**2 * int(part[cell]) ** 2 // squares)
    return total


@pytest.mark.parametrize("each", [1, 2, 3, 4])
@pytest.mark.parametrize("empty", [False, True])
def test_every_table_counts_users_as_the_definition_does(empty, each):
    rng = np.random.default_rng(5)
    rows, labels = records(rng, 400), rng.integers(0, 3, 400)
    users = chosen(rng.integers(0, 60, 400).tolist(), most=4)
    rows, labels = rows.take(users.kept), labels[users.kept]
    population = [records(rng, size) for size in (12, 0 if empty else 5, 30)]
    expected = naive_votes(rows, labels, users.owners, population, each)
    batches = [
        (rows.take(np.arange(150)), labels[:150]),
        (rows.take(np.arange(150, len(rows))), labels[150:]),
    ]
    by_class = sum_user_vectors(users.owners, labels, 3, FIXED_POINT)
    for space in (None, SPACE):
        for table in stored_tables(batches, users):
            votes = table.count_votes(population, space, each)
            for found, right in zip(votes, expected, strict=True):
                assert found.tolist() == right.tolist()
            assert table.count_rows(space).tolist() == [users.count * FIXED_POINT]
            assert np.array_equal(table.count_classes(space), by_class)
            table.close()


@given(
    seed=st.integers(0, 10_000),
    gone=st.integers(0, 7),
    most=st.integers(1, 6),
    each=st.integers(1, 5),
)
@settings(deadline=None, max_examples=80)
def test_removing_a_user_moves_the_votes_of_all_classes_by_what_they_cost_at_most(
    seed, gone, most, each
):
    rng = np.random.default_rng(seed)
    rows, labels, ids = records(rng, 80), rng.integers(0, 3, 80), rng.integers(0, 8, 80)
    population = [records(rng, size) for size in (4, 6, 3)]
    moved = [
        np.concatenate([*votes, counts, total])
        for votes, counts, total in (
            answers(rows.take(part), labels[part], ids[part], population, most, each)
            for part in (ids >= 0, ids != gone)
        )
    ]
    difference = moved[0] - moved[1]
    assert (difference >= 0).all()
    votes, counts, total = np.split(difference, [13, 16])
    assert int((votes**2).sum()) <= each * FIXED_POINT**2
    assert np.count_nonzero(votes) <= each * most
    for part in (counts, total):
        assert int((part**2).sum()) <= FIXED_POINT**2


def answers(rows, labels, ids, population, most, each=1):
    users = chosen(ids.tolist(), most=most)
    batch = rows.take(users.kept), labels[users.kept]
    table = StoredTable([batch], users, classes=3, category_weight=1 / 3)
    votes = table.count_votes(population, SPACE, each)
    return votes, table.count_classes(SPACE), table.count_rows(SPACE)


@pytest.mark.parametrize("each", range(1, 17))
@pytest.mark.parametrize("rows_a_user", [1, 3])
def test_a_user_on_one_place_adds_one_to_each_of_its_cells_however_few_they_are(each, rows_a_user):
    """The squared length is that of `each` histograms exactly, and no rounding takes from it."""
    rng = np.random.default_rng(0)
    here = records(rng, 2).take(np.repeat([0, 1], rows_a_user))
    labels = np.repeat([0, 2], rows_a_user)
    population = [records(rng, size) for size in (20, 4, 3)]
    ids = np.repeat(["a", "b"], rows_a_user)
    votes, _, _ = answers(here, labels, ids, population, rows_a_user, each)
    for counts, cells in zip(votes, (each, 0, min(each, 3)), strict=True):
        assert sorted(counts.tolist()) == [0] * (len(counts) - cells) + [FIXED_POINT] * cells


def test_the_longest_vectors_are_whole_numbers_that_did_not_run_over():
    """16 votes of each of 10,000 rows: in 16 cells, in one each, and in both."""
    most = 10_000
    alike, apart = np.tile(np.arange(16), most), np.arange(16 * most)
    for cells in (alike, apart, np.concatenate([alike[: 8 * most], apart[8 * most :]])):
        owners = np.zeros_like(cells)
        vector = sum_user_vectors(owners, cells, 16 * most, FIXED_POINT, votes=16)
        counts = np.bincount(cells, minlength=16 * most)
        squares = sum(count**2 for count in counts.tolist())
        largest = int(counts.max())
        assert vector.max() == math.isqrt(16 * FIXED_POINT**2 * largest**2 // squares)
        assert sum(part**2 for part in vector.tolist()) <= 16 * FIXED_POINT**2
