"""Checks of parameters: what they accept, and how they refuse the rest."""

import math
from fractions import Fraction

import numpy as np
import pytest

from tabpe._utils.validation import (
    check_fraction,
    check_integer,
    check_one_of,
    check_optional,
    check_real,
)
from tabpe.errors import ParameterError

NO_NUMBERS = [None, "1", True, False, [1], 1j, np.True_]


@pytest.mark.parametrize("value", [1, 0.5, 1e-300, Fraction(1, 2), np.float32(0.5), np.int64(1)])
def test_a_real_number_becomes_a_float(value):
    accepted = check_real("epsilon", value, above=0)
    assert accepted == value
    assert type(accepted) is float


@pytest.mark.parametrize("value", [0, -1, math.inf, -math.inf, math.nan, *NO_NUMBERS], ids=repr)
def test_what_is_no_positive_number_is_refused_with_what_is_allowed(value):
    with pytest.raises(ParameterError) as caught:
        check_real("epsilon", value, above=0, hint="Try 1.")
    assert str(caught.value) == f"epsilon={value!r}: expected a finite number > 0. Try 1."


def test_a_number_too_large_for_a_float_is_refused():
    with pytest.raises(ParameterError, match="expected a finite number > 0"):
        check_real("epsilon", 10**400, above=0)


@pytest.mark.parametrize("value", [0, 1, 2])
def test_both_bounds_of_a_real_number_are_out(value):
    with pytest.raises(ParameterError, match=r"delta=.: expected a finite number > 0 and < 1"):
        check_real("delta", value, above=0, below=1)


@pytest.mark.parametrize("value", [0, 1, 0.5, np.float32(0.25)])
def test_both_ends_of_a_fraction_are_in(value):
    accepted = check_fraction("share", value)
    assert accepted == value
    assert type(accepted) is float


@pytest.mark.parametrize("value", [-0.1, 1.1, math.nan, math.inf, *NO_NUMBERS], ids=repr)
def test_what_is_no_fraction_is_refused(value):
    with pytest.raises(ParameterError, match=r"share=.*: expected a number from 0 to 1.$"):
        check_fraction("share", value)


@pytest.mark.parametrize("value", [1, 15, np.int8(3), np.uint64(3), 2**70])
def test_a_whole_number_becomes_an_int(value):
    accepted = check_integer("rounds", value, least=1)
    assert accepted == value
    assert type(accepted) is int


@pytest.mark.parametrize("value", [0, -3, 2.5, 2.0, math.nan, np.float64(2), *NO_NUMBERS], ids=repr)
def test_what_is_no_whole_number_is_refused(value):
    with pytest.raises(ParameterError, match=r"rounds=.*: expected a whole number >= 1. More.$"):
        check_integer("rounds", value, least=1, hint="More.")


def test_an_option_is_accepted():
    assert check_one_of("preset", "paper", ["paper", "reference"]) == "paper"


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        ("papr", "did you mean 'paper'?"),
        ("", "known: 'paper', 'reference'"),
        (None, "known: 'paper', 'reference'"),
        (["paper"], "did you mean 'paper'?"),
    ],
)
def test_what_is_no_option_is_refused_with_the_closest(value, hint):
    with pytest.raises(ParameterError) as caught:
        check_one_of("preset", value, ["paper", "reference"])
    assert str(caught.value) == f"preset={value!r}: {hint}"


def test_an_optional_parameter_may_be_none_and_is_checked_otherwise():
    assert check_optional(check_integer, "rounds", None, least=1) is None
    assert check_optional(check_integer, "rounds", 3, least=1) == 3
    with pytest.raises(ParameterError, match="rounds=0"):
        check_optional(check_integer, "rounds", 0, least=1)
