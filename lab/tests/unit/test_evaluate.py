"""Measures of synthetic rows."""

import numpy as np
import pyarrow as pa
import pytest

from tabpe.errors import ParameterError
from tabpe.schema import Boolean, Float, Schema
from tabpe_lab.evaluate import evaluate_rows
from tabpe_lab.experiment import EvaluationSettings
from tabpe_lab.task import Task

SCHEMA = Schema((Float("a", 0, 1), Float("b", 0, 1), Boolean("same")), label="same")
QUICK = EvaluationSettings(learners=("nearest neighbours",), rows=100, subsets=5)


def rows(count, seed):
    """Rows whose label tells whether both numbers are on the same side."""
    a, b = np.random.default_rng(seed).random((2, count))
    return pa.table({"a": a, "b": b, "same": (a > 0.5) == (b > 0.5)})


def shuffled(table):
    """The same rows, with labels that have nothing to do with them."""
    order = np.random.default_rng(9).permutation(len(table))
    return table.set_column(2, "same", table["same"].take(pa.array(order)))


@pytest.fixture(scope="module")
def task():
    parts = [rows(count, seed) for seed, count in enumerate((500, 200, 300))]
    return Task(SCHEMA, *parts, shares={}, delta=1e-5)


def test_good_rows_are_told_from_bad_ones_by_every_measure(task):
    names = ("accuracy", "macro_f1", "auc", "3-wd", "3-tv", "precision")
    good = evaluate_rows(task, rows(400, 7), names, QUICK).metrics
    bad = shuffled(rows(400, 7))
    bad = evaluate_rows(task, bad.set_column(0, "a", pa.array(np.zeros(400))), names, QUICK).metrics
    for name in ("accuracy", "macro_f1", "auc", "precision"):
        assert good[name] > bad[name]
    for name in ("3-wd", "3-tv"):
        assert good[name] < bad[name]
    assert good["accuracy"] > 0.85


def test_only_what_is_asked_for_is_measured_and_how_is_said(task):
    found = evaluate_rows(task, rows(50, 7), ["auc", "1-wd", "2-wd", "7-wd"], QUICK)
    assert set(found.metrics) == {"auc", "validation_auc", "1-wd", "2-wd"}
    assert found.notes["learner_rows"] == 50
    assert found.notes["test_rows"] == 300
    assert found.notes["wd"] == {"rows": [100, 50], "subsets": {"1": 3, "2": 3}}
    assert found.notes["seconds"] > 0


def test_the_learner_is_chosen_by_the_validation_rows(task):
    names = ("nearest neighbours", "extra trees")
    each = [
        evaluate_rows(task, rows(60, 3), ["accuracy"], EvaluationSettings(learners=(name,))).metrics
        for name in names
    ]
    both = evaluate_rows(task, rows(60, 3), ["accuracy"], EvaluationSettings(learners=names))
    best = int(np.argmax([metrics["validation_accuracy"] for metrics in each]))
    assert both.notes["learner"] == names[best]
    assert both.metrics == each[best]


def test_the_same_rows_measure_the_same_every_time(task):
    names = ["accuracy", "2-wd"]
    once, again = (evaluate_rows(task, rows(150, 3), names, QUICK).metrics for _ in range(2))
    assert once == again


def test_rows_of_one_class_are_measured_too(task):
    same = pa.table({"a": [0.1, 0.2], "b": [0.1, 0.2], "same": [True, True]})
    assert evaluate_rows(task, same, ["accuracy"], QUICK).metrics["accuracy"] == pytest.approx(
        0.5, abs=0.1
    )


def test_pictures_that_are_none_are_refused(task):
    with pytest.raises(ParameterError, match="learners='cnn'"):
        evaluate_rows(task, rows(9, 1), ["accuracy"], EvaluationSettings(learners=("cnn",)))
