"""Features as arrays of numbers."""

import numpy as np
import pytest

from tables import view_of
from tabpe import Categorical, Float, Schema
from tabpe.evaluation.table_arrays import (
    encode_features,
    encode_filled_features,
    encode_for_distances,
    is_listed,
)

MANY = tuple(f"v{place}" for place in range(300))


def features(values, names, listed=("a", "b")):
    schema = Schema((Float("x", 0, 10), Categorical("c", listed)))
    return view_of(schema, {"x": values, "c": names}).columns


def test_trees_see_nulls_apart_from_all_values():
    cells = features([0.0, 10.0, None], ["a", None, "b"])
    assert np.isnan(encode_features(cells)).tolist() == [
        [False, False],
        [False, True],
        [True, False],
    ]
    assert encode_filled_features(cells).tolist() == [[0, 0], [1, -1], [-1, 1]]


def test_a_row_is_encoded_alone():
    cells = features([1.0, None, 1e300], ["a", "z", None])
    for encode in (encode_features, encode_filled_features, encode_for_distances):
        one = encode([each.take(np.array([1])) for each in cells])
        np.testing.assert_array_equal(encode(cells)[1:2], one)


@pytest.mark.parametrize("encode", [encode_filled_features, encode_for_distances])
def test_nothing_is_infinite(encode):
    cells = features([1e308, -1e308, None], ["a", None, "z"])
    assert np.isfinite(encode(cells).astype(np.float32)).all()


def test_a_distance_counts_what_differs():
    rows = encode_for_distances(features([0.0, 10.0, 0.0, None], ["a", "a", "b", "z"])).astype(
        float
    )
    squares = ((rows[:, None] - rows[None]) ** 2).sum(axis=2)
    np.testing.assert_allclose(squares[0], [0, 1, 1, 1 + 1 + 0.25], atol=1e-6)


def test_places_stay_few_for_many_categories():
    many = [f"c{place}" for place in range(200)]
    schema = Schema(tuple(Categorical(name, MANY) for name in many))
    cells = view_of(schema, {name: ["v1", "v299"] for name in many}).columns
    assert encode_for_distances(cells).shape[1] <= 2 * 4096
    assert not np.array_equal(*encode_for_distances(cells))


def test_only_short_lists_are_split_as_sets():
    number, short = features([1.0], ["a"])
    assert [is_listed(number), is_listed(short)] == [False, True]
    assert not is_listed(features([1.0], ["v1"], MANY)[1])
