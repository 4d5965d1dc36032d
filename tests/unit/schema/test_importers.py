"""Schemas of other tools: what they say is kept, what they lack stays open, the rest is said."""

import json

import pytest
import yaml
from typer.testing import CliRunner

from tabpe.cli.app import app
from tabpe.errors import ParameterError, SchemaError
from tabpe.schema import PartialSchema, Schema, importers
from tabpe.schema.importers import FORMATS, imported

SDV = {
    "METADATA_SPEC_VERSION": "SINGLE_TABLE_V1",
    "primary_key": "no",
    "columns": {
        "no": {"sdtype": "id", "regex_format": "P[0-9]{4}"},
        "age": {"sdtype": "numerical", "computer_representation": "Int64"},
        "size": {"sdtype": "numerical"},
        "ward": {"sdtype": "categorical"},
        "pain": {"sdtype": "categorical", "order": ["none", "mild", "severe"]},
        "born": {"sdtype": "datetime", "datetime_format": "%d.%m.%Y"},
        "seen": {"sdtype": "datetime", "datetime_format": "%Y-%m-%d %H:%M"},
        "ill": {"sdtype": "boolean"},
        "email": {"sdtype": "email", "pii": True},
    },
}
SMARTNOISE = {
    "": {
        "clinic": {
            "visits": {
                "row_privacy": False,
                "rows": 1000,
                "max_ids": 3,
                "patient": {"type": "int", "private_id": True},
                "age": {"type": "int", "lower": 0, "upper": 120},
                "size": {"type": "float", "lower": 0.5},
                "ward": {"type": "string", "cardinality": 12},
                "seen": {"type": "datetime"},
                "ill": {"type": "boolean"},
                "shape": {"type": "geometry"},
            }
        }
    }
}
DPSYNTH = {
    "age": {"type": "NumericalAttribute", "min_value": 18, "max_value": 100, "dtype": "int"},
    "size": {"type": "NumericalAttribute", "min_value": 0.0, "max_value": 2.5},
    "ward": {"type": "CategoricalAttribute", "possible_values": ["else", "eye"]},
    "ill": {"type": "CategoricalAttribute", "possible_values": [False, True]},
    "city": {"type": "OpenSetCategoricalAttribute"},
    "job": {"type": "OpenSetCategoricalAttribute", "public_possible_values": ["cook"]},
    "letter": {"type": "FreeFormTextAttribute", "max_tokens": 256},
}
MBI = {"age": 3, "ill": 2}
FRICTIONLESS = {
    "primaryKey": "no",
    "fields": [
        {"name": "no", "type": "integer"},
        {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 120}},
        {"name": "size", "type": "number"},
        {"name": "ward", "type": "string", "constraints": {"enum": ["eye", "heart"]}},
        {
            "name": "pain",
            "type": "integer",
            "categories": [{"value": 0, "label": "none"}, {"value": 1, "label": "some"}],
            "categoriesOrdered": True,
        },
        {
            "name": "born",
            "type": "date",
            "format": "%d.%m.%Y",
            "constraints": {"minimum": "1900-01-01", "maximum": "2024-12-31"},
        },
        {"name": "opens", "type": "time", "format": "default"},
        {"name": "note"},
        {"name": "place", "type": "geopoint"},
    ],
}
ALL = {
    "sdv": SDV,
    "smartnoise": SMARTNOISE,
    "dpsynth": DPSYNTH,
    "mbi": MBI,
    "frictionless": FRICTIONLESS,
}
TYPES = {
    "sdv": "no:id age:integer size:float ward:categorical pain:categorical born:date "
    "seen:datetime ill:boolean",
    "smartnoise": "age:integer size:float ward:categorical seen:datetime ill:boolean",
    "dpsynth": "age:integer size:float ward:categorical ill:boolean city:categorical "
    "job:categorical",
    "mbi": "age:categorical ill:categorical",
    "frictionless": "no:id age:integer size:float ward:categorical pain:categorical born:date "
    "opens:time note:categorical",
}
OPEN = {
    "sdv": "age.min age.max size.min size.max ward.values born.min born.max seen.min seen.max",
    "smartnoise": "size.max ward.values seen.min seen.max",
    "dpsynth": "city.values job.values",
    "mbi": "",
    "frictionless": "size.min size.max note.values",
}
each = pytest.mark.parametrize("tool", ALL)


def test_every_format_is_tested():
    assert set(ALL) == set(FORMATS)


@each
def test_a_schema_is_told_by_its_looks_and_its_columns_are_read(tool):
    found = imported(ALL[tool])
    assert " ".join(f"{c['name']}:{c['type']}" for c in found.columns) == TYPES[tool]
    assert found == imported(ALL[tool], tool=tool)


@each
def test_what_is_not_known_stays_open(tool):
    assert " ".join(PartialSchema.from_schema(imported(ALL[tool]).plain).missing) == OPEN[tool]


@pytest.mark.parametrize(
    ("tool", "names"),
    [("sdv", ["email"]), ("smartnoise", ["patient", "shape"]), ("dpsynth", ["letter"]),
     ("frictionless", ["place"]), ("mbi", [])],
)  # fmt: skip
def test_what_is_left_out_is_said(tool, names):
    notes = imported(ALL[tool]).notes
    assert [note.split("'")[1] for note in notes] == names


def test_fields_are_kept():
    columns = {
        c["name"]: c for tool in ("sdv", "frictionless") for c in imported(ALL[tool]).columns
    }
    assert columns["pain"] == {
        "name": "pain", "type": "categorical", "values": [0, 1], "ordered": True
    }  # fmt: skip
    assert columns["born"]["format"] == "%d.%m.%Y"
    assert "format" not in columns["opens"]
    ward, job = (
        next(c for c in imported(DPSYNTH).columns if c["name"] == name) for name in ("ward", "job")
    )
    assert ward["other"] == "else"
    assert job["open"] is True


def test_a_schema_without_gaps_is_a_schema():
    assert Schema.from_dict(imported(MBI).plain).names == ("age", "ill")


def test_one_of_several_tables_is_chosen():
    tables = {"a": {"columns": {"x": {"sdtype": "boolean"}}}, "b": {"columns": {}}}
    metadata = {"METADATA_SPEC_VERSION": "V1", "tables": tables}
    assert imported(metadata, table="a").columns[0]["name"] == "x"
    for table, message in ((None, "it has 2 tables: choose one of 'a', 'b'"), ("c", "table='c'")):
        with pytest.raises(SchemaError, match=message):
            imported(metadata, table=table)
    package = {"resources": [{"name": "t", "schema": FRICTIONLESS}]}
    assert imported(package) == imported(FRICTIONLESS)
    several = {"tables": {"t": DPSYNTH}}
    assert imported(several) == imported(DPSYNTH)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "looks like none of sdv"),
        ({"columns": {"x": 5}, "METADATA_SPEC_VERSION": "V1"}, "column 'x': expected a mapping"),
        ({"columns": [], "METADATA_SPEC_VERSION": "V1"}, "columns: expected a mapping"),
        (
            {"columns": {"x": {"sdtype": "ssn"}}, "METADATA_SPEC_VERSION": "V1"},
            "no column of it can be synthesised",
        ),
        ({"fields": [{"type": "integer"}]}, "fields: entry 1 has no name"),
        (
            {"fields": [{"name": "x", "type": "integer", "constraints": {"minimum": "a"}}]},
            "column 'x': min='a'",
        ),
    ],
)
def test_what_does_not_fit_is_named(given, message):
    with pytest.raises(SchemaError) as error:
        imported(given)
    assert message in str(error.value)


def test_an_unknown_tool_is_refused():
    with pytest.raises(ParameterError, match="tool='sdvv'"):
        imported(SDV, tool="sdvv")


@each
def test_the_command_writes_what_can_be_read_again(tool, tmp_path):
    source, target = tmp_path / "foreign.yaml", tmp_path / "schema.yaml"
    source.write_text(yaml.safe_dump(ALL[tool], sort_keys=False))
    result = CliRunner().invoke(app, ["schema", "import", str(source), "-o", str(target)])
    assert result.exit_code == 0, result.output
    assert PartialSchema.from_schema(target) == PartialSchema.from_schema(imported(ALL[tool]).plain)
    assert ("\nopen " in result.output) == bool(OPEN[tool])
    again = CliRunner().invoke(app, ["schema", "import", str(source), "-o", str(target)])
    assert again.exit_code == 2


def test_the_command_refuses_what_it_does_not_know(tmp_path):
    (tmp_path / "x.json").write_text(json.dumps({"a": "b"}))
    command = ["schema", "import", str(tmp_path / "x.json"), "-o", str(tmp_path / "y.yaml")]
    assert CliRunner().invoke(app, command).exit_code == 2
    assert not (tmp_path / "y.yaml").exists()


def test_nullability_is_taken_over_where_it_is_said():
    fields = [
        {"name": "age", "type": "integer", "constraints": {"required": False}},
        {"name": "pay", "type": "number", "constraints": {"required": True}},
        {"name": "ill", "type": "boolean"},
    ]
    found = importers.read_frictionless({"fields": fields}).columns
    assert [column.get("nullable") for column in found] == [True, None, None]
    visits = {"age": {"type": "int", "nullable": True}, "pay": {"type": "float", "nullable": False}}
    found = importers.read_smartnoise({"": {"clinic": {"visits": visits}}}).columns
    assert [column.get("nullable") for column in found] == [True, None]
