"""PrivGSD: a search that follows its error, and rows with the marginals that were measured."""

import itertools
import math

import numpy as np
import pytest

from adultlike import adult_like, two_way_error
from method_corners import CORNERS, fitted
from tabpe.accounting import FakeNoise
from tabpe.baselines import Independent
from tabpe.baselines.domain import Domain
from tabpe.baselines.privgsd import HIERARCHY, MARGINALS, GeneticSearch, PrivGSD
from tabpe.encoding.marginals import ListAxis, NumberAxis
from tabpe.errors import CapacityError, ParameterError
from tabpe.verification import verify_plain

QUICK = PrivGSD(generations=400, table_rows=200)
SIZES = 3, 1, 4, 2
DOMAIN = Domain(
    tuple(ListAxis(f"c{place}", place, tuple(range(size))) for place, size in enumerate(SIZES)),
    label=None,
)


def target(degree=2, rows=300, seed=0):
    """A table in which attributes depend on each other, and its marginals."""
    rng = np.random.default_rng(seed)
    one = rng.integers(0, 3, rows)
    codes = np.stack([one, 0 * one, one + rng.integers(0, 2, rows), one // 2], axis=1)
    cliques = list(itertools.combinations(range(4), degree))
    return cliques, [DOMAIN.count_rows(codes, clique) for clique in cliques]


def search(degree=2, rows=300, noise=0.0, seed=0):
    cliques, wanted = target(degree, rows)
    rng = np.random.default_rng(seed)
    noisy = [counts + noise * rng.normal(size=counts.shape) for counts in wanted]
    return GeneticSearch(DOMAIN, cliques, noisy, rows, rng), cliques, noisy


def error_of(codes, cliques, wanted):
    return sum(
        ((DOMAIN.count_rows(codes, clique) - counts) ** 2).sum()
        for clique, counts in zip(cliques, wanted, strict=True)
    )


@pytest.mark.parametrize("degree", [1, 2, 3, 4])
def test_the_error_is_followed_exactly_and_never_rises(degree):
    found, cliques, wanted = search(degree, noise=2.0)
    errors = [found.error]
    for _ in range(10):
        found.run_generations(mutations=5, crossovers=5)
        errors.append(found.error)
        assert found.error == pytest.approx(error_of(found.codes, cliques, wanted))
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 0.5 * errors[0]


def test_codes_stay_in_their_domain():
    found, _, _ = search(noise=20.0)
    for _ in range(20):
        found.run_generations(mutations=5, crossovers=5)
    assert (found.codes >= 0).all()
    assert (found.codes < np.array(SIZES)).all()


def test_a_table_with_exact_marginals_is_found():
    cliques, wanted = target()
    rng = np.random.default_rng(1)
    method = PrivGSD(table_rows=300, generations=5000)
    codes = method.search_table(DOMAIN, cliques, wanted, rng)
    assert error_of(codes, cliques, wanted) < 1e-3 * error_of(codes[:0], cliques, wanted)


def test_without_crossovers_it_still_finds_its_way():
    cliques, wanted = target()
    method = PrivGSD(table_rows=300, generations=5000, crossovers=0)
    codes = method.search_table(DOMAIN, cliques, wanted, np.random.default_rng(1))
    assert error_of(codes, cliques, wanted) < 1e-2 * error_of(codes[:0], cliques, wanted)


def test_the_search_ends_when_it_gets_no_further():
    """Or this would take a billion generations."""
    cliques, wanted = target(rows=100)
    method = PrivGSD(table_rows=100, generations=10**9, tolerance=0.01)
    assert len(method.search_table(DOMAIN, cliques, wanted, np.random.default_rng(1))) == 100


@pytest.fixture(scope="module")
def learned():
    table, schema = adult_like()
    method = PrivGSD(table_rows=1000, generations=20_000)
    return table, fitted(method, table, schema, epsilon=3.0, bins="privtree")


def test_pairs_of_attributes_are_learned(learned):
    table, model = learned
    _, schema = adult_like(10)
    independent = fitted(Independent(), table, schema, epsilon=3.0, bins="privtree")
    error, without = (two_way_error(table, one.sample()) for one in (model, independent))
    assert error < 0.5 * without


def test_its_certificate_holds_and_lists_what_was_measured(learned):
    certificate = learned[1].certificate
    assert verify_plain(certificate.to_dict()).holds
    assert {item.name: item.times for item in certificate.spends} == {
        "row count": 1,
        "bins": 2,
        "marginals": 21,
    }


@pytest.mark.parametrize(("degree", "attributes", "times"), [(2, 5, 10), (3, 5, 10), (3, 2, 1)])
def test_all_marginals_of_a_degree_are_planned(degree, attributes, times):
    (part,) = PrivGSD(degree=degree).parts(attributes)
    assert (part.share, part.times) == (1.0, times)


def test_too_many_cells_are_refused_before_they_are_measured():
    table, schema = CORNERS["no label"]
    with pytest.raises(CapacityError, match="limit max_cells=100"):
        fitted(PrivGSD(max_cells=100), table, schema)


@pytest.mark.parametrize(
    "given", [{"degree": 0}, {"mutations": 0}, {"crossovers": -1}, {"tolerance": -1.0}]
)
def test_wrong_hyperparameters_are_refused(given):
    with pytest.raises(ParameterError, match=next(iter(given))):
        PrivGSD(**given)


@pytest.mark.parametrize("degree", [1, 2, 3])
@pytest.mark.parametrize("name", CORNERS)
def test_corners(name, degree):
    table, schema = CORNERS[name]
    method = PrivGSD(degree=degree, generations=100, table_rows=50)
    model = fitted(method, table, schema, n_samples=50)
    assert model.sample().column_names == table.column_names
    assert model.sample().num_rows == 50


@pytest.mark.filterwarnings("ignore::tabpe.errors.NotPrivateWarning")
def test_the_seed_decides_on_all_but_noise():
    table, schema = adult_like(500)
    one, same, other = (
        fitted(QUICK, table, schema, noise=FakeNoise(3), random_state=seed).sample()
        for seed in (1, 1, 2)
    )
    assert one.equals(same)
    assert not one.equals(other)


NUMBERS = Domain(
    (
        NumberAxis("x", 0, tuple(k / 8 for k in range(1, 8)), tuple(k / 8 for k in range(9))),
        ListAxis("c", 0, (0, 1, 2)),
        NumberAxis("y", 1, tuple(k / 6 for k in range(1, 6)), tuple(k / 6 for k in range(7))),
    ),
    label=None,
)
LEVELS = (2, 4, 8)


def level_error(codes, cliques, wanted):
    wanted, error = iter(wanted), 0.0
    for level in LEVELS:
        coarse, groups = NUMBERS.coarsen(level), NUMBERS.group_cells(level)
        grouped = np.stack([of[some] for of, some in zip(groups, codes.T, strict=True)], axis=1)
        for clique in cliques:
            error += ((coarse.count_rows(grouped, clique) - next(wanted)) ** 2).sum()
    return error


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_the_error_of_all_levels_is_followed_exactly(degree):
    rng = np.random.default_rng(0)
    cliques = list(itertools.combinations(range(3), degree))
    wanted = [
        rng.uniform(0, 20, NUMBERS.coarsen(level).get_shape(clique))
        for level in LEVELS
        for clique in cliques
    ]
    found = GeneticSearch(NUMBERS, cliques, wanted, 100, rng, levels=LEVELS)
    errors = [found.error]
    for _ in range(10):
        found.run_generations(mutations=5, crossovers=5, noise=0.1)
        errors.append(found.error)
        assert found.error == pytest.approx(level_error(found.codes, cliques, wanted))
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < errors[0]
    assert (found.codes < np.array(NUMBERS.sizes)).all()


def test_noise_in_crossovers_moves_numbers_alone():
    rng = np.random.default_rng(0)
    cliques = [(0, 1, 2)]
    wanted = [np.zeros(NUMBERS.sizes)]
    for noise in (0.0, 0.2):
        found = GeneticSearch(NUMBERS, cliques, wanted, 200, rng)
        found.codes[:] = [4, 1, 3]
        rows = np.zeros((50, 3), dtype=np.int64)
        crossed = found._cross_cells(rows, np.tile([0, 1, 2], (50, 1)), noise)
        assert (crossed[:, 1] == 1).all()
        assert (len(np.unique(crossed[:, 0])) > 1) == (noise > 0)
        assert ((crossed >= 0) & (crossed < NUMBERS.sizes)).all()


@pytest.mark.filterwarnings("ignore::tabpe.errors.NotPrivateWarning")
def test_levels_estimate_no_bins_and_are_each_charged():
    table, schema = adult_like()
    method = PrivGSD(levels=HIERARCHY, generations=400, table_rows=200)
    model = fitted(method, table, schema, epsilon=3.0, noise=FakeNoise(0))
    spends = {spend.name: spend for spend in model.certificate.spends}
    assert "bins" not in spends
    pairs = math.comb(len(schema.columns), 2)
    assert spends[MARGINALS].times == pairs * len(HIERARCHY)
    assert model.certificate.configuration["bins"] == "none"
    assert model.certificate.epsilon <= 3.0


def test_a_level_of_halves_is_enough_for_a_pattern_of_halves():
    numbers = Domain(NUMBERS.axes[::2], None)
    assert numbers.coarsen(2).sizes == (2, 2)
    wanted = [np.array([[0.0, 250.0], [250.0, 0.0]])]
    method = PrivGSD(levels=(2,), table_rows=500, generations=5000)
    made = method.search_table(numbers, [(0, 1)], wanted, np.random.default_rng(0))
    low, high = made[:, 0] < 4, made[:, 1] < 3
    assert (low != high).mean() > 0.98
    assert len(np.unique(made[:, 0])) == 8


@pytest.mark.parametrize("levels", [(4, 2), (2, 2), (1, 2)])
def test_levels_rise(levels):
    with pytest.raises(ParameterError, match="levels"):
        PrivGSD(levels=levels)


def test_levels_may_be_a_list_of_a_file():
    assert PrivGSD(levels=[2, 4]) == PrivGSD(levels=(2, 4))
    with pytest.raises(ParameterError, match="crossover_noise"):
        PrivGSD(crossover_noise=-0.1)
