"""The posterior strategy: it finds what 1-way marginals can not say, and uses all votes."""

import dataclasses

import numpy as np
import pyarrow as pa
import pytest

from tabpe.accounting import Spend
from tabpe.backends import StoredTable
from tabpe.encoding import Encoder, Records
from tabpe.errors import ParameterError
from tabpe.evolution import Posterior, fit_posterior
from tabpe.evolution.marginal_prior import NoisyMarginal, build_marginal_prior, choose_bins
from tabpe.evolution.posterior import PopulationSizes, compute_mutation_rate
from tabpe.evolution.proposals import MarginalProposal
from tabpe.measurement import NoisyCounts
from tabpe.schema import Boolean, Categorical, Float, Schema

SCHEMA = Schema(
    (Float("x", 0, 1), Float("y", 0, 1), Categorical("side", ("left", "right")), Boolean("odd")),
    label="odd",
)
CONFIG = Posterior(rounds=4, pool=3000, candidates=300)
EXTENT = PopulationSizes(candidates=300, pool=3000, rows=2000)


def table(size=4000):
    """The class is odd where x and y are on different sides, which no single column tells."""
    rng = np.random.default_rng(0)
    x, y = rng.random(size), rng.random(size)
    side = np.where(x < 0.5, "left", "right")
    return pa.table({"x": x, "y": y, "side": side, "odd": (x < 0.5) != (y < 0.5)})


class Scene:
    """Private rows, the proposal that exact tables of them give, and votes under a little noise."""

    def __init__(self, config=CONFIG, data=None, sigma=3.0):
        self.config, self.sigma, self.asked = config, sigma, []
        encoder = Encoder(SCHEMA)
        rows, classes = encoder.encode(table() if data is None else data)
        bins = choose_bins(encoder, len(rows), sigma, by_class=encoder.class_count > 1)
        asked = [*bins.overall, *bins.by_class]
        tables = [
            NoisyMarginal(one, counts.reshape(one.shape).astype(float), sigma)
            for one, counts in zip(
                asked, StoredTable([(rows, classes)]).count_marginals(asked), strict=True
            )
        ]
        prior = build_marginal_prior(
            encoder, bins, tables, np.bincount(classes, minlength=2) * 1.0, 0.0
        )
        self.proposal = MarginalProposal(prior, prior.build_rank_transform(config.by_rank))
        self.engine = StoredTable(
            [(self.proposal.rank_transform.transform_rows(rows), classes)],
            classes=2,
            category_weight=config.category_weight,
        )

    def vote(self, population, index):
        """Return the votes of a round; the noise is the same in every run."""
        self.asked.append(population)
        rng = np.random.default_rng(index)
        exact = self.engine.count_votes(population, None, self.config.votes)
        noisy = [part + np.rint(rng.normal(0, self.sigma, len(part))) for part in exact]
        item = Spend("votes", self.sigma, self.config.votes)
        return NoisyCounts([part.astype(np.int64) for part in noisy], item)

    def run(self, **options):
        """Fit a pool and draw rows from it."""
        given = {"extent": EXTENT, "normalised": False, "seed": 0} | options
        return fit_posterior(self.proposal, self.config, self.vote, **given)


def right(evolved):
    """Which part of the rows has the class that its numbers imply."""
    odd = [(part.numbers[:, 0] < 0.5) != (part.numbers[:, 1] < 0.5) for part in evolved.classes]
    return (np.sum(~odd[0]) + np.sum(odd[1])) / sum(map(len, evolved.classes))


def plain(evolved):
    return [(rows.numbers.tolist(), rows.codes.tolist()) for rows in evolved.classes]


def test_it_learns_what_no_single_column_tells():
    assert right(Scene().run()) > 0.9
    assert right(Scene(dataclasses.replace(CONFIG, rounds=0)).run()) < 0.6


def test_no_round_is_forgotten():
    """With most of the noise in the last round, what the first ones said still counts."""
    scene = Scene()
    plain_vote = scene.vote

    def vote(population, index):
        scene.sigma = 3.0 if index < 3 else 3000.0
        return plain_vote(population, index)

    scene.vote = vote
    assert right(scene.run()) > 0.85


def test_labels_that_noise_has_blurred_are_sharpened():
    """Noise puts one row in twelve among rows of the other class here."""
    blurred, sharp, sharper = (
        right(Scene(dataclasses.replace(CONFIG, sharpness=power), sigma=50.0).run())
        for power in (0.0, 1.0, 4.0)
    )
    assert blurred + 0.01 < sharp < sharper


@pytest.mark.parametrize("power", [1.0, 4.0])
def test_sharper_labels_leave_classes_and_columns_as_they_were(power):
    evolved = Scene(dataclasses.replace(CONFIG, sharpness=power)).run()
    sizes = table()["odd"].value_counts().to_pandas().map(lambda each: each["counts"])
    assert sorted(map(len, evolved.classes)) == pytest.approx(sorted(sizes / 2), abs=1)
    numbers = Records.concat(evolved.classes).numbers
    assert numbers.mean(axis=0) == pytest.approx(table_means(), abs=0.02)


def test_sharper_labels_leave_each_class_in_its_place():
    """Half of one class lies among the other; 1-way marginals by class say that it does."""
    rng = np.random.default_rng(1)
    x, y, odd = rng.random(4000), rng.random(4000), np.arange(4000) % 2 == 0
    x = np.where(odd, x, x / 2)
    side = np.where(x < 0.5, "left", "right")
    data = pa.table({"x": x, "y": y, "side": side, "odd": odd})
    evolved = Scene(dataclasses.replace(CONFIG, sharpness=4.0), data=data).run()
    assert evolved.classes[1].numbers[:, 0].mean() == pytest.approx(0.5, abs=0.02)


def test_only_votes_are_sharpened():
    """1-way marginals tell nothing that could be."""
    alone = dataclasses.replace(CONFIG, rounds=0)
    assert plain(Scene(alone).run()) == plain(Scene(dataclasses.replace(alone, sharpness=0)).run())


def test_columns_are_as_the_tables_say():
    evolved = Scene().run()
    rows = Records.concat(evolved.classes)
    assert rows.numbers.mean(axis=0) == pytest.approx(table_means(), abs=0.02)
    assert np.mean(rows.codes[:, 0] == (rows.numbers[:, 0] >= 0.5)) > 0.9


def table_means():
    return [float(np.mean(table()[name].to_numpy())) for name in ("x", "y")]


def test_the_same_seed_and_noise_give_the_same_rows():
    first, second, other = Scene().run(), Scene().run(), Scene().run(seed=1)
    assert plain(first) == plain(second) != plain(other)
    assert first.history == second.history


@pytest.mark.parametrize("size", [1, 2, 777, 10_000])
def test_any_number_of_rows_comes_out(size):
    extent = dataclasses.replace(EXTENT, rows=size)
    evolved = Scene(dataclasses.replace(CONFIG, rounds=1)).run(extent=extent)
    assert sum(map(len, evolved.classes)) == size


def test_candidates_are_different_and_as_many_as_asked_for():
    scene = Scene()
    scene.run()
    assert len(scene.asked) == CONFIG.rounds
    for population in scene.asked:
        assert 200 < sum(map(len, population)) <= 300
        for part in population:
            cells = np.concatenate([part.numbers, part.codes], axis=1)
            assert len(np.unique(cells, axis=0)) == len(part)


def test_small_classes_have_candidates_for_all_votes_of_a_row():
    data = table()
    few = data.filter(pa.array(~data["odd"].to_numpy())).slice(0, 1900)
    data = pa.concat_tables([few, data.filter(data["odd"]).slice(0, 15)])
    scene = Scene(data=data)
    scene.run(extent=dataclasses.replace(EXTENT, candidates=20))
    assert all(len(population[1]) >= CONFIG.votes for population in scene.asked)


def test_a_class_without_rows_gets_none():
    data = table()
    evolved = Scene(data=data.filter(pa.array(~data["odd"].to_numpy()))).run()
    assert [len(part) for part in evolved.classes] == [2000, 0]


def test_votes_of_users_say_only_how_rows_are_divided():
    """Votes that add up to something else than rows give the same rows, if that is known."""
    scene = Scene()
    exact = scene.engine.count_votes
    scene.engine.count_votes = lambda *asked: [3 * part for part in exact(*asked)]
    assert right(scene.run(normalised=True)) > 0.9


def test_the_residual_falls_towards_the_noise():
    residuals = [entry["residual"] for entry in Scene(sigma=20.0).run().history]
    assert residuals[0] > 5 * residuals[-1]
    assert 0.5 < residuals[-1] < 4


def test_rounds_are_told_as_they_begin():
    told = []
    Scene().run(on_round=told.append)
    assert told == [0, 1, 2, 3]


def test_the_history_holds_plain_values():
    for entry in Scene().run().history:
        assert {type(value) for value in entry.values()} <= {int, float, str}


def test_moves_become_smaller_by_equal_factors():
    config = Posterior(rounds=5)
    rates = [compute_mutation_rate(config, index) for index in range(5)]
    assert np.ptp(np.diff(np.log(rates))) < 1e-12
    assert (rates[0], rates[-1]) == pytest.approx((config.mutation_init, config.mutation_final))


@pytest.mark.parametrize(
    "wrong",
    [
        {"rounds": -1},
        {"votes": 0},
        {"votes": 17},
        {"tables": 0},
        {"tables": 1},
        {"by_rank": 1.5},
        {"candidates": 0},
        {"pool": 0},
        {"mutation_init": 0},
        {"mutation_final": 2},
        {"kept": -1},
        {"spread": 0},
        {"sweeps": 0},
        {"last_sweeps": 1.5},
        {"category_weight": 0},
        {"sharpness": -0.1},
        {"sharpness": float("nan")},
    ],
)
def test_settings_are_checked(wrong):
    (name,) = wrong
    with pytest.raises(ParameterError, match=f"{name}="):
        Posterior(**wrong)


def test_a_trial_ends_where_votes_say_nothing_about_later_votes():
    scene = Scene()
    told = iter(range(10))
    exact = scene.engine.count_votes

    def misleading(*asked):
        rng = np.random.default_rng(next(told))
        return [
            rng.permutation(part) + 50 * rng.integers(0, 2, len(part)) for part in exact(*asked)
        ]

    scene.engine.count_votes = misleading
    evolved = scene.run(trial=2)
    assert (evolved.votes_help, evolved.classes, len(evolved.history)) == (False, [], 2)


def test_a_trial_goes_on_where_votes_help():
    tried, untried = Scene().run(trial=2), Scene().run()
    assert tried.votes_help
    assert plain(tried) == plain(untried)


def test_declared_sizes_of_classes_are_kept():
    scene = Scene()
    prior = dataclasses.replace(scene.proposal.prior, sizes=np.array([1000.0, 3000.0]))
    scene.proposal = MarginalProposal(prior, scene.proposal.rank_transform)
    assert [len(part) for part in scene.run().classes] == pytest.approx([500, 1500], abs=1)
