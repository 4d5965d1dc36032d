"""Atoms: special values are cells of their own, exactly, from the table to the release."""

import numpy as np
import pyarrow as pa
import pytest

from tabpe.encoding import Encoder, Records, VotingSpace
from tabpe.encoding.atoms import find_states, list_public_numbers, list_special_numbers
from tabpe.encoding.marginals import Marginal, NumberAxis
from tabpe.encoding.records import draw_uniform_records
from tabpe.schema import Date, Datetime, Float, Integer, Schema, Time

COLUMNS = {
    "float": (Float("x", -1.0, 7.0, special=(0.1, 0.3, 7.0)), [0.1, 0.3, 7.0]),
    "log": (Float("x", 0.0, 1e6, scale="log", special=(0.37, 1234.5)), [0.37, 1234.5]),
    "decimals": (Float("x", 0.0, 100.0, 1, special=(0.0, 99.9)), [0.0, 99.9]),
    "log decimals": (Float("x", 0.0, 9e5, 9, special=(0.0, 0.25), scale="log"), [0.0, 0.25]),
    "integer": (Integer("x", 0, 400, special=(0, 365)), [0, 365]),
    "large": (Integer("x", 2**60, 2**60 + 9, special=(2**60 + 3,)), [2**60 + 3]),
    "nullable": (Float("x", 0.0, 9.0, nullable=True, special=(1 / 3,)), [1 / 3]),
}
each_column = pytest.mark.parametrize("name", COLUMNS)


def encoder_of(column):
    return Encoder(Schema((column,)))


@each_column
def test_an_atom_is_decoded_exactly(name):
    column, values = COLUMNS[name]
    encoder = encoder_of(column)
    (places,) = encoder.atoms
    rows = Records(np.array(places)[:, None], np.empty((len(places), 0), np.uint8))
    assert encoder.decode(rows, np.zeros(len(places), np.int64))["x"].to_pylist() == values


@each_column
def test_cells_are_at_the_atoms_that_candidates_are_at(name):
    column, values = COLUMNS[name]
    encoder = encoder_of(column)
    rows, _ = encoder.encode(pa.table({"x": [*values, values[0]]}))
    wanted = [2 + place for place in range(len(values))]
    assert find_states(rows.numbers, encoder.atoms).ravel().tolist() == [*wanted, 2]


def test_dates_and_times_have_atoms_too():
    columns = (
        Date("day", "2024-01-01", "2024-12-31", special=("2024-07-01",)),
        Datetime("at", "2024-01-01", "2024-01-02", "hour", special=("2024-01-01T12:00",)),
        Time("clock", "08:00", "18:00", "minute", special=("12:00",)),
    )
    encoder = Encoder(Schema(columns))
    assert [list_special_numbers(column) for column in columns] == [(182.0,), (12.0,), (240.0,)]
    table = pa.table({"day": ["2024-07-01"], "at": ["2024-01-01T12:00"], "clock": ["12:01"]})
    rows, classes = encoder.encode(table)
    assert find_states(rows.numbers, encoder.atoms).tolist() == [[2, 2, 0]]
    assert encoder.decode(rows, classes)["day"].to_pylist()[0].isoformat() == "2024-07-01"


def test_the_state_of_a_cell_is_that_of_its_own():
    encoder = encoder_of(COLUMNS["float"][0])
    alone, _ = encoder.encode(pa.table({"x": [0.1]}))
    beside, _ = encoder.encode(pa.table({"x": [5.0, 0.1, -1.0]}))
    assert alone.numbers[0, 0] == beside.numbers[1, 0]


def test_public_points_are_bounds_zero_and_round_values():
    assert set(list_public_numbers(Float("x", -3.7, 96.4))) >= {-3.7, 0.0, 50.0, 96.4}
    assert 40.0 in list_public_numbers(Integer("hours", 1, 99))
    assert 1000.0 in list_public_numbers(Float("limit", 0.0, 5000.0))
    assert 0.3 in list_public_numbers(Float("x", 0.0, 1.0))
    for column in (Float("x", 1.5, 1.5), Integer("x", 3, 3)):
        assert list_public_numbers(column) == ()
    for column in (Float("x", -1e300, 1e300), Float("x", 0, 5e-324), Integer("x", -9, 2**53)):
        points = list_public_numbers(column)
        assert points[0] == column.min
        assert points[-1] == column.max
        assert len(points) <= 50


def test_a_public_point_comes_back_as_it_is_written():
    column = Float("x", -3.7, 96.4)
    encoder = encoder_of(column)
    points = list_public_numbers(column)
    places = encoder.locate_numbers("x", points)
    rows = Records(np.array(places)[:, None], np.empty((len(places), 0), np.uint8))
    assert encoder.decode(rows, np.zeros(len(places), np.int64))["x"].to_pylist() == list(points)


def test_a_row_is_in_one_cell_whether_it_is_at_an_atom_or_null():
    axis = NumberAxis("x", 0, (0.5,), (0.0, 5.0, 10.0), nullable=True, atoms=(0.0, 0.5))
    numbers = np.array([[0.0], [0.1], [0.5], [0.6], [np.nan]], dtype=np.float32)
    rows = Records(numbers, np.empty((5, 0), np.uint8))
    assert axis.size == 5
    assert Marginal((axis,)).find_cells(rows, np.zeros(5, np.int64)).tolist() == [3, 0, 4, 1, 2]


def test_votes_tell_atoms_from_the_numbers_around_them():
    space = VotingSpace(np.array([True]), atoms=((0.0,),))
    numbers = np.array([[0.0], [1e-6], [np.nan]], dtype=np.float32)
    seen = space.transform_rows(Records(numbers, np.empty((3, 0), np.uint8)))
    assert seen.codes.ravel().tolist() == [2, 0, 1]
    other = VotingSpace(np.array([True]), atoms=((1.0,),))
    plain = VotingSpace(np.array([True]))
    assert len({space.digest, other.digest, plain.digest}) == 3


def test_random_rows_are_at_atoms_and_elsewhere():
    encoder = encoder_of(COLUMNS["integer"][0])
    rows = draw_uniform_records(encoder.space, 4000, np.random.default_rng(0))
    states = find_states(rows.numbers, encoder.atoms).ravel()
    assert np.isin([0, 2, 3], states).all()
    assert 0.2 < np.mean(states > 1) < 0.3
