"""Regions: the same rows always, many classes, and a pattern that only several features tell."""

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier

from tabpe.encoding import Encoder
from tabpe_lab.datasets.simulated import CLASSES, SCM_BOUND, draw_regions_table, make_regions_schema


@pytest.fixture(scope="module")
def table():
    return draw_regions_table(25_000)


def parts(table):
    features = np.stack([table[f"x{place}"].to_numpy() for place in range(8)], axis=1)
    return features, table["y"].to_numpy()


def test_more_rows_begin_with_fewer(table):
    assert draw_regions_table(12_000).equals(table.slice(0, 12_000))


def test_rows_fit_the_schema_and_its_bounds_cut_off_little(table):
    Encoder(make_regions_schema()).encode(table)
    features, _ = parts(table)
    assert np.mean(np.abs(features) == SCM_BOUND) < 0.01


def test_every_class_has_rows(table):
    counts = np.bincount(parts(table)[1], minlength=CLASSES)
    assert len(counts) == CLASSES
    assert counts.min() > 0.01 * len(table)


@pytest.mark.parametrize(("telling", "low", "high"), [(1, 0.0, 0.35), (4, 0.85, 1.0)])
def test_the_class_is_told_by_four_features_together(table, telling, low, high):
    features, classes = parts(table)
    learner = KNeighborsClassifier(5).fit(features[:20_000, :telling], classes[:20_000])
    assert low < learner.score(features[20_000:, :telling], classes[20_000:]) < high
