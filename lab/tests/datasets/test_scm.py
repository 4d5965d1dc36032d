"""Structural causal models: the same rows always, features that hang together, and a depth gap."""

import numpy as np
import pytest

from tabpe.evaluation.metrics.correlation_order import measure_correlation_order
from tabpe.evaluation.table_arrays import build_table_arrays
from tabpe_lab.datasets.simulated import (
    FEATURES,
    PRIORS,
    SCM_BOUND,
    draw_scm_table,
    make_scm_schema,
)

each_prior = pytest.mark.parametrize("prior", PRIORS)


def features_of(table):
    return np.stack([table[f"x{place}"].to_numpy() for place in range(FEATURES)])


@each_prior
def test_rows_are_the_same_every_time_and_more_begin_with_fewer(prior):
    table = draw_scm_table(prior, 12_000)
    assert table.num_rows == 12_000
    assert table.equals(draw_scm_table(prior, 12_000))
    assert draw_scm_table(prior, 25_000).slice(0, 12_000).equals(table)


@each_prior
def test_features_are_within_public_bounds_which_cut_off_little(prior):
    features = features_of(draw_scm_table(prior))
    assert np.abs(features).max() <= SCM_BOUND
    assert np.mean(np.abs(features) == SCM_BOUND) < 0.01
    assert np.all(features.std(axis=1) > 0.5)


@each_prior
def test_features_hang_together_and_classes_are_even(prior):
    table = draw_scm_table(prior)
    correlation = np.corrcoef(features_of(table)) - np.eye(FEATURES)
    assert np.abs(correlation).max() > 0.2
    assert 0.48 < np.mean(table["y"].to_numpy()) < 0.52


@pytest.mark.parametrize(
    ("prior", "least_gap", "accuracy"),
    [("tree", 0.06, (0.74, 0.84)), ("nn", 0.02, (0.93, 0.98)), ("rff", 0.06, (0.72, 0.84))],
)
def test_deep_trees_see_what_shallow_ones_do_not(prior, least_gap, accuracy):
    table = draw_scm_table(prior, 30_000)
    train, test = build_table_arrays(
        make_scm_schema(), [table.slice(0, 20_000), table.slice(20_000)]
    )
    found = measure_correlation_order(train, test, depths=(2, 6), jobs=1)
    assert found.gap > least_gap + found.margin
    assert accuracy[0] < max(found.accuracy) < accuracy[1]
