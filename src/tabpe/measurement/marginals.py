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
from tabpe.backends import Tabled
from tabpe.encoding.marginals import Marginal
from tabpe.errors import TabpeError
from tabpe.measurement.histograms import Measured
from tabpe.measurement.terms import Terms, charged, check_mechanism, noisy

MARGINALS = "marginals"


def marginals(
    tables: Tabled, asked: Sequence[Marginal], terms: Terms, name: str = MARGINALS
) -> list[NDArray[np.float64]]:
    """Return the noisy counts of each marginal, in its shape, where a row or a user counts one.

    Args:
        tables: Counts the rows.
        asked: The marginals; each is charged once.
        terms: On which terms rows are read.
        name: Their item on the bill.
    """
    if not asked:
        return []
    measured = measured_marginals(tables, asked, terms, name)
    return [
        counts.reshape(marginal.shape) / measured.scale
        for counts, marginal in zip(measured.values, asked, strict=True)
    ]


def measured_marginals(
    tables: Tabled, asked: Sequence[Marginal], terms: Terms, name: str = MARGINALS
) -> Measured:
    """Return the same as whole numbers, cell after cell, with what they add to the bill.

    Args:
        tables: Counts the rows.
        asked: The marginals, one or more; each is charged once.
        terms: On which terms rows are read.
        name: Their item on the bill.
    """
    if tables.scale != terms.neighbours.scale:
        raise TabpeError(f"{name}: rows are counted for another promise than they are charged to.")
    item = charged(terms.account, name, len(asked))
    check_mechanism(item, GAUSSIAN)
    counted = zip(tables.counts(asked), asked, strict=True)
    values = [noisy(_matching(counts, marginal), item, terms) for counts, marginal in counted]
    terms.note(item, *values)
    return Measured(values, item, tables.scale)


def _matching(counts: NDArray[np.int64], marginal: Marginal) -> NDArray[np.int64]:
    if counts.shape != (marginal.size,):
        raise TabpeError("marginals: the counts are not those of the cells asked for.")
    return counts
