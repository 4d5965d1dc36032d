"""Exact counts of encoded rows: votes, marginals and halfspaces, of rows and of users."""

import weakref

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tabpe import native
from tabpe.accounting import ROW_LEVEL, Account, FakeNoise, NeighboringRelation, Spend
from tabpe.accounting.neighboring import FIXED_POINT
from tabpe.backends import EncodedReading, RecordsBackend, StoredTable, local
from tabpe.backends.local import CachedTable, Segment, count_votes
from tabpe.backends.nearest import _warn_of_numpy
from tabpe.backends.users import limit_contributions
from tabpe.encoding import Encoder, Marginal, Records, VotingSpace
from tabpe.encoding.halfspaces import Halfspaces
from tabpe.encoding.marginals import ListAxis, NumberAxis, build_axis
from tabpe.errors import DataError, TabpeError
from tabpe.measurement import PrivateSession
from tabpe.schema import Boolean, Integer, Schema

WEIGHT = 1 / 3
SHAPES = [(0, 4), (3, 0), (3, 2), (20, 1), (1, 12), (0, 0)]


def class_votes(segments, candidates, weight, jobs=1, each=1):
    """The votes of a single class."""
    (votes,) = count_votes(
        [candidates], segments, classes=1, category_weight=weight, jobs=jobs, votes_per_row=each
    )
    return votes


def drawn(size, numeric, categorical, seed=0, grid=7):
    rng = np.random.default_rng(seed)
    return Records(
        rng.integers(0, grid, (size, numeric)).astype(np.float32) / grid,
        rng.integers(0, 3, (size, categorical)).astype(np.uint8),
    )


@pytest.fixture
def without_extension(monkeypatch):
    """Whatever is asked, without the extension."""

    def answer(ask):
        with monkeypatch.context() as patch:
            patch.setattr(native, "search", None)
            return ask()

    yield answer
    _warn_of_numpy.cache_clear()


@pytest.mark.parametrize("each", [1, 4])
@pytest.mark.parametrize(("numeric", "categorical"), SHAPES)
def test_the_votes_are_the_same_without_the_extension(
    without_extension, numeric, categorical, each
):
    rows, candidates = drawn(700, numeric, categorical), drawn(90, numeric, categorical, seed=1)

    def votes():
        segment = Segment(0, rows).prepare_segment(WEIGHT)
        return class_votes([segment], candidates, WEIGHT, jobs=2, each=each).tolist()

    assert votes() == without_extension(votes)


def test_a_table_counts_the_same_without_the_extension(without_extension):
    rows, labels = drawn(900, 4, 3), np.arange(900) % 4
    population = [drawn(size, 4, 3, seed=size) for size in (50, 1, 0, 300)]

    def votes():
        table = StoredTable([(rows, labels)], classes=4, category_weight=WEIGHT)
        return [counts.tolist() for counts in table.count_votes(population)]

    assert votes() == without_extension(votes)


def test_every_row_votes_once_whatever_it_stands_for():
    rows, candidates = drawn(50, 2, 1), drawn(9, 2, 1, seed=1)
    plain = class_votes([Segment(0, rows)], candidates, WEIGHT)
    threefold = class_votes([Segment(0, rows, np.full(50, 3))], candidates, WEIGHT)
    assert plain.sum() == 50
    assert threefold.tolist() == (3 * plain).tolist()


def test_of_equal_candidates_the_first_gets_all_votes():
    candidates = drawn(30, 2, 1, seed=1, grid=2)
    votes = class_votes([Segment(0, drawn(200, 2, 1))], candidates, WEIGHT)
    seen = set()
    for place, numbers in enumerate(candidates.numbers):
        candidate = (*numbers.tolist(), *candidates.codes[place].tolist())
        assert candidate not in seen or votes[place] == 0
        seen.add(candidate)
    assert len(seen) < 30
    assert votes.sum() == 200


def test_zeros_of_either_sign_are_equally_far_and_the_first_gets_the_votes():
    no_codes = np.empty((2, 0), np.uint8)
    zeros = np.array([[0.0], [-0.0]])
    rows = Records(np.array([[0.0], [-0.0]], np.float32), no_codes)
    for candidates in (zeros, zeros[::-1]):
        votes = class_votes(
            [Segment(0, rows).prepare_segment(WEIGHT)], Records(candidates, no_codes), WEIGHT
        )
        assert votes.tolist() == [2, 0]


def test_zeros_of_either_sign_are_one_candidate():
    no_codes = np.empty((3, 0), np.uint8)
    candidates = Records(np.array([[-0.0], [0.0], [1.0]]), no_codes)
    rows = Records(np.array([[0.0], [0.1], [-0.0]], np.float32), no_codes)
    segment = Segment(0, rows).prepare_segment(WEIGHT)
    assert class_votes([segment], candidates, WEIGHT, each=2).tolist() == [3, 0, 3]


def test_candidates_that_are_equal_in_float32_are_equal():
    """They keep float64; the votes look at float32."""
    no_codes = np.empty((2, 0), np.uint8)
    candidates = Records(np.array([[1 / 3], [1 / 3 + 1e-12]]), no_codes)
    rows = Records(np.array([[0.3], [0.4]], np.float32), no_codes)
    assert class_votes([Segment(0, rows)], candidates, WEIGHT).tolist() == [2, 0]


def test_no_rows_are_prepared_and_give_no_votes(without_extension):
    def votes():
        return class_votes(
            [Segment(0, drawn(0, 2, 1)).prepare_segment(WEIGHT)], drawn(3, 2, 1), WEIGHT
        ).tolist()

    assert votes() == [0, 0, 0]
    assert without_extension(votes) == [0, 0, 0]


def test_no_segments_and_no_candidates_give_no_votes():
    assert class_votes([], drawn(3, 2, 1), WEIGHT).tolist() == [0, 0, 0]
    assert class_votes([Segment(0, drawn(3, 2, 1))], drawn(0, 2, 1), WEIGHT).tolist() == []


ENCODER = Encoder(Schema((Integer("age", 0, 3), Boolean("ill")), label="ill"))
AGE, ILL = (Marginal((build_axis(ENCODER, name),)) for name in ENCODER.schema.names)
BOTH = Marginal((*AGE.axes, *ILL.axes))
TABLE = pa.table({"age": [0, 0, 3, 3, 3], "ill": [True, False, True, True, True]})
IDS = ["a", "b", "a", "a", "c"]


def batches(size):
    return [ENCODER.encode(TABLE.slice(first, size)) for first in range(0, TABLE.num_rows, size)]


def stored(rows, whose=None, classes=1):
    """A table that is read for each query."""
    return StoredTable(rows, whose, classes=classes, open_store=None)


def users(ids=IDS, scale=100):
    return limit_contributions(
        [pa.table({"id": ids})], column="id", max_rows=3, seed=0, scale=scale
    )


@pytest.mark.parametrize("size", [1, 2, 5])
def test_each_row_counts_once_in_every_marginal_whatever_the_batches(size):
    found = stored(batches(size)).count_marginals([AGE, ILL, BOTH, Marginal(())])
    assert [counts.tolist() for counts in found] == [
        [2, 0, 0, 3],
        [1, 4],
        [1, 1, 0, 0, 0, 0, 0, 3],
        [5],
    ]


@pytest.mark.parametrize("size", [1, 2, 5])
def test_a_user_counts_with_one_vector_in_every_marginal(size):
    table = stored(batches(size), users())
    found = table.count_marginals([AGE, Marginal(())])
    assert table.scale == 100
    # a: one row of 0 and two of 3, so 1/sqrt(5) and 2/sqrt(5); b: one of 0; c: one of 3.
    assert [counts.tolist() for counts in found] == [[44 + 100, 0, 0, 89 + 100], [300]]


@pytest.mark.parametrize("size", [1, 2, 5])
@pytest.mark.parametrize("ids", [None, IDS, ["a"] * 5, list("abcde")])
def test_rows_and_classes_are_counted_as_those_that_vote(size, ids):
    whose = None if ids is None else users(ids)
    kept = [True] * 5 if whose is None else whose.kept.tolist()
    parts = []
    for rows, classes in batches(size):
        here, kept = np.array(kept[: len(rows)]), kept[len(rows) :]
        parts.append((rows.take(here), classes[here]))
    table = stored(parts, whose, classes=2)
    space = VotingSpace(np.array([False]))
    voting = StoredTable(parts, whose, classes=2, category_weight=1 / 3)
    for found, expected in (
        (table.count_rows(), voting.count_rows(space)),
        (table.count_classes(), voting.count_classes(space)),
    ):
        assert found.dtype == np.int64
        assert found.tolist() == expected.tolist()


def test_a_class_without_rows_is_counted_too():
    assert stored(batches(2), classes=4).count_classes().tolist() == [1, 4, 0, 0]
    assert stored([]).count_rows().tolist() == stored([]).count_classes().tolist() == [0]


@pytest.mark.parametrize("users_count", [False, True])
def test_its_counts_can_be_estimated(users_count):
    whose = users(scale=FIXED_POINT) if users_count else None
    neighbours = NeighboringRelation(max_rows=3) if users_count else ROW_LEVEL
    account, table = Account(), stored(batches(2), whose, classes=2)
    spends = [account.authorize(Spend(name, 2.5, 1)) for name in ("row count", "class counts")]
    session = PrivateSession(
        RecordsBackend(table),
        account,
        FakeNoise(strength=0),
        neighbours,
        reading=EncodedReading(ENCODER),
    )
    rows, classes = session.count_rows(spends[0]), session.count_classes(spends[1], 2)
    assert account.spent == (rows.item, classes.item)
    assert {rows.scale, classes.scale} == {table.scale}
    assert rows.values[0].tolist() == ([5] if whose is None else [3 * FIXED_POINT])
    assert classes.values[0].tolist() == (
        [1, 4] if whose is None else [FIXED_POINT, 2 * FIXED_POINT]
    )


def test_all_marginals_are_counted_in_one_pass():
    class Once:
        passes = 0

        def __iter__(self):
            self.passes += 1
            return iter(batches(2))

    once = Once()
    stored(once).count_marginals([AGE, ILL, BOTH])
    assert once.passes == 1


@pytest.mark.parametrize("ids", [IDS[:-1], IDS[:2], [*IDS, "d"]])
def test_a_table_that_changed_since_its_users_were_counted_is_refused(ids):
    with pytest.raises(DataError, match="changed"):
        stored(batches(2), users(ids)).count_marginals([AGE])


def test_many_cells_are_told_apart_with_users():
    """The cell of each row is remembered in the smallest type that holds it."""
    encoder = Encoder(Schema((Integer("id", 0, 999),)))
    wide = Marginal((build_axis(encoder, "id", max_bins=1000),))
    rows = encoder.encode(pa.table({"id": [999, 256]}))
    (found,) = stored([rows], users(["a", "b"])).count_marginals([wide])
    assert np.flatnonzero(found).tolist() == [256, 999]


AXES = (
    ListAxis("a", 0, (0, 1, 1)),
    NumberAxis("x", 0, (0.3, 0.6), (0, 3, 6, 10)),
    ListAxis("c", None, (0, 1)),
)
ASKED = [Marginal(()), Marginal(AXES[:1]), Marginal(AXES[:2]), Marginal(AXES), Marginal(AXES[1:])]


def batches_of(sizes, seed):
    rng = np.random.default_rng(seed)
    return [
        (
            Records(rng.random((size, 1)), rng.integers(0, 3, (size, 1)).astype(np.uint8)),
            rng.integers(0, 2, size),
        )
        for size in sizes
    ]


def counted(table):
    return [*table.count_marginals(ASKED), table.count_rows(), table.count_classes()]


@given(st.lists(st.integers(0, 5), max_size=4), st.integers(0, 100))
def test_a_cached_table_counts_as_one_that_reads_afresh(sizes, seed):
    batches = batches_of(sizes, seed)
    cached, fresh = CachedTable(batches, classes=2), stored(batches, classes=2)
    for _ in range(2):
        for one, other in zip(counted(cached), counted(fresh), strict=True):
            assert one.dtype == other.dtype
            assert one.tolist() == other.tolist()


def test_what_a_cached_table_returns_is_no_window_into_it():
    cached = CachedTable(batches_of([20], 0))
    (first,) = cached.count_marginals(ASKED[1:2])
    first += 1000
    assert cached.count_marginals(ASKED[1:2])[0].sum() == 20
    cached.count_marginals(ASKED[1:2])[0][:] = -1
    assert cached.count_marginals(ASKED[1:2])[0].sum() == 20


WARD, BY_CLASS = ListAxis("ward", 0, (0, 1, 1)), ListAxis("ill", None, (0, 1))


def rows_in_batches(rows=2500, sizes=(1000, 1500)):
    rng = np.random.default_rng(0)
    numbers = rng.random((rows, 3), dtype=np.float32)
    codes = rng.integers(0, 3, (rows, 1)).astype(np.uint8)
    classes = rng.integers(0, 2, rows)
    places = np.split(np.arange(rows), np.cumsum(sizes)[:-1])
    return [(Records(numbers, codes).take(some), classes[some]) for some in places]


def halfspaces(axis):
    return Halfspaces.draw_halfspaces(axis, 400, 3, np.random.default_rng(1))


@pytest.mark.parametrize(
    ("axis", "cells"), [(None, 1), (WARD, 2), (BY_CLASS, 2)], ids=["all", "values", "classes"]
)
def test_counts_are_those_of_one_row_after_the_other(axis, cells):
    asked = halfspaces(axis)
    expected = np.zeros((400, cells))
    for rows, classes in rows_in_batches():
        grid = np.rint(rows.numbers.astype(np.float64) * asked.steps).astype(np.int64)
        inside = asked.weights.astype(np.int64) @ grid.T <= asked.limits[:, None]
        on = np.zeros(len(rows), dtype=int) if axis is None else axis.find_cells(rows, classes)
        expected += inside @ np.eye(cells)[on]
    assert np.array_equal(CachedTable(rows_in_batches()).count_halfspaces(asked), expected)


def test_batches_and_the_order_of_rows_do_not_matter():
    asked = halfspaces(WARD)
    parts = rows_in_batches(sizes=(7, 1, 2492))
    one, other = CachedTable(parts), CachedTable(parts[::-1])
    assert np.array_equal(one.count_halfspaces(asked), other.count_halfspaces(asked))


def test_without_rows_there_is_nothing_inside():
    assert not CachedTable([]).count_halfspaces(halfspaces(WARD)).any()


def test_what_is_kept_can_not_be_changed():
    table, asked = CachedTable(rows_in_batches()), halfspaces(None)
    first = table.count_halfspaces(asked)
    with pytest.raises(ValueError, match="read-only"):
        first[0] = 1
    assert table.count_halfspaces(asked) is first


@pytest.mark.parametrize("whose", [None, users()])
def test_halfspaces_are_refused_where_rows_are_not_kept_for_them(whose):
    with pytest.raises(TabpeError, match="halfspaces"):
        stored(batches(2), whose).count_halfspaces(halfspaces(None))


def test_votes_are_refused_where_rows_are_kept_for_marginals():
    table = CachedTable(rows_in_batches(), classes=2)
    with pytest.raises(TabpeError, match="kept for marginals"):
        table.count_votes([drawn(2, 3, 1), drawn(2, 3, 1)])


def test_a_closed_table_has_let_go_of_the_rows():
    table = CachedTable(rows_in_batches(), classes=2)
    table.close()
    assert table.count_classes().tolist() == [0, 0]
    assert not table.count_halfspaces(halfspaces(WARD)).any()
    asked = halfspaces(None)
    table = CachedTable(rows_in_batches(), classes=2)
    table.count_halfspaces(asked), table.count_marginals(ASKED)
    held = [weakref.ref(rows.numbers) for rows, _ in table.read_batches()]
    table.close()
    assert not table.count_halfspaces(asked).any()
    assert not any(counts.any() for counts in table.count_marginals(ASKED))
    assert [one() for one in held] == [None]


def test_no_count_hangs_on_the_address_of_what_was_asked(monkeypatch):
    """An address is given anew once its object is gone."""
    monkeypatch.setattr(local, "id", lambda _: 0, raising=False)
    cached, fresh = (kind(rows_in_batches(), classes=2) for kind in (CachedTable, stored))
    for groups in ((0, 1, 1), (0, 0, 1), (1, 0, 0), (0, 1, 1)):
        axes = ListAxis("ward", 0, groups), NumberAxis("x", 0, (0.4,), (0, 4, 10))
        asked = [Marginal(axes[:1]), Marginal(axes), Marginal(axes[::-1])]
        found, expected = (table.count_marginals(asked) for table in (cached, fresh))
        assert [one.tolist() for one in found] == [one.tolist() for one in expected]
        within = halfspaces(axes[0])
        alone = CachedTable(rows_in_batches()).count_halfspaces(within)
        assert cached.count_halfspaces(within).tolist() == alone.tolist()


def test_equal_axes_are_looked_up_once(monkeypatch):
    looked, plain = [], ListAxis.find_cells
    monkeypatch.setattr(
        ListAxis, "find_cells", lambda axis, *rows: looked.append(axis) or plain(axis, *rows)
    )
    cached = CachedTable(rows_in_batches())
    for _ in range(3):
        cached.count_marginals([Marginal((ListAxis("ward", 0, (0, 1, 1)),))])
    assert len(looked) == 1
