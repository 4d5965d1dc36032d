"""The graph of attributes keeps its limits, and marginals are chosen inside of its cliques."""

import itertools
import math

import networkx as nx
import numpy as np
import pytest

from tabpe.baselines.privmrf import (
    ModelLimits,
    build_attribute_graph,
    choose_first_marginals,
    is_inside,
    keep_maximal,
    triangulate_graph,
    weigh_candidates,
)

WIDE = ModelLimits(math.inf, math.inf, 0.0)


def rng(seed=0):
    return np.random.default_rng(seed)


def cells(clique, sizes):
    return math.prod(sizes[place] for place in clique)


def random_dependence(attributes, seed=0):
    pairs = itertools.combinations(range(attributes), 2)
    return {pair: float(value) for pair, value in zip(pairs, rng(seed).random(500), strict=False)}


@pytest.mark.parametrize("seed", range(10))
def test_a_triangulated_graph_is_chordal_and_holds_all_edges(seed):
    chance = rng(seed).uniform(0.1, 0.6)
    graph = nx.gnp_random_graph(10, chance, seed=seed)
    edges = [(min(edge), max(edge)) for edge in graph.edges]
    cliques = triangulate_graph(edges, [2 + place % 3 for place in range(10)])
    filled = nx.Graph()
    filled.add_nodes_from(range(10))
    for clique in cliques:
        filled.add_edges_from(itertools.combinations(clique, 2))
    assert nx.is_chordal(filled)
    assert set(map(frozenset, edges)) <= set(map(frozenset, filled.edges))
    assert sorted(tuple(sorted(clique)) for clique in nx.find_cliques(filled)) == cliques


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("largest", "whole"), [(100, 10**9), (5000, 10**9), (10**9, 3000)])
def test_the_graph_keeps_its_limits(seed, largest, whole):
    sizes = [int(size) for size in rng(seed).integers(2, 20, 9)]
    cliques = build_attribute_graph(
        random_dependence(9, seed), sizes, ModelLimits(largest, whole, 1e-8)
    )
    assert max(cells(clique, sizes) for clique in cliques if len(clique) > 1) <= largest
    assert sum(cells(clique, sizes) for clique in cliques) <= whole
    assert set(itertools.chain.from_iterable(cliques)) == set(range(9))


def test_without_limits_all_is_joined():
    assert build_attribute_graph(random_dependence(6), [3] * 6, WIDE) == [tuple(range(6))]


def test_attributes_that_do_not_depend_on_each_other_stay_apart():
    dependence = {(0, 1): 0.3, (0, 2): -0.01, (1, 2): 0.0}
    assert build_attribute_graph(dependence, [4, 4, 4], WIDE) == [(0, 1), (2,)]


def test_the_strongest_come_first():
    strong = {(0, 1): 0.1, (0, 2): 0.9, (1, 2): 0.5}
    assert build_attribute_graph(strong, [9, 9, 9], ModelLimits(81, math.inf, 0.0)) == [
        (0, 2),
        (1, 2),
    ]


def test_a_clique_must_be_worth_its_cells():
    strong = {(0, 1): 0.5, (1, 2): 0.5, (0, 2): 0.01}
    sizes = [50, 50, 50]
    assert build_attribute_graph(strong, sizes, ModelLimits(1e7, 1e7, 1e-8)) == [(0, 1, 2)]
    assert build_attribute_graph(strong, sizes, ModelLimits(1e7, 1e7, 1e-6)) == [(0, 1), (1, 2)]


def test_first_marginals_keep_to_cliques_cells_and_degree():
    sizes = [2, 3, 4, 5, 6, 2, 3]
    dependence = random_dependence(7)
    cliques = build_attribute_graph(dependence, sizes, ModelLimits(400, 5000, 1e-8))
    for degree in (2, 3, 4):
        found = choose_first_marginals(
            cliques, dependence, sizes, most_cells=60, degree=degree, rng=rng()
        )
        assert set(itertools.chain.from_iterable(found)) == set(range(7))
        assert all(is_inside(clique, cliques) for clique in found)
        assert all(cells(clique, sizes) <= 60 for clique in found if len(clique) > 1)
        assert max(len(clique) for clique in found) <= degree
        assert len(found) <= 7


def test_the_parents_are_those_that_say_most():
    dependence = {(0, 1): 0.1, (0, 2): 0.8, (1, 2): 0.1}
    for seed in range(6):
        found = choose_first_marginals(
            [(0, 1, 2)], dependence, [4, 4, 4], most_cells=20, degree=3, rng=rng(seed)
        )
        assert (0, 2) in found


def test_an_attribute_too_large_for_any_pair_is_measured_by_itself():
    found = choose_first_marginals(
        [(0, 1)], {(0, 1): 0.9}, [500, 2], most_cells=100, degree=3, rng=rng()
    )
    assert found == [(0,), (1,)]


def test_candidates_are_all_small_parts_of_cliques():
    sizes = [2, 3, 4, 200]
    found = weigh_candidates([(0, 1, 2), (2, 3)], sizes, most_cells=24, degree=3)
    assert set(found) == {(0,), (1,), (2,), (3,), (0, 1), (0, 2), (1, 2), (0, 1, 2)}
    assert max(map(len, weigh_candidates([(0, 1, 2)], sizes, most_cells=99, degree=2))) == 2


def test_a_clique_weighs_its_attributes_squared():
    found = weigh_candidates([tuple(range(6)), (6, 7)], [2] * 8, most_cells=10**6, degree=4)
    large = sum(weight for clique, weight in found.items() if clique[0] < 6)
    small = sum(weight for clique, weight in found.items() if clique[0] >= 6)
    assert (large, small) == pytest.approx((36, 4))


def test_no_clique_stays_that_is_part_of_another():
    assert keep_maximal([(1,), (0, 1), (0, 1), (2,)]) == [(0, 1), (2,)]
