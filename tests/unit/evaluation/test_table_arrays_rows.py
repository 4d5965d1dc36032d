"""Rows are equal if all their cells are."""

import numpy as np
import pyarrow as pa
import pytest

from corner_tables import CORNERS, corner
from tabpe.evaluation.table_arrays import assign_row_ids, build_table_arrays
from tabpe.schema import Categorical, Float, Schema


def as_tuples(view):
    """Rows as Python compares them, None for a null."""
    columns = [
        [None if null else cell for cell, null in zip(cells, column.missing, strict=True)]
        for column in view
        for cells in [column.values.tolist()]
    ]
    return list(zip(*columns, strict=True))


@pytest.mark.parametrize("name", CORNERS)
def test_ids_are_equal_where_rows_are(name):
    tables = corner(name)
    rows = [row for view in tables for row in as_tuples(view)]
    ids = np.concatenate(assign_row_ids(tables)).tolist()
    assert len(set(zip(rows, ids, strict=True))) == len(set(rows)) == len(set(ids))
    assert set(ids) == set(range(len(set(ids))))


def test_zero_has_no_sign_and_nulls_are_equal_whatever_their_bits():
    schema = Schema((Float("x", -1.0, 1.0), Categorical("y", ("a",))))
    other_nan = np.array([0x7FF8000000000001, 0xFFF8000000000000], np.uint64).view(np.float64)
    cells = np.concatenate([[0.0, -0.0], other_nan])
    (view,) = build_table_arrays(schema, [pa.table({"x": cells, "y": ["a"] * 4})])
    (ids,) = assign_row_ids([view])
    assert ids[0] == ids[1] != ids[2] == ids[3]


def test_a_table_without_rows_has_no_ids():
    schema = Schema((Float("x", -1.0, 1.0),))
    one, two = assign_row_ids(
        build_table_arrays(schema, [pa.table({"x": [0.5]}), pa.table({"x": pa.array([], "f8")})])
    )
    assert (one.tolist(), two.tolist()) == ([0], [])
