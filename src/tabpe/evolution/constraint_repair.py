"""`ConstraintSet`: the constraints of a schema, and candidates that satisfy all of them.

*Evaluation* is vectorised over rows, on the values that a table would show. Truth values are 0 for
false, 1 for unknown and 2 for true, so that `and` is the minimum and `or` the maximum. A comparison
with a null is unknown, and a rule that is unknown is satisfied.

*Repair.* Rows that break a rule are changed as little as possible, until they satisfy it. A column
moves to the nearest value that a rule allows; which of several columns moves is random, so that no
column takes all the changes. A categorical label never moves, and a numeric label stays within its
class.

Rows are repaired or drawn again, and both are limited. A constraint set has rows of every class in
reserve, found before anything is measured. So rules that can not be satisfied are refused before
they cost budget, and a run that has begun never fails because of them.

Privacy: rules and candidates are public. Nothing here reads a private row. Private rows that break
a rule vote for the nearest candidate, as all others do.
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
from tabpe.encoding.records import draw_uniform_records
from tabpe.errors import RuleError, TabpeError, shown
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
# The largest lookup table of combinations of listed values: a megabyte.
_MOST_LOOKED_UP = 2**20
_BY_SIZE = _ARITHMETIC | {"-": operator.add}


@dataclass(frozen=True, eq=False)
class RowPositions:
    """Rows under repair: the position of each row in each column that rules name.

    Args:
        codecs: The codecs of these columns.
        positions: The position of each row in each of them; mutable.
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
        """Return the positions of records."""
        found = {name: codec.compute_positions(rows, classes) for name, codec in codecs.items()}
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
        for name, codec in self.codecs.items():
            if codec.part is not RowPart.CLASSES:
                part = numbers if codec.part is RowPart.NUMBERS else codes
                part[:, codec.index] = codec.encode_positions(self.positions[name])
        return Records(numbers, codes)


def evaluate_constraint(
    condition: ResolvedCondition, state: RowPositions, where: Whole | None = None
) -> TruthValues:
    """Return the truth value of a condition in each row, or in some of them.

    Args:
        condition: The condition.
        state: The rows.
        where: The indices of some rows; None for all.
    """
    match condition:
        case AllOf(parts):
            return functools.reduce(
                np.minimum, (evaluate_constraint(part, state, where) for part in parts)
            )
        case AnyOf(parts):
            return functools.reduce(
                np.maximum, (evaluate_constraint(part, state, where) for part in parts)
            )
        case NumericComparison():
            return evaluate_comparison(condition, _make_reader(state, where))
        case Membership():
            return _evaluate_listed(condition, state, where)
        case NullTest(column, negated):
            empty = np.isnan(_take_rows(state.positions[column], where))
            return np.where(empty ^ negated, TRUE, FALSE)


def evaluate_comparison(condition: NumericComparison, read: ColumnReader) -> TruthValues:
    """Return the truth values of a comparison, given a reader of columns."""
    with np.errstate(all="ignore"):
        left, right = evaluate_term(condition.left, read), evaluate_term(condition.right, read)
        apart = np.asarray(left - right)
        if condition.sign in ("==", "!="):
            same = np.abs(apart) <= _compute_tolerance(condition, read)
            holds = same if condition.sign == "==" else ~same
        elif condition.decimals is None:
            holds = _SIGNS[condition.sign](np.asarray(left), np.asarray(right))
        else:
            steps = np.rint(apart * 10.0**condition.decimals)
            holds = _SIGNS[condition.sign](steps, np.zeros(1))
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


def _compute_tolerance(condition: NumericComparison, read: ColumnReader) -> Floats | float:
    """Return the tolerance of equality.

    Half a step of the grid that the numbers are on; or, without one, a billionth of the sum of
    absolute values.
    """
    if condition.equal_decimals is not None:
        return float(0.5 * (1 + SAME_TOLERANCE) * 10.0**-condition.equal_decimals)
    sides = (condition.left, condition.right)
    sizes = [
        np.abs(evaluate_term(side, lambda name: np.abs(read(name)), _BY_SIZE)) for side in sides
    ]
    return SAME_TOLERANCE * (sizes[0] + sizes[1])


@functools.lru_cache(maxsize=512)
def encode_options(condition: Membership, codecs: tuple[ColumnCodec, ...]) -> Floats:
    """Return combinations as positions, one per row; NaN where a column lacks a value."""
    return np.array(
        [
            [codec.find_position(value) for codec, value in zip(codecs, option, strict=True)]
            for option in condition.options
        ]
    ).reshape(len(condition.options), len(codecs))


def _evaluate_listed(
    condition: Membership, state: RowPositions, where: Whole | None
) -> TruthValues:
    codecs = tuple(state.codecs[name] for name in condition.columns)
    positions = [_take_rows(state.positions[name], where) for name in condition.columns]
    options = encode_options(condition, codecs)
    find = _look_up_options if _are_few(codecs) else _search_options
    found = find(positions, options, codecs)
    unknown = np.logical_or.reduce([np.isnan(each) for each in positions])
    return np.where(unknown, UNKNOWN, np.where(found ^ condition.negated, TRUE, FALSE))


def _are_few(codecs: tuple[ColumnCodec, ...]) -> bool:
    sizes = [codec.steps + 2 if codec.grid else math.inf for codec in codecs]
    return math.prod(sizes) <= _MOST_LOOKED_UP


def _look_up_options(
    positions: list[Floats], options: Floats, codecs: tuple[ColumnCodec, ...]
) -> NDArray[np.bool_]:
    """Return whether rows have one of some combinations, by a lookup table of all of them."""
    shape = tuple(int(codec.steps) + 2 for codec in codecs)
    table = np.zeros(shape, dtype=bool)
    table[tuple(options[~np.isnan(options).any(axis=1)].astype(np.int64).T)] = True
    # The last index of each axis is for nulls.
    cells = [
        np.where(np.isnan(each), size - 1, each).astype(np.int64)
        for each, size in zip(positions, shape, strict=True)
    ]
    return np.asarray(table[tuple(cells)])


def _search_options(
    positions: list[Floats], options: Floats, codecs: tuple[ColumnCodec, ...]
) -> NDArray[np.bool_]:
    """Return whether rows have one of some combinations, column by column."""
    found = np.zeros(len(positions[0]), dtype=np.int64)
    wanted = np.zeros(len(options), dtype=np.int64)
    for codec, each, known in zip(codecs, positions, options.T, strict=True):
        marks = np.unique(known[~np.isnan(known)])
        found = _combine_ids(found, _find_nearest(each, marks, codec), len(marks))
        wanted = _combine_ids(wanted, _find_nearest(known, marks, codec), len(marks))
        found, wanted = _renumber_ids(found, wanted)
    return np.asarray(found >= 0)


def _find_nearest(positions: Floats, marks: Floats, codec: ColumnCodec) -> Whole:
    """Return the index of each position among some rising ones; -1 for none of them."""
    if not len(marks):
        return np.full(len(positions), -1)
    after = np.searchsorted(marks, positions).clip(max=len(marks) - 1)
    before = (after - 1).clip(min=0)
    near = np.where(positions - marks[before] < marks[after] - positions, before, after)
    same = np.abs(positions - marks[near]) <= (0.0 if codec.grid else SAME_TOLERANCE)
    return np.where(same, near, -1)


def _combine_ids(found: Whole, more: Whole, size: int) -> Whole:
    """Return one id for two; -1 if one of them is -1."""
    return np.where((found < 0) | (more < 0), -1, found * size + more)


def _renumber_ids(found: Whole, wanted: Whole) -> tuple[Whole, Whole]:
    """Return consecutive ids for the same rows; -1 for what is not wanted."""
    kept = np.unique(wanted[wanted >= 0])
    if not len(kept):
        return np.full(len(found), -1), np.full(len(wanted), -1)
    near = np.searchsorted(kept, found).clip(max=len(kept) - 1)
    return np.where(kept[near] == found, near, -1), np.searchsorted(kept, wanted) - (wanted < 0)


def _make_reader(state: RowPositions, where: Whole | None) -> ColumnReader:
    return lambda name: _take_rows(state.get_values(name), where)


def _take_rows(values: Floats, where: Whole | None) -> Floats:
    return values if where is None else values[where]


# By class: the first and the last position that a column may have.
Bounds = Mapping[str, tuple[Floats, Floats]]
# A position this near to a step is that step, but for rounding.
_ROUNDED = 1e-6
# Without a grid, a strict inequality is satisfied by a margin of this part of a range.
_BESIDE = 1e-9
# At most so many listed numbers are tried one by one.
_MOST_TRIED = 64
# Rows times combinations that are processed together: 16 MB.
_CELLS = 2**21
# So many of them take as long as an operation on the columns of a few rows.
_CELLS_AN_OPERATION = 128
# The operations of a move, besides evaluating the condition.
_OPERATIONS_A_MOVE = 20


class OutOfWorkError(Exception):
    """A search exceeded its limit of operations."""


@dataclass
class WorkBudget:
    """Counts the operations of a search, which ends when none are left.

    Operations, not seconds: whether a schema is refused must not depend on the machine.

    Args:
        left: The number of operations left.

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
            OutOfWorkError: If they exceed the limit.
        """
        self.left -= operations
        if self.left < 0:
            raise OutOfWorkError


@dataclass(frozen=True, eq=False)
class ConstraintRepairer:
    """Changes rows until they satisfy conditions.

    Args:
        state: The rows.
        bounds: Where they may move.
        fixed: Columns that do not change.
        rng: Decides which column moves, and where.
        work: The limit of operations; none if left out.
    """

    state: RowPositions
    bounds: Bounds
    fixed: frozenset[str]
    rng: np.random.Generator
    work: WorkBudget = field(default_factory=WorkBudget)

    def find_broken(self, condition: ResolvedCondition, where: Whole) -> NDArray[np.bool_]:
        """Return in which of some rows a condition is false."""
        self.work.spend(condition.weight)
        return np.asarray(evaluate_constraint(condition, self.state, where) == FALSE)

    def repair(self, condition: ResolvedCondition, where: Whole) -> None:
        """Change rows in which a condition is false so that it is true, as far as possible."""
        where = where[self.find_broken(condition, where)] if len(where) else where
        if not len(where):
            return
        match condition:
            case AllOf(parts):
                for part in parts:
                    self.repair(part, where)
            case AnyOf(parts, in_order):
                self._repair_any(condition, parts, where, in_order=in_order)
            case NumericComparison():
                self._repair_comparison(condition, where)
            case Membership(negated=True):
                self._leave_options(condition, where)
            case Membership():
                self._join_options(condition, where)
            case NullTest(column, negated):
                self._set_empty(column, where, filled=negated)

    def _repair_any(
        self, whole: AnyOf, parts: tuple[ResolvedCondition, ...], where: Whole, *, in_order: bool
    ) -> None:
        """Make one part true: the first possible, in order or from a random one on."""
        size = len(parts)
        first = (
            np.zeros(len(where), np.int64) if in_order else self.rng.integers(0, size, len(where))
        )
        for turn in range(size):
            for index, part in enumerate(parts):
                self.repair(part, where[(first + turn) % size == index])
            left = self.find_broken(whole, where)
            where, first = where[left], first[left]
            if not len(where):
                return

    def _repair_comparison(self, condition: NumericComparison, where: Whole) -> None:
        """Move columns in random order, each as far as its bounds allow."""
        names = [
            name
            for name in dict.fromkeys(iterate_resolved_columns(condition))
            if self._can_move(condition, name)
        ]
        order = self.rng.random((len(where), len(names))).argsort(axis=1)
        for turn in range(len(names)):
            left = self.find_broken(condition, where)
            for index, name in enumerate(names):
                mine = where[left & (order[:, turn] == index)]
                if len(mine):
                    self._solve(condition, name, mine)

    def _is_movable(self, name: str) -> bool:
        return name not in self.fixed and self.state.codecs[name].is_movable

    def _can_move(self, condition: NumericComparison, name: str) -> bool:
        listed = self.state.codecs[name].listed is not None
        linear = max(compute_degree(side, name) for side in (condition.left, condition.right)) <= 1
        return self._is_movable(name) and (listed or linear)

    def _get_bounds(self, name: str, where: Whole) -> tuple[Floats, Floats]:
        low, high = self.bounds[name]
        classes = self.state.classes[where]
        return low[classes], high[classes]

    def _solve(self, condition: NumericComparison, name: str, where: Whole) -> None:
        codec = self.state.codecs[name]
        self.work.spend(_OPERATIONS_A_MOVE)
        if codec.listed is not None:
            self._try_each(condition, name, where)
        elif condition.sign == "!=":
            self._sidestep(name, where)
        else:
            self._shift_column(condition, name, codec, where)

    def _make_trial_reader(
        self, name: str, where: Whole, position: Floats
    ) -> Callable[[str], Floats]:
        """Return a reader of columns, as if one of them had other positions."""
        values = self.state.codecs[name].compute_values(position)
        return lambda other: values if other == name else self.state.get_values(other)[where]

    def _shift_column(
        self, condition: NumericComparison, name: str, codec: ColumnCodec, where: Whole
    ) -> None:
        """Move a column to where both sides are equal: their difference is linear in it."""
        low, high = self._get_bounds(name, where)
        far = self._compute_gap(condition, name, where, np.full(len(where), float(codec.steps)))
        near = self._compute_gap(condition, name, where, np.zeros(len(where)))
        with np.errstate(all="ignore"):
            slope = (far - near) / codec.steps
            meet = -near / slope
            if condition.sign == "==" and condition.decimals is not None and codec.grid:
                # Between two steps, another column moves the rest; it may only go one way.
                meet = np.where(
                    _is_step(meet), meet, np.floor(meet) + self.rng.integers(0, 2, len(meet))
                )
            moved = _find_nearest_valid(condition.sign, meet, slope > 0, grid=codec.grid)
        found = np.isfinite(moved) & (slope != 0)
        self.state.set_positions(name, where[found], np.clip(moved, low, high)[found])

    def _compute_gap(
        self, condition: NumericComparison, name: str, where: Whole, position: Floats
    ) -> Floats:
        self.work.spend(condition.weight)
        read = self._make_trial_reader(name, where, position)
        with np.errstate(all="ignore"):
            apart = evaluate_term(condition.left, read) - evaluate_term(condition.right, read)
        return np.broadcast_to(apart, where.shape)

    def _try_each(self, condition: NumericComparison, name: str, where: Whole) -> None:
        """Give a column one of the listed numbers with which the comparison holds."""
        size = min(int(self.state.codecs[name].steps) + 1, _MOST_TRIED)
        self.work.spend(size * condition.weight)
        holds = np.stack(
            [
                evaluate_comparison(
                    condition,
                    self._make_trial_reader(name, where, np.full(len(where), float(index))),
                )
                > 0
                for index in range(size)
            ],
            axis=1,
        )
        uniform = np.where(holds, self.rng.random(holds.shape), -1.0)
        found = holds.any(axis=1)
        self.state.set_positions(
            name, where[found], uniform.argmax(axis=1)[found].astype(np.float64)
        )

    def _sidestep(self, name: str, where: Whole) -> None:
        """Move a number by a step, up or down."""
        low, high = self._get_bounds(name, where)
        codec, now = self.state.codecs[name], self.state.positions[name][where]
        step = 1.0 if codec.grid else self.rng.uniform(0.001, 0.01, len(where))
        side = self.rng.choice([-1.0, 1.0], len(where)) * step
        inside = (now + side >= low) & (now + side <= high)
        self.state.set_positions(
            name, where, np.clip(np.where(inside, now + side, now - side), low, high)
        )

    def _leave_options(self, condition: Membership, where: Whole) -> None:
        """Change one of the columns, so that the row has none of the combinations."""
        names = [name for name in condition.columns if self._is_movable(name)]
        if not names:
            return
        chosen = self.rng.integers(0, len(names), len(where))
        for index, name in enumerate(names):
            mine = where[chosen == index]
            if self.state.codecs[name].part is RowPart.NUMBERS:
                self._sidestep(name, mine)
            else:
                self._redraw_column(condition, name, mine)

    def _redraw_column(self, condition: Membership, name: str, where: Whole) -> None:
        codec = self.state.codecs[name]
        allowed = np.arange(codec.steps + 1)
        if len(condition.columns) == 1:
            options = [codec.find_position(option[0]) for option in condition.options]
            allowed = np.setdiff1d(allowed, options)
        if len(allowed):
            self.state.set_positions(name, where, self.rng.choice(allowed, len(where)))

    def _join_options(self, condition: Membership, where: Whole) -> None:
        """Move rows to the nearest combination."""
        options = encode_options(
            condition, tuple(self.state.codecs[name] for name in condition.columns)
        )
        size = max(1, _CELLS // max(len(options), 1))
        for start in range(0, len(where), size):
            self._join_batch(condition, options, where[start : start + size])

    def _join_batch(self, condition: Membership, options: Floats, where: Whole) -> None:
        cost = np.zeros((len(where), len(options)))
        self.work.spend(len(condition.columns) * cost.size / _CELLS_AN_OPERATION)
        for index, name in enumerate(condition.columns):
            cost += self._compute_costs(name, options[:, index], where)
        if not cost.size:
            return
        best = (cost + self.rng.uniform(0, 1e-6, cost.shape)).argmin(axis=1)
        found = np.isfinite(cost[np.arange(len(where)), best])
        for index, name in enumerate(condition.columns):
            if self._is_movable(name):
                self.state.set_positions(name, where[found], options[best[found], index])

    def _compute_costs(self, name: str, options: Floats, where: Whole) -> Floats:
        """Return the distance of a column from each option; infinite where it can not move."""
        codec, now = self.state.codecs[name], self.state.positions[name][where]
        apart = np.abs(options - now[:, None])
        if not self._is_movable(name):
            return np.where(apart == 0, 0.0, np.inf)
        low, high = self._get_bounds(name, where)
        inside = (options >= low[:, None]) & (options <= high[:, None])
        is_number = codec.part is RowPart.NUMBERS and codec.steps
        distance = apart / codec.steps if is_number else (apart != 0).astype(np.float64)
        # A null is equally far from all of them.
        distance = np.where(np.isnan(now)[:, None], 1.0, distance)
        return np.where(inside, distance, np.inf)

    def _set_empty(self, column: str, where: Whole, *, filled: bool) -> None:
        if not self._is_movable(column):
            return
        if filled:
            low, high = self._get_bounds(column, where)
            drawn = low + (high - low) * self.rng.random(len(where))
            self.state.set_positions(
                column, where, np.rint(drawn) if self.state.codecs[column].grid else drawn
            )
        elif self.state.codecs[column].nullable:
            self.state.set_positions(column, where, np.full(len(where), np.nan))


def _is_step(positions: Floats) -> NDArray[np.bool_]:
    return np.abs(positions - np.rint(positions)) < _ROUNDED


def _find_nearest_valid(
    sign: str, meet: Floats, rising: NDArray[np.bool_], *, grid: bool
) -> Floats:
    """Return the position nearest to `meet`, where both sides are equal, that satisfies `sign`."""
    if sign == "==":
        return np.rint(meet) if grid else meet
    upward = rising == (sign in (">", ">="))
    if not grid:
        return meet + np.where(upward, _BESIDE, -_BESIDE)
    if sign in ("<=", ">="):
        return np.where(upward, np.ceil(meet - _ROUNDED), np.floor(meet + _ROUNDED))
    return np.where(upward, np.floor(meet + _ROUNDED) + 1, np.ceil(meet - _ROUNDED) - 1)


RowSampler = Callable[[Whole], Records]

# Repairing one rule may break another: three rules of a chain are satisfied after three sweeps.
SWEEPS = 10
# Redrawn rows are spread over what is allowed, but repaired ones lie on its border. Half of all
# rows break `a <= b`, and one in 30 is left to repair after so many redraws; where all break a
# rule, redraws cost as much as evaluating it.
REDRAWS = 4
# Then rows are redrawn and repaired. Where one in three can be repaired, one in 40 is left.
TRIES = 8
# Rows of a class that are searched before a run, and how often.
RESERVE, RESERVE_TRIES = 64, 64
# The limit of operations of that search over all rules and classes of a schema, each on `RESERVE`
# rows: a few seconds. A comparison of two columns that no row satisfies takes a tenth of that.
MOST_WORK = 1_000_000
_MOST_NAMED = 3


@dataclass(frozen=True, eq=False)
class ConstraintSet:
    """The constraints of a schema.

    Args:
        rules: Constraints on single rows.
        keys: Unique keys; those with an id column are unique anyway and left out.
        codecs: The codecs of the columns that rules name.
        bounds: Where rows of each class may move.
        reserve: Some rows of each class that satisfy the rules.

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
        """Return the constraints of a schema.

        Raises:
            RuleError: If no row of some class was found that satisfies the rules; of several
                labels, if no row of any class was. Or if the search exceeds `MOST_WORK`.
        """
        parsed = encoder.schema.parsed_rules
        rules = tuple(rule for rule in parsed if not isinstance(rule.resolved, UniqueKey))
        keys = tuple(rule for rule in parsed if _is_key(rule, encoder))
        names = sorted({name for rule in (*rules, *keys) for name in rule.columns})
        codecs = build_codecs(encoder, names)
        constraints = cls(rules, keys, codecs, _compute_bounds(encoder, codecs), ())
        if not rules:
            return constraints
        found, work = [], WorkBudget(MOST_WORK)
        for label in range(encoder.class_count):
            found.append(constraints._search_reserve(encoder, label, work))
            # Rules may exclude some combinations of several labels: these get no rows.
            if not len(found[-1]) and encoder.joint is None:
                raise constraints._make_unsatisfiable_error(encoder, label)
        if not any(map(len, found)):
            raise constraints._make_unsatisfiable_error(encoder, 0)
        return cls(rules, keys, codecs, constraints.bounds, tuple(found))

    def exclude_classes(self, weights: Sequence[float] | Floats) -> Floats:
        """Return the weights of classes, 0 for those that the rules exclude."""
        given = np.array(weights, dtype=np.float64)
        if not self.reserve:
            return given
        possible = np.array([len(rows) > 0 for rows in self.reserve])
        kept = np.where(possible, given, 0.0)
        return kept if (kept > 0).any() else possible.astype(np.float64)

    @property
    def conditions(self) -> list[ResolvedCondition]:
        """The conditions of the rules on single rows."""
        return [rule.resolved for rule in self.rules if not isinstance(rule.resolved, UniqueKey)]

    def find_broken(self, rows: Records, classes: Whole) -> NDArray[np.bool_]:
        """Return which rows break a rule, apart from unique keys."""
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
        """Return rows with those that break a rule repaired; some may still break it.

        Args:
            rows: Any rows.
            classes: The class of each, which does not change.
            rng: Decides which column moves, and where.
            fixed: Columns that do not change.
            work: The limit of operations; none if left out.

        Raises:
            OutOfWorkError: If the limit is exceeded.
        """
        where = np.flatnonzero(self.find_broken(rows, classes))
        if not len(where):
            return rows
        before = rows.take(where)
        state = RowPositions.from_rows(self.codecs, before, classes[where])
        repairer = ConstraintRepairer(
            state, self.bounds, fixed, rng, WorkBudget() if work is None else work
        )
        left = np.arange(len(where))
        for _ in range(SWEEPS):
            for condition in self.conditions:
                repairer.repair(condition, left)
            left = left[self._find_false(state, left)]
            if not len(left):
                break
        return replace_rows(rows, where, state.to_records(before))

    def draw_rows(self, classes: Whole, draw: RowSampler, rng: np.random.Generator) -> Records:
        """Return a row for each class given that satisfies the rules.

        Args:
            classes: The class of each row.
            draw: Draws rows of given classes.
            rng: The random choices of repair.
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
        """Return rows that satisfy the rules: as they are, repaired, or as they were before."""
        repaired = self.repair_rows(moved, classes, rng)
        left = np.flatnonzero(self.find_broken(repaired, classes))
        return replace_rows(repaired, left, before.take(left)) if len(left) else repaired

    def check_rows(self, rows: Records, classes: Whole) -> None:
        """Refuse rows that break a rule, before they are released.

        Raises:
            TabpeError: If one does, which is a bug.
        """
        count = int(self.find_broken(rows, classes).sum())
        if count:
            raise TabpeError(
                f"{count:,} of {len(rows):,} rows break a rule of the schema: this is a bug of "
                f"tabpe; please report it with the schema."
            )

    def _find_false(self, state: RowPositions, where: Whole | None = None) -> NDArray[np.bool_]:
        size = len(state) if where is None else len(where)
        broken = np.zeros(size, dtype=bool)
        for condition in self.conditions:
            broken |= evaluate_constraint(condition, state, where) == FALSE
        return broken

    def _draw_reserve(self, classes: Whole, rng: np.random.Generator) -> Records:
        uniform = rng.random(len(classes))
        return Records.concat(
            [
                self.reserve[label].take(np.array([int(draw * len(self.reserve[label]))]))
                for label, draw in zip(classes, uniform, strict=True)
            ]
        )

    def _search_reserve(self, encoder: Encoder, label: int, work: WorkBudget) -> Records:
        """Search rows of a class, deterministically: whether there are any is not random.

        The result depends on the columns that rules name alone. So what was found before the other
        columns were estimated is found again.
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
        """Whether the rows break a rule about columns that do not move: then all of a class do."""
        state = RowPositions.from_rows(self.codecs, rows, classes)
        return any(
            (evaluate_constraint(condition, state) == FALSE).all()
            for rule, condition in zip(self.rules, self.conditions, strict=True)
            if not any(self.codecs[name].is_movable for name in rule.columns)
        )

    def _scatter_rows(self, rows: Records, classes: Whole, rng: np.random.Generator) -> Records:
        """Return rows with the columns that rules name redrawn uniformly."""
        state = RowPositions.from_rows(self.codecs, rows, classes)
        for name, codec in self.codecs.items():
            low, high = (ends[classes] for ends in self.bounds[name])
            uniform = rng.random(len(classes))
            drawn = low + uniform * (high - low)
            if codec.grid:
                drawn = low + np.floor(uniform * (high - low + 1))
            if codec.is_movable:
                state.set_positions(name, np.arange(len(classes)), drawn)
        return state.to_records(rows)

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
        """Return the texts of the rules that most rows break."""
        state = RowPositions.from_rows(self.codecs, rows, np.full(len(rows), label))
        counts = [
            int((evaluate_constraint(condition, state) == FALSE).sum())
            for condition in self.conditions
        ]
        worst = sorted(range(len(counts)), key=lambda index: -counts[index])[:_MOST_NAMED]
        return ", ".join(shown(self.rules[index].text) for index in worst if counts[index])


def _describe_class(encoder: Encoder, label: int) -> str:
    labels = LABEL_SEPARATOR.join(encoder.schema.labels)
    return f" with {labels}={encoder.schema.class_names[label]!r}" if labels else ""


def replace_rows(rows: Records, where: Whole, others: Records) -> Records:
    """Return rows with others at some indices."""
    numbers, codes = rows.numbers.astype(np.float64), rows.codes.copy()
    numbers[where], codes[where] = others.numbers, others.codes
    return Records(numbers, codes)


def _is_key(rule: Constraint, encoder: Encoder) -> bool:
    columns: Sequence[str] = sorted(rule.columns)
    return isinstance(rule.resolved, UniqueKey) and all(name in encoder.names for name in columns)


def _compute_bounds(encoder: Encoder, codecs: dict[str, ColumnCodec]) -> Bounds:
    return {name: _compute_column_bounds(encoder, codec) for name, codec in codecs.items()}


def _compute_column_bounds(
    encoder: Encoder, codec: ColumnCodec
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the first and the last position of a column in each class."""
    if codec.column.name != encoder.schema.label or encoder.schema.label_cuts is None:
        return np.zeros(encoder.class_count), np.full(encoder.class_count, float(codec.steps))
    low = np.array([space.low[codec.index] for space in encoder.spaces])
    high = np.array([space.high[codec.index] for space in encoder.spaces])
    return codec.round_to_positions(low), codec.round_to_positions(high)
