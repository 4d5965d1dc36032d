"""Values as text: numbers look the same everywhere, and no character is hidden."""

from __future__ import annotations

import math
import unicodedata
from typing import Any

from tabpe.accounting.pld import round_up

ABSENT = "\u2013"
_BETWEEN_LETTERS = "\u200c\u200d\u200e\u200f\u061c"  # scripts and emoji need these invisible ones
_CONTROL_PICTURES, _DELETE, _DELETE_PICTURE = 0x2400, 0x7F, "\u2421"
LONGEST_NAME = 48
_THOUSAND, _SMALL = 1000, 1e-4


def clean_text(text: str) -> str:
    r"""Return the text with invisible characters made visible.

    A reader can distinguish two names that differ in a zero-width space, and no character changes
    the direction of the text around it. Half a surrogate pair, which no file can hold, is replaced.

    Example:
        >>> clean_text("a\x00b\u202ec\u200bd")
        'a␀b⟨U+202E⟩c⟨U+200B⟩d'
    """
    return text if text.isascii() and text.isprintable() else "".join(map(_make_visible, text))


def _make_visible(character: str) -> str:
    category = unicodedata.category(character)
    if category == "Cc":
        return _show_control(ord(character))
    if category == "Cs":
        return "\ufffd"
    hidden = category in {"Cf", "Zl", "Zp"} and character not in _BETWEEN_LETTERS
    return f"⟨U+{ord(character):04X}⟩" if hidden else character


def _show_control(code: int) -> str:
    if code < ord(" "):
        return chr(_CONTROL_PICTURES + code)
    return _DELETE_PICTURE if code == _DELETE else f"⟨U+{code:04X}⟩"


def shorten_text(text: str, width: int) -> str:
    """Return at most `width` characters of the cleaned text.

    Example:
        >>> shorten_text("a very long name", 8)
        'a very …'
    """
    text = clean_text(text)
    return text if len(text) <= width else text[: width - 1] + "…"


def quote_name(name: str | None) -> str:
    """Return a name from the data in quotation marks, shortened.

    Example:
        >>> quote_name("patients")
        '“patients”'
    """
    return f"“{shorten_text(name or '', LONGEST_NAME)}”"


def format_number(value: float | None) -> str:
    """Return a number with three significant digits, or a dash if there is none.

    Example:
        >>> format_number(1234567), format_number(0.12345), format_number(12.0), format_number(4e-7)
        ('1,234,567', '0.123', '12', '4e-7')
        >>> format_number(float("nan")) == ABSENT
        True
    """
    if isinstance(value, int):
        return f"{value:,}"
    if value is None or math.isnan(value):
        return ABSENT
    if abs(value) >= _THOUSAND and math.isfinite(value):
        return f"{value:,.0f}" if abs(value) < 1e15 else f"{value:.3g}"  # noqa: PLR2004
    if 0 < abs(value) < _SMALL:
        return f"{value:.3g}".replace("e-0", "e-")
    return f"{value:.3g}"


def format_percent(value: float | None, digits: int = 1) -> str:
    """Return a share as a percentage, or a dash if there is none.

    Example:
        >>> format_percent(0.1234), format_percent(None) == ABSENT
        ('12.3%', True)
    """
    return ABSENT if value is None or math.isnan(value) else f"{value:.{digits}%}"


def format_two_decimals(value: float | None, *, sign: bool = False) -> str:
    """Return a number with two digits after the point, or a dash if there is none.

    Example:
        >>> format_two_decimals(0.126), format_two_decimals(0.126, sign=True)
        ('0.13', '+0.13')
        >>> format_two_decimals(-0.001, sign=True)
        '0.00'
    """
    if value is None or math.isnan(value):
        return ABSENT
    return f"{value:{'+' if sign and round(value, 2) else ''}z.2f}"


def format_three_decimals(value: float | None) -> str:
    """Return a score with three digits after the point, if it is not large; a dash if none.

    Example:
        >>> format_three_decimals(0.1264), format_three_decimals(120986.95)
        ('0.126', '120,987')
    """
    if value is None or math.isnan(value) or abs(value) >= _THOUSAND:
        return format_number(value)
    return f"{value:z.3f}"


def format_plain(value: float | None) -> str:
    """Return a number for a program to sort by; empty if there is none."""
    return "" if value is None or math.isnan(value) else repr(float(value))


def format_rounded_up(value: float, digits: int = 4) -> str:
    """Return epsilon or delta, rounded toward a weaker guarantee.

    Example:
        >>> format_rounded_up(0.99991), format_rounded_up(1.2341e-6, 3)
        ('1', '1.24e-6')
    """
    return f"{round_up(value, digits):g}".replace("e-0", "e-")


def format_value(value: Any) -> Any:
    r"""Return any value as a page shows it; markup stays as it is.

    Example:
        >>> format_value(0.5), format_value("a\tb"), format_value(None) == ABSENT
        ('0.5', 'a␉b', True)
    """
    if hasattr(value, "__html__"):
        return value
    if value is None:
        return ABSENT
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return format_number(value)
    return clean_text(str(value))
