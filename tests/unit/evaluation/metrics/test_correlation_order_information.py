"""Total correlation of a few columns."""

import itertools

import numpy as np
import pytest

from tables import bits, parity, ruled, view_of
from tabpe import Boolean, Categorical, Float, Schema
from tabpe.errors import ParameterError
from tabpe.evaluation.metrics.correlation_order import (
    correlation_gain,
    find_strongest_gain,
    total_correlation,
)

ROWS = 4000


def exclusive_or(inputs, *, spare=0):
    """Bits whose parity is the column `odd`, and bits that have nothing to do with it."""
    _, table = bits(ROWS, inputs + spare)
    names = [f"b{place}" for place in range(inputs)]
    table["odd"] = np.logical_xor.reduce([table[name] for name in names])
    return view_of(Schema(tuple(map(Boolean, table))), table)


@pytest.mark.parametrize("inputs", [2, 3, 4])
def test_only_all_columns_of_an_exclusive_or_tell_its_bit(inputs):
    view = exclusive_or(inputs)
    assert correlation_gain(view, view.schema.names) == pytest.approx(1, abs=0.01)
    for fewer in itertools.combinations(view.schema.names, inputs):
        assert correlation_gain(view, fewer) == pytest.approx(0, abs=0.01)


def test_independent_bits_tell_nothing():
    schema, table = bits(ROWS, 4)
    view = view_of(schema, table)
    assert total_correlation(view, schema.names) == pytest.approx(0, abs=0.01)
    assert correlation_gain(view, schema.names) == pytest.approx(0, abs=0.01)


def test_two_columns_that_are_one_share_its_entropy():
    schema = Schema((Categorical("a", tuple("wxyz")), Categorical("b", tuple("wxyz"))))
    column = np.asarray(tuple("wxyz"))[np.arange(ROWS) % 4]
    view = view_of(schema, {"a": column, "b": column})
    assert total_correlation(view, ["a", "b"]) == pytest.approx(2, abs=0.01)
    assert correlation_gain(view, ["a", "b"]) == total_correlation(view, ["b", "a"])


def test_one_column_tells_nothing_about_others():
    assert total_correlation(exclusive_or(2), ["odd"]) == 0


def test_a_chain_gains_what_its_weakest_link_tells():
    rng = np.random.default_rng(0)
    first = rng.random(40_000) < 0.5
    second = first ^ (rng.random(len(first)) < 0.05)
    third = second ^ (rng.random(len(first)) < 0.3)
    schema = Schema((Boolean("a"), Boolean("b"), Boolean("c")))
    view = view_of(schema, {"a": first, "b": second, "c": third})
    weakest = correlation_gain(view, ["b", "c"])
    assert weakest < correlation_gain(view, ["a", "b"])
    assert correlation_gain(view, ["a", "b", "c"]) == pytest.approx(weakest, abs=0.005)


def test_the_correction_keeps_many_values_from_seeming_to_tell_something():
    rng = np.random.default_rng(0)
    values = tuple(map(str, range(25)))
    schema = Schema((Categorical("a", values), Categorical("b", values)))
    view = view_of(schema, {name: rng.choice(values, ROWS) for name in "ab"})
    plain_bias = 24 * 24 / (2 * ROWS * np.log(2))
    assert abs(total_correlation(view, ["a", "b"])) < plain_bias / 3


def test_numbers_are_put_into_bins():
    view = ruled(parity, ROWS, columns=2)
    with pytest.raises(ParameterError, match="'x0'"):
        total_correlation(view, view.schema.names)
    assert correlation_gain(view, view.schema.names, bins=2) > 0.8


def test_nulls_are_a_value():
    schema = Schema((Float("x", 0, 1), Boolean("gone")))
    gone = np.arange(ROWS) % 2 == 0
    view = view_of(schema, {"x": np.where(gone, np.nan, 0.5), "gone": gone})
    assert total_correlation(view, ["x", "gone"], bins=4) == pytest.approx(1, abs=0.01)
    nothing = view_of(schema, {"x": np.full(ROWS, np.nan), "gone": gone})
    assert total_correlation(nothing, ["x", "gone"], bins=4) == pytest.approx(0, abs=0.01)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["odds", "b0"], "names='odds'.*'odd'"),
        (["odd", "odd"], "names="),
        (["odd"], "names="),
    ],
)
def test_wrong_names_are_named(names, message):
    with pytest.raises(ParameterError, match=message):
        correlation_gain(exclusive_or(2), names)


def test_too_few_rows_are_refused():
    schema, table = bits(39, 3)
    with pytest.raises(ParameterError, match="39 rows"):
        total_correlation(view_of(schema, table), schema.names)


def test_the_strongest_set_is_found_among_others():
    view = exclusive_or(3, spare=2)
    found = find_strongest_gain(view, 4, label="odd")
    assert found.columns == ("b0", "b1", "b2", "odd")
    assert found.bits == pytest.approx(1, abs=0.01)
    assert "more about one another than the best 3" in found.words
    assert find_strongest_gain(view, 4).columns == found.columns


def test_nothing_is_found_among_too_many_sets_or_too_few_rows():
    view = exclusive_or(3)
    assert find_strongest_gain(view, 2, most=1) is None
    assert find_strongest_gain(view.take(np.arange(3)), 2) is None
    assert find_strongest_gain(view.take(np.arange(0)), 2) is None
    assert find_strongest_gain(view, 9) is None
