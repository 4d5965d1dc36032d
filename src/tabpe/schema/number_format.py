"""How the numbers of a column are written as text: marks, currency and unit."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

_BLANKS = " \u00a0\u202f\u2009"
_APOSTROPHES = "'\u2019"
_EXAMPLE = re.compile(
    r"(?P<prefix>[^0-9]*?)1(?P<thousands>[^0-9]?)234(?:(?P<decimal>[.,])[0-9]+)?(?P<suffix>[^0-9]*)"
)
_MINUS = "\u2212-"


@dataclass(frozen=True)
class NumberFormat:
    """How the numbers of a column are written.

    Args:
        decimal: The decimal mark.
        thousands: The mark between groups of three digits, if any.
        prefix: What may come before a number, such as a currency.
        suffix: What may come after it, such as a unit.

    Example:
        >>> euro = NumberFormat.from_example("1.234,56 EUR")
        >>> euro.normalize("2.815,43 EUR"), euro.normalize("-7,5"), euro.normalize("unknown")
        ('2815.43', '-7.5', None)
    """

    decimal: str = "."
    thousands: str | None = None
    prefix: str = ""
    suffix: str = ""

    @classmethod
    def from_example(cls, example: str) -> NumberFormat | None:
        """Return the format in which 1234, or 1234.56, is written so; None if it is not."""
        found = _EXAMPLE.fullmatch(example) if isinstance(example, str) else None
        if found is None:
            return None
        thousands, decimal = found["thousands"] or None, found["decimal"]
        if decimal is None:
            decimal = "," if thousands == "." else "."
        if thousands is not None and (thousands == decimal or thousands in "+-eE"):
            return None
        return cls(decimal, thousands, found["prefix"].strip(), found["suffix"].strip())

    def to_example(self, decimals: int = 2) -> str:
        """Return how 1234.56 is written, or 1234 without decimals."""
        part = f"{self.decimal}56789"[: decimals + 1] if decimals else ""
        body = f"1{self.thousands or ''}234{part}"
        prefix = self.prefix + (" " if self.prefix[-1:].isalpha() else "")
        suffix = ("" if self.suffix in ("", "%") else " ") + self.suffix
        return prefix + body + suffix

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        blanks = f"[{_BLANKS}]*"
        mark = self.thousands
        group = ""
        if mark is not None:
            alike = next((kind for kind in (_BLANKS, _APOSTROPHES) if mark in kind), mark)
            three = "[0-9]{3}"
            group = rf"[0-9]{{1,3}}(?P<mark>[{re.escape(alike)}]){three}(?:(?P=mark){three})*|"
        prefix = rf"(?:{re.escape(self.prefix)}{blanks})?" if self.prefix else ""
        suffix = rf"(?:{blanks}{re.escape(self.suffix)})?" if self.suffix else ""
        sign = f"[+{_MINUS}]"
        body = rf"(?P<whole>{group}[0-9]*)(?:{re.escape(self.decimal)}(?P<part>[0-9]*))?"
        return re.compile(
            rf"\s*(?:(?P<before>{sign}){blanks})?{prefix}(?P<inner>{sign})?{body}"
            rf"(?P<after>-)?{suffix}\s*"
        )

    def normalize(self, text: str) -> str | None:
        """Return a number that is written so as Python writes it; None if it is none.

        A minus may come before or after the number, or be a pair of parentheses.
        """
        if text.startswith("(") and text.endswith(")"):
            inside = self.normalize(text[1:-1])
            return None if inside is None or inside[0] == "-" else f"-{inside}"
        found = self._pattern.fullmatch(text)
        if found is None:
            return None
        whole = "".join(filter(str.isdigit, found["whole"]))
        part = found["part"] or ""
        if not whole and not part:
            return None
        signs = [found["before"], found["inner"], found["after"]]
        if sum(sign is not None for sign in signs) > 1:
            return None
        negative = any(sign is not None and sign in _MINUS for sign in signs)
        digits = (whole.lstrip("0") or "0") + (f".{part}" if part else "")
        return f"-{digits}" if negative else digits
