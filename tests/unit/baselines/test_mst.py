"""MST: a tree of pairs, over cells that the noise does not hide."""

import numpy as np
import pyarrow as pa
import pytest

from adultlike import adult_like, two_way_error
from method_corners import CORNERS, survives
from tabpe import Boolean, Categorical, Schema
from tabpe.accounting import FakeNoise
from tabpe.baselines import Baseline, Independent
from tabpe.baselines.mst import MST, MergedAxis, merge_cells, merge_counts, unmerge_codes
from tabpe.encoding import Records
from tabpe.encoding.marginals import ListAxis
from tabpe.verification import verify_plain

RNG = np.random.default_rng(0)


def fitted(table, schema, method=None, **given):
    settings = {"epsilon": 3.0, "delta": 1e-6, "random_state": 0, "bins": "uniform"}
    method = method or MST(iterations=200, inference="numpy")
    return Baseline(method, **(settings | given)).fit(table, schema=schema)


def test_it_learns_pairs():
    table, schema = adult_like()
    made = fitted(table, schema).sample()
    apart = fitted(table, schema, Independent()).sample()
    assert two_way_error(table, made) < 0.5 * two_way_error(table, apart)


def test_its_certificate_holds_and_lists_what_was_measured():
    table, schema = adult_like(rows=1000)
    certificate = fitted(table, schema, epsilon=1.0).certificate
    assert verify_plain(certificate.to_dict()).holds
    assert 0.99 < certificate.epsilon <= 1.0
    assert {item.name: item.times for item in certificate.spends} == {
        "row count": 1,
        "one-ways": 7,
        "choices": 6,
        "pairs": 6,
    }


def test_a_third_of_the_budget_goes_to_each_step():
    parts = MST().parts(9)
    assert sum(part.share for part in parts) == pytest.approx(1)
    assert [(part.share, part.times) for part in parts] == [(1 / 3, n) for n in (9, 8, 8)]


@pytest.mark.filterwarnings("ignore::tabpe.errors.NotPrivateWarning")
def test_without_noise_the_tree_is_that_of_the_strongest_pairs():
    ward = np.arange(4000) % 4
    table = pa.table({name: [str(v) for v in ward] for name in "abc"} | {"d": [True, False] * 2000})
    schema = Schema((*(Categorical(n, ("0", "1", "2", "3")) for n in "abc"), Boolean("d")))
    made = fitted(table, schema, noise=FakeNoise(strength=0), public_rows=4000).sample().to_pandas()
    assert (made["a"] == made["b"]).mean() > 0.95
    assert (made["b"] == made["c"]).mean() > 0.95


@pytest.mark.parametrize("name", CORNERS)
def test_corners(name):
    survives(MST(iterations=200, inference="numpy"), name)


@pytest.mark.filterwarnings("ignore::tabpe.errors.NotPrivateWarning")
def test_the_same_seed_and_the_same_measurements_make_the_same_rows():
    table, schema = adult_like(rows=500)
    one, other = (
        fitted(table, schema, noise=FakeNoise(seed=1)).sample().to_pylist() for _ in range(2)
    )
    assert one == other


def test_cells_below_the_noise_become_one():
    assert merge_cells(np.array([5.0, 50.0, -3.0, 30.0]), 30.0).tolist() == [2, 0, 2, 1]
    assert merge_cells(np.array([50.0, 30.0]), 30.0).tolist() == [0, 1]
    assert merge_cells(np.array([1.0, 3.0]), 30.0).tolist() == [0, 0]


def test_the_noise_of_merged_cells_adds_up():
    merged = merge_counts((4,), np.array([5.0, 50.0, -3.0]), np.array([1, 0, 1]), 3.0)
    np.testing.assert_allclose(merged.counts, [50, 2])
    np.testing.assert_allclose(merged.sigma, [3, 3 * 2**0.5])


def test_merged_cells_come_back_alike():
    codes = unmerge_codes(np.array([[1]] * 9000 + [[0]] * 10), [np.array([1, 0, 1, 1])], RNG)[:, 0]
    assert set(codes[9000:]) == {1}
    assert np.bincount(codes[:9000], minlength=4)[[0, 2, 3]] == pytest.approx(3000, abs=300)


def test_the_merged_cell_of_a_row_is_its_own():
    axis = MergedAxis(ListAxis("ward", 0, (0, 1, 2)), (1, 0, 1))
    rows = Records(np.zeros((4, 0)), np.array([[0], [1], [2], [1]], dtype=np.uint8))
    assert (axis.name, axis.size) == ("ward", 2)
    assert axis.find_cells(rows, np.zeros(4, dtype=np.int64)).tolist() == [1, 0, 1, 0]
