"""The `format` of a schema, and how numbers are written: one rule at a time."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tabpe.errors import SchemaError
from tabpe.schema import Categorical, Float, Integer, PartialSchema, Schema, Source
from tabpe.schema.dictionaries import DICTIONARIES
from tabpe.schema.number_format import NumberFormat
from tabpe.schema.table_format import TableReading

EURO = NumberFormat.from_example("1.234,56 EUR")


@pytest.mark.parametrize(
    ("example", "cell", "number"),
    [
        ("1.234,56 EUR", "2.815,43 EUR", "2815.43"),
        ("1.234,56 EUR", "2815,43", "2815.43"),
        ("1.234,56 EUR", "1.234.567,8EUR", "1234567.8"),
        ("1.234,56 EUR", "-7", "-7"),
        ("1.234,56 EUR", "7,50-", "-7.50"),
        ("1.234,56 EUR", "(7,50)", "-7.50"),
        ("1.234,56 EUR", "\u22127,50", "-7.50"),
        ("1.234,56 EUR", "12.34,5", None),
        ("1.234,56 EUR", "1.5", None),
        ("1.234,56 EUR", "", None),
        ("1.234,56 EUR", "EUR", None),
        ("1.234,56 EUR", "--7", None),
        ("1.234,56 EUR", "7 USD", None),
        ("$1,234.56", "$1,000", "1000"),
        ("$1,234.56", "-$5.25", "-5.25"),
        ("$1,234.56", "$-5.25", "-5.25"),
        ("CHF 1'234.56", "CHF 1\u2019234.00", "1234.00"),
        ("1 234 \u20ac", "12\u00a0345\u202f\u20ac", "12345"),
        ("1234,5 %", "0,25 %", "0.25"),
        ("1234", "007", "7"),
    ],
)
def test_a_number_is_read_as_its_format_says(example, cell, number):
    assert NumberFormat.from_example(example).normalize(cell) == number


@pytest.mark.parametrize("example", ["", "12,5", "1,234,56", "EUR", "1+234", None, 5])
def test_a_format_that_is_not_how_1234_is_written_is_refused(example):
    assert NumberFormat.from_example(example) is None
    if example is not None:
        with pytest.raises(SchemaError, match=r"how 1234.56 is written"):
            Float("fee", 0, 9, format=example)


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=30))
def test_every_text_is_read_and_what_is_read_is_a_number(text):
    found = EURO.normalize(text)
    assert found is None or float(found) is not None


@settings(max_examples=100, deadline=None)
@given(st.integers(-(10**12), 10**12), st.sampled_from(["1.234,56 EUR", "$1,234.56", "1 234,5"]))
def test_what_is_written_in_a_format_is_read_back(cents, example):
    form = NumberFormat.from_example(example)
    sign, (whole, part) = ("-" if cents < 0 else ""), divmod(abs(cents), 100)
    grouped = f"{whole:,}".replace(",", form.thousands)
    text = f"{sign}{form.prefix}{grouped}{form.decimal}{part:02d}{form.suffix}"
    assert float(form.normalize(text)) == cents / 100


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"delimiter": ";;"}, "delimiter=';;': expected one ASCII character"),
        ({"delimiter": "a"}, "neither a line end, a letter nor a digit"),
        ({"delimiter": '"'}, "another mark than quote"),
        ({"encoding": "zip"}, "encoding='zip': expected one such as utf-8"),
        ({"encoding": "klingon"}, "encoding='klingon'"),
        ({"decimal": ";"}, "decimal=';': expected '.' or ','"),
        ({"decimal": ",", "thousands": ","}, "another mark than that of decimals"),
        ({"skip": -1}, "skip=-1"),
        ({"source": "dta"}, "source='dta': did you mean 'data'"),
        ({"delimter": ";"}, "did you mean 'delimiter'"),
        (["x"], "expected a mapping"),
    ],
)
def test_a_wrong_format_says_what_is_allowed(given, message):
    with pytest.raises(SchemaError, match="format") as caught:
        Schema.from_dict({"format": given, "columns": [{"name": "x", "type": "boolean"}]})
    assert message in str(caught.value)


def test_a_format_survives_a_file_and_is_marked(tmp_path):
    plain = {
        "format": {"delimiter": ";", "decimal": ",", "quote": "none", "source": "data"},
        "columns": [
            {"name": "fee", "type": "float", "min": 0, "max": 9, "format": "1.234,5 EUR"},
            {"name": "age", "type": "integer", "min": 0, "max": 9, "nulls": ["x", 99]},
            {"name": "note", "drop": "free text"},
        ],
    }
    schema = Schema.from_dict(plain)
    assert schema.names == ("fee", "age")
    schema.save(tmp_path / "s.yaml")
    again = Schema.load(tmp_path / "s.yaml")
    assert again == schema
    assert again.digest == schema.digest
    assert again.fields_from_data == ("format.delimiter", "format.quote", "format.decimal")
    partial = PartialSchema.from_dict(plain)
    assert partial.drop == ("note",)
    assert partial.fill_gaps({}) == schema


def test_a_schema_without_a_format_is_as_it_always_was():
    plain = {"columns": [{"name": "x", "type": "integer", "min": 0, "max": 1, "source": "public"}]}
    assert Schema.from_dict(plain).to_dict() == plain


@pytest.mark.parametrize("drop", [False, 3, None])
def test_drop_takes_a_reason(drop):
    with pytest.raises(SchemaError, match=r"drop=.*expected true, or the reason"):
        Schema.from_dict({"columns": [{"name": "x", "drop": drop}]})


def test_a_column_that_is_dropped_has_no_other_fields():
    with pytest.raises(SchemaError, match="unknown key 'type'"):
        Schema.from_dict({"columns": [{"name": "x", "drop": True, "type": "boolean"}]})


def test_the_marks_of_the_file_are_for_numbers_and_columns_without_a_type():
    partial = PartialSchema.from_dict(
        {
            "format": {"decimal": ",", "thousands": "."},
            "columns": [
                {"name": "a", "type": "float", "min": 0, "max": 1},
                {"name": "b", "type": "float", "min": 0, "max": 1, "format": "$1,234"},
                {"name": "c", "type": "categorical", "values": ["1,5"]},
                {"name": "d"},
            ],
        }
    )
    rules = TableReading.from_schema(partial).rules
    assert set(rules) == {"a", "b", "d"}
    assert rules["a"].numbers == NumberFormat(",", ".")
    assert rules["b"].numbers == NumberFormat(".", ",", "$")


def test_values_may_be_a_public_dictionary():
    plain = {"name": "land", "type": "categorical", "values": "iso-3166", "other": "??"}
    column = Schema.from_dict({"columns": [plain]})["land"]
    assert column.values == (*DICTIONARIES["iso-3166"], "??")
    partial = PartialSchema.from_dict({"columns": [{**plain, "top": 5}]})
    assert partial.missing == ("land.values",)
    with pytest.raises(SchemaError, match=r"values='iso-9': expected a list.*iso-3166"):
        Categorical("land", "iso-9")


@pytest.mark.parametrize("name", DICTIONARIES)
def test_dictionaries_list_every_value_once(name):
    values = DICTIONARIES[name]
    assert len(set(values)) == len(values)
    assert Categorical("x", name, source=Source.DATA).size == len(values)


def test_null_words_are_texts_and_numbers():
    with pytest.raises(SchemaError, match="nulls=True: expected texts and numbers"):
        Integer("age", 0, 9, nulls=[True])
    with pytest.raises(SchemaError, match="expected a list of values"):
        Integer("age", 0, 9, nulls="unknown")
