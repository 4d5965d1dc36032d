"""The privacy loss of the exponential mechanism, against selections themselves."""

import itertools

import numpy as np
import pytest

from tabpe.accounting import Adjacency, NeighboringRelation, Spend, compose_epsilon
from tabpe.accounting.pld import compute_divergences
from tabpe.accounting.recount import recount_epsilon
from tabpe.accounting.spend import EXPONENTIAL
from tabpe.errors import ParameterError

EPSILONS = np.linspace(-3.0, 3.0, 61)


def chances(scores, scale):
    weights = np.exp((scores - scores.max()) / scale)
    return weights / weights.sum()


def hockey_stick(p, q, epsilon):
    return np.maximum(p - np.exp(epsilon) * q, 0.0).sum()


def neighbouring_choices(seed):
    """Return two lists of chances whose scores differ by at most one, and the range of the loss."""
    rng = np.random.default_rng(seed)
    size, scale = rng.integers(2, 8), rng.uniform(0.5, 4.0)
    scores = rng.normal(0, 3, size)
    moved = scores + rng.uniform(-1, 1, size)
    return chances(scores, scale), chances(moved, scale), 2 / scale


@pytest.mark.parametrize("seed", range(60))
def test_no_selection_tells_more_than_the_curve(seed):
    p, q, width = neighbouring_choices(seed)
    found = np.array([hockey_stick(p, q, epsilon) for epsilon in EPSILONS])
    assert (found <= compute_divergences(EPSILONS, width) + 1e-12).all()


@pytest.mark.parametrize("width", [0.05, 0.7, 2.0])
@pytest.mark.parametrize("epsilon", [-0.4, 0.0, 0.3, 0.9])
def test_the_worst_selection_is_on_the_curve(width, epsilon):
    epsilon *= width
    t = (epsilon + width) / 2
    q = (np.exp(-t) - np.exp(-width)) / -np.expm1(-width)
    worst = np.array([q * np.exp(t), 1 - q * np.exp(t)]), np.array([q, 1 - q])
    assert np.ptp(np.log(worst[0] / worst[1])) == pytest.approx(width)
    stated = compute_divergences(np.array([epsilon]), width)[0]
    assert hockey_stick(*worst, epsilon) == pytest.approx(stated, rel=1e-9)


def test_a_curve_of_a_smaller_range_is_broken():
    broken = 0
    for seed in range(60):
        p, q, width = neighbouring_choices(seed)
        found = np.array([hockey_stick(p, q, epsilon) for epsilon in EPSILONS])
        broken += bool((found > compute_divergences(EPSILONS, 0.5 * width) + 1e-12).any())
    assert broken > 20


@pytest.mark.parametrize("seed", range(8))
def test_selections_after_each_other_tell_no_more_than_their_composition(seed):
    """All outcomes of three choices, the later of which follow from the earlier."""
    rng = np.random.default_rng(seed)
    scale, size = 2.0, 3
    first = rng.normal(0, 2, (2, size))
    first[1] = first[0] + rng.uniform(-1, 1, size)
    later = rng.normal(0, 2, (size, size, 2, size))
    later[:, :, 1] = later[:, :, 0] + rng.uniform(-1, 1, (size, size, size))
    both = [[], []]
    for a, b, c in itertools.product(range(size), repeat=3):
        for side in (0, 1):
            steps = chances(first[side], scale)[a]
            steps *= chances(later[a, 0, side], scale)[b] * chances(later[a, b, side], scale)[c]
            both[side].append(steps)
    p, q = map(np.array, both)
    items = (Spend("choices", scale, 3, mechanism=EXPONENTIAL),)
    for delta in (1e-3, 1e-2, 0.1):
        epsilon = compose_epsilon(items, delta)
        assert max(hockey_stick(p, q, epsilon), hockey_stick(q, p, epsilon)) <= delta


@pytest.mark.parametrize("sigma", [0.6, 3.0, 25.0])
@pytest.mark.parametrize("times", [1, 9, 80])
def test_two_accountants_agree_on_selections_and_histograms(sigma, times):
    spends = (
        Spend("choices", sigma, times, mechanism=EXPONENTIAL),
        Spend("counts", 3 * sigma, 5),
        Spend("more counts", 4 * sigma, 2),
    )
    stated, found = compose_epsilon(spends, 1e-6), recount_epsilon(spends, 1e-6)
    assert found == pytest.approx(stated, rel=1e-3)


def test_one_selection_costs_at_most_its_range():
    (item,) = (Spend("choice", 4.0, 1, mechanism=EXPONENTIAL),)
    assert 0.49 < compose_epsilon((item,), 1e-9) <= 0.505


@pytest.mark.parametrize(
    "neighbours",
    [NeighboringRelation(Adjacency.REPLACE_ONE), NeighboringRelation(max_rows=3)],
    ids=str,
)
def test_selections_are_for_rows_that_come_or_go(neighbours):
    spends = (Spend("choices", 4.0, 1, mechanism=EXPONENTIAL),)
    with pytest.raises(ParameterError, match="adjacency"):
        compose_epsilon(spends, 1e-6, neighbours)
    with pytest.raises(ParameterError, match="adjacency"):
        recount_epsilon(spends, 1e-6, neighbours)


@pytest.mark.parametrize("sigma", [1 / 705, 1 / 710, 1 / 800, 0.0011])
def test_a_selection_with_no_noise_is_never_counted_as_private(sigma):
    spends = (Spend("choice", sigma, 1, mechanism=EXPONENTIAL),)
    assert recount_epsilon(spends, 1e-6) > 0.9 * 2 / sigma


def test_selections_beyond_count_are_refused():
    """So many hide what else is among the spends behind the rounding of each."""
    spends = (Spend("votes", 1.0, 1), Spend("c", 1e9, 1_700_000, mechanism=EXPONENTIAL))
    with pytest.raises(ParameterError, match=r"times: .* expected at most"):
        recount_epsilon(spends, 1e-6)


@pytest.mark.parametrize("times", [500, 1250, 9000])
def test_two_accountants_agree_on_many_selections(times):
    sigma = (2 * times / 0.04) ** 0.5
    spends = (
        Spend("choices", sigma, times, mechanism=EXPONENTIAL),
        Spend("marginals", sigma, times),
    )
    found = recount_epsilon(spends, 1e-6)
    assert found == pytest.approx(compose_epsilon(spends, 1e-6), rel=5e-4)
