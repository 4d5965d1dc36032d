"""A certificate against the entry of a ledger that it names."""

import dataclasses
import json

import pytest

from certificates import honest
from tabpe.accounting.certificate import LedgerEntry, WrittenTable
from tabpe.accounting.ledger import Ledger
from tabpe.errors import LedgerError
from tabpe.verification import verify_plain


@pytest.fixture
def ledger(tmp_path):
    return Ledger(tmp_path / "ledger.db")


@pytest.fixture
def certificate(ledger):
    """A certificate whose run is reserved."""
    entry = ledger.reserve("patients", honest().spends)
    return dataclasses.replace(honest(), ledger=LedgerEntry("patients", entry.id))


def found(certificate, ledger):
    report = verify_plain(json.loads(certificate.to_json()), ledger=ledger.path)
    (check,) = (check for check in report.checks if check.name == "ledger")
    assert report.holds == (check.outcome == "OK")
    return check


def spend(certificate, ledger):
    ledger.spend(certificate.ledger.entry, certificate.spends, certificate.digest)
    return certificate


def test_the_certificate_that_was_noted_holds(certificate, ledger):
    assert found(spend(certificate, ledger), ledger).outcome == "OK"


def test_the_table_may_be_written_later(certificate, ledger):
    spend(certificate, ledger)
    written = certificate.for_file(WrittenTable("out.csv", "ab" * 32, 10, 500))
    assert found(written, ledger).outcome == "OK"


def test_a_run_that_is_not_spent_fails(certificate, ledger):
    assert "is reserved" in found(certificate, ledger).words


@pytest.mark.parametrize(
    "change", [{"notes": ("another",)}, {"created": "2020-01-01"}, {"seed_policy": "none"}]
)
def test_a_changed_statement_fails(certificate, ledger, change):
    spend(certificate, ledger)
    changed = dataclasses.replace(certificate, **change)
    assert "another certificate" in found(changed, ledger).words


def test_a_certificate_without_an_entry_fails(certificate, ledger):
    assert "names no entry" in found(dataclasses.replace(certificate, ledger=None), ledger).words


def test_an_entry_of_another_ledger_fails(certificate, ledger, tmp_path):
    other = Ledger(tmp_path / "other.db")
    other.reserve("patients", certificate.spends)
    assert "not in this ledger" in found(certificate, other).words


def test_another_data_set_fails(certificate, ledger):
    spend(certificate, ledger)
    moved = dataclasses.replace(certificate, ledger=LedgerEntry("others", certificate.ledger.entry))
    assert found(moved, ledger).outcome == "FAILED"


def test_a_damaged_ledger_fails(certificate, ledger):
    spend(certificate, ledger)
    content = bytearray(ledger.path.read_bytes())
    place = content.index(certificate.digest.encode())
    content[place : place + 4] = b"0000" if content[place : place + 4] != b"0000" else b"1111"
    ledger.path.write_bytes(content)
    assert found(certificate, ledger).outcome == "FAILED"


def test_a_ledger_that_is_not_there_is_an_error(certificate, tmp_path):
    with pytest.raises(LedgerError, match="no such ledger"):
        verify_plain(json.loads(certificate.to_json()), ledger=tmp_path / "none.db")
