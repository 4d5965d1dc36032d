"""Rows whose label is known."""

import numpy as np
import pytest

from tables import ruled, total, view_of
from tabpe import Categorical, Float, Schema
from tabpe.evaluation.table_arrays import build_class_examples, build_examples


def numeric(values):
    schema = Schema((Float("x", 0, 1), Float("y", 0, 10)), label="y", label_cuts=(2.0, 5.0))
    return view_of(schema, {"x": np.linspace(0, 1, len(values)), "y": values})


def test_rows_without_a_label_are_left_out():
    found = build_examples(numeric([1.0, None, 5.0]), "y")
    assert found.target.tolist() == [0.1, 0.5]
    assert found.features[0].values.tolist() == [0.0, 1.0]
    assert found.classes is None


def test_a_class_begins_at_its_cut():
    found = build_class_examples(numeric([1.9, 2.0, None, 4.9, 5.0, 11.0]), "y")
    assert found.target.tolist() == [0, 1, 1, 2, 2]
    assert found.classes == 3


def test_a_number_without_cuts_has_no_classes():
    assert build_class_examples(numeric([1.0, 2.0]), "x") is None


def test_an_undeclared_label_is_a_class():
    schema = Schema((Float("x", 0, 1), Categorical("y", ("a", "b"))), label="y")
    found = build_examples(view_of(schema, {"x": [0.0, 1.0], "y": ["b", "c"]}), "y")
    assert found.target.tolist() == [1, 2]
    assert found.classes == 3


@pytest.mark.parametrize(("rows", "held_out"), [(0, 0), (1, 1), (2, 1), (10, 3), (100, 30)])
def test_a_part_is_held_out_and_nothing_is_lost(rows, held_out):
    whole = build_examples(ruled(total, rows), "y")
    train, test = whole.split_train_test(np.random.default_rng(0))
    assert len(test) == held_out
    both = np.concatenate([train.features[0].values, test.features[0].values])
    assert sorted(both) == sorted(whole.features[0].values)


def test_a_sample_keeps_its_rows_whole_and_in_order():
    whole = build_examples(ruled(total, 50), "y")
    part = whole.sample_rows(20, np.random.default_rng(0))
    places = [whole.features[0].values.tolist().index(x) for x in part.features[0].values]
    assert places == sorted(set(places))
    assert part.target.tolist() == whole.target[places].tolist()
    assert whole.sample_rows(None, np.random.default_rng(0)) is whole
