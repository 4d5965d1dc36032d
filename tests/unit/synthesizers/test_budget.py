"""From a request to agreed noise: at which price, and what is refused."""

import dataclasses
import math

import pytest

from requests_made import REPLACED, REQUEST, SHARES, USERS, established
from tabpe.accounting import (
    ROW_LEVEL,
    Account,
    NeighboringRelation,
    Spend,
    calibrate_sigma,
    compose_epsilon,
)
from tabpe.accounting.calibration import BudgetShare
from tabpe.accounting.pld import compute_release_delta, solve_gaussian_mu
from tabpe.errors import BudgetError, ParameterError
from tabpe.evolution import PRESETS, Evolution, Posterior, QueryPlan
from tabpe.evolution.config import COLUMNS, PAIRS
from tabpe.schema import PartialSchema
from tabpe.synthesizers.budget import (
    RELEASE_SHARE,
    agree_on_first,
    agree_on_rest,
    check_noise,
    compute_schema_cost,
    compute_spent_epsilon,
    compute_spent_sampling_delta,
    is_adaptive,
    plan_counts,
    plan_spends,
)
from tabpe.synthesizers.options import PublicFacts

GAPS = PartialSchema.from_schema(None).complete_columns(
    {"age": "int64", "ward": "string", "bmi": "double"}, estimate=None
)


def votes(times):
    return QueryPlan((), (BudgetShare("votes", 1.0, times),))


def agree_on_votes(request, facts, rounds, account):
    (item,) = agree_on_rest(request, facts, account, votes(rounds).rest).values()
    return item


@pytest.mark.parametrize("neighbours", [ROW_LEVEL, REPLACED])
@pytest.mark.parametrize("part", [0.02, 0.3])
def test_counts_take_their_part_of_the_budget(part, neighbours):
    _, account, _ = established(class_budget=part, neighbours=neighbours)
    loss = neighbours.squared_distance * account.authorized[0].loss
    assert loss == pytest.approx(part * solve_gaussian_mu(1.0, 1e-6) ** 2)


@pytest.mark.parametrize("neighbours", [ROW_LEVEL, REPLACED])
@pytest.mark.parametrize("changes", [{}, {"delta": None}, {"shares": SHARES}])
def test_votes_get_the_rest_and_the_spends_stays_within_the_request(changes, neighbours):
    facts, account, _ = established(neighbours=neighbours, **changes)
    request = dataclasses.replace(REQUEST, neighbours=neighbours, **changes)
    item = agree_on_votes(request, facts, 15, account)
    assert account.authorized[-1] == item == Spend("votes", item.sigma, 15)
    total = compose_epsilon(account.authorized, facts.calibration_delta, neighbours)
    assert 0.99 < total <= 1.0
    assert compose_epsilon(account.authorized, facts.delta, neighbours) <= 1.0


@pytest.mark.parametrize(
    ("epsilon", "rounds"), [(0.5, 1), (3.0, 1), (4.0, 2), (10.0, 15), (30.0, 15)]
)
def test_a_noisy_delta_is_accounted_for_as_noise_that_follows_answers(epsilon, rounds):
    """A fixed plan of little noise would cost less; see `test_gaussian_dp`."""
    facts, account, _ = established(delta=None, epsilon=epsilon)
    request = dataclasses.replace(REQUEST, delta=None, epsilon=epsilon)
    agree_on_votes(request, facts, rounds, account)
    total = compose_epsilon(account.authorized, facts.calibration_delta, adaptive=True)
    assert 0.99 * epsilon < total <= epsilon


def finished(rounds, agreed=3):
    facts, account, _ = established(shares=SHARES)
    agree_on_votes(REQUEST, facts, agreed, account)
    for _ in range(rounds):
        account.charge("votes")
    return facts, account


def test_the_spent_epsilon_is_that_of_the_spends():
    facts, account = finished(3)
    assert 0.99 < compute_spent_epsilon(REQUEST, facts, account) <= 1.0


def test_a_run_that_measured_less_than_agreed_is_not_certified():
    facts, account = finished(2)
    with pytest.raises(BudgetError, match="differ"):
        compute_spent_epsilon(REQUEST, facts, account)


def test_a_spends_above_the_request_is_not_certified():
    facts, account = finished(3)
    with pytest.raises(BudgetError, match="the spends compose to"):
        compute_spent_epsilon(dataclasses.replace(REQUEST, epsilon=0.9), facts, account)


# A sampling error of which the part of delta shows: 0.9% of 1e-6 for 16 histograms.
INEXACT = 0.009 * 1e-6 / 16 / (1 + math.e)


@pytest.fixture
def inexact(monkeypatch):
    """Noise that is so far from what is composed that it shows; returns what sets how far."""

    def put(sampling_error):
        monkeypatch.setattr(NeighboringRelation, "sampling_error", sampling_error)

    put(INEXACT)
    return put


@pytest.mark.parametrize("changes", [{}, {"shares": SHARES, "size": None}])
def test_what_inexact_noise_takes_is_kept_back_from_the_votes(inexact, changes):
    facts, account, _ = established(**changes)
    request = dataclasses.replace(REQUEST, **changes)
    agree_on_votes(request, facts, 15, account)
    assert len(account.authorized) == 2
    assert 0.999 < compose_epsilon(account.authorized, 0.99101e-6) <= 1.0


def test_what_inexact_noise_takes_is_kept_back_from_a_delta_that_follows_a_noisy_count(inexact):
    """Spends and sampling error share the delta of y + k: theorems 1 and 2 of the proofs."""
    facts, account, _ = established(delta=None)
    request = dataclasses.replace(REQUEST, delta=None)
    inexact(0.009 * facts.calibration_delta / 16 / (1 + math.e))
    agree_on_votes(request, facts, 15, account)
    assert 0.999 < compose_epsilon(account.authorized, 0.99101 * facts.calibration_delta) <= 1.0


def test_two_cells_of_a_histogram_take_twice(inexact):
    inexact(INEXACT / 2)
    facts, account, _ = established(neighbours=REPLACED)
    request = dataclasses.replace(REQUEST, neighbours=REPLACED)
    agree_on_votes(request, facts, 15, account)
    total = compose_epsilon(account.authorized, 0.99101e-6, REPLACED)
    assert 0.999 < total <= 1.0


def test_a_spends_that_leaves_nothing_for_inexact_noise_is_not_certified(inexact):
    inexact(0.0)
    facts, account = finished(15, agreed=15)
    assert compute_spent_epsilon(REQUEST, facts, account) <= 1.0
    inexact(INEXACT)
    with pytest.raises(BudgetError, match="the spends compose to"):
        compute_spent_epsilon(REQUEST, facts, account)


def test_the_sampling_error_that_is_stated_counts_every_histogram(inexact):
    facts, account, _ = established()
    agree_on_votes(REQUEST, facts, 15, account)
    for _ in range(15):
        account.charge("votes")
    assert compute_spent_sampling_delta(REQUEST, account) == pytest.approx(0.009e-6)
    assert compute_spent_epsilon(REQUEST, facts, account) <= 1.0
    inexact(0.0)
    assert compute_spent_sampling_delta(REQUEST, account) == 0


def test_noise_for_rows_is_calibrated_at_delta_itself():
    facts, account, _ = established()
    counts = account.authorized
    item = agree_on_votes(REQUEST, facts, 15, account)
    assert item.sigma == calibrate_sigma(1.0, 1e-6, 15, other_spends=counts)


def test_noise_that_takes_too_much_of_delta_is_refused(inexact):
    inexact(1.15 * INEXACT)
    facts, account, _ = established()
    with pytest.raises(ParameterError, match="unit: noise for users"):
        agree_on_votes(REQUEST, facts, 15, account)
    with pytest.raises(ParameterError, match="unit: noise for users"):
        check_noise(REQUEST, 3, votes(15))
    check_noise(REQUEST, 1, votes(15))  # no class counts: 15 histograms instead of 16


@pytest.mark.parametrize(
    "changes",
    [
        {"delta": None},
        {"delta": None, "rows": 10**9},
        {"epsilon": 0.01},
        {"epsilon": 1e4},
        {"epsilon": 1e-3, "delta": None},
        {"epsilon": 0.01, "class_budget": 1e-4},
        {"delta": 1e-12},
    ],
)
def test_noise_serves_every_guarantee_of_which_a_table_would_show_something(changes):
    check_noise(dataclasses.replace(REQUEST, **changes), 3, votes(15))


def test_votes_that_noise_would_drown_are_refused_before_a_row_is_read():
    request = dataclasses.replace(REQUEST, epsilon=1e-6, shares=SHARES)
    with pytest.raises(ParameterError, match="votes would need noise"):
        check_noise(request, 3, votes(15))


@pytest.mark.parametrize("neighbours", [ROW_LEVEL, REPLACED, USERS])
@pytest.mark.parametrize("changes", [{}, {"size": None}, {"shares": SHARES, "size": None}])
def test_counts_share_their_part_of_the_budget(neighbours, changes):
    request = dataclasses.replace(REQUEST, neighbours=neighbours, **changes)
    loss = sum(item.loss for item in plan_counts(request, 3).values())
    whole = solve_gaussian_mu(1.0, 1e-6) ** 2
    assert loss * neighbours.squared_distance == pytest.approx(0.02 * whole)


def test_a_schema_costs_its_part_of_the_budget_and_of_delta():
    price = compute_schema_cost(dataclasses.replace(REQUEST, schema_budget=0.05), 1e-6)
    assert price["loss"] == pytest.approx(0.05 * solve_gaussian_mu(1.0, 1e-6) ** 2)
    assert price["delta_share"] == pytest.approx(0.05e-6)


@pytest.mark.parametrize("neighbours", [ROW_LEVEL, REPLACED, USERS])
@pytest.mark.parametrize("outline", [None, GAPS])
@pytest.mark.parametrize("epsilon", [0.3, 2.0])
def test_the_plan_is_within_the_request_and_close_to_it(neighbours, outline, epsilon):
    request = dataclasses.replace(
        REQUEST,
        epsilon=epsilon,
        neighbours=neighbours,
        schema_budget=0.0 if outline is None else 0.05,
        size=None,
    )
    spends = plan_spends(request, 2, votes(15), outline)
    assert 0.99 * epsilon < compose_epsilon(spends, 1e-6, neighbours) <= epsilon
    assert spends[-1].times == 15
    if outline is not None:
        assert compute_release_delta(spends, neighbours) <= 0.05e-6


@pytest.mark.parametrize("rows", [20, 10_000, 10**9])
@pytest.mark.parametrize("neighbours", [ROW_LEVEL, USERS])
def test_without_a_delta_the_plan_is_at_least_what_any_table_costs(rows, neighbours):
    request = dataclasses.replace(REQUEST, neighbours=neighbours, delta=None)
    plan = plan_spends(request, 2, votes(15))
    known = dataclasses.replace(request, rows=rows)
    real = plan_spends(known, 2, votes(15))[-1]
    assert plan[-1].sigma <= real.sigma * (1 + 1e-3)


@pytest.mark.parametrize("epsilon", [0.5, 8.0])
def test_a_default_delta_serves_users(epsilon):
    request = dataclasses.replace(REQUEST, neighbours=USERS, delta=None, epsilon=epsilon)
    check_noise(request, 2, votes(15))


def test_a_budget_that_leaves_nothing_for_the_votes_is_refused():
    request = dataclasses.replace(REQUEST, schema_budget=0.6, class_budget=0.4)
    with pytest.raises(ParameterError, match="nothing is left for the votes"):
        check_noise(request, 2, votes(15))


def test_the_plan_of_a_run_has_a_place_for_what_its_schema_costs():
    request = dataclasses.replace(REQUEST, schema_budget=0.05)
    outline = PartialSchema.from_schema(None).complete_columns(
        {"age": "int64", "ward": "string"}, estimate=None
    )
    spends = plan_spends(request, 1, votes(15), outline)
    (schema,) = (item for item in spends if item.name == "schema")
    assert schema.loss == pytest.approx(0.05 * solve_gaussian_mu(1.0, 1e-6) ** 2)
    assert schema.times * schema.delta_share == pytest.approx(RELEASE_SHARE * 1e-6)
    assert compose_epsilon(spends, 1e-6) <= 1.0


TABLES = (BudgetShare("columns", 0.05, 6), BudgetShare("columns by class", 0.05, 6))
TILTED = Evolution(tables=0.1, tilt=2.0, votes=3).plan_queries(columns=6, classes=3)


@pytest.mark.parametrize("neighbours", [ROW_LEVEL, REPLACED, USERS])
def test_first_tables_take_fixed_parts_of_the_whole_budget(neighbours):
    request = dataclasses.replace(REQUEST, neighbours=neighbours)
    account = Account()
    items = tuple(agree_on_first(request, TABLES, account).values())
    assert items == account.authorized
    whole = solve_gaussian_mu(1.0, 1e-6) ** 2 / neighbours.squared_distance
    assert [item.loss for item in items] == pytest.approx([0.05 * whole] * 2)
    assert [item.times for item in items] == [6, 6]


@pytest.mark.parametrize("neighbours", [ROW_LEVEL, REPLACED])
@pytest.mark.parametrize("changes", [{}, {"delta": None}])
def test_the_rest_gets_what_counts_and_first_tables_leave(changes, neighbours):
    facts, account, _ = established(neighbours=neighbours, **changes)
    request = dataclasses.replace(REQUEST, neighbours=neighbours, **changes)
    agree_on_first(request, TILTED.first, account)
    items = tuple(agree_on_rest(request, facts, account, TILTED.rest).values())
    assert account.authorized[-15:] == items
    assert len(account.authorized) == 1 + 1 + 15
    total = compose_epsilon(account.authorized, facts.calibration_delta, neighbours)
    assert 0.999 < total <= 1.0
    assert items[-1].loss == pytest.approx(math.exp(2.0) * items[0].loss)


@pytest.mark.parametrize("neighbours", [ROW_LEVEL, USERS])
@pytest.mark.parametrize("outline", [None, GAPS])
@pytest.mark.parametrize(
    ("config", "listed"),
    [
        (PRESETS["best"], 0),
        (PRESETS["best"], 6),
        (Posterior(rounds=0), 0),
        (Posterior(rounds=0), 6),
        (Evolution(votes=2, tilt=1.0, tables=0.2), 0),
    ],
)
def test_the_plan_of_every_strategy_is_within_the_request_and_close_to_it(
    config, listed, outline, neighbours
):
    request = dataclasses.replace(
        REQUEST,
        neighbours=neighbours,
        schema_budget=0.0 if outline is None else 0.05,
        counts_rows=config.needs_rows,
    )
    asked = config.plan_queries(columns=6, classes=2, listed=listed)
    check_noise(request, 2, asked)
    spends = plan_spends(request, 2, asked, outline)
    assert 0.999 < compose_epsilon(spends, 1e-6, neighbours) <= 1.0
    times = {item.name: item.times for item in spends}
    assert all(times[part.name] == part.times for part in (*asked.first, *asked.rest))
    assert times.get(PAIRS, 0) == (15 if listed else 0)


@pytest.mark.parametrize("neighbours", [ROW_LEVEL, REPLACED, USERS])
def test_pairs_take_their_part_of_the_budget_from_the_votes(neighbours):
    request = dataclasses.replace(REQUEST, neighbours=neighbours, counts_rows=True)

    def losses(listed):
        asked = PRESETS["best"].plan_queries(columns=6, classes=2, listed=listed)
        spends = plan_spends(request, 2, asked)
        return {item.name: item.loss * neighbours.squared_distance for item in spends}

    whole = solve_gaussian_mu(1.0, 1e-6) ** 2
    with_pairs, without = losses(6), losses(0)
    assert with_pairs[PAIRS] == pytest.approx(0.4 * whole)
    assert with_pairs[COLUMNS] == without[COLUMNS] == pytest.approx(0.1 * whole)
    less = without["votes"] - with_pairs["votes"]
    assert less == pytest.approx(0.4 * whole, rel=0.01)


@pytest.mark.parametrize("each", [1, 4])
@pytest.mark.parametrize("settings", [Posterior(), Evolution(), Evolution(tilt=1.0)])
def test_every_vote_of_a_row_is_on_the_spends(settings, each):
    config = dataclasses.replace(settings, rounds=8, votes=each)
    spends = plan_spends(REQUEST, 1, config.plan_queries(columns=3, classes=1))
    assert sum(item.times for item in spends if item.name.startswith("votes")) == 8 * each


def test_every_vote_and_every_first_table_takes_its_part_of_delta(inexact):
    """16 histograms take 0.9% of it: a table, and five rounds of three votes."""
    asked = QueryPlan((BudgetShare("columns", 0.1, 1),), (BudgetShare("votes", 1.0, 15),))
    facts, account, _ = established(shares=SHARES)
    agree_on_first(REQUEST, asked.first, account)
    agree_on_rest(REQUEST, facts, account, asked.rest)
    assert 0.999 < compose_epsilon(account.authorized, 0.99101e-6) <= 1.0
    inexact(1.15 * INEXACT)
    with pytest.raises(ParameterError, match="unit: noise for users"):
        check_noise(REQUEST, 1, asked)
    check_noise(REQUEST, 1, QueryPlan((), asked.rest))


def test_a_strategy_that_asks_for_nothing_more_leaves_the_spends_as_it_is():
    facts, account, _ = established()
    check_noise(REQUEST, 3, QueryPlan((), ()))
    assert agree_on_rest(REQUEST, facts, account, ()) == {}
    assert len(account.authorized) == 1


@pytest.mark.parametrize(
    ("changes", "tables"),
    [
        ({"class_budget": 0.7}, 0.3),
        ({"class_budget": 0.5, "schema_budget": 0.4}, 0.1),
        ({"class_budget": 0.2, "schema_budget": 0.4}, 0.9),
    ],
)
def test_tables_that_leave_nothing_for_the_votes_are_refused(changes, tables):
    request = dataclasses.replace(REQUEST, **changes)
    asked = Evolution(tables=tables).plan_queries(columns=4, classes=2)
    with pytest.raises(ParameterError, match=rf"class_budget=.*tables={tables:g}: .*the votes"):
        check_noise(request, 2, asked)
    # Without a class to count, its part is left.
    check_noise(dataclasses.replace(REQUEST, class_budget=0.9), 1, asked)


def test_pairs_that_leave_nothing_for_the_votes_are_refused():
    request = dataclasses.replace(REQUEST, class_budget=0.5)
    few, all_listed = (
        Posterior().plan_queries(columns=4, classes=2, listed=many) for many in (1, 4)
    )
    with pytest.raises(ParameterError, match=r"class_budget=0\.5, .*the votes"):
        check_noise(request, 2, all_listed)
    check_noise(request, 2, few)


def test_first_tables_that_noise_would_drown_are_refused_before_a_row_is_read():
    asked = Evolution(tables=1e-10).plan_queries(columns=4, classes=1)
    with pytest.raises(ParameterError, match="marginals would need noise"):
        check_noise(REQUEST, 1, asked)


UNKNOWN = PartialSchema.from_schema(None).complete_columns(
    {"ward": "string", "age": "string"}, estimate=None
)
KINDS = Spend("kinds of columns", 200.0, 2)
PATHS = {
    "values of both": Spend("categories", 100.0, 2, 2e-8),
    "bounds of both": Spend("bounds, powers of two", 100.0, 2),
    "neither": None,
}


@pytest.mark.parametrize("path", PATHS)
def test_what_comes_off_delta_does_not_follow_from_answers_about_the_schema(path):
    """Each is calibrated as if values had been asked for, which take a part of delta."""
    request = dataclasses.replace(REQUEST, schema_budget=0.05)
    facts = PublicFacts(None, (), 1e-6, 1e-6)
    account = Account()
    for item in (KINDS, PATHS[path]):
        if item is not None:
            account.authorize(item)
    agree_on_rest(request, facts, account, votes(15).rest, partial_schema=UNKNOWN)
    silent = [dataclasses.replace(item, delta_share=0.0) for item in account.authorized]
    told = compute_release_delta(account.authorized, ROW_LEVEL)
    total = compose_epsilon(silent, 1e-6 - max(RELEASE_SHARE * 1e-6, told), adaptive=True)
    assert 0.999 < total <= 1.0


def test_where_noise_follows_answers_the_limit_is_stated_and_not_what_was_spent():
    request = dataclasses.replace(REQUEST, schema_budget=0.05)
    assert is_adaptive(request)
    assert not is_adaptive(REQUEST)
    facts, account = PublicFacts(None, (), 1e-6, 1e-6), Account()
    account.authorize(Spend("votes", 30.0, 1))
    account.charge("votes")
    assert compute_spent_epsilon(request, facts, account) == request.epsilon
    assert compute_spent_epsilon(REQUEST, facts, account) < 0.5


@pytest.mark.parametrize("tilt", [0.0, 2.0, 8.0])
def test_a_noisy_delta_may_have_rounds_of_little_noise(tilt):
    changes = {"delta": None, "epsilon": 8.0}
    facts, account, _ = established(**changes)
    request = dataclasses.replace(REQUEST, **changes)
    parts = Evolution(tilt=tilt).plan_queries(columns=4, classes=3).rest
    agree_on_rest(request, facts, account, parts)
    assert compose_epsilon(account.authorized, facts.calibration_delta, adaptive=True) <= 8.0
