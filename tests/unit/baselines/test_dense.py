"""Which pairs are worth their noise, how the loss is split, which pairs become one table."""

import itertools
import math

import numpy as np
import pytest
from scipy import optimize

from tabpe.baselines import privsyn
from tabpe.baselines.privsyn import choose_pairs, divide_loss, estimate_noise, merge_pairs


def noise(cells, losses):
    return float(np.sum(np.asarray(cells) * np.sqrt(2 / (math.pi * np.asarray(losses)))))


def test_the_split_has_the_least_noise_of_all():
    cells, loss = [4, 30, 200, 4000], 0.05

    def noise_of(logits):
        return noise(cells, loss * np.exp(logits) / np.exp(logits).sum())

    best = optimize.minimize(noise_of, np.zeros(4), method="BFGS")
    assert noise(cells, divide_loss(cells, loss)) == pytest.approx(best.fun, rel=1e-6)
    assert best.fun < 0.9 * noise(cells, [loss / 4] * 4)


def test_the_split_spends_the_loss():
    assert divide_loss([3, 1000, 17], 0.7).sum() == pytest.approx(0.7)


def test_noise_is_predicted_as_it_will_be():
    cells, loss = [4, 30, 200], 0.05
    assert estimate_noise(cells, loss) == pytest.approx(noise(cells, divide_loss(cells, loss)))


def test_greedy_choice_is_close_to_the_best_of_all():
    rng = np.random.default_rng(0)
    cells = rng.integers(4, 200, 10)
    dependence = rng.exponential(500, 10)

    def error(chosen):
        left = dependence.sum() - dependence[list(chosen)].sum()
        return left + (estimate_noise(cells[list(chosen)], 0.1) if chosen else 0.0)

    best = min(error(chosen) for k in range(11) for chosen in itertools.combinations(range(10), k))
    assert error(choose_pairs(dependence, cells, 0.1)) <= 1.02 * best


@pytest.mark.parametrize(("loss", "chosen"), [(1e9, 4), (1e-9, 0)])
def test_a_large_budget_measures_all_and_a_small_one_nothing(loss, chosen):
    found = choose_pairs(np.array([50.0, 900.0, 3.0, 70.0]), [10, 20, 30, 40], loss)
    assert len(found) == chosen


def test_independent_pairs_are_never_measured():
    assert choose_pairs(np.array([0.0, -20.0]), [4, 4], 1e9) == []


def test_without_pairs_nothing_is_chosen():
    assert choose_pairs(np.array([]), [], 1.0) == []


def test_merged_cliques_hold_every_pair_and_nothing_else():
    rng = np.random.default_rng(1)
    every = list(itertools.combinations(range(8), 2))
    pairs = [pair for pair in every if rng.random() < 0.5]
    cliques = merge_pairs(pairs, [4] * 8, most_cells=300)
    held = {pair for clique in cliques for pair in itertools.combinations(clique, 2)}
    assert held == set(pairs)
    assert all(math.prod([4] * len(clique)) <= 300 for clique in cliques if len(clique) > 2)


def test_a_large_triangle_stays_three_pairs():
    triangle = [(0, 1), (0, 2), (1, 2)]
    assert merge_pairs(triangle, [10, 10, 10], most_cells=999) == triangle
    assert merge_pairs(triangle, [10, 10, 10], most_cells=1000) == [(0, 1, 2)]


def test_cliques_with_much_in_common_are_not_both_taken():
    pairs = [pair for pair in itertools.combinations(range(5), 2) if pair != (3, 4)]
    cliques = merge_pairs(pairs, [2] * 5, most_cells=100)
    assert (0, 1, 2, 3) in cliques
    assert (0, 1, 2, 4) not in cliques


def test_a_dense_graph_of_many_attributes_does_not_explode(monkeypatch):
    monkeypatch.setattr(privsyn, "_MOST_CLIQUES", 1000)
    pairs = list(itertools.combinations(range(30), 2))
    cliques = merge_pairs(pairs, [2] * 30, most_cells=10**9)
    held = {pair for clique in cliques for pair in itertools.combinations(clique, 2)}
    assert held == set(pairs)


def test_with_a_threshold_the_first_pair_that_gains_less_is_the_last():
    dependence, cells = np.array([900.0, 700.0, 500.0, 400.0]), [16] * 4
    every = choose_pairs(dependence, cells, loss=1.0)
    assert every == [0, 1, 2, 3]
    assert choose_pairs(dependence, cells, loss=1.0, least_gain=600.0) == [0, 1, 2]
    assert choose_pairs(dependence, cells, loss=1.0, least_gain=20_000.0) == [0]
    assert choose_pairs(np.array([1.0]), [1000], loss=1e-3, least_gain=20_000.0) == []
