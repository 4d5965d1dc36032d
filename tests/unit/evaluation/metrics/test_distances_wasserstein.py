"""Distances must be those of a direct computation: pandas-free, one subset at a time, by POT."""

from __future__ import annotations

import itertools
import math

import numpy as np
import ot
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from scipy.stats import wasserstein_distance

from tabpe.errors import ParameterError
from tabpe.evaluation.metrics.distances import KWayDistance, wasserstein
from tabpe.evaluation.table_arrays import build_table_arrays
from tabpe.schema import Boolean, Categorical, Float, Integer, Schema

WARDS = ("eye", "heart", "skin", "throat")
SCHEMA = Schema(
    (
        Integer("age", 0, 100),
        Float("dose", -1.0, 3.0),
        Categorical("ward", WARDS),
        Boolean("ill"),
        Float("heat", 30.0, 45.0),
    ),
    label="ill",
)


def table(rows, seed, *, nulls=0.0, wards=WARDS, far=0.0):
    rng = np.random.default_rng(seed)
    cells = {
        "age": rng.integers(0, 101, rows).tolist(),
        "dose": (rng.normal(1, 1, rows) + far * rng.integers(0, 2, rows)).tolist(),
        "ward": rng.choice(wards, rows).tolist(),
        "ill": (rng.random(rows) < 0.4).tolist(),
        "heat": rng.uniform(33, 42, rows).round(1).tolist(),
    }
    gone = {name: rng.random(rows) < nulls for name in cells}
    return pa.table(
        {
            name: [None if lost else cell for cell, lost in zip(values, gone[name], strict=True)]
            for name, values in cells.items()
        }
    )


def tables(rows=(40, 40), **options):
    return [table(rows[0], 1, **options), table(rows[1], 2, **options)]


def distances(pair, schema=SCHEMA, **options):
    return wasserstein(
        *build_table_arrays(schema, pair), **{"rows": None, "subsets": None, **options}
    )


def coded(pair, wards=WARDS):
    """Rows as the authors encode them, scaled by the schema."""
    where = {name: place / (len(wards) - 1) for place, name in enumerate(wards)}

    def row(cells):
        ward = math.nan if cells["ward"] is None else where[cells["ward"]]
        ill = math.nan if cells["ill"] is None else float(cells["ill"])
        number = {name: math.nan if cells[name] is None else cells[name] for name in cells}
        return [
            number["age"] / 100, (number["dose"] + 1) / 4, ward, ill, (number["heat"] - 30) / 15
        ]  # fmt: skip

    return [np.array([row(cells) for cells in one.to_pylist()]) for one in pair]


def by_mismatch(pair, columns):
    """The ground cost of the option, cell by cell."""
    one, two = ([list(cells.values()) for cells in each.to_pylist()] for each in pair)
    widths = [100, 4, None, None, 15]

    def cost(here, there, width):
        if width is None or (here is None) != (there is None):
            return float(here != there)
        return 0.0 if here is None else min(abs(here - there) / width, 2.0)

    return np.array(
        [
            [
                math.hypot(*(cost(a[place], b[place], widths[place]) for place in columns))
                for b in two
            ]
            for a in one
        ]
    )


def moved(costs):
    """The direct computation: every row by itself, the same mass each."""
    rows, columns = costs.shape
    return ot.emd2(np.full(rows, 1 / rows), np.full(columns, 1 / columns), costs)


def subsets(order, columns=5):
    return list(itertools.combinations(range(columns), order))


@pytest.mark.parametrize("rows", [(40, 40), (40, 25), (7, 60), (1, 1), (1, 30)])
def test_codes_equal_a_direct_computation(rows):
    pair = tables(rows)
    one, two = coded(pair)
    for found in distances(pair):
        costs = [cdist(one[:, places], two[:, places]) for places in subsets(found.order)]
        direct = [moved(cost) for cost in costs]
        assert found.distance == pytest.approx(np.mean(direct), abs=1e-9)
        assert found.spread == pytest.approx(np.std(direct), abs=1e-9)
        assert found.worst[1] == pytest.approx(max(direct), abs=1e-9)
        worst = tuple(SCHEMA.names.index(name) for name in found.worst[0])
        assert direct[subsets(found.order).index(worst)] == pytest.approx(max(direct), abs=1e-9)


def test_codes_equal_what_pot_makes_of_its_own_distances():
    rng = np.random.default_rng(0)
    names = [f"x{place}" for place in range(4)]
    schema = Schema(tuple(Float(name, 0.0, 1.0) for name in names))
    points = rng.random((2, 50, 4))
    pair = [pa.table(dict(zip(names, each.T, strict=True))) for each in points]
    for found in distances(pair, schema, orders=[2, 3, 4]):
        direct = [
            ot.emd2([], [], ot.dist(points[0][:, places], points[1][:, places], "euclidean"))
            for places in subsets(found.order, 4)
        ]
        assert found.distance == pytest.approx(np.mean(direct), abs=1e-9)


@pytest.mark.parametrize("rows", [(40, 40), (40, 25), (1, 30)])
@pytest.mark.parametrize("nulls", [0.0, 0.3])
@pytest.mark.parametrize("far", [0.0, 30.0])
def test_mismatch_equals_a_direct_computation(rows, nulls, far):
    pair = tables(rows, nulls=nulls, far=far)
    for found in distances(pair, categories="mismatch"):
        direct = [moved(by_mismatch(pair, places)) for places in subsets(found.order)]
        assert found.distance == pytest.approx(np.mean(direct), abs=1e-9)
        assert found.measured == len(direct)


@pytest.mark.parametrize("rows", [(40, 40), (40, 25)])
def test_one_way_equals_scipy(rows):
    pair = tables(rows)
    one, two = coded(pair)
    for place, name in enumerate(SCHEMA.names):
        alone = Schema((SCHEMA[name],))
        (found,) = distances([each.select([name]) for each in pair], alone, orders=[1])
        assert found.distance == pytest.approx(
            wasserstein_distance(one[:, place], two[:, place]), abs=1e-12
        )


def test_one_way_mismatch_of_categories_is_total_variation():
    alone = Schema((SCHEMA["ward"],))
    pair = [pa.table({"ward": ["eye", "eye", "skin", None]}), pa.table({"ward": ["eye", "heart"]})]
    (found,) = distances(pair, alone, orders=[1], categories="mismatch")
    assert found.distance == 0.5


def test_codes_leave_out_rows_with_a_null_among_the_columns():
    pair = tables((60, 50), nulls=0.2)
    one, two = coded(pair)
    for found in distances(pair):
        direct = []
        for places in subsets(found.order):
            left = [each[:, places][~np.isnan(each[:, places]).any(axis=1)] for each in (one, two)]
            if len(left[0]) and len(left[1]):
                direct.append(moved(cdist(*left)))
        assert found.measured == len(direct)
        assert found.distance == pytest.approx(np.mean(direct), abs=1e-9)


def test_subsets_without_rows_are_skipped():
    schema = Schema((Integer("age", 0, 10), Boolean("ill")))
    pair = [
        pa.table({"age": pa.array([None, None], pa.int64()), "ill": [True, True]}),
        pa.table({"age": [1, 2], "ill": [False, True]}),
    ]
    one, two = distances(pair, schema)
    assert (one.measured, one.possible, one.distance, one.worst) == (1, 2, 0.5, (("ill",), 0.5))
    assert (two.measured, two.possible, two.worst[0]) == (0, 1, ())
    assert math.isnan(two.distance)
    assert math.isnan(two.spread)
    with_nulls = distances(pair, schema, categories="mismatch")
    assert [found.measured for found in with_nulls] == [2, 1]
    assert with_nulls[0].distance == pytest.approx((1.0 + 0.5) / 2)


@pytest.mark.parametrize("categories", ["codes", "mismatch"])
def test_tables_without_rows_have_no_distance(categories):
    full = table(3, 1)
    for pair in ([full, full[:0]], [full[:0], full], [full[:0], full[:0]]):
        assert all(math.isnan(found.distance) for found in distances(pair, categories=categories))


def test_categories_of_one_table_alone_get_the_places_after_the_declared_ones():
    pair = [pa.table({"ward": ["eye"]}), pa.table({"ward": ["zoo"]})]
    alone = Schema((Categorical("ward", ("eye", "heart")),))
    assert distances(pair, alone, orders=[1])[0].distance == 1.0
    pair[1] = pa.table({"ward": ["heart", "zoo"]})
    assert distances(pair, alone, orders=[1])[0].distance == 0.75
    assert distances(pair, alone, orders=[1], categories="mismatch")[0].distance == 1.0


@pytest.mark.parametrize("categories", ["codes", "mismatch"])
def test_constant_columns_are_at_no_distance(categories):
    schema = Schema((Integer("one", 5, 5), Categorical("only", ("a",)), Float("x", 0.0, 1.0)))
    pair = [
        pa.table({"one": [5, 5], "only": ["a", "a"], "x": x}) for x in ([0.0, 0.5], [0.25, 0.5])
    ]
    found = distances(pair, schema, categories=categories)
    assert [each.distance for each in found] == pytest.approx([1 / 24, 1 / 12, 1 / 8])


def test_orders_beyond_the_columns_are_left_out():
    pair = [pa.table({"age": [1]}), pa.table({"age": [6]})]
    schema = Schema((Integer("age", 0, 10),))
    assert distances(pair, schema) == (KWayDistance(1, 0.5, 0.0, 1, 1, (1, 1), (("age",), 0.5)),)


@pytest.mark.parametrize("categories", ["codes", "mismatch"])
@pytest.mark.parametrize("jobs", [2, 5, None])
def test_the_number_of_threads_changes_no_bit(categories, jobs):
    pair = tables((150, 120), nulls=0.05)
    one = distances(pair, categories=categories, jobs=1)
    assert distances(pair, categories=categories, jobs=jobs) == one


def test_seeds_choose_rows_and_subsets():
    pair = tables((200, 200))
    options = {"rows": 30, "subsets": 4}
    one, again, other = (distances(pair, random_state=seed, **options) for seed in (1, 1, 2))
    assert one == again
    assert one != other
    assert all(found.rows == (30, 30) for found in one)
    assert [found.measured for found in one] == [4, 4, 4, 4, 1]


def test_a_subset_does_not_depend_on_other_orders():
    pair = tables((50, 60))
    options = {"rows": 40, "subsets": 3}
    together = distances(pair, orders=[1, 2, 3], **options)
    assert distances(pair, orders=[3], **options) == (together[2],)
    assert distances(pair, orders=[3, 1], **options) == (together[2], together[0])


def test_tables_smaller_than_the_sample_are_compared_whole():
    pair = tables((20, 30))
    assert distances(pair, rows=25)[0].rows == (20, 25)
    assert distances(pair, rows=30) == distances(pair)


def test_hundreds_of_columns_are_sampled():
    names = [f"x{place}" for place in range(400)]
    schema = Schema(tuple(Float(name, 0.0, 1.0) for name in names))
    cells = np.random.default_rng(0).random((2, 400, 5))
    pair = [pa.table(dict(zip(names, each, strict=True))) for each in cells]
    found = distances(pair, schema, orders=[7], subsets=3)[0]
    assert (found.measured, found.possible) == (3, math.comb(400, 7))
    with pytest.raises(ParameterError, match="subsets=None"):
        distances(pair, schema, orders=[7])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rows": 0}, "rows=0"),
        ({"subsets": 0}, "subsets=0"),
        ({"jobs": 0}, "jobs=0"),
        ({"orders": [0]}, "orders=0"),
        ({"orders": [1.5]}, "orders=1.5"),
        ({"categories": "code"}, "codes"),
    ],
)
def test_wrong_parameters_are_refused(options, message):
    with pytest.raises(ParameterError, match=message):
        distances(tables((2, 2)), **options)


small = st.lists(
    st.tuples(
        st.none() | st.integers(0, 100),
        st.none() | st.sampled_from([-1.0, 0.5, 1.0, 3.0, 9.0, -9.0]),
        st.none() | st.sampled_from(WARDS),
        st.none() | st.booleans(),
        st.none() | st.sampled_from([30.0, 37.0, 45.0]),
    ),
    min_size=1,
    max_size=8,
)


def as_table(rows):
    columns = zip(*rows, strict=True)
    kinds = [pa.int64(), pa.float64(), pa.string(), pa.bool_(), pa.float64()]
    arrays = [pa.array(cells, kind) for cells, kind in zip(columns, kinds, strict=True)]
    return pa.table(dict(zip(SCHEMA.names, arrays, strict=True)))


@settings(max_examples=60, deadline=None)
@given(small, small, st.sampled_from(["codes", "mismatch"]))
def test_distances_are_symmetric_and_bounded(one, two, categories):
    pair = [as_table(one), as_table(two)]
    there, back = (distances(way, categories=categories, jobs=1) for way in (pair, pair[::-1]))
    for found, reverse in zip(there, back, strict=True):
        assert found.measured == reverse.measured
        assert found.distance == pytest.approx(reverse.distance, abs=1e-9, nan_ok=True)
        if categories == "mismatch":
            assert 0 <= found.distance <= 2 * math.sqrt(found.order)
            assert found.distance <= found.worst[1] + 1e-12


@settings(max_examples=60, deadline=None)
@given(small, st.integers(1, 3), st.randoms(use_true_random=False))
def test_the_same_rows_in_any_number_and_order_are_at_no_distance(rows, times, random):
    again = rows * times
    random.shuffle(again)
    for found in distances([as_table(rows), as_table(again)], categories="mismatch", jobs=1):
        assert found.distance == 0.0


@settings(max_examples=60, deadline=None)
@given(small, small, small)
def test_mismatch_keeps_the_triangle_inequality(one, two, three):
    every = [as_table(rows) for rows in (one, two, three)]

    def far(here, there):
        pair = [every[here], every[there]]
        return distances(pair, orders=[5], categories="mismatch", jobs=1)[0].distance

    assert far(0, 2) <= far(0, 1) + far(1, 2) + 1e-9
