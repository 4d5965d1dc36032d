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
    Arithmetic,
    ColumnReference,
    Condition,
    Conjunction,
    Disjunction,
    IfThenElse,
    InList,
    IsNull,
    Literal,
    Negation,
    Term,
    TermComparison,
    UnaryMinus,
    UniqueTogether,
    make_constraint_error,
)
from tabpe.schema.temporal import RESOLUTIONS, Datetime, Temporal, Time

NEGATED_SIGNS = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
# Options of a list that take as long to look up as an operation on columns.
_OPTIONS_AN_OPERATION = 64


@dataclass(frozen=True)
class AllOf:
    """Holds if all parts do."""

    parts: tuple[ResolvedCondition, ...]

    @cached_property
    def weight(self) -> int:
        """The number of operations on columns that evaluating it takes."""
        return 1 + sum(part.weight for part in self.parts)


@dataclass(frozen=True)
class AnyOf:
    """Holds if one of the parts does.

    Args:
        parts: The parts.
        in_order: Whether earlier parts are the ones to make true, if none is.
    """

    parts: tuple[ResolvedCondition, ...]
    in_order: bool = False

    @cached_property
    def weight(self) -> int:
        """The number of operations on columns that evaluating it takes."""
        return 1 + sum(part.weight for part in self.parts)


@dataclass(frozen=True)
class NumericComparison:
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
        return 1 + _count_operations(self.left) + _count_operations(self.right)


@dataclass(frozen=True)
class Membership:
    """Columns whose numbers together are one of some combinations, or none of them."""

    columns: tuple[str, ...]
    options: tuple[tuple[float, ...], ...]
    negated: bool = False

    @cached_property
    def weight(self) -> int:
        """The number of operations on columns that evaluating it takes."""
        return len(self.columns) * (1 + len(self.options) // _OPTIONS_AN_OPERATION)


@dataclass(frozen=True)
class NullTest:
    """A column that is empty, or is not."""

    column: str
    negated: bool = False

    @property
    def weight(self) -> int:
        """The number of operations on columns that evaluating it takes."""
        return 1


@dataclass(frozen=True)
class UniqueKey:
    """Columns whose values together are different in each row of a table."""

    columns: tuple[str, ...]


ResolvedCondition = AllOf | AnyOf | NumericComparison | Membership | NullTest


def negate_condition(condition: ResolvedCondition) -> ResolvedCondition:
    """Return what holds where something does not; what is unknown stays so.

    Example:
        >>> negate_condition(AllOf((NullTest("a"), NullTest("b", negated=True))))
        AnyOf(parts=(NullTest(column='a', negated=True), NullTest(column='b', ...)), in_order=False)
    """
    match condition:
        case AllOf(parts):
            return AnyOf(tuple(map(negate_condition, parts)))
        case AnyOf(parts):
            return AllOf(tuple(map(negate_condition, parts)))
        case NumericComparison(sign, left, right, decimals, equal):
            return NumericComparison(NEGATED_SIGNS[sign], left, right, decimals, equal)
        case Membership(columns, options, negated):
            return Membership(columns, options, not negated)
        case NullTest(column, negated):
            return NullTest(column, not negated)


def _count_operations(term: Term) -> int:
    match term:
        case Arithmetic(_, left, right):
            return 1 + _count_operations(left) + _count_operations(right)
        case UnaryMinus(inside):
            return 1 + _count_operations(inside)
    return 1


def iterate_resolved_columns(part: ResolvedCondition | UniqueKey | Term) -> Iterator[str]:
    """Yield the name of each column, as often as it occurs.

    Example:
        >>> list(iterate_resolved_columns(NumericComparison("<", ColumnReference("a"), Arithmetic("+", ColumnReference("b"), ColumnReference("a")))))
        ['a', 'b', 'a']
    """
    match part:
        case AllOf(parts) | AnyOf(parts):
            for each in parts:
                yield from iterate_resolved_columns(each)
        case NumericComparison(_, left, right) | Arithmetic(_, left, right):
            yield from iterate_resolved_columns(left)
            yield from iterate_resolved_columns(right)
        case Membership(columns) | UniqueKey(columns):
            yield from columns
        case NullTest(column) | ColumnReference(column):
            yield column
        case UnaryMinus(term):
            yield from iterate_resolved_columns(term)


def compute_degree(term: Term, column: str) -> float:
    """Return the power of a column in a term; infinite if it is divided by.

    Example:
        >>> compute_degree(Arithmetic("*", ColumnReference("a"), ColumnReference("b")), "a")
        1
    """
    match term:
        case ColumnReference(name):
            return int(name == column)
        case UnaryMinus(inside):
            return compute_degree(inside, column)
        case Arithmetic("*", left, right):
            return compute_degree(left, column) + compute_degree(right, column)
        case Arithmetic("/", left, right):
            return (
                compute_degree(left, column) if not compute_degree(right, column) else float("inf")
            )
        case Arithmetic(_, left, right):
            return max(compute_degree(left, column), compute_degree(right, column))
    return 0


DAY = RESOLUTIONS["day"]
# Of all rules of a schema, with each `if` written out as what it means: a condition that has an
# `else` stands there twice, so conditions inside of conditions double with each step.
MOST_OPERATIONS = 20_000
_FINEST = 12
_NUMBER, _TEXT, _BOOLEAN, _QUOTE = "a number", "a listed text", "a truth", "a text"
_MOMENT, _INSTANT, _CLOCK = "a date", "a point in time of a zone", "a time of the day"
_MOMENTS = (_MOMENT, _INSTANT, _CLOCK)


@dataclass(frozen=True)
class _TermKind:
    """What a term is.

    Args:
        family: The same for all that may be compared with each other.
        decimals: Of a number: digits after the point; None for any. Of a moment: 0 for whole days.
        column: A column that it is about, if any: what a text beside it means.
    """

    family: str
    decimals: int | None = None
    column: Column | None = None


def resolve_constraint(
    rule: str, tree: Condition | UniqueTogether, columns: Mapping[str, Column]
) -> ResolvedCondition | UniqueKey:
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
        >>> resolve_constraint("ill", parsed("ill"), columns)
        Listed(columns=('ill',), options=((1.0,),), negated=False)
        >>> resolve_constraint("agee > 1", parsed("agee > 1"), columns)
        Traceback (most recent call last):
        tabpe.errors.SchemaError: rule 'agee > 1', character 1: no column 'agee': did you mean ...
    """
    return _ConstraintResolver(rule, columns).resolve_tree(tree)


class _ConstraintResolver:
    """Knows the text of a rule, and the columns."""

    def __init__(self, rule: str, columns: Mapping[str, Column]) -> None:
        self.rule, self.columns = rule, columns

    def resolve_tree(self, tree: Condition | UniqueTogether) -> ResolvedCondition | UniqueKey:
        if not isinstance(tree, UniqueTogether):
            return self._resolve_condition(tree)
        for named in tree.columns:
            self._find_column(named)
        names = tuple(named.name for named in tree.columns)
        if len(set(names)) < len(names):
            raise self._make_error(tree.at, "a column stands there twice.")
        return UniqueKey(names)

    def _make_error(self, at: int, what: str) -> SchemaError:
        return make_constraint_error(self.rule, at, what)

    def _find_column(self, named: ColumnReference) -> Column:
        column = self.columns.get(named.name)
        if column is None:
            hint = did_you_mean(named.name, self.columns)
            raise self._make_error(named.at, f"no column {shown(named.name)}: {hint}")
        return column

    def _find_usable_column(self, named: ColumnReference) -> Column:
        column = self._find_column(named)
        if isinstance(column, Id):
            what = f"{shown(named.name)} is an id, which is made up: it may stand in unique() only."
            raise self._make_error(named.at, what)
        return column

    def _resolve_condition(self, node: Condition) -> ResolvedCondition:
        """Return what a condition means; refused before what contains it can double it."""
        found = self._expand_condition(node)
        if found.weight > MOST_OPERATIONS:
            what = f"more than {MOST_OPERATIONS:,} operations once each if is written out: nest"
            raise self._make_error(
                node.at, f"{what} fewer conditions in conditions, or make two rules."
            )
        return found

    def _expand_condition(self, node: Condition) -> ResolvedCondition:  # noqa: PLR0911 (one for each kind)
        match node:
            case Conjunction(parts):
                return AllOf(tuple(map(self._resolve_condition, parts)))
            case Disjunction(parts):
                return AnyOf(tuple(map(self._resolve_condition, parts)))
            case Negation(part):
                return negate_condition(self._resolve_condition(part))
            case IfThenElse(condition, then, otherwise):
                return self._resolve_if(self._resolve_condition(condition), then, otherwise)
            case IsNull(column, negated):
                return NullTest(self._find_usable_column(column).name, negated)
            case InList():
                return self._resolve_membership(node)
            case TermComparison():
                return self._resolve_comparison(node)
            case ColumnReference():
                return self._resolve_boolean(node)

    def _resolve_if(
        self, condition: ResolvedCondition, then: Condition, otherwise: Condition | None
    ) -> ResolvedCondition:
        first = AnyOf((self._resolve_condition(then), negate_condition(condition)), in_order=True)
        if otherwise is None:
            return first
        return AllOf((first, AnyOf((self._resolve_condition(otherwise), condition), in_order=True)))

    def _resolve_boolean(self, named: ColumnReference) -> ResolvedCondition:
        if not isinstance(self._find_usable_column(named), Boolean):
            what = f"{shown(named.name)} is no column of truths: compare it with something."
            raise self._make_error(named.at, what)
        return Membership((named.name,), ((1.0,),))

    def _resolve_membership(self, node: InList) -> ResolvedCondition:
        kinds = [self._resolve_term(column)[1] for column in node.columns]
        options = tuple(
            tuple(
                self._resolve_number(value, kind) for value, kind in zip(option, kinds, strict=True)
            )
            for option in node.options
        )
        names = tuple(column.name for column in node.columns)
        if len(set(names)) < len(names):
            raise self._make_error(node.at, "before in: a column stands there twice.")
        return Membership(names, options, node.negated)

    def _resolve_number(self, term: Term, kind: _TermKind) -> float:
        """Return the number that a value of a column stands for."""
        value, found = self._resolve_term(term)
        value = self._resolve_text(value, found, kind, term.at)
        negative = isinstance(value, UnaryMinus)
        plain = value.term if isinstance(value, UnaryMinus) else value
        if not isinstance(plain, Literal):
            raise TypeError(type(plain).__name__)
        return -float(plain.value) if negative else float(plain.value)

    def _resolve_comparison(self, node: TermComparison) -> ResolvedCondition:
        (left, one), (right, other) = self._resolve_term(node.left), self._resolve_term(node.right)
        if one.column is None and other.column is None:
            raise self._make_error(node.at, "compares two values: expected a column on one side.")
        left = self._resolve_text(left, one, other, node.left.at)
        right = self._resolve_text(right, other, one, node.right.at)
        family = other.family if one.family == _QUOTE else one.family
        if family in (_TEXT, _BOOLEAN):
            return self._compare_listed(node, left, right)
        known = [d for d in (one.decimals, other.decimals) if d is not None]
        if family in _MOMENTS:
            return NumericComparison(node.sign, left, right, 0, 0)
        grid = max(known) if len(known) == len((one, other)) else None
        return NumericComparison(node.sign, left, right, grid, max(known, default=None))

    def _resolve_text(self, term: Term, kind: _TermKind, beside: _TermKind, at: int) -> Term:
        """Return a term in the numbers of the column beside it, if it is a text."""
        if kind.family != _QUOTE:
            if beside.family not in (kind.family, _QUOTE):
                what = f"{kind.family} beside {beside.family}: expected two of a kind."
                raise self._make_error(at, what)
            return term
        text = term.value if isinstance(term, Literal) else ""
        column = beside.column
        if isinstance(column, Temporal):
            return Literal(self._parse_moment(str(text), column, at), at=at)
        if beside.family != _TEXT or not isinstance(column, Categorical):
            what = f"{shown(text)} is a text beside {beside.family}: expected two of a kind."
            raise self._make_error(at, what)
        places = _index_values(column.values)
        if text not in places:
            hint = did_you_mean(str(text), map(str, column.values))
            raise self._make_error(at, f"{shown(text)} is no value of {shown(column.name)}: {hint}")
        return Literal(places[text], at=at)

    def _parse_moment(self, text: str, column: Temporal, at: int) -> int:
        try:
            bounds: dict[str, Any] = {"min": text, "max": text}
            return dataclasses.replace(column, **bounds).first
        except (SchemaError, OverflowError):
            what = f"{shown(text)}: expected a {column.type_name} as {shown(column.name)} has it, "
            raise self._make_error(at, f"{what}such as {_EXAMPLES[column.type_name]!r}.") from None

    def _compare_listed(self, node: TermComparison, left: Term, right: Term) -> ResolvedCondition:
        """Return how texts or truths compare: by their places in a list."""
        if isinstance(left, Literal):
            mirrored = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}.get(node.sign, node.sign)
            node, left, right = dataclasses.replace(node, sign=mirrored), right, left
        if not isinstance(left, ColumnReference):
            raise TypeError(type(left).__name__)
        if node.sign not in ("==", "!="):
            return self._compare_ranked(node, left, right)
        if isinstance(right, Literal):
            return Membership((left.name,), ((float(right.value),),), node.sign == "!=")
        if not isinstance(right, ColumnReference):
            raise TypeError(type(right).__name__)
        if left.name == right.name:
            raise self._make_error(node.at, "compares a column with itself.")
        one, other = (
            _index_values(_get_values(self._find_usable_column(named))) for named in (left, right)
        )
        same = tuple(
            (float(place), float(other[value])) for value, place in one.items() if value in other
        )
        return Membership((left.name, right.name), same, node.sign == "!=")

    def _compare_ranked(
        self, node: TermComparison, left: ColumnReference, right: Term
    ) -> ResolvedCondition:
        for named in (left, right):
            if isinstance(named, ColumnReference) and not getattr(
                self._find_usable_column(named), "ordered", False
            ):
                what = f"{shown(named.name)} has no order: declare ordered: true, or compare by =="
                raise self._make_error(node.at, f"{what}.")
        if isinstance(right, ColumnReference):
            one, other = (_get_values(self._find_usable_column(named)) for named in (left, right))
            if one != other:
                raise self._make_error(
                    node.at, "the columns have other values: expected the same list."
                )
        return NumericComparison(node.sign, left, right, 0, 0)

    def _get_kind(self, named: ColumnReference) -> _TermKind:
        column = self._find_usable_column(named)
        if isinstance(column, Integer) and max(-column.min, column.max) > EXACT_INTEGERS:
            what = f"{shown(named.name)} reaches beyond 2**53, where rules are not exact"
            raise self._make_error(named.at, f"{what}: leave it out of rules.")
        return _classify_column(column)

    def _resolve_term(self, term: Term) -> tuple[Term, _TermKind]:
        match term:
            case ColumnReference():
                return term, self._get_kind(term)
            case Literal(bool()):
                return Literal(int(term.value), at=term.at), _TermKind(_BOOLEAN)
            case Literal(str()):
                return term, _TermKind(_QUOTE)
            case Literal(value):
                return term, _TermKind(_NUMBER, _count_decimals(float(value)))
            case UnaryMinus(inside):
                return self._resolve_negative(term, *self._resolve_term(inside))
            case Arithmetic():
                return self._resolve_arithmetic(term)

    def _resolve_negative(
        self, node: UnaryMinus, inside: Term, kind: _TermKind
    ) -> tuple[Term, _TermKind]:
        if kind.family != _NUMBER:
            raise self._make_error(node.at, f"- before {kind.family}: expected a number.")
        return UnaryMinus(inside, at=node.at), kind

    def _resolve_arithmetic(self, node: Arithmetic) -> tuple[Term, _TermKind]:
        (left, one), (right, other) = self._resolve_term(node.left), self._resolve_term(node.right)
        families, column = (one.family, other.family), one.column or other.column
        if families == (_NUMBER, _NUMBER):
            kind = _TermKind(
                _NUMBER, _combine_decimals(node.sign, one.decimals, other.decimals), column
            )
            return Arithmetic(node.sign, left, right, at=node.at), kind
        if node.sign == "-" and one.family == other.family and one.family in _MOMENTS:
            apart = Arithmetic("-", left, right, at=node.at)
            whole = 0 if one.decimals == other.decimals == 0 else None
            return Arithmetic("/", apart, Literal(DAY)), _TermKind(_NUMBER, whole, column)
        if node.sign in ("+", "-") and one.family in _MOMENTS and other.family == _NUMBER:
            days = Arithmetic("*", right, Literal(DAY))
            return Arithmetic(node.sign, left, days, at=node.at), one
        what = f"{one.family} {node.sign} {other.family}: expected numbers, or a date and days."
        raise self._make_error(node.at, what)


_EXAMPLES = {"date": "2024-03-31", "datetime": "2024-03-31T18:30", "time": "18:30"}


def _classify_column(column: Column) -> _TermKind:
    if isinstance(column, (Integer, Float)):
        return _TermKind(_NUMBER, column.decimals, column)
    if isinstance(column, Temporal):
        zoned = isinstance(column, Datetime) and column.timezone is not None
        family = _CLOCK if isinstance(column, Time) else _INSTANT if zoned else _MOMENT
        return _TermKind(family, None if column.tick % DAY else 0, column)
    if isinstance(column, Categorical) and not isinstance(column.values[0], str):
        digits = [_count_decimals(float(value)) for value in column.values]
        known = [digit for digit in digits if digit is not None]
        return _TermKind(_NUMBER, max(known) if len(known) == len(digits) else None, column)
    return _TermKind(_BOOLEAN if isinstance(column, Boolean) else _TEXT, None, column)


def _get_values(column: Column) -> tuple[object, ...]:
    return tuple(getattr(column, "values", ()))


@functools.lru_cache(maxsize=16)
def _index_values(values: tuple[Any, ...]) -> dict[Any, int]:
    """Return the place of each listed value."""
    return {value: place for place, value in enumerate(values)}


def _count_decimals(value: float) -> int | None:
    """Return the digits after the point; None for very many."""
    exponent = Decimal(repr(value)).normalize().as_tuple().exponent
    digits = max(0, -exponent) if isinstance(exponent, int) else _FINEST + 1
    return digits if digits <= _FINEST else None


def _combine_decimals(sign: str, one: int | None, other: int | None) -> int | None:
    """Return the digits after the point of a result; None if they may be any."""
    if one is None or other is None or sign == "/":
        return None
    digits = one + other if sign == "*" else max(one, other)
    return digits if digits <= _FINEST else None
