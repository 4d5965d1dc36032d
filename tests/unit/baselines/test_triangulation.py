"""Junction trees: all cliques are covered, and what cliques share goes along the edges."""

import itertools
from importlib.util import find_spec

import numpy as np
import pytest

from tabpe.baselines.junction_tree import build_junction_tree, count_junction_cells

needs_mbi = pytest.mark.skipif(find_spec("mbi") is None, reason="mbi is not installed")

SIZES = (16, 9, 16, 12, 9, 7, 15, 6, 5, 2, 3, 2)


def some_cliques(seed):
    rng = np.random.default_rng(seed)
    many = [c for k in (1, 2, 3) for c in itertools.combinations(range(len(SIZES)), k)]
    return [many[place] for place in rng.permutation(len(many))[: rng.integers(30)]]


@pytest.mark.parametrize("seed", range(30))
def test_it_is_a_junction_tree(seed):
    asked = some_cliques(seed)
    cliques, parents = build_junction_tree(SIZES, asked)
    for one in [*asked, *((a,) for a in range(len(SIZES)))]:
        assert any(set(one) <= set(clique) for clique in cliques)
    for one, other in itertools.permutations(cliques, 2):
        assert not set(one) <= set(other)
    for place, (clique, parent) in enumerate(zip(cliques, parents, strict=True)):
        assert clique == tuple(sorted(clique))
        earlier = set().union(*cliques[:place])
        assert parent is None or parent < place
        assert set(clique) & earlier == (
            set() if parent is None else set(clique) & set(cliques[parent])
        )


@needs_mbi
def test_models_are_not_larger_than_those_of_mbi():
    from tabpe.baselines.graphical_model import load_mbi

    with load_mbi() as mbi:
        domain = mbi.Domain(range(len(SIZES)), SIZES)
        theirs = [
            mbi.junction_tree.hypothetical_model_size(domain, some_cliques(seed)) * 2**20 / 8
            for seed in range(30)
        ]
    ours = [count_junction_cells(SIZES, some_cliques(seed)) for seed in range(30)]
    assert np.mean(np.log(ours)) <= np.mean(np.log(theirs)) + 0.02
    assert np.median(np.array(ours) / theirs) == pytest.approx(1, abs=0.05)


def test_a_graph_that_needs_no_chord_gets_none():
    chain = [(a, a + 1) for a in range(11)]
    assert set(build_junction_tree(SIZES, chain)[0]) == set(chain)
    # The star has a small centre, which a rule of small cliques alone would take out first.
    star = [(0, a) for a in range(1, 6)]
    assert set(build_junction_tree((2, 2, 9, 9, 9, 9), star)[0]) == set(star)


def test_cells_are_those_of_the_tree():
    for seed in range(5):
        cliques, _ = build_junction_tree(SIZES, some_cliques(seed))
        cells = sum(int(np.prod([SIZES[a] for a in clique])) for clique in cliques)
        assert count_junction_cells(SIZES, some_cliques(seed)) == cells


def test_no_attributes():
    assert build_junction_tree((), []) == ((), ())
