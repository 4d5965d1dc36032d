"""What is asked for and declared: what is estimated beside it, and which facts follow."""

import dataclasses
import math

import numpy as np
import pytest

from requests_made import REQUEST, SHARES, USERS, established
from tabpe import measurement
from tabpe.accounting import FakeNoise, NeighboringRelation, Spend
from tabpe.errors import ParameterError
from tabpe.synthesizers.budget import plan_counts
from tabpe.synthesizers.options import establish_facts, list_needed_counts, normalise_shares


def names(account):
    return [item.name for item in account.spent]


@pytest.mark.parametrize(
    ("changes", "estimated"),
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
def test_what_is_not_declared_is_estimated_and_nothing_else(changes, estimated):
    _, account, engine = established(**changes)
    assert names(account) == estimated
    assert account.spent == account.authorized
    assert engine.calls == len(estimated)


def test_estimated_counts_become_the_weights():
    facts, *_ = established()
    assert facts.weights == (5000.0, 3000.0, 2000.0)


def test_declared_shares_become_the_weights():
    facts, *_ = established(shares=SHARES)
    assert facts.weights == SHARES


def test_one_class_weighs_all():
    facts, *_ = established(classes=1)
    assert facts.weights == (1.0,)


def test_a_given_delta_is_guaranteed_and_calibrated_at():
    facts, *_ = established(delta=1e-7)
    assert facts.delta == facts.calibration_delta == 1e-7


def test_a_noisy_number_of_rows_gives_delta_on_the_safe_side():
    facts, *_ = established(delta=None)
    true = 1 / (10_000 * math.log(10_000))
    assert facts.calibration_delta < true < facts.delta


def test_a_declared_number_of_rows_gives_delta_exactly():
    facts, *_ = established(delta=None, rows=10_000)
    assert facts.delta == facts.calibration_delta == 1 / (10_000 * math.log(10_000))


def test_a_declared_number_of_rows_wins_over_the_estimated_one():
    facts, *_ = established(rows=12_345)
    assert facts.rows.estimate == 12_345
    assert facts.rows.is_declared


def test_a_table_too_small_for_a_noisy_delta_is_refused():
    class Tiny(FakeNoise):
        def draw(self, size, sigma):
            return np.full(size, -3300)

    with pytest.raises(ParameterError, match="public_rows"):
        established(delta=None, noise=Tiny())


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
        dataclasses.replace(REQUEST, **{field: value})


def test_a_delta_beyond_the_accountant_is_refused_before_a_row_is_read():
    with pytest.raises(ParameterError, match="delta="):
        dataclasses.replace(REQUEST, delta=1e-15)


@pytest.mark.parametrize("epsilon", [1e12, 1e300])
def test_an_epsilon_too_large_to_mean_anything_is_refused_in_words(epsilon):
    with pytest.raises(ParameterError, match="epsilon="):
        established(epsilon=epsilon)


def test_shares_are_normalised_in_the_order_of_the_schema():
    assert normalise_shares({"b": 1, "a": 3}, ("a", "b")) == (0.75, 0.25)


def test_no_shares_stay_none():
    assert normalise_shares(None, ("a", "b")) is None


def test_a_class_may_be_declared_empty():
    assert normalise_shares({"a": 0, "b": 2}, ("a", "b")) == (0.0, 1.0)


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
        normalise_shares(shares, ("a", "b"))


@pytest.mark.parametrize(
    ("changes", "estimated"),
    [
        ({}, ["class counts"]),
        ({"size": None}, ["user count", "class counts"]),
        ({"delta": None}, ["user count", "class counts"]),
        ({"delta": None, "rows": 500}, ["class counts"]),
        ({"delta": None, "shares": SHARES}, ["user count"]),
        ({"classes": 1, "size": None}, ["user count"]),
    ],
)
def test_classes_do_not_add_up_to_users(changes, estimated):
    changes = {"classes": 3, "neighbours": USERS} | changes
    classes = changes.pop("classes")
    items = plan_counts(dataclasses.replace(REQUEST, **changes), classes)
    assert list(items) == estimated
    assert all(item.times == 1 for item in items.values())


def test_a_schema_that_is_estimated_needs_the_number_of_rows_first():
    request = dataclasses.replace(REQUEST, schema_budget=0.05, delta=None)
    assert list_needed_counts(request, 2) == ("row count", "class counts")


def test_class_counts_of_users_are_not_taken_for_their_number():
    request = dataclasses.replace(REQUEST, neighbours=NeighboringRelation(max_rows=3))
    counts = measurement.NoisyCounts([np.array([7, 5])], Spend("class counts", 3.0, 1))
    assert establish_facts(request, {"class counts": counts}).rows is None


@pytest.mark.parametrize(
    ("changes", "estimated"),
    [
        ({}, ["class counts"]),
        ({"shares": SHARES}, ["row count"]),
        ({"shares": SHARES, "rows": 10_000}, []),
        ({"classes": 1}, ["row count"]),
        ({"classes": 1, "rows": 10_000}, []),
    ],
)
def test_a_strategy_may_need_the_number_of_rows_whatever_is_declared(changes, estimated):
    facts, account, _ = established(counts_rows=True, **changes)
    assert names(account) == estimated
    assert facts.rows.estimate == 10_000
    assert facts.delta == 1e-6


def test_a_strategy_that_needs_the_number_of_users_buys_it_beside_the_classes():
    request = dataclasses.replace(REQUEST, counts_rows=True, neighbours=USERS)
    assert list_needed_counts(request, 2) == ("user count", "class counts")


def test_a_strategy_that_needs_the_number_of_rows_of_an_estimated_schema_buys_it_first():
    request = dataclasses.replace(REQUEST, counts_rows=True, schema_budget=0.05)
    assert list_needed_counts(request, 2) == ("row count", "class counts")


@pytest.mark.parametrize(
    ("changes", "known"),
    [
        ({}, 1e-6),
        ({"delta": None}, None),
        ({"delta": None, "rows": 10_000}, 1 / (10_000 * math.log(10_000))),
        ({"rows": 10_000}, 1e-6),
    ],
)
def test_delta_is_known_before_a_row_is_read_if_it_or_the_rows_are_declared(changes, known):
    request = dataclasses.replace(REQUEST, **changes)
    assert request.known_delta == known
    assert request.planning_delta == (known or 1e-6)
