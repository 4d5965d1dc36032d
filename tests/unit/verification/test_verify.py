"""`verify`: honest certificates hold; what was changed in one is seen, or said to be unseen."""

import copy
import dataclasses
import json
from pathlib import Path

import pytest

from certificates import (
    DRAFTED,
    ENTRY,
    KINDS,
    NOISY,
    SCHEMA,
    TABLE,
    TABLE_NOISE,
    USERS,
    honest,
)
from tabpe.accounting import Certificate
from tabpe.errors import ArchiveError
from tabpe.synthesizers.options import NOISES
from tabpe.verification import FAILED, GIVEN, verify, verify_plain
from tabpe.verification.verify import STATEMENTS

EARLIER = Path(__file__).parent / "table-noise.certificate.json"


def plain_of(certificate):
    return json.loads(certificate.to_json())


def failed(plain):
    return {check.name for check in verify_plain(plain).checks if check.outcome == FAILED}


def rederived(plain, **changes):
    """The certificate with fields changed, and everything that follows from them changed too."""
    return plain_of(dataclasses.replace(Certificate.from_dict(plain), **changes))


@pytest.mark.parametrize("kind", KINDS)
def test_an_honest_certificate_holds(kind):
    found = verify_plain(plain_of(honest(**KINDS[kind])))
    assert found.holds, found.checks
    assert found.guarantee.guaranteed


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("factor", [0.99, 0.9, 0.5])
def test_less_noise_than_is_charged_for_is_seen(kind, factor):
    certificate = honest(**KINDS[kind])
    *others, votes = certificate.spends
    less = dataclasses.replace(votes, sigma=factor * votes.sigma)
    assert "epsilon" in failed(rederived(plain_of(certificate), spends=(*others, less)))


@pytest.mark.parametrize("kind", KINDS)
def test_a_stronger_guarantee_than_the_spends_keeps_is_seen(kind):
    certificate = honest(**KINDS[kind])
    lower = rederived(plain_of(certificate), epsilon=0.99 * certificate.epsilon)
    assert failed(lower) == {"epsilon"}


def test_an_item_left_out_is_seen():
    certificate = honest()
    assert "epsilon" in failed(rederived(plain_of(certificate), spends=certificate.spends[:1]))


def test_a_guarantee_for_users_made_of_one_for_rows_is_seen():
    assert failed(rederived(plain_of(honest()), neighbours=USERS, unit="patient"))


def test_more_rows_of_a_user_are_seen():
    more = dataclasses.replace(USERS, max_rows=3)
    assert "noise" in failed(rederived(plain_of(honest(neighbours=USERS)), neighbours=more))


# How to change a number so that it should be seen, and what is a plain statement instead.
STATED = {
    ("requested_epsilon",),
    ("configuration", "n_samples"),
    ("configuration", "rounds"),
    ("spends", 0, "delta_share"),
    ("spends", 1, "delta_share"),
}
OF_THE_TABLE = {("release", "rows"), ("release", "size_bytes"), ("release", "sha256")}


def numbers(plain, above=()):
    for key in plain if isinstance(plain, dict) else range(len(plain)):
        value, here = plain[key], (*above, key)
        if isinstance(value, (dict, list)):
            yield from numbers(value, here)
        elif isinstance(value, (int, float)) or key in ("sha256", "schema_digest"):
            yield here


def tampered(plain, path):
    plain = copy.deepcopy(plain)
    holder = plain
    for key in path[:-1]:
        holder = holder[key]
    value = holder[path[-1]]
    if isinstance(value, str):
        holder[path[-1]] = "0" * 64
    elif isinstance(value, bool):
        holder[path[-1]] = not value
    else:
        holder[path[-1]] = value + 1 if isinstance(value, int) else value * 1.05 or 1e-9
    return plain


@pytest.mark.parametrize(
    "kind", ["a table and a ledger", "users", "noise from a table", "a noisy delta", "told values"]
)
def test_every_number_and_hash_that_is_changed_is_seen_or_said_to_be_unseen(kind):
    plain = plain_of(honest(**KINDS[kind]))
    unseen = set()
    for path in numbers(plain):
        try:
            found = failed(tampered(plain, path))
        except ArchiveError:
            continue
        if not found and path not in OF_THE_TABLE:
            unseen.add(path)
    assert unseen <= STATED | {("release", "formulas_escaped")}


@pytest.mark.parametrize(
    "name", ["requested_epsilon", "configuration", "delta_share", "created", "unit"]
)
def test_what_is_not_checked_is_said(name):
    assert name in STATEMENTS
    assert STATEMENTS in verify_plain(plain_of(honest())).not_checked


@pytest.mark.parametrize("field", ["status", "guarantee"])
def test_words_that_do_not_follow_are_seen(field):
    plain = plain_of(honest())
    other = plain_of(honest(schema=DRAFTED))
    assert failed(plain | {field: other[field]}) == {"words"}


@pytest.mark.parametrize("name", ["fake", honest().noise])
def test_fake_noise_fails_whatever_it_is_called(name):
    found = verify_plain(rederived(plain_of(honest(private=False)), noise=name))
    assert any("NOT PRIVATE" in check.words for check in found.checks if check.outcome == FAILED)


def test_fake_noise_that_is_said_to_be_private_fails():
    assert failed(rederived(plain_of(honest(private=False)), private=True)) == {"noise"}


def test_an_unknown_source_of_noise_fails():
    assert failed(rederived(plain_of(honest()), noise="my own")) == {"noise"}


@pytest.mark.parametrize("source", NOISES.values())
def test_certificates_of_every_source_of_noise_hold(source):
    assert verify_plain(plain_of(honest(noise=source.name))).holds


def test_noise_from_a_table_that_is_called_exact_is_seen():
    plain = plain_of(honest(noise=TABLE_NOISE))
    assert "noise" in failed(rederived(plain, noise=honest().noise))


def test_noise_from_a_table_whose_delta_does_not_cover_its_sampling_error_is_seen():
    plain = plain_of(honest(noise=TABLE_NOISE))
    assert plain["sampling_delta"] > 0
    assert "noise" in failed(rederived(plain, sampling_delta=0.0))
    assert "noise" in failed(rederived(plain, sampling_delta=plain["sampling_delta"] / 2))


def test_a_certificate_of_an_earlier_version_with_noise_from_a_table_holds():
    """Written by the last version that had that source, of a run on a made-up table."""
    plain = json.loads(EARLIER.read_text())
    assert plain["noise"] == TABLE_NOISE
    found = verify_plain(plain)
    assert found.holds
    (check,) = (check for check in found.checks if check.name == "noise")
    assert "covers its sampling error" in check.words


def test_a_schema_other_than_the_digest_says_is_seen():
    plain = plain_of(honest())
    plain["schema"]["columns"][0]["max"] = 98
    assert failed(plain) == {"schema"}
    plain["schema"] = {"columns": []}
    assert failed(plain) == {"schema"}


def test_fields_from_the_data_are_a_condition_said_loudly():
    found = verify_plain(plain_of(honest(schema=DRAFTED)))
    assert found.holds
    given = [check for check in found.checks if check.outcome == GIVEN]
    assert [check.name for check in given] == ["public"]
    assert "HOLDS ONLY GIVEN" in given[0].words
    assert "age.min" in given[0].words


def test_fields_from_the_data_can_not_be_kept_back():
    hidden = rederived(plain_of(honest(schema=DRAFTED)), fields_from_data=())
    assert failed(hidden) == {"schema"}


def test_a_delta_that_follows_another_number_of_rows_is_seen():
    plain = plain_of(honest(rows=NOISY))
    assert "delta" in failed(rederived(plain, delta=2 * plain["delta"]))
    more = dataclasses.replace(NOISY, estimate=5001.0)
    assert "delta" in failed(rederived(plain, delta_rows=more))


def test_a_delta_without_its_parts_is_seen():
    certificate = honest()
    telling = tuple(dataclasses.replace(item, delta_share=1e-6) for item in certificate.spends)
    assert {"delta", "epsilon"} <= failed(rederived(plain_of(certificate), spends=telling))


def test_a_user_column_without_a_limit_of_rows_is_seen():
    assert "noise" in failed(rederived(plain_of(honest()), unit="patient"))


def test_an_empty_spends_is_seen():
    assert "epsilon" in failed(rederived(plain_of(honest()), spends=()))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "not json",
        '{"format": 1, "format": 1}',
        '{"format": NaN}',
        '{"format": 1, "epsilon": 1e999}',
        "[" * 100_000,
        "\udcff",
    ],
)
def test_what_is_no_certificate_can_not_be_verified(tmp_path, text):
    path = tmp_path / "bad.json"
    path.write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(ArchiveError, match=r"bad\.json|certificate"):
        verify(path)
    with pytest.raises(ArchiveError, match="gone"):
        verify(tmp_path / "gone.json")


def test_the_report_survives_json():
    found = verify_plain(plain_of(honest(release=TABLE, ledger=ENTRY)))
    plain = json.loads(json.dumps(found.to_dict()))
    assert plain["holds"] is True
    assert plain["guarantee"]["not_guaranteed"]
    assert {check["outcome"] for check in plain["checks"]} == {"OK"}
    assert any("out.csv" in line for line in plain["not_checked"])


def test_the_schema_of_these_tests_is_plain():
    assert SCHEMA.fields_from_data == ()


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"epsilon": "1"}, ["epsilon"]),
        ({"surprise": 1}, ["surprise"]),
        ({"spends": [{"name": "votes"}]}, ["spends[0].sigma"]),
        ({"delta": 2, "notes": 5, "private": 1}, ["delta", "notes", "private"]),
        ({"adjacency": "far"}, ["adjacency"]),
    ],
)
def test_fields_that_do_not_fit_fail_a_check_that_names_them(tmp_path, change, named):
    path = tmp_path / "changed.json"
    path.write_text(json.dumps(plain_of(honest()) | change))
    found = verify(path)
    assert not found.holds
    (check,) = found.checks
    assert check.name == "format"
    assert all(name in check.words for name in named)
    assert json.loads(json.dumps(found.to_dict()))["guarantee"] is None


def test_fields_that_are_missing_fail_a_check_that_names_them():
    plain = plain_of(honest())
    del plain["epsilon"], plain["spends"]
    (check,) = verify_plain(plain).checks
    assert check.outcome == "FAILED"
    assert "epsilon" in check.words
    assert "spends" in check.words
