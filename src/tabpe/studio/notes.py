"""What a draft says about a column, in the language of the user.

A draft is in English, and made of a few phrases: what a column seems to be, and what to check.
"""

from __future__ import annotations

from tabpe.io.detect import DraftedColumn
from tabpe.studio.messages import N_, Messages

# What a column seems to be.
_KINDS = (
    N_("0 and 1"),
    N_("addresses"),
    N_("addresses of the web"),
    N_("booleans"),
    N_("classes"),
    N_("codes"),
    N_("dates"),
    N_("dates as text"),
    N_("dates in several formats"),
    N_("datetimes"),
    N_("e-mail addresses"),
    N_("free text"),
    N_("ids"),
    N_("ISO 8601"),
    N_("keys of persons"),
    N_("left out as asked"),
    N_("lists or other nested values"),
    N_("long numbers like those of keys or phones"),
    N_("many codes or words"),
    N_("names of persons"),
    N_("names of persons or places"),
    N_("nearly as many values as rows"),
    N_("no value at all"),
    N_("numbers"),
    N_("numbers that are too large or too far apart"),
    N_("ordered in the frame"),
    N_("ordered words"),
    N_("percentages"),
    N_("phone numbers"),
    N_("points in time as text"),
    N_("skewed"),
    N_("special values"),
    N_("times"),
    N_("true and false"),
    N_("whole numbers"),
    N_("with a currency or unit"),
    N_("words"),
    N_("words for yes and no"),
)
# What to check, or what to do to keep it.
_CHECKS = (
    N_("a number, or codes (categorical)?"),
    N_("bounds"),
    N_("categorical?"),
    N_("constant: leave it out?"),
    N_("derive a column of a few values"),
    N_("do the nulls mean missing?"),
    N_("give it a type to keep it"),
    N_("is the day first, or the month?"),
    N_("list the values to keep it"),
    N_("the dictionary"),
    N_("the order, and values that are missing"),
    N_("type: id numbers the synthetic rows"),
    N_("values that are missing"),
    N_("write them in one to keep it"),
)
KNOWN = frozenset(_KINDS + _CHECKS)
PERSONS = N_("keys of persons: choose it in the step 'Whom it protects'")
COMMON = N_("choose 'estimate': the run finds the most common ones; or list them")
DICTIONARY = N_("values of {name}")
CHECK = N_("Check:")
_PARTS, _THEN = ", ", "; "


def write_note(drafted: DraftedColumn, *, is_unit: bool = False) -> str:
    """Return what a draft says about a column, in English, as a project keeps it."""
    if is_unit:
        return PERSONS
    check = COMMON if "--private-schema" in drafted.check else drafted.check
    return drafted.why + (_THEN + check if check else "")


def translate_note(note: str, messages: Messages, *, is_dropped: bool) -> str:
    """Return a note in the language of the user.

    Example:
        >>> translate_note("dates as text; bounds", Messages("en"), is_dropped=False)
        'dates as text. Check: bounds'
        >>> translate_note("free text; derive a column of a few values", Messages("de"),
        ...     is_dropped=True)
        'Freitext; eine Spalte mit wenigen Werten ableiten'
    """
    why, _, check = note.partition(_THEN)
    kind = _PARTS.join(_translate_kind(part, messages) for part in why.split(_PARTS))
    if not check:
        return kind
    checks = [check] if check == COMMON else check.split(_THEN)
    check = _THEN.join(map(messages.translate, checks))
    return kind + _THEN + check if is_dropped else f"{kind}. {messages.translate(CHECK)} {check}"


def _translate_kind(part: str, messages: Messages) -> str:
    start = DICTIONARY.partition("{")[0]
    if part.startswith(start):
        return messages.translate(DICTIONARY).format(name=part.removeprefix(start))
    return messages.translate(part)
