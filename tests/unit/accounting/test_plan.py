"""From a promise to noise: the shares of a plan, and the promise that all of it keeps."""

import math

import pytest

from exact_losses import exact_delta
from tabpe.accounting import ROWS, Adjacency, BillItem, Neighbours, calibrate, composed_epsilon
from tabpe.accounting.calibration import Part, items_for, scaled
from tabpe.accounting.pld import gaussian_mu
from tabpe.accounting.recount import recounted_epsilon
from tabpe.accounting.spend import EXPONENTIAL
from tabpe.errors import BudgetError, ParameterError

REPLACED = Neighbours(Adjacency.REPLACE_ONE)
USERS = Neighbours(max_rows=3)
RELATIONS = [ROWS, REPLACED, USERS]
COUNTS = BillItem("class counts", 40.0, times=1)


def tilted(rounds, tilt, times=1):
    weights = [math.exp(tilt * index / max(1, rounds - 1)) for index in range(rounds)]
    return tuple(
        Part(f"round {index}", weight / sum(weights), times) for index, weight in enumerate(weights)
    )


@pytest.mark.parametrize("neighbours", RELATIONS)
@pytest.mark.parametrize("besides", [(), (COUNTS,)])
@pytest.mark.parametrize(
    "parts", [tilted(1, 0), tilted(3, 2), tilted(15, 1, times=4), tilted(60, -2)]
)
def test_a_plan_keeps_the_promise_and_wastes_little(parts, besides, neighbours):
    bill = (*besides, *items_for(parts, 1.0, 1e-6, neighbours, besides))
    certified = composed_epsilon(bill, 1e-6, neighbours)
    assert 0.9995 < certified <= 1.0
    assert recounted_epsilon(bill, 1e-6, neighbours) == pytest.approx(certified, rel=5e-4)


@pytest.mark.parametrize("neighbours", [ROWS, REPLACED])
@pytest.mark.parametrize("epsilon", [2.0, 6.0])
def test_the_true_delta_of_unequal_noise_is_within_the_promise(epsilon, neighbours):
    items = items_for(tilted(2, 1.5), epsilon, 1e-5, neighbours)
    assert exact_delta(items, epsilon, neighbours) <= 1e-5
    less = [BillItem(item.name, 0.9 * item.sigma, item.times) for item in items]
    assert exact_delta(less, epsilon, neighbours) > 1e-5


@pytest.mark.parametrize("neighbours", RELATIONS)
def test_shares_are_parts_of_what_the_others_leave(neighbours):
    parts = (Part("tables", 0.25, 8), Part("votes", 0.75, 15))
    tables, votes = items_for(parts, 1.0, 1e-6, neighbours, [COUNTS])
    assert votes.loss == pytest.approx(3 * tables.loss)
    whole = COUNTS.loss + tables.loss + votes.loss
    known = gaussian_mu(1.0, 1e-6) ** 2 / neighbours.squared_distance
    assert whole == pytest.approx(known, rel=2e-3)


def test_items_keep_names_times_and_mechanisms():
    parts = (Part("tables", 0.5, 8), Part("choices", 0.5, 7, EXPONENTIAL))
    items = items_for(parts, 1.0, 1e-6)
    assert [(item.name, item.times, item.mechanism) for item in items] == [
        (part.name, part.times, part.mechanism) for part in parts
    ]


def test_the_last_round_of_a_tilted_plan_gets_the_budget_that_was_said():
    items = items_for(tilted(10, 2.0), 1.0, 1e-6)
    assert items[-1].loss / items[0].loss == pytest.approx(math.exp(2.0))


def test_four_votes_of_a_row_take_twice_the_noise():
    (one,) = items_for([Part("votes", 1.0, 8)], 1.0, 1e-6)
    (four,) = items_for([Part("votes", 1.0, 32)], 1.0, 1e-6)
    assert four.sigma == pytest.approx(2 * one.sigma, rel=1e-3)


def test_a_part_that_is_cut_in_two_gets_the_same_noise():
    (whole,) = items_for([Part("votes", 1.0, 10)], 1.0, 1e-6)
    for half in items_for([Part("a", 0.3, 3), Part("b", 0.7, 7)], 1.0, 1e-6):
        assert half.sigma == pytest.approx(whole.sigma, rel=5e-4)


def test_calibration_is_a_plan_of_one_part():
    (item,) = items_for([Part("votes", 1.0, 15)], 0.7, 1e-6, REPLACED, [COUNTS])
    assert item.sigma == calibrate(0.7, 1e-6, 15, REPLACED, besides=[COUNTS])


def test_a_plan_of_nothing_takes_nothing():
    assert items_for((), 1.0, 1e-6, besides=[COUNTS]) == ()


def test_parts_of_a_method_that_gets_a_share_of_the_whole():
    parts = scaled(tilted(3, 1.0, times=2), 0.4)
    assert sum(part.share for part in parts) == pytest.approx(0.4)
    assert [part.times for part in parts] == [2, 2, 2]


@pytest.mark.parametrize("shares", [(0.5, 0.4), (0.5, 0.6), (1.0, 0.0), (1.5, -0.5), (math.nan, 1)])
def test_shares_must_make_up_the_whole(shares):
    parts = [Part(str(place), share) for place, share in enumerate(shares)]
    with pytest.raises(ParameterError, match="shares"):
        items_for(parts, 1.0, 1e-6)


def test_a_bill_that_leaves_nothing_is_refused_by_the_name_of_what_gets_nothing():
    with pytest.raises(BudgetError, match="leave nothing for round 0"):
        items_for(tilted(4, 1.0), 1.0, 1e-6, besides=[BillItem("tables", 0.5, times=1)])


def test_a_share_too_small_for_any_table_is_refused_by_the_name_of_its_part():
    parts = (Part("tables", 1e-12), Part("votes", 1 - 1e-12, 15))
    with pytest.raises(ParameterError, match=r"epsilon=1: tables would need noise of sigma="):
        items_for(parts, 1.0, 1e-6)


def test_choices_are_planned_for_rows_alone():
    parts = (Part("tables", 0.5, 8), Part("choices", 0.5, 7, EXPONENTIAL))
    with pytest.raises(ParameterError, match="adjacency"):
        items_for(parts, 1.0, 1e-6, REPLACED)
