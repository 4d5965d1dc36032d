"""What one row, or one user, changes of the exact integers that a schema is estimated from."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tabpe.backends.raw_columns import RawColumnCounter
from tabpe.backends.users import limit_contributions
from tabpe.encoding.raw_cells import ClampedBins, EqualWidthBins
from tabpe.io import open_source
from tabpe.schema import Categorical, Date

LENGTH = 2**14
MOST_ROWS = 3
texts = st.sampled_from(
    ["1", "2", "-3", "0", "2.5", "1e3", "1e999", "x", "y", "", " 1", "true", "007", "1.0", None]
)
numbers = st.sampled_from([0.0, 1.0, -2.0, 1e300, 3.25, 1 / 3, float("inf"), float("nan"), None])
columns = st.one_of(
    st.lists(texts, min_size=2, max_size=14).map(lambda cells: pa.array(cells, pa.string())),
    st.lists(numbers, min_size=2, max_size=14).map(lambda cells: pa.array(cells, pa.float64())),
)

days = st.sampled_from(
    ["2024-01-01", "1969-12-31", "0001-01-01", "9999-12-31", "2024-02-30", "1.1.2024", "", None]
)
TEXTS = Categorical("c", ("1", "x", "2.5"))
NUMBERS = Categorical("c", (1, 2))
ASKED = {
    "kinds": lambda counter: dict(enumerate(counter.count_kinds(["c"])["c"])),
    "magnitudes": lambda counter: dict(enumerate(counter.count_magnitudes(["c"])["c"])),
    "bins": lambda counter: dict(
        enumerate(counter.count_bins({"c": EqualWidthBins(-2.0, 0.5, 12)})["c"])
    ),
    "pieces": lambda counter: dict(
        enumerate(counter.count_bins({"c": ClampedBins((-2.0, 0.5, 3.0))})["c"])
    ),
    "listed texts": lambda counter: dict(
        enumerate(counter.count_declared_values({"c": TEXTS})["c"])
    ),
    "listed numbers": lambda counter: dict(
        enumerate(counter.count_declared_values({"c": NUMBERS})["c"])
    ),
    "texts": lambda counter: counter.count_values({"c": str})["c"],
    "whole numbers": lambda counter: counter.count_values({"c": int})["c"],
    "decimals": lambda counter: counter.count_values({"c": float})["c"],
}
each_query = pytest.mark.parametrize("query", ASKED)


def difference(one, other):
    """By how much each cell of one histogram exceeds that of the other."""
    moved = {cell: one.get(cell, 0) - other.get(cell, 0) for cell in {*one, *other}}
    return np.array([by for by in moved.values() if by], dtype=np.int64)


def counted(query, cells, users=None):
    counter = RawColumnCounter(open_source(pa.table({"c": cells})), users)
    return ASKED[query](counter)


@each_query
@given(cells=columns, data=st.data())
@settings(deadline=None, max_examples=100)
def test_one_row_more_or_less_moves_at_most_one_cell_by_one(query, cells, data):
    place = data.draw(st.integers(0, len(cells) - 1))
    kept = np.arange(len(cells)) != place
    moved = difference(counted(query, cells), counted(query, cells.filter(pa.array(kept))))
    assert moved.tolist() in ([], [1])


@each_query
@given(cells=columns, data=st.data())
@settings(deadline=None, max_examples=50)
def test_another_row_in_the_place_of_one_moves_at_most_two_cells_by_one(query, cells, data):
    place = data.draw(st.integers(0, len(cells) - 2))
    last = np.arange(len(cells)) != len(cells) - 1
    other = np.arange(len(cells)) != place
    one, two = (counted(query, cells.filter(pa.array(kept))) for kept in (last, other))
    assert sorted(difference(one, two).tolist()) in ([], [-1], [1], [-1, 1])


@each_query
@given(cells=columns, data=st.data())
@settings(deadline=None, max_examples=100)
def test_one_user_more_or_less_moves_a_length_of_one_in_few_cells(query, cells, data):
    ids = data.draw(st.lists(st.sampled_from("uvw"), min_size=len(cells), max_size=len(cells)))
    gone = np.array([one != ids[0] for one in ids])
    whole = counted(query, cells, chosen(ids))
    rest = [one for one in ids if one != ids[0]]
    fewer = counted(query, cells.filter(pa.array(gone)), chosen(rest)) if rest else {}
    moved = difference(whole, fewer)
    assert (moved > 0).all()
    assert (moved**2).sum() <= LENGTH**2
    assert len(moved) <= MOST_ROWS


def chosen(ids):
    return limit_contributions(
        [pa.table({"id": ids})], column="id", max_rows=MOST_ROWS, seed=1, scale=LENGTH
    )


@each_query
@given(cells=columns, data=st.data())
@settings(deadline=None, max_examples=50)
def test_the_order_of_rows_does_not_matter(query, cells, data):
    order = data.draw(st.permutations(range(len(cells))))
    shuffled = cells.take(pa.array(order))
    assert difference(counted(query, cells), counted(query, shuffled)).tolist() == []


@given(cells=st.lists(days, min_size=2, max_size=14), data=st.data())
@settings(deadline=None, max_examples=100)
def test_one_date_more_or_less_moves_at_most_one_cell_by_one(cells, data):
    def magnitudes(some):
        table = pa.table({"c": pa.array(some, pa.string())})
        counter = RawColumnCounter(
            open_source(table), moments={"c": Date("c", "2000-01-01", "2000-01-01")}
        )
        return dict(enumerate(counter.count_magnitudes(["c"])["c"]))

    place = data.draw(st.integers(0, len(cells) - 1))
    fewer = cells[:place] + cells[place + 1 :]
    assert difference(magnitudes(cells), magnitudes(fewer)).tolist() in ([], [1])
