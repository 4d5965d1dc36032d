"""Constraints (the rules of a schema): conditions over columns that hold in every row.

- `parser`: from text to a syntax tree; nothing is evaluated
- `check`: resolves a tree for the columns of a schema, in numbers
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tabpe.errors import SchemaError, shown
from tabpe.schema.columns import Column
from tabpe.schema.constraints.check import (
    MOST_OPERATIONS,
    ResolvedCondition,
    UniqueKey,
    iterate_resolved_columns,
    resolve_constraint,
)
from tabpe.schema.constraints.parser import parse_constraint

MOST_RULES = 200


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


def parse_constraints(
    texts: tuple[str, ...], columns: Mapping[str, Column]
) -> tuple[Constraint, ...]:
    """Parse and resolve the rules of a schema.

    Raises:
        SchemaError: If a rule can not be parsed, does not fit the columns, or all rules together
            take too many operations to evaluate.

    Example:
        >>> from tabpe.schema.columns import Integer
        >>> columns = {name: Integer(name, 0, 9) for name in "ab"}
        >>> [sorted(rule.columns) for rule in parse_constraints(("a <= b", "unique(a)"), columns)]
        [['a', 'b'], ['a']]
    """
    rules, operations = [], 0
    for text in texts:
        rule = Constraint(text, resolve_constraint(text, parse_constraint(text), columns))
        operations += 0 if isinstance(rule.resolved, UniqueKey) else rule.resolved.weight
        if operations > MOST_OPERATIONS:
            raise SchemaError(
                f"rules: up to {shown(text)} they take more than {MOST_OPERATIONS:,} operations: "
                f"leave some out, or make them shorter."
            )
        rules.append(rule)
    return tuple(rules)


def check_constraint_texts(given: Any) -> tuple[str, ...]:
    """Return rules as a tuple; refuse anything but a list of texts, and too many of them."""
    if isinstance(given, str) or not isinstance(given, (list, tuple)):
        raise SchemaError(f"rules={shown(given)}: expected a list of texts.")
    if len(given) > MOST_RULES:
        raise SchemaError(f"rules: {len(given):,} of them: expected at most {MOST_RULES}.")
    for text in given:
        if not isinstance(text, str):
            raise SchemaError(f"rules: {shown(text)}: expected a text; quote it.")
    return tuple(given)


__all__ = ["MOST_RULES", "Constraint", "check_constraint_texts", "parse_constraints"]
