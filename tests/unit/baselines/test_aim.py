"""AIM: what may be measured, how rounds become more precise, and what is learned."""

import itertools
import math
from importlib.util import find_spec

import numpy as np
import pyarrow as pa
import pytest

from adultlike import adult_like, two_way_error
from method_corners import CORNERS, survives
from tabpe import Boolean, Categorical, Schema
from tabpe.accounting import FakeNoise
from tabpe.baselines import Baseline, Independent
from tabpe.baselines import aim as module
from tabpe.baselines.aim import AIM, AIMRound, build_workload, filter_by_size
from tabpe.errors import CapacityError
from tabpe.verification import verify_plain

needs_mbi = pytest.mark.skipif(find_spec("mbi") is None, reason="mbi is not installed")

QUICK = AIM(max_iterations=200, round_iterations=30, inference="numpy")


def fitted(table, schema, method=QUICK, **given):
    settings = {"epsilon": 3.0, "delta": 1e-6, "random_state": 0, "bins": "uniform"}
    return Baseline(method, **(settings | given)).fit(table, schema=schema)


def test_it_learns_pairs():
    table, schema = adult_like()
    made = fitted(table, schema, most_bins=16).sample()
    apart = fitted(table, schema, Independent()).sample()
    assert two_way_error(table, made) < 0.5 * two_way_error(table, apart)


def test_marginals_of_three_see_what_pairs_do_not():
    bits = np.random.default_rng(0).random((3000, 2)) < 0.5
    table = pa.table({"a": bits[:, 0], "b": bits[:, 1], "odd": bits[:, 0] ^ bits[:, 1]})
    schema = Schema((Boolean("a"), Boolean("b"), Boolean("odd")), label="odd")
    right = {}
    for degree in (2, 3):
        method = AIM(degree=degree, round_iterations=30, inference="numpy")
        made = fitted(table, schema, method).sample().to_pandas()
        right[degree] = ((made["a"] ^ made["b"]) == made["odd"]).mean()
    assert right[2] < 0.6
    assert right[3] > 0.9


def test_its_certificate_holds_and_all_of_the_budget_is_spent():
    table, schema = adult_like(rows=1000)
    certificate = fitted(table, schema, epsilon=1.0, most_bins=8).certificate
    assert verify_plain(certificate.to_dict()).holds
    assert certificate.adaptive
    assert 0.999 < certificate.epsilon <= 1.0
    spends = {item.name: item for item in certificate.spends}
    assert spends["one-ways"].times == 7
    assert "not used" not in spends


def test_each_round_pays_a_choice_and_a_measurement():
    table, schema = adult_like(rows=1000)
    spends = {item.name: item for item in fitted(table, schema, most_bins=8).certificate.spends}
    levels = [name.split(", ")[1] for name in spends if name.startswith("choices")]
    for level in levels:
        choices, marginals = spends[f"choices, {level}"], spends[f"marginals, {level}"]
        assert choices.times == marginals.times
        assert marginals.loss == pytest.approx(9 * choices.loss)


def test_the_first_noise_would_last_for_sixteen_rounds_an_attribute():
    table, schema = adult_like(rows=1000)
    spends = fitted(table, schema, most_bins=8, public_rows=1000).certificate.spends
    ones = next(item for item in spends if item.name == "one-ways")
    limit = math.fsum(item.loss for item in spends)
    assert ones.loss / 7 == pytest.approx(0.9 * limit / (16 * 7), rel=1e-6)


@pytest.mark.parametrize("name", CORNERS)
def test_corners(name):
    survives(QUICK, name)


@pytest.mark.filterwarnings("ignore::tabpe.errors.NotPrivateWarning")
def test_the_same_seed_and_the_same_measurements_make_the_same_rows():
    table, schema = adult_like(rows=300)
    one, other = (
        fitted(table, schema, most_bins=4, noise=FakeNoise(seed=1)).sample().to_pylist()
        for _ in range(2)
    )
    assert one == other


@needs_mbi
def test_mbi_does_as_well():
    table = pa.table({"ward": ["a", "b"] * 500, "ill": [True, False] * 500})
    schema = Schema((Categorical("ward", ("a", "b")), Boolean("ill")), label="ill")
    made = fitted(table, schema, AIM(round_iterations=30)).sample().to_pandas()
    assert ((made["ward"] == "a") == made["ill"]).mean() > 0.9


def test_too_many_cells_are_refused(monkeypatch):
    table, schema = adult_like(rows=50)
    monkeypatch.setattr(module, "_MOST_CELLS", 1000)
    with pytest.raises(CapacityError, match=r"AIM: 28 marginals of .* cells in all, limit 1,000"):
        fitted(table, schema)


def test_a_tenth_of_a_round_chooses_and_the_rest_measures():
    now = AIMRound(loss=0.4)
    assert now.sigma**-2 == pytest.approx(0.36)
    assert now.choice_sigma**-2 == pytest.approx(0.04)


def test_rounds_go_on_while_they_learn():
    assert AIMRound(0.1, 2).plan_next(5.0, learned=True) == AIMRound(0.1, 2)


def test_noise_is_halved_where_nothing_was_learned():
    now = AIMRound(0.1)
    after = now.plan_next(5.0, learned=False)
    assert after.sigma == pytest.approx(now.sigma / 2)
    assert after.choice_sigma == pytest.approx(now.choice_sigma / 2)
    assert (after.choosing, after.measuring) == ("choices, level 1", "marginals, level 1")


@pytest.mark.parametrize(("left", "learned"), [(0.19, True), (0.79, False), (0.01, True)])
def test_the_last_round_takes_all_that_is_left(left, learned):
    after = AIMRound(0.1).plan_next(left, learned=learned)
    assert (after.loss, after.last) == (left, True)
    assert after.sigma**-2 + after.choice_sigma**-2 == pytest.approx(left)


@pytest.mark.parametrize(("left", "learned"), [(0.21, True), (0.81, False)])
def test_what_is_enough_for_two_is_not_taken_at_once(left, learned):
    assert not AIMRound(0.1).plan_next(left, learned=learned).last


def test_no_round_comes_after_the_last():
    assert AIMRound(0.1, last=True).plan_next(0.0, learned=False) is None


def test_items_of_the_last_round_have_names_of_their_own():
    now = AIMRound(0.1)
    assert now.plan_next(0.15, learned=True).measuring != now.measuring


def test_the_noise_that_is_expected():
    now = AIMRound(0.1)
    drawn = np.random.default_rng(0).normal(0, now.sigma, 200_000)
    assert now.compute_noise(200_000) == pytest.approx(np.abs(drawn).sum(), rel=0.01)


def by_definition(attributes: int, degree: int) -> dict[tuple[int, ...], float]:
    """Return the overlaps with all that matters, summed up, for all subsets of that."""
    matters = list(itertools.combinations(range(attributes), degree))
    parts = {
        part
        for one in matters
        for k in range(1, degree + 1)
        for part in itertools.combinations(one, k)
    }
    return {part: sum(len(set(part) & set(one)) for one in matters) for part in parts}


@pytest.mark.parametrize(("attributes", "degree"), [(2, 2), (5, 2), (6, 3), (5, 5)])
def test_weights_are_overlaps_with_what_matters(attributes, degree):
    expected = by_definition(attributes, degree)
    most = max(expected.values())
    found = build_workload(attributes, degree)
    assert found.keys() == expected.keys()
    for clique, weight in found.items():
        assert weight == pytest.approx(expected[clique] / most)


def test_there_are_no_marginals_of_more_attributes_than_there_are():
    assert build_workload(2, 5) == {(0,): 0.5, (1,): 0.5, (0, 1): 1.0}


def cells(count: int) -> float:
    return count * 8 / 2**20


def test_candidates_are_those_with_which_the_model_is_small_enough():
    sizes, pairs = (10, 20, 30), [(0, 1), (0, 2), (1, 2)]
    alone = [(0,), (1,), (2,)]
    assert filter_by_size(sizes, pairs, alone, cells(230)) == [(0, 1)]
    assert filter_by_size(sizes, pairs, alone, cells(320)) == [(0, 1), (0, 2)]
    assert filter_by_size(sizes, pairs, alone, cells(229)) == []


def test_candidates_that_would_close_a_ring_count_as_its_chord():
    ring = [(0, 1), (1, 2)]
    assert filter_by_size((10, 10, 10), [(0, 2)], ring, cells(999)) == []
    assert filter_by_size((10, 10, 10), [(0, 2)], ring, cells(1000)) == [(0, 2)]


def test_what_was_measured_may_be_measured_again_however_large():
    assert filter_by_size((100, 100), [(0,), (0, 1)], [(0, 1)], 0.0) == [(0,), (0, 1)]
