"""The cells in which columns are counted, one by one and in pairs."""

from dataclasses import replace
from itertools import combinations
from math import prod

import numpy as np
import pytest

from tabpe.encoding import Encoder, Records
from tabpe.evolution.marginal_prior import (
    MOST_BINS,
    MOST_LISTED_BY_CLASS,
    choose_bins,
    choose_pairs,
)
from tabpe.schema import Boolean, Categorical, Float, Integer, Schema

SCHEMA = Schema(
    (
        Float("weight", 0, 200),
        Integer("age", 0, 99),
        Integer("children", 0, 5),
        Categorical("ward", ("a", "b", "c")),
        Boolean("ill"),
    ),
    label="ill",
)


def bins(rows=100_000, sigma=10.0, schema=SCHEMA):
    return choose_bins(Encoder(schema), rows, sigma, by_class=schema.label is not None)


def test_numbers_come_before_listed_values():
    assert [axis.name for axis in bins().fine] == ["weight", "age", "children", "ward"]


def test_listed_values_and_short_grids_have_a_cell_each():
    assert [axis.size for axis in bins().fine][2:] == [6, 3]
    assert [axis.size for axis in bins().coarse][2:] == [6, 3]


@pytest.mark.parametrize(("rows", "most"), [(10**9, MOST_BINS), (400, 20), (10, 4)])
def test_an_average_cell_holds_twice_its_noise(rows, most):
    assert bins(rows).fine[0].size == most


@pytest.mark.parametrize(("rows", "most"), [(10**9, MOST_BINS), (400, 10), (10, 2)])
def test_cells_by_class_hold_twice_their_noise(rows, most):
    assert bins(rows).coarse[0].size == most


def test_coarse_cells_are_groups_of_fine_ones():
    """So that a class can take the shape within a group from all rows."""
    found = bins(rows=700)
    numbers = np.random.default_rng(0).random((500, 3)).astype(np.float32)
    rows = Records(numbers, np.zeros((500, 1), dtype=np.uint8))
    classes = np.zeros(500, dtype=np.int64)
    for fine, coarse, groups in zip(found.fine, found.coarse, found.groups, strict=True):
        assert (groups[fine.find_cells(rows, classes)] == coarse.find_cells(rows, classes)).all()
        assert coarse.size == groups.max() + 1


def test_without_classes_there_are_no_tables_by_class():
    found = bins(schema=Schema(SCHEMA.columns[:3]))
    assert len(found.overall) == 3
    assert found.by_class == []


def test_with_classes_each_column_is_counted_twice():
    found = bins()
    assert [table.names for table in found.by_class[:2]] == [("ill", "weight"), ("ill", "age")]
    assert len(found.overall) == len(found.by_class) == 4


def test_a_constant_column_has_one_cell():
    found = bins(schema=Schema((Integer("age", 3, 3), Boolean("ill")), label="ill"))
    assert (found.fine[0].size, found.coarse[0].size) == (1, 1)


NUMBERS = Schema((Float("x", 0, 1), Float("y", 0, 1)))


def pairs(rows=100_000, sigma=10.0, schema=SCHEMA):
    """2-way marginals; those of single columns have next to no noise."""
    return choose_pairs(bins(rows=10**9, schema=schema), rows, sigma)


def by_class(schema, classes):
    names = tuple(map(str, range(classes)))
    return Schema((*schema.columns, Categorical("class", names)), label="class")


def sides(table):
    """The columns of a table, and how many cells each has."""
    return {axis.name: axis.size for axis in table.axes}


@pytest.mark.parametrize("rows", [10, 1_000, 10**9])
def test_every_pair_of_columns_has_one_table_and_the_label_none(rows):
    found = [set(table.names) - {"ill"} for table in pairs(rows)]
    names = ("weight", "age", "children", "ward")
    assert found == [set(pair) for pair in combinations(names, 2)]


@pytest.mark.parametrize("columns", [0, 1])
def test_fewer_than_two_columns_have_no_pairs(columns):
    schema = Schema((*SCHEMA.columns[:columns], Boolean("ill")), label="ill")
    assert pairs(schema=schema) == []


@pytest.mark.parametrize(
    ("rows", "shape"),
    [(10, (4, 4)), (320, (4, 4)), (520, (5, 5)), (8_000, (20, 20)), (10**9, (32, 32))],
)
def test_an_average_cell_of_two_numbers_holds_twice_its_noise(rows, shape):
    """Of at least 16 cells, and at most 1024."""
    (table,) = pairs(rows, schema=NUMBERS)
    assert table.shape == shape
    assert table.size <= min(max(rows / (2 * 10.0), 16), 1024)


@pytest.mark.parametrize("sigma", [0.1, 3.0, 40.0, 1e9])
@pytest.mark.parametrize("rows", [1, 700, 100_000])
def test_no_table_has_more_cells_than_noise_allows(rows, sigma):
    """By class, four times as many; a few listed values are never too many."""
    most = min(max(rows / (2 * sigma), 16), 1024)
    for table in pairs(rows, sigma):
        cells = sides(table)
        classes = cells.pop("ill", None)
        assert prod(cells.values()) <= most
        assert classes is None or table.size <= 4 * most


@pytest.mark.parametrize("rows", [10, 1_000, 10**9])
@pytest.mark.parametrize("size", [2, 40, 64])
def test_listed_values_stay_apart_in_pairs(size, rows):
    values = tuple(map(str, range(size)))
    columns = Categorical("one", values), Categorical("other", values), Float("x", 0, 1)
    for table in pairs(rows, schema=Schema(columns)):
        assert {sides(table).get(name, size) for name in ("one", "other")} == {size}
        assert sides(table).get("x", 4) >= 4


def test_very_many_listed_values_share_cells_of_a_pair():
    values = tuple(map(str, range(3000)))
    columns = Categorical("one", values), Categorical("other", values)
    (table,) = pairs(10**9, schema=Schema(columns))
    assert table.shape == (64, 64)
    groups = np.array(table.axes[0].groups)
    assert (np.diff(groups) >= 0).all()
    assert np.bincount(groups).min() == 46


@pytest.mark.parametrize(("size", "bins_left"), [(3, 32), (10, 20), (40, 5), (60, 4)])
def test_bins_of_a_number_join_by_what_listed_values_leave(size, bins_left):
    """Of 200 cells; a number has 32 bins at most, and 4 at least."""
    values = tuple(map(str, range(size)))
    (table,) = pairs(4_000, schema=Schema((Categorical("one", values), Float("x", 0, 1))))
    assert sides(table) == {"x": bins_left, "one": size}


@pytest.mark.parametrize(("classes", "is_by_class"), [(1, False), (2, True), (4, True), (5, False)])
def test_pairs_are_by_class_where_that_makes_four_times_as_many_cells_at_most(classes, is_by_class):
    (table,) = pairs(10**9, schema=by_class(NUMBERS, classes) if classes > 1 else NUMBERS)
    assert table.shape == ((classes, 32, 32) if is_by_class else (32, 32))


def test_cells_of_pairs_are_groups_of_those_of_single_columns():
    """So that tables of a column can not contradict each other by where it is cut."""
    single, few = bins(rows=10**9), pairs(2_000)
    numbers = np.random.default_rng(0).random((500, 3)).astype(np.float32)
    rows = Records(numbers, np.zeros((500, 1), dtype=np.uint8))
    classes = np.zeros(500, dtype=np.int64)
    fine = {axis.name: axis.find_cells(rows, classes) for axis in single.fine}
    joined = 0
    for axis in (axis for table in few for axis in table.axes if axis.name in fine):
        both = {
            *zip(fine[axis.name].tolist(), axis.find_cells(rows, classes).tolist(), strict=True)
        }
        assert len(both) == len({cell for cell, _ in both})
        joined += len(both) > len({cell for _, cell in both})
    assert joined


def test_cells_of_pairs_follow_from_public_facts_alone():
    """The schema, and how the number of rows, declared or noisy, compares with the noise."""
    assert pairs(1_000, 10.0) == pairs(1_000, 10.0) == pairs(2_000, 20.0)
    assert pairs(1_000, 10.0) != pairs(1_000, 20.0)


def test_a_row_falls_into_one_cell_of_a_pair_whatever_the_others_are():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, (50, 1)).astype(np.uint8)
    rows = Records(rng.random((50, 3)).astype(np.float32), codes)
    classes = rng.integers(0, 2, 50)
    for table in pairs(1_000):
        cells = table.find_cells(rows, classes)
        assert cells.shape == (50,)
        assert 0 <= cells.min() <= cells.max() < table.size
        alone = [table.find_cells(rows.take(np.array([k])), classes[[k]])[0] for k in range(50)]
        assert cells.tolist() == alone


def test_a_constant_column_makes_pairs_of_the_other_column_alone():
    (table,) = pairs(10**9, schema=Schema((Integer("age", 3, 3), Float("x", 0, 1))))
    assert table.shape == (1, 32)


class Listed(tuple):
    """Cells of values that count how often all of them are looked at."""

    __slots__ = ()
    looks = 0

    def __iter__(self):
        Listed.looks += 1
        return super().__iter__()


def coded(size, **more):
    column = Categorical("code", tuple(range(size)), **more)
    return Schema((*SCHEMA.columns, column), label="ill")


def test_pairs_of_a_long_list_look_at_it_a_few_times():
    # Once for each of its values took 23 seconds for 10,000 of them.
    found = bins(schema=coded(1000))
    (code,) = (axis for axis in found.fine if axis.name == "code")
    fine = tuple(axis for axis in found.fine if axis is not code)
    listed = replace(code, groups=Listed(code.groups))
    Listed.looks = 0
    pairs = choose_pairs(replace(found, fine=(*fine, listed)), rows=100_000, sigma=10.0)
    assert all(pair.size for pair in pairs)
    assert Listed.looks < 20


@pytest.mark.parametrize("nullable", [False, True])
def test_very_many_values_share_cells_by_class(nullable):
    found = bins(schema=coded(10 * MOST_LISTED_BY_CLASS, nullable=nullable))
    fine, coarse, groups = found.fine[-1], found.coarse[-1], found.groups[-1]
    assert fine.size == 10 * MOST_LISTED_BY_CLASS + nullable
    assert coarse.size == MOST_LISTED_BY_CLASS
    assert (np.diff(groups) >= 0).all()
    assert coarse.groups == tuple(groups)
    assert np.bincount(groups).max() <= 11


def test_many_values_stay_apart_by_class():
    found = bins(schema=coded(MOST_LISTED_BY_CLASS))
    assert found.coarse[-1] == found.fine[-1]
