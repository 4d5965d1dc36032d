"""Two tables in a learned space, here in the linear one: see test_autoencoder for the other."""

import sys

import pytest

from corner_tables import CORNERS, corner, mixed_table, mixed_views
from tabpe.errors import DataError, ParameterError
from tabpe.evaluation.metrics.embedding import (
    RepresentationScores,
    embed,
    measure_overlap,
    measure_representation,
)


def measured(real, synthetic, **options):
    return measure_representation(*mixed_views(real, synthetic), encoder="linear", **options)


@pytest.mark.parametrize("name", CORNERS)
def test_every_corner_has_shares(name):
    found = measure_representation(*corner(name), encoder="linear")
    assert all(0 <= share <= 1 for share in (found.precision, found.recall, found.coverage))
    assert found.density >= 0


def test_it_is_the_overlap_of_the_points():
    views = mixed_views(mixed_table(80, 1), mixed_table(60, 2))
    found = measure_representation(*views, encoder="linear", neighbours=3)
    both = measure_overlap(*embed(views[0], views, encoder="linear"), 3)
    expected = RepresentationScores("linear", 3, (80, 60), **vars(both))
    assert found == expected


@pytest.mark.parametrize("rows", [None, 40, 5000])
def test_a_table_against_itself_is_perfect_if_all_rows_are_compared(rows):
    table = mixed_table(40, 1, nulls=0.2)
    found = measured(table, table, rows=rows)
    assert (found.precision, found.recall, found.coverage) == (1, 1, 1)


def test_copies_of_a_row_with_many_copies_lie_within():
    table = mixed_table(7, 1)
    often = table.take([0, 1, 2, 3, 4, 5, 6] * 20)
    found = measured(often, table.take([6, 2, 2]))
    assert found.precision == 1  # balls have radius 0, and equal rows are equal points


def test_rows_are_drawn_by_the_seed():
    tables = mixed_table(300, 1), mixed_table(300, 2)
    one = measured(*tables, rows=50, random_state=1)
    assert one.rows == (50, 50)
    assert one == measured(*tables, rows=50, random_state=1)
    assert one != measured(*tables, rows=50, random_state=2)
    assert measured(*tables, rows=50, random_state=None).rows == (50, 50)


def test_a_class_that_is_left_out_costs_recall_and_not_precision():
    real, other = mixed_table(600, 1), mixed_table(600, 2)
    found = measured(real, other.filter([ward == "eye" for ward in other["ward"].to_pylist()]))
    assert found.precision > 0.9
    assert found.recall < 0.5
    assert found.coverage < 0.5


def test_without_torch_it_says_that_it_is_linear(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    views = mixed_views(mixed_table(30, 1), mixed_table(30, 2))
    assert measure_representation(*views).encoder == "linear"
    with pytest.raises(ParameterError, match=r"pip install tabpe\[torch\]"):
        measure_representation(*views, encoder="autoencoder")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"rows": 0}, "rows=0"),
        ({"neighbours": 0}, "neighbours=0"),
        ({"encoder": "umap"}, "encoder='umap'"),
    ],
)
def test_wrong_parameters_are_refused_by_name(wrong, message):
    views = mixed_views(mixed_table(5, 1), mixed_table(5, 2))
    with pytest.raises(ParameterError, match=message):
        measure_representation(*views, **{"encoder": "linear", **wrong})


@pytest.mark.parametrize("lengths", [(0, 3), (3, 0), (0, 0)])
def test_a_table_without_rows_is_refused(lengths):
    tables = mixed_views(*(mixed_table(3).slice(0, length) for length in lengths))
    with pytest.raises(DataError):
        measure_representation(*tables, encoder="linear")
