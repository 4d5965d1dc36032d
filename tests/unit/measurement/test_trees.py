"""Trees under noise: charge first, halve where the rows are, tell nothing but where bins begin."""

import numpy as np
import pytest

from measuring import Terms, grow_trees
from tabpe.accounting import ROW_LEVEL, Account, Adjacency, FakeNoise, NeighboringRelation, Spend
from tabpe.accounting.spend import EXPONENTIAL, GAUSSIAN
from tabpe.encoding.marginals import ListAxis
from tabpe.errors import BudgetError, ParameterError, TabpeError
from tabpe.measurement.privtree import TreeGrowth, grow_tree

CELLS = ListAxis("cell", 0, tuple(range(8)))
QUIET = FakeNoise(strength=0)
GROWTH = TreeGrowth(scale=1.0, decay=2)


class KnownTables:
    """Answers with known counts, and remembers whether it was asked."""

    scale = 1

    def __init__(self, counts=(0,) * 8, account=None):
        self.known, self.calls, self.account = np.array(counts), 0, account

    def count_marginals(self, asked):
        """Return the same counts for each axis."""
        self.calls += 1
        if self.account is not None:
            assert self.account.spent == self.account.authorized
        return [self.known for _ in asked]


class Drawing:
    """A source of noise that makes no choices."""

    name, private = "drawing", False

    def draw(self, size, sigma):
        """Return nothing but zeros."""
        return np.zeros(size, dtype=np.int64)


def agreed(times=1, sigma=2.0, mechanism=EXPONENTIAL):
    account = Account()
    account.authorize(Spend("trees", sigma, times, mechanism=mechanism))
    return account


def asked(tables, account, noise=QUIET, neighbours=ROW_LEVEL, times=1, **given):
    terms = Terms(account, noise, neighbours)
    return grow_trees(tables, [CELLS] * times, terms, **({"threshold": 0, "most": 8} | given))


def starts(counts, threshold=0, most=99):
    return grow_tree(np.array(counts), QUIET, GROWTH, threshold=threshold, most=most)


@pytest.mark.parametrize("account", [Account(), agreed(1)], ids=["nothing", "too little"])
def test_nothing_is_read_unless_every_tree_is_paid_for(account):
    tables = KnownTables()
    with pytest.raises(BudgetError):
        asked(tables, account, times=2)
    assert tables.calls == 0


def test_the_account_is_charged_for_every_tree_before_the_rows_are_read():
    account = agreed(2)
    asked(KnownTables(account=account), account, times=2)
    with pytest.raises(BudgetError, match="used up"):
        asked(KnownTables(), account)


def test_an_item_with_gaussian_noise_does_not_pay_for_a_tree():
    tables = KnownTables()
    with pytest.raises(TabpeError, match="exponential"):
        asked(tables, agreed(mechanism=GAUSSIAN))
    assert tables.calls == 0


@pytest.mark.parametrize(
    "neighbours", [NeighboringRelation(Adjacency.REPLACE_ONE), NeighboringRelation(max_rows=2)]
)
def test_trees_grow_for_rows_that_come_or_go_alone(neighbours):
    tables, account = KnownTables(), agreed()
    tables.scale = neighbours.scale
    with pytest.raises(ParameterError, match="adding or removing a row"):
        asked(tables, account, neighbours=neighbours)
    assert (tables.calls, account.spent) == (0, ())


def test_counts_of_users_are_not_read():
    tables, account = KnownTables(), agreed()
    tables.scale = NeighboringRelation(max_rows=2).scale
    with pytest.raises(TabpeError, match="another relation"):
        asked(tables, account)
    assert (tables.calls, account.spent) == (0, ())


def test_a_source_that_makes_no_choices_is_refused_before_anything_is_charged():
    tables, account = KnownTables(), agreed()
    with pytest.raises(ParameterError, match="noise"):
        asked(tables, account, noise=Drawing())
    assert (tables.calls, account.spent) == (0, ())


@pytest.mark.parametrize("given", [{"threshold": -1}, {"threshold": 0.5}, {"most": 0}])
def test_what_makes_no_tree_is_refused_before_anything_is_charged(given):
    account = agreed()
    with pytest.raises(ParameterError, match=next(iter(given))):
        asked(KnownTables(), account, **given)
    assert account.spent == ()


def test_counts_of_other_cells_are_refused():
    with pytest.raises(TabpeError, match="cells asked for"):
        asked(KnownTables(range(4)), agreed())


class Watching(FakeNoise):
    """Remembers the scales of choices."""

    def __init__(self):
        super().__init__()
        self.scales = set()

    def choose(self, scores, scale):
        """Choose, and remember."""
        self.scales.add(scale)
        return super().choose(scores, scale)


def test_choices_have_the_scale_that_was_paid_for():
    noise = Watching()
    asked(KnownTables([9] * 8), agreed(sigma=30.0), noise=noise)
    assert noise.scales == {TreeGrowth.from_range(2 / 30.0).scale}


def test_no_axes_cost_nothing():
    tables = KnownTables()
    assert grow_trees(tables, [], Terms(Account(), QUIET, ROW_LEVEL), threshold=0, most=1) == []
    assert tables.calls == 0


def test_bins_are_halved_where_the_rows_are():
    assert starts([0, 0, 0, 100, 0, 0, 0, 0]) == (0, 2, 3, 4)


def test_each_halving_takes_more_rows_than_the_one_before():
    # At depth 2 the bin must hold more than 2 * decay = 4 rows.
    assert starts([4, 0, 0, 0, 0, 0, 0, 0]) == (0, 2, 4)
    assert starts([5, 0, 0, 0, 0, 0, 0, 0]) == (0, 1, 2, 4)


def test_a_threshold_leaves_so_many_rows_in_a_bin():
    assert starts([10] * 8, threshold=0) == tuple(range(8))
    assert starts([10] * 8, threshold=40) == (0, 4)
    assert starts([10] * 8, threshold=80) == (0,)


def test_a_grid_is_halved_by_its_number_of_values():
    assert starts([50, 50, 50]) == (0, 1, 2)
    assert starts([0, 0, 50, 0, 0]) == (0, 2, 3)
    assert starts([50]) == (0,)


@pytest.mark.parametrize("most", [1, 2, 3, 5, 8])
def test_there_are_never_more_bins_than_allowed(most):
    assert len(starts([1000] * 8, most=most)) == most


def test_empty_bins_are_halved_now_and_then_by_chance():
    """With probability 1 / (1 + e^2) each, so seldom more than a few times."""
    noise, growth = FakeNoise(seed=1), TreeGrowth(scale=50.0, decay=100)
    sizes = [
        len(grow_tree(np.zeros(1024, dtype=np.int64), noise, growth, threshold=100, most=99))
        for _ in range(300)
    ]
    assert 1.0 < np.mean(sizes) < 1.5


@pytest.mark.parametrize(("scale", "decay"), [(0.0, 1), (float("inf"), 1), (1.0, 0), (1.0, 1.5)])
def test_a_growth_without_an_end_is_refused(scale, decay):
    with pytest.raises(ParameterError):
        TreeGrowth(scale, decay)
