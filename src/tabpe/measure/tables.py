"""Marginals under noise: how many rows fall into each cell of some tables of counts.

Privacy: each marginal is a discrete Gaussian mechanism over a histogram in which a row counts in
exactly one cell, or all rows of a user together with a length of one at most. All marginals of a
question are charged before a row is read, and read in one pass; they compose like rounds.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tabpe.encode.axes import Marginal
from tabpe.engines import Tables
from tabpe.errors import TabpeError
from tabpe.measure.terms import Terms, charged, check_mechanism, noisy
from tabpe.privacy.bill import GAUSSIAN

MARGINALS = "marginals"


def marginals(
    tables: Tables, asked: Sequence[Marginal], terms: Terms, name: str = MARGINALS
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
    scale = terms.neighbours.scale
    if tables.scale != scale:
        raise TabpeError(f"{name}: rows are counted for another promise than they are charged to.")
    item = charged(terms.account, name, len(asked))
    check_mechanism(item, GAUSSIAN)
    return [
        _matching(noisy(counts, item, terms), marginal) / scale
        for counts, marginal in zip(tables.counts(asked), asked, strict=True)
    ]


def _matching(counts: NDArray[np.int64], marginal: Marginal) -> NDArray[np.int64]:
    if counts.shape != (marginal.size,):
        raise TabpeError("marginals: the counts are not those of the cells asked for.")
    return counts.reshape(marginal.shape)
