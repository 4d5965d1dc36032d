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

from tabpe.accounting import BillItem
from tabpe.backends import Surveyed
from tabpe.encoding.raw_cells import Bins, Pieces
from tabpe.errors import TabpeError
from tabpe.measurement.terms import Terms, charged, noisy
from tabpe.schema import Categorical


def told_above(sigma: float, chance: float, length: int = 1) -> int:
    """Return the noisy count above which a value is told.

    Privacy: a value that one row alone holds is told with at most the given chance. Its count is 1,
    and noise N of the discrete Gaussian is sub-Gaussian: E exp(sN) <= exp(s^2 sigma^2 / 2) for all
    s. So P(N >= t) <= exp(-st + s^2 sigma^2 / 2) for s > 0. With s = t / sigma^2 that is
    exp(-t^2 / (2 sigma^2)), which is the chance for t = sigma sqrt(2 ln(1 / chance)). Noise from a
    table is sub-Gaussian too. What follows for neighbours is claim 5 of docs/privacy.md.

    Args:
        sigma: Scale of the noise, in the parts of `length`.
        chance: The chance.
        length: The most that one row, or one user, adds to a count.

    Example:
        >>> told_above(10.0, 1e-6)
        54
    """
    return length + math.ceil(sigma * math.sqrt(2 * math.log(1 / chance)))


KINDS = "kinds of columns"
MAGNITUDES = "bounds, powers of two"
BINS = "bounds, bins"
CUTS = "label cuts, equal bins"
EVEN_CUTS = "label cuts, even bins"
VALUES = "categories"
COMMON = "most common values"
QUANTILES = "quantiles"

Counts = dict[str, NDArray[np.float64]]


def kinds(survey: Surveyed, names: Sequence[str], terms: Terms) -> Counts:
    """Return the noisy number of cells of each kind, for each column."""
    item = charged(terms.account, KINDS, len(names))
    return _under_noise(survey.kinds(names), item, terms)


def magnitudes(survey: Surveyed, names: Sequence[str], terms: Terms) -> Counts:
    """Return the noisy number of numbers of each sign and power of two, for each column."""
    item = charged(terms.account, MAGNITUDES, len(names))
    return _under_noise(survey.magnitudes(names), item, terms)


def bins(
    survey: Surveyed, asked: Mapping[str, Bins | Pieces], terms: Terms, name: str = BINS
) -> Counts:
    """Return the noisy number of numbers in each of the bins of each column."""
    item = charged(terms.account, name, len(asked))
    return _under_noise(survey.bins(asked), item, terms)


def quantiles(survey: Surveyed, asked: Mapping[str, Pieces], terms: Terms) -> Counts:
    """Return the noisy number of numbers in each piece of the range of each column."""
    item = charged(terms.account, QUANTILES, len(asked))
    return _under_noise(survey.bins(asked), item, terms)


def listed(survey: Surveyed, asked: Mapping[str, Categorical], terms: Terms) -> Counts:
    """Return the noisy number of cells that hold each declared value of each column.

    Privacy: the values are declared, so each of them has a count, and none is told by having one.
    That takes no part of delta, as `values` does.
    """
    item = charged(terms.account, COMMON, len(asked))
    return _under_noise(survey.listed(asked), item, terms)


def values(
    survey: Surveyed, asked: Mapping[str, type], terms: Terms
) -> dict[str, dict[Any, float]]:
    """Return the values of each column whose noisy counts are above a threshold, with these counts.

    Privacy: noise is added to every value that occurs. One that occurs in both of two neighbours is
    a cell like any other. One that a single row holds, or a single user, is told with the chance
    that the account was charged for, at most (`tabpe.schema_inference.categories.told_above`).
    Values that are not told leave no trace. The answer is sorted, so it does not tell in which
    order the rows stand.

    Args:
        survey: Counts the values.
        asked: The columns, and whether their values are `str`, `int` or `float`.
        terms: On which terms rows are read.
    """
    item = charged(terms.account, VALUES, len(asked))
    if not item.chance:
        raise TabpeError(f"{VALUES}: without a chance that a value is told there is no threshold.")
    length = terms.neighbours.scale
    above = told_above(item.sigma * length, item.chance, length)
    found = {}
    for name, counts in survey.values(asked).items():
        counted = noisy(np.array(list(counts.values()), dtype=np.int64), item, terms)
        told = zip(counts, counted.tolist(), strict=True)
        found[name] = dict(sorted((v, count / length) for v, count in told if count > above))
    return found


def _under_noise(exact: Mapping[str, NDArray[np.int64]], item: BillItem, terms: Terms) -> Counts:
    scale = terms.neighbours.scale
    return {name: noisy(counts, item, terms) / scale for name, counts in exact.items()}
