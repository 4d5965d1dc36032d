"""Cells that follow noisy counts: atoms that are found, and bins where the rows are."""

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tabpe import Boolean, Categorical, Float, Integer, Posterior, Schema, TabPE
from tabpe.encoding import Encoder, RecordSpace
from tabpe.encoding.atoms import find_states
from tabpe.encoding.marginals import NumberAxis
from tabpe.evolution.adaptive_bins import MOST_ADAPTED, adapt_bins
from tabpe.evolution.marginal_prior import (
    ColumnPrior,
    MarginalPrior,
    NoisyMarginal,
    build_marginal_prior,
    choose_bins,
    list_atom_intervals,
)
from tabpe.evolution.proposals import MarginalProposal

ROWS = 20_000
SCHEMA = Schema(
    (
        Float("gain", 0.0, 50_000.0),
        Integer("hours", 1, 99),
        Float("score", -5.0, 5.0, nullable=True),
        Categorical("ward", ("a", "b", "c")),
        Boolean("ill"),
    ),
    label="ill",
)


def table(rows=ROWS, seed=0):
    rng = np.random.default_rng(seed)
    ill = rng.random(rows) < 0.4
    gain = np.where(rng.random(rows) < np.where(ill, 0.9, 0.5), 0.0, np.exp(rng.normal(6, 1, rows)))
    hours = np.where(rng.random(rows) < 0.4, 40, np.clip(np.rint(rng.normal(35, 12, rows)), 1, 99))
    score = np.clip(rng.standard_normal(rows), -5, 5)
    return pa.table(
        {
            "gain": np.clip(gain, 0, 50_000),
            "hours": hours.astype(np.int64),
            "score": pa.array(score, mask=rng.random(rows) < 0.1),
            "ward": rng.choice(["a", "b", "c"], rows),
            "ill": ill,
        }
    )


def count(marginals, rows, classes, sigma, rng):
    counts = (np.bincount(m.find_cells(rows, classes), minlength=m.size) for m in marginals)
    return [
        NoisyMarginal(m, (c + rng.normal(0, sigma, m.size)).reshape(m.shape), sigma)
        for m, c in zip(marginals, counts, strict=True)
    ]


def make_prior(*, sigma=40.0, even_mass=True, spikes=True, schema=SCHEMA, seed=0):
    encoder, rng = Encoder(schema), np.random.default_rng(seed)
    rows, classes = encoder.encode(table())
    by_class = encoder.class_count > 1
    bins = choose_bins(encoder, ROWS, sigma, by_class=by_class, spikes=spikes)
    first = count(bins.overall, rows, classes, sigma, rng)
    adapted = adapt_bins(bins, first, encoder.space, encoder.atoms, rows=ROWS, even_mass=even_mass)
    second = count(adapted.second, rows, classes, sigma, rng)
    sizes = np.bincount(classes, minlength=encoder.class_count).astype(float)
    prior = build_marginal_prior(
        encoder, adapted.bins, [*first, *second], sizes, 0.0, counts=adapted.split_counts(second)
    )
    return encoder, adapted, prior


def draw(prior, rows=ROWS):
    rng = np.random.default_rng(1)
    classes = rng.choice(len(prior.sizes), rows, p=prior.sizes / prior.sizes.sum())
    return prior.draw_rows(classes, rng)


@pytest.mark.parametrize("even_mass", [False, True])
def test_piles_are_found_and_nothing_else_is(even_mass):
    encoder, adapted, _ = make_prior(even_mass=even_mass)
    gain, hours, score, ward = adapted.bins.fine
    assert gain.atoms == (0.0,)
    assert hours.atoms == tuple(encoder.locate_numbers("hours", [40.0]))
    assert score.atoms == ()
    assert ward.size == 3


def test_noise_alone_is_no_pile():
    _, adapted, _ = make_prior(sigma=400.0)
    assert adapted.bins.fine[2].atoms == ()


def test_declared_values_are_atoms_without_a_search():
    columns = [Float("gain", 0.0, 50_000.0, special=(0.0, 7.0)), *SCHEMA.columns[1:]]
    _, adapted, prior = make_prior(spikes=False, schema=Schema(tuple(columns), label="ill"))
    assert len(adapted.bins.fine[0].atoms) == len(prior.atoms[0]) == 2
    assert prior.atoms[1:] == ((), ())


def test_drawn_rows_pile_up_as_often_as_real_ones_in_each_class():
    encoder, _, prior = make_prior()
    rng = np.random.default_rng(1)
    for label, share in ((0, 0.5), (1, 0.9)):
        rows = prior.draw_rows(np.full(ROWS, label), rng)
        at_zero = find_states(rows.numbers, prior.atoms)[:, 0] == 2
        assert at_zero.mean() == pytest.approx(share, abs=0.03)
    decoded = encoder.decode(rows, np.zeros(ROWS, np.int64))
    assert 0.35 < np.mean(decoded["hours"].to_numpy() == 40) < 0.46
    assert min(decoded["hours"].to_pylist()) >= 1


def test_even_mass_resolves_the_tail_within_one_bin():
    """Nine of ten gains above zero are in the first of 32 bins of equal width."""
    real = table()["gain"].to_numpy()
    wanted = np.quantile(real[real > 0], [0.25, 0.5, 0.75])
    errors = []
    for even_mass in (False, True):
        encoder, _, prior = make_prior(even_mass=even_mass)
        decoded = encoder.decode(draw(prior), np.zeros(ROWS, np.int64))["gain"].to_numpy()
        found = np.quantile(decoded[decoded > 0], [0.25, 0.5, 0.75])
        errors.append(float(np.abs(np.log(found / wanted)).max()))
    assert errors[1] < 0.3 < 1.5 * errors[1] < errors[0]


def test_cells_are_a_partition_and_cuts_are_off_the_grid():
    encoder, adapted, _ = make_prior()
    rows, classes = encoder.encode(table())
    for index, (fine, coarse, groups, parents) in enumerate(
        zip(
            adapted.bins.fine,
            adapted.bins.coarse,
            adapted.bins.groups,
            adapted.parents,
            strict=True,
        )
    ):
        cells = fine.find_cells(rows, classes)
        assert (groups[cells] == coarse.find_cells(rows, classes)).all()
        assert len(groups) == len(parents) == fine.size
        assert groups.max() == coarse.size - 1
        assert len(adapted.counts[index]) == parents.max() + 1
    hours = adapted.bins.fine[1]
    steps = np.array(hours.cuts) * 98
    assert (np.abs(steps - np.rint(steps)) > 0.4).all()
    assert adapted.bins.coarse[0].bins <= 2 * MOST_ADAPTED


def test_without_classes_the_second_counts_are_of_all_rows():
    schema = Schema(SCHEMA.columns)
    _, adapted, prior = make_prior(schema=schema)
    assert [len(m.axes) for m in adapted.second] == [1] * 5
    assert adapted.bins.classes is None
    assert find_states(draw(prior).numbers, prior.atoms)[:, 0].max() == 2


@pytest.mark.parametrize("label", ["ill", None])
@pytest.mark.parametrize(
    "change", [{"spikes": True}, {"adaptive_bins": True}, {"spikes": True, "adaptive_bins": True}]
)
def test_a_release_keeps_piles_where_they_are_searched_for(label, change):
    schema = Schema(SCHEMA.columns, label=label)
    small = Posterior(rounds=2, candidates=200, pool=4000, last_sweeps=10, **change)
    model = TabPE(epsilon=3.0, delta=1e-5, n_samples=4000, preset=small, random_state=0, verbose=0)
    found = model.fit(table(), schema).sample()
    share = float(np.mean(found["gain"].to_numpy() == 0))
    real = float(np.mean(table()["gain"].to_numpy() == 0))
    assert (abs(share - real) < 0.04) == ("spikes" in change)
    assert model.certificate.epsilon <= 3.0


def walk(prior, *, by_rank, rate, times=1, rows=ROWS):
    """Return rows drawn from a prior, and the same rows after some steps."""
    proposal = MarginalProposal(prior, prior.build_rank_transform(by_rank))
    drawn, rng = draw(prior, rows), np.random.default_rng(2)
    moved, classes = drawn, np.zeros(rows, np.int64)
    for _ in range(times):
        moved = proposal.mutate_rows(moved, classes, rate, rng)
    return drawn, moved


def test_a_tiny_step_neither_leaves_an_atom_nor_comes_to_one():
    _, _, prior = make_prior()
    before, after = (
        find_states(r.numbers, prior.atoms) for r in walk(prior, by_rank=0.5, rate=1e-9)
    )
    assert (before == after).mean() > 0.999


@pytest.mark.parametrize("by_rank", [0.0, 0.5, 1.0])
def test_numbers_walk_out_of_atoms_and_into_them(by_rank):
    _, _, prior = make_prior()
    before, after = (
        find_states(r.numbers, prior.atoms) for r in walk(prior, by_rank=by_rank, rate=0.1)
    )
    for column in (0, 1):
        there, then = before[:, column] > 1, after[:, column] > 1
        assert 0.02 < np.mean(there & ~then) < 0.2
        assert 0.02 < np.mean(~there & then) < 0.2


def test_steps_along_ranks_keep_the_share_of_an_atom():
    _, _, prior = make_prior()
    before, after = (
        find_states(r.numbers, prior.atoms) > 1 for r in walk(prior, by_rank=1.0, rate=0.2, times=8)
    )
    # Sampling alone moves a share by less than 0.004, at six standard deviations by 0.021.
    assert before[:, :2].mean(axis=0) == pytest.approx(after[:, :2].mean(axis=0), abs=0.03)


def test_a_number_beside_an_atom_is_clearly_beside_it():
    _, _, prior = make_prior()
    _, moved = walk(prior, by_rank=0.5, rate=0.1)
    for interval in list_atom_intervals(prior, prior.build_rank_transform(0.5)):
        column = moved.numbers[:, interval.column]
        inside = (column >= interval.low) & (column <= interval.high)
        assert (column[inside] == interval.place).all()


@given(
    places=st.lists(st.integers(0, 40), max_size=8, unique=True),
    bins=st.integers(1, 41),
    steps=st.sampled_from([0.0, 40.0]),
    by_rank=st.floats(0, 1),
    seed=st.integers(0, 2**16),
)
def test_any_atoms_have_rooms_as_long_as_their_shares(places, bins, steps, by_rank, seed):
    cuts = tuple(((np.arange(1, bins) * 40 // bins) + 0.5) / 40) if bins < 41 else ()
    axis = NumberAxis("x", 0, tuple(sorted(set(cuts))), (), atoms=tuple(p / 40 for p in places))
    shares = np.random.default_rng(seed).dirichlet(np.ones(axis.bins + len(places)))
    space = RecordSpace(np.zeros(1), np.ones(1), np.array([steps]), np.empty(0, np.int64))
    prior = MarginalPrior(np.ones(1), (ColumnPrior(axis, shares, shares[None]),), (space,), ())
    transform = prior.build_rank_transform(by_rank)
    intervals = list_atom_intervals(prior, transform)
    assert len(intervals) == len(places)
    held = dict(zip(axis.atoms, shares[axis.bins :], strict=True))
    for interval in intervals:
        assert interval.end - interval.begin == pytest.approx(
            held[interval.place]
            + (1 - shares[axis.bins :].sum()) * own(interval, axis, shares, by_rank),
            abs=1e-9,
        )
    assert all(one.high <= other.low + 1e-12 for one, other in pairwise(intervals))


def own(interval, axis, shares, by_rank):
    """The part of other numbers that would be in the interval of an atom by its length alone."""
    ends = np.array([0.0, *axis.cuts, 1.0])
    ranks = np.append(0.0, np.cumsum(shares[: axis.bins] / shares[: axis.bins].sum()))
    low, high = np.interp([interval.low, interval.high], ends, ranks)
    return by_rank * (high - low) + (1 - by_rank) * (interval.high - interval.low)
