"""The first candidates are uniform over the public space."""

import numpy as np
import pytest
from scipy.stats import chisquare, kstest

from tabpe.encoding import Encoder, RecordSpace
from tabpe.encoding.records import draw_uniform_records
from tabpe.schema import Categorical, Float, Integer, Schema

MANY = 20_000
FAIR = 1e-4  # the seeds are fixed: a test that passes once passes always


def rng():
    return np.random.default_rng(5)


def space(low=(), high=(), steps=(), sizes=()):
    return RecordSpace(
        *(np.array(x, dtype=float) for x in (low, high, steps)), np.array(sizes, int)
    )


@pytest.mark.parametrize("steps", [1, 2, 6, 20])
def test_integers_are_uniform_on_their_grid_ends_included(steps):
    rows = draw_uniform_records(space([0], [1], [steps]), MANY, rng())
    places = np.rint(rows.numbers[:, 0] * steps).astype(int)
    counts = np.bincount(places, minlength=steps + 1)
    assert len(counts) == steps + 1
    assert chisquare(counts).pvalue > FAIR
    assert np.abs(rows.numbers[:, 0] * steps - places).max() < 1e-12


def test_numbers_without_a_grid_are_uniform_over_the_bounds():
    rows = draw_uniform_records(space([0.25], [0.75], [0]), MANY, rng())
    assert kstest(rows.numbers[:, 0], "uniform", args=(0.25, 0.5)).pvalue > FAIR


@pytest.mark.parametrize("size", [1, 2, 7, 300])
def test_categories_are_uniform_over_the_domain(size):
    rows = draw_uniform_records(space(sizes=[size]), MANY, rng())
    counts = np.bincount(rows.codes[:, 0], minlength=size)
    assert len(counts) == size
    assert size == 1 or chisquare(counts).pvalue > FAIR


def test_a_narrowed_grid_is_uniform_within_its_class():
    """Values 40 to 69 of 0 to 99: the second class of a numeric label."""
    schema = Schema((Integer("y", 0, 99),), label="y", label_cuts=(40, 70))
    encoder = Encoder(schema)
    rows = draw_uniform_records(encoder.spaces[1], MANY, rng())
    values = encoder.decode(rows, np.ones(MANY, dtype=np.int64))["y"].to_numpy()
    assert (values.min(), values.max()) == (40, 69)
    assert chisquare(np.bincount(values - 40)).pvalue > FAIR


def test_columns_are_independent():
    rows = draw_uniform_records(space([0, 0], [1, 1], [0, 0]), MANY, rng())
    assert abs(np.corrcoef(rows.numbers.T)[0, 1]) < 0.03


def test_constant_columns_stay_constant():
    schema = Schema((Integer("a", 7, 7), Float("b", 2.5, 2.5), Categorical("c", ("x",))))
    encoder = Encoder(schema)
    rows = draw_uniform_records(encoder.spaces[0], 50, rng())
    table = encoder.decode(rows, np.zeros(50, dtype=np.int64))
    assert set(table.to_pylist()[0].items()) == {("a", 7), ("b", 2.5), ("c", "x")}
    assert len({tuple(row.values()) for row in table.to_pylist()}) == 1


@pytest.mark.parametrize("size", [0, 1])
def test_few_rows_have_the_shape_of_many(size):
    rows = draw_uniform_records(space([0, 0], [1, 1], [0, 4], [3]), size, rng())
    assert rows.numbers.shape == (size, 2)
    assert rows.codes.shape == (size, 1)


def test_codes_beyond_255_are_held():
    rows = draw_uniform_records(space(sizes=[2, 1000]), 5000, rng())
    assert rows.codes.dtype == np.uint16
    assert rows.codes[:, 1].max() > 900
    assert rows.codes[:, 0].max() == 1


def test_the_same_seed_gives_the_same_rows():
    where = space([0], [1], [0], [9])
    one, other = draw_uniform_records(where, 50, rng()), draw_uniform_records(where, 50, rng())
    assert (one.numbers == other.numbers).all()
    assert (one.codes == other.codes).all()
