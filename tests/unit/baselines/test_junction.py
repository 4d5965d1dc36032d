"""Marginals of a forest of cliques and rows drawn from it."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tabpe.baselines.junction_tree import CliqueForest

SIZES = (3, 2, 4, 2, 3)
CLIQUES = ((0, 1), (1, 2, 3), (4,))
PARENTS = (None, 0, None)


def joint() -> np.ndarray:
    """Return the shares of all cells of five attributes that are a model of `CLIQUES`."""
    rng = np.random.default_rng(1)
    first = rng.dirichlet(np.ones(6)).reshape(3, 2)
    given = rng.dirichlet(np.ones(8), size=2).reshape(2, 4, 2)
    apart = rng.dirichlet(np.ones(3))
    return np.einsum("ab,bcd,e->abcde", first, given, apart)


def projected(whole: np.ndarray, clique: tuple[int, ...]) -> np.ndarray:
    return whole.sum(axis=tuple(a for a in range(whole.ndim) if a not in clique))


def forest() -> CliqueForest:
    return CliqueForest(SIZES, CLIQUES, PARENTS, tuple(projected(joint(), c) for c in CLIQUES))


ALL = [c for size in range(6) for c in itertools.combinations(range(5), size)]


@pytest.mark.parametrize("clique", ALL, ids=str)
def test_every_marginal_is_that_of_the_whole(clique):
    found = forest().compute_marginal(clique)
    np.testing.assert_allclose(found, projected(joint(), clique), atol=1e-12)


def test_marginals_of_far_ends_of_a_chain():
    rng = np.random.default_rng(2)
    steps = [rng.dirichlet(np.ones(3), size=3) for _ in range(5)]
    start = rng.dirichlet(np.ones(3))
    pairs, now = [], start
    for step in steps:
        pairs.append(now[:, None] * step)
        now = now @ step
    chain = CliqueForest(
        (3,) * 6, tuple((i, i + 1) for i in range(5)), (None, 0, 1, 2, 3), tuple(pairs)
    )
    np.testing.assert_allclose(
        chain.compute_marginal((0, 5)), start[:, None] * np.linalg.multi_dot(steps), atol=1e-12
    )


def test_cells_without_a_share_are_no_division_by_zero():
    shares = (np.array([[0.5, 0.0], [0.5, 0.0]]), np.array([[0.2, 0.8], [0.0, 0.0]]))
    found = CliqueForest((2, 2, 2), ((0, 1), (1, 2)), (None, 0), shares).compute_marginal((0, 2))
    np.testing.assert_allclose(found, [[0.1, 0.4], [0.1, 0.4]])


def test_rows_have_the_marginals_of_the_cliques_but_for_rounding():
    whole, codes = forest(), forest().sample(20_000, np.random.default_rng(0))
    for clique in CLIQUES:
        cells = np.ravel_multi_index(codes[:, clique].T, [SIZES[a] for a in clique])
        counts = np.bincount(cells, minlength=np.prod([SIZES[a] for a in clique]))
        expected = 20_000 * whole.compute_marginal(clique).ravel()
        # Each group of the parent rounds by itself: a few rows, where independent draws
        # would be off by tens.
        assert np.abs(counts - expected).max() < 3


def test_what_is_no_clique_is_independent_given_what_is_shared():
    codes = forest().sample(20_000, np.random.default_rng(0))
    counts = np.zeros((3, 3))
    np.add.at(counts, (codes[:, 0], codes[:, 4]), 1.0)
    assert np.abs(counts / 20_000 - forest().compute_marginal((0, 4))).max() < 0.02


@pytest.mark.parametrize("size", [0, 1, 2])
def test_few_rows(size):
    codes = forest().sample(size, np.random.default_rng(0))
    assert codes.shape == (size, 5)
    assert (codes < np.array(SIZES)).all()


def test_the_same_randomness_gives_the_same_rows():
    draws = [forest().sample(50, np.random.default_rng(7)) for _ in range(2)]
    np.testing.assert_array_equal(*draws)


def test_a_group_that_has_no_share_is_spread_evenly():
    shares = (np.array([1.0, 0.0]), np.zeros((2, 4)))
    codes = CliqueForest((2, 4), ((0,), (0, 1)), (None, 0), shares).sample(
        8, np.random.default_rng(0)
    )
    assert np.bincount(codes[:, 1], minlength=4).tolist() == [2, 2, 2, 2]
