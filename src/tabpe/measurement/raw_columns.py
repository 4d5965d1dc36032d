"""Histograms of raw columns under noise: kinds of cells, ranges of numbers, values that occur.

Privacy: for each column, each function is a discrete Gaussian mechanism over a histogram in which a
row, or all of a user together, counts with a length of one at most. All columns of a query are
charged before a row is read, and read in one pass; columns compose like rounds. `measure_values`
also tells which values occur, where enough rows hold them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tabpe.accounting import Spend
from tabpe.backends.queries import ColumnQuery, ValueQuery
from tabpe.errors import TabpeError

if TYPE_CHECKING:
    from tabpe.measurement.session import PrivateSession


def compute_release_threshold(sigma: float, delta_share: float, length: int = 1) -> int:
    """Return the noisy count above which a value is released.

    Privacy: a value that one row alone holds is released with probability p = `delta_share` at
    most. Its count is 1, and noise N of the discrete Gaussian is sub-Gaussian: E exp(sN) <=
    exp(s^2 sigma^2 / 2) for all s. So P(N >= t) <= exp(-st + s^2 sigma^2 / 2) for s > 0. With s =
    t / sigma^2 that is exp(-t^2 / (2 sigma^2)), which is p for t = sigma sqrt(2 ln(1 / p)). Noise
    from a table is sub-Gaussian too. What follows for neighbours is theorem 5 of
    docs/explanation/proofs.md.

    Args:
        sigma: Scale of the noise, in the parts of `length`.
        delta_share: The probability.
        length: The most that one row, or one user, adds to a count.

    Example:
        >>> compute_release_threshold(10.0, 1e-6)
        54
    """
    return length + math.ceil(sigma * math.sqrt(2 * math.log(1 / delta_share)))


KINDS = "kinds of columns"
MAGNITUDES = "bounds, powers of two"
BINS = "bounds, bins"
CUTS = "label cuts, equal bins"
EVEN_CUTS = "label cuts, even bins"
VALUES = "categories"
COMMON = "most common values"
QUANTILES = "quantiles"

Counts = dict[str, NDArray[np.float64]]


def measure_histograms(session: PrivateSession, spend: Spend, query: ColumnQuery) -> Counts:
    """Return the noisy histogram of each column of a query, where a row or a user adds 1.

    Privacy: each column is charged once. The cells of a histogram are public: kinds, powers of two,
    bins, or values that are declared. So none is revealed by having a count, and no part of delta
    is taken, as `measure_values` does.
    """
    item = session.account.charge_spend(spend, query.count)
    exact, scale = session.backend.answer(query).value, session.neighbours.scale
    return {name: session.add_noise(counts, item) / scale for name, counts in exact.items()}


def measure_values(
    session: PrivateSession, spend: Spend, query: ValueQuery
) -> dict[str, dict[Any, float]]:
    """Return the values of each column whose noisy counts are above a threshold, with these counts.

    Privacy: noise is added to every value that occurs. One that occurs in both of two neighbours is
    a cell like any other. One that a single row holds, or a single user, is released with the
    probability that the account was charged for, at most (`compute_release_threshold`). Values that
    are not released leave no trace. The answer is sorted: the order of rows does not matter.
    """
    item = session.account.charge_spend(spend, query.count)
    if not item.delta_share:
        raise TabpeError(f"{VALUES}: no part of delta was charged for releasing values.")
    length = session.neighbours.scale
    above = compute_release_threshold(item.sigma * length, item.delta_share, length)
    found = {}
    for name, counts in session.backend.answer(query).value.items():
        counted = session.add_noise(np.array(list(counts.values()), dtype=np.int64), item)
        noisy = zip(counts, counted.tolist(), strict=True)
        found[name] = dict(sorted((v, count / length) for v, count in noisy if count > above))
    return found
