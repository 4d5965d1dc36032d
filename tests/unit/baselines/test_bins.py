"""Bins of columns of numbers: where they begin, what they cost, how they fit together."""

import numpy as np
import pyarrow as pa
import pytest

from measuring import Terms, open_session
from tabpe.accounting import Account, FakeNoise
from tabpe.accounting.spend import EXPONENTIAL, GAUSSIAN
from tabpe.backends.local import CachedTable
from tabpe.baselines import Baseline, Independent, PrivSyn, RAPpp, base
from tabpe.encoding import Encoder, Marginal
from tabpe.encoding.marginals import build_axis
from tabpe.errors import BudgetError, ParameterError
from tabpe.schema import Boolean, Categorical, Float, Integer, Schema

SCHEMA = Schema(
    (
        Integer("gain", 0, 99_999),
        Float("size", -1.0, 3.0),
        Float("price", 0.0, 9.99, decimals=2),
        Integer("wide", 0, 10**9),
        Integer("children", 0, 9),
        Float("constant", 2.0, 2.0),
        Boolean("ill"),
    ),
    label="ill",
)
WIDE = ["gain", "size", "price", "wide"]
ENCODER = Encoder(SCHEMA)
ROWS_GIVEN = 4000
each_kind = pytest.mark.parametrize("kind", base.KINDS)


def table(rows=ROWS_GIVEN, seed=0):
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "gain": np.where(rng.random(rows) < 0.9, 0, rng.integers(0, 100_000, rows)),
            "size": np.clip(rng.normal(0.0, 0.1, rows), -1, 3),
            "price": np.round(rng.uniform(0, 9.99, rows), 2),
            "wide": rng.integers(0, 10**9, rows, endpoint=True),
            "children": rng.integers(0, 10, rows),
            "constant": np.full(rows, 2.0),
            "ill": rng.random(rows) < 0.5,
        }
    )


def estimated(kind, noise=None, most=16, sigma=40.0, rows=ROWS_GIVEN, encoder=ENCODER, data=None):
    account = Account()
    for part in base.plan_bins(kind, encoder):
        account.authorize(part.make_spend(loss=part.times / sigma**2))
    tables = CachedTable([encoder.encode(table() if data is None else data)])
    session = open_session(tables, Terms(account, noise or FakeNoise()))
    spend = next(iter(account.authorized), None)
    found = base.measure_bins(kind, encoder, session, spend, most=most, rows=rows)
    assert account.spent == account.authorized
    return found


def shares(axis, data=None):
    rows = ENCODER.encode(table() if data is None else data)
    counts = np.bincount(Marginal((axis,)).find_cells(*rows), minlength=axis.size)
    return counts / counts.sum()


@pytest.mark.parametrize(("kind", "mechanism"), [("privtree", EXPONENTIAL), ("quantile", GAUSSIAN)])
def test_each_column_with_many_values_is_paid_for_once(kind, mechanism):
    (part,) = base.plan_bins(kind, ENCODER)
    assert (part.name, part.share, part.times, part.mechanism) == ("bins", 1.0, 4, mechanism)


def test_bins_of_equal_width_are_free():
    assert base.plan_bins("uniform", ENCODER) == ()
    assert estimated("uniform", most=8)["size"] == build_axis(ENCODER, "size", max_bins=8)


@each_kind
def test_without_columns_of_many_values_nothing_is_estimated(kind):
    encoder = Encoder(Schema((Integer("children", 0, 15), Boolean("ill"))))
    assert base.plan_bins(kind, encoder) == ()
    data = pa.table({"children": [3], "ill": [True]})
    assert estimated(kind, encoder=encoder, data=data)["children"].size == 16


def test_a_column_has_a_bin_for_each_value_up_to_a_few():
    encoder = Encoder(Schema((Integer("few", 1, base.FEW), Integer("more", 0, base.FEW))))
    assert base.plan_bins("privtree", encoder)[0].times == 1


@each_kind
def test_every_column_of_numbers_has_bins_and_no_more_than_allowed(kind):
    found = estimated(kind, most=12)
    assert list(found) == [column.name for column in ENCODER.numeric]
    assert all(found[name].size <= 12 for name in WIDE)
    assert (found["children"].size, found["constant"].size) == (10, 1)


@each_kind
@pytest.mark.parametrize("name", WIDE)
def test_bins_cover_the_range_in_order(kind, name):
    axis, column = estimated(kind)[name], SCHEMA[name]
    assert len(axis.edges) == axis.size + 1 == len(axis.cuts) + 2
    assert all(np.diff(axis.edges) > 0)
    assert all(np.diff([0, *axis.cuts, 1]) > 0)
    assert axis.edges[0] <= column.min < column.max <= axis.edges[-1]


@each_kind
def test_cuts_and_edges_tell_the_same_bins(kind):
    axis = estimated(kind)["size"]
    assert axis.edges[1:-1] == pytest.approx([-1 + 4 * cut for cut in axis.cuts])


def test_a_tree_finds_the_one_value_that_most_rows_have():
    """Nine in ten rows have no gain, of a hundred thousand values."""
    axis = estimated("privtree", most=32)["gain"]
    assert axis.edges[1] <= 0.5
    assert shares(axis)[0] == pytest.approx(0.9, abs=0.02)


def test_a_tree_has_narrow_bins_where_the_rows_are():
    axis = estimated("privtree", most=32)["size"]
    widths, held = np.diff(axis.edges), shares(axis)
    assert widths[np.argmax(held)] <= 4 / 64
    assert widths.max() >= 4 / 4


def test_quantiles_hold_about_equally_many_rows():
    found = estimated("quantile", most=8, sigma=5.0)
    assert shares(found["wide"]) == pytest.approx(np.full(8, 1 / 8), abs=0.05)
    assert shares(found["size"]).max() < 0.25


def test_quantiles_of_few_rows_under_much_noise_are_made_of_fewer_cells():
    axis = estimated("quantile", most=8, sigma=60.0)["wide"]
    assert shares(axis) == pytest.approx(np.full(axis.size, 1 / axis.size), abs=0.15)
    assert np.diff([0, *axis.cuts, 1]).min() > 1 / 20


@pytest.mark.parametrize("kind", ["privtree", "quantile"])
def test_nothing_is_estimated_that_was_not_agreed_on(kind):
    tables = CachedTable([ENCODER.encode(table(10))])
    with pytest.raises(BudgetError):
        base.measure_bins(
            kind,
            ENCODER,
            open_session(tables, Terms(Account(), FakeNoise())),
            None,
            most=8,
            rows=10,
        )


@each_kind
def test_a_table_of_next_to_no_rows_has_bins_too(kind):
    found = estimated(kind, data=table(1), rows=1.0)
    assert all(axis.size >= 1 for axis in found.values())


def test_an_unknown_kind_is_refused():
    with pytest.raises(ParameterError, match="did you mean 'privtree'"):
        base.plan_bins("privtre", ENCODER)


@pytest.mark.parametrize(
    ("counts", "most", "starts"),
    [
        ([1, 1, 1, 1], 2, (0, 2)),
        ([1, 1, 1, 1], 9, (0, 1, 2, 3)),
        ([0, 0, 100, 0, 0], 4, (0, 2, 3)),
        ([3, -2, 3, -2, 3, -2, 3], 2, (0, 3)),
        ([0, 0, 0], 4, (0,)),
        ([-5, -5], 4, (0,)),
        ([7], 4, (0,)),
    ],
)
def test_bins_of_equal_mass(counts, most, starts):
    assert base.find_even_starts(np.array(counts, dtype=float), most) == starts


def test_noise_alone_does_not_make_too_many_bins():
    rng = np.random.default_rng(0)
    for _ in range(50):
        starts = base.find_even_starts(rng.normal(0.0, 50.0, 256), most=10)
        assert len(starts) <= 10
        assert list(starts) == sorted(set(starts))


TOWNS = Schema(
    (
        Categorical("town", ("a", "b", "c", "d", "e")),
        Categorical("side", ("left", "right")),
        Boolean("ill"),
    ),
    label="ill",
)


def towns(rows=4000):
    rng = np.random.default_rng(0)
    town = rng.choice(list("abcde"), rows, p=[0.5, 0.003, 0.489, 0.004, 0.004])
    return pa.table({"town": town, "side": ["left"] * rows, "ill": rng.random(rows) < 0.5})


def test_rare_categories_share_a_cell():
    encoder, account = Encoder(TOWNS), Account()
    (part,) = base.plan_rare(0.02, encoder)
    assert part.times == 1  # neither the label nor a column of two categories
    spend = account.authorize(part.make_spend(loss=1 / 10.0**2))
    session = open_session(CachedTable([encoder.encode(towns())]), Terms(account, FakeNoise(0)))
    found = base.merge_rare(0.02, encoder, session, spend, 4000)
    assert found["town"].groups == (0, 2, 1, 2, 2)
    assert account.spent == account.authorized


def test_without_a_spend_no_category_is_looked_at():
    encoder, account = Encoder(TOWNS), Account()
    session = open_session(CachedTable([encoder.encode(towns())]), Terms(account, FakeNoise(0)))
    assert base.merge_rare(0.02, encoder, session, None, 4000) == {}
    assert account.spent == ()


@pytest.mark.parametrize(
    "method", [Independent(), PrivSyn(update_rounds=2), RAPpp(projections=200)]
)
def test_methods_run_on_merged_categories_within_their_budget(method):
    model = Baseline(method, epsilon=2.0, delta=1e-6, public_rows=4000, rare=0.02, random_state=0)
    made = model.fit(towns(), schema=TOWNS).sample()
    assert set(made["town"].to_pylist()) <= set("abcde")
    assert model.certificate.epsilon <= 2.0
    assert base.RARE in {spend.name for spend in model.certificate.spends}
    assert model.certificate.configuration["rare"] == 0.02


@pytest.mark.parametrize("rare", [-0.1, 1.0, "few"])
def test_a_rare_share_is_checked_before_rows_are_read(rare):
    model = Baseline(Independent(), epsilon=2.0, delta=1e-6, rare=rare)
    with pytest.raises(ParameterError, match="rare="):
        model.fit(towns(), schema=TOWNS)
