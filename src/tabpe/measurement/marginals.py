"""Marginals under noise: how many rows fall into each cell of some tables of counts.

Privacy: each marginal is a discrete Gaussian mechanism over a histogram in which a row counts in
exactly one cell, or all rows of a user together with a length of one at most. All marginals of a
question are charged before a row is read, and read in one pass; they compose like rounds.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tabpe.accounting.spend import GAUSSIAN
from tabpe.backends import SupportsMarginals
from tabpe.encoding.marginals import Marginal
from tabpe.errors import TabpeError
from tabpe.measurement.histograms import NoisyCounts
from tabpe.measurement.terms import MeasurementTerms, add_noise, charge_spend, check_mechanism

MARGINALS = "marginals"


def measure_marginals(
    counter: SupportsMarginals,
    queries: Sequence[Marginal],
    terms: MeasurementTerms,
    name: str = MARGINALS,
) -> list[NDArray[np.float64]]:
    """Return the noisy counts of each marginal, in its shape, where a row or a user counts one.

    Args:
        counter: Counts the rows.
        queries: The marginals; each is charged once.
        terms: On which terms rows are read.
        name: Their item on the bill.
    """
    if not queries:
        return []
    measured = measure_marginal_counts(counter, queries, terms, name)
    return [
        counts.reshape(marginal.shape) / measured.scale
        for counts, marginal in zip(measured.values, queries, strict=True)
    ]


def measure_marginal_counts(
    counter: SupportsMarginals,
    queries: Sequence[Marginal],
    terms: MeasurementTerms,
    name: str = MARGINALS,
) -> NoisyCounts:
    """Return the same as whole numbers, cell after cell, with what they add to the bill.

    Args:
        counter: Counts the rows.
        queries: The marginals, one or more; each is charged once.
        terms: On which terms rows are read.
        name: Their item on the bill.
    """
    if counter.scale != terms.neighbours.scale:
        raise TabpeError(f"{name}: rows are counted for another promise than they are charged to.")
    item = charge_spend(terms.account, name, len(queries))
    check_mechanism(item, GAUSSIAN)
    counted = zip(counter.counts(queries), queries, strict=True)
    values = [
        add_noise(_check_counts(counts, marginal), item, terms) for counts, marginal in counted
    ]
    terms.record_answer(item, *values)
    return NoisyCounts(values, item, counter.scale)


def _check_counts(counts: NDArray[np.int64], marginal: Marginal) -> NDArray[np.int64]:
    if counts.shape != (marginal.size,):
        raise TabpeError("marginals: the counts are not those of the cells asked for.")
    return counts
