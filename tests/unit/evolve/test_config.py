"""Settings and presets."""

import dataclasses
import math

import pytest

from tabpe.errors import ParameterError
from tabpe.evolve import PRESETS, Evolution, Posterior, plain, strategy_from, strategy_of


def test_the_default_is_the_paper():
    assert Evolution() == PRESETS["paper"] == strategy_of("paper")


def test_the_paper_preset_has_the_defaults_of_the_paper():
    paper = PRESETS["paper"]
    assert (paper.rounds, paper.sampling_rounds, paper.variations) == (15, 5, 3)
    assert (paper.mutation_init, paper.mutation_final, paper.gamma) == (0.5, 0.02, 0.2)
    assert paper.category_weight == pytest.approx(1 / 3)


def test_the_reference_preset_is_the_published_code():
    reference = PRESETS["reference"]
    assert (reference.rounds, reference.sampling_rounds, reference.horizon) == (14, 4, 15)
    assert reference.mutation_final == 0.01
    assert reference.category_weight == pytest.approx(2 * (1 / 3) ** 2)
    assert reference.step == "uniform"


def test_settings_stay_as_they_are():
    own = Evolution(rounds=3)
    assert strategy_of(own) is own


@pytest.mark.parametrize("preset", ["papr", "", None, 3, {"rounds": 3}])
def test_an_unknown_preset_is_refused(preset):
    with pytest.raises(ParameterError, match="preset="):
        strategy_of(preset)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("rounds", 0),
        ("rounds", 2.0),
        ("rounds", True),
        ("sampling_rounds", -1),
        ("variations", 0),
        ("mutation_init", 1.1),
        ("mutation_init", math.nan),
        ("mutation_final", -0.1),
        ("gamma", 0),
        ("gamma", math.inf),
        ("schedule", "cosine"),
        ("horizon", 14),
        ("category_weight", 0),
        ("category_weight", math.nan),
        ("step", "cauchy"),
        ("operator", "walk"),
        ("selection", "both"),
    ],
)
def test_a_setting_outside_its_range_is_refused_by_name(name, value):
    with pytest.raises(ParameterError, match=f"{name}="):
        Evolution(**{name: value})


def test_settings_can_not_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        PRESETS["paper"].rounds = 3


def test_ranks_need_tables():
    with pytest.raises(ParameterError, match=r"by_rank=0\.5: .* tables"):
        Evolution(by_rank=0.5)


def test_the_genetic_operator_takes_no_tables():
    with pytest.raises(ParameterError, match=r"tables=0\.1: .*random-walk"):
        Evolution(tables=0.1, operator="genetic")


def test_a_tilt_puts_each_round_on_the_bill():
    asked = Evolution(rounds=3, votes=2, tilt=1.0).asked(columns=5, classes=2)
    assert [part.name for part in asked.rest] == [f"votes, round {r}" for r in (1, 2, 3)]
    assert [part.times for part in asked.rest] == [2, 2, 2]
    assert asked.rest[2].share / asked.rest[0].share == pytest.approx(math.e)
    assert math.fsum(part.share for part in asked.rest) == pytest.approx(1)
    assert [asked.votes_of(index) for index in range(3)] == [part.name for part in asked.rest]


def test_too_many_tilted_rounds_are_refused():
    with pytest.raises(ParameterError, match="rounds=201: expected at most 200 with a tilt"):
        Evolution(rounds=201, tilt=1.0)


def test_a_bill_has_a_histogram_for_each_vote_of_a_row_and_two_tables_a_column():
    asked = PRESETS["best"].asked(columns=7, classes=3)
    assert [(part.name, part.times) for part in asked.first] == [("tables of columns", 14)]
    assert [(part.name, part.times) for part in asked.rest] == [("votes", 32)]
    assert PRESETS["best"].asked(columns=7, classes=1).first[0].times == 7


def test_a_table_without_columns_beside_the_label_has_votes_alone():
    assert PRESETS["best"].asked(columns=0, classes=2).first == ()


@pytest.mark.parametrize("columns", [40, 41, 196, 784])
def test_in_a_wide_table_what_is_left_after_the_trial_pays_for_all_tables(columns):
    best = PRESETS["best"]
    asked = best.asked(columns, classes=10)
    (part,) = asked.rest
    left = part.times - asked.trial * best.votes * asked.repeats
    assert part.times == best.rounds * best.votes * asked.repeats
    assert asked.first[0].times <= left < asked.first[0].times + best.rounds * best.votes


@pytest.mark.parametrize("strategy", [*PRESETS.values(), Evolution(tilt=2.0), Posterior(pool=9)])
def test_a_strategy_survives_a_file(strategy):
    assert strategy_from(plain(strategy)) == strategy


def test_a_file_with_another_strategy_is_refused():
    with pytest.raises(ParameterError, match="strategy="):
        strategy_from({"strategy": "annealing"})
