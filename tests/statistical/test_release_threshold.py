"""A value that one row alone holds, or one user, is released no more often than the spends say."""

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

import measuring
from measuring import Terms
from tabpe.accounting import ROW_LEVEL, Account, ExactNoise, NeighboringRelation, Spend
from tabpe.backends.raw_columns import RawColumnCounter
from tabpe.backends.users import limit_contributions
from tabpe.io import open_source
from tabpe.measurement import raw_columns as measure

CHANCE = 0.02
SIGMA = 6.0
VALUES = 20_000
ALARM = 1e-8


def count_told(neighbours, delta_share=CHANCE):
    """How many of many values are told, each of which has one row, or one user with three rows."""
    times = neighbours.max_rows or 1
    cells = np.repeat(np.arange(VALUES), times)
    users = limit_contributions(
        [pa.table({"id": cells})], column="id", max_rows=times, seed=0, scale=neighbours.scale
    )
    survey = RawColumnCounter(
        open_source(pa.table({"id": cells})),
        users if neighbours.is_user_level else None,
    )
    account = Account()
    account.authorize(Spend(measure.VALUES, SIGMA, 1, delta_share))
    # A table can not hold the noise of users; a discrete Gaussian is a rounded one on such a scale.
    noise = Rounded() if neighbours.is_user_level else ExactNoise()
    found = measuring.measure_values(survey, {"id": int}, Terms(account, noise, neighbours))
    return len(found["id"])


class Rounded:
    """Rounded Gaussians, from the operating system."""

    def draw(self, size, sigma):
        """Return many draws."""
        return np.rint(np.random.default_rng().normal(0, sigma, size)).astype(np.int64)


def alarms(count, delta_share=CHANCE):
    """Whether so many could hardly be told, if each is with that chance at most."""
    return bool(stats.binom.sf(count - 1, VALUES, delta_share) < ALARM)


each_relation = pytest.mark.parametrize("neighbours", [ROW_LEVEL, NeighboringRelation(max_rows=3)])


@each_relation
def test_values_of_one_are_told_with_at_most_the_chance(neighbours):
    assert not alarms(count_told(neighbours))


@each_relation
def test_a_threshold_too_low_would_be_noticed(neighbours, monkeypatch):
    """The bound that it comes from is a few times too safe: so a little less is still right."""
    exact = measure.compute_release_threshold
    monkeypatch.setattr(
        measure,
        "compute_release_threshold",
        lambda sigma, chance, length=1: int(0.65 * exact(sigma, chance, length)),
    )
    assert alarms(count_told(neighbours))


@each_relation
def test_a_threshold_for_another_chance_would_be_noticed(neighbours, monkeypatch):
    exact = measure.compute_release_threshold
    monkeypatch.setattr(
        measure,
        "compute_release_threshold",
        lambda sigma, chance, length=1: exact(sigma, 20 * chance, length),
    )
    assert alarms(count_told(neighbours))
