"""Differences seed by seed, and how sure they are."""

import math

import numpy as np
import pytest
from made_runs import run
from scipy.stats import ttest_rel

from tabpe.errors import ParameterError
from tabpe_lab.exhibits import find_metric
from tabpe_lab.summary import MeanDifference, compare_pairs

ACCURACY, DISTANCE = find_metric("accuracy"), find_metric("1-wd")


def runs(name, values, metric="accuracy", seeds=None, **more):
    return [
        run("adult", "tabpe", seed, called=name, metrics={metric: value}, **more)
        for seed, value in zip(seeds or range(len(values)), values, strict=True)
    ]


def test_the_interval_is_that_of_a_paired_t_test():
    rng = np.random.default_rng(0)
    ours, theirs = rng.uniform(0.4, 0.9, 5), rng.uniform(0.4, 0.9, 5)
    found = compare_pairs(runs("A", ours), runs("B", theirs), ACCURACY)
    expected = ttest_rel(ours, theirs).confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))
    assert found.mean == pytest.approx(ours.mean() - theirs.mean())
    assert found.count == 5


def test_what_all_runs_of_a_seed_share_does_not_widen_it():
    hard = np.array([0.1, 0.5, 0.9])
    found = compare_pairs(
        runs("A", hard + np.array([0.02, 0.03, 0.025])), runs("B", hard.tolist()), ACCURACY
    )
    assert found.high - found.low < 0.03
    assert found.sign == 1


@pytest.mark.parametrize(
    ("values", "sign"), [([1.0, 1.1, 0.9], 1), ([-1.0, -1.1, -0.9], -1), ([1.0, -1.0, 0.5], 0)]
)
def test_a_sign_is_told_only_if_the_interval_leaves_out_zero(values, sign):
    assert MeanDifference.from_values(values).sign == sign


def test_one_seed_has_no_interval_and_no_sign():
    found = compare_pairs(runs("A", [0.9]), runs("B", [0.1]), ACCURACY)
    assert (found.low, found.high, found.sign, found.count) == (None, None, 0, 1)


def test_distances_are_compared_by_a_factor():
    found = compare_pairs(runs("A", [0.1, 0.2], "1-wd"), runs("B", [0.2, 0.4], "1-wd"), DISTANCE)
    assert math.exp(found.mean) == pytest.approx(0.5)
    assert compare_pairs(runs("A", [0.0], "1-wd"), runs("B", [0.2], "1-wd"), DISTANCE) is None


def test_only_common_seeds_that_are_done_count():
    ours = runs("A", [0.5, 0.6], seeds=[0, 1])
    theirs = runs("B", [0.4], seeds=[1]) + runs("B", [0.0], seeds=[0], status="failed")
    assert compare_pairs(ours, theirs, ACCURACY).count == 1
    assert compare_pairs(ours, runs("B", [0.4], seeds=[7]), ACCURACY) is None


def test_two_settings_under_one_name_are_refused():
    twice = runs("A", [0.5], settings={"rounds": 5}) + runs("A", [0.6], settings={"rounds": 9})
    with pytest.raises(ParameterError, match=r"A on adult: .*seed 0"):
        compare_pairs(twice, runs("B", [0.4]), ACCURACY)
