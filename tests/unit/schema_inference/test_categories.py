"""Which values are told, and where the others go."""

import math

import pytest

from tabpe.errors import SchemaError
from tabpe.measurement.raw_columns import compute_release_threshold
from tabpe.schema import Categorical, PartialColumn
from tabpe.schema_inference.categories import NoisyRowCount, build_categorical

TOLD = {"heart": 300.0, "eye": 500.0}


def test_public_values_come_first_and_stay_without_a_row():
    sketch = PartialColumn("ward", Categorical, {"values": ("surgery", "eye")}, open=True)
    column = build_categorical(sketch, TOLD, separate_other=True)
    assert column.values == ("surgery", "eye", "heart", "other")
    assert column.estimated == ("values", "other")


@pytest.mark.parametrize(("told", "other"), [(["a"], "other"), (["a", "other"], "(other)")])
def test_unlisted_text_is_a_value_of_its_own(told, other):
    column = build_categorical(PartialColumn("ward"), dict.fromkeys(told, 9.0), separate_other=True)
    assert column.other == other
    assert column.values == (*sorted(told), other)
    assert column.estimated == ("type", "values", "other")


def test_unlisted_numbers_are_the_most_common_value_and_text_may_be():
    numbers = build_categorical(
        PartialColumn("code"), {2: 10.0, 1: 30.0, 7: 20.0}, separate_other=True
    )
    assert (numbers.values, numbers.other) == ((1, 2, 7), 1)
    label = build_categorical(PartialColumn("ward"), TOLD, separate_other=False)
    assert (label.values, label.other) == (("eye", "heart"), "eye")


def test_a_declared_other_stays():
    sketch = PartialColumn("ward", Categorical, {"values": ("rest",), "other": "rest"}, open=True)
    column = build_categorical(sketch, TOLD, separate_other=True)
    assert (column.values, column.other) == (("rest", "eye", "heart"), "rest")
    assert column.estimated == ("values",)


def test_the_order_of_what_was_told_does_not_show():
    backwards = dict(reversed(TOLD.items()))
    assert build_categorical(PartialColumn("w"), TOLD, separate_other=False) == build_categorical(
        PartialColumn("w"), backwards, separate_other=False
    )


def test_nothing_told_and_nothing_public_is_refused():
    with pytest.raises(SchemaError, match=r"column 'name'.*drop the column, declare its values"):
        build_categorical(PartialColumn("name"), {}, separate_other=True)


@pytest.mark.parametrize("chance", [1e-12, 1e-8, 1e-3])
@pytest.mark.parametrize("sigma", [0.6, 5.0, 77.5])
def test_the_threshold_keeps_its_chance_for_the_exact_discrete_gaussian(sigma, chance):
    above = compute_release_threshold(sigma, chance)
    reach = math.ceil(40 * sigma) + above
    weights = {k: math.exp(-k * k / (2 * sigma**2)) for k in range(-reach, reach + 1)}
    tail = sum(weight for k, weight in weights.items() if 1 + k > above)
    assert tail / sum(weights.values()) <= chance


@pytest.mark.parametrize("chance", [1e-12, 1e-8, 1e-3])
def test_the_threshold_is_not_much_larger_than_it_must_be(chance):
    from scipy.special import ndtri

    assert compute_release_threshold(1000.0, chance) < 1 + 1.25 * 1000 * -float(ndtri(chance))


@pytest.mark.parametrize("length", [1, 3, 16384])
def test_what_one_row_or_user_adds_comes_on_top_of_the_noise(length):
    noise = 10.0 * length * math.sqrt(2 * math.log(1e6))
    assert (
        length + noise
        <= compute_release_threshold(10.0 * length, 1e-6, length)
        < length + noise + 1
    )


@pytest.mark.parametrize(("rows", "exceed"), [(800, False), (815, False), (860, True)])
def test_rows_beside_those_that_were_told_are_noticed(rows, exceed):
    assert NoisyRowCount(rows, variance=100.0).has_unlisted_rows(TOLD, sigma=10.0) is exceed
