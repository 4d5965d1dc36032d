"""What a rule means once its columns are known: conditions without `not` and `if`.

Every column is a number here. A date is its microseconds since 1970, a time those since midnight; a
truth is 0 or 1, a listed text its place in the list, a listed number that number. Days that are
added to a date are microseconds too. So all that is left is arithmetic.

As for the checks of a database, a comparison with an empty cell is neither true nor false, and a
rule that is neither holds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from tabpe.schema.rules.tree import Arithmetic, Named, Negative, Term

FLIPPED = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
# Options of a list that take as long to look up as an operation on columns.
_OPTIONS_AN_OPERATION = 64


@dataclass(frozen=True)
class All:
    """Holds if all parts do."""

    parts: tuple[Meaning, ...]

    @cached_property
    def weight(self) -> int:
        """The number of operations on columns that evaluating it takes."""
        return 1 + sum(part.weight for part in self.parts)


@dataclass(frozen=True)
class Some:
    """Holds if one of the parts does.

    Args:
        parts: The parts.
        in_order: Whether earlier parts are the ones to make true, if none is.
    """

    parts: tuple[Meaning, ...]
    in_order: bool = False

    @cached_property
    def weight(self) -> int:
        """The number of operations on columns that evaluating it takes."""
        return 1 + sum(part.weight for part in self.parts)


@dataclass(frozen=True)
class Compared:
    """Two numbers in some order.

    Args:
        sign: One of `== != < <= > >=`.
        left: The one.
        right: The other.
        decimals: The digits after the point by which they are compared; None for all of them.
        equal_decimals: The same for `==` and `!=`, where rounding is meant if one side is rounded.
    """

    sign: str
    left: Term
    right: Term
    decimals: int | None = None
    equal_decimals: int | None = None

    @cached_property
    def weight(self) -> int:
        """The number of operations on columns that evaluating it takes."""
        return 1 + _operations(self.left) + _operations(self.right)


@dataclass(frozen=True)
class Listed:
    """Columns whose numbers together are one of some combinations, or none of them."""

    columns: tuple[str, ...]
    options: tuple[tuple[float, ...], ...]
    negated: bool = False

    @cached_property
    def weight(self) -> int:
        """The number of operations on columns that evaluating it takes."""
        return len(self.columns) * (1 + len(self.options) // _OPTIONS_AN_OPERATION)


@dataclass(frozen=True)
class Empty:
    """A column that is empty, or is not."""

    column: str
    negated: bool = False

    @property
    def weight(self) -> int:
        """The number of operations on columns that evaluating it takes."""
        return 1


@dataclass(frozen=True)
class Key:
    """Columns whose values together are different in each row of a table."""

    columns: tuple[str, ...]


Meaning = All | Some | Compared | Listed | Empty


def opposite(meaning: Meaning) -> Meaning:
    """Return what holds where something does not; what is unknown stays so.

    Example:
        >>> opposite(All((Empty("a"), Empty("b", negated=True))))
        Some(parts=(Empty(column='a', negated=True), Empty(column='b', ...)), in_order=False)
    """
    match meaning:
        case All(parts):
            return Some(tuple(map(opposite, parts)))
        case Some(parts):
            return All(tuple(map(opposite, parts)))
        case Compared(sign, left, right, decimals, equal):
            return Compared(FLIPPED[sign], left, right, decimals, equal)
        case Listed(columns, options, negated):
            return Listed(columns, options, not negated)
        case Empty(column, negated):
            return Empty(column, not negated)


def _operations(term: Term) -> int:
    match term:
        case Arithmetic(_, left, right):
            return 1 + _operations(left) + _operations(right)
        case Negative(inside):
            return 1 + _operations(inside)
    return 1


def columns_in(part: Meaning | Key | Term) -> Iterator[str]:
    """Yield the name of each column, as often as it occurs.

    Example:
        >>> list(columns_in(Compared("<", Named("a"), Arithmetic("+", Named("b"), Named("a")))))
        ['a', 'b', 'a']
    """
    match part:
        case All(parts) | Some(parts):
            for each in parts:
                yield from columns_in(each)
        case Compared(_, left, right) | Arithmetic(_, left, right):
            yield from columns_in(left)
            yield from columns_in(right)
        case Listed(columns) | Key(columns):
            yield from columns
        case Empty(column) | Named(column):
            yield column
        case Negative(term):
            yield from columns_in(term)


def degree(term: Term, column: str) -> float:
    """Return the power of a column in a term; infinite if it is divided by.

    Example:
        >>> degree(Arithmetic("*", Named("a"), Named("b")), "a")
        1
    """
    match term:
        case Named(name):
            return int(name == column)
        case Negative(inside):
            return degree(inside, column)
        case Arithmetic("*", left, right):
            return degree(left, column) + degree(right, column)
        case Arithmetic("/", left, right):
            return degree(left, column) if not degree(right, column) else float("inf")
        case Arithmetic(_, left, right):
            return max(degree(left, column), degree(right, column))
    return 0
