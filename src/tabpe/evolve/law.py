"""`Law`: the rules of a schema, and rows that obey all of them.

Rows are mended (`tabpe.evolve.mend`) or made up anew, and there is a limit to both. A law has rows
of every class in reserve, found before anything is measured. So rules that can not be met are
refused before they cost anything, and a run that has begun never fails by them.

Privacy: rules are public, and candidates are. Nothing here sees a private row. Those that break a
rule vote for the nearest candidate, as all others do.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tabpe.encode import Encoder, Records
from tabpe.encode.faces import Face, faces_of
from tabpe.errors import RuleError, TabpeError, shown
from tabpe.evolve.mend import Bounds, Mender, OutOfWorkError, Work
from tabpe.evolve.random import random_records
from tabpe.evolve.truth import FALSE, Board, truth
from tabpe.schema.joint import BETWEEN
from tabpe.schema.rules import Rule
from tabpe.schema.rules.meaning import Key, Meaning

Whole = NDArray[np.int64]
Floats = NDArray[np.float64]
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
