"""Histograms under noise: votes for candidates, class counts, row counts, marginals.

Privacy: each function is a discrete Gaussian mechanism. A private row adds to at most one cell
of the answer, over all classes together, or all rows of a user make up one vector of length
`Backend.scale`; see `NeighboringRelation`. The noise on every cell has the sigma that the account
was charged for, times that scale, before a row is read.

Each marginal is a histogram in which a row adds to exactly one cell, or all rows of a user
together with a length of one at most. All marginals of a query are charged before a row is read,
and read in one pass; they compose like rounds.

Where a row has k votes, they are in k different cells, and the vector of a user has at most k times
the squared length. That is k mechanisms of the kind above, and charged as such.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tabpe.accounting.spend import GAUSSIAN, Spend
from tabpe.backends.base import Query
from tabpe.backends.nearest import MOST_NEAREST
from tabpe.backends.queries import ClassCountQuery, MarginalQuery, VoteQuery
from tabpe.encoding.marginals import Marginal
from tabpe.errors import ParameterError, TabpeError

if TYPE_CHECKING:
    from tabpe.measurement.session import PrivateSession

VOTES = "votes"
MARGINALS = "marginals"
CLASS_COUNTS = "class counts"
ROW_COUNT = "row count"
USER_COUNT = "user count"


@dataclass(frozen=True, eq=False)
class NoisyCounts:
    """A noisy histogram, or several of a kind: public from here on.

    Args:
        values: The noisy counts, one array a class for votes, one a marginal, or a single one.
        item: The spend, with how often it was charged for this.
        scale: What a row or a user adds: 1, the parts of a fixed point, or these times `repeats`.
        repeats: How many noisy answers to the same question were added up.
    """

    values: list[NDArray[np.int64]]
    item: Spend
    scale: int = 1
    repeats: int = 1

    @property
    def sigma(self) -> float:
        """The noise on each count, where a row or a user adds 1."""
        return self.item.sigma / math.sqrt(self.repeats)


def measure_votes(
    session: PrivateSession, spend: Spend, query: VoteQuery, *, repeats: int = 1
) -> NoisyCounts:
    """Return the noisy votes of the private rows for the candidates of each class.

    Args:
        session: The way to the private rows.
        spend: Is charged for a histogram for each vote of a row, however many candidates a class
            has. Each cell gets one draw of noise, whatever the number of votes.
        query: The candidates.
        repeats: How often the query is answered, each time under noise of its own and charged for;
            the answers are added up.
    """
    _check_votes(query.votes_per_row)
    sizes = [len(candidates) for candidates in query.population]
    measured = _measure_histogram(
        session,
        spend,
        sum(sizes),
        lambda: _join_votes(session.backend.answer(query).value, sizes),
        times=query.votes_per_row,
        repeats=repeats,
    )
    parts = np.split(measured.values[0], np.cumsum(sizes)[:-1])
    return NoisyCounts(list(parts), measured.item, measured.scale, repeats)


def measure_class_counts(
    session: PrivateSession, spend: Spend, query: ClassCountQuery, classes: int
) -> NoisyCounts:
    """Return the noisy number of private rows of each class."""
    return _measure_histogram(session, spend, classes, lambda: session.backend.answer(query).value)


def measure_row_count(session: PrivateSession, spend: Spend, query: Query) -> NoisyCounts:
    """Return the noisy number of private rows, or of users."""
    return _measure_histogram(session, spend, 1, lambda: session.backend.answer(query).value)


def measure_marginals(session: PrivateSession, spend: Spend, query: MarginalQuery) -> NoisyCounts:
    """Return the noisy counts of each marginal, cell after cell; each is charged once."""
    item = session.account.charge_spend(spend, len(query.marginals))
    session.check_mechanism(item, GAUSSIAN)
    counted = zip(session.backend.answer(query).value, query.marginals, strict=True)
    values = [
        session.add_noise(_check_counts(counts, marginal), item) for counts, marginal in counted
    ]
    return NoisyCounts(values, item, session.backend.scale)


def _measure_histogram(
    session: PrivateSession,
    spend: Spend,
    cells: int,
    count: Callable[[], NDArray[np.int64]],
    *,
    times: int = 1,
    repeats: int = 1,
) -> NoisyCounts:
    """Charge, then count exactly while the noise is drawn in another thread."""
    item, scale = session.account.charge_spend(spend, times * repeats), session.backend.scale
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="tabpe-noise") as pool:
        drawn = pool.submit(session.noise.draw, cells * repeats, item.sigma * scale)
        exact, added = count(), drawn.result()
    # Broadcasting would put one draw on many cells, or one count into them.
    if exact.shape != (cells,) or added.shape != (cells * repeats,):
        raise TabpeError(
            f"{spend.name}: counts and noise do not match the {cells} cells asked for."
        )
    total = repeats * exact + added.reshape(repeats, cells).sum(axis=0)
    return NoisyCounts([total], item, scale * repeats, repeats)


def _check_votes(votes_per_row: int) -> None:
    if type(votes_per_row) is not int or not 1 <= votes_per_row <= MOST_NEAREST:
        raise ParameterError(
            f"votes_per_row={votes_per_row!r}: expected a whole number from 1 to {MOST_NEAREST}."
        )


def _join_votes(parts: Sequence[NDArray[np.int64]], sizes: Sequence[int]) -> NDArray[np.int64]:
    if [len(part) for part in parts] != list(sizes):
        raise TabpeError("votes: the backend answered for other candidates than it was asked for.")
    return np.concatenate([*parts, np.empty(0, dtype=np.int64)])


def _check_counts(counts: NDArray[np.int64], marginal: Marginal) -> NDArray[np.int64]:
    if counts.shape != (marginal.size,):
        raise TabpeError("marginals: the counts are not those of the cells asked for.")
    return counts
