"""Independent: one-ways that fit, and nothing between attributes."""

import numpy as np
import pytest

from adultlike import adult_like
from method_corners import CORNERS
from tabpe.accounting import FakeNoise
from tabpe.baselines import Baseline, Independent
from tabpe.baselines.independent import draw_cells
from tabpe.verification import verify_plain

RNG = np.random.default_rng(0)


def fitted(table, schema, **given):
    settings = {"epsilon": 3.0, "delta": 1e-6, "random_state": 0}
    return Baseline(Independent(), **(settings | given)).fit(table, schema=schema)


def test_it_learns_each_attribute():
    table, schema = adult_like()
    made = fitted(table, schema).sample()
    for name in ("education", "family", "rich"):
        one, other = (data[name].to_numpy() for data in (table, made))
        for value in np.unique(one):
            assert np.mean(other == value) == pytest.approx(np.mean(one == value), abs=0.03)
    assert np.mean(made["hours"]) == pytest.approx(np.mean(table["hours"]), abs=2)


def test_it_learns_nothing_between_attributes():
    table, schema = adult_like()
    made = fitted(table, schema, n_samples=20_000).sample()
    age, education = made["age"].to_numpy(), made["education"].to_numpy()
    means = [age[education == value].mean() for value in ("school", "college", "bachelor")]
    assert np.ptp(means) < 2


def test_its_certificate_holds_and_lists_what_was_measured():
    table, schema = adult_like(rows=1000)
    certificate = fitted(table, schema).certificate
    assert verify_plain(certificate.to_dict()).holds
    assert {item.name: item.times for item in certificate.spends} == {
        "row count": 1,
        "bins": 2,
        "one-ways": 7,
    }


@pytest.mark.parametrize("bins", ["privtree", "quantile", "uniform"])
@pytest.mark.parametrize("name", CORNERS)
def test_corners(name, bins):
    table, schema = CORNERS[name]
    made = fitted(table, schema, bins=bins, n_samples=30).sample()
    assert (made.num_rows, made.column_names) == (30, table.column_names)


@pytest.mark.filterwarnings("ignore::tabpe.errors.NotPrivateWarning")
def test_the_same_seed_and_the_same_measurements_make_the_same_rows():
    table, schema = adult_like(rows=200)
    one, other = (
        fitted(table, schema, noise=FakeNoise(seed=1)).sample().to_pylist() for _ in range(2)
    )
    assert one == other


def test_cells_are_drawn_in_proportion():
    cells = draw_cells(np.array([1.0, 3.0, -9.0]), 10_000, RNG)
    assert np.bincount(cells, minlength=3) / 10_000 == pytest.approx([0.25, 0.75, 0], abs=0.03)


def test_without_counts_cells_are_drawn_uniformly():
    cells = draw_cells(np.array([-1.0, 0.0]), 10_000, RNG)
    assert np.mean(cells) == pytest.approx(0.5, abs=0.03)
