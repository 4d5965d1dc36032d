"""Tables, schemas, certificates and audits, from whatever form they come in."""

import dataclasses
import json

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pytest

from certificates import honest
from tabpe import Boolean, Categorical, Float, Integer, Schema
from tabpe.errors import ArchiveError, DataError, ParameterError
from tabpe.evaluation.report.evaluate import (
    RunProvenance,
    format_first_rows,
    load_audit,
    load_certificate,
    load_schema,
    open_tables,
)

SCHEMA = Schema((Integer("age", 0, 100), Boolean("ill")), label="ill")
TABLE = pa.table({"age": [25, 50, None], "ill": [True, False, True]})
AUDIT = {
    "system": "as shipped",
    "claim": {"epsilon": 1.0, "delta": 1e-5},
    "alarm": 1e-6,
    "holds": True,
    "findings": [
        {
            "kind": "lower bound on epsilon",
            "test": "votes",
            "claim": {"epsilon": 1.0, "delta": 1e-5},
            "epsilon": 0.6,
            "visible": 8.0,
            "samples": 1000,
            "holds": True,
        },
        {
            "kind": "repetition of noise",
            "test": "two rounds",
            "p_value": 0.3,
            "samples": 10,
            "holds": True,
        },
    ],
}


@pytest.mark.parametrize("form", [lambda table: table, pa.Table.to_pandas, pl.from_arrow])
def test_tables_of_any_library_are_read_alike(form):
    tables = open_tables(form(TABLE), form(TABLE.slice(0, 2)), None, SCHEMA, None)
    assert (len(tables.real), len(tables.synthetic), tables.test) == (3, 2, None)
    assert tables.real["age"].missing.tolist() == [False, False, True]


def test_paths_are_read_too(tmp_path):
    pa.csv.write_csv(TABLE, tmp_path / "t.csv")
    tables = open_tables(str(tmp_path / "t.csv"), TABLE, tmp_path / "t.csv", SCHEMA, None)
    assert tables.real["age"].values[:2].tolist() == [25, 50]
    assert tables.test["ill"].values.tolist() == [1, 0, 1]


def test_a_table_that_lacks_a_column_is_named():
    with pytest.raises(DataError, match=r"synthetic.*'ill'"):
        open_tables(TABLE, TABLE.select(["age"]), None, SCHEMA, None)


def test_a_table_that_is_not_as_declared_is_named():
    text = TABLE.set_column(0, "age", pa.array(["a", "b", "c"]))
    for tables, role in (((text, TABLE, TABLE), "real"), ((TABLE, TABLE, text), "test")):
        with pytest.raises(DataError, match=f"{role}.*'age'"):
            open_tables(*tables, SCHEMA, None)


def test_without_a_schema_a_column_that_the_synthetic_table_lacks_is_left_out():
    wide = TABLE.append_column("id", pa.array([1, 2, 3]))
    tables = open_tables(wide, TABLE, None, None, "ill")
    assert tables.schema.names == ("age", "ill")
    assert any(
        note.startswith("left out: the synthetic table has no column 'id'") for note in tables.notes
    )
    with pytest.raises(DataError, match=r"label='ill'.*synthetic"):
        open_tables(TABLE, TABLE.select(["age"]), None, None, "ill")
    with pytest.raises(DataError, match=r"test.*'age'"):
        open_tables(TABLE, TABLE, TABLE.select(["ill"]), None, "ill")


def test_values_that_are_written_differently_are_noted():
    real = pa.table({"smoker": ["yes", "no", "no"], "age": [1, 2, 3]})
    for cells, expected in (
        (["True", "False", "True"], 1),
        (["yes", "True", "x"], 0),
        ([None] * 3, 0),
    ):
        made = real.set_column(0, "smoker", pa.array(cells, pa.string()))
        notes = open_tables(real, made, None, None, None).notes
        assert (
            len([note for note in notes if note.startswith("column 'smoker': no synth")])
            == expected
        )


def test_what_is_no_table_is_named():
    with pytest.raises(DataError, match=r"^synthetic: int"):
        open_tables(TABLE, 3, None, SCHEMA, None)


def test_columns_beside_the_schema_are_counted_and_left_out():
    wide = TABLE.append_column("secret name", pa.array(["a", "b", "c"]))
    tables = open_tables(wide, TABLE, None, SCHEMA, None)
    assert tables.notes == ("the real table has 1 column that is not measured",)
    assert list(tables.sample) == ["age", "ill"]


def test_a_schema_is_given_or_comes_from_the_certificate(tmp_path):
    SCHEMA.save(tmp_path / "s.yaml")
    certificate = honest()
    assert load_schema(SCHEMA, certificate) is SCHEMA
    assert load_schema(tmp_path / "s.yaml", certificate) == SCHEMA
    assert load_schema(None, certificate).names == ("age", "bmi", "ward")
    assert load_schema(None, None) is None
    with pytest.raises(ParameterError, match=r"schema: .*dict"):
        load_schema({}, None)


def test_a_certificate_in_any_form(tmp_path):
    certificate = honest()
    path = tmp_path / "c.json"
    path.write_text(certificate.to_json())
    for given in (certificate, certificate.to_dict(), path, str(path)):
        assert load_certificate(given) == certificate
    assert load_certificate(None) is None
    with pytest.raises(ParameterError, match=r"certificate: .*int"):
        load_certificate(3)


@pytest.mark.parametrize("content", ["", "[]", "{", '{"format": "x"}', '{"a": NaN}'])
def test_a_file_that_is_no_certificate_is_named(tmp_path, content):
    path = tmp_path / "c.json"
    path.write_text(content)
    with pytest.raises(ArchiveError, match=r"c\.json: ") as caught:
        load_certificate(path)
    assert str(caught.value).count("c.json") == 1


def test_an_audit_in_any_form(tmp_path):
    path = tmp_path / "a.json"
    path.write_text(json.dumps(AUDIT))
    assert load_audit(path) == load_audit(AUDIT)
    assert load_audit(path)["findings"][0]["epsilon"] == 0.6
    assert load_audit(None) is None


@pytest.mark.parametrize("content", ["", "[]", '{"system": 3}', "[" * 10_000, "\xff"])
def test_a_file_that_is_no_audit_is_refused(tmp_path, content):
    path = tmp_path / "a.json"
    path.write_text(content, encoding="latin-1")
    with pytest.raises(ArchiveError, match=r"a\.json"):
        load_audit(path)


def test_the_audit_that_is_written_is_one_that_is_read(tmp_path):
    from tabpe.audit.report import AuditReport, EpsilonLowerBound, NoiseRepetition, PrivacyClaim

    claim = PrivacyClaim(1.0, 1e-5)
    shown = EpsilonLowerBound("votes", claim, epsilon=0.6, visible=8.0, samples=1000)
    written = AuditReport("as shipped", claim, (shown, NoiseRepetition("noise", 0.3, 10)))
    (tmp_path / "a.json").write_text(written.to_json())
    assert load_audit(tmp_path / "a.json")["findings"][1]["p_value"] == 0.3


def test_a_run_without_a_certificate_knows_nothing():
    run = RunProvenance.from_sources(None, None, (), TABLE)
    assert (run.certificate, run.verification, list(run.history)) == (None, None, [])


def test_a_certificate_is_checked_on_the_way():
    run = RunProvenance.from_sources(None, honest(), (), TABLE)
    assert run.verification.holds
    lying = dataclasses.replace(honest(), epsilon=0.1)
    assert not RunProvenance.from_sources(None, lying, (), TABLE).verification.holds


def test_a_sample_is_text_of_the_first_rows():
    assert format_first_rows(TABLE, 2) == {"age": ["25", "50"], "ill": ["True", "False"]}
    assert format_first_rows(TABLE)["age"][2] == ""


def test_frames_with_awkward_names_and_types():
    frame = pd.DataFrame({"a b": pd.Categorical(["x", "y", None]), "n": [1.5, None, 2.0]})
    tables = open_tables(frame, frame, None, None, "a b")
    assert tables.schema.label == "a b"
    assert tables.real["n"].missing.sum() == 1
    assert isinstance(tables.schema["a b"], Categorical)
    assert isinstance(tables.schema["n"], Float)


def test_a_table_that_is_given_for_another_is_noted():
    tables = open_tables(TABLE, TABLE.slice(0, 2), TABLE, SCHEMA, None)
    assert tables.notes == ("the test table is the real table itself",)
    assert open_tables(TABLE, TABLE, None, SCHEMA, None).notes == (
        "the synthetic table is the real table itself",
    )
