"""Into which cell of a marginal a row falls."""

import numpy as np
import pyarrow as pa
import pytest

from tabpe.encoding import Encoder, Marginal
from tabpe.encoding.marginals import (
    CorrectnessAxis,
    ListAxis,
    PredictedAxis,
    build_axis,
    build_class_axis,
)
from tabpe.errors import TabpeError
from tabpe.schema import Boolean, Categorical, Float, Integer, Schema

SCHEMA = Schema(
    (
        Integer("age", 0, 100),
        Float("bmi", 10.0, 60.0),
        Float("price", 0.0, 1.0, decimals=1),
        Integer("same", 7, 7),
        Categorical("ward", ("heart", "lung", "else"), other="else"),
        Boolean("ill"),
    ),
    label="ill",
)
ENCODER = Encoder(SCHEMA)


def rows(**cells):
    size = len(next(iter(cells.values())))
    usual = {"age": 1, "bmi": 20.0, "price": 0.5, "same": 7, "ward": "heart", "ill": False}
    table = {name: cells.get(name, [cell] * size) for name, cell in usual.items()}
    return ENCODER.encode(pa.table(table))


def cells(name, given, **options):
    return (
        Marginal((build_axis(ENCODER, name, **options),))
        .find_cells(*rows(**{name: given}))
        .tolist()
    )


def test_numbers_on_a_grid_fall_between_the_edges_and_the_last_bin_is_closed():
    assert cells("age", [0, 4, 5, 9, 94, 95, 100]) == [0, 0, 1, 1, 18, 19, 19]
    assert build_axis(ENCODER, "age").edges == tuple(range(0, 101, 5))


def test_numbers_outside_the_bounds_are_on_them():
    assert cells("age", [-5, 1000]) == [0, 19]
    assert cells("bmi", [-5.0, 1000.0]) == [0, 23]


def test_few_values_get_a_bin_each():
    assert cells("price", [k / 10 for k in range(11)]) == list(range(11))
    assert build_axis(ENCODER, "price").edges[:2] == pytest.approx((-0.05, 0.05))


def test_decimals_without_a_grid_are_cut_evenly():
    assert cells("bmi", [10.0, 34.9, 35.1, 60.0], max_bins=2) == [0, 0, 1, 1]


@pytest.mark.parametrize("most", [1, 2, 3, 8, 24, 100, 101, 102])
@pytest.mark.parametrize("name", ["age", "bmi", "price", "same"])
def test_there_are_at_most_so_many_bins_and_edges_around_them(name, most):
    axis = build_axis(ENCODER, name, max_bins=most)
    assert axis.size <= most
    assert len(axis.edges) == axis.size + 1
    assert list(axis.edges) == sorted(axis.edges)


def test_each_whole_number_falls_into_the_bin_whose_edges_are_around_it():
    for most in (1, 3, 7, 24, 60):
        axis = build_axis(ENCODER, "age", max_bins=most)
        found = cells("age", list(range(101)), max_bins=most)
        assert found == np.digitize(range(101), axis.edges[1:-1]).tolist()


def test_a_constant_column_has_one_cell():
    assert cells("same", [7, 8]) == [0, 0]
    assert build_axis(ENCODER, "same").edges == (7.0, 7.0)


def test_values_are_listed_and_those_that_are_not_count_as_other():
    assert cells("ward", ["lung", "heart", "skin"]) == [1, 0, 2]


def test_values_may_share_a_cell():
    assert cells("ward", ["heart", "lung", "else"], groups=(1, 0, 1)) == [1, 0, 1]


def test_a_label_is_the_class():
    assert cells("ill", [True, False]) == [1, 0]
    assert Marginal((build_class_axis(ENCODER),)).find_cells(*rows(ill=[True, False])).tolist() == [
        1,
        0,
    ]


def test_a_numeric_label_has_classes_by_its_cuts():
    schema = Schema((Integer("age", 0, 100),), label="age", label_cuts=(18,))
    encoder = Encoder(schema)
    encoded = encoder.encode(pa.table({"age": [17, 18]}))
    assert Marginal((build_class_axis(encoder),)).find_cells(*encoded).tolist() == [0, 1]
    assert Marginal((build_axis(encoder, "age", max_bins=100),)).find_cells(*encoded).tolist() == [
        17,
        18,
    ]


def test_without_a_label_there_is_one_class():
    encoder = Encoder(Schema((Boolean("ill"),)))
    encoded = encoder.encode(pa.table({"ill": [True, False]}))
    assert Marginal((build_class_axis(encoder),)).find_cells(*encoded).tolist() == [0, 0]
    assert Marginal((build_axis(encoder, "ill"),)).find_cells(*encoded).tolist() == [1, 0]


def test_sides_are_counted_through_the_last_first():
    marginal = Marginal((build_axis(ENCODER, "ward"), build_axis(ENCODER, "ill")))
    found = marginal.find_cells(*rows(ward=["heart", "else"], ill=[True, False]))
    assert (marginal.names, marginal.shape, marginal.size) == (("ward", "ill"), (3, 2), 6)
    assert found.tolist() == [1, 4]
    turned = Marginal((build_axis(ENCODER, "ill"), build_axis(ENCODER, "ward")))
    assert turned.find_cells(*rows(ward=["heart", "else"], ill=[True, False])).tolist() == [3, 2]


def test_a_marginal_without_sides_has_one_cell_for_all_rows():
    assert Marginal(()).size == 1
    assert Marginal(()).find_cells(*rows(age=[1, 2])).tolist() == [0, 0]


def test_what_is_predicted_is_a_side():
    def predict(records):
        return np.zeros(len(records), dtype=np.int64)

    encoded = rows(ill=[True, False])
    confusion = Marginal((build_class_axis(ENCODER), PredictedAxis(2, predict)))
    assert confusion.find_cells(*encoded).tolist() == [2, 0]
    assert Marginal((CorrectnessAxis(predict),)).find_cells(*encoded).tolist() == [0, 1]


@pytest.mark.parametrize("answer", [[0], [0, 2], [0, -1], [0.0, 1.0], [[0, 1]]], ids=str)
def test_a_row_that_would_count_never_or_twice_is_refused(answer):
    confusion = Marginal((PredictedAxis(2, lambda _: np.array(answer)),))
    with pytest.raises(TabpeError, match="one of its 2 cells"):
        confusion.find_cells(*rows(age=[1, 2]))


def test_no_rows_fall_nowhere():
    empty = rows(age=[1])[0].take(np.array([], dtype=np.int64))
    nobody = np.array([], dtype=np.int64)
    for name in SCHEMA.names:
        assert Marginal((build_axis(ENCODER, name),)).find_cells(empty, nobody).tolist() == []
    assert ListAxis("x", None, (0, 1)).find_cells(empty, nobody).tolist() == []
