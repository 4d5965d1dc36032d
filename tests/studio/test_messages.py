"""Every text of the studio is in every catalogue, with the same places to fill in."""

import re
from pathlib import Path

import pytest
from babel.messages.extract import extract

import tabpe.studio
from messy_exports import EXPORTS
from tabpe.schema.column_names import _REASONS
from tabpe.studio.custodian import draft_columns
from tabpe.studio.messages import (
    DEFAULT,
    Messages,
    choose_language,
    list_languages,
    load_catalogue,
)
from tabpe.studio.notes import COMMON, KNOWN, PERSONS, translate_note, write_note
from tabpe.studio.project import DataChoice

ROOT = Path(tabpe.studio.__file__).parent
KEYWORDS = {"_": None, "gettext": None, "ngettext": (1, 2), "N_": None}
OTHERS = [one for one in list_languages() if one != DEFAULT]
PLACES = re.compile(r"%\(\w+\)s|\{\w+\}")


def list_texts():
    """Every text that is marked for translation, with where it stands."""
    found = {}
    for path in sorted(ROOT.rglob("*")):
        method = {".py": "python", ".j2": "jinja2.ext:babel_extract"}.get(path.suffix)
        if method is None:
            continue
        with path.open("rb") as file:
            for line, text, *_ in extract(method, file, KEYWORDS):
                for one in [text] if isinstance(text, str) else text:
                    found[one] = f"{path.name}:{line}"
    return found


@pytest.mark.parametrize("language", OTHERS)
def test_every_text_is_translated(language):
    catalogue = load_catalogue(language)
    known = {}
    for message in catalogue:
        ids, strings = message.id, message.string
        pairs = [(ids, strings)] if isinstance(ids, str) else zip(ids, strings, strict=True)
        known |= dict(pairs)
    texts = list_texts()
    assert len(texts) > 250
    assert {text: place for text, place in texts.items() if not known.get(text)} == {}
    unused = [text for text in known if text and text not in texts]
    assert unused == []
    for text, translated in known.items():
        assert set(PLACES.findall(text)) == set(PLACES.findall(translated)), text


@pytest.mark.parametrize("make", EXPORTS, ids=lambda make: make.__name__)
def test_what_a_draft_says_is_translated(make, tmp_path):
    export = make()
    export.write(tmp_path)
    draft = draft_columns(DataChoice(str(tmp_path / export.file)), None, None)
    for drafted in draft.columns:
        is_unit = drafted.name == draft.unit
        why, _, check = write_note(drafted, is_unit=is_unit).partition("; ")
        kinds = [one for one in why.split(", ") if not one.startswith("values of ")]
        checks = [check] if check == COMMON else check.split("; ")
        assert {*kinds, *checks} <= KNOWN | {"", COMMON, PERSONS}, drafted.name


def test_a_note_says_what_to_check():
    german = Messages("de")
    note = translate_note("numbers, with a currency or unit; bounds", german, is_dropped=False)
    assert note == "Zahlen, mit Währung oder Einheit. Zu prüfen: Grenzen"
    assert translate_note("values of icd10; the dictionary", german, is_dropped=False) == (
        "Werte von icd10. Zu prüfen: die Liste"
    )
    assert translate_note(
        "numbers; bounds; do the nulls mean missing?", german, is_dropped=False
    ) == ("Zahlen. Zu prüfen: Grenzen; heißen die Nullwerte, dass etwas fehlt?")
    assert translate_note("as never before", german, is_dropped=False) == "as never before"
    assert set(_REASONS.values()) <= KNOWN


def test_numbers_shares_and_times_are_those_of_the_language():
    english, german = Messages("en"), Messages("de")
    assert english.format_number(1234.5678) == "1,234.5678"
    assert german.format_number(0.5) == "0,5"
    assert (english.format_share(0.123), german.format_share(0.123)) == ("12.3%", "12,3\xa0%")
    assert (english.format_share(1.0), english.format_share(0.0)) == ("100%", "0%")
    assert english.format_small(1e-6) == "1E-6"
    assert german.format_duration(180) == "3 Minuten"
    assert "2026" in german.format_time("2026-03-01T10:00:00+00:00")
    assert german.format_time("no time") == "no time"


@pytest.mark.parametrize("accepted", ["", ";;;,,,", "x" * 10_000, "*", "fr,it"])
def test_an_unknown_language_is_english(accepted):
    assert choose_language(None, accepted) == DEFAULT
    assert choose_language("../../etc", accepted) == DEFAULT
