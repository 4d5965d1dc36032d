"""`choose` and `distances`: what a row can change, and what it costs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import measuring
from tabpe.accounting import (
    ROW_LEVEL,
    Account,
    Adjacency,
    ExactNoise,
    FakeNoise,
    NeighboringRelation,
    Spend,
)
from tabpe.accounting.spend import EXPONENTIAL
from tabpe.backends.local import CachedTable
from tabpe.encoding import Marginal, Records
from tabpe.encoding.marginals import ListAxis
from tabpe.errors import BudgetError, ParameterError, TabpeError
from tabpe.measurement.selection import PARTS_PER_ROW

AXES = tuple(ListAxis(name, place, (0, 1, 2)) for place, name in enumerate("abc"))
PAIRS = [Marginal((AXES[one], AXES[other])) for one, other in ((0, 1), (0, 2), (1, 2))]
UNKNOWN = [np.zeros(pair.shape) for pair in PAIRS]


class Recording(FakeNoise):
    """Takes down exact scores and the scale of a choice. For tests."""

    def choose(self, scores, scale):  # noqa: D102
        self.seen = scores.copy(), scale
        return int(np.argmax(scores))


class Unread:
    """A table that must not be read."""

    scale = 1

    def count_marginals(self, asked):  # noqa: D102
        raise AssertionError("read")


def tables_of(codes):
    codes = np.asarray(codes, dtype=np.uint8).reshape(-1, 3)
    rows = Records(np.zeros((len(codes), 0)), codes)
    return CachedTable([(rows, np.zeros(len(codes), dtype=np.int64))])


def terms_of(noise, *, sigma=3.0, times=5, mechanism=EXPONENTIAL, neighbours=ROW_LEVEL):
    account = Account()
    account.authorize(Spend("asked", sigma, times, mechanism=mechanism))
    return measuring.Terms(account, noise, neighbours)


codes = st.lists(st.tuples(*[st.integers(0, 2)] * 3), min_size=1, max_size=12)
cells = st.lists(st.floats(-5, 20), min_size=9, max_size=9).map(lambda c: np.reshape(c, (3, 3)))


@given(codes, st.lists(cells, min_size=3, max_size=3), st.lists(st.floats(1e-3, 1), min_size=3))
def test_a_row_moves_a_score_by_its_weight_at_most(rows, estimates, weights):
    seen = []
    for kept in (rows, rows[:-1]):
        noise = Recording()
        measuring.choose_marginal(
            tables_of(kept), PAIRS, estimates, terms_of(noise), "asked", weights=weights[:3]
        )
        seen.append(noise.seen)
    (more, scale), (fewer, same_scale) = seen
    moved = more - fewer
    # The range of the losses, (largest - smallest change) / scale, is at most 2 / sigma.
    assert scale == same_scale
    assert moved.max() - min(moved.min(), 0) <= 2 * scale / 3.0
    assert np.abs(moved).max() * 2 <= 2 * scale / 3.0


def test_the_scale_is_no_larger_than_it_must_be():
    """A row can move two scores apart by all that the range allows."""
    noise, pair = Recording(), PAIRS[:2]
    estimates = [np.full((3, 3), 10.0), np.zeros((3, 3))]
    seen = []
    for kept in ([[0, 0, 0]], []):
        measuring.choose_marginal(tables_of(kept), pair, estimates, terms_of(noise), "asked")
        seen.append(noise.seen)
    moved = seen[0][0] - seen[1][0]
    assert np.ptp(moved) == 2 * PARTS_PER_ROW
    assert seen[0][1] == 3.0 * PARTS_PER_ROW


@given(codes, st.lists(cells, min_size=3, max_size=3))
def test_a_row_moves_a_distance_by_one_row_at_most(rows, estimates):
    found = [
        measuring.measure_distances(
            tables_of(kept),
            PAIRS,
            estimates,
            terms_of(FakeNoise(strength=0), mechanism="discrete Gaussian"),
            "asked",
        )
        for kept in (rows, rows[:-1])
    ]
    assert np.abs(found[0] - found[1]).max() <= 1
    exact = [
        np.abs(tables_of(rows).count_marginals([p])[0] - e.ravel()).sum()
        for p, e in zip(PAIRS, estimates, strict=True)
    ]
    assert np.allclose(found[0], np.floor(exact), atol=1.01)


def test_the_farthest_is_chosen_without_noise():
    rows = [[0, 1, 2]] * 50
    fits = [np.zeros((3, 3)) for _ in PAIRS]
    fits[0][0, 1] = fits[2][1, 2] = 50
    terms = terms_of(FakeNoise(strength=0))
    assert measuring.choose_marginal(tables_of(rows), PAIRS, fits, terms, "asked") == 1


def test_weights_and_penalties_count():
    rows = [[0, 1, 2]] * 50
    tables, noise = tables_of(rows), FakeNoise(strength=0)
    chosen = measuring.choose_marginal(
        tables, PAIRS, UNKNOWN, terms_of(noise), "asked", weights=[0.1, 0.1, 1.0]
    )
    assert chosen == 2
    chosen = measuring.choose_marginal(
        tables, PAIRS, UNKNOWN, terms_of(noise), "asked", penalties=[20.0, 0.0, 20.0]
    )
    assert chosen == 1


def test_choices_are_as_likely_as_the_mechanism_says():
    """Three options with known chances: a test that also rejects twice the scale."""
    rows, draws = [[0, 0, 0]] * 6, 4000
    # Distances of 6, 4 and 2 rows.
    estimates = [np.zeros((3, 3)) for _ in PAIRS]
    estimates[1][0, 0], estimates[2][0, 0] = 2, 4
    account = Account()
    account.authorize(Spend("asked", 2.0, draws, mechanism=EXPONENTIAL))
    terms = measuring.Terms(account, ExactNoise(), ROW_LEVEL)
    tables = tables_of(rows)
    drawn = [
        measuring.choose_marginal(tables, PAIRS, estimates, terms, "asked") for _ in range(draws)
    ]
    seen = np.bincount(drawn, minlength=3)
    # P ~ exp(range * score / 2) with range = 2 / sigma = 1.
    assert chi_square(seen, np.exp(np.array([6, 4, 2]) / 2)) < 31  # 2 degrees: below 2e-7
    assert chi_square(seen, np.exp(np.array([6, 4, 2]) / 4)) > 200


def chi_square(seen, weights):
    expected = seen.sum() * weights / weights.sum()
    return float(((seen - expected) ** 2 / expected).sum())


@pytest.mark.parametrize("ask", ["choose_marginal", "measure_distances"])
def test_nothing_is_read_before_it_is_charged(ask):
    terms = measuring.Terms(Account(), FakeNoise(), ROW_LEVEL)
    with pytest.raises(BudgetError, match="asked"):
        getattr(measuring, ask)(Unread(), PAIRS, UNKNOWN, terms, "asked")


def test_every_distance_is_charged_once():
    terms = terms_of(FakeNoise(), times=3, mechanism="discrete Gaussian")
    measuring.measure_distances(tables_of([[0, 0, 0]]), PAIRS, UNKNOWN, terms, "asked")
    assert terms.account.spent == terms.account.authorized


@pytest.mark.parametrize(
    ("ask", "mechanism"),
    [("choose_marginal", "discrete Gaussian"), ("measure_distances", EXPONENTIAL)],
)
def test_an_item_must_be_on_the_spends_as_what_it_is(ask, mechanism):
    terms = terms_of(FakeNoise(), mechanism=mechanism)
    with pytest.raises(TabpeError, match="was not authorized as"):
        getattr(measuring, ask)(Unread(), PAIRS, UNKNOWN, terms, "asked")


@pytest.mark.parametrize(
    "neighbours",
    [NeighboringRelation(Adjacency.REPLACE_ONE), NeighboringRelation(max_rows=2)],
    ids=str,
)
@pytest.mark.parametrize("ask", ["choose_marginal", "measure_distances"])
def test_other_relations_are_refused(ask, neighbours):
    terms = terms_of(FakeNoise(), neighbours=neighbours)
    tables = Unread()
    tables.scale = neighbours.scale
    with pytest.raises(ParameterError, match="adding or removing a row"):
        getattr(measuring, ask)(tables, PAIRS, UNKNOWN, terms, "asked")


class Silent:
    """A source of noise that makes no choices."""

    name, private = "silent", False

    def draw(self, size, sigma):
        """Return no noise."""
        return np.zeros(size, np.int64)


def test_a_source_without_choices_is_refused():
    with pytest.raises(ParameterError, match="noise='exact'"):
        measuring.choose_marginal(Unread(), PAIRS, UNKNOWN, terms_of(Silent()), "asked")


@pytest.mark.parametrize("estimate", [np.full((3, 3), np.nan), np.full((3, 3), np.inf)])
def test_estimates_are_finite(estimate):
    with pytest.raises(TabpeError, match="finite"):
        measuring.choose_marginal(Unread(), PAIRS[:1], [estimate], terms_of(FakeNoise()), "asked")


@pytest.mark.parametrize("weights", [[0.0, 1, 1], [1, 1, 1.5], [1, 1]])
def test_weights_are_checked(weights):
    with pytest.raises(TabpeError, match="weight"):
        measuring.choose_marginal(
            Unread(), PAIRS, UNKNOWN, terms_of(FakeNoise()), "asked", weights=weights
        )


def test_marginals_are_not_on_the_spends_as_choices():
    with pytest.raises(TabpeError, match="was not authorized as"):
        measuring.measure_marginals(Unread(), PAIRS[:1], terms_of(FakeNoise()), "asked")
