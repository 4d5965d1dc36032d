"""Bent scales: rising, exact on the grid, each row by itself, and cut between values."""

import numpy as np
import pyarrow as pa
import pytest

from tabpe.encoding import Encoder, Records
from tabpe.encoding.marginals import build_axis
from tabpe.encoding.scales import build_scale
from tabpe.schema import Boolean, Float, Integer, Schema

LARGEST = 2**40
COLUMNS = [
    Integer("x", 0, 99_999, scale="log"),
    Integer("x", 1, LARGEST, scale="log"),
    Integer("x", -LARGEST // 2, LARGEST // 2, scale="log"),
    Integer("x", -5000, -3, scale="log"),
    Integer("x", -70, 0, scale="log"),
    Integer("x", 10**12, 10**12 + 900, scale="log"),
    Float("x", 0.0, 10**6, 2, scale="log"),
    Float("x", 0.0, 0.5, 4, scale="log"),
    Integer("x", 0, LARGEST, scale="quantile", quantiles=(0, 1, 2, LARGEST)),
    Float("x", -3.5, 900.0, 1, scale="quantile", quantiles=(-3.5, 0.1, 12.0, 30.5, 900.0)),
]
SHORT = [f"{c.type_name} {c.scale} {c.min:g} to {c.max:g}" for c in COLUMNS]
every_column = pytest.mark.parametrize("column", COLUMNS, ids=SHORT)


def on_grid(column, size=3000):
    """Values of a column: many near both ends and zero, the others anywhere."""
    rng = np.random.default_rng(0)
    near = np.arange(min(column.steps, 500) + 1)
    steps = np.concatenate([near, column.steps - near, rng.integers(0, column.steps + 1, size)])
    step = 10**column.decimals
    whole = np.unique(steps) + round(column.min * step)
    return whole if isinstance(column, Integer) else whole / step


@every_column
def test_every_value_of_the_grid_comes_back(column):
    values = on_grid(column)
    encoder = Encoder(Schema((column,)))
    places = build_scale(column).transform_values(values.astype(np.float64))
    assert (np.diff(places) > 0).all()
    assert (places[0], places[-1]) == (0.0, 1.0)
    rows, classes = encoder.encode(pa.table({"x": values}))
    assert rows.numbers.dtype == np.float32
    precise = Records(places[:, None], rows.codes)
    assert encoder.decode(precise, classes)["x"].to_pylist() == values.tolist()
    np.testing.assert_array_equal(rows.numbers[:, 0], places.astype(np.float32))


@every_column
def test_a_row_is_encoded_as_it_is_alone(column):
    values = on_grid(column, 40).astype(np.float64)
    scale = build_scale(column)
    alone = np.concatenate(
        [scale.transform_values(values[place : place + 1]) for place in range(len(values))]
    )
    np.testing.assert_array_equal(scale.transform_values(values), alone)


@every_column
@pytest.mark.parametrize("most", [2, 10, 40])
def test_what_lies_in_a_bin_is_decoded_to_a_value_of_that_bin(column, most):
    encoder = Encoder(Schema((column,)))
    axis = build_axis(encoder, "x", max_bins=most)
    assert 1 < axis.size <= most
    assert len(axis.edges) == axis.size + 1
    places = np.random.default_rng(1).random(5000)
    codes = np.empty((len(places), 0), dtype=np.uint8)
    classes = np.zeros(len(places), dtype=np.int64)
    free = Records(places[:, None], codes)
    made = encoder.decode(free, classes)["x"].to_numpy().astype(np.float64)
    again = Records(build_scale(column).transform_values(made)[:, None], codes)
    np.testing.assert_array_equal(axis.find_cells(free, classes), axis.find_cells(again, classes))


def test_bins_of_equal_width_on_the_scale_have_edges_in_numbers_of_the_column():
    def edges(column, most):
        return build_axis(Encoder(Schema((column,))), "x", max_bins=most).edges

    assert edges(Float("x", 1.0, 1000.0, scale="log"), 3) == pytest.approx((1, 10, 100, 1000))
    assert edges(Integer("x", 0, 2, scale="log"), 10) == (-0.5, 0.5, 1.5, 2.5)
    cut = Integer("x", 0, 9000, scale="quantile", quantiles=(0, 10, 70, 300, 9000))
    assert edges(cut, 4) == (0, 10, 70, 300, 9000)


@every_column
def test_numbers_outside_lie_on_the_bounds_and_between_two_values_on_the_nearer(column):
    step = 10.0**-column.decimals
    wide = pa.table({"x": [column.min - 1000.0, column.max + 1000.0, column.min + 0.3 * step]})
    rows, _ = Encoder(Schema((column,))).encode(wide)
    assert rows.numbers.ravel().tolist() == [0.0, 1.0, 0.0]


def test_a_constant_column_has_no_scale():
    encoder = Encoder(Schema((Integer("x", 7, 7, scale="log"), Boolean("y"))))
    rows, classes = encoder.encode(pa.table({"x": [7], "y": [True]}))
    assert encoder.decode(rows, classes).to_pylist() == [{"x": 7, "y": True}]


@pytest.mark.parametrize(
    "column",
    [
        Integer("x", 0, 99_999, scale="log"),
        Float("x", 0.0, 99_999.0, 2, scale="log"),
        Float("x", 0.0, 99_999.0, scale="log"),
        Float("x", 0.0, 99_999.0, scale="quantile", quantiles=(0, 3, 40, 99_999)),
    ],
    ids=["whole numbers", "decimals", "free", "quantiles"],
)
def test_the_classes_of_a_label_on_a_bent_scale(column):
    cuts = (1, 10, 11, 5000)
    schema = Schema((column,), label="x", label_cuts=cuts)
    encoder = Encoder(schema)
    values = [0, 0.9, 1, 9, 10, 11, 4999, 5000, 99_999]
    given = [round(value) for value in values] if isinstance(column, Integer) else values
    _, classes = encoder.encode(pa.table({"x": given}))
    assert classes.tolist() == np.searchsorted(cuts, given, side="right").tolist()
    rng = np.random.default_rng(0)
    for label, space in enumerate(encoder.spaces):
        numbers = space.project(np.append(rng.uniform(-0.2, 1.2, 2000), [0.0, 1.0])[:, None])
        codes = np.empty((len(numbers), 0), dtype=np.uint8)
        mine = np.full(len(numbers), label)
        made = encoder.decode(Records(numbers, codes), mine)
        np.testing.assert_array_equal(encoder.encode(made)[1], mine)
