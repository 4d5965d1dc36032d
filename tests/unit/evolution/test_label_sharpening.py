"""The share of a row's class among its nearest rows."""

import numpy as np
import pytest

from tabpe.encoding import Records
from tabpe.evolution.evidence import PoolRows
from tabpe.evolution.posterior import compute_agreement


def rows(size=200, classes=3, seed=0):
    rng = np.random.default_rng(seed)
    plain = Records(rng.random((size, 2)), rng.integers(0, 3, (size, 1)).astype(np.uint8))
    seen = Records(plain.numbers.astype(np.float32), plain.codes)
    return PoolRows(plain, seen, np.sort(rng.integers(0, classes, size)))


def by_hand(pool, drawn, around, weight):
    """The same one by one: a row's nearest among those drawn, itself left out."""
    found = []
    others, times = np.unique(drawn, return_counts=True)
    for place in range(len(pool)):
        far = (
            (pool.in_voting_space.numbers[others] - pool.in_voting_space.numbers[place]) ** 2
        ).sum(axis=1)
        far = far + weight * (
            pool.in_voting_space.codes[others] != pool.in_voting_space.codes[place]
        ).sum(axis=1)
        near = [n for n in np.argsort(far, kind="stable")[: around + 1] if others[n] != place]
        alike = [n for n in near if pool.classes[others[n]] == pool.classes[place]]
        found.append((times[alike].sum() + 0.5) / (times[near].sum() + 1))
    return found


@pytest.mark.parametrize("around", [1, 3, 7])
def test_it_is_the_share_of_the_own_class_around(around):
    pool = rows()
    drawn = np.sort(np.random.default_rng(1).integers(0, len(pool), 300))
    found = compute_agreement(pool, drawn, 1 / 3, around=around)
    assert found == pytest.approx(by_hand(pool, drawn, around, 1 / 3))


def test_a_row_does_not_count_for_itself():
    places = np.array([[0.0], [0.1], [0.2]], dtype=np.float32)
    records = Records(places, np.empty((3, 0), dtype=np.uint8))
    pool = PoolRows(records, records, np.array([0, 1, 1]))
    often = np.array([0] * 50 + [1, 2])
    assert compute_agreement(pool, often, 1 / 3)[0] == pytest.approx(0.5 / 3)


@pytest.mark.parametrize("drawn", [[0], [3, 3, 3], [0, 199]])
def test_few_draws_are_enough(drawn):
    found = compute_agreement(rows(), np.array(drawn), 1 / 3)
    assert ((found > 0) & (found < 1)).all()


def test_threads_change_nothing():
    pool, drawn = rows(3000), np.arange(0, 3000, 2)
    alone, together = (compute_agreement(pool, drawn, 1 / 3, jobs=jobs) for jobs in (1, 3))
    assert alone.tolist() == together.tolist()
