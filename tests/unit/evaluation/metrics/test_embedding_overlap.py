"""Precision, recall, density and coverage equal what a naive count over all pairs gives."""

import numpy as np
import pytest

from tabpe.errors import ParameterError
from tabpe.evaluation.metrics import embedding
from tabpe.evaluation.metrics.embedding import (
    ManifoldOverlap,
    measure_overlap,
)


def get_density_coverage(*points, k):
    both = measure_overlap(*points, k)
    return both.density, both.coverage


def naive(real, synthetic, k):
    """The definitions, point by point, in plain Python."""

    def distance(one, other):
        return sum((a - b) ** 2 for a, b in zip(one, other, strict=True))

    def radius(points, place):
        others = points[:place] + points[place + 1 :]
        away = sorted(distance(points[place], other) for other in others)
        return away[min(k, len(away)) - 1] if away else 0.0

    def balls(points, others):
        reach = [radius(points, place) for place in range(len(points))]
        return [
            [distance(point, other) <= r for point, r in zip(points, reach, strict=True)]
            for other in others
        ]

    real, synthetic = np.asarray(real).tolist(), np.asarray(synthetic).tolist()
    inside, back = balls(real, synthetic), balls(synthetic, real)
    return ManifoldOverlap(
        precision=sum(map(any, inside)) / len(synthetic),
        recall=sum(map(any, back)) / len(real),
        density=sum(map(sum, inside)) / (k * len(synthetic)),
        coverage=sum(map(any, zip(*inside, strict=True))) / len(real),
    )


def drawn(kind, rng, rows, columns):
    if kind == "random":
        return rng.normal(size=(rows, columns))
    if kind == "grid":  # distances tie all the time
        return rng.integers(0, 3, (rows, columns)).astype(float)
    return rng.normal(size=(7, columns))[rng.integers(0, 7, rows)]  # few points, many copies


@pytest.mark.parametrize("kind", ["random", "grid", "copies"])
@pytest.mark.parametrize("k", [1, 2, 5])
@pytest.mark.parametrize("columns", [1, 3, 16])
def test_equals_the_naive_count(kind, k, columns):
    rng = np.random.default_rng(k * 100 + columns)
    real, synthetic = drawn(kind, rng, 90, columns), drawn(kind, rng, 70, columns)
    synthetic[:20] = real[:20]
    assert measure_overlap(real, synthetic, k) == naive(real, synthetic, k)


def test_blocks_do_not_change_the_answer(monkeypatch):
    rng = np.random.default_rng(0)
    real, synthetic = drawn("grid", rng, 40, 4), drawn("grid", rng, 30, 4)
    whole = measure_overlap(real, synthetic)
    monkeypatch.setattr(embedding, "_PAIRS_AT_ONCE", 7)
    assert measure_overlap(real, synthetic) == whole


@pytest.mark.parametrize("kind", ["random", "grid", "copies"])
@pytest.mark.parametrize("rows", [1, 2, 5, 6, 50])
def test_a_set_lies_within_itself_whatever_its_order(kind, rows):
    rng = np.random.default_rng(rows)
    points = drawn(kind, rng, rows, 3) + 1e6  # far from the origin, where products would cancel
    both = measure_overlap(points, points[rng.permutation(rows)])
    assert (both.precision, both.recall, both.coverage) == (1, 1, 1)


def test_a_point_is_not_its_own_neighbour():
    real = [[0.0], [1.0]]
    assert measure_overlap(real, [[0.5]], k=1).precision == 1  # with itself, the radius would be 0


def test_a_point_with_k_copies_holds_its_copies_alone():
    copies = [[0.0, 0.1]] * 6
    assert measure_overlap(copies, [[0.0, 0.1], [0.0, 0.1 + 1e-12]]).precision == 0.5
    assert measure_overlap(copies[:5], [[0.0, 0.1 + 1e-12]]).precision == 0


@pytest.mark.parametrize("rows", [2, 3, 5])
def test_with_fewer_than_k_others_the_furthest_counts(rows):
    real = np.arange(rows, dtype=float)[:, None]
    assert measure_overlap(real, [[-(rows - 1.0)], [-(rows - 0.9)]]).precision == 0.5


def test_a_point_alone_holds_its_equal():
    assert measure_overlap([[3.0]], [[3.0], [3.1]], k=5) == ManifoldOverlap(0.5, 1.0, 0.5 / 5, 1.0)


def test_density_may_exceed_one_and_coverage_not():
    real = [[0.0], [1.0], [2.0], [50.0]]
    assert get_density_coverage(real, [[0.9], [1.1]], k=1) == (2.0, 0.75)
    assert get_density_coverage(real, [[0.9], [1.1]], k=2) == (1.75, 1.0)
    assert get_density_coverage(real, [[-0.5]], k=1) == (1.0, 0.25)


def test_points_far_away_are_neither_precise_nor_reached():
    points = np.random.default_rng(0).normal(size=(100, 4))
    assert measure_overlap(points, points + 100) == ManifoldOverlap(0, 0, 0, 0)


def test_a_mode_that_is_left_out_costs_recall_and_not_precision():
    rng = np.random.default_rng(0)
    real = rng.normal(size=(400, 2)) + np.repeat([[0.0], [50.0]], 200, axis=0)
    both = measure_overlap(real, rng.normal(size=(400, 2)))
    assert both.precision > 0.9
    assert both.recall <= 0.5
    assert both.coverage <= 0.5


def test_the_wrong_shape_is_refused_by_name():
    with pytest.raises(ParameterError, match=r"real.* 1 .*synthetic.* 2"):
        measure_overlap([[1.0]], [[1.0, 2.0]])
    for wrong in ([], [1.0], [[np.nan]], [[np.inf]], [["a"]], np.empty((3, 0))):
        with pytest.raises(ParameterError, match="synthetic"):
            measure_overlap([[1.0]], wrong)
    for k in (0, 2.5, True, "5"):
        with pytest.raises(ParameterError, match="k="):
            measure_overlap([[1.0]], [[1.0]], k)
