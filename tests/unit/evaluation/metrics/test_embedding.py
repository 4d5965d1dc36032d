"""Points that rows become: equal for equal rows, and the same for the same seed."""

import sys

import numpy as np
import pytest

from corner_tables import CORNERS, corner, mixed_table, mixed_views
from tabpe.errors import ParameterError
from tabpe.evaluation.metrics import embedding
from tabpe.evaluation.metrics.embedding import (
    SIZE,
    choose_encoder,
    embed,
    find_principal_directions,
)


@pytest.fixture
def without_torch(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)


@pytest.mark.parametrize("name", CORNERS)
def test_every_corner_gives_a_finite_point_for_each_row(name):
    tables = corner(name)
    points = embed(tables[0], tables, encoder="linear")
    assert [len(part) for part in points] == [len(table) for table in tables]
    assert all(np.isfinite(part).all() and 1 <= part.shape[1] <= SIZE for part in points)


def test_equal_rows_are_equal_points_wherever_they_stand():
    (view,) = mixed_views(mixed_table(300, 1, nulls=0.1))
    order = np.random.default_rng(0).permutation(300)
    here, there = embed(view, [view, view.take(order[:77])], encoder="linear")
    assert np.array_equal(here[order[:77]], there)


def test_equal_rows_are_encoded_once_because_products_of_matrices_may_round_by_place(monkeypatch):
    def by_place(*_):
        return lambda vectors: np.arange(len(vectors), dtype=np.float64)[:, None]

    monkeypatch.setattr(embedding, "_fit_linear", by_place)
    (view,) = mixed_views(mixed_table(30, 1))
    here, there = embed(view, [view, view.take(np.array([4, 29, 4]))], encoder="linear")
    assert np.array_equal(here[[4, 29, 4]], there)
    assert len(np.unique(here)) == 30


def test_squared_distances_are_exact():
    (view,) = mixed_views(mixed_table(50, 1))
    (points,) = embed(view, [view], encoder="linear")
    whole = np.rint(points * 2**16).astype(np.int64)
    assert np.array_equal(points, whole / 2**16)
    exact = np.square(whole[:, None] - whole).sum(axis=2)
    assert np.array_equal(np.square(points[:, None] - points).sum(axis=2), exact / 2**32)


def test_blocks_of_rows_do_not_change_a_point(monkeypatch):
    (view,) = mixed_views(mixed_table(100, 1))
    (whole,) = embed(view, [view], encoder="linear")
    monkeypatch.setattr(embedding, "_ROWS_AT_ONCE", 7)
    assert np.array_equal(embed(view, [view], encoder="linear")[0], whole)


def test_linear_keeps_distances_where_it_has_room_for_all():
    (view,) = mixed_views(mixed_table(40, 1))
    (points,) = embed(view, [view], encoder="linear")
    coding = embedding.fit_vectorizer([view])
    rows = coding.to_dense(coding(view)).astype(np.float64)
    away = np.square(rows[:, None] - rows).sum(axis=2)
    assert np.square(points[:, None] - points).sum(axis=2) == pytest.approx(away, abs=1e-3)


def test_the_space_is_learned_from_the_real_rows_alone():
    real, made, other = mixed_views(mixed_table(80, 1), mixed_table(80, 2), mixed_table(80, 3))
    with_one = embed(real, [real, made], encoder="linear")[0]
    assert np.array_equal(with_one, embed(real, [real, other], encoder="linear")[0])


def test_auto_is_linear_without_torch(without_torch):
    assert choose_encoder("auto") == choose_encoder("linear") == "linear"


def test_an_autoencoder_without_torch_says_what_to_install(without_torch):
    with pytest.raises(ParameterError, match=r"pip install tabpe\[torch\]"):
        choose_encoder("autoencoder")


def test_an_unknown_encoder_is_refused():
    with pytest.raises(ParameterError, match="linear"):
        choose_encoder("liner")


@pytest.mark.parametrize("width", [3, 1500])
def test_principal_directions_are_those_of_a_singular_value_decomposition(width):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(60, 3)) * [9, 4, 2] @ np.linalg.qr(rng.normal(size=(width, 3)))[0].T
    mean, directions, shares = find_principal_directions(rows, 2, rng)
    _, values, vectors = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)
    assert mean == pytest.approx(rows.mean(axis=0))
    assert np.abs(vectors[:2] @ directions) == pytest.approx(np.eye(2), abs=1e-6)
    assert shares == pytest.approx((values**2 / (values**2).sum())[:2])


def test_directions_are_not_mirrored_by_chance():
    rows = np.random.default_rng(0).normal(size=(50, 4)) * [1, 5, 2, 3]
    directions = find_principal_directions(rows, 4, np.random.default_rng(0))[1]
    turned = find_principal_directions(-rows, 4, np.random.default_rng(0))[1]
    assert directions == pytest.approx(turned)
    assert (directions[np.abs(directions).argmax(axis=0), range(4)] > 0).all()


def test_of_equal_loadings_the_first_is_positive():
    yes = np.random.default_rng(0).random(500) < 0.3
    directions = find_principal_directions(
        np.column_stack([yes, ~yes]) * 1.0, 1, np.random.default_rng(0)
    )[1]
    assert directions[:, 0] == pytest.approx([np.sqrt(0.5), -np.sqrt(0.5)])


def test_rounding_does_not_choose_among_equal_loadings():
    half = np.sqrt(0.5)
    for first, second in ((half, half - 1e-12), (half - 1e-12, half)):
        assert embedding._find_signs(np.array([[-first], [second]])).tolist() == [-1]


def test_rows_that_do_not_differ_have_no_share_of_variance():
    assert find_principal_directions(np.ones((5, 3)), 2, np.random.default_rng(0))[2].tolist() == [
        0,
        0,
    ]
