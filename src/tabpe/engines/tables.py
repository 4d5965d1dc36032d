"""Exact counts of rows in the cells of marginals, all of them in one pass.

Privacy: a row counts in exactly one cell of each marginal, which depends on that row alone
(`tabpe.encode.axes`). So one row more or less moves one cell of each by one. With users, all rows
of a user together are one vector of a given length at most in each (`unit_vectors`). What is
returned is exact and private: only `tabpe.measure` asks.

Memory: the counts, and a batch of rows. With users also a byte or a few for each row and marginal.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from tabpe.encode import Records
from tabpe.encode.axes import ListAxis, Marginal
from tabpe.engines.users import Users, unit_vectors
from tabpe.errors import DataError

Whole = NDArray[np.int64]
Batches = Iterable[tuple[Records, Whole]]


class Tables:
    """Counts rows in the cells of marginals.

    Args:
        batches: The rows that count, each with its class; they are read once for each question.
        users: Whose the rows are; None if every row counts for itself.
        classes: Number of classes.

    Example:
        >>> rows = Records(np.zeros((3, 0)), np.array([[0], [2], [2]], dtype=np.uint8))
        >>> tables = Tables([(rows, np.array([0, 1, 1]))], classes=2)
        >>> tables.counts([Marginal((ListAxis("ward", 0, (0, 1, 2)),)), Marginal(())])
        [array([1, 0, 2]), array([3])]
        >>> tables.class_counts()
        array([1, 2])
    """

    def __init__(self, batches: Batches, users: Users | None = None, classes: int = 1) -> None:
        self._batches, self._users = batches, users
        self._by_class = Marginal((ListAxis("class", None, tuple(range(classes))),))
        self.scale = 1 if users is None else users.scale

    def row_count(self) -> Whole:
        """Return, in a single cell, how many rows or users there are, times `scale`."""
        if self._users is not None:
            return np.array([self._users.count * self.scale])
        return self.counts([Marginal(())])[0]

    def class_counts(self) -> Whole:
        """Return how many rows each class has."""
        return self.counts([self._by_class])[0]

    def counts(self, asked: Sequence[Marginal]) -> list[Whole]:
        """Return how many rows fall into each cell of each marginal, or what users add to it."""
        if self._users is not None:
            return self._of_users(asked, self._users)
        totals = [np.zeros(marginal.size, dtype=np.int64) for marginal in asked]
        for rows, classes in self._batches:
            for place, marginal in enumerate(asked):
                cells = marginal.cells(rows, classes)
                totals[place] += np.bincount(cells, minlength=marginal.size)
        return totals

    def _of_users(self, asked: Sequence[Marginal], users: Users) -> list[Whole]:
        size = len(users.owners)
        kept = [np.empty(size, dtype=np.min_scalar_type(marginal.size - 1)) for marginal in asked]
        done = 0
        for rows, classes in self._batches:
            done += len(rows)
            if done > size:
                break
            for cells, marginal in zip(kept, asked, strict=True):
                cells[done - len(rows) : done] = marginal.cells(rows, classes)
        if done != size:
            raise DataError("the table changed while it was read: keep it as it is during a run.")
        return [
            unit_vectors(users.owners, cells.astype(np.int64), marginal.size, users.scale)
            for cells, marginal in zip(kept, asked, strict=True)
        ]
