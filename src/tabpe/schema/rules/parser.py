"""From the text of a rule to its tree: recursive descent, with nothing evaluated.

From loose to tight: `if then else`, `or`, `and`, `not`, comparisons, `+ -`, `* /`, a sign. How deep
parts may lie in each other is limited, so no text makes the parser, or what walks its trees, run
out of stack.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from tabpe.errors import SchemaError
from tabpe.schema.rules.tree import (
    CONDITIONS,
    TERMS,
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
    Node,
    Not,
    Term,
    Unique,
)
from tabpe.schema.rules.words import Sort, Word, words_of, wrong

DEEPEST = 20
MOST_SIGNS = 100
_COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")
N = TypeVar("N", bound=Node)


@dataclass(frozen=True)
class _Tuple(Node):
    """Several parts in one pair of parentheses."""

    parts: tuple[Node, ...]


def parsed(rule: str) -> Condition | Unique:
    """Return a rule as a tree.

    Raises:
        SchemaError: If it is no rule; names the place and what was expected there.

    Example:
        >>> parsed("discharge >= admission")
        Comparison(at=10, sign='>=', left=Named(at=0, name='discharge'), right=Named(at=13, ...
        >>> parsed("age >= ")
        Traceback (most recent call last):
        tabpe.errors.SchemaError: rule 'age >= ', character 8: its end: expected a column or a ...
    """
    return _Parser(rule).rule()


class _Parser:
    """Reads the words of one rule from left to right."""

    def __init__(self, rule: str) -> None:
        self.text = rule
        self.words = words_of(rule)
        self.place = 0
        self.depth = 0
        self.signs = 0

    def rule(self) -> Condition | Unique:
        found = self._unique() if self._is("unique") else self._condition(self._whole())
        if self.word.sort is not Sort.END:
            raise self._expected("and, or, or the end of the rule")
        return found

    @property
    def word(self) -> Word:
        return self.words[self.place]

    def _is(self, *values: str) -> bool:
        plain = self.word.sort in (Sort.KEYWORD, Sort.SIGN)
        return plain and self.word.value in values

    def _next(self) -> Word:
        word = self.word
        self.place += word.sort is not Sort.END
        return word

    def _skip(self, value: str, then: str = "") -> Word:
        if not self._is(value):
            raise self._expected(f"{value}{then}")
        return self._next()

    def _expected(self, what: str) -> SchemaError:
        return wrong(self.text, self.word.at, f"{self.word}: expected {what}.")

    def _deeper(self, part: Callable[[], N]) -> N:
        self.depth += 1
        if self.depth > DEEPEST:
            raise wrong(
                self.text, self.word.at, f"more than {DEEPEST} parts in each other: make two rules."
            )
        found = part()
        self.depth -= 1
        return found

    def _unique(self) -> Unique:
        at = self._next().at
        self._skip("(", " and the columns that are unique together")
        columns = [self._column()]
        while self._is(","):
            self._next()
            columns.append(self._column())
        self._skip(")", " or a comma")
        return Unique(tuple(columns), at=at)

    def _column(self) -> Named:
        if self.word.sort is not Sort.COLUMN:
            raise self._expected("a column")
        word = self._next()
        return Named(str(word.value), at=word.at)

    def _whole(self) -> Node:
        return self._deeper(self._if if self._is("if") else self._either)

    def _if(self) -> Node:
        at = self._next().at
        condition = self._condition(self._whole())
        self._skip("then")
        then = self._condition(self._whole())
        if not self._is("else"):
            return If(condition, then, at=at)
        self._next()
        return If(condition, then, self._condition(self._whole()), at=at)

    def _either(self) -> Node:
        return self._chain("or", self._every, Either)

    def _every(self) -> Node:
        return self._chain("and", self._negation, Every)

    def _chain(self, word: str, part: Callable[[], Node], kind: type[Either] | type[Every]) -> Node:
        first = part()
        if not self._is(word):
            return first
        parts = [self._condition(first)]
        while self._is(word):
            self._next()
            parts.append(self._condition(part()))
        return kind(tuple(parts), at=first.at)

    def _negation(self) -> Node:
        if not self._is("not"):
            return self._comparison()
        at = self._next().at
        return Not(self._condition(self._deeper(self._negation)), at=at)

    def _comparison(self) -> Node:
        left = self._sum()
        if self._is("in", "not"):
            return self._among(left)
        if self._is("is"):
            return self._missing(left)
        if not self._is(*_COMPARISONS):
            return left
        sign = self._next()
        right = self._sum()
        if self._is(*_COMPARISONS):
            raise self._expected("and: compare two things at a time, as in 'a < b and b < c'")
        return Comparison(str(sign.value), self._term(left), self._term(right), at=sign.at)

    def _among(self, left: Node) -> Among:
        negated = self._is("not")
        if negated:
            self._next()
        at = self._skip("in").at
        columns = left.parts if isinstance(left, _Tuple) else (left,)
        named = tuple(column for column in columns if isinstance(column, Named))
        if len(named) < len(columns):
            raise wrong(self.text, left.at, "before in: expected a column, or several in ().")
        self._skip("(", " and the values")
        options = [self._option(len(columns))]
        while self._is(","):
            self._next()
            options.append(self._option(len(columns)))
        self._skip(")", " or a comma")
        return Among(named, tuple(options), negated, at=at)

    def _option(self, width: int) -> tuple[Term, ...]:
        if width == 1:
            return (self._literal(),)
        at = self._skip("(", f" and {width} values").at
        values = [self._literal()]
        while self._is(","):
            self._next()
            values.append(self._literal())
        self._skip(")", " or a comma")
        if len(values) != width:
            raise wrong(self.text, at, f"{len(values)} values: expected {width}, as columns.")
        return tuple(values)

    def _literal(self) -> Term:
        at = self.word.at
        found = self._sign()
        plain = found.term if isinstance(found, Negative) else found
        if not isinstance(plain, Literal):
            raise wrong(self.text, at, "expected a number, a text in quotes, true or false.")
        return self._term(found)

    def _missing(self, left: Node) -> Missing:
        at = self._next().at
        negated = self._is("not")
        if negated:
            self._next()
        self._skip("null")
        if not isinstance(left, Named):
            raise wrong(self.text, left.at, "before is: expected a column.")
        return Missing(left, negated, at=at)

    def _sum(self) -> Node:
        return self._arithmetic(("+", "-"), self._product)

    def _product(self) -> Node:
        return self._arithmetic(("*", "/"), self._sign)

    def _arithmetic(self, signs: tuple[str, ...], part: Callable[[], Node]) -> Node:
        found = part()
        while self._is(*signs):
            sign = self._next()
            self.signs += 1
            if self.signs > MOST_SIGNS:
                raise wrong(self.text, sign.at, f"expected at most {MOST_SIGNS} of + - * /.")
            right = self._term(part())
            found = Arithmetic(str(sign.value), self._term(found), right, at=sign.at)
        return found

    def _sign(self) -> Node:
        if not self._is("-"):
            return self._primary()
        at = self._next().at
        return Negative(self._term(self._deeper(self._sign)), at=at)

    def _primary(self) -> Node:
        word = self.word
        if word.sort in (Sort.NUMBER, Sort.TEXT):
            return Literal(self._next().value, at=word.at)
        if self._is("true", "false"):
            return Literal(self._next().value == "true", at=word.at)
        if word.sort is Sort.COLUMN:
            return self._column()
        if self._is("null"):
            raise self._expected("a value; to ask for empty cells, write 'is null'")
        if self._is("unique"):
            raise self._expected("a column or a value; unique(...) is a rule of its own")
        if not self._is("("):
            raise self._expected("a column or a value")
        return self._parenthesis()

    def _parenthesis(self) -> Node:
        at = self._next().at
        parts = [self._whole()]
        while self._is(","):
            self._next()
            parts.append(self._whole())
        self._skip(")")
        return parts[0] if len(parts) == 1 else _Tuple(tuple(parts), at=at)

    def _term(self, node: Node) -> Term:
        if not isinstance(node, TERMS):
            raise wrong(self.text, node.at, "expected a column or a value, not a condition.")
        return node

    def _condition(self, node: Node) -> Condition:
        if not isinstance(node, CONDITIONS):
            raise wrong(self.text, node.at, "expected a condition, such as a comparison.")
        return node
