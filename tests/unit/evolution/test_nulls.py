"""Nulls among candidates: they come and go, at random or by the marginals."""

import numpy as np
import pyarrow as pa
import pytest

from tabpe.backends import StoredTable
from tabpe.encoding import Encoder, Records, RecordSpace
from tabpe.encoding.records import draw_uniform_records
from tabpe.evolution import Evolution
from tabpe.evolution.marginal_prior import (
    NoisyMarginal,
    build_marginal_prior,
    choose_bins,
    choose_pairs,
)
from tabpe.evolution.proposals import MarginalProposal, UniformProposal, random_walk, vary_rows
from tabpe.schema import Boolean, Categorical, Float, Integer, Schema
from tabpe.synthesizers.base import smooth_numbers

MANY = 20_000
SPACE = RecordSpace(
    np.zeros(3), np.ones(3), np.zeros(3), np.array([3]), missing=np.array([0.0, 0.1, 1.0])
)
SCHEMA = Schema(
    (
        Float("pay", 0, 1000, nullable=True),
        Integer("children", 0, 4, nullable=True),
        Categorical("ward", ("a", "b", "c"), nullable=True),
        Boolean("ill"),
    ),
    label="ill",
)


def rng(seed=5):
    return np.random.default_rng(seed)


def test_random_rows_are_null_as_often_as_the_space_says():
    shares = np.isnan(draw_uniform_records(SPACE, MANY, rng()).numbers).mean(axis=0)
    assert shares == pytest.approx([0.0, 0.1, 1.0], abs=0.015)


def test_nothing_else_of_random_rows_depends_on_nulls():
    without = RecordSpace(SPACE.low, SPACE.high, SPACE.steps, SPACE.sizes)
    one, other = draw_uniform_records(SPACE, 100, rng()), draw_uniform_records(without, 100, rng())
    assert (one.codes == other.codes).all()
    known = ~np.isnan(one.numbers)
    assert (one.numbers[known] == other.numbers[known]).all()


@pytest.mark.parametrize("rate", [0.0, 0.2, 1.0])
def test_variation_enters_and_leaves_null(rate):
    numbers = np.column_stack([np.full(MANY, 0.5), np.arange(MANY) % 2, np.full(MANY, np.nan)])
    numbers[:, 1] = np.where(numbers[:, 1] == 0, np.nan, 0.5)
    moved = random_walk(Records(numbers, np.zeros((MANY, 1), np.uint8)), SPACE, rate, rng())
    was, is_null = np.isnan(numbers), np.isnan(moved.numbers)
    assert not is_null[:, 0].any()
    assert is_null[:, 2].all()
    entered, left = is_null[~was[:, 1], 1].mean(), (~is_null[was[:, 1], 1]).mean()
    assert entered == pytest.approx(0.1 * rate, abs=0.015)
    assert left == pytest.approx(0.9 * rate, abs=0.02)


def test_genetic_variation_enters_and_leaves_null():
    config = Evolution(operator="genetic")
    numbers = np.full((MANY, 3), [0.5, np.nan, np.nan])
    moved = vary_rows(Records(numbers, np.zeros((MANY, 1), np.uint8)), SPACE, 0.5, config, rng())
    assert not np.isnan(moved.numbers[:, 0]).any()
    assert np.isnan(moved.numbers[:, 1]).mean() == pytest.approx(1 - 0.5 * 0.9, abs=0.02)


def test_a_smoothed_copy_stays_null():
    rows = Records(np.array([[0.5, np.nan, np.nan]]), np.zeros((1, 1), np.uint8))
    among = draw_uniform_records(SPACE, 50, rng()).numbers
    moved = smooth_numbers(rows, np.zeros(1, int), [SPACE], 0.1, rng(), among=among)
    assert np.isnan(moved).tolist() == [[False, True, True]]


def private(size=MANY):
    """The ill have no pay half the time; no one of the others lacks it."""
    draws, ill = rng(1), rng(2).random(size) < 0.25
    pay, children = draws.exponential(60.0, size), draws.binomial(4, 0.2, size).astype(float)
    pay[ill & (draws.random(size) < 0.5)] = np.nan
    children[draws.random(size) < 0.1] = np.nan
    ward = np.where(draws.random(size) < 0.3, None, "b")
    return pa.table(
        {"pay": pay, "children": children, "ward": pa.array(ward, pa.string()), "ill": ill}
    )


def prior(schema=SCHEMA, data=None, sigma=1.0):
    encoder = Encoder(schema)
    rows, classes = encoder.encode(private() if data is None else data)
    bins = choose_bins(encoder, len(rows), sigma, by_class=encoder.class_count > 1)
    asked = [*bins.overall, *bins.by_class]
    exact = StoredTable([(rows, classes)]).count_marginals(asked)
    tables = [
        NoisyMarginal(one, counts.reshape(one.shape).astype(float), sigma)
        for one, counts in zip(asked, exact, strict=True)
    ]
    sizes = np.bincount(classes, minlength=encoder.class_count).astype(float)
    return build_marginal_prior(encoder, bins, tables, sizes, 0.0)


def test_rows_are_drawn_null_as_often_as_tables_of_their_class_say():
    drawn = prior().draw_rows(np.repeat([0, 1], MANY), rng())
    pay, children = np.isnan(drawn.numbers).reshape(2, MANY, 2).mean(axis=1).T
    assert pay == pytest.approx([0.02, 0.47], abs=0.03)
    assert children == pytest.approx([0.1, 0.1], abs=0.02)
    assert (drawn.codes == 3).mean() == pytest.approx(0.3, abs=0.02)


def test_ranks_are_those_of_numbers_that_there_are():
    transform = prior().build_rank_transform(1.0)
    half = np.nanmedian(private()["pay"].to_numpy()) / 1000
    rows = Records(np.array([[half, 0.0]]), np.zeros((1, 1), np.uint8))
    assert transform.transform_rows(rows).numbers[0, 0] == pytest.approx(0.5, abs=0.05)


def test_a_column_that_is_all_null_is_drawn_as_one():
    schema = Schema((Float("x", 0, 1, nullable=True),))
    found = prior(schema, pa.table({"x": pa.nulls(500, pa.float64())}))
    assert np.isnan(found.draw_rows(np.zeros(1000, int), rng()).numbers).mean() > 0.95
    found.build_rank_transform(0.5)


def test_a_marginal_step_enters_and_leaves_null():
    proposal = MarginalProposal(found := prior(), found.build_rank_transform(0.5))
    start = found.draw_rows(np.ones(MANY, int), rng(3))
    moved = proposal.mutate_rows(start, np.ones(MANY, int), 0.2, rng(4))
    was, now = np.isnan(start.numbers[:, 0]), np.isnan(moved.numbers[:, 0])
    assert now[~was].mean() == pytest.approx(0.2 * 0.47, abs=0.02)
    assert (~now[was]).mean() == pytest.approx(0.2 * 0.53, abs=0.02)


def test_the_label_stays_null_in_its_class_and_nowhere_else():
    columns = (Integer("x", 0, 9, nullable=True), Float("y", 0, 1))
    schema = Schema(columns, label="x", label_cuts=(5,))
    draws = rng(1)
    x = np.where(draws.random(2000) < 0.3, np.nan, draws.integers(0, 10, 2000))
    data = pa.table({"x": x, "y": draws.random(2000)})
    found, spaces = prior(schema, data), Encoder(schema).spaces
    for proposal in (
        UniformProposal(spaces),
        MarginalProposal(found, found.build_rank_transform(0.5)),
    ):
        for label in range(3):
            rows = proposal.draw_initial(label, 300, rng())
            rows = proposal.vary_rows(rows, label, 0.5, Evolution(), rng())
            assert (np.isnan(rows.numbers[:, 0]) == (label == 2)).all()
            assert not np.isnan(rows.numbers[:, 1]).any()


def test_nulls_keep_a_cell_of_their_own_in_coarse_tables_and_pairs():
    encoder = Encoder(SCHEMA)
    bins = choose_bins(encoder, rows=300, sigma=20, by_class=True)
    assert [axis.nullable for axis in bins.coarse[:2]] == [True, True]
    assert bins.groups[0][-1] == bins.coarse[0].size - 1
    rows, classes = encoder.encode(private(1000))
    for pair in choose_pairs(bins, rows=300, sigma=20):
        pair.find_cells(rows, classes)  # refuses cells that there are not
    pay = choose_pairs(bins, rows=300, sigma=20)[0].axes[-2]
    assert (pay.find_cells(rows, classes) == pay.size - 1).tolist() == np.isnan(
        rows.numbers[:, 0]
    ).tolist()
