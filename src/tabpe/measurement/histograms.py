"""Histograms under noise: votes for candidates, rows of a class, rows of the table.

Privacy: each function is a discrete Gaussian mechanism. A private row counts in at most one cell
of the answer, over all classes together, or all rows of a user make up one vector of length
`Engine.scale`; see `Neighbours`. The noise on every cell has the sigma that the account was charged
for, times that scale, before a row is read.

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
from tabpe.accounting import Account, BillItem, NoiseSource
from tabpe.backends import Classed, Engine, Sized
from tabpe.backends.nearest import MOST_NEAREST
from tabpe.encoding import Records
from tabpe.errors import ParameterError, TabpeError
from tabpe.measurement.terms import charged

VOTES = "votes"
CLASS_COUNTS = "class counts"
ROW_COUNT = "row count"
USER_COUNT = "user count"


@dataclass(frozen=True, eq=False)
class Measured:
    """A noisy histogram, or several of a kind: public from here on.

    Args:
        values: The noisy counts, one array a class for votes, one a marginal, or a single one.
        item: What it adds to the bill.
        scale: What a row or a user counts: 1, the parts of a fixed point, or these times `repeats`.
        repeats: How many noisy answers to the same question were added up.
    """

    values: list[NDArray[np.int64]]
    item: BillItem
    scale: int = 1
    repeats: int = 1

    @property
    def sigma(self) -> float:
        """The noise on each count, where a row or a user counts one."""
        return self.item.sigma / math.sqrt(self.repeats)


def votes(
    engine: Engine,
    population: Sequence[Records],
    account: Account,
    noise: NoiseSource,
    *,
    each: int = 1,
    repeats: int = 1,
    name: str = VOTES,
) -> Measured:
    """Return the noisy votes of the private rows for the candidates of each class.

    Args:
        engine: Holds the private rows.
        population: The candidates of each class.
        account: Is charged for a histogram for each vote of a row, however many candidates a
            class has.
        noise: The source of noise; each cell gets one draw, whatever the number of votes.
        each: For how many of the nearest candidates a row votes.
        repeats: How often the question is answered, each time under noise of its own and charged
            for; the answers are added up.
        name: Their item on the bill.
    """
    _check_votes(each)
    sizes = [len(candidates) for candidates in population]
    measured = _measure(
        name,
        sum(sizes),
        lambda: _joined(engine.votes(population, each), sizes),
        times=each,
        repeats=repeats,
        engine=engine,
        account=account,
        noise=noise,
    )
    parts = np.split(measured.values[0], np.cumsum(sizes)[:-1])
    return Measured(list(parts), measured.item, measured.scale, repeats)


def class_counts(engine: Classed, classes: int, account: Account, noise: NoiseSource) -> Measured:
    """Return the noisy number of private rows of each class."""
    return _measure(
        CLASS_COUNTS, classes, engine.class_counts, engine=engine, account=account, noise=noise
    )


def row_count(
    engine: Sized, account: Account, noise: NoiseSource, name: str = ROW_COUNT
) -> Measured:
    """Return the noisy number of private rows, or of users; `name` is its item on the bill."""
    return _measure(name, 1, engine.row_count, engine=engine, account=account, noise=noise)


def _measure(
    name: str,
    cells: int,
    count: Callable[[], NDArray[np.int64]],
    *,
    times: int = 1,
    repeats: int = 1,
    engine: Sized,
    account: Account,
    noise: NoiseSource,
) -> Measured:
    """Charge, then count exactly while the noise is drawn in another thread."""
    item, scale = charged(account, name, times * repeats), engine.scale
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="tabpe-noise") as pool:
        drawn = pool.submit(noise.draw, cells * repeats, item.sigma * scale)
        exact, added = count(), drawn.result()
    # Broadcasting would put one draw on many cells, or one count into them.
    if exact.shape != (cells,) or added.shape != (cells * repeats,):
        raise TabpeError(f"{name}: counts and noise do not match the {cells} cells asked for.")
    total = repeats * exact + added.reshape(repeats, cells).sum(axis=0)
    return Measured([total], item, scale * repeats, repeats)


def _check_votes(each: int) -> None:
    validation.whole("each", each, least=1)
    if each > MOST_NEAREST:
        raise ParameterError(f"each={each}: expected at most {MOST_NEAREST} votes of a row.")


def _joined(parts: Sequence[NDArray[np.int64]], sizes: Sequence[int]) -> NDArray[np.int64]:
    if [len(part) for part in parts] != list(sizes):
        raise TabpeError("votes: the engine answered for other candidates than it was asked about.")
    return np.concatenate([*parts, np.empty(0, dtype=np.int64)])
