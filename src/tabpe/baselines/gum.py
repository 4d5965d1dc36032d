"""Rows that follow given marginals: the Gradually Update Method of PrivSyn.

A table starts with columns independent of each other. Then it is held against one marginal after
the other: rows of cells that are too full make room for rows of cells that are too empty. No step
goes all the way, because what is right for one marginal is wrong for another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tabpe.baselines.domain import Clique, Codes, Floats

Whole = NDArray[np.int64]
# The pace falls by this factor every so many rounds.
_SLOWER, _EVERY = 0.84, 20
# Of the new rows of a cell, this share are copies of whole rows that are in it. The others are rows
# from elsewhere that take over the values of the cell: they keep the table rich.
_COPIED = 0.5
_HALVINGS = 50


@dataclass(frozen=True, eq=False)
class Target:
    """A marginal that rows should have.

    Args:
        clique: The attributes, ascending.
        shares: The share of each cell, one axis for each attribute; one in all.
    """

    clique: Clique
    shares: Floats

    def cells(self, codes: Codes) -> Whole:
        """Return the cell of each row."""
        columns = tuple(codes[:, place] for place in self.clique)
        found: Whole = np.ravel_multi_index(columns, self.shares.shape).astype(np.int64)
        return found

    def missed(self, codes: Codes) -> float:
        """Return how far rows are from it (L1, of shares)."""
        counts = np.bincount(self.cells(codes), minlength=self.shares.size)
        return float(np.abs(counts / len(codes) - self.shares.ravel()).sum())


def independent_rows(shares: Sequence[Floats], size: int, rng: np.random.Generator) -> Codes:
    """Return rows whose columns have the given shares and nothing to do with each other.

    Args:
        shares: The share of each value, for each attribute.
        size: Number of rows.
        rng: Puts each column in an order of its own.

    Example:
        >>> rows = independent_rows([np.array([0.5, 0.5])], 10, np.random.default_rng(0))
        >>> np.bincount(rows[:, 0])
        array([5, 5])
    """
    columns = [
        rng.permutation(np.repeat(np.arange(len(one)), whole_parts(one, size, rng)))
        for one in shares
    ]
    return np.column_stack(columns).astype(np.int64)


def gradually_update(
    codes: Codes, targets: Sequence[Target], *, rounds: int, rng: np.random.Generator
) -> Codes:
    """Return rows moved towards all targets; in each round, first to those that are missed most.

    Args:
        codes: The rows to begin with; they stay as they are.
        targets: What the rows should look like.
        rounds: How often each target has its turn.
        rng: Decides which rows move.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> rows = np.column_stack([np.arange(100) % 2, rng.integers(2, size=100)])
        >>> same = Target((0, 1), np.array([[0.5, 0.0], [0.0, 0.5]]))
        >>> moved = gradually_update(rows, [same], rounds=20, rng=rng)
        >>> same.missed(rows) > 0.5, same.missed(moved) < 0.05
        (True, True)
    """
    codes = codes.copy()
    for turn in range(rounds if len(codes) else 0):
        pace = _SLOWER ** (turn // _EVERY)
        for target in sorted(targets, key=lambda one: one.missed(codes), reverse=True):
            _move(codes, target, pace, rng)
    return codes


def whole_parts(amounts: Floats, total: int, rng: np.random.Generator) -> Whole:
    """Return whole numbers in proportion to amounts: each rounded up or down, fair on average.

    Args:
        amounts: At least zero each; not all zero unless `total` is.
        total: What they should add up to.
        rng: Decides which are rounded up.

    Example:
        >>> whole_parts(np.array([1.0, 3.0]), 8, np.random.default_rng(0))
        array([2, 6])
    """
    if total == 0:
        return np.zeros(len(amounts), dtype=np.int64)
    ends = np.cumsum(amounts)
    # The last end is the total itself, whatever floating point says.
    marks = np.append(0.0, np.minimum(ends * (total / ends[-1]), total))
    marks[1:][ends == ends[-1]] = total
    return np.diff(np.floor(marks + rng.random())).astype(np.int64)


def _move(codes: Codes, target: Target, pace: float, rng: np.random.Generator) -> None:
    """Move rows, in place, from cells that are too full to cells that are too empty."""
    cells = target.cells(codes)
    now = np.bincount(cells, minlength=target.shares.size)
    more, fewer = _changes(now, target.shares.ravel() * len(codes), pace, rng)
    order = _by_cell(cells, rng)
    starts = np.cumsum(now) - now
    rank = np.arange(len(codes)) - starts[cells[order]]
    freed = order[rank < fewer[cells[order]]]
    wanted = rng.permutation(np.repeat(np.arange(len(more)), more))[: len(freed)]
    copy = (now[wanted] > 0) & (rng.random(len(wanted)) < _COPIED)
    twins = wanted[copy]
    donors = order[starts[twins] + (rng.random(len(twins)) * now[twins]).astype(np.int64)]
    codes[freed[copy]] = codes[donors]
    values = np.unravel_index(wanted[~copy], target.shares.shape)
    for place, column in zip(target.clique, values, strict=True):
        codes[freed[~copy], place] = column


def _changes(
    now: Whole, wanted: Floats, pace: float, rng: np.random.Generator
) -> tuple[Whole, Whole]:
    """Return how many rows each cell gets and how many it gives, the same number in all.

    A cell grows by at most `pace` times what it has; an empty one, by that part of what it should
    have. A cell that gives, gives at most a share of what it has that is the same for all.
    """
    lack = np.maximum(wanted - now, 0.0)
    gets = np.where(now > 0, np.minimum(lack, pace * now), pace * lack)
    spare = np.maximum(now - wanted, 0.0)
    gives = _up_to(spare, now, float(gets.sum()))
    total = int(min(gets.sum(), gives.sum()) + rng.random())
    total = min(total, int(spare.sum()))
    return whole_parts(gets, total, rng), np.minimum(whole_parts(gives, total, rng), now)


def _up_to(spare: Floats, now: Whole, total: float) -> Floats:
    """Return what is given, `total` in all: at most what is spare, and one share of all cells."""
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        share = (low + high) / 2
        enough = np.minimum(spare, share * now).sum() >= total
        low, high = (low, share) if enough else (share, high)
    given: Floats = np.minimum(spare, high * now)
    return given


def _by_cell(cells: Whole, rng: np.random.Generator) -> Whole:
    """Return the places of rows, sorted by cell and within a cell in random order."""
    shuffled = rng.permutation(len(cells))
    # Of small integers a stable sort takes linear time.
    small = cells[shuffled].astype(np.min_scalar_type(int(cells.max())))
    return shuffled[np.argsort(small, kind="stable")]
