"""Names of months in other languages than English, in the format of a date: `%d-%b-%Y (es)`.

A format ends with the language in parentheses. `%b` stands for the short names below, `%B` for the
long ones; both are read wherever either stands, in any case, with or without a point.
"""

from __future__ import annotations

import re
from functools import cache

_SHORT = {
    "da": "jan feb mar apr maj jun jul aug sep okt nov dec",
    "de": "Jan Feb Mär Apr Mai Jun Jul Aug Sep Okt Nov Dez",
    "es": "ene feb mar abr may jun jul ago sep oct nov dic",
    "fr": "janv févr mars avr mai juin juil août sept oct nov déc",
    "it": "gen feb mar apr mag giu lug ago set ott nov dic",
    "nl": "jan feb mrt apr mei jun jul aug sep okt nov dec",
    "pl": "sty lut mar kwi maj cze lip sie wrz paź lis gru",
    "pt": "jan fev mar abr mai jun jul ago set out nov dez",
}
_LONG = {
    "da": "januar februar marts april maj juni juli august september oktober november december",
    "de": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
    "es": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre "
    "diciembre",
    "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "it": "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre "
    "dicembre",
    "nl": "januari februari maart april mei juni juli augustus september oktober november december",
    "pl": "stycznia lutego marca kwietnia maja czerwca lipca sierpnia września października "
    "listopada grudnia",
    "pt": "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro "
    "dezembro",
}
# Other ways to write a month, by its number.
_ALSO = {
    "da": {"sept": 9},
    "de": {"mrz": 3, "jän": 1, "jänner": 1, "sept": 9},
    "es": {"sept": 9, "setiembre": 9},
    "fr": {"jan": 1, "fév": 2, "fev": 2, "mar": 3, "juill": 7, "aout": 8, "dec": 12},
    "it": {"sett": 9},
    "nl": {"maa": 3},
    "pl": {"styczeń": 1, "luty": 2, "marzec": 3, "maj": 5, "lipiec": 7, "grudzień": 12},
    "pt": {"marco": 3},
}
_ENGLISH = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
MONTH_LANGUAGES = tuple(_SHORT)
_WITH_LANGUAGE = re.compile(r"(?P<pattern>.*%[bB].*) \((?P<language>[a-z]{2})\)")
_WORD = re.compile(r"[^\W\d_]+\.?")


def split_language(pattern: str) -> tuple[str, str | None]:
    """Return a format without its language, and the language; None if it has none.

    Example:
        >>> split_language("%d-%b-%Y (es)"), split_language("%d.%m.%Y")
        (('%d-%b-%Y', 'es'), ('%d.%m.%Y', None))
    """
    found = _WITH_LANGUAGE.fullmatch(pattern)
    return (found["pattern"], found["language"]) if found else (pattern, None)


@cache
def _list_names(language: str) -> dict[str, str]:
    """Return the English name of each month of a language."""
    listed = (names[language].split() for names in (_SHORT, _LONG))
    known = {name.lower(): _ENGLISH[at] for names in listed for at, name in enumerate(names)}
    return known | {name: _ENGLISH[number - 1] for name, number in _ALSO[language].items()}


def read_months(text: str, language: str) -> str:
    """Return text with the months of a language in English; other words stay.

    Example:
        >>> read_months("3 de ABRIL de 2024", "es"), read_months("19 févr. 2024", "fr")
        ('3 de Apr de 2024', '19 Feb 2024')
    """
    names = _list_names(language)
    return _WORD.sub(lambda word: names.get(word[0].rstrip(".").lower(), word[0]), text)


def has_long_months(text: str, language: str) -> bool:
    """Return whether text has a month as `%B` writes it, and not as `%b` does.

    Example:
        >>> has_long_months("3 de ABRIL de 2024", "es"), has_long_months("3 may", "es")
        (True, False)
    """
    short, listed = (set(names[language].lower().split()) for names in (_SHORT, _LONG))
    return any(word.rstrip(".").lower() in listed - short for word in _WORD.findall(text))


def write_months(text: str, pattern: str, language: str) -> str:
    """Return text that has months as `%b` writes them in English with those of a language.

    Example:
        >>> write_months("3 de Apr de 2024", "%d de %B de %Y", "es")
        '3 de abril de 2024'
    """
    listed = (_LONG if "%B" in pattern else _SHORT)[language].split()
    names = dict(zip(_ENGLISH, listed, strict=True))
    return _WORD.sub(lambda word: names.get(word[0], word[0]), text)
