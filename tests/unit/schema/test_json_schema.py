"""The JSON Schema of schema files agrees with what tabpe itself takes and refuses."""

import json

import jsonschema
import pytest
from typer.testing import CliRunner

from tabpe.cli.app import app
from tabpe.errors import SchemaError
from tabpe.io.example import hospital_schema
from tabpe.schema import Categorical, Date, Datetime, Float, Id, Integer, Schema, Time
from tabpe.schema.json_schema import build_json_schema

RICH = Schema(
    (
        Id("no", prefix="P"),
        Date("born", "1900-01-01", "2024-12-31", format="%d.%m.%Y"),
        Datetime("seen", "2024-01-01", "2025-01-01", "minute", "UTC"),
        Time("opens"),
        Integer("pay", 0, 9, scale="quantile", quantiles=(0, 1, 3, 9)),
        Float("debt", -9, 9, scale="log"),
        Categorical("grade", (1, 2), ordered=True),
    ),
    label="grade",
    rules=("born <= '2000-01-01'", "unique(no)"),
)


@pytest.fixture(scope="module")
def checker():
    found = build_json_schema()
    jsonschema.Draft202012Validator.check_schema(found)
    return jsonschema.Draft202012Validator(found)


@pytest.mark.parametrize("schema", [RICH, hospital_schema()])
def test_a_schema_is_taken(checker, schema):
    checker.validate(json.loads(json.dumps(schema.to_dict())))


@pytest.mark.parametrize(
    "column",
    [
        {"name": "x", "type": "integer", "min": 0},
        {"name": "x", "type": "integer", "min": 0, "max": 1, "decimals": 1},
        {"name": "x", "type": "integer", "min": 0, "max": 1, "scale": "root"},
        {"name": "x", "type": "categorical", "values": []},
        {"name": "x", "type": "datetime", "min": "2024-01-01", "max": "2024-01-02",
         "resolution": "week"},
        {"name": "", "type": "boolean"},
        {"name": "x", "type": "text"},
        {"name": "x", "type": "boolean", "source": "me"},
    ],
)  # fmt: skip
def test_what_tabpe_refuses_is_refused(checker, column):
    plain = {"columns": [column]}
    assert not checker.is_valid(plain)
    with pytest.raises(SchemaError):
        Schema.from_dict(plain)


@pytest.mark.parametrize("rules", ["age > 3", [3], [""], ["x"] * 201])
def test_rules_that_tabpe_refuses_are_refused(checker, rules):
    plain = {"columns": [{"name": "x", "type": "boolean"}], "rules": rules}
    assert not checker.is_valid(plain)
    with pytest.raises(SchemaError):
        Schema.from_dict(plain)


def test_the_command_writes_it(tmp_path, checker):
    path = tmp_path / "tabpe.schema.json"
    result = CliRunner().invoke(app, ["schema", "editor", "-o", str(path)])
    assert result.exit_code == 0, result.output
    assert json.loads(path.read_text()) == checker.schema
