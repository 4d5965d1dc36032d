"""What one row, or one user, changes of the exact counts of marginals."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from appraised import SCHEMA
from tabpe.backends import StoredTable
from tabpe.backends.users import limit_contributions
from tabpe.encoding import Encoder, Marginal
from tabpe.encoding.marginals import CorrectnessAxis, PredictedAxis, build_axis, build_class_axis
from tabpe.evolution.marginal_prior import choose_bins, choose_pairs

LENGTH, MOST_ROWS = 2**14, 3
ENCODER = Encoder(SCHEMA)


def predict(rows):
    """A public function of a row."""
    return (rows.numbers.sum(axis=1) + rows.codes[:, 0] > 1).astype(np.int64)


def pairs():
    """Two 2-way marginals as a run asks for them: by class, and with bins of numbers joined."""
    bins = choose_bins(ENCODER, rows=800, sigma=10.0, by_class=True)
    asked = choose_pairs(bins, rows=800, sigma=10.0)[:2]
    return {f"pair of {' and '.join(pair.names[1:])}": pair for pair in asked}


AXES = {name: build_axis(ENCODER, name, max_bins=5) for name in SCHEMA.names}
ASKED = {
    **{name: Marginal((axis,)) for name, axis in AXES.items()},
    "label and column": Marginal((build_class_axis(ENCODER), AXES["age"])),
    "three columns": Marginal((AXES["bmi"], AXES["ward"], AXES["ill"])),
    "confusion": Marginal((build_class_axis(ENCODER), PredictedAxis(2, predict))),
    "right": Marginal((CorrectnessAxis(predict),)),
    "all": Marginal(()),
    **pairs(),
}
each_marginal = pytest.mark.parametrize("kind", ASKED)

rows = st.fixed_dictionaries(
    {
        "age": st.sampled_from([-7, 0, 19, 20, 21, 50, 99, 100, 10**9]),
        "bmi": st.sampled_from([-1e300, 10.0, 20.0, 33.3, 60.0, 1e300]),
        "ward": st.sampled_from(["heart", "lung", "else", "skin", ""]),
        "ill": st.booleans(),
    }
)
tables = st.lists(rows, min_size=2, max_size=12)


def counted(kind, table, users=None, size=4):
    if not table:
        return np.zeros(ASKED[kind].size, dtype=np.int64)
    encoded = [
        ENCODER.encode(pa.Table.from_pylist(table[first : first + size]))
        for first in range(0, len(table), size)
    ]
    if users is not None:
        flags, first, kept = users.kept, 0, []
        for records, classes in encoded:
            which = flags[first : first + len(records)]
            kept.append((records.take(which), classes[which]))
            first += len(records)
        encoded = kept
    (found,) = StoredTable(encoded, users, open_store=None).count_marginals([ASKED[kind]])
    return found


@each_marginal
@given(table=tables, data=st.data())
@settings(deadline=None, max_examples=60)
def test_one_row_more_or_less_moves_exactly_one_cell_by_one(kind, table, data):
    place = data.draw(st.integers(0, len(table) - 1))
    moved = counted(kind, table) - counted(kind, table[:place] + table[place + 1 :])
    assert moved[moved != 0].tolist() == [1]


@each_marginal
@given(table=tables, other=rows, data=st.data())
@settings(deadline=None, max_examples=60)
def test_another_row_in_the_place_of_one_moves_at_most_two_cells_by_one(kind, table, other, data):
    place = data.draw(st.integers(0, len(table) - 1))
    changed = [*table[:place], other, *table[place + 1 :]]
    moved = counted(kind, table) - counted(kind, changed)
    assert sorted(moved[moved != 0].tolist()) in ([], [-1, 1])


@each_marginal
@given(table=tables, data=st.data())
@settings(deadline=None, max_examples=60)
def test_one_user_more_or_less_moves_a_length_of_one_at_most(kind, table, data):
    ids = data.draw(st.lists(st.sampled_from("uvw"), min_size=len(table), max_size=len(table)))
    rest = [row for row, one in zip(table, ids, strict=True) if one != ids[0]]
    others = [one for one in ids if one != ids[0]]
    fewer = counted(kind, rest, chosen(others)) if rest else 0
    moved = counted(kind, table, chosen(ids)) - fewer
    assert (moved >= 0).all()
    assert (moved**2).sum() <= LENGTH**2
    assert np.count_nonzero(moved) <= MOST_ROWS


def chosen(ids):
    return limit_contributions(
        [pa.table({"id": ids})], column="id", max_rows=MOST_ROWS, seed=1, scale=LENGTH
    )


@each_marginal
@given(table=tables, data=st.data())
@settings(deadline=None, max_examples=40)
def test_neither_batches_nor_the_order_of_rows_matter(kind, table, data):
    order, size = data.draw(st.permutations(table)), data.draw(st.integers(1, 12))
    assert counted(kind, table).tolist() == counted(kind, order, size=size).tolist()
