"""What a schema lacks, under noise: kinds of cells, ranges of numbers, values that occur.

From which noisy count on a value is told.

Privacy: for each column, each function is a discrete Gaussian mechanism over a histogram in which a
row, or all of a user together, counts with a length of one at most. All columns of a question are
charged before a row is read, and read in one pass; columns compose like rounds. `values` also tells
which values occur, where enough rows hold them: see there.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabpe.accounting import Spend
from tabpe.backends import SupportsRawColumns
from tabpe.encoding.raw_cells import ClampedBins, EqualWidthBins
from tabpe.errors import TabpeError
from tabpe.measurement.terms import MeasurementTerms, add_noise, charge_spend
from tabpe.schema import Categorical


def compute_release_threshold(sigma: float, delta_share: float, length: int = 1) -> int:
    """Return the noisy count above which a value is told.

    Privacy: a value that one row alone holds is told with at most the given chance. Its count is 1,
    and noise N of the discrete Gaussian is sub-Gaussian: E exp(sN) <= exp(s^2 sigma^2 / 2) for all
    s. So P(N >= t) <= exp(-st + s^2 sigma^2 / 2) for s > 0. With s = t / sigma^2 that is
    exp(-t^2 / (2 sigma^2)), which is the chance for t = sigma sqrt(2 ln(1 / chance)). Noise from a
    table is sub-Gaussian too. What follows for neighbours is claim 5 of docs/privacy.md.

    Args:
        sigma: Scale of the noise, in the parts of `length`.
        delta_share: The chance.
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


def measure_kinds(
    counter: SupportsRawColumns, names: Sequence[str], terms: MeasurementTerms
) -> Counts:
    """Return the noisy number of cells of each kind, for each column."""
    item = charge_spend(terms.account, KINDS, len(names))
    return _add_noise_by_column(counter.kinds(names), item, terms)


def measure_magnitudes(
    counter: SupportsRawColumns, names: Sequence[str], terms: MeasurementTerms
) -> Counts:
    """Return the noisy number of numbers of each sign and power of two, for each column."""
    item = charge_spend(terms.account, MAGNITUDES, len(names))
    return _add_noise_by_column(counter.magnitudes(names), item, terms)


def measure_bins(
    counter: SupportsRawColumns,
    queries: Mapping[str, EqualWidthBins | ClampedBins],
    terms: MeasurementTerms,
    name: str = BINS,
) -> Counts:
    """Return the noisy number of numbers in each of the bins of each column."""
    item = charge_spend(terms.account, name, len(queries))
    return _add_noise_by_column(counter.bins(queries), item, terms)


def measure_quantile_bins(
    counter: SupportsRawColumns, queries: Mapping[str, ClampedBins], terms: MeasurementTerms
) -> Counts:
    """Return the noisy number of numbers in each piece of the range of each column."""
    item = charge_spend(terms.account, QUANTILES, len(queries))
    return _add_noise_by_column(counter.bins(queries), item, terms)


def measure_declared_values(
    counter: SupportsRawColumns, queries: Mapping[str, Categorical], terms: MeasurementTerms
) -> Counts:
    """Return the noisy number of cells that hold each declared value of each column.

    Privacy: the values are declared, so each of them has a count, and none is told by having one.
    That takes no part of delta, as `values` does.
    """
    item = charge_spend(terms.account, COMMON, len(queries))
    return _add_noise_by_column(counter.listed(queries), item, terms)


def measure_values(
    counter: SupportsRawColumns, queries: Mapping[str, type], terms: MeasurementTerms
) -> dict[str, dict[Any, float]]:
    """Return the values of each column whose noisy counts are above a threshold, with these counts.

    Privacy: noise is added to every value that occurs. One that occurs in both of two neighbours is
    a cell like any other. One that a single row holds, or a single user, is told with the chance
    that the account was charged for, at most
    (`tabpe.schema_inference.categories.compute_release_threshold`). Values that are not told leave
    no trace. The answer is sorted, so it does not tell in which order the rows stand.

    Args:
        counter: Counts the values.
        queries: The columns, and whether their values are `str`, `int` or `float`.
        terms: On which terms rows are read.
    """
    item = charge_spend(terms.account, VALUES, len(queries))
    if not item.chance:
        raise TabpeError(f"{VALUES}: without a chance that a value is told there is no threshold.")
    length = terms.neighbours.scale
    above = compute_release_threshold(item.sigma * length, item.chance, length)
    found = {}
    for name, counts in counter.values(queries).items():
        counted = add_noise(np.array(list(counts.values()), dtype=np.int64), item, terms)
        told = zip(counts, counted.tolist(), strict=True)
        found[name] = dict(sorted((v, count / length) for v, count in told if count > above))
    return found


def _add_noise_by_column(
    exact: Mapping[str, NDArray[np.int64]], item: Spend, terms: MeasurementTerms
) -> Counts:
    scale = terms.neighbours.scale
    return {name: add_noise(counts, item, terms) / scale for name, counts in exact.items()}
