"""Unique keys: columns whose values together are different in every row of a release.

Rows that repeat the key of an earlier row are moved to a free key nearby, where they satisfy the
other rules. Evolution ignores keys: they say nothing about where rows lie.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tabpe.encoding import Records
from tabpe.encoding.column_codec import RowPart
from tabpe.errors import ParameterError, shown
from tabpe.evolution.constraint_repair import ConstraintSet, RowPositions, replace_rows
from tabpe.schema.constraints import Constraint

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
NOTHING: frozenset[str] = frozenset()
# Rows that repeat a key move at random, each time twice as far, and soon find a free key if there
# are many; then all free keys are listed, if they are not too many, and assigned.
TURNS, HANDED_OUT = 24, 24
MOST_LISTED = 2**18
# The part of a range by which numbers without a grid move at first.
_NEAR = 1e-4


def enforce_unique_keys(
    constraints: ConstraintSet,
    rows: Records,
    classes: Whole,
    rng: np.random.Generator,
    *,
    fixed: frozenset[str] = NOTHING,
) -> Records:
    """Return rows in which every key is unique, and which still satisfy the rules.

    Args:
        constraints: The constraints of the schema.
        rows: Rows that satisfy the rules, apart from keys.
        classes: The class of each, which does not change.
        rng: Decides where rows move.
        fixed: Columns that do not change.

    Raises:
        ParameterError: If there are more rows than keys.

    Example:
        >>> from tabpe.encoding import Encoder
        >>> from tabpe.schema import Integer, Schema
        >>> encoder = Encoder(Schema((Integer("bed", 1, 9),), rules=("unique(bed)",)))
        >>> constraints = ConstraintSet.from_encoder(encoder)
        >>> rows = Records(np.full((9, 1), 0.5), np.empty((9, 0), np.uint8))
        >>> found = enforce_unique_keys(
        ...     constraints, rows, np.zeros(9, int), np.random.default_rng(0)
        ... )
        >>> sorted((1 + 8 * found.numbers.ravel()).tolist())
        [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]
    """
    assigner = _KeyAssigner(constraints, classes, rng, fixed)
    for key in constraints.keys:
        possible = assigner.count_possible(key, rows)
        if possible < len(rows):
            raise _make_too_many_error(len(rows), possible, key)
    rows, repeated = assigner.reassign_keys(rows)
    if repeated.any():
        raise _make_too_many_error(len(rows), len(rows) - int(repeated.sum()), constraints.keys[0])
    return rows


def reassign_keys(
    constraints: ConstraintSet,
    rows: Records,
    classes: Whole,
    rng: np.random.Generator,
    *,
    fixed: frozenset[str] = NOTHING,
) -> tuple[Records, NDArray[np.bool_]]:
    """Return rows with as many unique keys as were found, and which of them still repeat one."""
    return _KeyAssigner(constraints, classes, rng, fixed).reassign_keys(rows)


@dataclass(frozen=True, eq=False)
class _KeyAssigner:
    """Assigns keys to rows whose classes and fixed columns do not change."""

    constraints: ConstraintSet
    classes: Whole
    rng: np.random.Generator
    fixed: frozenset[str]

    def reassign_keys(self, rows: Records) -> tuple[Records, NDArray[np.bool_]]:
        late = self.find_repeats(rows, np.arange(len(rows)))
        for turn in range(TURNS):
            if not late.any():
                break
            where = np.flatnonzero(late)
            rows, late = self._apply_moves(rows, where, self._move_randomly(rows, where, 2.0**turn))
        for _ in range(HANDED_OUT):
            for key in self.constraints.keys:
                if late.any():
                    rows, late = self._hand_out_keys(key, rows, late)
        return rows, late

    def find_repeats(self, rows: Records, order: Whole) -> NDArray[np.bool_]:
        """Return which rows repeat a key of an earlier one in an order; nulls repeat none."""
        late = np.zeros(len(rows), dtype=bool)
        state = RowPositions.from_rows(self.constraints.codecs, rows, self.classes)
        for key in self.constraints.keys:
            cells = _stack_positions(state, sorted(key.columns))[order]
            whole = ~np.isnan(cells).any(axis=1)
            _, first = np.unique(cells[whole], axis=0, return_index=True)
            late[np.delete(order[whole], first)] = True
        return late

    def count_possible(self, key: Constraint, rows: Records) -> int:
        """Return how many of the rows can have a unique key, apart from the other rules."""
        state = RowPositions.from_rows(self.constraints.codecs, rows, self.classes)
        empty = np.isnan(_stack_positions(state, sorted(key.columns))).any(axis=1)
        whole = np.flatnonzero(~empty)
        return int(empty.sum()) + sum(
            int(min(np.isin(where, whole).sum(), self._count_keys(key, self.classes[where[0]])))
            for where in self._group_rows(key, rows)
        )

    def _apply_moves(
        self, rows: Records, where: Whole, moved: Records
    ) -> tuple[Records, NDArray[np.bool_]]:
        """Return rows with the valid moves applied, and which rows still repeat a key."""
        valid = ~self.constraints.find_broken(moved, self.classes[where])
        rows = replace_rows(rows, where[valid], moved.take(valid))
        stays = np.setdiff1d(np.arange(len(rows)), where)
        return rows, self.find_repeats(rows, np.concatenate([stays, where]))

    def _list_movable(self, key: Constraint) -> list[str]:
        codecs = self.constraints.codecs
        return [
            name
            for name in sorted(key.columns)
            if name not in self.fixed and codecs[name].is_movable
        ]

    def _move_randomly(self, rows: Records, where: Whole, reach: float) -> Records:
        """Return some rows with one column of each key moved."""
        classes, some = self.classes[where], rows.take(where)
        state = RowPositions.from_rows(self.constraints.codecs, some, classes)
        for key in self.constraints.keys:
            names = self._list_movable(key)
            chosen = self.rng.integers(0, max(len(names), 1), len(where))
            for index, name in enumerate(names):
                mine = np.flatnonzero(chosen == index)
                state.set_positions(name, mine, self._draw_nearby(state, name, mine, reach))
        return self.constraints.repair_rows(
            state.to_records(some), classes, self.rng, fixed=self.fixed
        )

    def _draw_nearby(self, state: RowPositions, name: str, where: Whole, reach: float) -> Floats:
        """Return other positions: nearby for numbers, anywhere for listed values."""
        codec, size = self.constraints.codecs[name], len(where)
        if codec.part is RowPart.CODES:
            return np.floor(self.rng.random(size) * (codec.steps + 1))
        low, high = (ends[state.classes[where]] for ends in self.constraints.bounds[name])
        now = state.positions[name][where]
        now = np.where(np.isnan(now), low, now)
        if not codec.grid:
            far = min(_NEAR * reach, 1.0) * self.rng.standard_normal(size)
            return np.asarray(np.clip(now + far, low, high))
        steps = np.ceil(self.rng.random(size) * min(reach, float(codec.steps)))
        return np.asarray(np.clip(now + steps * self.rng.choice([-1.0, 1.0], size), low, high))

    def _group_rows(self, key: Constraint, rows: Records) -> list[Whole]:
        """Return rows grouped by the part of a key that can not move."""
        state = RowPositions.from_rows(self.constraints.codecs, rows, self.classes)
        movable = self._list_movable(key)
        still = [state.positions[name] for name in key.columns if name not in movable]
        if any(len(set(self.constraints.bounds[name][0])) > 1 for name in movable):
            still.append(self.classes.astype(np.float64))
        if not still:
            return [np.arange(len(rows))]
        _, group = np.unique(np.stack(still, axis=1), axis=0, return_inverse=True)
        order = np.argsort(group.ravel(), kind="stable")
        return np.split(order, np.cumsum(np.bincount(group.ravel()))[:-1])

    def _count_keys(self, key: Constraint, label: int) -> float:
        sizes = [
            self.constraints.bounds[name][1][label] - self.constraints.bounds[name][0][label] + 1
            if self.constraints.codecs[name].grid
            else math.inf
            for name in self._list_movable(key)
        ]
        return math.prod(sizes)

    def _hand_out_keys(
        self, key: Constraint, rows: Records, late: NDArray[np.bool_]
    ) -> tuple[Records, NDArray[np.bool_]]:
        """Assign free keys to rows that repeat one."""
        names, parts, indices = self._list_movable(key), [], []
        for where in self._group_rows(key, rows):
            mine, label = where[late[where]], int(self.classes[where[0]])
            if len(mine) and names and self._count_keys(key, label) <= MOST_LISTED:
                free = self._list_free_keys(names, label, rows, where[~late[where]])
                given = free[self.rng.permutation(len(free))[: len(mine)]]
                indices.append(mine[: len(given)])
                parts.append(self._set_keys(names, given, rows, indices[-1]))
        if not indices:
            return rows, late
        where = np.concatenate(indices)
        still = np.setdiff1d(np.flatnonzero(late), where)
        moved = Records.concat([*parts, rows.take(still)])
        return self._apply_moves(rows, np.concatenate([where, still]), moved)

    def _set_keys(self, names: list[str], given: Floats, rows: Records, where: Whole) -> Records:
        some, classes = rows.take(where), self.classes[where]
        state = RowPositions.from_rows(self.constraints.codecs, some, classes)
        for index, name in enumerate(names):
            state.set_positions(name, np.arange(len(where)), given[:, index])
        fixed = self.fixed | frozenset(names)
        return self.constraints.repair_rows(state.to_records(some), classes, self.rng, fixed=fixed)

    def _list_free_keys(
        self, names: list[str], label: int, rows: Records, settled: Whole
    ) -> Floats:
        """Return all keys of a group of rows that none of its settled rows has."""
        ends = [
            (low[label], high[label])
            for low, high in (self.constraints.bounds[name] for name in names)
        ]
        every = np.array(list(itertools.product(*(np.arange(a, b + 1) for a, b in ends))))
        state = RowPositions.from_rows(
            self.constraints.codecs, rows.take(settled), self.classes[settled]
        )
        both = np.concatenate([every, _stack_positions(state, names)])
        _, first, counts = np.unique(both, axis=0, return_index=True, return_counts=True)
        return np.asarray(every[first[(counts == 1) & (first < len(every))]])


def _stack_positions(state: RowPositions, names: list[str]) -> Floats:
    return np.stack([state.positions[name] for name in names], axis=1)


def _make_too_many_error(size: int, possible: int, key: Constraint) -> ParameterError:
    return ParameterError(
        f"n={size}: rule {shown(key.text)} lets at most {possible:,} of these rows differ: ask for "
        f"fewer, or leave the rule out."
    )
