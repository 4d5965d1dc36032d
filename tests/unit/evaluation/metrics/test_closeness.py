"""Distances to the nearest real row, and copies, equal what a loop over all pairs gives."""

import numpy as np
import pyarrow as pa
import pytest

from corner_tables import CORNERS, corner, mixed_table, mixed_views
from tabpe.errors import DataError, ParameterError
from tabpe.evaluation.metrics import closeness as module
from tabpe.evaluation.metrics.closeness import (
    RankScale,
    find_nearest_distances,
    measure_closeness,
)
from tabpe.evaluation.table_arrays import NumericCells, build_table_arrays
from tabpe.schema import Categorical, Float, Integer, Schema


def naive_nearest(rows, near):
    def rank(column, place):
        known = other[column.name].scaled[~other[column.name].missing]
        points = {0.0: 0.0} if (known > 0).all() else {}
        for at in sorted(known):
            points[at] = (np.mean(known < at) + np.mean(known <= at)) / 2
        points |= {1.0: 1.0} if (known < 1).all() else {}
        return np.interp(place, list(points), list(points.values()))

    def difference(column, ours, theirs):
        if column.missing[ours] or other[column.name].missing[theirs]:
            return float(column.missing[ours] != other[column.name].missing[theirs])
        if isinstance(column, NumericCells):
            places = column.scaled[ours], other[column.name].scaled[theirs]
            ranks = [rank(column, place) for place in places]
            return min(abs(ranks[0] - ranks[1]), abs(places[0] - places[1]))
        return float(column.values[ours] != other[column.name].values[theirs])

    other = {column.name: column for column in near}
    return [
        min(
            np.sqrt(np.mean([difference(column, ours, theirs) ** 2 for column in rows]))
            for theirs in range(len(near))
        )
        for ours in range(len(rows))
    ]


@pytest.mark.parametrize("name", CORNERS)
def test_distances_equal_the_naive_ones(name, monkeypatch):
    real, synthetic = corner(name)
    real, synthetic = (view.take(np.arange(min(len(view), 12))) for view in (real, synthetic))
    expected, ranks = naive_nearest(synthetic, real), RankScale.from_table(real)
    assert find_nearest_distances(synthetic, real, ranks) == pytest.approx(expected, abs=1e-6)
    monkeypatch.setattr(module, "_PAIRS_AT_ONCE", 5)
    assert find_nearest_distances(synthetic, real, ranks) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("name", CORNERS)
def test_every_corner_has_shares_on_common_edges(name):
    real, synthetic = corner(name)
    found = measure_closeness(real, synthetic)
    assert len(found.edges) == len(found.synthetic) + 1 == len(found.other) + 1
    assert 0 == found.edges[0] < found.edges[-1] <= 1
    assert sum(found.synthetic) == pytest.approx(1)
    assert sum(found.other) == pytest.approx(1 if found.rows[2] else 0)
    assert measure_closeness(real, synthetic, real).other_copies == 1


def test_copies_are_counted_over_whole_tables_and_cell_by_cell():
    schema = Schema((Integer("age", 0, 9), Categorical("ward", ("a", "b"))))
    real = {"age": [1, 2, None, None, 1], "ward": ["a", "b", "a", None, "a"]}
    made = {"age": [1, 1, None, None, 2, None], "ward": ["a", "b", "a", None, None, "b"]}
    test = {"age": [2, 3], "ward": ["b", "b"]}
    tables = build_table_arrays(schema, [pa.table(cells) for cells in (real, made, test)])
    assert measure_closeness(*tables[:2], rows=1).copies == 3 / 6
    assert (
        measure_closeness(*tables[:2], rows=1).other_copies == 2 / 5
    )  # two rows that equal another
    assert measure_closeness(*tables, rows=1).other_copies == 1 / 2


def test_numbers_that_float32_can_not_tell_apart_are_no_copies():
    schema = Schema((Float("x", 0.0, 1.0),))
    tables = [pa.table({"x": [0.5]}), pa.table({"x": [0.5, np.nextafter(0.5, 1)]})]
    assert measure_closeness(*build_table_arrays(schema, tables)).copies == 0.5


def test_a_table_that_copies_is_seen_to():
    real, other = mixed_table(2000, 1), mixed_table(1000, 2)
    honest = measure_closeness(*mixed_views(real, mixed_table(1000, 3), other))
    copied = measure_closeness(*mixed_views(real, real.slice(0, 1000), other))
    assert copied.copies == 1
    assert honest.copies < 0.01
    assert copied.synthetic[0] == 1
    assert honest.synthetic == pytest.approx(honest.other, abs=0.1)


def line(*values):
    return pa.table({"x": [float(value) for value in values]})


def test_shares_of_nearer_rows_are_those_of_a_loop():
    schema = Schema((Float("x", 0.0, 100.0),))
    tables = line(0, 20, 40, 60, 80), line(1, 41, 50, 79, 99), line(10, 30, 50, 70, 90)
    real, made, other = build_table_arrays(schema, tables)
    found = measure_closeness(real, made, other)
    # 1 and 41 and 79 are nearer to a real row, 50 and 99 to another real row.
    assert found.nearer_than_other == 3 / 5
    # Among themselves only 41 and 50 are close, and nearer to each other than 50 is to 40 or 60.
    assert found.nearer_than_synthetic == pytest.approx(
        np.mean(np.array(naive_nearest(made, real)) < nearest_other(made, real))
    )
    assert found.queries == 5


def nearest_other(made, real):
    """Return the distance of each row to the nearest other one, by ranks among real rows."""
    every = np.arange(len(made))
    return [
        find_nearest_distances(
            made.take(np.array([at])), made.take(every != at), RankScale.from_table(real)
        )[0]
        for at in every
    ]


def test_rows_as_near_to_both_count_half():
    schema = Schema((Float("x", 0.0, 100.0),))
    real, made, other = build_table_arrays(schema, [line(0, 100), line(50), line(0, 100)])
    assert measure_closeness(real, made, other).nearer_than_other == 0.5
    assert measure_closeness(real, made).nearer_than_synthetic is None


@pytest.mark.parametrize("noise", [0.001, 0.01, 0.05])
def test_copies_with_noise_on_them_are_near_copies(noise):
    rng = np.random.default_rng(0)
    schema = Schema(tuple(Float(name, -9.0, 9.0) for name in "abcde"))
    cells = [{name: rng.normal(size=1000) for name in "abcde"} for _ in range(3)]
    moved = {name: cells[0][name] + rng.normal(0, noise, 1000) for name in "abcde"}
    tables = [pa.table(one) for one in (*cells, moved)]
    real, honest, other, near = build_table_arrays(schema, tables)
    for test in (None, other):
        assert measure_closeness(real, near, test).nearer > 0.95
        assert measure_closeness(real, honest, test).nearer < measure_closeness(real, honest).chance


def test_a_few_copies_with_noise_on_them_show_among_the_closest_rows():
    rng = np.random.default_rng(0)
    schema = Schema(tuple(Float(name, -9.0, 9.0) for name in "abcde"))
    cells = [{name: rng.normal(size=1000) for name in "abcde"} for _ in range(3)]
    few = np.arange(1000) < 80
    mixed = {
        name: np.where(few, cells[0][name] + rng.normal(0, 0.01, 1000), cells[1][name])
        for name in "abcde"
    }
    tables = [pa.table(one) for one in (*cells, mixed)]
    real, honest, other, near = build_table_arrays(schema, tables)
    for test in (None, other):
        found = measure_closeness(real, near, test)
        assert found.closest_nearer > 0.85 > found.closest_chance
        assert found.nearer < 0.6
        assert measure_closeness(real, honest, test).closest_nearer < found.closest_chance


def test_rows_that_repeat_are_counted_in_as_many_rows():
    schema = Schema((Integer("id", 0, 100),))
    tables = [pa.table({"id": ids}) for ids in ([1, 2, 3, 3], [5, 5, 6, 7])]
    found = measure_closeness(*build_table_arrays(schema, tables))
    assert (found.repeats, found.other_repeats) == (0.5, 0.5)
    tables = [pa.table({"id": range(20)}), pa.table({"id": [*range(50, 60)] * 2})]
    found = measure_closeness(*build_table_arrays(schema, tables))
    assert (found.repeats, found.other_repeats) == (1.0, 0.0)


def test_a_copy_far_from_the_sample_is_counted_all_the_same():
    schema = Schema((Integer("id", 0, 10**6),))
    real, made = pa.table({"id": range(5000)}), pa.table({"id": range(4000, 6000)})
    assert measure_closeness(*build_table_arrays(schema, [real, made]), rows=10).copies == 0.5


def test_both_are_held_against_as_many_real_rows():
    real, made, test = mixed_views(mixed_table(101, 1), mixed_table(40, 2), mixed_table(30, 3))
    assert measure_closeness(real, made).rows == (51, 40, 50)
    assert measure_closeness(real, made, test).rows == (101, 40, 30)
    assert measure_closeness(real, made, rows=20).rows == (20, 20, 20)
    assert measure_closeness(real, made, test, rows=20).rows == (20, 20, 20)


def test_halves_have_no_row_in_common():
    schema = Schema((Integer("id", 0, 99),))
    (real,) = build_table_arrays(schema, [pa.table({"id": range(100)})])
    assert measure_closeness(real, real).other[0] == 0  # each row differs from all others


def test_without_other_real_rows_their_shares_are_0():
    found = measure_closeness(*corner("one row"))
    assert found.rows == (1, 1, 0)
    assert set(found.other) == {0.0}
    assert found.other_copies == 0


def test_wide_tables_are_looked_at_in_fewer_rows():
    real, synthetic = corner("hundreds of columns")
    assert measure_closeness(real, synthetic, real, rows=20).rows == (11, 11, 11)


def test_the_seed_decides():
    tables = mixed_views(mixed_table(300, 1), mixed_table(300, 2))
    assert measure_closeness(*tables, rows=50) == measure_closeness(*tables, rows=50)
    assert measure_closeness(*tables, rows=50) != measure_closeness(
        *tables, rows=50, random_state=1
    )


def test_it_says_that_it_is_no_proof_of_privacy():
    for what in (module, module.Closeness, measure_closeness):
        assert "no proof of privacy" in what.__doc__.lower()


def test_wrong_rows_are_refused():
    with pytest.raises(ParameterError, match="rows=0"):
        measure_closeness(*corner("one row"), rows=0)


@pytest.mark.parametrize("lengths", [(0, 3), (3, 0), (0, 0)])
def test_a_table_without_rows_is_refused(lengths):
    tables = mixed_views(*(mixed_table(3).slice(0, length) for length in lengths))
    with pytest.raises(DataError):
        measure_closeness(*tables)
