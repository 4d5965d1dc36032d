"""Where rules hold: vectorised over rows, on the values that a table would show.

Truths are 0 for false, 1 for unknown and 2 for true, so that `and` is the least and `or` the
largest of them. What is compared with an empty cell is unknown, and a rule that is unknown holds.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tabpe.encode import Records
from tabpe.encode.faces import SAME, Face, Part
from tabpe.schema.rules.meaning import All, Compared, Empty, Listed, Meaning, Some
from tabpe.schema.rules.tree import Arithmetic, Literal, Named, Negative, Term

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
