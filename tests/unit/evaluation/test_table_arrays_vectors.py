"""Rows as vectors: each column weighs alike, and a row does not depend on others."""

import numpy as np
import pyarrow as pa
import pytest

from corner_tables import CORNERS, corner, mixed_table, mixed_views
from tabpe.evaluation import table_arrays
from tabpe.evaluation.table_arrays import FURTHEST, WIDTH, build_table_arrays, fit_vectorizer
from tabpe.schema import Categorical, Integer, Schema


def dense(tables, which=0, **options):
    coding = fit_vectorizer(tables, **options)
    return coding.to_dense(coding(tables[which]))


@pytest.mark.parametrize("name", CORNERS)
def test_every_corner_gives_finite_vectors_of_the_same_width(name):
    tables = corner(name)
    vectors = [dense(tables, which) for which in (0, 1)]
    assert vectors[0].shape[1] == vectors[1].shape[1] == fit_vectorizer(tables).width
    assert all(np.isfinite(part).all() for part in vectors)


def test_numbers_are_in_deviations_from_the_mean_of_the_first_table():
    real, made = mixed_views(mixed_table(500, 1), mixed_table(500, 2))
    numbers = fit_vectorizer([real, made])(real).numbers
    assert numbers.mean(axis=0) == pytest.approx(0, abs=1e-5)
    assert numbers.std(axis=0) == pytest.approx(1, abs=1e-5)
    assert fit_vectorizer([real, made]).means.tolist() == fit_vectorizer([real]).means.tolist()


def test_a_row_by_itself_gets_the_same_vector():
    (view,) = mixed_views(mixed_table(50, 1, nulls=0.2))
    coding = fit_vectorizer([view])
    alone = [coding.to_dense(coding(view.take(np.array([row])))) for row in range(50)]
    assert np.array_equal(np.vstack(alone), coding.to_dense(coding(view)))


def test_rows_that_differ_have_vectors_that_differ_null_included():
    (view,) = build_table_arrays(
        Schema((Integer("age", 0, 10), Categorical("ward", ("a", "b")))),
        [pa.table({"age": [2, 8, 5, None, 5, 5], "ward": ["a", "a", "a", "a", None, "c"]})],
    )
    assert len(np.unique(dense([view]), axis=0)) == 6  # a null counts as the mean, and is marked


def test_a_cell_far_out_is_far_out_and_no_further():
    schema = Schema((Integer("age", 0, 100),))
    tables = [pa.table({"age": [49, 51] * 50}), pa.table({"age": [10**15, -(10**15), 50]})]
    vectors = dense(build_table_arrays(schema, tables), 1)
    assert vectors[:, 0].tolist() == [FURTHEST, -FURTHEST, 0]


def test_one_cell_far_out_does_not_hide_how_the_others_differ():
    schema = Schema((Integer("age", 0, 100),))
    (view,) = build_table_arrays(schema, [pa.table({"age": [*range(100), 10**15]})])
    assert np.ptp(dense([view])[:100]) > 2


@pytest.mark.parametrize(("columns", "size"), [(1, 63), (1, 10_000), (400, 5), (300, 1000)])
def test_wide_tables_stay_narrow_and_no_two_names_are_alike(columns, size):
    names = [f"c{place}" for place in range(columns)]
    schema = Schema(tuple(Categorical(name, tuple(range(size))) for name in names))
    (view,) = build_table_arrays(schema, [pa.table(dict.fromkeys(names, pa.array(range(size))))])
    coding = fit_vectorizer([view])
    most = max(WIDTH, columns * 2 * int(np.ceil(np.log2(size + 1))))
    assert coding.width <= most
    assert len(np.unique(coding(view).digits, axis=0)) == size


def test_a_category_weighs_the_same_however_many_digits_it_takes():
    few, many = Categorical("few", ("a", "b")), Categorical("many", tuple(range(5000)))
    table = pa.table({"few": ["a", "b"], "many": [0, 4999]})
    (view,) = build_table_arrays(Schema((few, many)), [table])
    coding = fit_vectorizer([view])
    rows = coding.to_dense(coding(view))
    assert np.square(rows[0] - rows[1]).sum() == pytest.approx(4)  # 2 for each column
    assert coding.weights.sum() == pytest.approx(2)


def test_columns_can_be_chosen():
    (view,) = mixed_views(mixed_table(20))
    assert fit_vectorizer([view], columns=("age",)).width == 1


def test_the_number_of_places_is_as_large_as_the_width_allows(monkeypatch):
    (view,) = mixed_views(mixed_table(20))
    assert fit_vectorizer([view]).base == 4  # three wards and null
    monkeypatch.setattr(table_arrays, "WIDTH", 7)
    assert fit_vectorizer([view]).base == 2
