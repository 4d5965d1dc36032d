"""Parse the text of a constraint into a syntax tree.

A recursive descent parser; nothing is evaluated. From loose to tight: `if then else`, `or`, `and`,
`not`, comparisons, `+ -`, `* /`, a sign. Nesting is limited, so no text makes the parser, or code
that walks its trees, run out of stack.
"""

from __future__ import annotations

import enum
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from tabpe.errors import SchemaError, shown

LONGEST_TEXT = 20_000
KEYWORDS = frozenset(
    ("and", "or", "not", "in", "is", "null", "true", "false", "if", "then", "else", "unique")
)
_EXACT = 2**53
_TOKEN = re.compile(
    r"""(?P<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)
    |(?P<text>'(?:[^']|'')*'|"(?:[^"]|"")*")
    |(?P<quoted>`(?:[^`]|``)+`)
    |(?P<name>[^\W\d]\w*)
    |(?P<sign>==|!=|<=|>=|[-+*/()<>,])""",
    re.VERBOSE,
)
_SPACE = re.compile(r"\s*")
# Signs of other languages, and what to write instead.
_FOREIGN_SIGNS = {
    "=": "==", "<>": "!=", "&": "and", "|": "or", "!": "not", "^": "no powers: multiply",
    "'": "a closing '", '"': 'a closing "', "`": "a closing `",
}  # fmt: skip


class TokenKind(enum.Enum):
    """The kind of a token."""

    NUMBER = "number"
    TEXT = "text"
    COLUMN = "column"
    KEYWORD = "keyword"
    SIGN = "sign"
    END = "end"


@dataclass(frozen=True)
class Token:
    """A token of a rule.

    Args:
        kind: Its kind.
        value: A number, a text without its quotes, the name of a column, a keyword or a sign.
        at: Its offset in the rule.
    """

    kind: TokenKind
    value: str | int | float
    at: int

    def __str__(self) -> str:
        return "its end" if self.kind is TokenKind.END else shown(self.value)


def make_constraint_error(rule: str, at: int, what: str) -> SchemaError:
    """Return the error for a rule that can not be parsed or does not fit; `at` is an offset."""
    return SchemaError(f"rule {shown(rule)}, character {at + 1}: {what}")


def tokenize_constraint(rule: str) -> list[Token]:
    """Return the tokens of a rule, the last one its end.

    Raises:
        SchemaError: If a part of it is not a token.

    Example:
        >>> [token.value for token in tokenize_constraint("`body mass` >= 1.5")][:-1]
        ['body mass', '>=', 1.5]
        >>> tokenize_constraint("age = 3")
        Traceback (most recent call last):
        tabpe.errors.SchemaError: rule 'age = 3', character 5: '=': expected ==.
    """
    if not isinstance(rule, str) or not rule.strip():
        raise SchemaError(
            f"rules: {shown(rule)}: expected a text such as 'discharge >= admission'."
        )
    if len(rule) > LONGEST_TEXT:
        raise SchemaError(
            f"rule {shown(rule)}: {len(rule):,} characters: expected at most {LONGEST_TEXT:,}; "
            f"make two rules of it."
        )
    tokens, at = [], _skip_space(rule, 0)
    while at < len(rule):
        match = _TOKEN.match(rule, at)
        if match is None or _is_foreign(rule, at, match):
            raise _make_token_error(rule, at)
        tokens.append(_make_token(rule, match))
        at = _skip_space(rule, match.end())
    return [*tokens, Token(TokenKind.END, "", len(rule))]


def _skip_space(rule: str, at: int) -> int:
    space = _SPACE.match(rule, at)
    return at if space is None else space.end()


def _is_foreign(rule: str, at: int, match: re.Match[str]) -> bool:
    return match.lastgroup == "sign" and rule[at : at + 2] == "<>"


def _make_token_error(rule: str, at: int) -> SchemaError:
    found = rule[at : at + 2] if rule[at : at + 2] in _FOREIGN_SIGNS else rule[at]
    expected = _FOREIGN_SIGNS.get(found, "a column, a value or a sign; columns with signs go in ``")
    return make_constraint_error(rule, at, f"{shown(found)}: expected {expected}.")


def _make_token(rule: str, match: re.Match[str]) -> Token:
    sort, text, at = match.lastgroup, match[0], match.start()
    if sort == "number":
        return Token(TokenKind.NUMBER, _parse_number(rule, text, at), at)
    if sort in ("text", "quoted"):
        inside = text[1:-1].replace(text[0] * 2, text[0])
        return Token(TokenKind.TEXT if sort == "text" else TokenKind.COLUMN, inside, at)
    if sort == "name":
        return Token(TokenKind.KEYWORD if text in KEYWORDS else TokenKind.COLUMN, text, at)
    return Token(TokenKind.SIGN, text, at)


def _parse_number(rule: str, text: str, at: int) -> int | float:
    value = float(text)
    if not math.isfinite(value):
        raise make_constraint_error(
            rule, at, f"{shown(text)}: expected a number that a float holds."
        )
    return int(value) if value.is_integer() and value <= _EXACT else value


_PLAIN_NAME = re.compile(r"[^\W\d]\w*")


@dataclass(frozen=True)
class SyntaxNode:
    """A node of the syntax tree of a rule.

    Args:
        at: Its offset in the text, which does not count in comparisons.
    """

    at: int = field(default=0, compare=False, kw_only=True)


@dataclass(frozen=True)
class ColumnReference(SyntaxNode):
    """A column; as a condition, a boolean one."""

    name: str


@dataclass(frozen=True)
class Literal(SyntaxNode):
    """A number, a text or a boolean."""

    value: str | int | float | bool


@dataclass(frozen=True)
class UnaryMinus(SyntaxNode):
    """The negative of a number."""

    term: Term


@dataclass(frozen=True)
class Arithmetic(SyntaxNode):
    """Two numbers or dates and one of `+ - * /`."""

    sign: str
    left: Term
    right: Term


@dataclass(frozen=True)
class TermComparison(SyntaxNode):
    """Two terms and one of `== != < <= > >=`."""

    sign: str
    left: Term
    right: Term


@dataclass(frozen=True)
class InList(SyntaxNode):
    """Columns whose combined values are in a list of combinations, or not in it."""

    columns: tuple[ColumnReference, ...]
    options: tuple[tuple[Term, ...], ...]
    negated: bool = False


@dataclass(frozen=True)
class IsNull(SyntaxNode):
    """A column that is null, or is not."""

    column: ColumnReference
    negated: bool = False


@dataclass(frozen=True)
class Negation(SyntaxNode):
    """Holds if its part does not."""

    part: Condition


@dataclass(frozen=True)
class Conjunction(SyntaxNode):
    """Holds if all parts do."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True)
class Disjunction(SyntaxNode):
    """Holds if one of the parts does."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True)
class IfThenElse(SyntaxNode):
    """Holds if `condition` implies `then`, and its negation implies `otherwise`."""

    condition: Condition
    then: Condition
    otherwise: Condition | None = None


@dataclass(frozen=True)
class UniqueTogether(SyntaxNode):
    """Columns whose combined values are unique."""

    columns: tuple[ColumnReference, ...]


Term = ColumnReference | Literal | UnaryMinus | Arithmetic
Condition = (
    ColumnReference
    | TermComparison
    | InList
    | IsNull
    | Negation
    | Conjunction
    | Disjunction
    | IfThenElse
)
TERMS = (ColumnReference, Literal, UnaryMinus, Arithmetic)
CONDITIONS = (
    ColumnReference,
    TermComparison,
    InList,
    IsNull,
    Negation,
    Conjunction,
    Disjunction,
    IfThenElse,
)


def iterate_columns(node: SyntaxNode) -> Iterator[str]:
    """Yield the name of each column of a tree, as often as it occurs.

    Example:
        >>> list(iterate_columns(parse_constraint("discharge >= admission")))
        ['discharge', 'admission']
    """
    if isinstance(node, ColumnReference):
        yield node.name
        return
    for value in vars(node).values():
        for part in value if isinstance(value, tuple) else (value,):
            if isinstance(part, SyntaxNode):
                yield from iterate_columns(part)


def format_tree(node: SyntaxNode) -> str:  # noqa: PLR0911 (one per type)
    """Return a text that parses to the same tree.

    Example:
        >>> format_tree(TermComparison(">=", ColumnReference("body mass"), Literal(1.5)))
        '`body mass` >= 1.5'
        >>> format_tree(Negation(TermComparison("==", ColumnReference("ward"), Literal("eye"))))
        "not (ward == 'eye')"
    """
    match node:
        case ColumnReference(name):
            return _format_name(name)
        case Literal(value):
            return _format_value(value)
        case UnaryMinus(term):
            return f"-{_format_inside(term)}"
        case Arithmetic(sign, left, right) | TermComparison(sign, left, right):
            return f"{_format_inside(left)} {sign} {_format_inside(right)}"
        case Negation(part):
            return f"not {_format_inside(part)}"
        case Conjunction(parts):
            return " and ".join(map(_format_inside, parts))
        case Disjunction(parts):
            return " or ".join(map(_format_inside, parts))
    return _format_long_node(node)


def _format_long_node(node: SyntaxNode) -> str:
    match node:
        case InList(columns, options, negated):
            sign = "not in" if negated else "in"
            return f"{_format_tuple(columns)} {sign} ({', '.join(map(_format_tuple, options))})"
        case IsNull(column, negated):
            return f"{format_tree(column)} is {'not null' if negated else 'null'}"
        case IfThenElse(condition, then, otherwise):
            begin = f"if {_format_inside(condition)} then {_format_inside(then)}"
            return begin if otherwise is None else f"{begin} else {_format_inside(otherwise)}"
        case UniqueTogether(columns):
            return f"unique({', '.join(map(format_tree, columns))})"
    raise TypeError(type(node).__name__)


def _format_inside(node: SyntaxNode) -> str:
    text = format_tree(node)
    return text if isinstance(node, (ColumnReference, Literal)) else f"({text})"


def _format_tuple(parts: tuple[Term, ...] | tuple[ColumnReference, ...]) -> str:
    inside = ", ".join(map(format_tree, parts))
    return inside if len(parts) == 1 else f"({inside})"


def _format_name(name: str) -> str:
    if _PLAIN_NAME.fullmatch(name) and name not in KEYWORDS:
        return name
    return "`" + name.replace("`", "``") + "`"


def _format_value(value: str | float) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return repr(value)


MOST_NESTING = 20
MOST_SIGNS = 100
_COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")
N = TypeVar("N", bound=SyntaxNode)


@dataclass(frozen=True)
class _TupleNode(SyntaxNode):
    """Several parts in parentheses."""

    parts: tuple[SyntaxNode, ...]


def parse_constraint(rule: str) -> Condition | UniqueTogether:
    """Return the syntax tree of a rule.

    Raises:
        SchemaError: If the text is not a rule; names the offset and what was expected there.

    Example:
        >>> parse_constraint("age > 17")
        TermComparison(at=4, sign='>', left=ColumnReference(at=0, name='age'), right=Literal(...
        >>> parse_constraint("age >= ")
        Traceback (most recent call last):
        tabpe.errors.SchemaError: rule 'age >= ', character 8: its end: expected a column or a ...
    """
    return _Parser(rule).parse_all()


class _Parser:
    """Reads the tokens of one rule from left to right."""

    def __init__(self, rule: str) -> None:
        self.text = rule
        self.tokens = tokenize_constraint(rule)
        self.position = 0
        self.depth = 0
        self.signs = 0

    def parse_all(self) -> Condition | UniqueTogether:
        found = (
            self._parse_unique()
            if self._is_next("unique")
            else self._check_condition(self._parse_whole())
        )
        if self.token.kind is not TokenKind.END:
            raise self._make_error("and, or, or the end of the rule")
        return found

    @property
    def token(self) -> Token:
        return self.tokens[self.position]

    def _is_next(self, *values: str) -> bool:
        plain = self.token.kind in (TokenKind.KEYWORD, TokenKind.SIGN)
        return plain and self.token.value in values

    def _take_token(self) -> Token:
        token = self.token
        self.position += token.kind is not TokenKind.END
        return token

    def _expect_token(self, value: str, then: str = "") -> Token:
        if not self._is_next(value):
            raise self._make_error(f"{value}{then}")
        return self._take_token()

    def _make_error(self, what: str) -> SchemaError:
        return make_constraint_error(self.text, self.token.at, f"{self.token}: expected {what}.")

    def _parse_nested(self, part: Callable[[], N]) -> N:
        self.depth += 1
        if self.depth > MOST_NESTING:
            raise make_constraint_error(
                self.text,
                self.token.at,
                f"more than {MOST_NESTING} levels of nesting: make two rules.",
            )
        found = part()
        self.depth -= 1
        return found

    def _parse_unique(self) -> UniqueTogether:
        at = self._take_token().at
        self._expect_token("(", " and the columns that are unique together")
        columns = [self._parse_column()]
        while self._is_next(","):
            self._take_token()
            columns.append(self._parse_column())
        self._expect_token(")", " or a comma")
        return UniqueTogether(tuple(columns), at=at)

    def _parse_column(self) -> ColumnReference:
        if self.token.kind is not TokenKind.COLUMN:
            raise self._make_error("a column")
        token = self._take_token()
        return ColumnReference(str(token.value), at=token.at)

    def _parse_whole(self) -> SyntaxNode:
        return self._parse_nested(self._parse_if if self._is_next("if") else self._parse_or)

    def _parse_if(self) -> SyntaxNode:
        at = self._take_token().at
        condition = self._check_condition(self._parse_whole())
        self._expect_token("then")
        then = self._check_condition(self._parse_whole())
        if not self._is_next("else"):
            return IfThenElse(condition, then, at=at)
        self._take_token()
        return IfThenElse(condition, then, self._check_condition(self._parse_whole()), at=at)

    def _parse_or(self) -> SyntaxNode:
        return self._parse_chain("or", self._parse_and, Disjunction)

    def _parse_and(self) -> SyntaxNode:
        return self._parse_chain("and", self._parse_not, Conjunction)

    def _parse_chain(
        self,
        keyword: str,
        part: Callable[[], SyntaxNode],
        kind: type[Disjunction] | type[Conjunction],
    ) -> SyntaxNode:
        first = part()
        if not self._is_next(keyword):
            return first
        parts = [self._check_condition(first)]
        while self._is_next(keyword):
            self._take_token()
            parts.append(self._check_condition(part()))
        return kind(tuple(parts), at=first.at)

    def _parse_not(self) -> SyntaxNode:
        if not self._is_next("not"):
            return self._parse_comparison()
        at = self._take_token().at
        return Negation(self._check_condition(self._parse_nested(self._parse_not)), at=at)

    def _parse_comparison(self) -> SyntaxNode:
        left = self._parse_sum()
        if self._is_next("in", "not"):
            return self._parse_in_list(left)
        if self._is_next("is"):
            return self._parse_is_null(left)
        if not self._is_next(*_COMPARISONS):
            return left
        sign = self._take_token()
        right = self._parse_sum()
        if self._is_next(*_COMPARISONS):
            raise self._make_error("and: compare two things at a time, as in 'a < b and b < c'")
        return TermComparison(
            str(sign.value), self._check_term(left), self._check_term(right), at=sign.at
        )

    def _parse_in_list(self, left: SyntaxNode) -> InList:
        negated = self._is_next("not")
        if negated:
            self._take_token()
        at = self._expect_token("in").at
        columns = left.parts if isinstance(left, _TupleNode) else (left,)
        named = tuple(column for column in columns if isinstance(column, ColumnReference))
        if len(named) < len(columns):
            raise make_constraint_error(
                self.text, left.at, "before in: expected a column, or several in ()."
            )
        self._expect_token("(", " and the values")
        options = [self._parse_option(len(columns))]
        while self._is_next(","):
            self._take_token()
            options.append(self._parse_option(len(columns)))
        self._expect_token(")", " or a comma")
        return InList(named, tuple(options), negated, at=at)

    def _parse_option(self, width: int) -> tuple[Term, ...]:
        if width == 1:
            return (self._parse_literal(),)
        at = self._expect_token("(", f" and {width} values").at
        values = [self._parse_literal()]
        while self._is_next(","):
            self._take_token()
            values.append(self._parse_literal())
        self._expect_token(")", " or a comma")
        if len(values) != width:
            raise make_constraint_error(
                self.text, at, f"{len(values)} values: expected {width}, as columns."
            )
        return tuple(values)

    def _parse_literal(self) -> Term:
        at = self.token.at
        found = self._parse_sign()
        plain = found.term if isinstance(found, UnaryMinus) else found
        if not isinstance(plain, Literal):
            raise make_constraint_error(
                self.text, at, "expected a number, a text in quotes, true or false."
            )
        return self._check_term(found)

    def _parse_is_null(self, left: SyntaxNode) -> IsNull:
        at = self._take_token().at
        negated = self._is_next("not")
        if negated:
            self._take_token()
        self._expect_token("null")
        if not isinstance(left, ColumnReference):
            raise make_constraint_error(self.text, left.at, "before is: expected a column.")
        return IsNull(left, negated, at=at)

    def _parse_sum(self) -> SyntaxNode:
        return self._parse_arithmetic(("+", "-"), self._parse_product)

    def _parse_product(self) -> SyntaxNode:
        return self._parse_arithmetic(("*", "/"), self._parse_sign)

    def _parse_arithmetic(
        self, signs: tuple[str, ...], part: Callable[[], SyntaxNode]
    ) -> SyntaxNode:
        found = part()
        while self._is_next(*signs):
            sign = self._take_token()
            self.signs += 1
            if self.signs > MOST_SIGNS:
                raise make_constraint_error(
                    self.text, sign.at, f"expected at most {MOST_SIGNS} of + - * /."
                )
            right = self._check_term(part())
            found = Arithmetic(str(sign.value), self._check_term(found), right, at=sign.at)
        return found

    def _parse_sign(self) -> SyntaxNode:
        if not self._is_next("-"):
            return self._parse_primary()
        at = self._take_token().at
        return UnaryMinus(self._check_term(self._parse_nested(self._parse_sign)), at=at)

    def _parse_primary(self) -> SyntaxNode:
        token = self.token
        if token.kind in (TokenKind.NUMBER, TokenKind.TEXT):
            return Literal(self._take_token().value, at=token.at)
        if self._is_next("true", "false"):
            return Literal(self._take_token().value == "true", at=token.at)
        if token.kind is TokenKind.COLUMN:
            return self._parse_column()
        if self._is_next("null"):
            raise self._make_error("a value; to test for null, write 'is null'")
        if self._is_next("unique"):
            raise self._make_error("a column or a value; unique(...) is a separate rule")
        if not self._is_next("("):
            raise self._make_error("a column or a value")
        return self._parse_parenthesis()

    def _parse_parenthesis(self) -> SyntaxNode:
        at = self._take_token().at
        parts = [self._parse_whole()]
        while self._is_next(","):
            self._take_token()
            parts.append(self._parse_whole())
        self._expect_token(")")
        return parts[0] if len(parts) == 1 else _TupleNode(tuple(parts), at=at)

    def _check_term(self, node: SyntaxNode) -> Term:
        if not isinstance(node, TERMS):
            raise make_constraint_error(
                self.text, node.at, "expected a column or a value, not a condition."
            )
        return node

    def _check_condition(self, node: SyntaxNode) -> Condition:
        if not isinstance(node, CONDITIONS):
            raise make_constraint_error(
                self.text, node.at, "expected a condition, such as a comparison."
            )
        return node
