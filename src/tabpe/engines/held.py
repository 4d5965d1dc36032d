"""Exact counts for methods that ask for many marginals of the same rows, again and again.

The rows are read once and held, with the cell of each row on every axis. Counts that were made are
kept as well, up to a limit. All of it is exact and private, and stays here: only `tabpe.measure`
asks.

Privacy: a row counts in exactly one cell of a marginal, and in one cell of a halfspace or in none.
Which one depends on that row alone (`tabpe.encode.axes`, `tabpe.encode.halfspaces`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tabpe.encode import Records
from tabpe.encode.axes import Axis, Marginal
from tabpe.encode.halfspaces import Halfspaces
from tabpe.engines.tables import Batches, Tables, Whole

_MOST_KEPT = 20_000_000  # cells: 160 MB


class HeldTables(Tables):
    """Counts rows that are held in memory in the cells of marginals.

    Args:
        batches: The rows that count, each with its class; they are read once.

    Example:
        >>> from tabpe.encode.axes import ListAxis
        >>> rows = Records(np.zeros((3, 0)), np.array([[0], [2], [2]], dtype=np.uint8))
        >>> tables = HeldTables([(rows, np.zeros(3, dtype=np.int64))])
        >>> tables.counts([Marginal((ListAxis("ward", 0, (0, 1, 2)),)), Marginal(())])
        [array([1, 0, 2]), array([3])]
    """

    def __init__(self, batches: Batches) -> None:
        super().__init__(batches)
        parts = [(rows, classes) for rows, classes in batches if len(rows)]
        self._size = sum(len(rows) for rows, _ in parts)
        if parts:
            self._rows = Records.concat([rows for rows, _ in parts])
            self._classes: Whole = np.concatenate([classes for _, classes in parts])
        self._cells: dict[int, tuple[Axis, NDArray[np.int64]]] = {}
        self._kept: dict[tuple[int, ...], Whole] = {}
        self._room = _MOST_KEPT
        self._inside: dict[int, tuple[Halfspaces, NDArray[np.int32]]] = {}

    def counts(self, asked: Sequence[Marginal]) -> list[Whole]:
        """Return how many rows fall into each cell of each marginal."""
        return [self._counted(marginal) for marginal in asked]

    def inside(self, asked: Halfspaces) -> NDArray[np.int32]:
        """Return how many rows of each cell lie in each halfspace; that is counted once and kept.

        A row counts one in a single cell of a halfspace, or nowhere.
        """
        if id(asked) not in self._inside:
            self._inside[id(asked)] = asked, self._counted_inside(asked)
        return self._inside[id(asked)][1]

    def _counted_inside(self, asked: Halfspaces) -> NDArray[np.int32]:
        if not self._size:
            return np.zeros((len(asked), asked.cells), dtype=np.int32)
        cells = 0 if asked.axis is None else self._on(asked.axis)
        ones = np.zeros((self._size, asked.cells), dtype=np.float32)
        ones[np.arange(self._size), cells] = 1.0
        counts = asked.masses(self._rows.numbers, ones).astype(np.int32)
        counts.flags.writeable = False
        return counts

    def _counted(self, marginal: Marginal) -> Whole:
        if not self._size:
            return np.zeros(marginal.size, dtype=np.int64)
        key = tuple(id(axis) for axis in marginal.axes)
        known = self._kept.get(key)
        if known is not None:
            return known.copy()
        cells = np.zeros(self._size, dtype=np.int64)
        for axis in marginal.axes:
            cells = cells * axis.size + self._on(axis)
        counts = np.bincount(cells, minlength=marginal.size).astype(np.int64)
        if counts.size <= self._room:
            self._room -= counts.size
            self._kept[key] = counts
            return counts.copy()
        return counts

    def _on(self, axis: Axis) -> NDArray[np.int64]:
        """Return the cell of every row on an axis, which is kept: so its identity stays its own."""
        if id(axis) not in self._cells:
            self._cells[id(axis)] = axis, Marginal((axis,)).cells(self._rows, self._classes)
        return self._cells[id(axis)][1]
