"""What synthetic rows keep of piles, tails and variety."""

import numpy as np
import pyarrow as pa
import pytest

from tabpe.evaluation.table_arrays import build_class_examples, build_table_arrays
from tabpe.schema import Boolean, Float, Integer, Schema
from tabpe_lab.evaluate import evaluate_rows
from tabpe_lab.experiment import EvaluationSettings
from tabpe_lab.fidelity import (
    measure_atom_gap,
    measure_duplicates,
    measure_quantile_error,
    measure_self_prediction,
)
from tabpe_lab.task import Task

SCHEMA = Schema((Float("gain", 0, 1e6), Integer("age", 0, 99), Boolean("ill")), label="ill")


def rows(count, seed, *, zeros=0.5, right=0.9):
    """Rows with zeros, a tail, and labels of which some are at random."""
    rng = np.random.default_rng(seed)
    gain = np.where(rng.random(count) < zeros, 0.0, np.exp(rng.normal(5, 1, count)))
    age = rng.integers(0, 100, count)
    ill = np.where(rng.random(count) < right, age > 50, age <= 50)
    return pa.table({"gain": gain, "age": age, "ill": ill})


def views(*tables):
    return build_table_arrays(SCHEMA, tables)


def quantile_error(one, other):
    return measure_quantile_error(*views(one, other), [1, 2], subsets=None, random_state=0)


def test_quantile_bins_see_a_tail_that_ranges_do_not():
    same = quantile_error(rows(4000, 0), rows(4000, 1))
    moved = rows(4000, 1)
    moved = moved.set_column(0, "gain", pa.array(moved["gain"].to_numpy() * 3))
    assert same[1] < 0.03
    assert quantile_error(rows(4000, 0), moved)[1] > 5 * same[1]


def test_a_pile_has_a_bin_of_its_own():
    near = rows(4000, 1)
    near = near.set_column(0, "gain", pa.array(np.maximum(near["gain"].to_numpy(), 1e-9)))
    # Half of the cells of one of three columns are in the wrong bin.
    assert quantile_error(rows(4000, 0), near)[1] == pytest.approx(0.5 / 3, abs=0.03)
    assert measure_atom_gap(*views(rows(4000, 0), near)) == pytest.approx(0.5, abs=0.03)
    assert measure_atom_gap(*views(rows(4000, 0), rows(4000, 1, zeros=0.3))) == pytest.approx(
        0.2, abs=0.04
    )


def test_rows_that_repeat_earlier_ones_are_counted():
    some = rows(500, 0, zeros=0.0)
    assert measure_duplicates(views(some)[0]) == 0.0
    assert measure_duplicates(views(pa.concat_tables([some] * 4))[0]) == 0.75


@pytest.mark.parametrize(("right", "low", "high"), [(0.7, 0.5, 0.72), (1.0, 0.98, 1.0)])
def test_self_prediction_is_as_good_as_labels_are_certain(right, low, high):
    examples = build_class_examples(views(rows(4000, 0, right=right))[0], "ill")
    assert low < measure_self_prediction(examples, 0) <= high


def test_certainty_is_measured_of_what_rows_teach():
    task = Task(SCHEMA, rows(2000, 0), rows(2000, 1), rows(2000, 2), shares={}, delta=1e-5)
    names = ["log_loss", "brier", "ece", "overconfidence", "self_prediction", "duplicates"]
    quick = EvaluationSettings(rows=100, subsets=3)
    fair = evaluate_rows(task, rows(2000, 3), names, quick).metrics
    sure = evaluate_rows(task, rows(2000, 3, right=1.0), names, quick).metrics
    assert set(fair) == {*names, *(f"validation_{name}" for name in names[:4])}
    assert sure["validation_overconfidence"] > 0.05 + fair["validation_overconfidence"]
    assert sure["validation_log_loss"] > 1.2 * fair["validation_log_loss"]
    assert sure["ece"] > 0.05 > abs(fair["overconfidence"]) - 0.05
