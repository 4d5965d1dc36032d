"""Signatures: only the key that signed, and only the certificate that was signed, pass."""

import json
import os
import stat

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from certificates import ENTRY, KINDS, TABLE, honest
from tabpe._utils import extras
from tabpe.accounting import ReleaseStatement, SpentTotal
from tabpe.errors import ArchiveError, OutputError, ParameterError, TabpeError
from tabpe.verification import FAILED, GIVEN, OK, SigningKey, make_key_pair, verify
from tabpe.verification.signing import CertificateSignature, PublicKey, get_signature_path

STATED = honest(release=TABLE, ledger=ENTRY).with_statement(
    ReleaseStatement("Teaching é", "Data office", SpentTotal(2, 1.4, 1e-6, 2.0))
)


@pytest.fixture
def office(tmp_path):
    """A key pair."""
    make_key_pair(tmp_path / "office.key")
    return tmp_path / "office.key"


@pytest.fixture
def signed(tmp_path, office):
    """A signed certificate, as files."""
    path = tmp_path / "out.certificate.json"
    write(path, STATED, office)
    return path


def write(path, certificate, key):
    path.write_text(certificate.to_json(), encoding="utf-8")
    signature = SigningKey.load(key).sign(certificate)
    get_signature_path(path).write_text(signature.to_json())


def outcome(found):
    return next((check.outcome for check in found.checks if check.name == "signed"), None)


@pytest.mark.parametrize("kind", KINDS)
def test_a_signed_certificate_of_every_kind_holds(tmp_path, office, kind):
    path = tmp_path / "out.certificate.json"
    write(path, honest(**KINDS[kind]), office)
    found = verify(path, key=office.with_suffix(".pub"))
    assert outcome(found) == OK
    assert "not signed" not in " ".join(found.not_checked)


def test_without_a_key_it_says_which_key_signed_and_that_it_may_be_anybodys(signed, office):
    found = verify(signed)
    assert outcome(found) == GIVEN
    assert found.holds
    shown = " ".join(check.words for check in found.checks)
    assert SigningKey.load(office).public.fingerprint in shown


def test_without_a_signature_it_says_that_nobody_signed(signed, office):
    get_signature_path(signed).unlink()
    assert outcome(verify(signed)) is None
    assert "not signed" in " ".join(verify(signed).not_checked)
    assert outcome(verify(signed, key=office.with_suffix(".pub"))) == FAILED


def test_another_key_fails(signed, tmp_path):
    make_key_pair(tmp_path / "other.key")
    found = verify(signed, key=tmp_path / "other.pub")
    assert outcome(found) == FAILED
    assert not found.holds


def test_who_signs_a_changed_certificate_anew_is_not_the_trusted_one(signed, office, tmp_path):
    make_key_pair(tmp_path / "thief.key")
    write(signed, honest(release=TABLE), tmp_path / "thief.key")
    assert outcome(verify(signed, key=office.with_suffix(".pub"))) == FAILED


def change(plain, path, value):
    *above, last = path
    for key in above:
        plain = plain[key]
    plain[last] = value


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["statement", "purpose"], "Advertising"),
        (["statement", "contact"], "somebody else"),
        (["statement", "total", "epsilon"], 0.1),
        (["release", "sha256"], "cd" * 32),
        (["release", "rows"], 11),
        (["notes"], []),
        (["created"], "2030-01-01T00:00:00+00:00"),
        (["assumed_public"], []),
        (["ledger", "entry"], "18"),
        (["epsilon"], 0.99999),
    ],
)
@pytest.mark.parametrize("trusted", [True, False])
def test_every_change_of_the_certificate_fails(signed, office, path, value, trusted):
    plain = json.loads(signed.read_text())
    change(plain, path, value)
    signed.write_text(json.dumps(plain))
    key = office.with_suffix(".pub") if trusted else None
    assert outcome(verify(signed, key=key)) == FAILED


def test_a_statement_that_is_left_out_fails(signed, office):
    plain = json.loads(signed.read_text())
    del plain["statement"]
    signed.write_text(json.dumps(plain))
    assert outcome(verify(signed, key=office.with_suffix(".pub"))) == FAILED


def test_layout_and_order_of_the_file_do_not_matter(signed, office):
    plain = json.loads(signed.read_text())
    signed.write_text(json.dumps(dict(reversed(plain.items()))))
    assert outcome(verify(signed, key=office.with_suffix(".pub"))) == OK


def test_a_signature_of_another_certificate_fails(signed, office, tmp_path):
    other = tmp_path / "other.certificate.json"
    write(other, honest(release=TABLE), office)
    get_signature_path(signed).write_bytes(get_signature_path(other).read_bytes())
    assert outcome(verify(signed, key=office.with_suffix(".pub"))) == FAILED
    assert outcome(verify(signed)) == FAILED


def test_a_signature_under_the_trusted_key_s_name_fails(signed, office, tmp_path):
    make_key_pair(tmp_path / "thief.key")
    forged = SigningKey.load(tmp_path / "thief.key").sign(STATED)
    claimed = CertificateSignature(SigningKey.load(office).public, forged.signature)
    get_signature_path(signed).write_text(claimed.to_json())
    assert outcome(verify(signed, key=office.with_suffix(".pub"))) == FAILED


@settings(max_examples=50, deadline=None)
@given(st.binary(max_size=300))
def test_a_signature_file_of_any_bytes_is_refused_by_name(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("any") / "out.certificate.sig"
    path.write_bytes(content)
    with pytest.raises(ArchiveError, match=r"out\.certificate\.sig"):
        CertificateSignature.load(path)


@pytest.mark.parametrize(
    "changes",
    [
        {"format": 2},
        {"algorithm": "RSA"},
        {"public_key": "00"},
        {"signature": "zz" * 64},
        {"signature": None},
        {"more": 1},
    ],
)
def test_a_malformed_signature_fails_the_check(signed, changes):
    path = get_signature_path(signed)
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    assert outcome(verify(signed)) == FAILED


@pytest.mark.parametrize("key", ["00" * 32, "01" + "00" * 31, "01" + "00" * 30 + "80"])
def test_a_key_of_small_order_signs_nothing(signed, key):
    path = get_signature_path(signed)
    zeros = {"public_key": key, "signature": "01" + "00" * 63}
    path.write_text(json.dumps(json.loads(path.read_text()) | zeros))
    assert outcome(verify(signed)) == FAILED


@pytest.mark.skipif(os.name != "posix", reason="modes of files")
def test_only_the_owner_can_read_a_private_key(office):
    assert stat.S_IMODE(office.stat().st_mode) == 0o600
    office.chmod(0o640)
    with pytest.raises(ArchiveError, match="chmod 600"):
        SigningKey.load(office)


def test_a_passphrase_encrypts_the_key(tmp_path):
    path = tmp_path / "office.key"
    public = make_key_pair(path, "correct horse")
    assert b"ENCRYPTED" in path.read_bytes()
    assert SigningKey.load(path, "correct horse").public == public
    for wrong in (None, "", "battery staple"):
        with pytest.raises(ArchiveError, match="passphrase"):
            SigningKey.load(path, wrong)


def test_a_short_passphrase_is_refused(tmp_path):
    with pytest.raises(ParameterError, match="passphrase"):
        make_key_pair(tmp_path / "office.key", "short")
    assert not list(tmp_path.iterdir())


def test_keys_are_not_overwritten(office):
    before = office.read_bytes()
    with pytest.raises(OutputError, match="exists already"):
        make_key_pair(office)
    office.unlink()
    with pytest.raises(OutputError, match=r"office\.pub"):
        make_key_pair(office)
    assert not office.exists()
    assert before


def test_one_kind_of_key_is_not_taken_for_the_other(office, tmp_path):
    with pytest.raises(ArchiveError, match="private key"):
        PublicKey.load(office)
    with pytest.raises(ArchiveError, match="public key"):
        SigningKey.load(office.with_suffix(".pub"))
    (tmp_path / "note.pub").write_text("hello")
    with pytest.raises(ArchiveError, match="not a public"):
        PublicKey.load(tmp_path / "note.pub")
    with pytest.raises(ArchiveError, match="no such file"):
        SigningKey.load(tmp_path / "missing.key")


def test_a_key_never_shows_itself(office):
    key = SigningKey.load(office)
    assert repr(key) == f"SigningKey({key.public.fingerprint})"


def test_without_the_extra_it_says_what_to_install(signed, office, monkeypatch):
    key = SigningKey.load(office)
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    assert outcome(verify(signed)) == GIVEN
    with pytest.raises(TabpeError, match=r"tabpe\[sign\]"):
        verify(signed, key=office.with_suffix(".pub"))
    with pytest.raises(TabpeError, match=r"tabpe\[sign\]"):
        make_key_pair(office.with_name("new.key"))
    assert key
