"""Noise from a table: against probabilities that are computed another way, word by word."""

import bisect
import itertools
import math
import os
import struct
from decimal import Decimal, FloatOperation, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tabpe.accounting import TableNoise
from tabpe.accounting import noise_table as module
from tabpe.accounting.noise_table import WORDS, GaussianTable, build_gaussian_table
from tabpe.errors import ParameterError

SIGMAS = [0.3, 1.0, 1.9, 14.06, 115.3]
SLACK = Fraction(TableNoise.sampling_error)
each_sigma = pytest.mark.parametrize("sigma", SIGMAS)


def halves(words):
    high, low = zip(*(divmod(word, 1 << 64) for word in words), strict=True)
    return np.array(high, dtype=np.uint64), np.array(low, dtype=np.uint64)


def firsts(table):
    return [(int(h) << 64) + int(x) for h, x in zip(table.high, table.low, strict=True)]


def probabilities(table):
    """The probability of each integer from `-reach` to `reach`, exactly."""
    ends = [*firsts(table)[1:], WORDS]
    return [Fraction(b - a, WORDS) for a, b in zip(firsts(table), ends, strict=True)]


def exact(sigma):
    """The discrete Gaussian to 90 digits, from -20 sigma to 20 sigma: all but 1e-80 of it."""
    reach = math.ceil(20 * sigma) + 1
    with localcontext() as context:
        context.prec = 90
        rate = -1 / (2 * Decimal(sigma) ** 2)
        side = [(rate * k * k).exp() for k in range(reach + 1)]
        total = 2 * sum(side) - 1
        return {k: Fraction(side[abs(k)] / total) for k in range(-reach, reach + 1)}


def compared(sigma):
    """Pairs of the probability in the table and the exact one, by integer."""
    table, right = build_gaussian_table(sigma), exact(sigma)
    found = dict(zip(range(-table.reach, table.reach + 1), probabilities(table), strict=True))
    return {k: (found.get(k, Fraction(0)), p) for k, p in right.items()}


@each_sigma
def test_every_probability_is_within_the_sampling_error(sigma):
    assert all(2 * abs(q - p) <= SLACK for q, p in compared(sigma).values())


@each_sigma
def test_the_stated_excess_is_at_least_the_true_distance_and_not_far_above(sigma):
    distance = sum(abs(q - p) for q, p in compared(sigma).values()) / 2
    excess = build_gaussian_table(sigma).excess
    assert distance <= excess <= distance * 2 + Fraction(1, WORDS)


@each_sigma
def test_the_excess_is_within_the_bound_of_the_proof(sigma):
    assert build_gaussian_table(sigma).excess * WORDS <= 28 * sigma + 4


def test_the_largest_table_is_within_half_of_the_sampling_error():
    largest = build_gaussian_table(TableNoise.largest_sigma)
    assert 2 * largest.excess <= SLACK
    assert largest.excess * WORDS <= 28 * TableNoise.largest_sigma + 4


@each_sigma
def test_only_zero_has_too_much(sigma):
    """That is why the noise is sub-Gaussian with the sigma of the exact one."""
    tiny = Fraction(1, 10**80)
    assert all(q <= p + tiny for k, (q, p) in compared(sigma).items() if k)
    assert compared(sigma)[0][0] >= compared(sigma)[0][1] - tiny


@each_sigma
def test_the_table_is_symmetric_and_every_integer_has_words(sigma):
    found = probabilities(build_gaussian_table(sigma))
    assert found == found[::-1]
    assert min(found) > 0
    assert sum(found) == 1
    assert firsts(build_gaussian_table(sigma))[0] == 0


@each_sigma
def test_first_words_and_the_ones_before_them_map_right(sigma):
    table = build_gaussian_table(sigma)
    integers = list(range(-table.reach, table.reach + 1))
    assert table.look_up_integers(*halves(firsts(table))).tolist() == integers
    before = [first - 1 for first in firsts(table)[1:]]
    assert table.look_up_integers(*halves(before)).tolist() == integers[:-1]
    assert table.look_up_integers(*halves([0, WORDS - 1])).tolist() == [-table.reach, table.reach]


SMALL = st.integers(0, 3)
NEAR = st.builds(lambda high, low: (high << 64) + low, SMALL, SMALL)


@given(
    starts=st.lists(NEAR.filter(bool), unique=True, min_size=2, max_size=10),
    words=st.lists(NEAR, min_size=1, max_size=20),
)
@settings(deadline=None)
def test_ties_of_high_halves_are_decided_by_the_low_ones(starts, words):
    starts = sorted(starts)[: len(starts) // 2 * 2]
    table = GaussianTable(*halves([0, *starts]), Fraction(0))
    expected = [bisect.bisect_right(starts, word) - len(starts) // 2 for word in words]
    assert table.look_up_integers(*halves(words)).tolist() == expected


@pytest.mark.parametrize("sigma", [5e-324, 1e-100, 1e-3, 0.05])
def test_a_sigma_too_small_for_a_second_word_gives_zeros(sigma):
    assert build_gaussian_table(sigma).reach == 0
    assert not TableNoise().draw(100, sigma).any()
    assert build_gaussian_table(sigma).excess < Fraction(1, WORDS)


@pytest.mark.parametrize("sigma", [1.0001e4, 2e5, 1e300])
def test_a_sigma_too_large_for_a_table_is_refused_with_the_way_out(sigma):
    with pytest.raises(ParameterError, match="opendp"):
        TableNoise().draw(1, sigma)


def test_a_table_that_is_not_exact_enough_is_refused(monkeypatch):
    monkeypatch.setattr(TableNoise, "sampling_error", 1e-40)
    with pytest.raises(module.TabpeError, match="exact enough"):
        build_gaussian_table(14.0601)


def test_settings_of_decimals_that_a_user_makes_do_not_matter():
    build_gaussian_table.cache_clear()
    usual = firsts(build_gaussian_table(14.06))
    build_gaussian_table.cache_clear()
    with localcontext() as context:
        context.prec = 3
        context.traps[FloatOperation] = True
        assert firsts(build_gaussian_table(14.06)) == usual


@pytest.mark.parametrize("size", [0, 1, 3, 4, 5, 11])
def test_every_draw_takes_sixteen_fresh_bytes_of_the_operating_system(monkeypatch, size):
    """Blocks of four draws; every word is a first word of its own, so each draw tells them."""
    table, numbers, asked = build_gaussian_table(14.06), itertools.count(), []

    def urandom(count):
        asked.append(count)
        words = [firsts(table)[next(numbers)] for _ in range(count // 16)]
        high, low = zip(*(divmod(word, 1 << 64) for word in words), strict=True)
        return struct.pack(f"={2 * len(words)}Q", *high, *low)

    monkeypatch.setattr(module, "_BLOCK", 4)
    monkeypatch.setattr(os, "urandom", urandom)
    drawn = TableNoise().draw(size, 14.06)
    assert (drawn == np.arange(size) - table.reach).all()
    assert sum(asked) == 16 * size
    assert max(asked, default=0) <= 64
