"""The sheet: what it says follows from the certificate, escaped, of a limited length."""

import dataclasses
import re

import pytest

from certificates import DRAFTED, ENTRY, KINDS, TABLE, USERS, honest
from tabpe.accounting import ReleaseStatement, SpentTotal
from tabpe.errors import ParameterError
from tabpe.evaluation.report.sheet import CertificateSheet, render_sheet
from tabpe.verification import SigningKey, make_key_pair

STATED = honest(release=TABLE, ledger=ENTRY).with_statement(
    ReleaseStatement("Teaching statistics", "Data office", SpentTotal(2, 1.41, 1e-6, 2.0))
)
EVIL = '<script>alert("x")</script>'


def flat(text):
    return re.sub(r"\s+(- )?", " ", text)


def all_sentences(certificate):
    sheet = CertificateSheet(certificate)
    return [one for item in (*sheet.first_page, *sheet.second_page) for one in item.sentences]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", ["html", "text"])
def test_every_kind_of_certificate_has_a_sheet(kind, form):
    assert render_sheet(honest(**KINDS[kind]), form=form)


def test_it_shows_what_was_stated_spent_and_hashed():
    text = flat(render_sheet(STATED, form="text"))
    for words in (
        "Teaching statistics",
        "Data office",
        "patients",
        "epsilon 1.41 at delta 1e-6",
        "a budget of 2",
        TABLE.sha256,
        "bmi.min",
    ):
        assert words in text


@pytest.mark.parametrize("sentence", STATED.guarantee.guaranteed + STATED.guarantee.not_guaranteed)
def test_it_shows_what_is_guaranteed_and_what_is_not(sentence):
    assert sentence in flat(render_sheet(STATED, form="text"))


def test_page_and_text_say_the_same():
    from html import unescape

    page = flat(unescape(render_sheet(STATED)))
    for sentence in all_sentences(STATED):
        assert flat(sentence) in page


def test_what_is_not_stated_is_said_to_be_missing():
    sheet = CertificateSheet(honest())
    words = " ".join(all_sentences(honest()))
    assert words.count("not stated") == 3
    assert "no ledger" in words
    assert sheet.warning is None


def test_it_says_whom_it_protects():
    rows, users = (" ".join(all_sentences(honest(**kind))) for kind in ({}, {"neighbours": USERS}))
    assert "each single row" in rows
    assert "“patient”" in users
    assert "each single row" not in users


def test_fields_from_the_data_are_the_first_thing_on_it():
    assert "age" in CertificateSheet(honest(schema=DRAFTED)).warning
    assert "age.min" not in " ".join(
        CertificateSheet(honest(schema=DRAFTED)).first_page[4].sentences
    )


@pytest.mark.parametrize("form", ["html", "text"])
def test_fake_noise_guarantees_nothing(form):
    page = render_sheet(honest(private=False), form=form)
    assert "NOT PRIVATE" in page
    assert "73.4%" not in page


def test_a_total_without_a_budget_is_a_number_of_runs():
    certificate = STATED.with_statement(ReleaseStatement(total=SpentTotal(3)))
    assert any("3 runs" in one and "no budget" in one for one in all_sentences(certificate))


def make_evil():
    schema = {"columns": [{"name": EVIL, "source": "public"}, 7, {"name": 3}]}
    return dataclasses.replace(
        honest(neighbours=USERS),
        statement=ReleaseStatement(EVIL, EVIL),
        release=dataclasses.replace(TABLE, file=f"{EVIL}.csv"),
        ledger=dataclasses.replace(ENTRY, dataset=EVIL, entry=EVIL),
        schema=schema,
        unit=EVIL,
        estimated=(EVIL,),
        fields_from_data=(EVIL,),
        assumed_public=(EVIL,),
        notes=(EVIL, "\u202eabc\x00\x1b[31m"),
        configuration={EVIL: EVIL},
        versions={EVIL: EVIL},
        created=EVIL,
        accountant=EVIL,
        seed_policy=EVIL,
        delta_source=EVIL,
    )


def test_nothing_from_a_certificate_becomes_markup_or_hides():
    page = render_sheet(make_evil())
    assert "<script" not in page
    assert "default-src &#39;none&#39;" in page
    for form in ("html", "text"):
        shown = render_sheet(make_evil(), form=form)
        assert not set(shown) & set("\u202e\x00\x1b")


def test_lines_of_the_text_fit_a_terminal():
    for certificate in (STATED, make_evil()):
        assert max(map(len, render_sheet(certificate, form="text").splitlines())) <= 80


@pytest.mark.parametrize("schema", [{}, {"columns": None}, {"columns": {}}, {"columns": "age"}])
def test_a_schema_of_any_form_is_shown(schema):
    assert render_sheet(dataclasses.replace(honest(), schema=schema))


def test_a_signature_of_another_certificate_is_refused(tmp_path):
    make_key_pair(tmp_path / "office.key")
    key = SigningKey.load(tmp_path / "office.key")
    assert key.public.fingerprint in render_sheet(STATED, signature=key.sign(STATED))
    with pytest.raises(ParameterError, match="signature"):
        render_sheet(honest(), signature=key.sign(STATED))


def test_another_form_is_refused():
    with pytest.raises(ParameterError, match="form"):
        render_sheet(STATED, form="pdf")
