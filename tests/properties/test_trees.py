"""The privacy losses of whole trees: every outcome, its chance with a row and without it."""

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tabpe.measurement.privtree import TreeGrowth, grow_tree

ANY = 10**6


class Scripted:
    """Decides as it is told, and adds up the logarithms of the chances of that."""

    def __init__(self, decisions):
        self.decisions, self.taken, self.log_chance = decisions, [], 0.0

    def choose(self, scores, scale):
        """Return the next decision; 0 after the last."""
        place = len(self.taken)
        decision = self.decisions[place] if place < len(self.decisions) else 0
        self.taken.append(decision)
        logits = scores / scale
        self.log_chance += float(logits[decision] - np.logaddexp.reduce(logits))
        return decision


def outcomes(counts, growth, threshold, most):
    """Yield every tree that may come out, as its decisions, and the logarithm of its chance."""
    scripts = [()]
    while scripts:
        script = scripts.pop()
        chooser = Scripted(script)
        grow_tree(counts, chooser, growth, threshold=threshold, most=most)
        yield tuple(chooser.taken), chooser.log_chance
        free = range(len(script), len(chooser.taken))
        scripts += [(*chooser.taken[:place], 1) for place in free]


def losses(counts, cell, growth, *, threshold=0, most=ANY, run_with=None):
    """Return ln(chance with one row more in a cell / chance without) of all outcomes."""
    run = run_with or growth
    more = counts + (np.arange(len(counts)) == cell)
    without = dict(outcomes(counts, run, threshold, most))
    with_row = dict(outcomes(more, run, threshold, most))
    assert without.keys() == with_row.keys()
    for found in (without, with_row):
        assert math.fsum(math.exp(chance) for chance in found.values()) == pytest.approx(1.0)
    return np.array([with_row[tree] - without[tree] for tree in without])


growths = st.builds(
    TreeGrowth, scale=st.sampled_from([0.3, 1.0, 2.4, 7.0, 40.0]), decay=st.integers(1, 12)
)


@given(
    counts=st.lists(st.integers(0, 60), min_size=1, max_size=8),
    cell=st.integers(0, 7),
    growth=growths,
    threshold=st.integers(0, 20),
    most=st.sampled_from([1, 2, 3, 5, ANY]),
)
@example([0] * 8, 0, TreeGrowth(1.0, 1), 0, ANY)
@example([50, 0, 0, 0, 0, 0, 0, 0], 0, TreeGrowth(7.0, 3), 0, ANY)
@settings(deadline=None, max_examples=150)
def test_the_losses_of_a_tree_lie_in_an_interval_of_its_width(
    counts, cell, growth, threshold, most
):
    found = losses(np.array(counts), cell % len(counts), growth, threshold=threshold, most=most)
    assert found.max() - found.min() <= growth.width
    assert found.min() >= -1 / growth.scale - 1e-9
    assert found.max() <= growth.width - 1 / growth.scale


def deep_losses(rows, growth, halvings=12):
    """Return the losses where all rows are in the first cell of many.

    Of trees in which the bins with that cell are halved again and again, and no others: what is
    decided about others has the same chance with a row more.
    """
    found = []
    for times in range(halvings + 1):
        chances = []
        for more in (0, 1):
            counts = np.zeros(2**halvings, dtype=np.int64)
            counts[0] = rows + more
            chooser = Scripted(([1] + [1, 0] * (times - 1)) if times else [])
            starts = grow_tree(counts, chooser, growth, threshold=0, most=ANY)
            assert len(starts) == times + 1
            chances.append(chooser.log_chance)
        found.append(chances[1] - chances[0])
    return np.array(found)


def most_lost(growth):
    """The widest interval of losses over many tables."""
    return max(np.ptp(deep_losses(rows, growth)) for rows in range(0, 12 * growth.decay, 3))


@pytest.mark.parametrize("growth", [TreeGrowth(1.0, 2), TreeGrowth(4.0, 8), TreeGrowth(50.0, 100)])
def test_all_of_the_width_may_be_lost(growth):
    """Else too much would be paid."""
    assert 0.99 * growth.width <= most_lost(growth) <= growth.width


@pytest.mark.parametrize(
    ("charged", "run"),
    [(TreeGrowth(4.0, 8), TreeGrowth(4.0, 4)), (TreeGrowth(4.0, 8), TreeGrowth(3.9, 8))],
    ids=["decay", "scale"],
)
def test_a_smaller_decay_or_scale_than_was_charged_for_is_noticed(charged, run):
    assert most_lost(run) > charged.width


def test_scores_without_a_floor_would_be_noticed():
    """The losses of bins that hold nothing would go on and on, were it not for the floor."""
    growth = TreeGrowth(2.0, 4)
    bottomless = [-growth.decay * depth + 1 for depth in range(1, 12)]
    steps = [
        np.logaddexp(0, -(score - 1) / growth.scale) - np.logaddexp(0, -score / growth.scale)
        for score in bottomless
    ]
    assert sum(steps) + 1 / growth.scale > growth.width


@given(scale=st.floats(0.05, 2e4), ratio=st.floats(0.05, 20.0))
@settings(deadline=None, max_examples=200)
def test_the_width_is_the_sum_of_its_definition(scale, ratio):
    growth = TreeGrowth(scale, math.ceil(ratio * scale))
    scores = 1 - growth.decay * np.arange(1, -3000, -1)
    left, right = np.logaddexp(0, -(scores - 1) / scale), np.logaddexp(0, -scores / scale)
    assert growth.width == pytest.approx((left - right).sum() + 1 / scale, rel=1e-7)


@given(width=st.floats(1e-4, 50))
@settings(deadline=None, max_examples=100)
def test_a_growth_is_within_the_width_that_was_paid_for_and_uses_most_of_it(width):
    growth = TreeGrowth.from_range(width)
    assert 0.9 * width <= growth.width <= width
