"""The words of a rule: what its text is cut into before it is parsed."""

from __future__ import annotations

import enum
import math
import re
from dataclasses import dataclass

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
