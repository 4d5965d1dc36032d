"""Settings and presets."""

import dataclasses
import math

import pytest

from tabpe.errors import ParameterError
from tabpe.evolution import (
    PRESETS,
    Evolution,
    Posterior,
    parse_strategy,
    resolve_strategy,
    serialize_strategy,
)
from tabpe.evolution.config import COLUMNS, PAIRS


def test_the_default_is_the_paper():
    assert Evolution() == PRESETS["paper"] == resolve_strategy("paper")


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
    assert resolve_strategy(own) is own


@pytest.mark.parametrize("preset", ["papr", "", None, 3, {"rounds": 3}])
def test_an_unknown_preset_is_refused(preset):
    with pytest.raises(ParameterError, match="preset="):
        resolve_strategy(preset)


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
    with pytest.raises(ParameterError, match=r"by_rank=0\.5: .*tables"):
        Evolution(by_rank=0.5)


def test_the_genetic_operator_takes_no_tables():
    with pytest.raises(ParameterError, match=r"tables=0\.1: .*random-walk"):
        Evolution(tables=0.1, operator="genetic")


def test_a_tilt_puts_each_round_on_the_list_of_spends():
    asked = Evolution(rounds=3, votes=2, tilt=1.0).plan_queries(columns=5, classes=2)
    assert [part.name for part in asked.rest] == [f"votes, round {r}" for r in (1, 2, 3)]
    assert [part.times for part in asked.rest] == [2, 2, 2]
    assert asked.rest[2].share / asked.rest[0].share == pytest.approx(math.e)
    assert math.fsum(part.share for part in asked.rest) == pytest.approx(1)
    assert [asked.get_votes_name(index) for index in range(3)] == [part.name for part in asked.rest]


def test_too_many_tilted_rounds_are_refused():
    with pytest.raises(ParameterError, match="rounds=201: expected at most 200 with a tilt"):
        Evolution(rounds=201, tilt=1.0)


def test_spends_include_a_histogram_for_each_vote_of_a_row_and_two_tables_a_column():
    asked = PRESETS["best"].plan_queries(columns=7, classes=3)
    assert [(part.name, part.times) for part in asked.first] == [("1-way marginals", 14)]
    assert [(part.name, part.times) for part in asked.rest] == [("votes", 32)]
    assert PRESETS["best"].plan_queries(columns=7, classes=1).first[0].times == 7


def test_a_table_without_columns_beside_the_label_has_votes_alone():
    assert PRESETS["best"].plan_queries(columns=0, classes=2).first == ()


@pytest.mark.parametrize(
    ("columns", "listed", "asks"),
    [
        (2, 1, True),
        (2, 0, False),
        (5, 5, True),
        (5, 3, True),
        (5, 2, False),
        (6, 3, True),
        (6, 2, False),
        (39, 20, True),
        (39, 19, False),
        (40, 40, False),
        (200, 200, False),
        (1, 1, False),
        (0, 0, False),
    ],
)
def test_pairs_are_asked_for_where_half_of_a_few_columns_are_listed(columns, listed, asks):
    names = [part.name for part in PRESETS["best"].plan_queries(columns, 2, listed).first]
    assert (PAIRS in names) == asks
    assert (COLUMNS in names) == (columns > 0)


@pytest.mark.parametrize("columns", [2, 3, 7, 39])
@pytest.mark.parametrize("classes", [1, 2, 10])
def test_every_pair_of_columns_is_one_histogram_whatever_the_classes(columns, classes):
    singles, pairs = PRESETS["best"].plan_queries(columns, classes, listed=columns).first
    assert (pairs.name, pairs.times) == (PAIRS, math.comb(columns, 2))
    assert singles.times == columns * (1 if classes == 1 else 2)


def test_pairs_take_their_part_beside_that_of_single_columns():
    asked = Posterior(tables=0.2, pairs=0.3).plan_queries(columns=4, classes=2, listed=4)
    assert [(part.name, part.share) for part in asked.first] == [(COLUMNS, 0.2), (PAIRS, 0.3)]
    assert [(part.name, part.share, part.times) for part in asked.rest] == [("votes", 1.0, 32)]
    assert asked.histograms == 8 + 6 + 32


@pytest.mark.parametrize(
    ("config", "listed"), [(PRESETS["best"], 1), (Posterior(pairs=0), 4), (Posterior(pairs=0), 0)]
)
def test_without_pairs_a_strategy_asks_what_it_asks_of_numbers(config, listed):
    assert config.plan_queries(4, 2, listed) == PRESETS["best"].plan_queries(4, 2)


@pytest.mark.parametrize("listed", [0, 3, 6])
def test_evolution_asks_for_no_pairs(listed):
    config = Evolution(tables=0.2)
    assert config.plan_queries(6, 2, listed) == config.plan_queries(6, 2)


@pytest.mark.parametrize(("tables", "pairs"), [(0.1, 0.4), (0.5, 0.1), (1e-3, 0.9)])
def test_without_votes_tables_and_pairs_share_all_of_the_budget(tables, pairs):
    asked = Posterior(rounds=0, tables=tables, pairs=pairs).plan_queries(
        columns=5, classes=2, listed=5
    )
    assert asked.first == ()
    assert [(part.name, part.times) for part in asked.rest] == [(COLUMNS, 10), (PAIRS, 10)]
    shares = [part.share for part in asked.rest]
    assert math.fsum(shares) == pytest.approx(1)
    assert shares[1] / shares[0] == pytest.approx(pairs / tables)


@pytest.mark.parametrize(("columns", "listed"), [(5, 2), (1, 1), (40, 40)])
def test_without_votes_and_pairs_tables_take_all_of_the_budget(columns, listed):
    (part,) = Posterior(rounds=0).plan_queries(columns, 2, listed).rest
    assert (part.name, part.times) == (COLUMNS, 2 * columns)
    assert part.share == pytest.approx(1)


@pytest.mark.parametrize(("tables", "pairs"), [(0.6, 0.4), (0.5, 0.5), (0.9, 0.9)])
def test_tables_and_pairs_that_leave_nothing_for_the_votes_are_refused(tables, pairs):
    with pytest.raises(ParameterError, match=rf"tables={tables}, pairs={pairs}: .*for the votes"):
        Posterior(tables=tables, pairs=pairs)


@pytest.mark.parametrize("pairs", [-0.1, 1, 1.5, math.nan, math.inf, "0.4", None, True])
def test_pairs_that_are_no_part_of_a_budget_are_refused_by_name(pairs):
    with pytest.raises(ParameterError, match="pairs="):
        Posterior(pairs=pairs)


@pytest.mark.parametrize("columns", [40, 41, 196, 784])
def test_in_a_wide_table_what_is_left_after_the_trial_pays_for_all_tables(columns):
    best = PRESETS["best"]
    asked = best.plan_queries(columns, classes=10)
    (part,) = asked.rest
    left = part.times - asked.trial * best.votes * asked.repeats
    assert part.times == best.rounds * best.votes * asked.repeats
    assert asked.first[0].times <= left < asked.first[0].times + best.rounds * best.votes


@pytest.mark.parametrize(
    "strategy", [*PRESETS.values(), Evolution(tilt=2.0), Posterior(pool=9), Posterior(pairs=0.2)]
)
def test_a_strategy_survives_a_file(strategy):
    assert parse_strategy(serialize_strategy(strategy)) == strategy


def test_a_file_with_another_strategy_is_refused():
    with pytest.raises(ParameterError, match="strategy="):
        parse_strategy({"strategy": "annealing"})
