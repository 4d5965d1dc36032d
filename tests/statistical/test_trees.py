"""Bins are halved as often as was charged for."""

import math

import numpy as np

from measuring import Terms, grow_trees
from tabpe.accounting import ROW_LEVEL, Account, ExactNoise, Spend
from tabpe.accounting.spend import EXPONENTIAL
from tabpe.encoding.marginals import ListAxis
from tabpe.measurement.privtree import TreeGrowth

TIMES = 4_000
SIGMA = 20.0
SCALE = TreeGrowth.from_range(2 / SIGMA).scale
TWO_CELLS = ListAxis("cell", 0, (0, 1))
ROWS_HELD = round(SCALE)
# Half a run in ten million lies further out.
DEVIATIONS = 5.2


class KnownTables:
    """Has so many rows in the first of two cells."""

    scale = 1

    def count_marginals(self, asked):
        """Return the same counts for each axis."""
        return [np.array([ROWS_HELD, 0]) for _ in asked]


def halved(sigma):
    account = Account()
    account.authorize(Spend("trees", sigma, TIMES, mechanism=EXPONENTIAL))
    terms = Terms(account, ExactNoise(), ROW_LEVEL)
    found = grow_trees(KnownTables(), [TWO_CELLS] * TIMES, terms, threshold=0, most=2)
    return sum(starts == (0, 1) for starts in found)


def deviations(halvings):
    """How far a number of halvings is from the expected one."""
    chance = 1 / (1 + math.exp(-ROWS_HELD / SCALE))
    return abs(halvings - TIMES * chance) / math.sqrt(TIMES * chance * (1 - chance))


def test_bins_are_halved_with_the_chance_that_was_charged_for():
    assert deviations(halved(SIGMA)) < DEVIATIONS


def test_a_scale_far_off_is_rejected():
    assert deviations(halved(SIGMA * 1.6)) > DEVIATIONS
    assert deviations(halved(SIGMA / 1.6)) > DEVIATIONS
