"""Calibration: shares of the budget, and the guarantee that all spends meet together."""

import math

import pytest

from exact_losses import exact_delta
from tabpe.accounting import (
    ROW_LEVEL,
    Adjacency,
    NeighboringRelation,
    Spend,
    calibrate_sigma,
    compose_epsilon,
)
from tabpe.accounting.calibration import BudgetShare, calibrate_spends, scale_shares
from tabpe.accounting.pld import solve_gaussian_mu
from tabpe.accounting.recount import recount_epsilon
from tabpe.accounting.spend import EXPONENTIAL
from tabpe.errors import BudgetError, ParameterError

REPLACED = NeighboringRelation(Adjacency.REPLACE_ONE)
USERS = NeighboringRelation(max_rows=3)
RELATIONS = [ROW_LEVEL, REPLACED, USERS]
COUNTS = Spend("class counts", 40.0, times=1)


def tilted(rounds, tilt, times=1):
    weights = [math.exp(tilt * index / max(1, rounds - 1)) for index in range(rounds)]
    return tuple(
        BudgetShare(f"round {index}", weight / sum(weights), times)
        for index, weight in enumerate(weights)
    )


@pytest.mark.parametrize("neighbours", RELATIONS)
@pytest.mark.parametrize("besides", [(), (COUNTS,)])
@pytest.mark.parametrize(
    "parts", [tilted(1, 0), tilted(3, 2), tilted(15, 1, times=4), tilted(60, -2)]
)
def test_a_plan_keeps_the_guarantee_and_wastes_little(parts, besides, neighbours):
    spends = (*besides, *calibrate_spends(parts, 1.0, 1e-6, neighbours, besides))
    certified = compose_epsilon(spends, 1e-6, neighbours)
    assert 0.9995 < certified <= 1.0
    assert recount_epsilon(spends, 1e-6, neighbours) == pytest.approx(certified, rel=5e-4)


@pytest.mark.parametrize("neighbours", [ROW_LEVEL, REPLACED])
@pytest.mark.parametrize("epsilon", [2.0, 6.0])
def test_the_true_delta_of_unequal_noise_is_within_the_guarantee(epsilon, neighbours):
    items = calibrate_spends(tilted(2, 1.5), epsilon, 1e-5, neighbours)
    assert exact_delta(items, epsilon, neighbours) <= 1e-5
    less = [Spend(item.name, 0.9 * item.sigma, item.times) for item in items]
    assert exact_delta(less, epsilon, neighbours) > 1e-5


@pytest.mark.parametrize("neighbours", RELATIONS)
def test_shares_are_parts_of_what_the_others_leave(neighbours):
    parts = (BudgetShare("tables", 0.25, 8), BudgetShare("votes", 0.75, 15))
    tables, votes = calibrate_spends(parts, 1.0, 1e-6, neighbours, [COUNTS])
    assert votes.loss == pytest.approx(3 * tables.loss)
    whole = COUNTS.loss + tables.loss + votes.loss
    known = solve_gaussian_mu(1.0, 1e-6) ** 2 / neighbours.squared_distance
    assert whole == pytest.approx(known, rel=2e-3)


def test_spends_keep_names_times_and_mechanisms():
    parts = (BudgetShare("tables", 0.5, 8), BudgetShare("choices", 0.5, 7, EXPONENTIAL))
    items = calibrate_spends(parts, 1.0, 1e-6)
    assert [(item.name, item.times, item.mechanism) for item in items] == [
        (part.name, part.times, part.mechanism) for part in parts
    ]


def test_the_last_round_of_a_tilted_plan_gets_the_budget_that_was_said():
    items = calibrate_spends(tilted(10, 2.0), 1.0, 1e-6)
    assert items[-1].loss / items[0].loss == pytest.approx(math.exp(2.0))


def test_four_votes_of_a_row_take_twice_the_noise():
    (one,) = calibrate_spends([BudgetShare("votes", 1.0, 8)], 1.0, 1e-6)
    (four,) = calibrate_spends([BudgetShare("votes", 1.0, 32)], 1.0, 1e-6)
    assert four.sigma == pytest.approx(2 * one.sigma, rel=1e-3)


def test_a_part_that_is_cut_in_two_gets_the_same_noise():
    (whole,) = calibrate_spends([BudgetShare("votes", 1.0, 10)], 1.0, 1e-6)
    for half in calibrate_spends([BudgetShare("a", 0.3, 3), BudgetShare("b", 0.7, 7)], 1.0, 1e-6):
        assert half.sigma == pytest.approx(whole.sigma, rel=5e-4)


def test_calibration_is_a_plan_of_one_part():
    (item,) = calibrate_spends([BudgetShare("votes", 1.0, 15)], 0.7, 1e-6, REPLACED, [COUNTS])
    assert item.sigma == calibrate_sigma(0.7, 1e-6, 15, REPLACED, other_spends=[COUNTS])


def test_a_plan_of_nothing_takes_nothing():
    assert calibrate_spends((), 1.0, 1e-6, other_spends=[COUNTS]) == ()


def test_parts_of_a_method_that_gets_a_share_of_the_whole():
    parts = scale_shares(tilted(3, 1.0, times=2), 0.4)
    assert sum(part.share for part in parts) == pytest.approx(0.4)
    assert [part.times for part in parts] == [2, 2, 2]


@pytest.mark.parametrize("shares", [(0.5, 0.4), (0.5, 0.6), (1.0, 0.0), (1.5, -0.5), (math.nan, 1)])
def test_shares_must_make_up_the_whole(shares):
    parts = [BudgetShare(str(place), share) for place, share in enumerate(shares)]
    with pytest.raises(ParameterError, match="shares"):
        calibrate_spends(parts, 1.0, 1e-6)


def test_a_list_of_spends_that_leaves_nothing_is_refused_by_the_name_of_what_gets_nothing():
    with pytest.raises(BudgetError, match="leave nothing for round 0"):
        calibrate_spends(tilted(4, 1.0), 1.0, 1e-6, other_spends=[Spend("tables", 0.5, times=1)])


def test_a_share_too_small_for_any_table_is_refused_by_the_name_of_its_part():
    parts = (BudgetShare("tables", 1e-12), BudgetShare("votes", 1 - 1e-12, 15))
    with pytest.raises(ParameterError, match=r"epsilon=1: tables would need noise of sigma="):
        calibrate_spends(parts, 1.0, 1e-6)


def test_selections_are_planned_for_rows_alone():
    parts = (BudgetShare("tables", 0.5, 8), BudgetShare("choices", 0.5, 7, EXPONENTIAL))
    with pytest.raises(ParameterError, match="adjacency"):
        calibrate_spends(parts, 1.0, 1e-6, REPLACED)
