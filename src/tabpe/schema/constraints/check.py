"""Resolve constraints for the columns of a schema: conditions without `not` and `if`.

Every column is a number here. A date is its microseconds since 1970, a time those since midnight; a
boolean is 0 or 1, a listed text its index in the list, a listed number that number. Days that are
added to a date become microseconds too. So only arithmetic is left.

As in check constraints of a database, a comparison with null is neither true nor false, and a rule
that is neither holds.
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
# Options of a list whose lookup costs as much as one operation on columns.
_OPTIONS_AN_OPERATION = 64


@dataclass(frozen=True)
class AllOf:
    """Holds if all parts do."""

    parts: tuple[ResolvedCondition, ...]

    @cached_property
    def weight(self) -> int:
        """The number of operations on columns to evaluate it."""
        return 1 + sum(part.weight for part in self.parts)


@dataclass(frozen=True)
class AnyOf:
    """Holds if one of the parts does.

    Args:
        parts: The parts.
        in_order: Whether repair should satisfy an earlier part first, if none holds.
    """

    parts: tuple[ResolvedCondition, ...]
    in_order: bool = False

    @cached_property
    def weight(self) -> int:
        """The number of operations on columns to evaluate it."""
        return 1 + sum(part.weight for part in self.parts)


@dataclass(frozen=True)
class NumericComparison:
    """A comparison of two numbers.

    Args:
        sign: One of `== != < <= > >=`.
        left: The left side.
        right: The right side.
        decimals: Decimals to which both are rounded first; None for no rounding.
        equal_decimals: The same for `==` and `!=`, where one rounded side implies rounding.
    """

    sign: str
    left: Term
    right: Term
    decimals: int | None = None
    equal_decimals: int | None = None

    @cached_property
    def weight(self) -> int:
        """The number of operations on columns to evaluate it."""
        return 1 + _count_operations(self.left) + _count_operations(self.right)


@dataclass(frozen=True)
class Membership:
    """Columns whose combined values are in a list of combinations, or not in it."""

    columns: tuple[str, ...]
    options: tuple[tuple[float, ...], ...]
    negated: bool = False

    @cached_property
    def weight(self) -> int:
        """The number of operations on columns to evaluate it."""
        return len(self.columns) * (1 + len(self.options) // _OPTIONS_AN_OPERATION)


@dataclass(frozen=True)
class NullTest:
    """A column that is null, or is not."""

    column: str
    negated: bool = False

    @property
    def weight(self) -> int:
        """The number of operations on columns to evaluate it."""
        return 1


@dataclass(frozen=True)
class UniqueKey:
    """Columns whose combined values are unique in a table."""

    columns: tuple[str, ...]


ResolvedCondition = AllOf | AnyOf | NumericComparison | Membership | NullTest


def negate_condition(condition: ResolvedCondition) -> ResolvedCondition:
    """Return the negation of a condition; unknown stays unknown.

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
        >>> a, b = ColumnReference("a"), ColumnReference("b")
        >>> list(iterate_resolved_columns(NumericComparison("<", a, Arithmetic("+", b, a))))
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
    """Return the degree of a column in a term; infinite if the term divides by it.

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
# Of all rules of a schema, with each `if` expanded: a condition with an `else` occurs twice, so
# nested conditions double with each level.
MOST_OPERATIONS = 20_000
_FINEST = 12
_NUMBER, _TEXT, _BOOLEAN, _QUOTE = "a number", "a listed text", "a boolean", "a text"
_DATE, _INSTANT, _CLOCK = "a date", "a point in time with a zone", "a time of day"
_TEMPORAL_FAMILIES = (_DATE, _INSTANT, _CLOCK)


@dataclass(frozen=True)
class _TermKind:
    """The type of a term.

    Args:
        family: Equal for terms that may be compared with each other.
        decimals: Of a number: its decimals, None for any. Of a date or time: 0 for whole days.
        column: A column in the term, if any, which gives a text beside it its meaning.
    """

    family: str
    decimals: int | None = None
    column: Column | None = None


def resolve_constraint(
    rule: str, tree: Condition | UniqueTogether, columns: Mapping[str, Column]
) -> ResolvedCondition | UniqueKey:
    """Resolve a rule for the columns of a schema.

    Args:
        rule: Its text, for messages.
        tree: Its syntax tree.
        columns: The columns by name.

    Raises:
        SchemaError: If it names an unknown column, or compares terms of different kinds.

    Example:
        >>> from tabpe.schema.constraints.parser import parse_constraint
        >>> columns = {"age": Integer("age", 0, 99), "ill": Boolean("ill")}
        >>> resolve_constraint("ill", parse_constraint("ill"), columns)
        Membership(columns=('ill',), options=((1.0,),), negated=False)
        >>> resolve_constraint("agee > 1", parse_constraint("agee > 1"), columns)
        Traceback (most recent call last):
        tabpe.errors.SchemaError: rule 'agee > 1', character 1: no column 'agee': did you mean ...
    """
    return _ConstraintResolver(rule, columns).resolve_tree(tree)


class _ConstraintResolver:
    """Resolves the tree of one rule."""

    def __init__(self, rule: str, columns: Mapping[str, Column]) -> None:
        self.rule, self.columns = rule, columns

    def resolve_tree(self, tree: Condition | UniqueTogether) -> ResolvedCondition | UniqueKey:
        if not isinstance(tree, UniqueTogether):
            return self._resolve_condition(tree)
        for named in tree.columns:
            self._find_column(named)
        names = tuple(named.name for named in tree.columns)
        if len(set(names)) < len(names):
            raise self._make_error(tree.at, "a column occurs twice.")
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
            what = f"{shown(named.name)} is an id, which is generated: use it in unique() only."
            raise self._make_error(named.at, what)
        return column

    def _resolve_condition(self, node: Condition) -> ResolvedCondition:
        """Resolve a condition; refuse a large one before an enclosing `if` doubles it."""
        found = self._expand_condition(node)
        if found.weight > MOST_OPERATIONS:
            what = f"more than {MOST_OPERATIONS:,} operations once each if is expanded"
            raise self._make_error(node.at, f"{what}: nest fewer conditions, or make two rules.")
        return found

    def _expand_condition(self, node: Condition) -> ResolvedCondition:  # noqa: PLR0911 (one per type)
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
            what = f"{shown(named.name)} is not a boolean column: compare it with something."
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
            raise self._make_error(node.at, "before in: a column occurs twice.")
        return Membership(names, options, node.negated)

    def _resolve_number(self, term: Term, kind: _TermKind) -> float:
        """Return the number of a value of a column."""
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
        if family in _TEMPORAL_FAMILIES:
            return NumericComparison(node.sign, left, right, 0, 0)
        grid = max(known) if len(known) == len((one, other)) else None
        return NumericComparison(node.sign, left, right, grid, max(known, default=None))

    def _resolve_text(self, term: Term, kind: _TermKind, beside: _TermKind, at: int) -> Term:
        """Return a text as a number of the column on the other side; other terms unchanged."""
        if kind.family != _QUOTE:
            if beside.family not in (kind.family, _QUOTE):
                what = f"{kind.family} beside {beside.family}: expected the same kind."
                raise self._make_error(at, what)
            return term
        text = term.value if isinstance(term, Literal) else ""
        column = beside.column
        if isinstance(column, Temporal):
            return Literal(self._parse_temporal(str(text), column, at), at=at)
        if beside.family != _TEXT or not isinstance(column, Categorical):
            what = f"{shown(text)} is a text beside {beside.family}: expected the same kind."
            raise self._make_error(at, what)
        indices = _index_values(column.values)
        if text not in indices:
            hint = did_you_mean(str(text), map(str, column.values))
            what = f"{shown(text)} is not a value of {shown(column.name)}: {hint}"
            raise self._make_error(at, what)
        return Literal(indices[text], at=at)

    def _parse_temporal(self, text: str, column: Temporal, at: int) -> int:
        try:
            bounds: dict[str, Any] = {"min": text, "max": text}
            return dataclasses.replace(column, **bounds).first
        except (SchemaError, OverflowError):
            what = f"{shown(text)}: expected a {column.type_name} like those of "
            example = _EXAMPLES[column.type_name]
            raise self._make_error(at, f"{what}{shown(column.name)}: {example!r}.") from None

    def _compare_listed(self, node: TermComparison, left: Term, right: Term) -> ResolvedCondition:
        """Compare texts or booleans by their indices in a list."""
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
            (float(index), float(other[value])) for value, index in one.items() if value in other
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
                    node.at, "the columns have different values: expected the same list."
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
        if node.sign == "-" and one.family == other.family and one.family in _TEMPORAL_FAMILIES:
            apart = Arithmetic("-", left, right, at=node.at)
            whole = 0 if one.decimals == other.decimals == 0 else None
            return Arithmetic("/", apart, Literal(DAY)), _TermKind(_NUMBER, whole, column)
        if node.sign in ("+", "-") and one.family in _TEMPORAL_FAMILIES and other.family == _NUMBER:
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
        family = _CLOCK if isinstance(column, Time) else _INSTANT if zoned else _DATE
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
    return {value: index for index, value in enumerate(values)}


def _count_decimals(value: float) -> int | None:
    """Return the number of decimals; None for very many."""
    exponent = Decimal(repr(value)).normalize().as_tuple().exponent
    digits = max(0, -exponent) if isinstance(exponent, int) else _FINEST + 1
    return digits if digits <= _FINEST else None


def _combine_decimals(sign: str, one: int | None, other: int | None) -> int | None:
    """Return the decimals of a result; None for any number of them."""
    if one is None or other is None or sign == "/":
        return None
    digits = one + other if sign == "*" else max(one, other)
    return digits if digits <= _FINEST else None


@dataclass(frozen=True)
class Constraint:
    """A rule, resolved for the columns of a schema.

    Args:
        text: Its text.
        resolved: Its meaning in numbers.
    """

    text: str
    resolved: ResolvedCondition | UniqueKey

    @property
    def columns(self) -> frozenset[str]:
        """The names of its columns."""
        return frozenset(iterate_resolved_columns(self.resolved))
