"""Mending: rows that break a rule are moved as little as may be, until they obey it.

All of it is about public rows. A column moves to the nearest value that a rule allows; which of
several columns moves is drawn at random, so that no column carries all the changes. A categorical
label never moves, and a number that is the label stays within its class.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tabpe.encode.faces import Face, Part
from tabpe.evolve.truth import FALSE, Board, compared, evaluated, options_of, truth
from tabpe.schema.rules.meaning import (
    All,
    Compared,
    Empty,
    Listed,
    Meaning,
    Some,
    columns_in,
    degree,
)

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
# By class: the first and the last position that a column may have.
Bounds = Mapping[str, tuple[Floats, Floats]]
# A position this near to a step is that step: it was computed by arithmetic that rounds.
_ROUNDED = 1e-6
# Where there is no grid, this part of a range lies between what is less and what is not.
_BESIDE = 1e-9
# Listed numbers are tried one by one, at most so many.
_MOST_TRIED = 64
# Rows times combinations that are looked at together: 16 MB.
_CELLS = 2**21
# As many of them take as long as an operation on the columns of a few rows.
_CELLS_AN_OPERATION = 128
# What a move takes beside evaluating what it is for.
_OPERATIONS_A_MOVE = 20


class OutOfWorkError(Exception):
    """A search took more operations than it may."""


@dataclass
class Work:
    """Counts the operations of a search, which ends when none are left.

    Operations and not seconds: whether a schema is refused must not depend on the machine.

    Args:
        left: How many operations there may still be.

    Example:
        >>> work = Work(10)
        >>> work.spend(7)
        >>> work.spend(7)
        Traceback (most recent call last):
        tabpe.evolve.mend.OutOfWorkError
    """

    left: float = math.inf

    def spend(self, operations: float) -> None:
        """Count operations.

        Raises:
            OutOfWorkError: If there were more than there may be.
        """
        self.left -= operations
        if self.left < 0:
            raise OutOfWorkError


@dataclass(frozen=True, eq=False)
class Mender:
    """Moves rows on a board.

    Args:
        board: The rows.
        bounds: Where they may move.
        fixed: Columns that stay.
        rng: Which column moves, and which of several ways it goes.
        work: What it takes; without a limit if left out.
    """

    board: Board
    bounds: Bounds
    fixed: frozenset[str]
    rng: np.random.Generator
    work: Work = field(default_factory=Work)

    def broken(self, meaning: Meaning, where: Whole) -> NDArray[np.bool_]:
        """Return in which of some rows something is false."""
        self.work.spend(meaning.weight)
        return np.asarray(truth(meaning, self.board, where) == FALSE)

    def mend(self, meaning: Meaning, where: Whole) -> None:
        """Move rows in which something is false, so that it is true, as far as that can be."""
        where = where[self.broken(meaning, where)] if len(where) else where
        if not len(where):
            return
        match meaning:
            case All(parts):
                for part in parts:
                    self.mend(part, where)
            case Some(parts, in_order):
                self._mend_one(meaning, parts, where, in_order=in_order)
            case Compared():
                self._mend_compared(meaning, where)
            case Listed(negated=True):
                self._leave(meaning, where)
            case Listed():
                self._join(meaning, where)
            case Empty(column, negated):
                self._empty(column, where, filled=negated)

    def _mend_one(
        self, whole: Some, parts: tuple[Meaning, ...], where: Whole, *, in_order: bool
    ) -> None:
        """Make one part true: the first that can be, in order or from a random one on."""
        size = len(parts)
        first = (
            np.zeros(len(where), np.int64) if in_order else self.rng.integers(0, size, len(where))
        )
        for turn in range(size):
            for place, part in enumerate(parts):
                self.mend(part, where[(first + turn) % size == place])
            left = self.broken(whole, where)
            where, first = where[left], first[left]
            if not len(where):
                return

    def _mend_compared(self, meaning: Compared, where: Whole) -> None:
        """Move columns in random order; each takes as much of the way as its bounds let it."""
        names = [name for name in dict.fromkeys(columns_in(meaning)) if self._moves(meaning, name)]
        order = self.rng.random((len(where), len(names))).argsort(axis=1)
        for turn in range(len(names)):
            left = self.broken(meaning, where)
            for place, name in enumerate(names):
                mine = where[left & (order[:, turn] == place)]
                if len(mine):
                    self._solve(meaning, name, mine)

    def _movable(self, name: str) -> bool:
        return name not in self.fixed and self.board.faces[name].moves

    def _moves(self, meaning: Compared, name: str) -> bool:
        listed = self.board.faces[name].listed is not None
        linear = max(degree(side, name) for side in (meaning.left, meaning.right)) <= 1
        return self._movable(name) and (listed or linear)

    def _reach(self, name: str, where: Whole) -> tuple[Floats, Floats]:
        low, high = self.bounds[name]
        classes = self.board.classes[where]
        return low[classes], high[classes]

    def _solve(self, meaning: Compared, name: str, where: Whole) -> None:
        face = self.board.faces[name]
        self.work.spend(_OPERATIONS_A_MOVE)
        if face.listed is not None:
            self._try_each(meaning, name, where)
        elif meaning.sign == "!=":
            self._sidestep(name, where)
        else:
            self._shift(meaning, name, face, where)

    def _reading(self, name: str, where: Whole, position: Floats) -> Callable[[str], Floats]:
        """Return what reads columns, as if one of them had other positions."""
        values = self.board.faces[name].values(position)
        return lambda other: values if other == name else self.board.values(other)[where]

    def _shift(self, meaning: Compared, name: str, face: Face, where: Whole) -> None:
        """Move a column to where the two sides meet: their difference is linear in it."""
        low, high = self._reach(name, where)
        far = self._apart(meaning, name, where, np.full(len(where), float(face.steps)))
        near = self._apart(meaning, name, where, np.zeros(len(where)))
        with np.errstate(all="ignore"):
            slope = (far - near) / face.steps
            meet = -near / slope
            if meaning.sign == "==" and meaning.decimals is not None and face.grid:
                # Between two steps the rest is for another column, which may go one way only.
                meet = np.where(
                    _is_step(meet), meet, np.floor(meet) + self.rng.integers(0, 2, len(meet))
                )
            moved = _beside(meaning.sign, meet, slope > 0, grid=face.grid)
        found = np.isfinite(moved) & (slope != 0)
        self.board.put(name, where[found], np.clip(moved, low, high)[found])

    def _apart(self, meaning: Compared, name: str, where: Whole, position: Floats) -> Floats:
        self.work.spend(meaning.weight)
        read = self._reading(name, where, position)
        with np.errstate(all="ignore"):
            apart = evaluated(meaning.left, read) - evaluated(meaning.right, read)
        return np.broadcast_to(apart, where.shape)

    def _try_each(self, meaning: Compared, name: str, where: Whole) -> None:
        """Give a column one of the listed numbers with which the comparison holds."""
        size = min(int(self.board.faces[name].steps) + 1, _MOST_TRIED)
        self.work.spend(size * meaning.weight)
        holds = np.stack(
            [
                compared(meaning, self._reading(name, where, np.full(len(where), float(place)))) > 0
                for place in range(size)
            ],
            axis=1,
        )
        lots = np.where(holds, self.rng.random(holds.shape), -1.0)
        found = holds.any(axis=1)
        self.board.put(name, where[found], lots.argmax(axis=1)[found].astype(np.float64))

    def _sidestep(self, name: str, where: Whole) -> None:
        """Move a number by a step, up or down."""
        low, high = self._reach(name, where)
        face, now = self.board.faces[name], self.board.positions[name][where]
        step = 1.0 if face.grid else self.rng.uniform(0.001, 0.01, len(where))
        side = self.rng.choice([-1.0, 1.0], len(where)) * step
        inside = (now + side >= low) & (now + side <= high)
        self.board.put(name, where, np.clip(np.where(inside, now + side, now - side), low, high))

    def _leave(self, meaning: Listed, where: Whole) -> None:
        """Give one of the columns another value, so that none of the combinations is met."""
        names = [name for name in meaning.columns if self._movable(name)]
        if not names:
            return
        chosen = self.rng.integers(0, len(names), len(where))
        for place, name in enumerate(names):
            mine = where[chosen == place]
            if self.board.faces[name].part is Part.NUMBERS:
                self._sidestep(name, mine)
            else:
                self._redraw(meaning, name, mine)

    def _redraw(self, meaning: Listed, name: str, where: Whole) -> None:
        face = self.board.faces[name]
        allowed = np.arange(face.steps + 1)
        if len(meaning.columns) == 1:
            options = [face.position_of(option[0]) for option in meaning.options]
            allowed = np.setdiff1d(allowed, options)
        if len(allowed):
            self.board.put(name, where, self.rng.choice(allowed, len(where)))

    def _join(self, meaning: Listed, where: Whole) -> None:
        """Put rows in the combination that differs least from what they are."""
        options = options_of(meaning, tuple(self.board.faces[name] for name in meaning.columns))
        size = max(1, _CELLS // max(len(options), 1))
        for start in range(0, len(where), size):
            self._join_some(meaning, options, where[start : start + size])

    def _join_some(self, meaning: Listed, options: Floats, where: Whole) -> None:
        cost = np.zeros((len(where), len(options)))
        self.work.spend(len(meaning.columns) * cost.size / _CELLS_AN_OPERATION)
        for place, name in enumerate(meaning.columns):
            cost += self._cost(name, options[:, place], where)
        if not cost.size:
            return
        best = (cost + self.rng.uniform(0, 1e-6, cost.shape)).argmin(axis=1)
        found = np.isfinite(cost[np.arange(len(where)), best])
        for place, name in enumerate(meaning.columns):
            if self._movable(name):
                self.board.put(name, where[found], options[best[found], place])

    def _cost(self, name: str, options: Floats, where: Whole) -> Floats:
        """Return how far a column is from each option; infinite where it can not go."""
        face, now = self.board.faces[name], self.board.positions[name][where]
        apart = np.abs(options - now[:, None])
        if not self._movable(name):
            return np.where(apart == 0, 0.0, np.inf)
        low, high = self._reach(name, where)
        inside = (options >= low[:, None]) & (options <= high[:, None])
        is_number = face.part is Part.NUMBERS and face.steps
        distance = apart / face.steps if is_number else (apart != 0).astype(np.float64)
        # What is empty now is as far from all of them.
        distance = np.where(np.isnan(now)[:, None], 1.0, distance)
        return np.where(inside, distance, np.inf)

    def _empty(self, column: str, where: Whole, *, filled: bool) -> None:
        if not self._movable(column):
            return
        if filled:
            low, high = self._reach(column, where)
            drawn = low + (high - low) * self.rng.random(len(where))
            self.board.put(
                column, where, np.rint(drawn) if self.board.faces[column].grid else drawn
            )
        elif self.board.faces[column].nullable:
            self.board.put(column, where, np.full(len(where), np.nan))


def _is_step(positions: Floats) -> NDArray[np.bool_]:
    return np.abs(positions - np.rint(positions)) < _ROUNDED


def _beside(sign: str, meet: Floats, rising: NDArray[np.bool_], *, grid: bool) -> Floats:
    """Return the position nearest to where two sides meet at which they compare as they should."""
    if sign == "==":
        return np.rint(meet) if grid else meet
    upward = rising == (sign in (">", ">="))
    if not grid:
        return meet + np.where(upward, _BESIDE, -_BESIDE)
    if sign in ("<=", ">="):
        return np.where(upward, np.ceil(meet - _ROUNDED), np.floor(meet + _ROUNDED))
    return np.where(upward, np.floor(meet + _ROUNDED) + 1, np.ceil(meet - _ROUNDED) - 1)
