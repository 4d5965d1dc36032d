"""Marginals under noise: charge first, noise on every cell, nothing exact outside."""

import numpy as np
import pytest

import measuring
from measuring import Terms
from tabpe.accounting import ROW_LEVEL, Account, FakeNoise, NeighboringRelation, Spend
from tabpe.encoding import Marginal
from tabpe.encoding.marginals import ListAxis
from tabpe.errors import BudgetError, TabpeError
from tabpe.measurement.histograms import MARGINALS

USERS = NeighboringRelation(max_rows=3)
WARD, ILL = ListAxis("ward", 0, (0, 1, 2)), ListAxis("ill", None, (0, 1))
ASKED = [Marginal((WARD,)), Marginal((ILL, WARD))]


class RecordingTables:
    """Answers with known counts, and remembers what it was asked."""

    def __init__(self, scale=1, account=None):
        self.calls, self.scale, self.account = 0, scale, account

    def count_marginals(self, asked):
        """Return 0, 1, 2, ... for the cells of each marginal."""
        self.calls += 1
        if self.account is not None:
            assert self.account.spent == self.account.authorized
        return [self.scale * np.arange(marginal.size) for marginal in asked]


class ConstantNoise(FakeNoise):
    """Adds the same number to every cell, and remembers how it was drawn."""

    def __init__(self, shift=1000):
        self.shift, self.drawn = shift, []

    def draw(self, size, sigma):
        """Return the same number for every cell."""
        self.drawn.append((size, sigma))
        return np.full(size, self.shift)


def agreed(times=2, name=MARGINALS):
    account = Account()
    account.authorize(Spend(name, 4.0, times))
    return account


@pytest.mark.parametrize("account", [Account(), agreed(1)], ids=["nothing", "too little"])
def test_nothing_is_read_or_drawn_unless_every_marginal_is_paid_for(account):
    tables, noise = RecordingTables(), ConstantNoise()
    with pytest.raises(BudgetError):
        measuring.measure_marginals(tables, ASKED, Terms(account, noise, ROW_LEVEL))
    assert (tables.calls, noise.drawn) == (0, [])


def test_the_account_is_charged_for_every_marginal_before_the_rows_are_read():
    account = agreed()
    terms = Terms(account, ConstantNoise(), ROW_LEVEL)
    measuring.measure_marginals(RecordingTables(account=account), ASKED, terms)
    with pytest.raises(BudgetError, match="used up"):
        measuring.measure_marginals(RecordingTables(), ASKED, terms)


def test_every_cell_gets_noise_of_the_agreed_sigma():
    noise = ConstantNoise()
    found = measuring.measure_marginals(RecordingTables(), ASKED, Terms(agreed(), noise, ROW_LEVEL))
    assert [counts.tolist() for counts in found] == [
        [1000, 1001, 1002],
        [[1000, 1001, 1002], [1003, 1004, 1005]],
    ]
    assert noise.drawn == [(3, 4.0), (6, 4.0)]


def test_counts_of_users_get_noise_on_their_scale():
    noise = ConstantNoise(USERS.scale)
    terms = Terms(agreed(1), noise, USERS)
    (found,) = measuring.measure_marginals(RecordingTables(USERS.scale), ASKED[:1], terms)
    assert found.tolist() == [1, 2, 3]
    assert noise.drawn == [(3, 4.0 * USERS.scale)]


@pytest.mark.parametrize("neighbours", [ROW_LEVEL, USERS])
def test_they_come_as_whole_numbers_with_what_they_add_to_the_spends_too(neighbours):
    account, scale = agreed(3, "columns"), neighbours.scale
    terms = Terms(account, ConstantNoise(), neighbours)
    found = measuring.measure_marginal_counts(RecordingTables(scale), ASKED, terms, "columns")
    assert [counts.dtype for counts in found.values] == [np.int64, np.int64]
    assert [counts.tolist() for counts in found.values] == [
        [1000 + scale * cell for cell in range(size)] for size in (3, 6)
    ]
    assert (found.item, found.scale) == (Spend("columns", 4.0, 2), scale)
    assert account.spent == (found.item,)


@pytest.mark.parametrize(("scale", "neighbours"), [(1, USERS), (USERS.scale, ROW_LEVEL)])
def test_rows_that_are_counted_for_another_guarantee_are_not_read(scale, neighbours):
    tables, account = RecordingTables(scale), agreed()
    with pytest.raises(TabpeError, match="another relation"):
        measuring.measure_marginals(tables, ASKED, Terms(account, ConstantNoise(), neighbours))
    assert (tables.calls, account.spent) == (0, ())


def test_several_items_may_be_on_one_spends():
    account = agreed(1, "columns")
    account.authorize(Spend("pairs", 9.0, 1))
    terms = Terms(account, ConstantNoise(), ROW_LEVEL)
    for marginal, name in zip(ASKED, ("columns", "pairs"), strict=True):
        measuring.measure_marginals(RecordingTables(), [marginal], terms, name)
    assert terms.noise.drawn == [(3, 4.0), (6, 9.0)]


def test_no_question_costs_nothing():
    tables = RecordingTables()
    assert (
        measuring.measure_marginals(tables, [], Terms(Account(), ConstantNoise(), ROW_LEVEL)) == []
    )
    assert tables.calls == 0


def test_one_draw_is_never_shared_by_many_cells():
    class Short(FakeNoise):
        def draw(self, size, sigma):
            return np.zeros(1, dtype=np.int64)

    with pytest.raises(TabpeError, match="size"):
        measuring.measure_marginals(RecordingTables(), ASKED, Terms(agreed(), Short(), ROW_LEVEL))


def test_counts_of_other_cells_than_were_asked_about_are_refused():
    class Other(RecordingTables):
        def count_marginals(self, asked):
            return [np.arange(2) for _ in asked]

    with pytest.raises(TabpeError, match="cells asked for"):
        measuring.measure_marginals(Other(), ASKED, Terms(agreed(), ConstantNoise(), ROW_LEVEL))
