"""Calibrated labels: drawn as certain as a noisy histogram says that they are."""

import numpy as np
import pyarrow as pa
import pytest

from tabpe import Boolean, Categorical, Float, Integer, Posterior, Schema, TabPE
from tabpe.encoding import Records
from tabpe.encoding.marginals import Marginal
from tabpe.errors import ParameterError
from tabpe.evolution.calibrated_labels import (
    TEACHERS,
    CalibrationAxis,
    build_calibration_axis,
    count_right,
    draw_labels,
    fit_calibration,
    train_teacher,
)
from tabpe.evolution.config import CERTAINTY
from tabpe.evolution.evidence import PoolRows
from tabpe.evolution.marginal_prior import NoisyMarginal

ROWS = 6000
SCHEMA = Schema((Float("a", 0, 1), Float("b", 0, 1), Boolean("ill")), label="ill")
SMALL = Posterior(rounds=3, candidates=300, pool=6000, last_sweeps=10, labels="calibrated")


def table(right, rows=ROWS, seed=0):
    """Rows whose label is that of a pattern of both numbers, with some probability."""
    rng = np.random.default_rng(seed)
    a, b = rng.random((2, rows))
    ill = np.where(rng.random(rows) < right, (a > 0.5) == (b > 0.5), (a > 0.5) != (b > 0.5))
    return pa.table({"a": a, "b": b, "ill": ill})


def pattern(found):
    a, b, ill = (found[name].to_numpy(zero_copy_only=False) for name in ("a", "b", "ill"))
    return float((((a > 0.5) == (b > 0.5)) == ill).mean())


def pool(classes=2, rows=4000, seed=0):
    """A pool whose labels are certain, by one number."""
    rng = np.random.default_rng(seed)
    numbers = rng.random((rows, 2))
    codes = rng.integers(0, 3, (rows, 1)).astype(np.uint8)
    records, target = Records(numbers, codes), (numbers[:, 0] * classes).astype(np.int64)
    order = np.argsort(target, kind="stable")
    return PoolRows(records.take(order), records.take(order), target[order])


def calibrate(classes, right, sigma=10.0):
    """A calibration by private rows of which only a part have the class that the pool says."""
    rows, rng = pool(classes), np.random.default_rng(1)
    teacher = train_teacher(rows, np.arange(len(rows)), classes, seed=0)
    axis = build_calibration_axis(teacher, rows.plain, classes)
    private, wrong = pool(classes, seed=5), rng.random(4000) > right
    drawn = np.where(wrong, rng.integers(0, classes, 4000), private.classes)
    counts = np.bincount(axis.find_cells(private.plain, drawn), minlength=axis.size)
    noisy = NoisyMarginal(Marginal((axis,)), counts + rng.normal(0, sigma, axis.size), sigma)
    sizes = np.bincount(drawn, minlength=classes).astype(float)
    said = teacher(rows.plain)
    return said, fit_calibration(axis, noisy, said, sizes).apply(said), drawn == private.classes


def test_right_answers_are_counted_on_both_sides_of_even():
    axis = CalibrationAxis(lambda r: np.tile([0.5, 0.5], (len(r), 1)), (0.3, 0.5, 0.8), 2)
    counts = np.array([10.0, 1.0, 20.0, 2.0, 3.0, 30.0, 4.0, 40.0])
    assert count_right(axis, NoisyMarginal(Marginal((axis,)), counts, 1.0)) == 100.0
    many = CalibrationAxis(axis.teacher, (0.3, 0.5, 0.8), 5)
    assert count_right(many, NoisyMarginal(Marginal((many,)), counts, 1.0)) == 73.0


@pytest.mark.parametrize("classes", [2, 6])
@pytest.mark.parametrize("right", [0.6, 1.0])
def test_probabilities_become_as_certain_as_they_are_right(classes, right):
    said, calibrated, hits = calibrate(classes, right)
    assert said.max(axis=1).mean() > 0.7
    assert calibrated.max(axis=1).mean() == pytest.approx(hits.mean(), abs=0.05)
    assert calibrated.sum(axis=1) == pytest.approx(1.0)


def test_each_row_is_in_a_cell_by_itself():
    rows = pool()
    teacher = train_teacher(rows, np.arange(len(rows)), 2, seed=0)
    axis = build_calibration_axis(teacher, rows.plain, 2)
    private = Records(rows.plain.numbers.astype(np.float32), rows.plain.codes)
    whole = axis.find_cells(private, rows.classes)
    some = np.arange(0, 4000, 97)
    alone = [axis.find_cells(private.take(np.array([i])), rows.classes[[i]])[0] for i in some]
    assert whole[some].tolist() == alone
    assert 0 <= whole.min() <= whole.max() < axis.size
    assert len(axis.find_cells(private.take(np.array([], dtype=int)), rows.classes[:0])) == 0


@pytest.mark.parametrize("kind", TEACHERS)
@pytest.mark.parametrize("classes", [2, 3, 9])
def test_probabilities_of_a_row_are_the_same_bit_by_bit_whoever_is_beside_it(classes, kind):
    """Cuts are probabilities of rows: one bit may move a row from one cell to another."""
    rows = pool(classes, rows=900)
    teacher = train_teacher(rows, np.arange(len(rows)), classes, seed=0, kind=kind)
    whole = teacher(rows.plain)
    for size in (1, 2, 9):
        some = [np.arange(first, first + size) for first in range(0, 36, size)]
        apart = np.concatenate([teacher(rows.plain.take(few)) for few in some])
        assert (apart == whole[:36]).all()


def test_of_two_classes_cells_tell_the_class_and_of_more_whether_it_is_right():
    def teacher(rows):
        return np.tile([0.2, 0.8], (len(rows), 1))

    rows = Records(np.zeros((2, 1)), np.empty((2, 0), np.uint8))
    axis = CalibrationAxis(teacher, (0.5,), 2)
    assert axis.find_cells(rows, np.array([0, 1])).tolist() == [2, 3]
    many = CalibrationAxis(lambda r: np.tile([0.7, 0.2, 0.1], (len(r), 1)), (0.5,), 3)
    assert many.find_cells(rows, np.array([0, 1])).tolist() == [3, 2]


def test_labels_are_drawn_as_often_as_they_are_likely_and_none_is_lost():
    rng = np.random.default_rng(0)
    likely = rng.dirichlet([5, 3, 1, 1e-3], 5000)
    drawn = draw_labels(likely, rng)
    shares = np.bincount(drawn, minlength=4) / 5000
    assert shares == pytest.approx(likely.mean(axis=0), abs=0.01)
    rare = draw_labels(np.tile([1 - 2e-9, 1e-9, 1e-9], (50, 1)), rng)
    assert np.bincount(rare, minlength=3).min() >= 1


@pytest.mark.parametrize("right", [0.75, 0.95])
def test_a_release_is_as_certain_as_the_table(right):
    model = TabPE(epsilon=4.0, delta=1e-5, n_samples=4000, preset=SMALL, random_state=0, verbose=0)
    found = model.fit(table(right), SCHEMA).sample()
    assert pattern(found) == pytest.approx(right, abs=0.06)
    spends = {spend.name: spend for spend in model.certificate.spends}
    assert spends[CERTAINTY].times == 2
    assert model.certificate.epsilon <= 4.0


def test_it_is_charged_for_and_nothing_is_without_a_label():
    plan = SMALL.plan_queries(columns=2, classes=2)
    assert [part.share for part in plan.first if part.name == CERTAINTY] == [0.03]
    assert CERTAINTY not in {part.name for part in SMALL.plan_queries(2, 1).first}
    assert CERTAINTY not in {part.name for part in Posterior().plan_queries(2, 2).first}
    model = TabPE(epsilon=4.0, delta=1e-5, n_samples=500, preset=SMALL, random_state=0, verbose=0)
    assert model.fit(table(0.9), Schema(SCHEMA.columns)).sample().num_rows == 500


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        (
            Schema((Integer("pay", 0, 9), Float("a", 0, 1)), label="pay", label_cuts=(5,)),
            "expected one label with a list of values",
        ),
        (
            Schema((Boolean("x"), Boolean("y"), Float("a", 0, 1)), label=("x", "y")),
            "expected one label with a list of values",
        ),
        (
            Schema(
                (Categorical("ward", ("a", "b")), Float("a", 0, 1)),
                label="ward",
                rules=("if ward == 'a' then a < 0.5",),
            ),
            "rules name the label 'ward'",
        ),
    ],
)
def test_labels_that_no_predictor_draws_are_refused_before_a_row_is_read(schema, message):
    model = TabPE(epsilon=1.0, delta=1e-5, n_samples=100, preset=SMALL, verbose=0)
    with pytest.raises(ParameterError, match=message):
        model.make_settings(schema)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"labels": "sure"}, "labels='sure'"),
        ({"calibration": 0.0}, "calibration=0"),
        ({"calibration": 0.6}, "calibration=0.6: all of the budget"),
    ],
)
def test_a_wrong_setting_is_refused(change, message):
    with pytest.raises(ParameterError, match=message):
        Posterior(**{"labels": "calibrated", **change})
