"""Histograms under noise: votes for candidates, rows of a class, rows of the table.

Privacy: each function is a discrete Gaussian mechanism. A private row counts in at most one cell
of the answer, over all classes together, or all rows of a user make up one vector of length
`Engine.scale`; see `NeighboringRelation`. The noise on every cell has the sigma that the account
was charged for, times that scale, before a row is read.

Where a row has k votes, they are in k different cells, and the vector of a user has at most k times
the squared length. That is k mechanisms of the kind above, and charged as such.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tabpe._utils import validation
from tabpe.accounting import Account, NoiseSource, Spend
from tabpe.backends import Engine, SupportsClassCounts, SupportsRowCount
from tabpe.backends.nearest import MOST_NEAREST
from tabpe.encoding import Records
from tabpe.errors import ParameterError, TabpeError
from tabpe.measurement.terms import charge_spend

VOTES = "votes"
CLASS_COUNTS = "class counts"
ROW_COUNT = "row count"
USER_COUNT = "user count"


@dataclass(frozen=True, eq=False)
class NoisyCounts:
    """A noisy histogram, or several of a kind: public from here on.

    Args:
        values: The noisy counts, one array a class for votes, one a marginal, or a single one.
        item: What it adds to the bill.
        scale: What a row or a user counts: 1, the parts of a fixed point, or these times `repeats`.
        repeats: How many noisy answers to the same question were added up.
    """

    values: list[NDArray[np.int64]]
    item: Spend
    scale: int = 1
    repeats: int = 1

    @property
    def sigma(self) -> float:
        """The noise on each count, where a row or a user counts one."""
        return self.item.sigma / math.sqrt(self.repeats)


def measure_votes(
    engine: Engine,
    population: Sequence[Records],
    account: Account,
    noise: NoiseSource,
    *,
    votes_per_row: int = 1,
    repeats: int = 1,
    name: str = VOTES,
) -> NoisyCounts:
    """Return the noisy votes of the private rows for the candidates of each class.

    Args:
        engine: Holds the private rows.
        population: The candidates of each class.
        account: Is charged for a histogram for each vote of a row, however many candidates a
            class has.
        noise: The source of noise; each cell gets one draw, whatever the number of votes.
        votes_per_row: For how many of the nearest candidates a row votes.
        repeats: How often the question is answered, each time under noise of its own and charged
            for; the answers are added up.
        name: Their item on the bill.
    """
    _check_votes(votes_per_row)
    sizes = [len(candidates) for candidates in population]
    measured = _measure_histogram(
        name,
        sum(sizes),
        lambda: _join_votes(engine.votes(population, votes_per_row), sizes),
        times=votes_per_row,
        repeats=repeats,
        engine=engine,
        account=account,
        noise=noise,
    )
    parts = np.split(measured.values[0], np.cumsum(sizes)[:-1])
    return NoisyCounts(list(parts), measured.item, measured.scale, repeats)


def measure_class_counts(
    engine: SupportsClassCounts, classes: int, account: Account, noise: NoiseSource
) -> NoisyCounts:
    """Return the noisy number of private rows of each class."""
    return _measure_histogram(
        CLASS_COUNTS, classes, engine.class_counts, engine=engine, account=account, noise=noise
    )


def measure_row_count(
    engine: SupportsRowCount, account: Account, noise: NoiseSource, name: str = ROW_COUNT
) -> NoisyCounts:
    """Return the noisy number of private rows, or of users; `name` is its item on the bill."""
    return _measure_histogram(
        name, 1, engine.row_count, engine=engine, account=account, noise=noise
    )


def _measure_histogram(
    name: str,
    cells: int,
    count: Callable[[], NDArray[np.int64]],
    *,
    times: int = 1,
    repeats: int = 1,
    engine: SupportsRowCount,
    account: Account,
    noise: NoiseSource,
) -> NoisyCounts:
    """Charge, then count exactly while the noise is drawn in another thread."""
    item, scale = charge_spend(account, name, times * repeats), engine.scale
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="tabpe-noise") as pool:
        drawn = pool.submit(noise.draw, cells * repeats, item.sigma * scale)
        exact, added = count(), drawn.result()
    # Broadcasting would put one draw on many cells, or one count into them.
    if exact.shape != (cells,) or added.shape != (cells * repeats,):
        raise TabpeError(f"{name}: counts and noise do not match the {cells} cells asked for.")
    total = repeats * exact + added.reshape(repeats, cells).sum(axis=0)
    return NoisyCounts([total], item, scale * repeats, repeats)


def _check_votes(votes_per_row: int) -> None:
    validation.check_integer("each", votes_per_row, least=1)
    if votes_per_row > MOST_NEAREST:
        raise ParameterError(
            f"each={votes_per_row}: expected at most {MOST_NEAREST} votes of a row."
        )


def _join_votes(parts: Sequence[NDArray[np.int64]], sizes: Sequence[int]) -> NDArray[np.int64]:
    if [len(part) for part in parts] != list(sizes):
        raise TabpeError("votes: the engine answered for other candidates than it was asked about.")
    return np.concatenate([*parts, np.empty(0, dtype=np.int64)])
