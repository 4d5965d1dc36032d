"""Parse the text of a constraint into its tree.

The words of a rule: what its text is cut into before it is parsed.

A rule as a tree: what it says, before it is known what its columns are.

From the text of a rule to its tree: recursive descent, with nothing evaluated.

From loose to tight: `if then else`, `or`, `and`, `not`, comparisons, `+ -`, `* /`, a sign. How deep
parts may lie in each other is limited, so no text makes the parser, or what walks its trees, run
out of stack.
"""

from __future__ import annotations

import enum
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from tabpe.errors import SchemaError, shown

LONGEST = 20_000
KEYWORDS = frozenset(
    ("and", "or", "not", "in", "is", "null", "true", "false", "if", "then", "else", "unique")
)
_EXACT = 2**53
_WORD = re.compile(
    r"""(?P<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)
    |(?P<text>'(?:[^']|'')*'|"(?:[^"]|"")*")
    |(?P<quoted>`(?:[^`]|``)+`)
    |(?P<name>[^\W\d]\w*)
    |(?P<sign>==|!=|<=|>=|[-+*/()<>,])""",
    re.VERBOSE,
)
_SPACE = re.compile(r"\s*")
# What people write who come from other languages, and what to write instead.
_ELSEWHERE = {
    "=": "==", "<>": "!=", "&": "and", "|": "or", "!": "not", "^": "no powers: multiply",
    "'": "a closing '", '"': 'a closing "', "`": "a closing `",
}  # fmt: skip


class Sort(enum.Enum):
    """What a word is."""

    NUMBER = "number"
    TEXT = "text"
    COLUMN = "column"
    KEYWORD = "keyword"
    SIGN = "sign"
    END = "end"


@dataclass(frozen=True)
class Word:
    """A word of a rule.

    Args:
        sort: What it is.
        value: A number, a text without its quotes, the name of a column, a keyword or a sign.
        at: Where it begins in the rule, counted from 0.
    """

    sort: Sort
    value: str | int | float
    at: int

    def __str__(self) -> str:
        return "its end" if self.sort is Sort.END else shown(self.value)


def wrong(rule: str, at: int, what: str) -> SchemaError:
    """Return what to raise for a rule that can not be read or does not fit; `at` counts from 0."""
    return SchemaError(f"rule {shown(rule)}, character {at + 1}: {what}")


def words_of(rule: str) -> list[Word]:
    """Return the words of a rule, and its end.

    Raises:
        SchemaError: If a part of it is no word.

    Example:
        >>> [word.value for word in words_of("`body mass` >= 1.5")][:-1]
        ['body mass', '>=', 1.5]
        >>> words_of("age = 3")
        Traceback (most recent call last):
        tabpe.errors.SchemaError: rule 'age = 3', character 5: '=': expected ==.
    """
    if not isinstance(rule, str) or not rule.strip():
        raise SchemaError(
            f"rules: {shown(rule)}: expected a text such as 'discharge >= admission'."
        )
    if len(rule) > LONGEST:
        raise SchemaError(
            f"rule {shown(rule)}: {len(rule):,} characters: expected at most {LONGEST:,}; make two "
            f"rules of it."
        )
    words, at = [], _after_space(rule, 0)
    while at < len(rule):
        match = _WORD.match(rule, at)
        if match is None or _is_foreign(rule, at, match):
            raise _no_word(rule, at)
        words.append(_word(rule, match))
        at = _after_space(rule, match.end())
    return [*words, Word(Sort.END, "", len(rule))]


def _after_space(rule: str, at: int) -> int:
    space = _SPACE.match(rule, at)
    return at if space is None else space.end()


def _is_foreign(rule: str, at: int, match: re.Match[str]) -> bool:
    return match.lastgroup == "sign" and rule[at : at + 2] == "<>"


def _no_word(rule: str, at: int) -> SchemaError:
    found = rule[at : at + 2] if rule[at : at + 2] in _ELSEWHERE else rule[at]
    expected = _ELSEWHERE.get(found, "a column, a value or a sign; columns with signs go in ``")
    return wrong(rule, at, f"{shown(found)}: expected {expected}.")


def _word(rule: str, match: re.Match[str]) -> Word:
    sort, text, at = match.lastgroup, match[0], match.start()
    if sort == "number":
        return Word(Sort.NUMBER, _number(rule, text, at), at)
    if sort in ("text", "quoted"):
        inside = text[1:-1].replace(text[0] * 2, text[0])
        return Word(Sort.TEXT if sort == "text" else Sort.COLUMN, inside, at)
    if sort == "name":
        return Word(Sort.KEYWORD if text in KEYWORDS else Sort.COLUMN, text, at)
    return Word(Sort.SIGN, text, at)


def _number(rule: str, text: str, at: int) -> int | float:
    value = float(text)
    if not math.isfinite(value):
        raise wrong(rule, at, f"{shown(text)}: expected a number that a float holds.")
    return int(value) if value.is_integer() and value <= _EXACT else value


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
