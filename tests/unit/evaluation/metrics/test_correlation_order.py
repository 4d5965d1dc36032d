"""Whether the data needs a method that sees many columns at once."""

import numpy as np
import pytest

from tables import parity, ruled, total, view_of
from tabpe import Categorical, Float, Schema
from tabpe.errors import ParameterError
from tabpe.evaluation.metrics.correlation_order import CorrelationOrder, measure_correlation_order

SHORT = (2, 3, 4)


def test_parity_of_three_needs_depth_three():
    found = measure_correlation_order(
        ruled(parity, 6000), ruled(parity, 3000, seed=1), depths=SHORT
    )
    assert found.level == "high"
    assert found.accuracy[0] < 0.6
    assert found.accuracy[1] > 0.9
    assert found.gap == max(found.accuracy) - found.accuracy[0]
    assert "need a method that keeps correlations of high order" in found.words
    (gain,) = found.gains
    assert gain.columns == ("x0", "x1", "x2", "y")


def test_parity_of_two_does_not():
    found = measure_correlation_order(ruled(parity, 6000, columns=2), depths=SHORT)
    assert found.level == "low"
    assert found.accuracy[0] > 0.9


def test_a_sum_is_of_low_order():
    found = measure_correlation_order(
        ruled(total, 6000, columns=6, noise=0.2), ruled(total, 6000, seed=1, columns=6, noise=0.2)
    )
    assert found.depths == (2, 3, 4, 5, 6, 7)
    assert found.level == "low"
    assert "2 columns at a time is nearly enough" in found.words


def test_chance_is_not_called_order():
    """With 40 test rows and labels at random, some depth is always a few points ahead."""
    gaps = []
    for seed in range(8):
        real, test = (ruled(total, rows, seed=seed + rows, noise=1.0) for rows in (400, 40))
        found = measure_correlation_order(real, test, depths=SHORT)
        gaps.append(found.gap)
        assert found.level == "low" or found.gap > found.margin
    assert max(gaps) > 0.01


def test_words_own_up_to_chance():
    found = CorrelationOrder("y", (2, 3), (0.80, 0.82), "low", margin=0.03)
    assert "sampling error" in found.words
    assert "chance" not in CorrelationOrder("y", (2, 3), (0.80, 0.82), "some").words


def test_a_numeric_label_is_predicted_by_its_classes():
    values = np.random.default_rng(0).uniform(-1, 1, (4000, 3))
    label = np.where(parity(values), 9.0, 1.0)
    columns = (*(Float(name, -1, 1) for name in "abc"), Float("y", 0, 10))
    table = dict(zip("abcy", [*values.T, label], strict=True))
    with_cuts = Schema(columns, label="y", label_cuts=(5.0,))
    assert measure_correlation_order(view_of(with_cuts, table), depths=SHORT).level == "high"


def test_what_can_not_be_predicted_gives_nothing():
    assert measure_correlation_order(view_of(Schema((Float("x", 0, 1),)), {"x": [0.5]})) is None
    alone = Schema((Categorical("y", ("a", "b")),), label="y")
    assert measure_correlation_order(view_of(alone, {"y": ["a", "b"] * 10})) is None
    assert measure_correlation_order(ruled(lambda x: np.ones(len(x)), 50)) is None
    assert measure_correlation_order(ruled(total, 1)) is None
    assert measure_correlation_order(ruled(total, 0)) is None
    assert measure_correlation_order(ruled(total, 50), ruled(total, 0)) is None


def test_many_classes_are_taken_together():
    names = tuple(f"c{place}" for place in range(60))
    many = ruled(lambda x: np.clip((x[:, 0] + 1) * 30, 0, 59), 1200, classes=names)
    found = measure_correlation_order(many, depths=(2, 3))
    # 11 of 60 classes are told apart, the others are one.
    assert found.accuracy[0] > 0.8


def test_hundreds_of_columns_are_survived():
    found = measure_correlation_order(ruled(total, 200, columns=300), depths=(2, 3))
    assert len(found.accuracy) == 2


def test_a_class_that_only_the_test_rows_hold_is_missed():
    def thirds(values):
        return np.digitize(values[:, 0], [-0.3, 0.3])

    three = ("a", "b", "c")
    train = ruled(lambda x: np.minimum(thirds(x), 1), 500, classes=three)
    found = measure_correlation_order(train, ruled(thirds, 500, seed=1, classes=three), depths=(2,))
    assert found.accuracy[0] < 0.75
    assert found.gap == 0


@pytest.mark.parametrize("wrong", [(), (3, 2), (2, 2), (0, 1)])
def test_wrong_depths_are_named(wrong):
    with pytest.raises(ParameterError, match="depths="):
        measure_correlation_order(ruled(total, 10), depths=wrong)


def test_the_seed_decides_and_jobs_do_not():
    view = ruled(parity, 500, noise=0.2)
    once, twice, other = (
        measure_correlation_order(view, depths=SHORT, rows=300, random_state=seed, jobs=jobs)
        for seed, jobs in ((0, 1), (0, 3), (1, 3))
    )
    assert once == twice
    assert once != other
