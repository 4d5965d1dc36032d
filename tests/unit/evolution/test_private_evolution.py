"""The rounds: which populations are voted on, and what comes out."""

import dataclasses

import numpy as np
import pytest

from tabpe.accounting import Spend
from tabpe.encoding import RecordSpace
from tabpe.evolution import PRESETS, Evolution, evolve
from tabpe.evolution.proposals import UniformProposal
from tabpe.measurement import NoisyCounts

SPACE = RecordSpace(np.zeros(2), np.ones(2), np.array([0.0, 10.0]), np.array([4, 3]))
SHORT = Evolution(rounds=4, sampling_rounds=1)


class Ballot:
    """Votes by a rule of the candidates alone, and remembers every population."""

    def __init__(self, rule=lambda rows: np.rint(100 * rows.numbers[:, 0])):
        self.rule, self.populations = rule, []

    def __call__(self, population, index):
        """Return the votes of a round."""
        self.populations.append(population)
        values = [self.rule(rows).astype(np.int64) for rows in population]
        return NoisyCounts(values, Spend("votes", 2.5, 1))

    @property
    def sizes(self):
        """How many candidates each class had, round by round."""
        return [[len(rows) for rows in population] for population in self.populations]


def run(sizes=(6, 4), config=SHORT, ballot=None, seed=0, **options):
    ballot = ballot or Ballot()
    return evolve(
        UniformProposal([SPACE] * len(sizes)), sizes, config, ballot, seed=seed, **options
    ), ballot


def plain(evolved):
    return [(rows.numbers.tolist(), rows.codes.tolist()) for rows in evolved.classes]


def test_the_paper_votes_on_n_candidates_and_from_the_seventh_round_on_four_times_n():
    _, ballot = run((10, 7), PRESETS["paper"])
    assert ballot.sizes == [[10, 7]] * 6 + [[40, 28]] * 9


def test_the_published_code_grows_a_round_earlier():
    _, ballot = run((10,), PRESETS["reference"])
    assert ballot.sizes == [[10]] * 5 + [[40]] * 9


@pytest.mark.parametrize("preset", ["paper", "reference"])
def test_there_is_one_vote_a_round(preset):
    _, ballot = run(config=PRESETS[preset])
    assert len(ballot.populations) == PRESETS[preset].rounds


@pytest.mark.parametrize("selection", ["two-stage", "sampling", "ranking"])
@pytest.mark.parametrize("operator", ["random-walk", "genetic"])
@pytest.mark.parametrize("sizes", [(6, 4), (0, 3), (1, 0), (1,), (0,)])
def test_each_class_gets_its_size(sizes, selection, operator):
    config = dataclasses.replace(SHORT, selection=selection, operator=operator)
    evolved, _ = run(sizes, config)
    assert tuple(map(len, evolved.classes)) == sizes


def test_a_class_that_nobody_votes_for_still_evolves():
    evolved, _ = run(ballot=Ballot(lambda rows: np.zeros(len(rows))))
    assert list(map(len, evolved.classes)) == [6, 4]


def test_a_class_under_negative_noise_still_evolves():
    evolved, _ = run(ballot=Ballot(lambda rows: np.full(len(rows), -9)))
    assert list(map(len, evolved.classes)) == [6, 4]


def test_a_single_round_selects_among_the_first_candidates():
    evolved, ballot = run(config=Evolution(rounds=1))
    first = ballot.populations[0][0]
    assert {tuple(row) for row in evolved.classes[0].numbers} <= {tuple(r) for r in first.numbers}


def test_the_output_is_the_selection_of_the_last_round():
    evolved, ballot = run()
    last = ballot.populations[-1][0]
    best = last.numbers[np.argsort(-np.rint(100 * last.numbers[:, 0]), kind="stable")[:6]]
    assert evolved.classes[0].numbers.tolist() == best.tolist()


def test_kept_parents_stand_unchanged_behind_their_variations():
    _, ballot = run((5,), Evolution(rounds=3, selection="ranking", mutation_final=0.5))
    before, after = (population[0] for population in ballot.populations[:2])
    order = np.argsort(-np.rint(100 * before.numbers[:, 0]), kind="stable")[:5]
    assert after.numbers[-5:].tolist() == before.numbers[order].tolist()
    assert after.codes[-5:].tolist() == before.codes[order].tolist()


def test_votes_pull_the_population_where_they_are():
    evolved, _ = run((40,), PRESETS["paper"])
    assert evolved.classes[0].numbers[:, 0].mean() > 0.95


def test_the_same_seed_gives_the_same_rows():
    assert plain(run(seed=3)[0]) == plain(run(seed=3)[0])
    assert plain(run(seed=3)[0]) != plain(run(seed=4)[0])


def test_classes_are_drawn_apart():
    first = run()[1].populations[0]
    assert first[0].numbers[:4].tolist() != first[1].numbers.tolist()


def test_a_class_does_not_depend_on_the_size_of_another():
    assert plain(run((6, 4))[0])[0] == plain(run((6, 9))[0])[0]


def test_the_history_holds_public_and_noisy_quantities_alone():
    evolved, _ = run()
    keys = {
        "round",
        "selection",
        "mutation_rate",
        "sigma",
        "population",
        "noisy_votes_total",
        "noisy_votes_largest",
    }
    assert {frozenset(entry) for entry in evolved.history} == {frozenset(keys)}
    assert [entry["round"] for entry in evolved.history] == [1, 2, 3, 4]
    assert [entry["population"] for entry in evolved.history] == [10, 10, 40, 40]
    assert {entry["sigma"] for entry in evolved.history} == {2.5}


def test_the_history_tells_what_each_round_did():
    evolved, _ = run()
    assert [entry["selection"] for entry in evolved.history] == ["sampling"] * 2 + ["ranking"] * 2
    rates = [entry["mutation_rate"] for entry in evolved.history]
    assert rates == pytest.approx([0.5 - 0.48 * (t / 4) ** 0.2 for t in range(4)])


def test_the_history_of_nobody_is_zero():
    evolved, _ = run((0,))
    assert {entry["noisy_votes_total"] for entry in evolved.history} == {0}


def test_progress_is_told_before_each_round():
    told = []
    run(on_round=told.append)
    assert told == [0, 1, 2, 3]
