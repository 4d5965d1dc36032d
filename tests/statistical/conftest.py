"""A test of fit for discrete Gaussian noise, with its error rates worked out.

A right implementation is rejected with probability `ALARM` per test (a chi-square test at that
level; every bin expects at least 800 of 20,000 draws, so the approximation holds that far out).
There are fewer than 40 such tests here: together they raise a false alarm in fewer than one run
in 2.5 million. `test_noise.py` computes that a sigma 10% off is missed even more rarely.
"""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from scipy import stats

ALARM = 1e-8
DRAWS = 20_000
_BINS = 12


@dataclass(frozen=True)
class Fit:
    """A chi-square test against the exact probabilities of the discrete Gaussian."""

    alarm: float = ALARM
    draws: int = DRAWS

    def accepts(self, drawn, sigma):
        """Whether the draws may be noise of parameter `sigma`."""
        assert len(drawn) == self.draws
        edges, expected = self.bins(sigma)
        found = np.bincount(np.searchsorted(edges, drawn, side="left"), minlength=len(expected))
        return stats.chisquare(found, expected * self.draws).pvalue > self.alarm

    def accepts_alike(self, one, other, sigma):
        """Whether both may be noise of the same parameter, in the bins of `sigma`."""
        edges, _ = self.bins(sigma)
        found = [
            np.bincount(np.searchsorted(edges, drawn, side="left"), minlength=len(edges) + 1)
            for drawn in (one, other)
        ]
        return stats.chi2_contingency(found).pvalue > self.alarm

    def misses(self, sigma, truth):
        """The probability that noise of parameter `truth` is accepted as noise of `sigma`."""
        edges, expected = self.bins(sigma)
        actual = self._masses(edges, truth)
        shift = self.draws * float(((actual - expected) ** 2 / expected).sum())
        freedom = len(expected) - 1
        return float(stats.ncx2.cdf(stats.chi2.isf(self.alarm, freedom), freedom, shift))

    def bins(self, sigma):
        """Upper ends of neighbouring bins, each of at least a twelfth; and their probabilities."""
        places, chances = self._exact(sigma)
        edges, mass = [], 0.0
        for place, chance in zip(places, chances, strict=True):
            mass += chance
            if mass >= 1 / _BINS:
                edges.append(place)
                mass = 0.0
        edges = np.array(edges[:-1] if mass < 1 / (2 * _BINS) else edges)
        return edges, self._masses(edges, sigma)

    def _masses(self, edges, sigma):
        places, chances = self._exact(sigma)
        return np.bincount(np.searchsorted(edges, places), chances, minlength=len(edges) + 1)

    def _exact(self, sigma):
        reach = math.ceil(12 * sigma) + 1
        places = np.arange(-reach, reach + 1)
        chances = np.exp(-(places**2) / (2 * sigma**2))
        return places, chances / chances.sum()


@pytest.fixture
def fit():
    return Fit()


@pytest.fixture
def uncorrelated():
    """Accept two independent samples but for one time in 10^8: their correlation is N(0, 1/n)."""

    def accept(one, other):
        found = np.corrcoef(one, other)[0, 1] * math.sqrt(len(one))
        return abs(found) < stats.norm.isf(ALARM / 2)

    return accept
