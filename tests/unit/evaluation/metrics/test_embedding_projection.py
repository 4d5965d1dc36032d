"""Rows on a plane: that of the real rows, the same way round every time."""

import numpy as np
import pyarrow as pa
import pytest

from corner_tables import CORNERS, MIXED, corner, mixed_table, mixed_views
from tabpe.errors import DataError, ParameterError
from tabpe.evaluation.metrics.embedding import MOST_CLASSES, OTHERS, project_rows
from tabpe.evaluation.table_arrays import build_table_arrays
from tabpe.schema import Categorical, Float, Integer, Schema


@pytest.mark.parametrize("name", CORNERS)
@pytest.mark.parametrize("public", [False, True])
def test_every_corner_can_be_drawn(name, public):
    real, synthetic = corner(name)
    found = project_rows(None if public else real, synthetic)
    assert found.synthetic.shape == (len(synthetic), 2)
    assert len(found.synthetic_classes) == len(synthetic)
    assert found.synthetic_classes.max() < len(found.class_names)
    assert np.isfinite(found.synthetic).all()
    assert 0 <= found.explained[1] <= found.explained[0] <= sum(found.explained) <= 1 + 1e-9
    if public:
        assert found.real is found.real_classes is None
    else:
        assert found.real.shape == (len(real), 2)
        assert found.real_classes.max() < len(found.class_names)


def test_the_plane_is_that_of_the_real_rows():
    real, one, two = mixed_views(mixed_table(90, 1), mixed_table(90, 2), mixed_table(90, 3))
    assert np.array_equal(project_rows(real, one).real, project_rows(real, two).real)
    assert not np.array_equal(project_rows(real, one).synthetic, project_rows(None, one).synthetic)


def test_a_public_picture_depends_on_synthetic_rows_alone():
    made = mixed_table(50, 2)
    alone, beside = build_table_arrays(MIXED, [made])[0], mixed_views(mixed_table(50, 1), made)[1]
    one, two = project_rows(None, alone), project_rows(None, beside)
    assert np.array_equal(one.synthetic, two.synthetic)
    assert one.class_names == two.class_names


def test_distances_on_the_plane_are_those_of_two_numbers():
    schema = Schema((Integer("x", 0, 10), Integer("y", 0, 10)))
    rng = np.random.default_rng(0)
    (view,) = build_table_arrays(
        schema, [pa.table({name: rng.integers(0, 11, 200) for name in "xy"})]
    )
    found = project_rows(view, view)
    assert sum(found.explained) == pytest.approx(1)
    assert found.real.std(axis=0) ** 2 == pytest.approx(np.array(found.explained) * 2, abs=1e-4)
    assert found.real.mean(axis=0) == pytest.approx(0, abs=1e-5)


def test_points_are_drawn_by_the_seed():
    tables = mixed_views(mixed_table(300, 1), mixed_table(200, 2))
    one, again, other = (project_rows(*tables, points=50, random_state=seed) for seed in (1, 1, 2))
    assert one.real.shape == one.synthetic.shape == (50, 2)
    assert np.array_equal(one.real, again.real)
    assert np.array_equal(one.synthetic, again.synthetic)
    assert not np.array_equal(one.real, other.real)


def test_classes_are_those_of_the_label_the_most_common_first():
    real, made = mixed_views(mixed_table(300, 1), mixed_table(200, 2))
    found = project_rows(real, made)
    named = np.array(found.class_names)[found.real_classes]
    assert named.tolist() == mixed_table(300, 1)["ward"].to_pylist()
    assert np.all(np.diff(np.bincount(found.real_classes)) <= 0)


def test_rare_classes_and_nulls_are_the_others():
    schema = Schema((Integer("x", 0, 99), Categorical("y", tuple("abcdefghijkl"))), label="y")
    cells = ["k"] * 9 + ["a"] * 8 + [*"bcdefghij", None]
    real = pa.table({"x": range(len(cells)), "y": cells})
    made = pa.table({"x": [1, 2, 3], "y": ["l", "k", "z"]})
    found = project_rows(*build_table_arrays(schema, [real, made]))
    assert found.class_names == (*"kabcdefg", OTHERS)
    assert len(found.class_names) == MOST_CLASSES + 1
    assert found.synthetic_classes.tolist() == [8, 0, 8]
    assert found.real_classes[-1] == 8


def test_a_class_that_only_synthetic_rows_have_is_named():
    schema = Schema((Integer("x", 0, 9), Categorical("y", ("a", "b"))), label="y")
    tables = [pa.table({"x": [1, 2], "y": ["a", "a"]}), pa.table({"x": [1], "y": ["new"]})]
    found = project_rows(*build_table_arrays(schema, tables))
    assert found.class_names == ("a", "new")
    assert found.synthetic_classes.tolist() == [1]


def test_the_label_takes_no_part_in_the_plane():
    table = mixed_table(100, 1)
    shuffled = table.set_column(3, "ward", table["ward"].take(np.arange(100)[::-1]))
    one, two = (project_rows(*mixed_views(tables, tables)) for tables in (table, shuffled))
    assert np.array_equal(one.real, two.real)


def test_one_cell_far_out_does_not_squeeze_the_others_together():
    schema = Schema((Float("x", 0.0, 1.0), Float("y", 0.0, 1.0)))
    rng = np.random.default_rng(0)
    cells = {name: rng.random(200) for name in "xy"}
    wild = {name: np.append(column[:-1], 1e12) for name, column in cells.items()}
    found = project_rows(*build_table_arrays(schema, [pa.table(cells), pa.table(wild)]))
    assert np.abs(found.synthetic).max() < 10
    assert np.ptp(found.synthetic[:-1], axis=0).min() > 2
    turned = project_rows(*build_table_arrays(schema, [pa.table(wild), pa.table(cells)]))
    assert np.ptp(turned.synthetic, axis=0).min() > 2


def test_wrong_points_are_refused():
    with pytest.raises(ParameterError, match="points=0"):
        project_rows(*corner("one row"), points=0)


@pytest.mark.parametrize("lengths", [(0, 3), (3, 0), (0, 0)])
def test_a_table_without_rows_is_refused(lengths):
    tables = mixed_views(*(mixed_table(3).slice(0, length) for length in lengths))
    with pytest.raises(DataError):
        project_rows(*tables)
