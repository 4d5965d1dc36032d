"""Halfspaces under noise: charge first, noise on every cell, and no halfspace chosen twice."""

import numpy as np
import pytest

import measuring
from measuring import Terms
from tabpe.accounting import ROW_LEVEL, Account, FakeNoise, NeighboringRelation, Spend
from tabpe.accounting.spend import EXPONENTIAL, GAUSSIAN
from tabpe.encoding.halfspaces import Halfspaces
from tabpe.encoding.marginals import ListAxis
from tabpe.errors import BudgetError, ParameterError, TabpeError
from tabpe.measurement.selection import PARTS_PER_ROW

NAME, SIGMA = "halfspaces", 4.0
WARD = ListAxis("ward", 0, (0, 1, 2))
RNG = np.random.default_rng(0)
ASKED = [Halfspaces.draw_halfspaces(None, 4, 2, RNG), Halfspaces.draw_halfspaces(WARD, 3, 2, RNG)]
COUNTS = [np.array([[10], [20], [30], [40]]), np.arange(9).reshape(3, 3)]


class KnownTables:
    """Answers with known counts, after it has seen that all is paid for."""

    def __init__(self, account=None):
        self.calls, self.account = 0, account

    def count_halfspaces(self, asked):
        """Return the known counts."""
        self.calls += 1
        if self.account is not None:
            assert self.account.spent == self.account.authorized
        return COUNTS[ASKED.index(asked)].astype(np.int32)


class Listening(FakeNoise):
    """No noise; remembers what it was asked for."""

    def __init__(self, shift=0):
        super().__init__(strength=0)
        self.shift, self.drawn, self.chosen = shift, [], []

    def draw(self, size, sigma):
        """Return a shift for every cell."""
        self.drawn.append((size, sigma))
        return np.full(size, self.shift)

    def choose(self, scores, scale):
        """Return the largest score."""
        self.chosen.append((scores.copy(), scale))
        return super().choose(scores, scale)


def agreed(times, mechanism=EXPONENTIAL):
    account = Account()
    account.authorize(Spend(NAME, SIGMA, times, mechanism=mechanism))
    return account


def estimates(**wrong):
    found = [counts.astype(np.float64) for counts in COUNTS]
    for place, shift in wrong.items():
        which, row = divmod(int(place[1:]), 4)
        found[which][row, 0] += shift
    return found


def worst(account, guesses, *, most, noise=None, **settings):
    terms = Terms(account, noise or Listening(), ROW_LEVEL)
    return measuring.choose_halfspaces(
        KnownTables(account), ASKED, guesses, terms, NAME, most=most, **settings
    )


def test_without_noise_the_farthest_are_chosen_in_order():
    guesses = estimates(_2=-5.0, _5=9.0, _0=1.0)
    assert worst(agreed(3), guesses, most=3) == [5, 2, 0]


def test_what_is_taken_is_no_option():
    guesses = estimates(_2=-5.0, _5=9.0, _0=1.0)
    assert worst(agreed(2), guesses, most=2, taken=[5]) == [2, 0]


def test_the_distance_is_the_sum_over_cells_and_a_row_is_so_many_parts():
    noise, guesses = Listening(), estimates()
    guesses[1][0] += [1.0, -2.0, 0.5]
    worst(agreed(1), guesses, most=1, noise=noise)
    ((scores, scale),) = noise.chosen
    assert scores.tolist() == [0, 0, 0, 0, 3.5 * PARTS_PER_ROW, 0, 0]
    assert scale == SIGMA * PARTS_PER_ROW


def test_one_row_changes_a_score_by_at_most_one_row():
    before, after = Listening(), Listening()
    worst(agreed(1), estimates(), most=1, noise=before)
    moved = estimates()
    moved[1][2, 1] += 1.0  # a row more in a cell is like one less in its estimate
    worst(agreed(1), moved, most=1, noise=after)
    change = np.abs(before.chosen[0][0] - after.chosen[0][0])
    assert change.tolist() == [0, 0, 0, 0, 0, 0, PARTS_PER_ROW]


def test_no_more_are_chosen_or_charged_than_there_are():
    account = agreed(2)
    assert sorted(worst(account, estimates(), most=9, taken=[0, 1, 2, 3, 4])) == [5, 6]
    assert account.spent == account.authorized
    assert worst(Account(), estimates(), most=2, taken=range(7)) == []


@pytest.mark.parametrize("account", [Account(), agreed(1)], ids=["nothing", "too little"])
def test_nothing_is_read_unless_every_choice_is_paid_for(account):
    tables, noise = KnownTables(), Listening()
    with pytest.raises(BudgetError):
        measuring.choose_halfspaces(
            tables, ASKED, estimates(), Terms(account, noise, ROW_LEVEL), NAME, most=2
        )
    assert (tables.calls, noise.chosen) == (0, [])


def test_counts_have_a_draw_of_noise_on_every_cell():
    account, noise = agreed(3, GAUSSIAN), Listening(shift=1000)
    terms = Terms(account, noise, ROW_LEVEL)
    counts = measuring.measure_halfspaces(KnownTables(account), ASKED, [3, 4, 6], terms, NAME)
    assert [one.tolist() for one in counts] == [[1040], [1000, 1001, 1002], [1006, 1007, 1008]]
    assert noise.drawn == [(1, SIGMA), (3, SIGMA), (3, SIGMA)]


@pytest.mark.parametrize("times", [1, 2])
def test_no_row_is_counted_unless_every_halfspace_is_paid_for(times):
    tables, noise = KnownTables(), Listening()
    terms = Terms(agreed(times, GAUSSIAN), noise, ROW_LEVEL)
    with pytest.raises(BudgetError):
        measuring.measure_halfspaces(tables, ASKED, [0, 1, 2], terms, NAME)
    assert (tables.calls, noise.drawn) == (0, [])


def test_nothing_asked_costs_nothing():
    assert (
        measuring.measure_halfspaces(
            KnownTables(), ASKED, [], Terms(Account(), Listening(), ROW_LEVEL), ""
        )
        == []
    )


def test_an_item_of_another_mechanism_is_refused_before_a_row_is_read():
    tables, noise = KnownTables(), Listening()
    with pytest.raises(TabpeError, match="not authorized as exponential"):
        worst(agreed(1, GAUSSIAN), estimates(), most=1)
    with pytest.raises(TabpeError, match="authorized as"):
        measuring.measure_halfspaces(tables, ASKED, [0], Terms(agreed(1), noise, ROW_LEVEL), NAME)
    assert (tables.calls, noise.drawn) == (0, [])


def test_other_neighbours_are_refused():
    terms = Terms(agreed(1), Listening(), NeighboringRelation(max_rows=3))
    tables = KnownTables()
    tables.scale = terms.neighbours.scale
    with pytest.raises(ParameterError, match="adjacency"):
        measuring.choose_halfspaces(tables, ASKED, estimates(), terms, NAME, most=1)
    with pytest.raises(ParameterError, match="adjacency"):
        measuring.measure_halfspaces(tables, ASKED, [0], terms, NAME)


@pytest.mark.parametrize("bad", [np.zeros((4, 2)), np.full((4, 1), np.nan)], ids=["shape", "nan"])
def test_estimates_must_be_counts_of_the_cells_before_anything_is_charged(bad):
    account = agreed(1)
    with pytest.raises(TabpeError, match="estimates"):
        worst(account, [bad, COUNTS[1].astype(float)], most=1)
    assert account.spent == ()
