"""Rows that obey the constraints of a schema.

Where rules hold: vectorised over rows, on the values that a table would show.

Truths are 0 for false, 1 for unknown and 2 for true, so that `and` is the least and `or` the
largest of them. What is compared with an empty cell is unknown, and a rule that is unknown holds.

Mending: rows that break a rule are moved as little as may be, until they obey it.

All of it is about public rows. A column moves to the nearest value that a rule allows; which of
several columns moves is drawn at random, so that no column carries all the changes. A categorical
label never moves, and a number that is the label stays within its class.

`ConstraintSet`: the rules of a schema, and rows that obey all of them.

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
from tabpe.encoding.column_codec import SAME_TOLERANCE, ColumnCodec, RowPart, build_codecs
from tabpe.errors import RuleError, TabpeError, shown
from tabpe.evolution.variation import draw_uniform_records
from tabpe.schema.constraints import Constraint
from tabpe.schema.constraints.check import (
    AllOf,
    AnyOf,
    Membership,
    NullTest,
    NumericComparison,
    ResolvedCondition,
    UniqueKey,
    compute_degree,
    iterate_resolved_columns,
)
from tabpe.schema.constraints.parser import Arithmetic, ColumnReference, Literal, Term, UnaryMinus
from tabpe.schema.schema import LABEL_SEPARATOR

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
TruthValues = NDArray[np.int8]
ColumnReader = Callable[[str], Floats]
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
class RowPositions:
    """Rows that are being mended, column by column as positions.

    Args:
        codecs: What the columns show that rules name.
        positions: The position of each row in each of them; these change.
        classes: The class of each row.
    """

    codecs: Mapping[str, ColumnCodec]
    positions: dict[str, Floats]
    classes: Whole
    _values: dict[str, Floats] = field(default_factory=dict)

    @classmethod
    def from_rows(
        cls, codecs: Mapping[str, ColumnCodec], rows: Records, classes: Whole
    ) -> RowPositions:
        """Return rows as they are."""
        found = {name: face.compute_positions(rows, classes) for name, face in codecs.items()}
        return cls(codecs, found, classes)

    def __len__(self) -> int:
        return len(self.classes)

    def get_values(self, name: str) -> Floats:
        """Return the values of a column."""
        if name not in self._values:
            self._values[name] = self.codecs[name].compute_values(self.positions[name])
        return self._values[name]

    def set_positions(self, name: str, where: Whole, positions: Floats) -> None:
        """Move some rows in a column."""
        self.positions[name][where] = positions
        if name in self._values:
            self._values[name][where] = self.codecs[name].compute_values(positions)

    def to_records(self, like: Records) -> Records:
        """Return the rows, with all else as in `like`."""
        numbers, codes = like.numbers.astype(np.float64), like.codes.copy()
        for name, face in self.codecs.items():
            if face.part is not RowPart.CLASSES:
                part = numbers if face.part is RowPart.NUMBERS else codes
                part[:, face.index] = face.encode_positions(self.positions[name])
        return Records(numbers, codes)


def evaluate_constraint(
    meaning: ResolvedCondition, board: RowPositions, where: Whole | None = None
) -> TruthValues:
    """Return whether something holds in each row, or in some of them.

    Args:
        meaning: What may hold.
        board: The rows.
        where: Which of them; None for all.
    """
    match meaning:
        case AllOf(parts):
            return functools.reduce(
                np.minimum, (evaluate_constraint(part, board, where) for part in parts)
            )
        case AnyOf(parts):
            return functools.reduce(
                np.maximum, (evaluate_constraint(part, board, where) for part in parts)
            )
        case NumericComparison():
            return evaluate_comparison(meaning, _make_reader(board, where))
        case Membership():
            return _evaluate_listed(meaning, board, where)
        case NullTest(column, negated):
            empty = np.isnan(_take_rows(board.positions[column], where))
            return np.where(empty ^ negated, TRUE, FALSE)


def evaluate_comparison(meaning: NumericComparison, read: ColumnReader) -> TruthValues:
    """Return whether a comparison holds, given what columns are read as."""
    with np.errstate(all="ignore"):
        left, right = evaluate_term(meaning.left, read), evaluate_term(meaning.right, read)
        apart = np.asarray(left - right)
        if meaning.sign in ("==", "!="):
            same = np.abs(apart) <= _compute_tolerance(meaning, read)
            holds = same if meaning.sign == "==" else ~same
        elif meaning.decimals is None:
            holds = _SIGNS[meaning.sign](np.asarray(left), np.asarray(right))
        else:
            steps = np.rint(apart * 10.0**meaning.decimals)
            holds = _SIGNS[meaning.sign](steps, np.zeros(1))
    return np.where(np.isnan(apart), UNKNOWN, np.where(holds, TRUE, FALSE))


def evaluate_term(
    term: Term,
    read: ColumnReader,
    signs: Mapping[str, Callable[[Floats, Floats], Floats]] = _ARITHMETIC,
) -> Floats:
    """Return the value of a term in each row."""
    match term:
        case ColumnReference(name):
            return read(name)
        case Literal(value):
            return np.array([float(value)])
        case UnaryMinus(inside):
            return -evaluate_term(inside, read, signs)
        case Arithmetic(sign, left, right):
            return signs[sign](evaluate_term(left, read, signs), evaluate_term(right, read, signs))


def _compute_tolerance(meaning: NumericComparison, read: ColumnReader) -> Floats | float:
    """Return how far apart equal numbers may be.

    Half a step of the grid that they are on; or, without one, a billionth of the sizes of what was
    added up.
    """
    if meaning.equal_decimals is not None:
        return float(0.5 * (1 + SAME_TOLERANCE) * 10.0**-meaning.equal_decimals)
    sides = (meaning.left, meaning.right)
    sizes = [
        np.abs(evaluate_term(side, lambda name: np.abs(read(name)), _BY_SIZE)) for side in sides
    ]
    return SAME_TOLERANCE * (sizes[0] + sizes[1])


@functools.lru_cache(maxsize=512)
def encode_options(meaning: Membership, codecs: tuple[ColumnCodec, ...]) -> Floats:
    """Return combinations as positions, one a row; NaN where a column can not have a value."""
    return np.array(
        [
            [face.find_position(value) for face, value in zip(codecs, option, strict=True)]
            for option in meaning.options
        ]
    ).reshape(len(meaning.options), len(codecs))


def _evaluate_listed(meaning: Membership, board: RowPositions, where: Whole | None) -> TruthValues:
    faces = tuple(board.codecs[name] for name in meaning.columns)
    positions = [_take_rows(board.positions[name], where) for name in meaning.columns]
    options = encode_options(meaning, faces)
    find = _look_up_options if _are_few(faces) else _search_options
    found = find(positions, options, faces)
    unknown = np.logical_or.reduce([np.isnan(each) for each in positions])
    return np.where(unknown, UNKNOWN, np.where(found ^ meaning.negated, TRUE, FALSE))


def _are_few(codecs: tuple[ColumnCodec, ...]) -> bool:
    sizes = [face.steps + 2 if face.grid else math.inf for face in codecs]
    return math.prod(sizes) <= _MOST_LOOKED_UP


def _look_up_options(
    positions: list[Floats], options: Floats, codecs: tuple[ColumnCodec, ...]
) -> NDArray[np.bool_]:
    """Return whether rows are one of some combinations, by a table of all there may be."""
    shape = tuple(int(face.steps) + 2 for face in codecs)
    table = np.zeros(shape, dtype=bool)
    table[tuple(options[~np.isnan(options).any(axis=1)].astype(np.int64).T)] = True
    # The last place of each side is for empty cells.
    cells = [
        np.where(np.isnan(each), size - 1, each).astype(np.int64)
        for each, size in zip(positions, shape, strict=True)
    ]
    return np.asarray(table[tuple(cells)])


def _search_options(
    positions: list[Floats], options: Floats, codecs: tuple[ColumnCodec, ...]
) -> NDArray[np.bool_]:
    """Return whether rows are one of some combinations, column after column."""
    found = np.zeros(len(positions[0]), dtype=np.int64)
    wanted = np.zeros(len(options), dtype=np.int64)
    for face, each, known in zip(codecs, positions, options.T, strict=True):
        marks = np.unique(known[~np.isnan(known)])
        found = _combine_ids(found, _find_nearest(each, marks, face), len(marks))
        wanted = _combine_ids(wanted, _find_nearest(known, marks, face), len(marks))
        found, wanted = _renumber_ids(found, wanted)
    return np.asarray(found >= 0)


def _find_nearest(positions: Floats, marks: Floats, codec: ColumnCodec) -> Whole:
    """Return which of some rising positions each is; -1 for none of them."""
    if not len(marks):
        return np.full(len(positions), -1)
    after = np.searchsorted(marks, positions).clip(max=len(marks) - 1)
    before = (after - 1).clip(min=0)
    near = np.where(positions - marks[before] < marks[after] - positions, before, after)
    same = np.abs(positions - marks[near]) <= (0.0 if codec.grid else SAME_TOLERANCE)
    return np.where(same, near, -1)


def _combine_ids(found: Whole, more: Whole, size: int) -> Whole:
    """Return one number for two; -1 if one of them is none."""
    return np.where((found < 0) | (more < 0), -1, found * size + more)


def _renumber_ids(found: Whole, wanted: Whole) -> tuple[Whole, Whole]:
    """Return small numbers for the same things; -1 for what is not wanted."""
    kept = np.unique(wanted[wanted >= 0])
    if not len(kept):
        return np.full(len(found), -1), np.full(len(wanted), -1)
    near = np.searchsorted(kept, found).clip(max=len(kept) - 1)
    return np.where(kept[near] == found, near, -1), np.searchsorted(kept, wanted) - (wanted < 0)


def _make_reader(board: RowPositions, where: Whole | None) -> ColumnReader:
    return lambda name: _take_rows(board.get_values(name), where)


def _take_rows(values: Floats, where: Whole | None) -> Floats:
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
class WorkBudget:
    """Counts the operations of a search, which ends when none are left.

    Operations and not seconds: whether a schema is refused must not depend on the machine.

    Args:
        left: How many operations there may still be.

    Example:
        >>> work = WorkBudget(10)
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
class ConstraintRepairer:
    """Moves rows on a board.

    Args:
        board: The rows.
        bounds: Where they may move.
        fixed: Columns that stay.
        rng: Which column moves, and which of several ways it goes.
        work: What it takes; without a limit if left out.
    """

    board: RowPositions
    bounds: Bounds
    fixed: frozenset[str]
    rng: np.random.Generator
    work: WorkBudget = field(default_factory=WorkBudget)

    def find_broken(self, meaning: ResolvedCondition, where: Whole) -> NDArray[np.bool_]:
        """Return in which of some rows something is false."""
        self.work.spend(meaning.weight)
        return np.asarray(evaluate_constraint(meaning, self.board, where) == FALSE)

    def repair(self, meaning: ResolvedCondition, where: Whole) -> None:
        """Move rows in which something is false, so that it is true, as far as that can be."""
        where = where[self.find_broken(meaning, where)] if len(where) else where
        if not len(where):
            return
        match meaning:
            case AllOf(parts):
                for part in parts:
                    self.repair(part, where)
            case AnyOf(parts, in_order):
                self._repair_any(meaning, parts, where, in_order=in_order)
            case NumericComparison():
                self._repair_comparison(meaning, where)
            case Membership(negated=True):
                self._leave_options(meaning, where)
            case Membership():
                self._join_options(meaning, where)
            case NullTest(column, negated):
                self._set_empty(column, where, filled=negated)

    def _repair_any(
        self, whole: AnyOf, parts: tuple[ResolvedCondition, ...], where: Whole, *, in_order: bool
    ) -> None:
        """Make one part true: the first that can be, in order or from a random one on."""
        size = len(parts)
        first = (
            np.zeros(len(where), np.int64) if in_order else self.rng.integers(0, size, len(where))
        )
        for turn in range(size):
            for place, part in enumerate(parts):
                self.repair(part, where[(first + turn) % size == place])
            left = self.find_broken(whole, where)
            where, first = where[left], first[left]
            if not len(where):
                return

    def _repair_comparison(self, meaning: NumericComparison, where: Whole) -> None:
        """Move columns in random order; each takes as much of the way as its bounds let it."""
        names = [
            name
            for name in dict.fromkeys(iterate_resolved_columns(meaning))
            if self._can_move(meaning, name)
        ]
        order = self.rng.random((len(where), len(names))).argsort(axis=1)
        for turn in range(len(names)):
            left = self.find_broken(meaning, where)
            for place, name in enumerate(names):
                mine = where[left & (order[:, turn] == place)]
                if len(mine):
                    self._solve(meaning, name, mine)

    def _is_movable(self, name: str) -> bool:
        return name not in self.fixed and self.board.codecs[name].is_movable

    def _can_move(self, meaning: NumericComparison, name: str) -> bool:
        listed = self.board.codecs[name].listed is not None
        linear = max(compute_degree(side, name) for side in (meaning.left, meaning.right)) <= 1
        return self._is_movable(name) and (listed or linear)

    def _get_bounds(self, name: str, where: Whole) -> tuple[Floats, Floats]:
        low, high = self.bounds[name]
        classes = self.board.classes[where]
        return low[classes], high[classes]

    def _solve(self, meaning: NumericComparison, name: str, where: Whole) -> None:
        face = self.board.codecs[name]
        self.work.spend(_OPERATIONS_A_MOVE)
        if face.listed is not None:
            self._try_each(meaning, name, where)
        elif meaning.sign == "!=":
            self._sidestep(name, where)
        else:
            self._shift_column(meaning, name, face, where)

    def _make_trial_reader(
        self, name: str, where: Whole, position: Floats
    ) -> Callable[[str], Floats]:
        """Return what reads columns, as if one of them had other positions."""
        values = self.board.codecs[name].compute_values(position)
        return lambda other: values if other == name else self.board.get_values(other)[where]

    def _shift_column(
        self, meaning: NumericComparison, name: str, codec: ColumnCodec, where: Whole
    ) -> None:
        """Move a column to where the two sides meet: their difference is linear in it."""
        low, high = self._get_bounds(name, where)
        far = self._compute_gap(meaning, name, where, np.full(len(where), float(codec.steps)))
        near = self._compute_gap(meaning, name, where, np.zeros(len(where)))
        with np.errstate(all="ignore"):
            slope = (far - near) / codec.steps
            meet = -near / slope
            if meaning.sign == "==" and meaning.decimals is not None and codec.grid:
                # Between two steps the rest is for another column, which may go one way only.
                meet = np.where(
                    _is_step(meet), meet, np.floor(meet) + self.rng.integers(0, 2, len(meet))
                )
            moved = _find_nearest_valid(meaning.sign, meet, slope > 0, grid=codec.grid)
        found = np.isfinite(moved) & (slope != 0)
        self.board.set_positions(name, where[found], np.clip(moved, low, high)[found])

    def _compute_gap(
        self, meaning: NumericComparison, name: str, where: Whole, position: Floats
    ) -> Floats:
        self.work.spend(meaning.weight)
        read = self._make_trial_reader(name, where, position)
        with np.errstate(all="ignore"):
            apart = evaluate_term(meaning.left, read) - evaluate_term(meaning.right, read)
        return np.broadcast_to(apart, where.shape)

    def _try_each(self, meaning: NumericComparison, name: str, where: Whole) -> None:
        """Give a column one of the listed numbers with which the comparison holds."""
        size = min(int(self.board.codecs[name].steps) + 1, _MOST_TRIED)
        self.work.spend(size * meaning.weight)
        holds = np.stack(
            [
                evaluate_comparison(
                    meaning, self._make_trial_reader(name, where, np.full(len(where), float(place)))
                )
                > 0
                for place in range(size)
            ],
            axis=1,
        )
        lots = np.where(holds, self.rng.random(holds.shape), -1.0)
        found = holds.any(axis=1)
        self.board.set_positions(name, where[found], lots.argmax(axis=1)[found].astype(np.float64))

    def _sidestep(self, name: str, where: Whole) -> None:
        """Move a number by a step, up or down."""
        low, high = self._get_bounds(name, where)
        face, now = self.board.codecs[name], self.board.positions[name][where]
        step = 1.0 if face.grid else self.rng.uniform(0.001, 0.01, len(where))
        side = self.rng.choice([-1.0, 1.0], len(where)) * step
        inside = (now + side >= low) & (now + side <= high)
        self.board.set_positions(
            name, where, np.clip(np.where(inside, now + side, now - side), low, high)
        )

    def _leave_options(self, meaning: Membership, where: Whole) -> None:
        """Give one of the columns another value, so that none of the combinations is met."""
        names = [name for name in meaning.columns if self._is_movable(name)]
        if not names:
            return
        chosen = self.rng.integers(0, len(names), len(where))
        for place, name in enumerate(names):
            mine = where[chosen == place]
            if self.board.codecs[name].part is RowPart.NUMBERS:
                self._sidestep(name, mine)
            else:
                self._redraw_column(meaning, name, mine)

    def _redraw_column(self, meaning: Membership, name: str, where: Whole) -> None:
        face = self.board.codecs[name]
        allowed = np.arange(face.steps + 1)
        if len(meaning.columns) == 1:
            options = [face.find_position(option[0]) for option in meaning.options]
            allowed = np.setdiff1d(allowed, options)
        if len(allowed):
            self.board.set_positions(name, where, self.rng.choice(allowed, len(where)))

    def _join_options(self, meaning: Membership, where: Whole) -> None:
        """Put rows in the combination that differs least from what they are."""
        options = encode_options(
            meaning, tuple(self.board.codecs[name] for name in meaning.columns)
        )
        size = max(1, _CELLS // max(len(options), 1))
        for start in range(0, len(where), size):
            self._join_batch(meaning, options, where[start : start + size])

    def _join_batch(self, meaning: Membership, options: Floats, where: Whole) -> None:
        cost = np.zeros((len(where), len(options)))
        self.work.spend(len(meaning.columns) * cost.size / _CELLS_AN_OPERATION)
        for place, name in enumerate(meaning.columns):
            cost += self._compute_costs(name, options[:, place], where)
        if not cost.size:
            return
        best = (cost + self.rng.uniform(0, 1e-6, cost.shape)).argmin(axis=1)
        found = np.isfinite(cost[np.arange(len(where)), best])
        for place, name in enumerate(meaning.columns):
            if self._is_movable(name):
                self.board.set_positions(name, where[found], options[best[found], place])

    def _compute_costs(self, name: str, options: Floats, where: Whole) -> Floats:
        """Return how far a column is from each option; infinite where it can not go."""
        face, now = self.board.codecs[name], self.board.positions[name][where]
        apart = np.abs(options - now[:, None])
        if not self._is_movable(name):
            return np.where(apart == 0, 0.0, np.inf)
        low, high = self._get_bounds(name, where)
        inside = (options >= low[:, None]) & (options <= high[:, None])
        is_number = face.part is RowPart.NUMBERS and face.steps
        distance = apart / face.steps if is_number else (apart != 0).astype(np.float64)
        # What is empty now is as far from all of them.
        distance = np.where(np.isnan(now)[:, None], 1.0, distance)
        return np.where(inside, distance, np.inf)

    def _set_empty(self, column: str, where: Whole, *, filled: bool) -> None:
        if not self._is_movable(column):
            return
        if filled:
            low, high = self._get_bounds(column, where)
            drawn = low + (high - low) * self.rng.random(len(where))
            self.board.set_positions(
                column, where, np.rint(drawn) if self.board.codecs[column].grid else drawn
            )
        elif self.board.codecs[column].nullable:
            self.board.set_positions(column, where, np.full(len(where), np.nan))


def _is_step(positions: Floats) -> NDArray[np.bool_]:
    return np.abs(positions - np.rint(positions)) < _ROUNDED


def _find_nearest_valid(
    sign: str, meet: Floats, rising: NDArray[np.bool_], *, grid: bool
) -> Floats:
    """Return the position nearest to where two sides meet at which they compare as they should."""
    if sign == "==":
        return np.rint(meet) if grid else meet
    upward = rising == (sign in (">", ">="))
    if not grid:
        return meet + np.where(upward, _BESIDE, -_BESIDE)
    if sign in ("<=", ">="):
        return np.where(upward, np.ceil(meet - _ROUNDED), np.floor(meet + _ROUNDED))
    return np.where(upward, np.floor(meet + _ROUNDED) + 1, np.ceil(meet - _ROUNDED) - 1)


RowSampler = Callable[[Whole], Records]

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
_MOST_NAMED = 3


@dataclass(frozen=True, eq=False)
class ConstraintSet:
    """All rules of a schema.

    Args:
        rules: Those that each row obeys by itself.
        keys: Columns that are unique together; ids make those unique that they are part of.
        codecs: What the columns show that rules name.
        bounds: Where rows of each class may move.
        reserve: Some rows of each class that obey the rules.

    Example:
        >>> from tabpe.schema import Integer, Schema
        >>> columns = Integer("low", 0, 9), Integer("high", 0, 9)
        >>> encoder = Encoder(Schema(columns, rules=("low <= high",)))
        >>> constraints = ConstraintSet.from_encoder(encoder)
        >>> rows = Records(np.array([[1.0, 0.0], [0.0, 1.0]]), np.empty((2, 0), np.uint8))
        >>> constraints.find_broken(rows, np.zeros(2, np.int64))
        array([ True, False])
        >>> repaired = constraints.repair_rows(
        ...     rows, np.zeros(2, np.int64), np.random.default_rng(0)
        ... )
        >>> bool(constraints.find_broken(repaired, np.zeros(2, np.int64)).any())
        False
    """

    rules: tuple[Constraint, ...]
    keys: tuple[Constraint, ...]
    codecs: dict[str, ColumnCodec]
    bounds: Bounds
    reserve: tuple[Records, ...]

    @classmethod
    def from_encoder(cls, encoder: Encoder) -> ConstraintSet:
        """Return the law of a schema.

        Raises:
            RuleError: If no row of some class obeys its rules, as far as can be found; of several
                labels, if no row of any does. Or if that takes more than `MOST_WORK` to find out.
        """
        parsed = encoder.schema.parsed_rules
        rules = tuple(rule for rule in parsed if not isinstance(rule.resolved, UniqueKey))
        keys = tuple(rule for rule in parsed if _is_key(rule, encoder))
        names = sorted({name for rule in (*rules, *keys) for name in rule.columns})
        faces = build_codecs(encoder, names)
        law = cls(rules, keys, faces, _compute_bounds(encoder, faces), ())
        if not rules:
            return law
        found, work = [], WorkBudget(MOST_WORK)
        for label in range(encoder.class_count):
            found.append(law._search_reserve(encoder, label, work))
            # Of several labels, some combinations may well be excluded: these get no rows.
            if not len(found[-1]) and encoder.joint is None:
                raise law._make_unsatisfiable_error(encoder, label)
        if not any(map(len, found)):
            raise law._make_unsatisfiable_error(encoder, 0)
        return cls(rules, keys, faces, law.bounds, tuple(found))

    def exclude_classes(self, weights: Sequence[float] | Floats) -> Floats:
        """Return the weights of classes, with none for those that no row obeying the rules has."""
        given = np.array(weights, dtype=np.float64)
        if not self.reserve:
            return given
        possible = np.array([len(rows) > 0 for rows in self.reserve])
        kept = np.where(possible, given, 0.0)
        return kept if (kept > 0).any() else possible.astype(np.float64)

    @property
    def meanings(self) -> list[ResolvedCondition]:
        """What the rules of single rows mean."""
        return [rule.resolved for rule in self.rules if not isinstance(rule.resolved, UniqueKey)]

    def find_broken(self, rows: Records, classes: Whole) -> NDArray[np.bool_]:
        """Return which rows break a rule; keys aside."""
        return self._find_false(RowPositions.from_rows(self.codecs, rows, classes))

    def repair_rows(
        self,
        rows: Records,
        classes: Whole,
        rng: np.random.Generator,
        *,
        fixed: frozenset[str] = frozenset(),
        work: WorkBudget | None = None,
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
        where = np.flatnonzero(self.find_broken(rows, classes))
        if not len(where):
            return rows
        before = rows.take(where)
        board = RowPositions.from_rows(self.codecs, before, classes[where])
        mender = ConstraintRepairer(
            board, self.bounds, fixed, rng, WorkBudget() if work is None else work
        )
        left = np.arange(len(where))
        for _ in range(SWEEPS):
            for meaning in self.meanings:
                mender.repair(meaning, left)
            left = left[self._find_false(board, left)]
            if not len(left):
                break
        return replace_rows(rows, where, board.to_records(before))

    def draw_rows(self, classes: Whole, draw: RowSampler, rng: np.random.Generator) -> Records:
        """Return a row for each class given that obeys the rules.

        Args:
            classes: The class of each row.
            draw: Makes up rows of given classes.
            rng: The random choices of mending.
        """
        rows = draw(classes)
        left = np.flatnonzero(self.find_broken(rows, classes))
        for turn in range(REDRAWS + TRIES):
            if not len(left):
                return rows
            fresh = draw(classes[left])
            if turn >= REDRAWS:
                fresh = self.repair_rows(fresh, classes[left], rng)
            rows = replace_rows(rows, left, fresh)
            left = left[self.find_broken(fresh, classes[left])]
        return (
            replace_rows(rows, left, self._draw_reserve(classes[left], rng)) if len(left) else rows
        )

    def repair_or_revert(
        self, moved: Records, before: Records, classes: Whole, rng: np.random.Generator
    ) -> Records:
        """Return moved rows that obey the rules: as they are, mended, or as they were before."""
        mended = self.repair_rows(moved, classes, rng)
        left = np.flatnonzero(self.find_broken(mended, classes))
        return replace_rows(mended, left, before.take(left)) if len(left) else mended

    def check_rows(self, rows: Records, classes: Whole) -> None:
        """Refuse to let rows out that break a rule.

        Raises:
            TabpeError: If one does, which never happens unless there is a bug.
        """
        count = int(self.find_broken(rows, classes).sum())
        if count:
            raise TabpeError(
                f"{count:,} of {len(rows):,} rows break a rule of the schema: this is a bug of "
                f"tabpe; please report it with the schema."
            )

    def _find_false(self, board: RowPositions, where: Whole | None = None) -> NDArray[np.bool_]:
        size = len(board) if where is None else len(where)
        broken = np.zeros(size, dtype=bool)
        for meaning in self.meanings:
            broken |= evaluate_constraint(meaning, board, where) == FALSE
        return broken

    def _draw_reserve(self, classes: Whole, rng: np.random.Generator) -> Records:
        lots = rng.random(len(classes))
        return Records.concat(
            [
                self.reserve[label].take(np.array([int(lot * len(self.reserve[label]))]))
                for label, lot in zip(classes, lots, strict=True)
            ]
        )

    def _search_reserve(self, encoder: Encoder, label: int, work: WorkBudget) -> Records:
        """Look for rows of a class, always in the same way: whether there are any is no chance.

        It follows from the columns that rules name alone. So what was found before the others were
        bought is found again.
        """
        rng, others = np.random.default_rng([0]), np.random.default_rng([1])
        classes = np.full(RESERVE, label)
        for _ in range(RESERVE_TRIES):
            rows = draw_uniform_records(encoder.spaces[label], RESERVE, others)
            rows = self._scatter_rows(rows, classes, rng)
            if self._is_excluded(rows, classes):
                return rows.take(np.empty(0, np.int64))
            try:
                rows = self.repair_rows(rows, classes, rng, work=work)
            except OutOfWorkError:
                raise self._make_undecided_error(encoder, label, rows) from None
            valid = ~self.find_broken(rows, classes)
            if valid.any():
                break
        return rows.take(valid)

    def _is_excluded(self, rows: Records, classes: Whole) -> bool:
        """Whether rows break a rule about columns that do not move: of a class, all rows do."""
        board = RowPositions.from_rows(self.codecs, rows, classes)
        return any(
            (evaluate_constraint(meaning, board) == FALSE).all()
            for rule, meaning in zip(self.rules, self.meanings, strict=True)
            if not any(self.codecs[name].is_movable for name in rule.columns)
        )

    def _scatter_rows(self, rows: Records, classes: Whole, rng: np.random.Generator) -> Records:
        """Return rows with the columns that rules name drawn anew, all values alike."""
        board = RowPositions.from_rows(self.codecs, rows, classes)
        for name, face in self.codecs.items():
            low, high = (ends[classes] for ends in self.bounds[name])
            lots = rng.random(len(classes))
            drawn = low + lots * (high - low)
            if face.grid:
                drawn = low + np.floor(lots * (high - low + 1))
            if face.is_movable:
                board.set_positions(name, np.arange(len(classes)), drawn)
        return board.to_records(rows)

    def _make_unsatisfiable_error(self, encoder: Encoder, label: int) -> RuleError:
        rows = draw_uniform_records(encoder.spaces[label], RESERVE, np.random.default_rng([1]))
        work = WorkBudget(MOST_WORK)
        with contextlib.suppress(OutOfWorkError):
            rows = self.repair_rows(
                rows, np.full(RESERVE, label), np.random.default_rng([0]), work=work
            )
        return RuleError(
            f"rules: no row{_describe_class(encoder, label)} was found that obeys all of them. "
            f"Most often broken: {self._describe_most_broken(rows, label)}. Leave one out, widen "
            f"bounds or values, or drop what the rules exclude from the label."
        )

    def _make_undecided_error(self, encoder: Encoder, label: int, rows: Records) -> RuleError:
        return RuleError(
            f"rules: within {MOST_WORK:,} operations none of the rows tried"
            f"{_describe_class(encoder, label)} could be made to obey all of them, so it was not "
            f"decided whether one can. Most often broken: "
            f"{self._describe_most_broken(rows, label)}. Leave one out, or write it with fewer "
            f"columns and conditions."
        )

    def _describe_most_broken(self, rows: Records, label: int) -> str:
        """Return the rules that most of some rows break, in their own words."""
        board = RowPositions.from_rows(self.codecs, rows, np.full(len(rows), label))
        counts = [
            int((evaluate_constraint(meaning, board) == FALSE).sum()) for meaning in self.meanings
        ]
        worst = sorted(range(len(counts)), key=lambda place: -counts[place])[:_MOST_NAMED]
        return ", ".join(shown(self.rules[place].text) for place in worst if counts[place])


def _describe_class(encoder: Encoder, label: int) -> str:
    labels = LABEL_SEPARATOR.join(encoder.schema.labels)
    return f" with {labels}={encoder.schema.class_names[label]!r}" if labels else ""


def replace_rows(rows: Records, where: Whole, others: Records) -> Records:
    """Return rows with others in some places."""
    numbers, codes = rows.numbers.astype(np.float64), rows.codes.copy()
    numbers[where], codes[where] = others.numbers, others.codes
    return Records(numbers, codes)


def _is_key(rule: Constraint, encoder: Encoder) -> bool:
    columns: Sequence[str] = sorted(rule.columns)
    return isinstance(rule.resolved, UniqueKey) and all(name in encoder.names for name in columns)


def _compute_bounds(encoder: Encoder, codecs: dict[str, ColumnCodec]) -> Bounds:
    return {name: _compute_column_bounds(encoder, face) for name, face in codecs.items()}


def _compute_column_bounds(
    encoder: Encoder, codec: ColumnCodec
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the first and the last position of a column in each class."""
    if codec.column.name != encoder.schema.label or encoder.schema.label_cuts is None:
        return np.zeros(encoder.class_count), np.full(encoder.class_count, float(codec.steps))
    low = np.array([space.low[codec.index] for space in encoder.spaces])
    high = np.array([space.high[codec.index] for space in encoder.spaces])
    return codec.round_to_positions(low), codec.round_to_positions(high)
