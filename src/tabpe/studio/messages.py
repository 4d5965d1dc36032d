"""Texts in the language of the user, and numbers and times as they write them.

A catalogue is a `.po` file of gettext in `locales/LANGUAGE/LC_MESSAGES`. It is read when the studio
starts, so nothing is built. Another language is another file: English is in the code.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from datetime import datetime
from importlib import resources
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from babel import Locale
    from babel.messages.catalog import Catalog

DEFAULT = "en"
_PACKAGE, _FOLDER, _DOMAIN = "tabpe.studio", "locales", "studio.po"


def N_(text: str) -> str:  # noqa: N802 (the name that gettext gives it)
    """Mark a text for translation, and return it as it is."""
    return text


@functools.cache
def list_languages() -> tuple[str, ...]:
    """Return the languages that there are catalogues of, and English.

    Example:
        >>> list_languages()
        ('en', 'de')
    """
    found = resources.files(_PACKAGE).joinpath(_FOLDER).iterdir()
    others = sorted(one.name for one in found if one.joinpath("LC_MESSAGES", _DOMAIN).is_file())
    return (DEFAULT, *others)


@functools.cache
def load_catalogue(language: str) -> Catalog | None:
    """Return the catalogue of a language; None for English."""
    if language == DEFAULT:
        return None
    from babel.messages.pofile import read_po

    path = resources.files(_PACKAGE).joinpath(_FOLDER, language, "LC_MESSAGES", _DOMAIN)
    with path.open("rb") as file:
        return read_po(file, locale=language)


@dataclass(frozen=True)
class Messages:
    r"""The texts of one language.

    Args:
        language: One of `list_languages`.

    Example:
        >>> german = Messages("de")
        >>> german.translate("Data"), german.format_number(1234.5), german.format_share(0.5)
        ('Daten', '1.234,5', '50\xa0%')
    """

    language: str = DEFAULT

    @property
    def locale(self) -> Locale:
        """The locale of numbers and times."""
        from babel import Locale

        return Locale.parse(self.language)

    def translate(self, text: str) -> str:
        """Return a text in this language, or in English if it has none."""
        catalogue = load_catalogue(self.language)
        found = None if catalogue is None else catalogue.get(text)
        return str(found.string) if found is not None and found.string else text

    def translate_plural(self, one: str, many: str, count: int) -> str:
        """Return the text for so many things. Both languages have two forms."""
        catalogue = load_catalogue(self.language)
        found = None if catalogue is None else catalogue.get(one)
        forms = (
            found.string if found is not None and isinstance(found.string, (list, tuple)) else ()
        )
        place = 0 if count == 1 else 1
        return str(forms[place]) if len(forms) > place and forms[place] else (one, many)[place]

    def format_number(self, value: float, digits: int = 4) -> str:
        """Return a number with at most so many decimals."""
        from babel.numbers import format_decimal

        pattern = "#,##0." + "#" * digits
        return str(format_decimal(value, pattern, locale=self.locale))

    def format_small(self, value: float) -> str:
        """Return a small number in scientific notation, such as a delta."""
        from babel.numbers import format_scientific

        return str(format_scientific(value, "0.##E0", locale=self.locale))

    def format_share(self, value: float, digits: int = 1) -> str:
        """Return a share as a percentage."""
        from babel.numbers import get_decimal_symbol

        text = f"{value * 100:.{digits}f}".rstrip("0").rstrip(".") if digits else f"{value:.0%}"
        percent = "\N{NO-BREAK SPACE}%" if self.language == "de" else "%"
        return text.replace(".", get_decimal_symbol(self.locale)).rstrip("%") + percent

    def format_time(self, moment: str) -> str:
        """Return a time in UTC, as it is stored, in the zone and the way of the user."""
        from babel.dates import format_datetime

        try:
            local = datetime.fromisoformat(moment).astimezone()
        except ValueError:
            return moment
        return str(format_datetime(local, "medium", tzinfo=local.tzinfo, locale=self.locale))

    def format_duration(self, seconds: float) -> str:
        """Return a duration in its largest unit."""
        from babel.dates import format_timedelta

        return str(format_timedelta(max(round(seconds), 1), threshold=1.2, locale=self.locale))


def choose_language(chosen: str | None, accepted: str) -> str:
    """Return the language that was chosen, or the first one that the browser accepts.

    Args:
        chosen: What the user chose, if anything.
        accepted: The header `Accept-Language`.

    Example:
        >>> choose_language(None, "fr;q=0.9, de-AT, de;q=0.8"), choose_language("en", "de")
        ('de', 'en')
    """
    known = list_languages()
    if chosen in known:
        return str(chosen)
    for part in accepted[:200].split(","):
        language = part.split(";")[0].strip().lower().split("-")[0]
        if language in known:
            return language
    return DEFAULT
