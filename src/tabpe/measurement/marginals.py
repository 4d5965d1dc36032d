"""Marginals under noise: how many rows fall into each cell of some tables of counts.

Privacy: each marginal is a discrete Gaussian mechanism over a histogram in which a row counts in
exactly one cell, or all rows of a user together with a length of one at most. All marginals of a
query are charged before a row is read, and read in one pass; they compose like rounds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tabpe.accounting.spend import GAUSSIAN, Spend
from tabpe.backends.queries import MarginalQuery
from tabpe.encoding.marginals import Marginal
from tabpe.errors import TabpeError
from tabpe.measurement.histograms import NoisyCounts

if TYPE_CHECKING:
    from tabpe.measurement.session import PrivateSession

MARGINALS = "marginals"


def measure_marginals(session: PrivateSession, spend: Spend, query: MarginalQuery) -> NoisyCounts:
    """Return the noisy counts of each marginal, cell after cell; each is charged once."""
    item = session.account.charge_spend(spend, len(query.marginals))
    session.check_mechanism(item, GAUSSIAN)
    counted = zip(session.backend.answer(query).value, query.marginals, strict=True)
    values = [
        session.add_noise(_check_counts(counts, marginal), item) for counts, marginal in counted
    ]
    return NoisyCounts(values, item, session.backend.scale)


def _check_counts(counts: NDArray[np.int64], marginal: Marginal) -> NDArray[np.int64]:
    if counts.shape != (marginal.size,):
        raise TabpeError("marginals: the counts are not those of the cells asked for.")
    return counts
