"""Certificates from files: what is malformed is refused by name, here and by the JSON Schema."""

import copy
import dataclasses
import hashlib
import json
import math
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tabpe.accounting
from certificates import ENTRY, KINDS, TABLE, honest
from tabpe.accounting import Certificate, ReleaseStatement, SpentTotal
from tabpe.errors import ArchiveError, ParameterError

FILE = Path(tabpe.accounting.__file__).with_name("certificate.schema.json")
SCHEMA = json.loads(FILE.read_text())
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
PLAIN = json.loads(honest(release=TABLE, ledger=ENTRY).to_json())


def paths(plain, above=()):
    """All places in plain values, but for those inside free mappings."""
    for key in plain if isinstance(plain, dict) else range(len(plain)):
        here = (*above, key)
        yield here
        if isinstance(plain[key], (dict, list)) and key not in ("schema", "configuration"):
            yield from paths(plain[key], here)


PLACES = list(paths(PLAIN))


def changed(path, value):
    plain = copy.deepcopy(PLAIN)
    holder = plain
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = value
    return plain


def is_read(plain):
    try:
        Certificate.from_dict(plain)
    except ArchiveError as error:
        assert str(error).startswith("certificate")  # noqa: PT017
        return False
    return True


def test_the_json_schema_is_one_of_its_kind():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_certificate_is_read_and_valid(kind):
    certificate = honest(**KINDS[kind])
    plain = json.loads(certificate.to_json())
    VALIDATOR.validate(plain)
    assert Certificate.from_dict(plain) == certificate


def test_a_certificate_without_a_digest_of_measurements_is_of_format_1_and_stays_as_it_is():
    old = dataclasses.replace(honest(release=TABLE, ledger=ENTRY), measurements_sha256=None)
    plain = json.loads(old.to_json())
    assert plain["format"] == 1
    assert "measurements_sha256" not in plain
    VALIDATOR.validate(plain)
    read = Certificate.from_dict(plain)
    assert read == old
    canonical = json.dumps(plain | {"release": None}, sort_keys=True, separators=(",", ":"))
    assert read.digest == hashlib.sha256(canonical.encode()).hexdigest()


@pytest.mark.parametrize("name", PLAIN)
def test_a_missing_field_is_named(name):
    plain = {key: value for key, value in PLAIN.items() if key != name}
    with pytest.raises(ArchiveError, match=name):
        Certificate.from_dict(plain)
    assert not VALIDATOR.is_valid(plain)


@pytest.mark.parametrize("path", [(), ("spends", 0), ("release",), ("ledger",), ("guarantee",)])
def test_an_unknown_field_is_named(path):
    plain = changed((*path, "surprise"), 1)
    with pytest.raises(ArchiveError, match="surprise"):
        Certificate.from_dict(plain)
    assert not VALIDATOR.is_valid(plain)


@pytest.mark.parametrize("path", PLACES, ids=lambda path: ".".join(map(str, path)))
def test_a_value_of_a_wrong_kind_is_named(path):
    for value in ({"a": [1]}, [[1]], -1):
        plain = changed(path, value)
        if VALIDATOR.is_valid(plain):
            continue  # a mapping where any mapping is fine
        with pytest.raises(ArchiveError, match=str(path[-1])):
            Certificate.from_dict(plain)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("epsilon",), math.nan),
        (("epsilon",), math.inf),
        (("epsilon",), 10**400),
        (("delta",), 1.0),
        (("delta",), 0),
        (("format",), True),
        (("format",), 1),
        (("format",), 3),
        (("measurements_sha256",), None),
        (("private",), 1),
        (("schema_digest",), "AB" * 32),
        (("schema_digest",), "ab" * 31),
        (("adjacency",), "swap"),
        (("max_rows_per_user",), 10**9),
        (("spends", 0, "sigma"), 0),
        (("spends", 0, "sigma"), 1e300),
        (("spends", 0, "times"), 1.5),
        (("spends", 0, "times"), 10**12),
        (("spends", 0, "delta_share"), 1),
        (("spends",), [PLAIN["spends"][0]] * 1001),
        (("release", "rows"), True),
    ],
)
def test_a_number_out_of_range_is_refused_here_and_there(path, value):
    plain = changed(path, value)
    assert not is_read(plain)
    if not (isinstance(value, float) and not math.isfinite(value)):
        assert value == 10**400 or not VALIDATOR.is_valid(plain)


plain_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)


@given(path=st.sampled_from(PLACES), value=plain_values)
@settings(deadline=None, max_examples=300)
def test_whatever_is_read_is_valid_and_nothing_else_is_raised(path, value):
    plain = changed(path, value)
    if is_read(plain) and path != ("status",):
        derived = {"mechanism", "status"}
        assert path[-1] in derived or VALIDATOR.is_valid(plain)


@given(plain=plain_values)
def test_what_is_no_certificate_is_refused(plain):
    assert not is_read(plain)


STATEMENT = ReleaseStatement("Teaching", "Data office", SpentTotal(2, 1.4, 1e-6, 2.0))


@pytest.mark.parametrize(
    "statement",
    [
        STATEMENT,
        ReleaseStatement(),
        ReleaseStatement(purpose="a\u200cb é 隐私", total=SpentTotal(3)),
    ],
)
def test_a_statement_is_written_and_read_and_no_part_of_the_digest(statement):
    certificate = honest(release=TABLE, ledger=ENTRY)
    stated = certificate.with_statement(statement)
    plain = json.loads(stated.to_json())
    VALIDATOR.validate(plain)
    assert Certificate.from_dict(plain) == stated
    assert stated.digest == certificate.digest


@pytest.mark.parametrize(
    "change",
    [
        {"purpose": ""},
        {"purpose": "x" * 401},
        {"contact": "x" * 201},
        {"contact": 7},
        {"total": {"runs": -1, "epsilon": None, "delta": None, "budget": None}},
        {"total": {"runs": 1, "epsilon": None, "delta": 2.0, "budget": None}},
        {"total": {"runs": 1}},
        {"more": 1},
    ],
)
def test_a_malformed_statement_is_refused_here_and_by_the_json_schema(change):
    plain = json.loads(honest().with_statement(STATEMENT).to_json())
    plain["statement"] |= change
    assert not is_read(plain)
    assert not VALIDATOR.is_valid(plain)


@pytest.mark.parametrize("text", ["a\nb", "a\x00", "\ud800", "\u202eabc", " "])
def test_a_statement_is_one_line_of_printable_text(text):
    with pytest.raises(ParameterError, match="purpose"):
        ReleaseStatement(purpose=text)
