"""The noise that `find_metric` really adds has the sigma that the account was charged for."""

import dataclasses
import math

import numpy as np
import pytest

import measuring
from measuring import Terms
from tabpe.accounting import ROW_LEVEL, Account, ExactNoise, NeighboringRelation, Spend
from tabpe.encoding import Marginal, Records
from tabpe.encoding.marginals import ListAxis
from tabpe.evolution.config import COLUMNS

SIGMA = 3.3
COUNTS = np.random.default_rng(0).integers(0, 500, 20_000)


class KnownEngine:
    """Holds no rows: its counts are the ones above."""

    def __init__(self, cells):
        self.cells = cells

    def count_votes(self, population, voting_space=None, each=1):
        """Return the counts, class by class, whatever the number of votes of a row."""
        sizes = [len(candidates) for candidates in population]
        return np.split(self.cells, np.cumsum(sizes)[:-1])

    scale = 1

    def count_rows(self, voting_space=None):
        """Return the number of rows."""
        return self.count_classes().sum(keepdims=True)

    def count_classes(self, voting_space=None):
        """Return the counts."""
        return self.cells

    def count_marginals(self, asked):
        """Return the counts, marginal by marginal."""
        return np.split(self.cells, np.cumsum([marginal.size for marginal in asked])[:-1])


def agreed(name, sigma, times=1):
    account = Account()
    account.authorize(Spend(name, sigma, times))
    return account


def candidates(size):
    return Records(np.zeros((size, 1)), np.zeros((size, 0), dtype=np.uint8))


def added_to_votes(sigma, times=1):
    population = [candidates(12_000), candidates(0), candidates(8_000)]
    account = agreed("votes", sigma, times)
    engine = KnownEngine(COUNTS)
    return [
        np.concatenate(measuring.measure_votes(engine, population, account, ExactNoise()).values)
        - COUNTS
        for _ in range(times)
    ]


def added_to_soft_votes(sigma, neighbours=ROW_LEVEL):
    """Four votes of each row: charged four times, and each cell gets a single draw."""
    population = [candidates(20_000)]
    account, engine = agreed("votes, round 2", sigma, 4), KnownEngine(COUNTS)
    engine.scale = neighbours.scale
    measured = measuring.measure_votes(
        engine, population, account, ExactNoise(), votes_per_row=4, name="votes, round 2"
    )
    assert account.spent == account.authorized == (measured.item,)
    return measured.values[0] - COUNTS


def added_to_repeated_votes(sigma, repeats, neighbours=ROW_LEVEL):
    """Two votes of each row, asked for several times: the sum of all answers, less the counts."""
    account, engine = agreed("votes", sigma, 2 * repeats), KnownEngine(COUNTS)
    engine.scale = neighbours.scale
    measured = measuring.measure_votes(
        engine, [candidates(20_000)], account, ExactNoise(), votes_per_row=2, repeats=repeats
    )
    assert account.spent == account.authorized == (measured.item,)
    assert measured.scale == repeats * neighbours.scale
    return measured.values[0] - repeats * COUNTS


def added_to_columns(sigma, neighbours=ROW_LEVEL):
    """1-way marginals, over all rows and by class."""
    shapes = [Marginal((ListAxis("x", 0, tuple(range(size))),)) for size in (4_000, 6_000)]
    by_class = Marginal((ListAxis("y", None, tuple(range(100))), ListAxis("x", 0, (*range(100),))))
    account, engine = agreed(COLUMNS, sigma, 3), KnownEngine(COUNTS)
    engine.scale = neighbours.scale
    terms = Terms(account, ExactNoise(), neighbours)
    measured = measuring.measure_marginal_counts(engine, [*shapes, by_class], terms, COLUMNS)
    assert account.spent == account.authorized == (measured.item,)
    return np.concatenate(measured.values) - COUNTS


def added_to_class_counts(sigma):
    account = agreed("class counts", sigma)
    measured = measuring.measure_class_counts(
        KnownEngine(COUNTS), len(COUNTS), account, ExactNoise()
    )
    return measured.values[0] - COUNTS


def added_to_row_counts(sigma, times):
    account = agreed("row count", sigma, times)
    engine, noise = KnownEngine(COUNTS[:3]), ExactNoise()
    drawn = [measuring.measure_row_count(engine, account, noise).values[0][0] for _ in range(times)]
    return np.array(drawn) - COUNTS[:3].sum()


MARGINALS = [Marginal((ListAxis("x", 0, tuple(range(100))),) * 2)] * 2


def added_to_marginals(sigma):
    terms = Terms(agreed("marginals", sigma, len(MARGINALS)), ExactNoise(), ROW_LEVEL)
    found = measuring.measure_marginals(KnownEngine(COUNTS), MARGINALS, terms)
    return np.concatenate([counts.ravel() for counts in found]).astype(np.int64) - COUNTS


def test_votes_get_noise_of_the_agreed_sigma(fit):
    assert fit.accepts(added_to_votes(SIGMA)[0], SIGMA)


def test_several_votes_of_a_row_get_noise_of_the_agreed_sigma(fit, uncorrelated):
    drawn = added_to_soft_votes(SIGMA)
    assert fit.accepts(drawn, SIGMA)
    assert uncorrelated(drawn[:-1], drawn[1:])
    assert uncorrelated(drawn, COUNTS)


@pytest.mark.parametrize("factor", [0.5, 0.9, 1.1, 2])
def test_several_votes_of_a_row_under_other_noise_are_rejected(fit, factor):
    """By ten percent, or by the root of the number of votes, up or down."""
    assert not fit.accepts(added_to_soft_votes(SIGMA * factor), SIGMA)


def test_several_votes_of_users_get_noise_of_the_agreed_sigma_on_their_scale(fit):
    users = NeighboringRelation(max_rows=3)
    drawn = added_to_soft_votes(SIGMA, users)
    assert fit.accepts(drawn, SIGMA * users.scale)
    assert not fit.accepts(drawn, SIGMA * users.scale * 1.1)
    assert not fit.accepts(drawn, SIGMA * users.scale / 2)


@pytest.mark.parametrize("repeats", [2, 5])
def test_repeated_answers_add_up_to_noise_of_as_many_draws(fit, uncorrelated, repeats):
    """A sum of discrete Gaussians is one of the summed variance, but for far less than is seen."""
    drawn = added_to_repeated_votes(SIGMA, repeats)
    assert fit.accepts(drawn, SIGMA * math.sqrt(repeats))
    assert uncorrelated(drawn[:-1], drawn[1:])
    assert uncorrelated(drawn, COUNTS)
    # One draw for all answers, one draw that is added as often, and noise ten percent off.
    for other in (1, repeats, 0.9 * math.sqrt(repeats), 1.1 * math.sqrt(repeats)):
        assert not fit.accepts(drawn, SIGMA * other)
        assert fit.misses(SIGMA * other, SIGMA * math.sqrt(repeats)) < 1e-6


def test_repeated_answers_of_users_get_noise_on_their_scale(fit):
    users = NeighboringRelation(max_rows=3)
    drawn = added_to_repeated_votes(SIGMA, 3, users)
    assert fit.accepts(drawn, SIGMA * users.scale * math.sqrt(3))
    assert not fit.accepts(drawn, SIGMA * users.scale * math.sqrt(3) * 0.9)


@pytest.mark.parametrize("neighbours", [ROW_LEVEL, NeighboringRelation(max_rows=3)])
def test_tables_of_columns_get_noise_of_the_agreed_sigma(fit, uncorrelated, neighbours):
    drawn, sigma = added_to_columns(SIGMA, neighbours), SIGMA * neighbours.scale
    assert fit.accepts(drawn, sigma)
    assert uncorrelated(drawn[:4_000], drawn[4_000:8_000])
    assert uncorrelated(drawn[:10_000], drawn[10_000:])
    assert uncorrelated(drawn, COUNTS)
    # All three for the price of one, and noise ten percent off.
    for other in (math.sqrt(3), 1 / math.sqrt(3), 0.9, 1.1):
        assert not fit.accepts(drawn, sigma * other)
        assert fit.misses(sigma * other, sigma) < 1e-6


def test_class_counts_get_noise_of_the_agreed_sigma(fit):
    assert fit.accepts(added_to_class_counts(SIGMA), SIGMA)


def test_marginals_get_noise_of_the_agreed_sigma(fit):
    assert fit.accepts(added_to_marginals(SIGMA), SIGMA)


@pytest.mark.parametrize("factor", [0.9, 1.1])
def test_marginals_under_noise_ten_percent_off_are_rejected(fit, factor):
    assert not fit.accepts(added_to_marginals(SIGMA * factor), SIGMA)


def test_noise_of_two_marginals_is_independent(uncorrelated):
    drawn = added_to_marginals(SIGMA)
    assert uncorrelated(drawn[:10_000], drawn[10_000:])
    assert uncorrelated(drawn[:-1], drawn[1:])
    assert uncorrelated(drawn, COUNTS)


@pytest.mark.parametrize("factor", [0.9, 1.1])
def test_votes_under_noise_ten_percent_off_are_rejected(fit, factor):
    assert not fit.accepts(added_to_votes(SIGMA * factor)[0], SIGMA)


@pytest.mark.parametrize("factor", [0.9, 1.1])
def test_class_counts_under_noise_ten_percent_off_are_rejected(fit, factor):
    assert not fit.accepts(added_to_class_counts(SIGMA * factor), SIGMA)


def test_the_row_count_gets_noise_of_the_agreed_sigma(fit):
    """One cell a call, so there are fewer draws: the power is checked with them."""
    fewer = dataclasses.replace(fit, draws=8_000)
    assert fewer.accepts(added_to_row_counts(SIGMA, fewer.draws), SIGMA)
    assert max(fewer.misses(SIGMA, SIGMA * factor) for factor in (0.9, 1.1)) < 1e-3


def test_noise_does_not_depend_on_the_counts(fit, uncorrelated):
    assert uncorrelated(added_to_votes(SIGMA)[0], COUNTS)


def test_noise_of_two_rounds_is_independent(uncorrelated):
    first, second = added_to_votes(SIGMA, times=2)
    assert uncorrelated(first, second)


def test_noise_of_neighbouring_cells_and_classes_is_independent(uncorrelated):
    drawn = added_to_votes(SIGMA)[0]
    assert uncorrelated(drawn[:-1], drawn[1:])
    assert uncorrelated(drawn[:8_000], drawn[12_000:])
