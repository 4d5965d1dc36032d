"""Whatever a file holds, a loader gives a value that can be saved again, or says what is wrong.

Never another error, never without end.
"""

import contextlib
import dataclasses
import io
import json
import math
import zipfile

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from certificates import honest
from facade import columns, fake_fit
from hostile import damaged, fuzz, mutations, places
from tabpe import Boolean, Categorical, Float, Integer, Schema, TabPE
from tabpe._utils import yaml12
from tabpe.accounting import Certificate
from tabpe.accounting.certificate import LedgerEntry, WrittenTable
from tabpe.accounting.delta import RowCount
from tabpe.errors import ArchiveError, SchemaError, TabpeError
from tabpe.verification import verify_plain

LONGEST_MESSAGE = 1000
WIDE = Schema(
    (
        Integer("age", 0, 100),
        Float("bmi", 10.0, 60.0, decimals=1),
        Categorical("ward", ("heart", "lung", "é ="), other="lung"),
        Categorical("code", (1, 2, 3)),
        Boolean("ill"),
    ),
    label="age",
    label_cuts=(20, 65),
)
PLAIN = WIDE.to_dict()


def assert_readable(error):
    message = str(error)
    assert len(message) < LONGEST_MESSAGE
    assert message.isprintable()


# Schemas.


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder for small files that need not outlive a loss of power."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.fsync", lambda _: None)
        yield tmp_path_factory.mktemp("hostile")


def load_schema(path, text):
    """Load a schema, and hold it to the property."""
    path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"))
    try:
        schema = Schema.load(path)
    except SchemaError as error:
        assert_readable(error)
        return
    for again in (path.with_name("again.yaml"), path.with_name("again.json")):
        schema.save(again)
        assert Schema.load(again) == schema
    assert Schema.load(again).digest == schema.digest


@fuzz(200)
@given(mutations(PLAIN))
def test_schemas_with_other_values(folder, plain):
    text = json.dumps(plain)
    load_schema(folder / "s.json", text)
    load_schema(folder / "s.yaml", text)


YAML = yaml12.dump(PLAIN)
yaml_letters = st.sampled_from(
    [
        *"[]{}:,-?&*!|>'\"%@`#\n\t \\~<=.0123456789",
        "&a ",
        "*a",
        "<<: ",
        "!!bool ",
        "? ",
        "\n  ",
        "\x00",
    ]
)


@fuzz(200)
@given(damaged(YAML, yaml_letters))
def test_schemas_with_other_letters(folder, text):
    load_schema(folder / "s.yaml", text)


@fuzz(200)
@given(
    damaged(
        json.dumps(PLAIN), st.sampled_from([*'[]{}:,"\\-+.eE019', "NaN", "\\ud800", "1" * 5000])
    )
)
def test_json_schemas_with_other_letters(folder, text):
    load_schema(folder / "s.json", text)


@fuzz(100)
@given(st.binary(max_size=40) | st.text(max_size=40))
@pytest.mark.parametrize("name", ["s.json", "s.yaml"])
def test_schemas_of_anything(folder, name, text):
    load_schema(folder / name, text)


# Certificates.


@pytest.fixture(scope="module")
def model(folder):
    model = fake_fit(pa.table(columns()), epsilon=1.0, n_samples=5)
    model.save(folder / "honest.tabpe")
    return model


CERTIFICATE = json.loads(
    dataclasses.replace(
        honest(),
        delta_rows=RowCount(5000.0, 30.5),
        fields_from_data=("age.min",),
        release=WrittenTable("out.csv", "ab" * 32, 10, 500),
        ledger=LedgerEntry("patients", "an id"),
    ).to_json()
)
# These follow from others and are derived anew; `tabpe verify` compares them.
DERIVED = {"status", "guarantee"}
NONE_TOO = {"delta_rows", "unit", "max_rows_per_user", "release", "ledger"}


@fuzz(300)
@given(mutations(CERTIFICATE))
def test_certificates_with_other_values(plain):
    try:
        certificate = Certificate.from_dict(plain)
    except ArchiveError as error:
        assert_readable(error)
        return
    text = certificate.to_json()
    text.encode()
    str(certificate).encode()
    assert Certificate.from_dict(json.loads(text)).to_json() == text


@pytest.mark.parametrize("name", ["schema", "configuration"])
@pytest.mark.parametrize("value", [math.nan, math.inf, 10**400, {5: 1}, "deep"])
def test_what_json_can_not_hold_is_refused_in_a_certificate(name, value):
    if value == "deep":
        value = {}
        for _ in range(5_000):
            value = {"a": value}
    with pytest.raises(ArchiveError, match=rf"certificate:? {name}"):
        Certificate.from_dict(CERTIFICATE | {name: {"a": value}})


@fuzz(200)
@given(mutations(CERTIFICATE))
def test_certificates_with_other_values_are_verified(plain):
    try:
        found = verify_plain(plain)
    except ArchiveError as error:
        assert_readable(error)
        return
    assert found.checks
    assert all(check.words.isprintable() for check in found.checks)
    json.dumps(found.to_dict(), allow_nan=False).encode()


@pytest.mark.parametrize("name", sorted(CERTIFICATE))
def test_a_field_that_is_missing_from_a_certificate_is_named(name):
    plain = {key: value for key, value in CERTIFICATE.items() if key != name}
    with pytest.raises(ArchiveError, match=rf"certificate:? {name}"):
        Certificate.from_dict(plain)


@pytest.mark.parametrize("name", sorted(set(CERTIFICATE) - DERIVED))
@pytest.mark.parametrize("wrong", [None, 5.5, {"a": 1}, [1], math.nan])
def test_a_field_of_another_type_is_named(name, wrong):
    plain = CERTIFICATE | {name: wrong}
    if (wrong is None and name in NONE_TOO) or (
        isinstance(wrong, (float, dict)) and type(wrong) is type(CERTIFICATE[name])
    ):
        return
    with pytest.raises(ArchiveError, match=rf"certificate:? {name}"):
        Certificate.from_dict(plain)


@pytest.mark.parametrize(
    "item", [{"sigma": 1e-200}, {"sigma": 1e308}, {"times": 10**400}, {"sigma": 0}, {"times": 0}]
)
def test_a_spends_that_can_not_be_added_up_is_refused(item):
    spends = [CERTIFICATE["spends"][0] | item]
    with pytest.raises(ArchiveError, match=r"certificate: spends"):
        Certificate.from_dict(CERTIFICATE | {"spends": spends})


@pytest.mark.parametrize("plain", [None, [], "text", 5])
def test_what_is_no_mapping_is_no_certificate(plain):
    with pytest.raises(ArchiveError, match="certificate"):
        Certificate.from_dict(plain)


# Saved models.


def load_model(path):
    """Load a model, and hold it to the property."""
    try:
        model = TabPE.load(path)
    except ArchiveError as error:
        assert_readable(str(error).replace(str(path), ""))
        return
    again = path.with_name("again.tabpe")
    model.save(again)
    loaded = TabPE.load(again)
    assert loaded.certificate.to_json() == model.certificate.to_json()
    assert loaded.schema_ == model.schema_
    assert json.dumps(loaded.history_) == json.dumps(model.history_)
    assert loaded.n_evolved_ == model.n_evolved_
    assert len(loaded.sample(7)) == len(model.sample(7)) == 7
    with contextlib.suppress(TabpeError):  # the step size may be none
        assert len(model.sample(12, smooth=True)) == 12


def parts_of(path):
    with zipfile.ZipFile(path) as archive:
        return {part.filename: archive.read(part) for part in archive.infolist()}


def write_zip(target, parts, packing=zipfile.ZIP_STORED):
    with zipfile.ZipFile(target, "w", packing) as archive:
        for name, content in parts:
            archive.writestr(name, content)


@fuzz(200)
@given(data=st.data())
def test_models_with_other_text(model, folder, data):
    parts = parts_of(folder / "honest.tabpe")
    text = data.draw(mutations(json.loads(parts["model.json"])))
    write_zip(
        folder / "m.tabpe", [("model.json", json.dumps(text)), ("rows.npz", parts["rows.npz"])]
    )
    load_model(folder / "m.tabpe")


# As JSON may write them, and `json.dumps` never does.
TOKENS = {
    "beyond floats": "1e999",
    "far below": "-1e999",
    "a long number": "1" + "0" * 400,
    "a very long number": "9" * 5000,
    "the largest": "1e308",
    "beyond 64 bits": "9223372036854775808",
    "minus one": "-1",
    "deep lists": "[" * 3000 + "]" * 3000,
    "deep mappings": '{"a":' * 2000 + "1" + "}" * 2000,
    "text": '"x"',
    "nothing": "null",
}


def load_with(folder, path, token):
    """Load a model with a token in one place of its text."""
    parts = parts_of(folder / "honest.tabpe")
    plain = parent = json.loads(parts["model.json"])
    for step in path[:-1]:
        parent = parent[step]
    parent[path[-1]] = "@"
    text = json.dumps(plain).replace('"@"', TOKENS[token])
    write_zip(folder / "m.tabpe", [("model.json", text), ("rows.npz", parts["rows.npz"])])
    load_model(folder / "m.tabpe")


@fuzz(300)
@given(data=st.data())
def test_models_with_numbers_that_python_does_not_write(model, folder, data):
    plain = json.loads(parts_of(folder / "honest.tabpe")["model.json"])
    path = data.draw(st.sampled_from(places(plain)))
    load_with(folder, path, data.draw(st.sampled_from(sorted(TOKENS))))


@pytest.mark.parametrize("token", TOKENS)
@pytest.mark.parametrize(
    "path",
    [
        ("seed",),
        ("schema", "columns", 1, "max"),
        ("certificate", "schema", "label"),
        ("certificate", "configuration", "rounds"),
        ("history", -1, "mutation_rate"),
        ("parameters", "epsilon"),
    ],
)
def test_a_number_of_a_model_that_nothing_can_hold(model, folder, path, token):
    load_with(folder, path, token)


@fuzz(150)
@given(data=st.data())
def test_models_with_other_bytes(model, folder, data):
    letters = st.binary(max_size=4)
    content = data.draw(damaged((folder / "honest.tabpe").read_bytes(), letters))
    (folder / "m.tabpe").write_bytes(content)
    load_model(folder / "m.tabpe")


@fuzz(150)
@given(data=st.data())
def test_models_with_other_bytes_in_their_arrays(model, folder, data):
    parts = parts_of(folder / "honest.tabpe")
    arrays = parts_of(io.BytesIO(parts["rows.npz"]))
    name = data.draw(st.sampled_from(sorted(arrays)))
    arrays[name] = data.draw(damaged(arrays[name], st.binary(max_size=4)))
    rows = io.BytesIO()
    write_zip(rows, arrays.items())
    write_zip(
        folder / "m.tabpe", [("model.json", parts["model.json"]), ("rows.npz", rows.getvalue())]
    )
    load_model(folder / "m.tabpe")


KINDS = ["f2", "f4", "f8", "u1", "u8", "i1", "i8", "b1", "c16", "S3", "U3", "M8[s]", "m8[s]", "V4"]


@fuzz(150)
@given(data=st.data())
def test_models_with_other_arrays(model, folder, data):
    parts = parts_of(folder / "honest.tabpe")
    with np.load(io.BytesIO(parts["rows.npz"])) as saved:
        arrays = dict(saved)
    name = data.draw(st.sampled_from([*arrays, "more"]))
    shape = data.draw(
        st.sampled_from([(), (0,), (5,), (1,), (5, 0), (5, 1), (5, 2), (5, 3), (2, 2, 2)])
    )
    arrays[name] = np.zeros(shape, data.draw(st.sampled_from(KINDS)))
    rows = io.BytesIO()
    np.savez(rows, **arrays)
    write_zip(
        folder / "m.tabpe", [("model.json", parts["model.json"]), ("rows.npz", rows.getvalue())]
    )
    load_model(folder / "m.tabpe")
