"""Models of noisy marginals: what they say about those and about others."""

from __future__ import annotations

import itertools
from importlib.util import find_spec

import numpy as np
import pytest

from tabpe.baselines.graphical_model import (
    INFERENCE,
    GraphicalModel,
    MarginalMeasurement,
    combine_measurements,
    compute_model_megabytes,
    fit_model,
    load_mbi,
)
from tabpe.errors import ParameterError

needs_mbi = pytest.mark.skipif(find_spec("mbi") is None, reason="mbi is not installed")

SIZES = (3, 2, 4, 2)
ROWS = 1000.0


def whole() -> np.ndarray:
    return ROWS * np.random.default_rng(3).dirichlet(np.ones(48)).reshape(SIZES)


def exact(*cliques: tuple[int, ...], sigma: float = 1.0) -> list[MarginalMeasurement]:
    return [
        MarginalMeasurement(c, whole().sum(axis=tuple(a for a in range(4) if a not in c)), sigma)
        for c in cliques
    ]


def fitted(
    measured: list[MarginalMeasurement], iterations: int = 2000, start: GraphicalModel | None = None
) -> GraphicalModel:
    return fit_model(
        SIZES, measured, rows=ROWS, iterations=iterations, start=start, inference="numpy"
    )


def test_a_model_has_the_marginals_that_were_measured():
    measured = exact((0, 1), (1, 2), (2, 3), (0, 3))
    model = fitted(measured)
    for one in measured:
        np.testing.assert_allclose(model.compute_marginal(one.clique), one.counts, atol=0.5)


def test_it_is_the_model_of_largest_entropy():
    (a, b) = exact((0, 1), (1, 2))
    model = fitted([a, b])
    middle = a.counts.sum(axis=0)
    expected = np.einsum("ab,bc->abc", a.counts, b.counts / middle[:, None])
    np.testing.assert_allclose(model.compute_marginal((0, 1, 2)), expected, atol=0.5)


def noisy() -> list[MarginalMeasurement]:
    rng = np.random.default_rng(0)
    return [
        MarginalMeasurement(m.clique, m.counts + rng.normal(0, 20, m.counts.shape), 20.0)
        for m in exact((0, 1), (1, 2), (2, 3), (0, 3))
    ]


@needs_mbi
def test_it_agrees_with_the_estimator_of_mbi():
    with load_mbi() as mbi:
        known = [mbi.LinearMeasurement(m.counts.ravel(), m.clique, m.sigma) for m in noisy()]
        theirs = mbi.estimation.MirrorDescent().estimate(
            mbi.Domain(range(4), SIZES), known, known_total=ROWS, iters=3000
        )
        expected = {c: np.asarray(theirs.project(c).values) for c in ((0, 1), (0, 2), (1, 3))}
    ours = fitted(noisy(), iterations=3000)
    for clique, counts in expected.items():
        np.testing.assert_allclose(ours.compute_marginal(clique), counts, atol=1.0)


@pytest.mark.parametrize("iterations", [1, 7, 60])
@needs_mbi
def test_both_kinds_of_inference_take_the_same_steps(iterations):
    uneven = MarginalMeasurement((3,), np.array([700.0, 300.0]), np.array([5.0, 50.0]))
    models = [
        fit_model(SIZES, [*noisy(), uneven], rows=ROWS, iterations=iterations, inference=kind)
        for kind in INFERENCE
    ]
    for clique in ((0, 1), (1, 2), (0, 2), (3,)):
        first, second = (model.compute_marginal(clique) for model in models)
        np.testing.assert_allclose(first, second, rtol=1e-6)


def test_an_inference_that_there_is_not():
    with pytest.raises(ParameterError, match="inference='jax'"):
        fit_model(SIZES, noisy(), rows=ROWS, iterations=1, inference="jax")


def test_a_precise_measurement_counts_more_than_a_vague_one():
    counts = np.array([600.0, 200.0, 200.0])
    vague, precise = (
        MarginalMeasurement((0,), counts[::-1], 30.0),
        MarginalMeasurement((0,), counts, 1.0),
    )
    found = fitted([vague, precise], 200).compute_marginal((0,))
    assert np.abs(found - counts).max() < 2


def test_a_start_is_where_it_was_left():
    first = fitted(exact((0, 1)), 500)
    later = fitted(exact((0, 1), (1, 2)), 1, first)
    np.testing.assert_allclose(
        later.compute_marginal((0, 1)), first.compute_marginal((0, 1)), atol=0.5
    )


def test_attributes_of_which_nothing_is_known_are_uniform():
    model = fitted(exact((0,)), 100)
    np.testing.assert_allclose(model.compute_marginal((2,)), ROWS / 4)


def test_one_attribute_with_one_cell():
    model = fit_model(
        (1,),
        [MarginalMeasurement((0,), np.array([9.0]), 2.0)],
        rows=10,
        iterations=5,
        inference="numpy",
    )
    np.testing.assert_allclose(model.compute_marginal((0,)), [10.0])
    assert model.sample(3, np.random.default_rng(0)).tolist() == [[0]] * 3


@needs_mbi
def test_single_precision_is_left_as_it_was():
    import jax

    before = jax.config.jax_enable_x64
    fit_model((2,), [MarginalMeasurement((0,), np.array([1.0, 2.0]), 1.0)], rows=3, iterations=2)
    assert jax.config.jax_enable_x64 == before


def test_combined_keeps_cliques_apart():
    found = combine_measurements([*exact((0, 1), sigma=3.0), *exact((0,))])
    assert [(m.clique, m.sigma) for m in found] == [((0, 1), 3.0), ((0,), 1.0)]


def cells(*cliques: tuple[int, ...]) -> float:
    return compute_model_megabytes((10, 10, 10, 10), cliques) * 2**20 / 8


def test_the_size_of_a_model_is_that_of_its_junction_tree():
    assert cells() == 40
    assert cells((0, 1)) == 120
    assert cells((0, 1), (1, 2), (2, 3)) == 300
    # A ring needs a chord.
    assert cells((0, 1), (1, 2), (2, 3), (0, 3)) == 2000
    assert cells(*itertools.combinations(range(4), 2)) == 10_000
