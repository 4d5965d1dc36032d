"""Matrices of association: the right measure for each pair, nulls left out, constants not known."""

import math

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

from tabpe.evaluation.metrics.associations import (
    AssociationMatrix,
    compute_corrected_cramers_v,
    compute_correlation_ratio,
    count_contingency,
    measure_association,
)
from tabpe.evaluation.table_arrays import build_table_arrays
from tabpe.schema import Boolean, Categorical, Float, Integer, Schema

SCHEMA = Schema(
    (
        Integer("age", 0, 100),
        Categorical("ward", tuple("abcd")),
        Float("dose", 0, 1),
        Boolean("ill"),
    )
)


def table(rng, rows, nulls=0.0):
    def holes(cells):
        return [
            None if hole else c for c, hole in zip(cells, rng.random(rows) < nulls, strict=True)
        ]

    ward = rng.integers(0, 4, rows)
    age = 20 * ward + rng.integers(0, 20, rows)
    return pa.table(
        {
            "age": pa.array(holes(age.tolist()), pa.int64()),
            "ward": pa.array(holes(["abcd"[code] for code in ward]), pa.string()),
            "dose": pa.array(holes((age / 100 + rng.random(rows)).tolist()), pa.float64()),
            "ill": pa.array(holes((ward > 1).tolist()), pa.bool_()),
        }
    )


def eta(values, codes):
    groups = [values[codes == code] for code in np.unique(codes)]
    between = sum(len(group) * (group.mean() - values.mean()) ** 2 for group in groups)
    return math.sqrt(between / ((values - values.mean()) ** 2).sum())


@pytest.mark.parametrize("nulls", [0.0, 0.3])
def test_each_pair_has_the_measure_of_its_kinds(nulls):
    (view,) = build_table_arrays(SCHEMA, [table(np.random.default_rng(0), 300, nulls)])
    matrix = measure_association(None, view).synthetic
    age, dose = view["age"].values, view["dose"].values
    ward, ill = view["ward"].values, view["ill"].values
    both = ~np.isnan(age) & ~np.isnan(dose)
    assert matrix[0, 2] == pytest.approx(stats.pearsonr(age[both], dose[both])[0])
    both = ~np.isnan(age) & (ward >= 0)
    assert matrix[0, 1] == pytest.approx(eta(age[both], ward[both]))
    both = (ward >= 0) & (ill >= 0)
    expected = compute_corrected_cramers_v(count_contingency(ward[both], ill[both], (4, 2)))
    assert matrix[1, 3] == pytest.approx(expected)
    assert (matrix == matrix.T).all()
    assert (matrix.diagonal() == 1).all()


def test_a_null_is_not_a_category():
    """Whether a cell is null goes together with the other column here; what it says does not."""
    cells = pa.table(
        {"age": [1] * 8, "ward": [None] * 4 + list("abab"), "dose": [0.0] * 8}
        | {"ill": [True] * 4 + [False, False, True, True]}
    )
    (view,) = build_table_arrays(SCHEMA, [cells])
    assert measure_association(None, view).synthetic[1, 3] == 0.0


@pytest.mark.parametrize(
    ("name", "cells"),
    [("age", [7] * 50), ("age", [None] * 50), ("ward", ["a"] * 50), ("ward", [None] * 50)],
)
def test_a_column_that_does_not_vary_goes_together_with_nothing(name, cells):
    rng = np.random.default_rng(1)
    usual = table(rng, 50)
    at = SCHEMA.names.index(name)
    odd = usual.set_column(at, name, pa.array(cells, usual[name].type))
    found = measure_association(*build_table_arrays(SCHEMA, [usual, odd]))
    assert np.isnan(found.synthetic[at]).all()
    assert np.isfinite(np.delete(np.delete(found.synthetic, at, 0), at, 1)).all()
    assert found.difference[at] == pytest.approx(-np.where(np.arange(4) == at, 0, found.real[at]))
    assert (
        measure_association(*build_table_arrays(SCHEMA, [odd, odd])).difference.tolist()
        == np.zeros((4, 4)).tolist()
    )


@pytest.mark.parametrize("rows", [0, 1])
def test_a_row_alone_goes_together_with_nothing(rows):
    found = measure_association(
        *build_table_arrays(SCHEMA, [table(np.random.default_rng(2), rows)] * 2)
    )
    assert np.isnan(found.synthetic).all()
    assert (found.difference == 0).all()


@pytest.mark.parametrize("name", SCHEMA.names)
def test_one_column_is_a_matrix_of_one(name):
    schema = Schema((SCHEMA[name],))
    (view,) = build_table_arrays(schema, [table(np.random.default_rng(3), 20)])
    assert measure_association(view, view).synthetic.tolist() == [[1.0]]


def test_without_real_rows_there_is_no_difference():
    (view,) = build_table_arrays(SCHEMA, [table(np.random.default_rng(4), 30)])
    found = measure_association(None, view)
    assert found.real is None
    assert found.difference is None
    strongest = np.abs(found.synthetic[np.triu_indices(len(found.columns), k=1)]).max()
    first = found.find_most_changed()[0]
    assert (first.real, first.difference) == (None, None)
    assert abs(first.synthetic) == strongest


def test_one_column_has_no_pair():
    assert AssociationMatrix(("a",), None, np.eye(1)).find_most_changed() == []


def test_a_category_of_one_table_alone_does_no_harm():
    real = table(np.random.default_rng(5), 50)
    synthetic = real.set_column(1, "ward", pa.array(["a", "elsewhere"] * 25))
    assert np.isfinite(
        measure_association(*build_table_arrays(SCHEMA, [real, synthetic])).synthetic
    ).all()


@pytest.mark.parametrize("scale", [1e-310, 1.0, 1e307])
def test_the_correlation_ratio_survives_numbers_of_any_size(scale):
    values, codes = np.array([1.0, 2.0, 5.0, 6.0]), np.array([0, 0, 1, 1])
    found = compute_correlation_ratio(values * scale, codes)
    assert found == pytest.approx(eta(values, codes), rel=1e-3)


def test_the_most_changed_pairs_come_first():
    columns = ("a", "b", "c")
    real = np.array([[1, 0.9, np.nan], [0.9, 1, -0.2], [np.nan, -0.2, np.nan]])
    synthetic = np.array([[1, 0.8, 0.5], [0.8, 1, 0.6], [0.5, 0.6, 1]])
    changes = AssociationMatrix(columns, real, synthetic).find_most_changed(2)
    assert [change.columns for change in changes] == [("b", "c"), ("a", "c")]
    assert [change.difference for change in changes] == pytest.approx([0.8, 0.5])
    assert math.isnan(changes[1].real)


def test_numbers_that_vary_only_where_the_category_is_null_have_no_ratio():
    values, codes = np.array([0.1, 0.1, 0.1, 7.0, 9.0]), np.array([0, 1, 1, -1, -1])
    assert math.isnan(compute_correlation_ratio(values, codes))
    assert math.isnan(compute_correlation_ratio(np.array([1.0, 2.0, np.nan]), np.array([0, 0, 1])))
