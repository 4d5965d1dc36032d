"""From a request to agreed noise: what is bought, at which price, and what is refused."""

import dataclasses
import math

import numpy as np
import pytest

from tabpe import measure
from tabpe.budget import (
    TOLD_SHARE,
    Request,
    agree_on_votes,
    check_noise,
    count_items,
    counts_to_buy,
    establish_facts,
    normalised_shares,
    planned_bill,
    schema_price,
    spent_epsilon,
    spent_slack,
)
from tabpe.errors import BudgetError, ParameterError
from tabpe.privacy import (
    ROWS,
    Account,
    Adjacency,
    BillItem,
    FakeNoise,
    Neighbours,
    OpenDPNoise,
    TableNoise,
    calibrate,
    composed_epsilon,
)
from tabpe.privacy.accounting import gaussian_mu, told_chance
from tabpe.schema import Outline


class CountingEngine:
    """Three classes of 5,000, 3,000 and 2,000 rows."""

    def __init__(self):
        self.calls = 0

    scale = 1

    def row_count(self):
        """Return the number of rows."""
        return self.class_counts().sum(keepdims=True)

    def class_counts(self):
        """Return the rows of each class."""
        self.calls += 1
        return np.array([5000, 3000, 2000])


REPLACED = Neighbours(Adjacency.REPLACE_ONE)
ASKED = Request(
    epsilon=1.0,
    delta=1e-6,
    neighbours=ROWS,
    class_budget=0.02,
    schema_budget=0.0,
    rows=None,
    shares=None,
    size=100,
)


def established(classes=3, noise=None, **changes):
    request, account = dataclasses.replace(ASKED, **changes), Account()
    engine = CountingEngine()
    for item in count_items(request, classes).values():
        account.agree(item)
    source = noise or FakeNoise(strength=0)
    buy = {
        "class counts": lambda: measure.class_counts(engine, classes, account, source),
        "row count": lambda: measure.row_count(engine, account, source),
    }
    bought = {name: buy[name]() for name in counts_to_buy(request, classes)}
    return establish_facts(request, bought), account, engine


def names(account):
    return [item.name for item in account.spent]


SHARES = (0.5, 0.3, 0.2)


@pytest.mark.parametrize(
    ("changes", "bought"),
    [
        ({}, ["class counts"]),
        ({"delta": None}, ["class counts"]),
        ({"size": None}, ["class counts"]),
        ({"rows": 10_000}, ["class counts"]),
        ({"shares": SHARES}, []),
        ({"shares": SHARES, "delta": None}, ["row count"]),
        ({"shares": SHARES, "size": None}, ["row count"]),
        ({"shares": SHARES, "delta": None, "rows": 10_000}, []),
        ({"shares": SHARES, "size": None, "rows": 10_000}, []),
        ({"classes": 1}, []),
        ({"classes": 1, "delta": None}, ["row count"]),
        ({"classes": 1, "size": None}, ["row count"]),
        ({"classes": 1, "delta": None, "size": None, "rows": 10_000}, []),
    ],
)
def test_what_is_not_declared_is_bought_and_nothing_else(changes, bought):
    _, account, engine = established(**changes)
    assert names(account) == bought
    assert account.spent == account.agreed
    assert engine.calls == len(bought)


def test_bought_counts_become_the_weights():
    facts, *_ = established()
    assert facts.weights == (5000.0, 3000.0, 2000.0)


def test_declared_shares_become_the_weights():
    facts, *_ = established(shares=SHARES)
    assert facts.weights == SHARES


def test_one_class_weighs_all():
    facts, *_ = established(classes=1)
    assert facts.weights == (1.0,)


def test_a_given_delta_is_promised_and_calibrated_at():
    facts, *_ = established(delta=1e-7)
    assert facts.delta == facts.calibration_delta == 1e-7


def test_a_noisy_number_of_rows_gives_delta_on_the_safe_side():
    facts, *_ = established(delta=None)
    true = 1 / (10_000 * math.log(10_000))
    assert facts.calibration_delta < true < facts.delta


def test_a_declared_number_of_rows_gives_delta_exactly():
    facts, *_ = established(delta=None, rows=10_000)
    assert facts.delta == facts.calibration_delta == 1 / (10_000 * math.log(10_000))


def test_a_declared_number_of_rows_wins_over_the_bought_one():
    facts, *_ = established(rows=12_345)
    assert facts.rows.estimate == 12_345
    assert facts.rows.is_declared


def test_a_table_too_small_for_a_noisy_delta_is_refused():
    class Tiny(FakeNoise):
        def draw(self, size, sigma):
            return np.full(size, -3300)

    with pytest.raises(ParameterError, match="public_rows"):
        established(delta=None, noise=Tiny())


@pytest.mark.parametrize("neighbours", [ROWS, REPLACED])
@pytest.mark.parametrize("part", [0.02, 0.3])
def test_counts_take_their_part_of_the_budget(part, neighbours):
    _, account, _ = established(class_budget=part, neighbours=neighbours)
    loss = neighbours.squared_distance * account.agreed[0].loss
    assert loss == pytest.approx(part * gaussian_mu(1.0, 1e-6) ** 2)


@pytest.mark.parametrize("neighbours", [ROWS, REPLACED])
@pytest.mark.parametrize("changes", [{}, {"delta": None}, {"shares": SHARES}])
def test_votes_get_the_rest_and_the_bill_stays_within_the_request(changes, neighbours):
    facts, account, _ = established(neighbours=neighbours, **changes)
    request = dataclasses.replace(ASKED, neighbours=neighbours, **changes)
    item = agree_on_votes(request, facts, 15, account, FakeNoise())
    assert account.agreed[-1] == item == BillItem("votes", item.sigma, 15)
    total = composed_epsilon(account.agreed, facts.calibration_delta, neighbours)
    assert 0.99 < total <= 1.0
    assert composed_epsilon(account.agreed, facts.delta, neighbours) <= 1.0


@pytest.mark.parametrize(("epsilon", "rounds"), [(3.0, 1), (4.0, 2), (30.0, 15)])
def test_a_noisy_delta_is_refused_where_more_noise_may_protect_less(epsilon, rounds):
    """That is below sigma = 4 / sqrt(rounds); `test_accounting` shows why."""
    facts, account, _ = established(delta=None, epsilon=epsilon)
    request = dataclasses.replace(ASKED, delta=None, epsilon=epsilon)
    with pytest.raises(ParameterError, match="public_rows"):
        agree_on_votes(request, facts, rounds, account, FakeNoise())


@pytest.mark.parametrize(("epsilon", "rounds"), [(0.5, 1), (10.0, 15)])
def test_a_noisy_delta_is_fine_under_usual_noise(epsilon, rounds):
    facts, account, _ = established(delta=None, epsilon=epsilon)
    request = dataclasses.replace(ASKED, delta=None, epsilon=epsilon)
    item = agree_on_votes(request, facts, rounds, account, FakeNoise())
    assert item.sigma * math.sqrt(rounds) > 4


def finished(rounds, agreed=3):
    facts, account, _ = established(shares=SHARES)
    agree_on_votes(ASKED, facts, agreed, account, FakeNoise())
    for _ in range(rounds):
        account.charge("votes")
    return facts, account


def test_the_spent_epsilon_is_that_of_the_bill():
    facts, account = finished(3)
    assert 0.99 < spent_epsilon(ASKED, facts, account, FakeNoise()) <= 1.0


def test_a_run_that_measured_less_than_agreed_is_not_certified():
    facts, account = finished(2)
    with pytest.raises(BudgetError, match="differ"):
        spent_epsilon(ASKED, facts, account, FakeNoise())


def test_a_bill_above_the_request_is_not_certified():
    facts, account = finished(3)
    with pytest.raises(BudgetError, match="the bill comes to"):
        spent_epsilon(dataclasses.replace(ASKED, epsilon=0.9), facts, account, FakeNoise())


class Inexact(FakeNoise):
    """A source so far from exact that its part of delta shows: 0.9% of 1e-6 for 16 histograms."""

    slack = 0.009 * 1e-6 / 16 / (1 + math.e)


@pytest.mark.parametrize("changes", [{}, {"shares": SHARES, "size": None}])
def test_what_inexact_noise_takes_is_kept_back_from_the_votes(changes):
    facts, account, _ = established(**changes)
    request = dataclasses.replace(ASKED, **changes)
    agree_on_votes(request, facts, 15, account, Inexact())
    assert len(account.agreed) == 2
    assert 0.999 < composed_epsilon(account.agreed, 0.99101e-6) <= 1.0


def test_what_inexact_noise_takes_is_kept_back_from_a_delta_that_follows_a_noisy_count():
    """Both claims of docs/privacy.md: the bill and the slack share the delta of y + k."""
    facts, account, _ = established(delta=None)
    request = dataclasses.replace(ASKED, delta=None)
    noise = Inexact()
    noise.slack = 0.009 * facts.calibration_delta / 16 / (1 + math.e)
    agree_on_votes(request, facts, 15, account, noise)
    assert 0.999 < composed_epsilon(account.agreed, 0.99101 * facts.calibration_delta) <= 1.0


def test_two_cells_of_a_histogram_take_twice():
    noise = Inexact()
    noise.slack /= 2
    facts, account, _ = established(neighbours=REPLACED)
    request = dataclasses.replace(ASKED, neighbours=REPLACED)
    agree_on_votes(request, facts, 15, account, noise)
    total = composed_epsilon(account.agreed, 0.99101e-6, REPLACED)
    assert 0.999 < total <= 1.0


def test_a_bill_that_leaves_nothing_for_inexact_noise_is_not_certified():
    facts, account = finished(15, agreed=15)
    assert spent_epsilon(ASKED, facts, account, FakeNoise()) <= 1.0
    with pytest.raises(BudgetError, match="the bill comes to"):
        spent_epsilon(ASKED, facts, account, Inexact())


def test_the_slack_that_is_stated_counts_every_histogram():
    facts, account, _ = established()
    agree_on_votes(ASKED, facts, 15, account, Inexact())
    for _ in range(15):
        account.charge("votes")
    assert spent_slack(ASKED, account, Inexact()) == pytest.approx(0.009e-6)
    assert spent_slack(ASKED, account, OpenDPNoise()) == 0
    assert spent_epsilon(ASKED, facts, account, Inexact()) <= 1.0


def test_exact_noise_is_calibrated_at_delta_itself():
    facts, account, _ = established()
    counts = account.agreed
    item = agree_on_votes(ASKED, facts, 15, account, OpenDPNoise())
    assert item.sigma == calibrate(1.0, 1e-6, 15, besides=counts)


def test_noise_that_takes_too_much_of_delta_is_refused():
    noise = Inexact()
    noise.slack *= 1.15
    facts, account, _ = established()
    with pytest.raises(ParameterError, match="opendp"):
        agree_on_votes(ASKED, facts, 15, account, noise)
    with pytest.raises(ParameterError, match="opendp"):
        check_noise(ASKED, 3, 15, noise)
    check_noise(ASKED, 1, 15, noise)  # no class counts: 15 histograms instead of 16


@pytest.mark.parametrize("changes", [{}, {"delta": None}, {"delta": None, "rows": 10**9}])
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 30.0])
def test_a_table_serves_usual_promises(changes, epsilon):
    check_noise(dataclasses.replace(ASKED, epsilon=epsilon, **changes), 3, 15, TableNoise())


@pytest.mark.parametrize(
    "changes",
    [
        {"epsilon": 100.0},
        {"epsilon": 1e4},
        {"epsilon": 1e-3},
        {"epsilon": 1e-3, "delta": None},
        {"epsilon": 0.01, "class_budget": 1e-4},
        {"delta": 1e-12},
    ],
)
def test_promises_beyond_a_table_are_refused_and_exact_noise_serves_them(changes):
    request = dataclasses.replace(ASKED, **changes)
    with pytest.raises(ParameterError, match="opendp"):
        check_noise(request, 3, 15, TableNoise())
    check_noise(request, 3, 15, OpenDPNoise())


def test_a_calibrated_sigma_beyond_the_source_is_refused():
    noise = FakeNoise()
    noise.largest_sigma = 10.0
    facts, account, _ = established()
    with pytest.raises(ParameterError, match="up to 10"):
        agree_on_votes(ASKED, facts, 15, account, noise)
    assert [item.name for item in account.agreed] == ["class counts"]


@pytest.mark.parametrize(
    ("name", "field", "value"),
    [
        *(("epsilon", "epsilon", bad) for bad in (0, -1, math.inf, math.nan, True, "1", None)),
        *(("delta", "delta", bad) for bad in (0, 1, 2, -1e-6, math.nan, "1e-5", True)),
        *(("class_budget", "class_budget", bad) for bad in (0, 1, -0.1, math.nan, "2%")),
        *(("public_rows", "rows", bad) for bad in (0, 19, 100.5, True, "100")),
        *(("n_samples", "size", bad) for bad in (0, -5, 2.5, True, "10")),
    ],
)
def test_a_bad_request_is_refused_by_the_name_of_the_parameter(name, field, value):
    with pytest.raises(ParameterError, match=f"{name}="):
        dataclasses.replace(ASKED, **{field: value})


def test_a_delta_beyond_the_accountant_is_refused_before_a_row_is_read():
    with pytest.raises(ParameterError, match="delta="):
        dataclasses.replace(ASKED, delta=1e-15)


@pytest.mark.parametrize("epsilon", [1e12, 1e300])
def test_an_epsilon_too_large_to_mean_anything_is_refused_in_words(epsilon):
    with pytest.raises(ParameterError, match="epsilon="):
        established(epsilon=epsilon)


def test_shares_are_normalised_in_the_order_of_the_schema():
    assert normalised_shares({"b": 1, "a": 3}, ("a", "b")) == (0.75, 0.25)


def test_no_shares_stay_none():
    assert normalised_shares(None, ("a", "b")) is None


def test_a_class_may_be_declared_empty():
    assert normalised_shares({"a": 0, "b": 2}, ("a", "b")) == (0.0, 1.0)


@pytest.mark.parametrize(
    "shares",
    [
        {},
        {"a": 1},
        {"a": 1, "b": 1, "c": 1},
        {"a": 1, "x": 1},
        {"a": -1, "b": 2},
        {"a": 0, "b": 0},
        {"a": math.nan, "b": 1},
        {"a": math.inf, "b": 1},
        {"a": None, "b": 1},
        {"a": "half", "b": 1},
    ],
)
def test_what_can_not_be_shares_is_refused(shares):
    with pytest.raises(ParameterError, match="public_shares"):
        normalised_shares(shares, ("a", "b"))


USERS = Neighbours(max_rows=10)
GAPS = Outline.of(None).completed({"age": "int64", "ward": "string", "bmi": "double"})


@pytest.mark.parametrize(
    ("changes", "bought"),
    [
        ({}, ["class counts"]),
        ({"size": None}, ["user count", "class counts"]),
        ({"delta": None}, ["user count", "class counts"]),
        ({"delta": None, "rows": 500}, ["class counts"]),
        ({"delta": None, "shares": SHARES}, ["user count"]),
        ({"classes": 1, "size": None}, ["user count"]),
    ],
)
def test_classes_do_not_add_up_to_users(changes, bought):
    changes = {"classes": 3, "neighbours": USERS} | changes
    classes = changes.pop("classes")
    items = count_items(dataclasses.replace(ASKED, **changes), classes)
    assert list(items) == bought
    assert all(item.times == 1 for item in items.values())


def test_a_schema_that_is_bought_needs_the_number_of_rows_first():
    request = dataclasses.replace(ASKED, schema_budget=0.05, delta=None)
    assert counts_to_buy(request, 2) == ("row count", "class counts")


@pytest.mark.parametrize("neighbours", [ROWS, REPLACED, USERS])
@pytest.mark.parametrize("changes", [{}, {"size": None}, {"shares": SHARES, "size": None}])
def test_counts_share_their_part_of_the_budget(neighbours, changes):
    request = dataclasses.replace(ASKED, neighbours=neighbours, **changes)
    loss = sum(item.loss for item in count_items(request, 3).values())
    whole = gaussian_mu(1.0, 1e-6) ** 2
    assert loss * neighbours.squared_distance == pytest.approx(0.02 * whole)


def test_a_schema_costs_its_part_of_the_budget_and_of_delta():
    price = schema_price(dataclasses.replace(ASKED, schema_budget=0.05), 1e-6)
    assert price["loss"] == pytest.approx(0.05 * gaussian_mu(1.0, 1e-6) ** 2)
    assert price["chance"] == pytest.approx(0.05e-6)


@pytest.mark.parametrize("neighbours", [ROWS, REPLACED, USERS])
@pytest.mark.parametrize("outline", [None, GAPS])
@pytest.mark.parametrize("epsilon", [0.3, 2.0])
def test_the_plan_is_within_the_request_and_close_to_it(neighbours, outline, epsilon):
    request = dataclasses.replace(
        ASKED,
        epsilon=epsilon,
        neighbours=neighbours,
        schema_budget=0.0 if outline is None else 0.05,
        size=None,
    )
    bill = planned_bill(request, 2, 15, OpenDPNoise(), outline)
    assert 0.99 * epsilon < composed_epsilon(bill, 1e-6, neighbours) <= epsilon
    assert bill[-1].times == 15
    if outline is not None:
        assert told_chance(bill, neighbours) <= 0.05e-6


@pytest.mark.parametrize("rows", [20, 10_000, 10**9])
@pytest.mark.parametrize("neighbours", [ROWS, USERS])
def test_without_a_delta_the_plan_is_at_least_what_any_table_costs(rows, neighbours):
    request = dataclasses.replace(ASKED, neighbours=neighbours, delta=None)
    plan = planned_bill(request, 2, 15, OpenDPNoise())
    known = dataclasses.replace(request, rows=rows)
    votes = planned_bill(known, 2, 15, OpenDPNoise())[-1]
    assert plan[-1].sigma <= votes.sigma * (1 + 1e-3)


@pytest.mark.parametrize("epsilon", [0.5, 8.0])
def test_a_default_delta_serves_users(epsilon):
    request = dataclasses.replace(ASKED, neighbours=USERS, delta=None, epsilon=epsilon)
    check_noise(request, 2, 15, OpenDPNoise())


@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_a_table_of_noise_does_not_serve_users(epsilon):
    request = dataclasses.replace(ASKED, neighbours=USERS, epsilon=epsilon)
    with pytest.raises(ParameterError, match="noise='opendp'"):
        check_noise(request, 2, 15, TableNoise())


def test_a_budget_that_leaves_nothing_for_the_votes_is_refused():
    request = dataclasses.replace(ASKED, schema_budget=0.6, class_budget=0.4)
    with pytest.raises(ParameterError, match="leaves nothing for the votes"):
        check_noise(request, 2, 15, OpenDPNoise())


def test_class_counts_of_users_are_not_taken_for_their_number():
    request = dataclasses.replace(ASKED, neighbours=Neighbours(max_rows=3))
    counts = measure.Measured([np.array([7, 5])], BillItem("class counts", 3.0, 1))
    assert establish_facts(request, {"class counts": counts}).rows is None


def test_the_plan_of_a_run_has_a_place_for_what_its_schema_costs():
    request = dataclasses.replace(ASKED, schema_budget=0.05)
    outline = Outline.of(None).completed({"age": "int64", "ward": "string"})
    bill = planned_bill(request, 1, 15, FakeNoise(), outline)
    (schema,) = (item for item in bill if item.name == "schema")
    assert schema.loss == pytest.approx(0.05 * gaussian_mu(1.0, 1e-6) ** 2)
    assert schema.times * schema.chance == pytest.approx(TOLD_SHARE * 1e-6)
    assert composed_epsilon(bill, 1e-6) <= 1.0
