"""Unique keys: rows that repeat one get a free one, and satisfy the rules at the same time."""

import numpy as np
import pytest

from tabpe import Boolean, Categorical, Float, Integer, Schema
from tabpe.encoding import Encoder, Records
from tabpe.errors import ParameterError
from tabpe.evolution.constraint_repair import ConstraintSet
from tabpe.evolution.unique_keys import enforce_unique_keys, reassign_keys

A, B = Integer("a", 0, 9), Categorical("b", ("x", "y", "z"))


def repeated(schema, size, seed=0):
    """The same row again and again."""
    encoder = Encoder(schema)
    constraints, rng = ConstraintSet.from_encoder(encoder), np.random.default_rng(seed)
    numbers = np.full((size, len(encoder.numeric)), 1 / 3)
    codes = np.zeros((size, len(encoder.categorical)), np.uint8)
    classes = rng.permutation(np.arange(size) % encoder.class_count)
    rows = constraints.repair_rows(Records(encoder.space.project(numbers), codes), classes, rng)
    return encoder, constraints, rows, classes


def found(schema, size):
    encoder, constraints, rows, classes = repeated(schema, size)
    made = enforce_unique_keys(constraints, rows, classes, np.random.default_rng(0))
    assert not constraints.find_broken(made, classes).any()
    return encoder.decode(made, classes).to_pylist()


@pytest.mark.parametrize("size", [1, 10, 29, 30])
def test_all_keys_can_be_used_up(size):
    rows = found(Schema((A, B), rules=("unique(a, b)",)), size)
    assert len({(row["a"], row["b"]) for row in rows}) == size


def test_one_more_is_refused():
    with pytest.raises(ParameterError, match=r"n=31: rule 'unique\(a, b\)' lets at most 30"):
        found(Schema((A, B), rules=("unique(a, b)",)), 31)


def test_two_keys_are_unique_at_once():
    columns = (A, Integer("c", 0, 9))
    rows = found(Schema(columns, rules=("unique(a)", "unique(c)")), 8)
    assert len({row["a"] for row in rows}) == len({row["c"] for row in rows}) == 8


def test_a_rule_takes_keys_away():
    schema = Schema((A, B), rules=("unique(a, b)", "a >= 5"))
    assert len(found(schema, 15)) == 15
    with pytest.raises(ParameterError, match="lets at most 15 of these"):
        found(schema, 16)


def test_other_columns_follow_the_key():
    schema = Schema((A, Integer("double", 0, 18)), rules=("unique(a)", "double == a * 2"))
    rows = found(schema, 10)
    assert sorted(row["a"] for row in rows) == list(range(10))
    assert all(row["double"] == 2 * row["a"] for row in rows)


def test_numbers_without_a_grid_have_room_for_all():
    schema = Schema((Float("x", 0, 1),), rules=("unique(x)",))
    rows = found(schema, 500)
    assert len({row["x"] for row in rows}) == 500
    assert max(abs(row["x"] - 1 / 3) for row in rows) < 0.1


def test_a_label_in_a_key_does_not_move():
    schema = Schema((A, Boolean("ill")), label="ill", rules=("unique(a, ill)",))
    rows = found(schema, 20)
    assert len({(row["a"], row["ill"]) for row in rows}) == 20
    assert sum(row["ill"] for row in rows) == 10
    with pytest.raises(ParameterError, match="lets at most 20 of these"):
        found(schema, 22)


def test_a_numeric_label_stays_in_its_class():
    schema = Schema((Integer("cost", 0, 19), B), "cost", (10.0,), rules=("unique(cost)",))
    encoder, constraints, rows, classes = repeated(schema, 20)
    numbers = np.where(classes[:, None] == 0, 0.0, 1.0)
    made = enforce_unique_keys(
        constraints, Records(numbers, rows.codes), classes, np.random.default_rng(0)
    )
    costs = encoder.decode(made, classes)["cost"].to_numpy()
    assert sorted(costs) == list(range(20))
    assert ((costs >= 10) == (classes == 1)).all()


def test_what_is_fixed_stays():
    schema = Schema((A, B), rules=("unique(a, b)",))
    _, constraints, rows, classes = repeated(schema, 5)
    made, late = reassign_keys(
        constraints, rows, classes, np.random.default_rng(0), fixed=frozenset(["a"])
    )
    assert (made.numbers == rows.numbers).all()
    assert late.sum() == 2


def test_rows_stay_near_where_they_were():
    schema = Schema((Integer("a", 0, 10_000),), rules=("unique(a)",))
    rows = found(schema, 20)
    assert max(abs(row["a"] - 3333) for row in rows) < 60


def test_empty_cells_repeat_nothing():
    schema = Schema((A,), rules=("unique(a)",))
    constraints = ConstraintSet.from_encoder(Encoder(schema))
    rows = Records(np.full((30, 1), np.nan), np.empty((30, 0), np.uint8))
    made = enforce_unique_keys(constraints, rows, np.zeros(30, int), np.random.default_rng(0))
    assert np.isnan(made.numbers).all()
