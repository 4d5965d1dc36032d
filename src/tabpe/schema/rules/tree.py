"""A rule as a tree: what it says, before it is known what its columns are."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from tabpe.schema.rules.words import KEYWORDS

_PLAIN_NAME = re.compile(r"[^\W\d]\w*")


@dataclass(frozen=True)
class Node:
    """A part of a rule.

    Args:
        at: Where it begins in the text, counted from 0; no part of what it says.
    """

    at: int = field(default=0, compare=False, kw_only=True)


@dataclass(frozen=True)
class Named(Node):
    """A column; as a condition, one of truths."""

    name: str


@dataclass(frozen=True)
class Literal(Node):
    """A number, a text or a truth."""

    value: str | int | float | bool


@dataclass(frozen=True)
class Negative(Node):
    """A number with the other sign."""

    term: Term


@dataclass(frozen=True)
class Arithmetic(Node):
    """Two numbers or moments and one of `+ - * /`."""

    sign: str
    left: Term
    right: Term


@dataclass(frozen=True)
class Comparison(Node):
    """Two terms and one of `== != < <= > >=`."""

    sign: str
    left: Term
    right: Term


@dataclass(frozen=True)
class Among(Node):
    """Columns whose values together are one of some combinations, or none of them."""

    columns: tuple[Named, ...]
    options: tuple[tuple[Term, ...], ...]
    negated: bool = False


@dataclass(frozen=True)
class Missing(Node):
    """A column that is empty, or is not."""

    column: Named
    negated: bool = False


@dataclass(frozen=True)
class Not(Node):
    """What does not hold."""

    part: Condition


@dataclass(frozen=True)
class Every(Node):
    """What holds if all parts do."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True)
class Either(Node):
    """What holds if one of the parts does."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True)
class If(Node):
    """What holds if `then` does or `condition` does not, and `otherwise` in that case."""

    condition: Condition
    then: Condition
    otherwise: Condition | None = None


@dataclass(frozen=True)
class Unique(Node):
    """Columns whose values together are different in each row."""

    columns: tuple[Named, ...]


Term = Named | Literal | Negative | Arithmetic
Condition = Named | Comparison | Among | Missing | Not | Every | Either | If
TERMS = (Named, Literal, Negative, Arithmetic)
CONDITIONS = (Named, Comparison, Among, Missing, Not, Every, Either, If)


def columns_of(node: Node) -> Iterator[str]:
    """Yield the name of each column of a tree, as often as it occurs.

    Example:
        >>> list(columns_of(Comparison(">=", Named("out"), Named("in"))))
        ['out', 'in']
    """
    if isinstance(node, Named):
        yield node.name
        return
    for value in vars(node).values():
        for part in value if isinstance(value, tuple) else (value,):
            if isinstance(part, Node):
                yield from columns_of(part)


def written(node: Node) -> str:  # noqa: PLR0911 (one line for each kind)
    """Return a tree as a text that is parsed as the same tree.

    Example:
        >>> written(Comparison(">=", Named("body mass"), Literal(1.5)))
        '`body mass` >= 1.5'
        >>> written(Not(Comparison("==", Named("ward"), Literal("eye"))))
        "not (ward == 'eye')"
    """
    match node:
        case Named(name):
            return _name(name)
        case Literal(value):
            return _value(value)
        case Negative(term):
            return f"-{_inside(term)}"
        case Arithmetic(sign, left, right) | Comparison(sign, left, right):
            return f"{_inside(left)} {sign} {_inside(right)}"
        case Not(part):
            return f"not {_inside(part)}"
        case Every(parts):
            return " and ".join(map(_inside, parts))
        case Either(parts):
            return " or ".join(map(_inside, parts))
    return _written_long(node)


def _written_long(node: Node) -> str:
    match node:
        case Among(columns, options, negated):
            sign = "not in" if negated else "in"
            return f"{_tuple(columns)} {sign} ({', '.join(map(_tuple, options))})"
        case Missing(column, negated):
            return f"{written(column)} is {'not null' if negated else 'null'}"
        case If(condition, then, otherwise):
            begin = f"if {_inside(condition)} then {_inside(then)}"
            return begin if otherwise is None else f"{begin} else {_inside(otherwise)}"
        case Unique(columns):
            return f"unique({', '.join(map(written, columns))})"
    raise TypeError(type(node).__name__)


def _inside(node: Node) -> str:
    text = written(node)
    return text if isinstance(node, (Named, Literal)) else f"({text})"


def _tuple(parts: tuple[Term, ...] | tuple[Named, ...]) -> str:
    inside = ", ".join(map(written, parts))
    return inside if len(parts) == 1 else f"({inside})"


def _name(name: str) -> str:
    if _PLAIN_NAME.fullmatch(name) and name not in KEYWORDS:
        return name
    return "`" + name.replace("`", "``") + "`"


def _value(value: str | float) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return repr(value)
