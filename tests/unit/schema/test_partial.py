"""Schemas with gaps: what is declared, what is missing, and what fills it."""

import json

import pytest

from tabpe.errors import SchemaError
from tabpe.schema import (
    Boolean,
    Categorical,
    Float,
    Integer,
    PartialColumn,
    PartialSchema,
    Schema,
    Source,
)

TABLE = ["age", "bmi", "ward", "ill"]
WHOLE = Schema(
    (Integer("age", 0, 120), Float("bmi", 10, 60), Categorical("ward", ("a", "b")), Boolean("ill")),
    label="ill",
)


def outline(*columns, **head):
    return PartialSchema.from_schema({"columns": list(columns), **head})


def test_a_whole_schema_lacks_nothing_and_comes_back():
    completed = PartialSchema.from_schema(WHOLE).complete_columns(TABLE, estimate=None)
    assert completed.missing == ()
    assert completed.fill_gaps({}) == WHOLE


def test_marks_of_a_schema_stay():
    marked = Schema(
        (
            Integer("age", 0, 120, source=Source.ESTIMATED, estimated=("max",)),
            Float("bmi", 10, 60, source=Source.DATA),
        )
    )
    assert (
        PartialSchema.from_schema(marked)
        .complete_columns(["age", "bmi"], estimate=None)
        .fill_gaps({})
        == marked
    )


def test_nothing_at_all_lacks_every_type():
    missing = PartialSchema.from_schema(None).complete_columns(TABLE, estimate=None).missing
    assert missing == ("age.type", "bmi.type", "ward.type", "ill.type")


@pytest.mark.parametrize(
    ("column", "missing"),
    [
        ({"name": "age"}, ("age.type",)),
        ({"name": "age", "type": "integer"}, ("age.min", "age.max")),
        ({"name": "age", "type": "integer", "min": 0}, ("age.max",)),
        ({"name": "age", "type": "integer", "min": 0, "max": 9}, ()),
        ({"name": "bmi"}, ("bmi.type",)),
        ({"name": "bmi", "type": "float", "max": 60, "decimals": 1}, ("bmi.min",)),
        ({"name": "ward", "type": "categorical"}, ("ward.values",)),
        ({"name": "ward", "type": "categorical", "values": ["a"]}, ()),
        ({"name": "ward", "type": "categorical", "values": ["a"], "open": True}, ("ward.values",)),
        ({"name": "ward", "type": "categorical", "values": ["a"], "open": False}, ()),
        ({"name": "ward", "type": "categorical", "other": "rest"}, ("ward.values",)),
        ({"name": "ward", "type": "categorical", "top": 3}, ("ward.values",)),
        (
            {"name": "ward", "type": "categorical", "values": ["a", "b"], "top": 1, "other": "c"},
            ("ward.values",),
        ),
        (
            {"name": "age", "type": "integer", "scale": "quantile"},
            ("age.min", "age.max", "age.quantiles"),
        ),
        (
            {"name": "age", "type": "integer", "min": 0, "max": 9, "scale": "quantile"},
            ("age.quantiles",),
        ),
        ({"name": "age", "type": "integer", "scale": "log"}, ("age.min", "age.max")),
        ({"name": "ward", "type": "date", "min": "2024-01-01"}, ("ward.max",)),
        ({"name": "ward", "type": "time"}, ()),
        ({"name": "ward", "type": "time", "open": True, "max": "18:00"}, ("ward.min",)),
        ({"name": "ill", "type": "boolean"}, ()),
    ],
)
def test_gaps_of_a_column_are_listed(column, missing):
    assert outline(column).complete_columns([column["name"]], estimate=None).missing == missing


def test_files_with_gaps_are_read(tmp_path):
    plain = {"label": "ward", "columns": [{"name": "age", "type": "integer", "min": 0}]}
    as_json, as_yaml = tmp_path / "a.json", tmp_path / "a.yaml"
    as_json.write_text(json.dumps(plain))
    as_yaml.write_text("label: ward\ncolumns:\n- {name: age, type: integer, min: 0}\n")
    assert (
        PartialSchema.from_schema(as_json)
        == PartialSchema.from_schema(str(as_yaml))
        == PartialSchema.from_schema(plain)
    )


def test_a_file_may_name_the_label_alone():
    completed = PartialSchema.from_schema({"label": "ward"}).complete_columns(TABLE, estimate=None)
    assert completed.label == "ward"
    assert [sketch.name for sketch in completed.columns] == list(TABLE)


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ({"name": "age", "typ": "integer"}, "unknown key 'typ'"),
        ({"name": "age", "min": 0}, "without a type: unknown key 'min'"),
        ({"name": "age", "type": "int"}, "did you mean 'integer'"),
        ({"name": "age", "type": "integer", "mn": 0}, "did you mean 'min'"),
        ({"name": "age", "type": "integer", "min": "low"}, "min='low'"),
        (
            {"name": "age", "type": "integer", "min": 0, "open": True},
            "open is for type categorical",
        ),
        ({"name": "w", "type": "categorical", "top": 0}, "top=0: expected a whole number"),
        ({"name": "w", "type": "categorical", "top": True}, "top=True: expected a whole number"),
        ({"name": "age", "type": "integer", "top": 3}, "top is for type categorical"),
        (
            {"name": "w", "type": "categorical", "values": ["a"], "ordered": True, "top": 1},
            "without ordered",
        ),
        (
            {"name": "w", "type": "categorical", "values": ["a"], "open": True, "top": 1},
            "leave out open, or values",
        ),
        ({"name": "w", "type": "categorical", "values": [1, 2], "top": 1}, "declare other"),
        (
            {"name": "w", "type": "categorical", "values": [1, 2], "top": 1, "other": "rest"},
            "mixes int, str",
        ),
        ({"name": "w", "type": "categorical", "values": ["a"], "other": "b"}, "one of values"),
        (
            {"name": "x", "type": "integer", "scale": "quantile", "quantiles": [0, 1, 2, 9]},
            "quantiles run from min to max",
        ),
        ({"name": "w", "type": "categorical", "values": ["a"], "open": "yes"}, "true or false"),
        ({"name": "w", "type": "categorical", "values": ["a", 1], "open": True}, "mixes"),
        ({"name": "age", "type": "integer", "min": 0, "source": "data"}, "source: public"),
        ({"name": "age", "source": "somewhere"}, "source='somewhere'"),
        ({"name": 3}, "at least 1 character"),
        ({"name": ""}, "at least 1 character"),
        ({"type": "integer"}, "entry 1 has no name"),
    ],
)
def test_what_does_not_fit_is_named(column, message):
    with pytest.raises(SchemaError, match=message):
        outline(column)


@pytest.mark.parametrize(
    ("plain", "message"),
    [
        ({"labels": "ward"}, "did you mean 'label'"),
        ({"columns": {"age": 1}}, "expected a list of columns"),
        ([], "a schema is a mapping"),
        ({"columns": [{"name": "age"}, {"name": "age"}]}, "declared twice"),
    ],
)
def test_outlines_are_as_strict_as_schemas(plain, message):
    with pytest.raises(SchemaError, match=message):
        PartialSchema.from_schema(plain)


def test_columns_are_in_the_order_of_the_table_without_the_dropped_ones():
    completed = outline({"name": "ward"}).complete_columns(TABLE, drop=["bmi"], estimate=None)
    assert [sketch.name for sketch in completed.columns] == ["age", "ward", "ill"]


@pytest.mark.parametrize(
    ("given", "drop", "message"),
    [
        (
            {"columns": [{"name": "agee"}, {"name": "ill"}]},
            [],
            "column 'agee' is not a column.*'age'",
        ),
        ({"label": "ilness"}, [], "label 'ilness' is not a column"),
        ({"label": "ill"}, ["bmj"], "drop 'bmj' is not a column.*'bmi'"),
        ({"columns": [{"name": "age"}]}, ["age"], "column 'age' is not a column"),
        ({"label": "ill"}, ["ill"], "label 'ill' is not a column"),
    ],
)
def test_names_that_the_table_does_not_have_are_refused(given, drop, message):
    with pytest.raises(SchemaError, match=message):
        PartialSchema.from_schema(given).complete_columns(TABLE, drop=drop, estimate=None)


def test_dates_are_no_label():
    given = PartialSchema.from_schema(
        {"label": "when", "columns": [{"name": "when", "type": "date"}]}
    )
    with pytest.raises(SchemaError, match=r"label='when' is a date or a time.*such as the year"):
        given.complete_columns(["when"], estimate=None)


@pytest.mark.parametrize(
    ("column", "cuts", "message"),
    [
        ({"name": "age", "type": "integer", "min": 0}, None, "categorical, or give label_cuts"),
        ({"name": "age", "type": "integer", "min": 0}, [5], "declare its type, min and max"),
        ({"name": "age"}, [5], "declare its type, min and max"),
        ({"name": "age", "type": "categorical"}, [5], "declare its type, min and max"),
    ],
)
def test_a_numeric_label_is_refused_before_a_row_is_read(column, cuts, message):
    given = {"label": "age", "columns": [column]} | ({"label_cuts": cuts} if cuts else {})
    with pytest.raises(SchemaError, match=message):
        PartialSchema.from_schema(given).complete_columns(TABLE, estimate=None)


def test_another_label_loses_the_cuts():
    first = PartialSchema(label="age", label_cuts=(5.0,))
    assert first.with_label("ill") == PartialSchema(label="ill")
    assert first.with_label(None) is first
    assert first.with_label("age") is first


def test_what_is_estimated_is_marked_and_what_is_public_is_not():
    age = PartialColumn("age", Integer, {"min": 0}).fill_gaps(max=95)
    bmi = PartialColumn("bmi").fill_gaps(Float, min=1.5, max=2.5, decimals=1)
    schema = Schema((age, bmi))
    assert schema.fields_estimated == ("age.max", "bmi.type", "bmi.min", "bmi.max", "bmi.decimals")
    assert schema.fields_from_data == ()
    assert Schema.from_dict(schema.to_dict()) == schema


def test_a_column_without_a_type_can_not_be_filled():
    with pytest.raises(SchemaError, match="neither declared nor estimated"):
        PartialColumn("age").fill_gaps(min=0)


def test_a_column_without_a_type_may_be_declared_nullable():
    outline = PartialSchema.from_schema(
        {"columns": [{"name": "age", "nullable": True}, {"name": "ward"}]}
    )
    table = outline.complete_columns(["age", "ward"], estimate=None)
    assert table.missing == ("age.type", "ward.type")
    estimated = table.columns[0].fill_gaps(Integer, min=0, max=9)
    assert estimated.nullable
    assert estimated.estimated == ("type", "min", "max")
    assert table.with_values("age", (1, 2)).columns[0].fill_gaps().nullable


def test_whether_a_column_without_a_type_is_nullable_is_a_truth():
    with pytest.raises(SchemaError, match=r"nullable='maybe'.*true or false"):
        PartialSchema.from_schema({"columns": [{"name": "age", "nullable": "maybe"}]})
