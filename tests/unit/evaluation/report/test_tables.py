"""What the page shows in rows."""

import numpy as np

import contents as made
from tabpe.evaluation.metrics.associations import AssociationMatrix
from tabpe.evaluation.report import tables


def test_maps_of_many_columns_show_those_that_changed_most():
    size = 60
    real, synthetic = np.eye(size), np.eye(size)
    synthetic[57, 58] = synthetic[58, 57] = 0.7
    names = tuple(f"c{k}" for k in range(size))
    found = tables.maps(AssociationMatrix(names, real, synthetic))
    assert [title for title, *_ in found] == [
        "real",
        "synthetic",
        "difference, synthetic minus real",
    ]
    for _, columns, matrix, _ in found:
        assert len(columns) == matrix.shape[0] == tables.MOST_CELLS
        assert {"c57", "c58"} <= set(columns)
    assert found[2][3] == 0.7


def test_small_differences_do_not_get_the_full_colour():
    found = tables.maps(AssociationMatrix(("a", "b"), np.eye(2), np.eye(2)))
    assert found[2][3] == 0.1


def test_bounds_of_a_score_that_is_not_a_number_are_left_out():
    rows = tables.utility_bounds(made.utility("y"))["AUC"]
    assert rows == [("gradient boosting", 0.5, 0.858, 0.894), ("extra trees", 0.5, None, 0.871)]
