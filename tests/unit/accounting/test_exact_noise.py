"""Exact noise decides every draw as the whole of its random bits would, whatever its precision.

A draw is given bits that begin like a number U (and V, for blocks) of 400 bits. What it returns is
compared with the inversion of U, and the comparison of V, in decimals of 150 digits. The frequency
of draws is in tests/statistical.
"""

import bisect
import contextlib
import itertools
import math
import os
import threading
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enclosed import SCALE, cumulative, exponential
from tabpe.accounting import exact_noise as module
from tabpe.accounting.exact_noise import (
    LARGEST_SIGMA,
    ExactNoise,
    Precision,
    build_magnitude_table,
    choose_exponential,
    draw_discrete_gaussian,
)
from tabpe.errors import ParameterError, TabpeError

BITS, SPARE = 400, 2000
PARTS = SCALE >> BITS
RHO, SHIFT = 1.5, 3
PRECISIONS = [Precision(), Precision(8, 16), Precision(3, 8, 8), Precision(1, 2, 1)]
SIGMAS = [0.05, 0.6, 14.0587]
each_sigma = pytest.mark.parametrize("sigma", SIGMAS)
each_precision = pytest.mark.parametrize("precision", PRECISIONS)
EXACT = {
    (sigma, halve): cumulative(sigma, halve_zero=halve)
    for sigma, halve in [*((sigma, True) for sigma in SIGMAS), (1.904, True), (RHO, False)]
}


class Bits:
    """The first `BITS` bits of a number, and then zeros, handed out bit by bit."""

    def __init__(self, value):
        self.value, self.left = value << SPARE, BITS + SPARE

    def take(self, count):
        """Return the next bits as an integer."""
        self.left -= count
        assert self.left >= 0
        return (self.value >> self.left) & ((1 << count) - 1)


def direct_source(number, sign, precision):
    """Bytes for one draw with U = number / 2^BITS, and bits that decide nothing set to 1."""
    bits, calls = Bits(number), itertools.count()
    more = precision.bound_bits - precision.guide_bits

    def read(size):
        call = next(calls)
        if call == 0:
            unused = 15 - precision.guide_bits
            word = bits.take(precision.guide_bits) << (unused + 1) | ((1 << unused) - 1) << 1 | sign
            assert size == 2
            return word.to_bytes(2, "little")
        assert size == 8
        if call == 1:
            return (bits.take(more) << (64 - more) | (1 << (64 - more)) - 1).to_bytes(8, "little")
        return bits.take(64).to_bytes(8, "little")

    return read


def numbers_near(limits):
    """Numbers of `BITS` bits: any, and some just below and above limits in parts of `SCALE`."""
    near = st.builds(
        lambda limit, depth, step: min(
            max((limit * 2**depth // SCALE + step) << (BITS - depth), 0), 2**BITS - 1
        ),
        st.sampled_from(limits),
        st.integers(2, 300),
        st.integers(-1, 1),
    )
    return st.integers(0, 2**BITS - 1) | near


@each_sigma
@each_precision
@given(data=st.data())
@settings(deadline=None, max_examples=15)
def test_a_draw_is_the_inversion_of_all_its_bits(sigma, precision, data):
    chances = EXACT[sigma, True]
    number = data.draw(numbers_near(chances[: int(12 * sigma) + 2]))
    sign = data.draw(st.integers(0, 1))
    (drawn,) = draw_discrete_gaussian(1, sigma, direct_source(number, sign, precision), precision)
    magnitude = bisect.bisect_right(chances, number * PARTS)
    assert drawn == (-magnitude if sign else magnitude)


@each_sigma
@each_precision
def test_the_guide_decides_what_has_one_magnitude_and_nothing_else(sigma, precision):
    table, chances = build_magnitude_table(sigma, precision, halve_zero=True), EXACT[sigma, True]
    cell = SCALE >> precision.guide_bits
    starts = {chance // cell for chance in chances}  # cells in which a magnitude ends
    for place, magnitude in enumerate(table.guide.tolist()):
        assert (magnitude < 0) == (place in starts)
        assert magnitude < 0 or magnitude == bisect.bisect_right(chances, place * cell)


@pytest.mark.parametrize("sigma", [0.6, 1.904])
@pytest.mark.parametrize("bits", [16, 20])
def test_words_are_shared_out_in_proportion_to_the_exact_probabilities(sigma, bits):
    """Over all words: what is decided is below each probability by what is undecided at most."""
    chances = EXACT[sigma, True]
    table = build_magnitude_table(sigma, Precision(8, bits), halve_zero=True)
    words = np.arange(1 << bits, dtype=np.uint64)
    found = module._look_up(table.lower, table.upper, words, words)
    undecided, *counts = np.bincount(found + 1, minlength=len(table.lower) + 1).tolist()
    for count, (below, chance) in zip(counts, itertools.pairwise([0, *chances]), strict=False):
        assert 0 <= (chance - below) * 2**bits / SCALE - count <= 4
    assert undecided <= 3 * len(table.lower)


# Blocks


def proposal_source(number, sign, offset, value, *, precision, shift):
    """Bytes for one proposal: those of its block, a word of the offset and of V, and more of V."""
    bits, length = Bits(value), min(64 - shift, precision.accept_bits)
    block, asked, calls = direct_source(number, sign, precision), [], itertools.count()
    table = build_magnitude_table(RHO, precision, halve_zero=False)
    table.draw_magnitudes(1, module._BitSource(lambda size: asked.append(size) or block(size)))
    block = direct_source(number, sign, precision)

    def read(size):
        call = next(calls)
        if call < len(asked):
            return block(size)
        if call == len(asked):
            unused = (1 << (64 - length)) - (1 << shift)
            word = bits.take(length) << (64 - length) | unused | offset
            return word.to_bytes(8, "little")
        return bits.take(64).to_bytes(8, "little")

    return read


@each_precision
@given(data=st.data())
@settings(deadline=None, max_examples=30)
def test_a_proposal_is_accepted_as_all_its_bits_say(precision, data):
    number = data.draw(numbers_near(EXACT[RHO, False][:12]))
    block = bisect.bisect_right(EXACT[RHO, False], number * PARTS)
    offset, sign = data.draw(st.integers(0, 2**SHIFT - 1)), data.draw(st.integers(0, 1))
    magnitude = (block << SHIFT) + offset
    rise = Fraction(magnitude**2 - (block << SHIFT) ** 2) / (2 * Fraction(RHO * 2**SHIFT) ** 2)
    limit = int(exponential(rise.numerator, rise.denominator) * SCALE)
    value = data.draw(numbers_near([limit]))
    source = proposal_source(number, sign, offset, value, precision=precision, shift=SHIFT)
    table = build_magnitude_table(RHO, precision, halve_zero=False)
    (drawn,), (accepted,) = module._propose(1, table, SHIFT, module._BitSource(source))
    assert drawn == (-magnitude if sign else magnitude)
    assert accepted == (value * PARTS < limit and (magnitude > 0 or not sign))


@pytest.mark.parametrize("rho", [64.0, 100.3, 127.9])
def test_the_quick_comparison_is_right_and_decides_nearly_all(rho):
    """Compared with the exact bounds, for V at and around the point where it decides."""
    rng = np.random.default_rng(0)
    blocks, offsets = rng.integers(0, 1200, 300), rng.integers(0, 2**12, 300)
    parts = offsets / 2**12
    for length in (52, 20):
        x = (blocks + offsets / 2**13) * (offsets / 2**12) / rho**2
        for step in (-2, -1, 0, 1, 2):
            near = np.exp(-x) * 2.0**length + step * max(1, 2.0 ** (length - 42))
            values = np.clip(near, 0, 2**length - 1).astype(np.uint64)
            accepted, decided = module._compare_quickly(
                rho, blocks, offsets / 2**12, values, length
            )
            for i in np.flatnonzero(decided):
                over, under = (rho * 2**12).as_integer_ratio()
                start, offset = int(blocks[i]) << 12, int(offsets[i])
                numerator = (2 * start * offset + offset * offset) * under * under
                exact = exponential(numerator, 2 * over * over) * 2**length
                assert int(values[i]) + 1 <= exact if accepted[i] else int(values[i]) >= exact
        draws = rng.integers(0, 2**length, 300).astype(np.uint64)
        near = x < 0.2
        decided = module._compare_quickly(rho, blocks, parts, draws, length)[1]
        assert decided[near].all()


def test_what_is_rejected_is_drawn_anew():
    """Sigma 14 in blocks of eight: nearly a fifth of the proposals is rejected."""
    asked = []

    def read(size):
        asked.append(size)
        return os.urandom(size)

    drawn = draw_discrete_gaussian(1000, 14.0, read, Precision(direct_bits=1))
    assert drawn.shape == (1000,)
    assert asked[:1] == [2000]
    assert sum(asked) > 10 * 1000 * 1.05


# Choices


class RejectedError(Exception):
    """A proposal was rejected: bytes are asked for that propose anew."""


class ChoiceBits:
    """Proposes once, by as many bits as proposals take, and else gives the bits of V."""

    def __init__(self, proposal, width, value):
        self.proposals, self.width, self.bits = [proposal], width, Bits(value)

    def draw_integer(self, bits):
        """Return an integer below 2^bits."""
        if bits != self.width:
            return self.bits.take(bits)
        if not self.proposals:
            raise RejectedError
        return self.proposals.pop()


@given(
    scores=st.lists(st.integers(-40, 40), min_size=1, max_size=6),
    scale=st.floats(0.3, 50),
    known_bits=st.sampled_from([0, 8, 64]),
    data=st.data(),
)
@settings(deadline=None, max_examples=100)
def test_a_proposed_option_is_chosen_as_all_bits_say(scores, scale, known_bits, data):
    gaps = [max(scores) - score for score in scores]
    heights, unit = module._bound_weights(np.array(gaps, dtype=np.uint64), scale)
    place = data.draw(st.integers(0, len(scores) - 1))
    before, height = int(heights[:place].sum()), int(heights[place])
    rate = Fraction(gaps[place]) / Fraction(scale)
    limit = int(exponential(rate.numerator, rate.denominator) * 2**unit / height * SCALE)
    value = data.draw(numbers_near([limit]))
    proposal = before + data.draw(st.sampled_from([0, height - 1]))
    source = ChoiceBits(proposal, int(heights.sum()).bit_length(), value)
    array = np.array(scores, dtype=np.int64)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_BitSource", lambda read: source)
        expected = (
            contextlib.nullcontext() if value * PARTS < limit else pytest.raises(RejectedError)
        )
        with expected:
            assert choose_exponential(array, scale, None, known_bits=known_bits) == place


@given(gaps=st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=20), power=st.integers(-9, 70))
@settings(deadline=None)
def test_bounds_of_weights_are_bounds_and_close(gaps, power):
    scale = 1.1 * 2.0**power
    heights, unit = module._bound_weights(np.array(gaps, dtype=np.uint64), scale)
    assert int(heights.astype(object).sum()) < 2**63
    for gap, height in zip(gaps, heights.tolist(), strict=True):
        rate = Fraction(gap) / Fraction(scale)
        far = rate > 400
        weight = Fraction(0) if far else exponential(rate.numerator, rate.denominator) * 2**unit
        assert weight <= height <= weight * (1 + Fraction(1, 2**29)) + 2


@pytest.mark.parametrize("scale", [1e-308, 1e308])
def test_extreme_scales_and_scores_are_chosen_from(scale):
    largest = np.iinfo(np.int64)
    scores = np.array([largest.min, largest.max], dtype=np.int64)
    chosen = {ExactNoise().choose(scores, scale) for _ in range(50)}
    assert chosen == ({1} if scale < 1 else {0, 1})  # but for once in 2^49


@pytest.mark.parametrize("scores", [np.zeros(0, np.int64), np.zeros((2, 2), np.int64), np.zeros(2)])
def test_scores_that_are_no_list_of_integers_are_refused(scores):
    with pytest.raises(ParameterError, match="scores"):
        ExactNoise().choose(scores, 1.0)


# Randomness


@pytest.mark.parametrize("sigma", [14.0, 230_000.0])
def test_every_draw_takes_fresh_bytes_of_the_operating_system(monkeypatch, sigma):
    asked, real = [], os.urandom
    monkeypatch.setattr(os, "urandom", lambda size: asked.append(size) or real(size))
    monkeypatch.setattr(module, "_BLOCK", 4)
    assert ExactNoise().draw(11, sigma).shape == (11,)
    assert sum(asked) >= (2 if sigma < 100 else 10) * 11


@pytest.mark.parametrize("sigma", [14.0, 230_000.0])
@pytest.mark.parametrize("failure", [OSError("no entropy"), NotImplementedError("no source")])
def test_without_entropy_there_is_an_error_and_no_noise(monkeypatch, sigma, failure):
    def urandom(_):
        raise failure

    monkeypatch.setattr(os, "urandom", urandom)
    with pytest.raises(TabpeError, match="no random bytes"):
        ExactNoise().draw(3, sigma)
    with pytest.raises(TabpeError, match="no random bytes"):
        ExactNoise().choose(np.array([1, 2]), 1.0)


@pytest.mark.parametrize("source", [lambda size: b"", lambda size: bytes(size + 1)])
def test_a_source_that_gives_another_number_of_bytes_is_refused(source):
    with pytest.raises(TabpeError, match="random bytes"):
        draw_discrete_gaussian(3, 14.0, source)


def test_the_same_bytes_give_the_same_draws():
    def draw(sigma):
        return draw_discrete_gaussian(70_000, sigma, np.random.default_rng(3).bytes).tolist()

    for sigma in (14.0, 230_000.0):
        assert draw(sigma) == draw(sigma)


def test_threads_that_start_together_share_no_noise_and_no_error():
    build_magnitude_table.cache_clear()
    barrier, found = threading.Barrier(6), []

    def draw():
        barrier.wait()
        found.append(tuple(ExactNoise().draw(2000, 5e9).tolist()))

    threads = [threading.Thread(target=draw) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 6
    drawn = [one for draws in found for one in draws]
    assert len(set(drawn)) > 0.999 * len(drawn)  # as of 12,000 from 10^10


@pytest.mark.parametrize("sigma", [LARGEST_SIGMA, 1e300, math.nan])
def test_a_sigma_beyond_64_bits_is_refused(sigma):
    with pytest.raises(ParameterError, match="sigma="):
        ExactNoise().draw(1, sigma)


@pytest.mark.parametrize("sigma", [5e-324, 1e-100, 0.02])
def test_a_tiny_sigma_gives_zeros(sigma):
    assert not ExactNoise().draw(1000, sigma).any()


def test_tables_cannot_be_written_to():
    table = build_magnitude_table(14.0, Precision(), halve_zero=True)
    for array in (table.guide, table.lower, table.upper):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
