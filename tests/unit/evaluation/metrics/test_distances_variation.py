"""Total variation must be that of a naive count, cell by cell."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tabpe.errors import ParameterError
from tabpe.evaluation.metrics.distances import total_variation
from tabpe.evaluation.table_arrays import build_table_arrays
from tabpe.schema import Boolean, Categorical, Float, Integer, Schema

WARDS = ("eye", "heart", "skin")
SCHEMA = Schema(
    (Integer("age", 0, 100), Categorical("ward", WARDS), Boolean("ill"), Float("dose", -1.0, 3.0)),
    label="ill",
)
KINDS = (pa.int64(), pa.string(), pa.bool_(), pa.float64())


def as_table(rows):
    columns = zip(*rows, strict=True) if rows else [[]] * 4
    arrays = [pa.array(cells, kind) for cells, kind in zip(columns, KINDS, strict=True)]
    return pa.table(dict(zip(SCHEMA.names, arrays, strict=True)))


def naive(one, two, order, bins):
    def cell(value, place):
        bounds = {0: (0, 100), 3: (-1, 3)}.get(place)
        if bounds is None or value is None:
            return value
        low, high = bounds
        return min(max(math.floor((value - low) / (high - low) * bins), 0), bins - 1)

    def shares(rows, places):
        counts = Counter(tuple(cell(row[place], place) for place in places) for row in rows)
        return {cells: count / len(rows) for cells, count in counts.items()}

    found = []
    for places in itertools.combinations(range(4), order):
        here, there = shares(one, places), shares(two, places)
        gaps = [abs(here.get(cells, 0) - there.get(cells, 0)) for cells in {*here, *there}]
        found.append(sum(gaps) / 2)
    return found


def variations(one, two, **options):
    return total_variation(*build_table_arrays(SCHEMA, [as_table(one), as_table(two)]), **options)


small = st.lists(
    st.tuples(
        st.none() | st.integers(-20, 120),
        st.none() | st.sampled_from([*WARDS, "throat"]),
        st.none() | st.booleans(),
        st.none() | st.sampled_from([-9.0, -1.0, 0.0, 1.0, 2.9, 3.0, 1e300]),
    ),
    min_size=1,
    max_size=12,
)


@settings(max_examples=100, deadline=None)
@given(small, small, st.sampled_from([1, 4, 20]))
def test_it_equals_a_naive_count(one, two, bins):
    for found in variations(one, two, orders=(1, 2, 3, 4), bins=bins):
        direct = naive(one, two, found.order, bins)
        assert found.distance == pytest.approx(np.mean(direct), abs=1e-12)
        assert found.spread == pytest.approx(np.std(direct), abs=1e-12)
        assert found.worst[1] == pytest.approx(max(direct), abs=1e-12)
        assert found.rows == (len(one), len(two))


@settings(max_examples=50, deadline=None)
@given(small, small)
def test_it_is_symmetric_bounded_and_zero_for_equal_tables(one, two):
    for there, back, none in zip(
        variations(one, two), variations(two, one), variations(one, one * 3), strict=True
    ):
        assert there.distance == pytest.approx(back.distance, abs=1e-12)
        assert 0 <= there.distance <= 1 + 1e-12
        assert none.distance == pytest.approx(0, abs=1e-12)


@settings(max_examples=50, deadline=None)
@given(small, small)
def test_more_columns_tell_no_less(one, two):
    found = [each.worst[1] for each in variations(one, two, orders=(1, 2, 3, 4))]
    assert all(low <= high + 1e-12 for low, high in itertools.pairwise(found))


@pytest.mark.parametrize("columns", [3, 70])
def test_many_columns_and_categories_do_not_overflow(columns):
    names = [f"c{place}" for place in range(columns)]
    values = tuple(f"v{place}" for place in range(3000))
    schema = Schema(tuple(Categorical(name, values) for name in names))
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 3000, (60, columns))
    here, there = rows[rng.integers(0, 40, 100)], rows[rng.integers(20, 60, 100)]
    pair = [
        pa.table(dict(zip(names, np.array(values)[cells.T], strict=True)))
        for cells in (here, there)
    ]
    found = total_variation(*build_table_arrays(schema, pair), orders=[columns])[0]
    counts = Counter(map(tuple, here.tolist()))
    counts.subtract(map(tuple, there.tolist()))
    assert found.distance == pytest.approx(sum(map(abs, counts.values())) / 200)


def test_tables_without_rows_have_no_distance():
    row = (1, "eye", True, 0.0)
    for found in (*variations([row], []), *variations([], [row])):
        assert math.isnan(found.distance)
        assert found.measured == 0


def test_constant_and_empty_columns_are_at_no_distance():
    schema = Schema((Integer("one", 5, 5), Float("gone", 0.0, 1.0)))
    table = pa.table({"one": [5, 5], "gone": pa.array([None, None], pa.float64())})
    for found in total_variation(*build_table_arrays(schema, [table, table[:1]])):
        assert found.distance == 0.0


def test_subsets_are_sampled_by_a_seed_whatever_else_is_asked_for():
    one = [(age, WARDS[age % 3], age % 2 == 0, 0.1 * age) for age in range(30)]
    two = [(age, WARDS[age % 2], age % 3 == 0, 0.2 * age) for age in range(30)]
    options = {"subsets": 2, "random_state": 5}
    together = variations(one, two, orders=[1, 2, 3], **options)
    assert [found.measured for found in together] == [2, 2, 2]
    assert variations(one, two, orders=[2], **options) == (together[1],)


@pytest.mark.parametrize("options", [{"bins": 0}, {"subsets": 0}, {"orders": [-1]}])
def test_wrong_parameters_are_refused(options):
    with pytest.raises(ParameterError, match=next(iter(options))):
        variations([(1, "eye", True, 0.0)], [(1, "eye", True, 0.0)], **options)
