"""Rows that are held are counted as those that are read afresh."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tabpe.backends import CachedMarginalCounter, MarginalCounter
from tabpe.encoding import Marginal, Records
from tabpe.encoding.marginals import ListAxis, NumberAxis

AXES = (
    ListAxis("a", 0, (0, 1, 1)),
    NumberAxis("x", 0, (0.3, 0.6), (0, 3, 6, 10)),
    ListAxis("c", None, (0, 1)),
)
ASKED = [Marginal(()), Marginal(AXES[:1]), Marginal(AXES[:2]), Marginal(AXES), Marginal(AXES[1:])]


def batches_of(sizes, seed):
    rng = np.random.default_rng(seed)
    return [
        (
            Records(rng.random((size, 1)), rng.integers(0, 3, (size, 1)).astype(np.uint8)),
            rng.integers(0, 2, size),
        )
        for size in sizes
    ]


@given(st.lists(st.integers(0, 5), max_size=4), st.integers(0, 100))
def test_it_counts_as_the_tables_that_read_afresh(sizes, seed):
    batches = batches_of(sizes, seed)
    held, fresh = CachedMarginalCounter(batches), MarginalCounter(batches)
    for _ in range(2):
        for one, other in zip(held.counts(ASKED), fresh.counts(ASKED), strict=True):
            assert one.dtype == other.dtype
            assert one.tolist() == other.tolist()


def test_what_it_returns_is_no_window_into_it():
    held = CachedMarginalCounter(batches_of([20], 0))
    (first,) = held.counts(ASKED[1:2])
    first += 1000
    assert held.counts(ASKED[1:2])[0].sum() == 20
    held.counts(ASKED[1:2])[0][:] = -1
    assert held.counts(ASKED[1:2])[0].sum() == 20
