"""Noise and seeds that are the same in every run of the suite, so that no test fails by chance.

`ExactNoise` and `OpenDPNoise` take their randomness from the operating system, and so does a run
without a `random_state`. In tests they take it from a generator that is seeded by the
name of the test, or of the fixture, which asks for it. All else about them stays: they say that
they are private, and refuse what they refuse. Processes that a test starts have real noise.

Hypothesis draws some examples from constants of the modules that are loaded just then, so that they
depend on which tests ran before. Here it takes its own constants alone.

Tests of the noise itself keep the real one: each of them states how seldom it fails by chance.
TABPE_REAL_NOISE=1 gives real noise to all tests, which shows how wide their margins are.
"""

import contextlib
import functools
import os
import secrets
import zlib

import numpy as np
from hypothesis.internal.conjecture import providers

from tabpe.accounting import ExactNoise, FakeNoise, OpenDPNoise

REAL = (
    "tests/statistical/",
    "tests/unit/audit/",
    "tests/unit/accounting/",
    *(f"{folder}/test_audit.py" for folder in ("lab/tests/commands", "tests/cli", "tests/docs")),
)
_inside = []


class _Source(FakeNoise):
    """Fake noise of a name, and seeds."""

    def __init__(self, name):
        seed = zlib.crc32(name.encode())
        super().__init__(seed)
        self.seeds = np.random.default_rng([seed, 1])


@contextlib.contextmanager
def noise_of(name):
    """Let all noise inside of the block be that of a test or fixture."""
    real = name.startswith(REAL) or os.environ.get("TABPE_REAL_NOISE")
    _inside.append(None if real else _Source(name))
    try:
        yield
    finally:
        _inside.pop()


def install():
    """Put repeatable noise and seeds in the place of the real ones, inside of such blocks."""
    for kind in (ExactNoise, OpenDPNoise):
        kind.draw = _drawn(kind.draw)
        kind.choose = _chosen(kind.choose)
    secrets.randbits = _seed(secrets.randbits)
    # Older versions do not look for such constants.
    if hasattr(providers, "_get_local_constants"):
        none = providers.Constants()
        providers._get_local_constants = lambda: none


def _source():
    return _inside[-1] if _inside else None


def _drawn(real):
    @functools.wraps(real)
    def draw(noise, size, sigma):
        if _source() is None:
            return real(noise, size, sigma)
        real(noise, 0, sigma)  # refuses a sigma that it can not draw
        return _source().draw(size, sigma)

    return draw


def _chosen(real):
    @functools.wraps(real)
    def choose(noise, scores, scale):
        source = _source()
        return real(noise, scores, scale) if source is None else source.choose(scores, scale)

    return choose


def _seed(real):
    @functools.wraps(real)
    def randbits(bits):
        if _source() is None:
            return real(bits)
        return int.from_bytes(_source().seeds.bytes(-(-bits // 8))) >> -bits % 8

    return randbits
