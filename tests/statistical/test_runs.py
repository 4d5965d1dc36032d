"""Whole runs of the usual strategy draw the noise that their certificates state.

Every draw of a run is divided by the sigma of its spend. The squares of n such numbers
add up to about n: a right run is rejected with probability `ALARM` for each of fewer than 10 tests.
"""

from collections import defaultdict

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

from tabpe import Boolean, Integer, Schema, TabPE
from tabpe.accounting import ExactNoise, NeighboringRelation
from tabpe.evolution import Posterior

ALARM = 1e-8
WIDTH = 40
MANY = 100
SMALL = Posterior(rounds=3, pool=4_000, candidates=1_000, sweeps=2, last_sweeps=2)
KINDS = {
    "rows": {},
    "replace-one": {"adjacency": "replace-one"},
    "users": {"unit": "person", "max_rows_per_user": 3},
}


class Heard(ExactNoise):
    """Remembers what it drew, by sigma."""

    def __init__(self):
        self.drawn = defaultdict(list)

    def draw(self, size, sigma):
        """Return fresh noise, and keep a copy."""
        found = super().draw(size, sigma)
        self.drawn[sigma].append(found.copy())
        return found


def accepts(drawn, sigma):
    """Whether independent draws may be of parameter `sigma`.

    A few draws may all be zero by chance: both of two of sigma 8 are, once in 450 runs. So only
    many can be too small.
    """
    total, size = float((drawn.astype(float) ** 2).sum()) / sigma**2, len(drawn)
    too_small = stats.chi2.cdf(total, size) if size >= MANY else 1.0
    return 2 * min(too_small, stats.chi2.sf(total, size)) > ALARM


def misses(size, factor):
    """The probability that noise of another sigma is accepted."""
    low, high = stats.chi2.ppf(ALARM / 2, size), stats.chi2.isf(ALARM / 2, size)
    return stats.chi2.cdf(high / factor**2, size) - stats.chi2.cdf(low / factor**2, size)


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_draws_the_noise_of_its_spends_and_never_the_same_twice(kind):
    rng = np.random.default_rng(0)
    names = [f"c{place}" for place in range(WIDTH)]
    cells = {name: rng.integers(0, 10, 900) for name in names}
    cells |= {"ill": rng.random(900) < 0.4, "person": rng.integers(0, 500, 900)}
    schema = Schema((*(Integer(name, 0, 9) for name in names), Boolean("ill")), label="ill")
    noise = Heard()
    usual = {"epsilon": 4.0, "delta": 1e-6, "preset": SMALL, "random_state": 0, "verbose": 0}
    model = TabPE(**usual, noise=noise, **KINDS[kind]).fit(pa.table(cells), schema)
    scale = NeighboringRelation(max_rows=3).scale if kind == "users" else 1
    spends = {item.sigma * scale: item for item in model.certificate.spends}
    assert set(noise.drawn) == set(spends)
    for sigma, parts in noise.drawn.items():
        drawn = np.concatenate(parts)
        assert accepts(drawn, sigma), spends[sigma]
        if len(drawn) > 5_000:
            assert not accepts(drawn, sigma * 1.1)
            assert not accepts(drawn, sigma * 0.9)
            assert max(misses(len(drawn), factor) for factor in (0.9, 1.1)) < 1e-6
    longest = [part for parts in noise.drawn.values() for part in parts if len(part) >= 1_000]
    assert len({part[:1_000].tobytes() for part in longest}) == len(longest) >= SMALL.rounds
