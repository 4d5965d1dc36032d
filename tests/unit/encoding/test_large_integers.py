"""Whole numbers beyond 2^53: exact to the last one, in every storage, there and back."""

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from tabpe.encoding import Encoder, Records
from tabpe.encoding.cells import find_valid_cells
from tabpe.encoding.marginals import build_axis
from tabpe.errors import CellError, SchemaError
from tabpe.schema import Boolean, Integer, Schema

WIDTH = 2**53
COLUMNS = [
    Integer("x", 2**60, 2**60 + 1000),
    Integer("x", 2**60, 2**60 + WIDTH),
    Integer("x", -(2**63), -(2**63) + 77),
    Integer("x", 2**63 - 5, 2**63 + 5),
    Integer("x", 2**64 - 100, 2**64 - 1),
]
every_column = pytest.mark.parametrize(
    "column", COLUMNS, ids=[f"{c.min} to {c.max}" for c in COLUMNS]
)


def some(column):
    steps = [0, 1, 2, column.steps // 3, column.steps - 1, column.steps]
    return [column.min + step for step in steps]


def storages(values):
    yield pa.array([str(value) for value in values])
    yield pa.array([f" {value}" for value in values])
    yield pa.array([Decimal(value) for value in values])
    for kind in (pa.int64(), pa.uint64()):
        try:
            yield pa.array(values, kind)
        except (OverflowError, pa.ArrowInvalid):
            continue


@every_column
def test_every_whole_number_comes_back_from_every_storage(column):
    encoder, values = Encoder(Schema((column,))), some(column)
    for cells in storages(values):
        rows, classes = encoder.encode(pa.table({"x": cells}))
        places = (np.array([v - column.min for v in values]) / column.steps)[:, None]
        np.testing.assert_array_equal(rows.numbers, places.astype(np.float32))
        precise = encoder.space.project(places)
        made = encoder.decode(Records(precise, rows.codes), classes)["x"]
        assert made.to_pylist() == values
        assert made.type == (pa.uint64() if column.max >= 2**63 else pa.int64())


@every_column
def test_numbers_outside_are_clamped(column):
    cells = pa.array([str(column.min - 12), str(column.max + 12), "0", "-5", "9" * 30])
    rows, _ = Encoder(Schema((column,))).encode(pa.table({"x": cells}))
    outside = [0.0, 1.0, 0.0 if column.min > 0 else 1.0, 0.0 if column.min > 0 else 1.0, 1.0]
    assert rows.numbers.ravel().tolist() == outside


def test_a_strict_encoder_refuses_what_is_no_number_by_its_row():
    table = pa.table({"x": [str(2**60), "secret"]})
    with pytest.raises(CellError, match=r"column 'x'.*row 2.*expected a number") as caught:
        Encoder(Schema((COLUMNS[0],)), strict=True).encode(table)
    assert "secret" not in str(caught.value)


def test_what_is_no_whole_number_is_rounded_clamped_or_the_smallest():
    cells = pa.array([str(2**60 + 7), "1.5", "9" * 40, "secret", None, f"{2**60}.4"])
    rows, classes = Encoder(Schema((COLUMNS[0],))).encode(pa.table({"x": cells}))
    made = Encoder(Schema((COLUMNS[0],))).decode(rows, classes)["x"].to_pylist()
    low, high = COLUMNS[0].min, COLUMNS[0].max
    assert made == [low + 7, low, high, low, low, low]


def test_neighbors_fit_exactly():
    cells = pa.chunked_array([[2**60 - 1, 2**60, 2**60 + 1000, 2**60 + 1001]])
    assert find_valid_cells(COLUMNS[0], cells).tolist() == [False, True, True, False]


def test_edges_of_bins_are_numbers_of_the_column():
    axis = build_axis(Encoder(Schema((COLUMNS[1],))), "x", max_bins=2)
    assert axis.edges == (2.0**60, 2.0**60 + WIDTH / 2, 2.0**60 + WIDTH)


def test_a_label_of_large_numbers_is_cut():
    low = 2**60
    schema = Schema((COLUMNS[0], Boolean("y")), label="x", label_cuts=(low + 10, low + 500))
    encoder = Encoder(schema)
    values = [low, low + 9, low + 10, low + 499, low + 500, low + 1000]
    rows, classes = encoder.encode(pa.table({"x": values, "y": [True] * 6}))
    assert classes.tolist() == [0, 0, 1, 1, 2, 2]
    for label, space in enumerate(encoder.spaces):
        ends = space.project(np.array([[-1.0], [2.0]]))
        made = encoder.decode(Records(ends, rows.codes[:2]), np.full(2, label))
        assert encoder.encode(made)[1].tolist() == [label, label]


@pytest.mark.parametrize("scale", ["log", "quantile"])
def test_they_have_an_even_scale(scale):
    with pytest.raises(SchemaError, match=r"linear for whole numbers beyond 2\*\*53"):
        Integer("x", 2**60, 2**60 + 9, scale=scale)
