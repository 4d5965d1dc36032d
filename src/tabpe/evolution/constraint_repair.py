"""Rows that obey the constraints of a schema.

Where rules hold: vectorised over rows, on the values that a table would show.

Truths are 0 for false, 1 for unknown and 2 for true, so that `and` is the least and `or` the
largest of them. What is compared with an empty cell is unknown, and a rule that is unknown holds.

Mending: rows that break a rule are moved as little as may be, until they obey it.

All of it is about public rows. A column moves to the nearest value that a rule allows; which of
several columns moves is drawn at random, so that no column carries all the changes. A categorical
label never moves, and a number that is the label stays within its class.

`Law`: the rules of a schema, and rows that obey all of them.

Rows are mended (`tabpe.evolution.constraint_repair`) or made up anew, and there is a limit to both.
A law has rows of every class in reserve, found before anything is measured. So rules that can not
be met are refused before they cost anything, and a run that has begun never fails by them.

Privacy: rules are public, and candidates are. Nothing here sees a private row. Those that break a
rule vote for the nearest candidate, as all others do.
"""

from __future__ import annotations

import contextlib
import functools
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tabpe.encoding import Encoder, Records
from tabpe.encoding.column_codec import SAME, Face, Part, faces_of
from tabpe.errors import RuleError, TabpeError, shown
from tabpe.evolution.variation import random_records
from tabpe.schema.constraints import Rule
from tabpe.schema.constraints.check import (
    All,
    Compared,
    Empty,
    Key,
    Listed,
    Meaning,
    Some,
    columns_in,
    degree,
)
from tabpe.schema.constraints.parser import Arithmetic, Literal, Named, Negative, Term
from tabpe.schema.schema import BETWEEN

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
Truths = NDArray[np.int8]
Read = Callable[[str], Floats]
FALSE, UNKNOWN, TRUE = np.int8(0), np.int8(1), np.int8(2)
_SIGNS: dict[str, Callable[[Floats, Floats], NDArray[np.bool_]]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge
}  # fmt: skip
_ARITHMETIC: dict[str, Callable[[Floats, Floats], Floats]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv
}  # fmt: skip
# Combinations of listed values that a table is made of: a megabyte.
_MOST_LOOKED_UP = 2**20
_BY_SIZE = _ARITHMETIC | {"-": operator.add}


@dataclass(frozen=True, eq=False)
class Board:
    """Rows that are being mended, column by column as positions.

    Args:
        faces: What the columns show that rules name.
        positions: The position of each row in each of them; these change.
        classes: The class of each row.
    """

    faces: Mapping[str, Face]
    positions: dict[str, Floats]
    classes: Whole
    _values: dict[str, Floats] = field(default_factory=dict)

    @classmethod
    def of(cls, faces: Mapping[str, Face], rows: Records, classes: Whole) -> Board:
        """Return rows as they are."""
        found = {name: face.positions(rows, classes) for name, face in faces.items()}
        return cls(faces, found, classes)

    def __len__(self) -> int:
        return len(self.classes)

    def values(self, name: str) -> Floats:
        """Return the values of a column."""
        if name not in self._values:
            self._values[name] = self.faces[name].values(self.positions[name])
        return self._values[name]

    def put(self, name: str, where: Whole, positions: Floats) -> None:
        """Move some rows in a column."""
        self.positions[name][where] = positions
        if name in self._values:
            self._values[name][where] = self.faces[name].values(positions)

    def rows(self, like: Records) -> Records:
        """Return the rows, with all else as in `like`."""
        numbers, codes = like.numbers.astype(np.float64), like.codes.copy()
        for name, face in self.faces.items():
            if face.part is not Part.CLASSES:
                part = numbers if face.part is Part.NUMBERS else codes
                part[:, face.place] = face.stored(self.positions[name])
        return Records(numbers, codes)


def truth(meaning: Meaning, board: Board, where: Whole | None = None) -> Truths:
    """Return whether something holds in each row, or in some of them.

    Args:
        meaning: What may hold.
        board: The rows.
        where: Which of them; None for all.
    """
    match meaning:
        case All(parts):
            return functools.reduce(np.minimum, (truth(part, board, where) for part in parts))
        case Some(parts):
            return functools.reduce(np.maximum, (truth(part, board, where) for part in parts))
        case Compared():
            return compared(meaning, _reader(board, where))
        case Listed():
            return _listed(meaning, board, where)
        case Empty(column, negated):
            empty = np.isnan(_part(board.positions[column], where))
            return np.where(empty ^ negated, TRUE, FALSE)


def compared(meaning: Compared, read: Read) -> Truths:
    """Return whether a comparison holds, given what columns are read as."""
    with np.errstate(all="ignore"):
        left, right = evaluated(meaning.left, read), evaluated(meaning.right, read)
        apart = np.asarray(left - right)
        if meaning.sign in ("==", "!="):
            same = np.abs(apart) <= _tolerance(meaning, read)
            holds = same if meaning.sign == "==" else ~same
        elif meaning.decimals is None:
            holds = _SIGNS[meaning.sign](np.asarray(left), np.asarray(right))
        else:
            steps = np.rint(apart * 10.0**meaning.decimals)
            holds = _SIGNS[meaning.sign](steps, np.zeros(1))
    return np.where(np.isnan(apart), UNKNOWN, np.where(holds, TRUE, FALSE))


def evaluated(
    term: Term, read: Read, signs: Mapping[str, Callable[[Floats, Floats], Floats]] = _ARITHMETIC
) -> Floats:
    """Return the value of a term in each row."""
    match term:
        case Named(name):
            return read(name)
        case Literal(value):
            return np.array([float(value)])
        case Negative(inside):
            return -evaluated(inside, read, signs)
        case Arithmetic(sign, left, right):
            return signs[sign](evaluated(left, read, signs), evaluated(right, read, signs))


def _tolerance(meaning: Compared, read: Read) -> Floats | float:
    """Return how far apart equal numbers may be.

    Half a step of the grid that they are on; or, without one, a billionth of the sizes of what was
    added up.
    """
    if meaning.equal_decimals is not None:
        return float(0.5 * (1 + SAME) * 10.0**-meaning.equal_decimals)
    sides = (meaning.left, meaning.right)
    sizes = [np.abs(evaluated(side, lambda name: np.abs(read(name)), _BY_SIZE)) for side in sides]
    return SAME * (sizes[0] + sizes[1])


@functools.lru_cache(maxsize=512)
def options_of(meaning: Listed, faces: tuple[Face, ...]) -> Floats:
    """Return combinations as positions, one a row; NaN where a column can not have a value."""
    return np.array(
        [
            [face.position_of(value) for face, value in zip(faces, option, strict=True)]
            for option in meaning.options
        ]
    ).reshape(len(meaning.options), len(faces))


def _listed(meaning: Listed, board: Board, where: Whole | None) -> Truths:
    faces = tuple(board.faces[name] for name in meaning.columns)
    positions = [_part(board.positions[name], where) for name in meaning.columns]
    options = options_of(meaning, faces)
    find = _looked_up if _are_few(faces) else _searched
    found = find(positions, options, faces)
    unknown = np.logical_or.reduce([np.isnan(each) for each in positions])
    return np.where(unknown, UNKNOWN, np.where(found ^ meaning.negated, TRUE, FALSE))


def _are_few(faces: tuple[Face, ...]) -> bool:
    sizes = [face.steps + 2 if face.grid else math.inf for face in faces]
    return math.prod(sizes) <= _MOST_LOOKED_UP


def _looked_up(
    positions: list[Floats], options: Floats, faces: tuple[Face, ...]
) -> NDArray[np.bool_]:
    """Return whether rows are one of some combinations, by a table of all there may be."""
    shape = tuple(int(face.steps) + 2 for face in faces)
    table = np.zeros(shape, dtype=bool)
    table[tuple(options[~np.isnan(options).any(axis=1)].astype(np.int64).T)] = True
    # The last place of each side is for empty cells.
    cells = [
        np.where(np.isnan(each), size - 1, each).astype(np.int64)
        for each, size in zip(positions, shape, strict=True)
    ]
    return np.asarray(table[tuple(cells)])


def _searched(
    positions: list[Floats], options: Floats, faces: tuple[Face, ...]
) -> NDArray[np.bool_]:
    """Return whether rows are one of some combinations, column after column."""
    found = np.zeros(len(positions[0]), dtype=np.int64)
    wanted = np.zeros(len(options), dtype=np.int64)
    for face, each, known in zip(faces, positions, options.T, strict=True):
        marks = np.unique(known[~np.isnan(known)])
        found = _joined(found, _nearest(each, marks, face), len(marks))
        wanted = _joined(wanted, _nearest(known, marks, face), len(marks))
        found, wanted = _renumbered(found, wanted)
    return np.asarray(found >= 0)


def _nearest(positions: Floats, marks: Floats, face: Face) -> Whole:
    """Return which of some rising positions each is; -1 for none of them."""
    if not len(marks):
        return np.full(len(positions), -1)
    after = np.searchsorted(marks, positions).clip(max=len(marks) - 1)
    before = (after - 1).clip(min=0)
    near = np.where(positions - marks[before] < marks[after] - positions, before, after)
    same = np.abs(positions - marks[near]) <= (0.0 if face.grid else SAME)
    return np.where(same, near, -1)


def _joined(found: Whole, more: Whole, size: int) -> Whole:
    """Return one number for two; -1 if one of them is none."""
    return np.where((found < 0) | (more < 0), -1, found * size + more)


def _renumbered(found: Whole, wanted: Whole) -> tuple[Whole, Whole]:
    """Return small numbers for the same things; -1 for what is not wanted."""
    kept = np.unique(wanted[wanted >= 0])
    if not len(kept):
        return np.full(len(found), -1), np.full(len(wanted), -1)
    near = np.searchsorted(kept, found).clip(max=len(kept) - 1)
    return np.where(kept[near] == found, near, -1), np.searchsorted(kept, wanted) - (wanted < 0)


def _reader(board: Board, where: Whole | None) -> Read:
    return lambda name: _part(board.values(name), where)


def _part(values: Floats, where: Whole | None) -> Floats:
    return values if where is None else values[where]


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
        tabpe.evolution.constraint_repair.OutOfWorkError
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


Draw = Callable[[Whole], Records]

# To mend one rule may break another: three rules of a chain are met after as many sweeps.
SWEEPS = 10
# Rows that are made up anew are spread over what is allowed as they are elsewhere, which mended
# ones are not: they lie on its border. Half of all rows break `a <= b`, and one in 30 stays to be
# mended after so many redraws; where all break a rule, these cost as much as evaluating it.
REDRAWS = 4
# Then they are made up anew and mended. Where one in three can be, one in 40 is left.
TRIES = 8
# Rows of a class that are looked for before a run, and how often.
RESERVE, RESERVE_TRIES = 64, 64
# Operations on columns that the search for them may take over all rules and classes of a schema,
# each on `RESERVE` rows: a few seconds. A comparison of two columns that no row obeys takes a
# tenth of that.
MOST_WORK = 1_000_000
_MOST_TOLD = 3


@dataclass(frozen=True, eq=False)
class Law:
    """All rules of a schema.

    Args:
        rules: Those that each row obeys by itself.
        keys: Columns that are unique together; ids make those unique that they are part of.
        faces: What the columns show that rules name.
        bounds: Where rows of each class may move.
        reserve: Some rows of each class that obey the rules.

    Example:
        >>> from tabpe.schema import Integer, Schema
        >>> columns = Integer("low", 0, 9), Integer("high", 0, 9)
        >>> law = Law.of(Encoder(Schema(columns, rules=("low <= high",))))
        >>> rows = Records(np.array([[1.0, 0.0], [0.0, 1.0]]), np.empty((2, 0), np.uint8))
        >>> law.broken(rows, np.zeros(2, np.int64))
        array([ True, False])
        >>> mended = law.mended(rows, np.zeros(2, np.int64), np.random.default_rng(0))
        >>> bool(law.broken(mended, np.zeros(2, np.int64)).any())
        False
    """

    rules: tuple[Rule, ...]
    keys: tuple[Rule, ...]
    faces: dict[str, Face]
    bounds: Bounds
    reserve: tuple[Records, ...]

    @classmethod
    def of(cls, encoder: Encoder) -> Law:
        """Return the law of a schema.

        Raises:
            RuleError: If no row of some class obeys its rules, as far as can be found; of several
                labels, if no row of any does. Or if that takes more than `MOST_WORK` to find out.
        """
        parsed = encoder.schema.parsed_rules
        rules = tuple(rule for rule in parsed if not isinstance(rule.meaning, Key))
        keys = tuple(rule for rule in parsed if _is_key(rule, encoder))
        names = sorted({name for rule in (*rules, *keys) for name in rule.columns})
        faces = faces_of(encoder, names)
        law = cls(rules, keys, faces, _bounds(encoder, faces), ())
        if not rules:
            return law
        found, work = [], Work(MOST_WORK)
        for label in range(encoder.class_count):
            found.append(law._found(encoder, label, work))
            # Of several labels, some combinations may well be excluded: these get no rows.
            if not len(found[-1]) and encoder.joint is None:
                raise law._unsatisfiable(encoder, label)
        if not any(map(len, found)):
            raise law._unsatisfiable(encoder, 0)
        return cls(rules, keys, faces, law.bounds, tuple(found))

    def without_excluded(self, weights: Sequence[float] | Floats) -> Floats:
        """Return the weights of classes, with none for those that no row obeying the rules has."""
        given = np.array(weights, dtype=np.float64)
        if not self.reserve:
            return given
        possible = np.array([len(rows) > 0 for rows in self.reserve])
        kept = np.where(possible, given, 0.0)
        return kept if (kept > 0).any() else possible.astype(np.float64)

    @property
    def meanings(self) -> list[Meaning]:
        """What the rules of single rows mean."""
        return [rule.meaning for rule in self.rules if not isinstance(rule.meaning, Key)]

    def broken(self, rows: Records, classes: Whole) -> NDArray[np.bool_]:
        """Return which rows break a rule; keys aside."""
        return self._false(Board.of(self.faces, rows, classes))

    def mended(
        self,
        rows: Records,
        classes: Whole,
        rng: np.random.Generator,
        *,
        fixed: frozenset[str] = frozenset(),
        work: Work | None = None,
    ) -> Records:
        """Return rows, those moved that break a rule; some may break it still.

        Args:
            rows: Any rows.
            classes: The class of each, which stays.
            rng: Which column moves, and which of several ways it goes.
            fixed: Columns that stay.
            work: What it takes; without a limit if left out.

        Raises:
            OutOfWorkError: If it takes more than it may.
        """
        where = np.flatnonzero(self.broken(rows, classes))
        if not len(where):
            return rows
        before = rows.take(where)
        board = Board.of(self.faces, before, classes[where])
        mender = Mender(board, self.bounds, fixed, rng, Work() if work is None else work)
        left = np.arange(len(where))
        for _ in range(SWEEPS):
            for meaning in self.meanings:
                mender.mend(meaning, left)
            left = left[self._false(board, left)]
            if not len(left):
                break
        return replaced(rows, where, board.rows(before))

    def drawn(self, classes: Whole, draw: Draw, rng: np.random.Generator) -> Records:
        """Return a row for each class given that obeys the rules.

        Args:
            classes: The class of each row.
            draw: Makes up rows of given classes.
            rng: The random choices of mending.
        """
        rows = draw(classes)
        left = np.flatnonzero(self.broken(rows, classes))
        for turn in range(REDRAWS + TRIES):
            if not len(left):
                return rows
            fresh = draw(classes[left])
            if turn >= REDRAWS:
                fresh = self.mended(fresh, classes[left], rng)
            rows = replaced(rows, left, fresh)
            left = left[self.broken(fresh, classes[left])]
        return replaced(rows, left, self._spare(classes[left], rng)) if len(left) else rows

    def kept(
        self, moved: Records, before: Records, classes: Whole, rng: np.random.Generator
    ) -> Records:
        """Return moved rows that obey the rules: as they are, mended, or as they were before."""
        mended = self.mended(moved, classes, rng)
        left = np.flatnonzero(self.broken(mended, classes))
        return replaced(mended, left, before.take(left)) if len(left) else mended

    def check(self, rows: Records, classes: Whole) -> None:
        """Refuse to let rows out that break a rule.

        Raises:
            TabpeError: If one does, which never happens unless there is a bug.
        """
        count = int(self.broken(rows, classes).sum())
        if count:
            raise TabpeError(
                f"{count:,} of {len(rows):,} rows break a rule of the schema: this is a bug of "
                f"tabpe; please report it with the schema."
            )

    def _false(self, board: Board, where: Whole | None = None) -> NDArray[np.bool_]:
        size = len(board) if where is None else len(where)
        broken = np.zeros(size, dtype=bool)
        for meaning in self.meanings:
            broken |= truth(meaning, board, where) == FALSE
        return broken

    def _spare(self, classes: Whole, rng: np.random.Generator) -> Records:
        lots = rng.random(len(classes))
        return Records.concat(
            [
                self.reserve[label].take(np.array([int(lot * len(self.reserve[label]))]))
                for label, lot in zip(classes, lots, strict=True)
            ]
        )

    def _found(self, encoder: Encoder, label: int, work: Work) -> Records:
        """Look for rows of a class, always in the same way: whether there are any is no chance.

        It follows from the columns that rules name alone. So what was found before the others were
        bought is found again.
        """
        rng, others = np.random.default_rng([0]), np.random.default_rng([1])
        classes = np.full(RESERVE, label)
        for _ in range(RESERVE_TRIES):
            rows = random_records(encoder.spaces[label], RESERVE, others)
            rows = self._scattered(rows, classes, rng)
            if self._excluded(rows, classes):
                return rows.take(np.empty(0, np.int64))
            try:
                rows = self.mended(rows, classes, rng, work=work)
            except OutOfWorkError:
                raise self._undecided(encoder, label, rows) from None
            valid = ~self.broken(rows, classes)
            if valid.any():
                break
        return rows.take(valid)

    def _excluded(self, rows: Records, classes: Whole) -> bool:
        """Whether rows break a rule about columns that do not move: of a class, all rows do."""
        board = Board.of(self.faces, rows, classes)
        return any(
            (truth(meaning, board) == FALSE).all()
            for rule, meaning in zip(self.rules, self.meanings, strict=True)
            if not any(self.faces[name].moves for name in rule.columns)
        )

    def _scattered(self, rows: Records, classes: Whole, rng: np.random.Generator) -> Records:
        """Return rows with the columns that rules name drawn anew, all values alike."""
        board = Board.of(self.faces, rows, classes)
        for name, face in self.faces.items():
            low, high = (ends[classes] for ends in self.bounds[name])
            lots = rng.random(len(classes))
            drawn = low + lots * (high - low)
            if face.grid:
                drawn = low + np.floor(lots * (high - low + 1))
            if face.moves:
                board.put(name, np.arange(len(classes)), drawn)
        return board.rows(rows)

    def _unsatisfiable(self, encoder: Encoder, label: int) -> RuleError:
        rows = random_records(encoder.spaces[label], RESERVE, np.random.default_rng([1]))
        work = Work(MOST_WORK)
        with contextlib.suppress(OutOfWorkError):
            rows = self.mended(rows, np.full(RESERVE, label), np.random.default_rng([0]), work=work)
        return RuleError(
            f"rules: no row{_which(encoder, label)} was found that obeys all of them. Most often "
            f"broken: {self._most_broken(rows, label)}. Leave one out, widen bounds or values, or "
            f"drop what the rules exclude from the label."
        )

    def _undecided(self, encoder: Encoder, label: int, rows: Records) -> RuleError:
        return RuleError(
            f"rules: within {MOST_WORK:,} operations none of the rows tried"
            f"{_which(encoder, label)} could be made to obey all of them, so it was not decided "
            f"whether one can. Most often broken: {self._most_broken(rows, label)}. Leave one out, "
            f"or write it with fewer columns and conditions."
        )

    def _most_broken(self, rows: Records, label: int) -> str:
        """Return the rules that most of some rows break, in their own words."""
        board = Board.of(self.faces, rows, np.full(len(rows), label))
        counts = [int((truth(meaning, board) == FALSE).sum()) for meaning in self.meanings]
        worst = sorted(range(len(counts)), key=lambda place: -counts[place])[:_MOST_TOLD]
        return ", ".join(shown(self.rules[place].text) for place in worst if counts[place])


def _which(encoder: Encoder, label: int) -> str:
    labels = BETWEEN.join(encoder.schema.labels)
    return f" with {labels}={encoder.schema.class_names[label]!r}" if labels else ""


def replaced(rows: Records, where: Whole, others: Records) -> Records:
    """Return rows with others in some places."""
    numbers, codes = rows.numbers.astype(np.float64), rows.codes.copy()
    numbers[where], codes[where] = others.numbers, others.codes
    return Records(numbers, codes)


def _is_key(rule: Rule, encoder: Encoder) -> bool:
    columns: Sequence[str] = sorted(rule.columns)
    return isinstance(rule.meaning, Key) and all(name in encoder.names for name in columns)


def _bounds(encoder: Encoder, faces: dict[str, Face]) -> Bounds:
    return {name: _bounds_of(encoder, face) for name, face in faces.items()}


def _bounds_of(encoder: Encoder, face: Face) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the first and the last position of a column in each class."""
    if face.column.name != encoder.schema.label or encoder.schema.label_cuts is None:
        return np.zeros(encoder.class_count), np.full(encoder.class_count, float(face.steps))
    low = np.array([space.low[face.place] for space in encoder.spaces])
    high = np.array([space.high[face.place] for space in encoder.spaces])
    return face.at(low), face.at(high)
