"""The cells in which single columns are counted."""

import numpy as np
import pytest

from tabpe.encode import Encoder, Records
from tabpe.evolve.bins import MOST_BINS, bins_of
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
    return bins_of(Encoder(schema), rows, sigma, by_class=schema.label is not None)


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
        assert (groups[fine.cells(rows, classes)] == coarse.cells(rows, classes)).all()
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
