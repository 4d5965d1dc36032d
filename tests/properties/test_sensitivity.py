"""What one row can change: the property that the whole accounting stands on."""

from functools import partial

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tabpe.accounting.neighboring import FIXED_POINT
from tabpe.backends import StoredTable
from tabpe.backends.local import SpillFile
from tabpe.backends.users import limit_contributions
from tabpe.encoding import Encoder, Records, VotingSpace
from tabpe.errors import DataError
from tabpe.schema import Boolean, Categorical, Float, Integer, Schema

CLASSES, MOST_ROWS = 3, 3


def records(draw, size, numeric, categorical, holes):
    """Few different values, so that ties and duplicates are common; nulls, if there are holes."""
    values = [0.0, 0.25, 0.5, 1.0, *([np.nan] if holes else [])]
    numbers = st.lists(st.sampled_from(values), min_size=numeric, max_size=numeric)
    codes = st.lists(st.integers(0, 2), min_size=categorical, max_size=categorical)
    rows = draw(st.lists(st.tuples(numbers, codes), min_size=size, max_size=size))
    found = Records(
        np.array([row[0] for row in rows], dtype=np.float32).reshape(size, numeric),
        np.array([row[1] for row in rows], dtype=np.uint8).reshape(size, categorical),
    )
    return VotingSpace(np.full(numeric, holes)).transform_rows(found)


@st.composite
def votings(draw):
    """Private rows with their classes, a population, and another row."""
    numeric, categorical = draw(st.integers(0, 3)), draw(st.integers(0, 3))
    size = draw(st.integers(1, 12))
    holes = draw(st.booleans())
    rows = records(draw, size + 1, numeric, categorical, holes)
    label = st.integers(0, CLASSES - 1)
    labels = np.array(draw(st.lists(label, min_size=size + 1, max_size=size + 1)))
    population = [
        records(draw, draw(st.integers(0, 6)), numeric, categorical, holes) for _ in range(CLASSES)
    ]
    return rows, labels, population


STORES = {"memory": list, "spill": partial(SpillFile, None), "nothing kept": None}


def counted(rows, labels, population, store="memory", each=1):
    as_it_is = VotingSpace(np.zeros(rows.numbers.shape[1], dtype=bool))
    table = StoredTable(
        [(rows, labels)], open_store=STORES[store], classes=CLASSES, category_weight=1 / 3
    )
    votes = np.concatenate(table.count_votes(population, as_it_is, each))
    counts = table.count_classes(as_it_is)
    assert counts.tolist() == table.count_classes().tolist()
    table.close()
    return votes, counts


def without(rows, labels, place):
    kept = np.arange(len(rows)) != place
    return rows.take(kept), labels[kept]


def different(candidates):
    """How many candidates differ from each other."""
    whole = np.hstack([candidates.numbers, candidates.codes])
    return len({row.tobytes() for row in whole})


@pytest.mark.parametrize("store", STORES)
@given(voting=votings(), each=st.integers(1, 5), data=st.data())
@settings(deadline=None, max_examples=150)
def test_one_row_more_or_less_changes_as_many_cells_by_one_as_it_has_votes(
    store, voting, each, data
):
    """Also where candidates are the same, fewer than votes, or none."""
    rows, labels, population = voting
    place = data.draw(st.integers(0, len(rows) - 1))
    votes, counts = counted(rows, labels, population, store, each)
    fewer_votes, fewer_counts = counted(*without(rows, labels, place), population, store, each)
    moved = votes - fewer_votes
    assert moved[moved != 0].tolist() == [1] * min(each, different(population[labels[place]]))
    assert np.flatnonzero(counts - fewer_counts).tolist() == [labels[place]]
    assert (counts - fewer_counts).sum() == 1


@given(voting=votings(), each=st.integers(1, 5), data=st.data())
@settings(deadline=None, max_examples=200)
def test_another_row_in_the_place_of_one_moves_two_cells_a_vote_by_one_at_most(voting, each, data):
    rows, labels, population = voting
    place = data.draw(st.integers(0, len(rows) - 1))
    one = counted(*without(rows, labels, len(rows) - 1), population, each=each)
    other = counted(*without(rows, labels, place), population, each=each)
    for before, after, cells in zip(one, other, (2 * each, 2), strict=True):
        moved = after - before
        assert np.abs(moved).max(initial=0) <= 1
        assert np.abs(moved).sum() <= cells


def counted_for_users(rows, labels, ids, population, each):
    if not len(rows):
        return np.zeros(sum(map(len, population)), dtype=np.int64)
    names = pa.table({"id": ids.tolist()})
    users = limit_contributions([names], column="id", max_rows=MOST_ROWS, seed=0, scale=FIXED_POINT)
    batch = rows.take(users.kept), labels[users.kept]
    table = StoredTable([batch], users, classes=CLASSES, category_weight=1 / 3)
    return np.concatenate(table.count_votes(population, votes_per_row=each))


@given(voting=votings(), each=st.integers(1, 5), data=st.data())
@settings(deadline=None, max_examples=200)
def test_one_user_more_or_less_moves_votes_by_what_they_cost_at_most(voting, each, data):
    """The squared length is at most that of as many histograms as a row has votes."""
    rows, labels, population = voting
    size = len(rows)
    ids = np.array(data.draw(st.lists(st.integers(0, 3), min_size=size, max_size=size)))
    others = ids != ids[0]
    votes = counted_for_users(rows, labels, ids, population, each)
    fewer = counted_for_users(rows.take(others), labels[others], ids[others], population, each)
    moved = votes - fewer
    assert (moved >= 0).all()
    assert int((moved**2).sum()) <= each * FIXED_POINT**2
    assert np.count_nonzero(moved) <= each * MOST_ROWS


@given(voting=votings(), each=st.integers(1, 5))
@settings(deadline=None, max_examples=100)
def test_users_with_one_row_each_count_as_rows_do(voting, each):
    rows, labels, population = voting
    users = counted_for_users(rows, labels, np.arange(len(rows)), population, each)
    votes, _ = counted(rows, labels, population, each=each)
    assert users.tolist() == (FIXED_POINT * votes).tolist()


SCHEMA = Schema(
    (
        Integer("age", 0, 9),
        Float("size", -1.0, 1.0, decimals=1),
        Float("free", 0.0, 5.0),
        Categorical("ward", ("1", "2", "10000000000000000", "other"), other="other"),
        Categorical("code", (1, 2, 3), other=3),
        Boolean("ill"),
    ),
    label="ill",
)

cells = st.fixed_dictionaries(
    {
        "age": st.one_of(st.integers(-3, 15), st.just(10**12)),
        "size": st.floats(-2, 2),
        "free": st.floats(allow_nan=False),
        "ward": st.sampled_from([1.0, 2.0, 1.5, -0.0, 1e16]),
        "code": st.sampled_from([1.0, 2.0, 3.0, 4.0, 2.5]),
        "ill": st.booleans(),
    }
)
PLAIN = {"age": 1, "size": 0.5, "free": 1.0, "ward": 1.0, "code": 1.0, "ill": True}


def encoded(rows):
    records, labels = Encoder(SCHEMA).encode(pa.Table.from_pylist(rows))
    return records.numbers, records.codes, labels


@given(rows=st.lists(cells, min_size=1, max_size=8), extra=cells)
@example(rows=[PLAIN | {"ward": 1e16}], extra=PLAIN | {"ward": 1.5})
@settings(deadline=None, max_examples=150)
def test_a_row_is_encoded_by_itself_whatever_the_other_rows_are(rows, extra):
    """Else one row more could move the votes of all."""
    alone, together = encoded(rows), encoded([*rows, extra])
    for before, after in zip(alone, together, strict=True):
        assert before.tolist() == after[: len(rows)].tolist()


@given(
    cells=st.lists(
        st.sampled_from(["1", "2", " 2", "1.0", "1e0", "3", "x", "", "true", "0x1", "٣"]),
        min_size=1,
        max_size=6,
    ),
    extra=st.sampled_from(["x", "1.5", "", "99999999999999999999", "1", "true"]),
    column=st.sampled_from(
        [
            Categorical("c", ("1", "2", "else"), other="else"),
            Categorical("c", (1, 2, 3), other=3),
            Categorical("c", (1.0, 2.5), other=2.5),
            Integer("c", 0, 9),
            Boolean("c"),
        ]
    ),
)
@settings(deadline=None, max_examples=200)
def test_a_cell_of_text_is_encoded_by_itself(cells, extra, column):
    encoder = Encoder(Schema((column,)))
    try:
        alone = encoder.encode(pa.table({"c": cells}))[0]
        together = encoder.encode(pa.table({"c": [*cells, extra]}))[0]
    except DataError:
        return
    assert alone.numbers.tolist() == together.numbers[:-1].tolist()
    assert alone.codes.tolist() == together.codes[:-1].tolist()
