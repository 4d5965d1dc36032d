"""Constraints whose columns are known: conditions without `not` and `if`.

What a rule means once its columns are known: conditions without `not` and `if`.

Every column is a number here. A date is its microseconds since 1970, a time those since midnight; a
truth is 0 or 1, a listed text its place in the list, a listed number that number. Days that are
added to a date are microseconds too. So all that is left is arithmetic.

As for the checks of a database, a comparison with an empty cell is neither true nor false, and a
rule that is neither holds.

What the parts of a rule are, by the columns of a schema: what does not fit is refused here.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any

from tabpe.errors import SchemaError, did_you_mean, shown
from tabpe.schema.columns import EXACT_INTEGERS, Boolean, Categorical, Column, Float, Id, Integer
from tabpe.schema.constraints.parser import (
    Among,
    Arithmetic,
    Comparison,
    Condition,
    Either,
    Every,
    If,
    Literal,
    Missing,
    Named,
    Negative,
    Not,
    Term,
    Unique,
    wrong,
)
from tabpe.schema.temporal import RESOLUTIONS, Datetime, Temporal, Time

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


DAY = RESOLUTIONS["day"]
# Of all rules of a schema, with each `if` written out as what it means: a condition that has an
# `else` stands there twice, so conditions inside of conditions double with each step.
MOST_OPERATIONS = 20_000
_FINEST = 12
_NUMBER, _TEXT, _TRUTH, _QUOTE = "a number", "a listed text", "a truth", "a text"
_MOMENT, _INSTANT, _CLOCK = "a date", "a point in time of a zone", "a time of the day"
_MOMENTS = (_MOMENT, _INSTANT, _CLOCK)


@dataclass(frozen=True)
class _Kind:
    """What a term is.

    Args:
        family: The same for all that may be compared with each other.
        decimals: Of a number: digits after the point; None for any. Of a moment: 0 for whole days.
        column: A column that it is about, if any: what a text beside it means.
    """

    family: str
    decimals: int | None = None
    column: Column | None = None


def meaning_of(rule: str, tree: Condition | Unique, columns: Mapping[str, Column]) -> Meaning | Key:
    """Return what a rule means for the columns of a schema.

    Args:
        rule: Its text, for messages.
        tree: The text as a tree.
        columns: The columns by name.

    Raises:
        SchemaError: If it names an unknown column, or compares what can not be compared.

    Example:
        >>> from tabpe.schema.constraints.parser import parsed
        >>> columns = {"age": Integer("age", 0, 99), "ill": Boolean("ill")}
        >>> meaning_of("ill", parsed("ill"), columns)
        Listed(columns=('ill',), options=((1.0,),), negated=False)
        >>> meaning_of("agee > 1", parsed("agee > 1"), columns)
        Traceback (most recent call last):
        tabpe.errors.SchemaError: rule 'agee > 1', character 1: no column 'agee': did you mean ...
    """
    return _Reader(rule, columns).read(tree)


class _Reader:
    """Knows the text of a rule, and the columns."""

    def __init__(self, rule: str, columns: Mapping[str, Column]) -> None:
        self.rule, self.columns = rule, columns

    def read(self, tree: Condition | Unique) -> Meaning | Key:
        if not isinstance(tree, Unique):
            return self._condition(tree)
        for named in tree.columns:
            self._known(named)
        names = tuple(named.name for named in tree.columns)
        if len(set(names)) < len(names):
            raise self._wrong(tree.at, "a column stands there twice.")
        return Key(names)

    def _wrong(self, at: int, what: str) -> SchemaError:
        return wrong(self.rule, at, what)

    def _known(self, named: Named) -> Column:
        column = self.columns.get(named.name)
        if column is None:
            hint = did_you_mean(named.name, self.columns)
            raise self._wrong(named.at, f"no column {shown(named.name)}: {hint}")
        return column

    def _column(self, named: Named) -> Column:
        column = self._known(named)
        if isinstance(column, Id):
            what = f"{shown(named.name)} is an id, which is made up: it may stand in unique() only."
            raise self._wrong(named.at, what)
        return column

    def _condition(self, node: Condition) -> Meaning:
        """Return what a condition means; refused before what contains it can double it."""
        found = self._expanded(node)
        if found.weight > MOST_OPERATIONS:
            what = f"more than {MOST_OPERATIONS:,} operations once each if is written out: nest"
            raise self._wrong(node.at, f"{what} fewer conditions in conditions, or make two rules.")
        return found

    def _expanded(self, node: Condition) -> Meaning:  # noqa: PLR0911 (one for each kind)
        match node:
            case Every(parts):
                return All(tuple(map(self._condition, parts)))
            case Either(parts):
                return Some(tuple(map(self._condition, parts)))
            case Not(part):
                return opposite(self._condition(part))
            case If(condition, then, otherwise):
                return self._if(self._condition(condition), then, otherwise)
            case Missing(column, negated):
                return Empty(self._column(column).name, negated)
            case Among():
                return self._among(node)
            case Comparison():
                return self._comparison(node)
            case Named():
                return self._truth(node)

    def _if(self, condition: Meaning, then: Condition, otherwise: Condition | None) -> Meaning:
        first = Some((self._condition(then), opposite(condition)), in_order=True)
        if otherwise is None:
            return first
        return All((first, Some((self._condition(otherwise), condition), in_order=True)))

    def _truth(self, named: Named) -> Meaning:
        if not isinstance(self._column(named), Boolean):
            what = f"{shown(named.name)} is no column of truths: compare it with something."
            raise self._wrong(named.at, what)
        return Listed((named.name,), ((1.0,),))

    def _among(self, node: Among) -> Meaning:
        kinds = [self._term(column)[1] for column in node.columns]
        options = tuple(
            tuple(self._number(value, kind) for value, kind in zip(option, kinds, strict=True))
            for option in node.options
        )
        names = tuple(column.name for column in node.columns)
        if len(set(names)) < len(names):
            raise self._wrong(node.at, "before in: a column stands there twice.")
        return Listed(names, options, node.negated)

    def _number(self, term: Term, kind: _Kind) -> float:
        """Return the number that a value of a column stands for."""
        value, found = self._term(term)
        value = self._resolved(value, found, kind, term.at)
        negative = isinstance(value, Negative)
        plain = value.term if isinstance(value, Negative) else value
        if not isinstance(plain, Literal):
            raise TypeError(type(plain).__name__)
        return -float(plain.value) if negative else float(plain.value)

    def _comparison(self, node: Comparison) -> Meaning:
        (left, one), (right, other) = self._term(node.left), self._term(node.right)
        if one.column is None and other.column is None:
            raise self._wrong(node.at, "compares two values: expected a column on one side.")
        left = self._resolved(left, one, other, node.left.at)
        right = self._resolved(right, other, one, node.right.at)
        family = other.family if one.family == _QUOTE else one.family
        if family in (_TEXT, _TRUTH):
            return self._listed(node, left, right)
        known = [d for d in (one.decimals, other.decimals) if d is not None]
        if family in _MOMENTS:
            return Compared(node.sign, left, right, 0, 0)
        grid = max(known) if len(known) == len((one, other)) else None
        return Compared(node.sign, left, right, grid, max(known, default=None))

    def _resolved(self, term: Term, kind: _Kind, beside: _Kind, at: int) -> Term:
        """Return a term in the numbers of the column beside it, if it is a text."""
        if kind.family != _QUOTE:
            if beside.family not in (kind.family, _QUOTE):
                what = f"{kind.family} beside {beside.family}: expected two of a kind."
                raise self._wrong(at, what)
            return term
        text = term.value if isinstance(term, Literal) else ""
        column = beside.column
        if isinstance(column, Temporal):
            return Literal(self._moment(str(text), column, at), at=at)
        if beside.family != _TEXT or not isinstance(column, Categorical):
            what = f"{shown(text)} is a text beside {beside.family}: expected two of a kind."
            raise self._wrong(at, what)
        places = _places(column.values)
        if text not in places:
            hint = did_you_mean(str(text), map(str, column.values))
            raise self._wrong(at, f"{shown(text)} is no value of {shown(column.name)}: {hint}")
        return Literal(places[text], at=at)

    def _moment(self, text: str, column: Temporal, at: int) -> int:
        try:
            bounds: dict[str, Any] = {"min": text, "max": text}
            return dataclasses.replace(column, **bounds).first
        except (SchemaError, OverflowError):
            what = f"{shown(text)}: expected a {column.type_name} as {shown(column.name)} has it, "
            raise self._wrong(at, f"{what}such as {_EXAMPLES[column.type_name]!r}.") from None

    def _listed(self, node: Comparison, left: Term, right: Term) -> Meaning:
        """Return how texts or truths compare: by their places in a list."""
        if isinstance(left, Literal):
            mirrored = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}.get(node.sign, node.sign)
            node, left, right = dataclasses.replace(node, sign=mirrored), right, left
        if not isinstance(left, Named):
            raise TypeError(type(left).__name__)
        if node.sign not in ("==", "!="):
            return self._ranked(node, left, right)
        if isinstance(right, Literal):
            return Listed((left.name,), ((float(right.value),),), node.sign == "!=")
        if not isinstance(right, Named):
            raise TypeError(type(right).__name__)
        if left.name == right.name:
            raise self._wrong(node.at, "compares a column with itself.")
        one, other = (_places(_values(self._column(named))) for named in (left, right))
        same = tuple(
            (float(place), float(other[value])) for value, place in one.items() if value in other
        )
        return Listed((left.name, right.name), same, node.sign == "!=")

    def _ranked(self, node: Comparison, left: Named, right: Term) -> Meaning:
        for named in (left, right):
            if isinstance(named, Named) and not getattr(self._column(named), "ordered", False):
                what = f"{shown(named.name)} has no order: declare ordered: true, or compare by =="
                raise self._wrong(node.at, f"{what}.")
        if isinstance(right, Named):
            one, other = (_values(self._column(named)) for named in (left, right))
            if one != other:
                raise self._wrong(node.at, "the columns have other values: expected the same list.")
        return Compared(node.sign, left, right, 0, 0)

    def _kind_of(self, named: Named) -> _Kind:
        column = self._column(named)
        if isinstance(column, Integer) and max(-column.min, column.max) > EXACT_INTEGERS:
            what = f"{shown(named.name)} reaches beyond 2**53, where rules are not exact"
            raise self._wrong(named.at, f"{what}: leave it out of rules.")
        return _kind(column)

    def _term(self, term: Term) -> tuple[Term, _Kind]:
        match term:
            case Named():
                return term, self._kind_of(term)
            case Literal(bool()):
                return Literal(int(term.value), at=term.at), _Kind(_TRUTH)
            case Literal(str()):
                return term, _Kind(_QUOTE)
            case Literal(value):
                return term, _Kind(_NUMBER, _decimals(float(value)))
            case Negative(inside):
                return self._negative(term, *self._term(inside))
            case Arithmetic():
                return self._arithmetic(term)

    def _negative(self, node: Negative, inside: Term, kind: _Kind) -> tuple[Term, _Kind]:
        if kind.family != _NUMBER:
            raise self._wrong(node.at, f"- before {kind.family}: expected a number.")
        return Negative(inside, at=node.at), kind

    def _arithmetic(self, node: Arithmetic) -> tuple[Term, _Kind]:
        (left, one), (right, other) = self._term(node.left), self._term(node.right)
        families, column = (one.family, other.family), one.column or other.column
        if families == (_NUMBER, _NUMBER):
            kind = _Kind(_NUMBER, _grid(node.sign, one.decimals, other.decimals), column)
            return Arithmetic(node.sign, left, right, at=node.at), kind
        if node.sign == "-" and one.family == other.family and one.family in _MOMENTS:
            apart = Arithmetic("-", left, right, at=node.at)
            whole = 0 if one.decimals == other.decimals == 0 else None
            return Arithmetic("/", apart, Literal(DAY)), _Kind(_NUMBER, whole, column)
        if node.sign in ("+", "-") and one.family in _MOMENTS and other.family == _NUMBER:
            days = Arithmetic("*", right, Literal(DAY))
            return Arithmetic(node.sign, left, days, at=node.at), one
        what = f"{one.family} {node.sign} {other.family}: expected numbers, or a date and days."
        raise self._wrong(node.at, what)


_EXAMPLES = {"date": "2024-03-31", "datetime": "2024-03-31T18:30", "time": "18:30"}


def _kind(column: Column) -> _Kind:
    if isinstance(column, (Integer, Float)):
        return _Kind(_NUMBER, column.decimals, column)
    if isinstance(column, Temporal):
        zoned = isinstance(column, Datetime) and column.timezone is not None
        family = _CLOCK if isinstance(column, Time) else _INSTANT if zoned else _MOMENT
        return _Kind(family, None if column.tick % DAY else 0, column)
    if isinstance(column, Categorical) and not isinstance(column.values[0], str):
        digits = [_decimals(float(value)) for value in column.values]
        known = [digit for digit in digits if digit is not None]
        return _Kind(_NUMBER, max(known) if len(known) == len(digits) else None, column)
    return _Kind(_TRUTH if isinstance(column, Boolean) else _TEXT, None, column)


def _values(column: Column) -> tuple[object, ...]:
    return tuple(getattr(column, "values", ()))


@functools.lru_cache(maxsize=16)
def _places(values: tuple[Any, ...]) -> dict[Any, int]:
    """Return the place of each listed value."""
    return {value: place for place, value in enumerate(values)}


def _decimals(value: float) -> int | None:
    """Return the digits after the point; None for very many."""
    exponent = Decimal(repr(value)).normalize().as_tuple().exponent
    digits = max(0, -exponent) if isinstance(exponent, int) else _FINEST + 1
    return digits if digits <= _FINEST else None


def _grid(sign: str, one: int | None, other: int | None) -> int | None:
    """Return the digits after the point of a result; None if they may be any."""
    if one is None or other is None or sign == "/":
        return None
    digits = one + other if sign == "*" else max(one, other)
    return digits if digits <= _FINEST else None
