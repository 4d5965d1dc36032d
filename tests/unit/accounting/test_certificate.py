"""Certificates: JSON there and back, and text that a person can read."""

import dataclasses
import json
import re

import pytest

from certificates import ENTRY, KINDS, TABLE, honest
from tabpe.accounting import Certificate, Spend
from tabpe.errors import ArchiveError


@pytest.fixture
def certificate():
    return dataclasses.replace(
        honest(),
        epsilon=0.999991,
        delta=1.5744e-5,
        delta_source="delta = 1/(n ln n) with a noisy n, stated on the safe side",
        spends=(Spend("class counts", 30.0, 1), Spend("votes", 15.0, 15)),
        accountant="privacy loss distributions " * 6,
    )


def test_json_gives_the_same_certificate_back(certificate):
    assert Certificate.from_dict(json.loads(certificate.to_json())) == certificate


def test_json_states_what_a_custodian_asks_for(certificate):
    plain = json.loads(certificate.to_json())
    assert plain["status"] == "private"
    assert plain["adjacency"] == "add-remove"
    assert [item["name"] for item in plain["spends"]] == ["class counts", "votes"]
    assert {item["sensitivity"] for item in plain["spends"]} == {1}
    assert set(plain) >= {"epsilon", "delta", "accountant", "versions", "schema_digest"}


def test_the_shares_of_the_list_of_spends_add_up(certificate):
    assert sum(map(certificate.share, certificate.spends)) == pytest.approx(1)
    assert certificate.share(certificate.spends[1]) > 0.9


def test_the_certificate_can_not_be_changed(certificate):
    with pytest.raises(dataclasses.FrozenInstanceError):
        certificate.epsilon = 0.1


@pytest.mark.parametrize(
    "changes",
    [{}, {"private": False}, {"fields_from_data": ("a" * 99, "b")}, {"sampling_delta": 1.234e-31}],
)
def test_the_text_fits_a_terminal(certificate, changes):
    text = str(dataclasses.replace(certificate, **changes))
    assert max(map(len, text.splitlines())) <= 80


def test_the_text_names_every_spend(certificate):
    text = str(certificate)
    assert "class counts" in text
    assert "votes" in text
    assert "15 x sigma 15" in text


@pytest.mark.parametrize("delta", [1.5744e-5, 1.5754e-5, 9.9949e-7, 1e-6])
@pytest.mark.parametrize("epsilon", [0.123456, 1 / 3, 0.9999991])
def test_the_text_never_guarantees_more_than_was_certified(certificate, epsilon, delta):
    text = str(dataclasses.replace(certificate, epsilon=epsilon, delta=delta))
    stated = re.search(r"\((\S+), (\S+)\)-differential", text)
    assert float(stated[1]) >= epsilon * (1 - 1e-9)
    assert float(stated[2]) >= delta * (1 - 1e-9)


def test_a_fake_source_is_stamped_in_text_and_json(certificate):
    fake = dataclasses.replace(certificate, private=False)
    assert "NOT PRIVATE" in str(fake).splitlines()[1]
    assert json.loads(fake.to_json())["status"] == "NOT PRIVATE"
    assert Certificate.from_dict(fake.to_dict()).status == "NOT PRIVATE"


def test_fields_from_the_data_are_listed_and_not_covered(certificate):
    loud = dataclasses.replace(certificate, fields_from_data=("age.min", "age.max"))
    assert loud.status != "private"
    assert "age.min, age.max" in str(loud)
    assert "not covered" in " ".join(str(loud).split())


def test_a_fake_run_on_a_drafted_schema_shows_both_warnings(certificate):
    both = dataclasses.replace(certificate, private=False, fields_from_data=("age.min",))
    assert "NOT PRIVATE" in str(both)
    assert "age.min" in str(both)


def test_another_format_is_refused(certificate):
    with pytest.raises(ArchiveError, match="format"):
        Certificate.from_dict(certificate.to_dict() | {"format": 99})


def test_the_sampling_error_of_exact_noise_is_not_spoken_of(certificate):
    assert "sampling" not in str(certificate)
    assert json.loads(certificate.to_json())["sampling_delta"] == 0


def test_the_sampling_error_of_other_noise_is_stated_spend_by_spend(certificate):
    inexact = dataclasses.replace(certificate, sampling_delta=1.6004e-30)
    text = " ".join(str(inexact).split())
    assert "1.61e-30 of delta" in text
    assert "1.1e-31 for class counts" in text
    assert "1.6e-30 for votes" in text
    plain = json.loads(inexact.to_json())
    assert plain["sampling_delta"] == 1.6004e-30
    assert sum(item["sampling_delta"] for item in plain["spends"]) == pytest.approx(1.6004e-30)
    assert Certificate.from_dict(plain) == inexact


def test_the_table_and_the_ledger_are_named(certificate):
    tied = dataclasses.replace(certificate.for_file(TABLE), ledger=ENTRY)
    assert certificate.release is None
    assert Certificate.from_dict(json.loads(tied.to_json())) == tied
    text = str(tied)
    assert "out.csv: 10 rows, sha256 abababababababab..." in text
    assert "patients, entry 17" in text
    assert "bmi.min, bmi.max" in text


@pytest.mark.parametrize("kind", KINDS)
def test_the_text_of_every_kind_fits_a_terminal(kind):
    text = str(honest(**KINDS[kind]))
    assert max(map(len, text.splitlines())) <= 78


def test_a_guarantee_for_users_names_their_column():
    text = " ".join(str(honest(**KINDS["users"])).split())
    assert "a user is a value of 'patient', with 4 rows at most" in text


def test_a_delta_that_follows_noisy_rows_is_accounted_for_below_the_guaranteed_one():
    noisy, plain = honest(**KINDS["a noisy delta"]), honest()
    assert noisy.accounted_delta < noisy.delta
    assert plain.accounted_delta == plain.delta
