"""`Schema`: columns and label together."""

import dataclasses
import math

import pytest

from tabpe.errors import SchemaError
from tabpe.schema import Boolean, Categorical, Column, Float, Integer, Schema, Source

AGE, ILL = Integer("age", 0, 120), Boolean("ill")
BMI = Float("bmi", 10, 60, decimals=1)
WARD = Categorical("ward", ("surgery", "heart"))


def test_names_keep_the_order_of_the_columns():
    assert Schema((WARD, AGE, ILL)).names == ("ward", "age", "ill")


def test_a_list_of_columns_becomes_a_tuple():
    assert Schema([AGE, ILL]) == Schema((AGE, ILL))


def test_a_schema_is_frozen_and_hashable():
    schema = Schema((AGE, ILL), label="ill")
    with pytest.raises(dataclasses.FrozenInstanceError):
        schema.label = None
    assert hash(schema) == hash(Schema((AGE, ILL), label="ill"))


def test_a_schema_without_columns_is_refused():
    with pytest.raises(SchemaError, match="at least one column"):
        Schema(())


def test_a_duplicate_column_is_refused_by_name():
    with pytest.raises(SchemaError, match="column 'age' is declared twice"):
        Schema((AGE, ILL, Float("age", 0, 1)))


@pytest.mark.parametrize("column", ["age", None, {"name": "age"}, Column("age")])
def test_what_is_no_column_is_refused(column):
    with pytest.raises(SchemaError, match="none of categorical, integer, float, boolean"):
        Schema((column,))


def test_a_column_is_found_by_name():
    assert Schema((AGE, ILL))["ill"] is ILL


def test_an_unknown_column_comes_with_the_closest_name():
    with pytest.raises(SchemaError, match="no column 'agge': did you mean 'age'"):
        Schema((AGE, ILL))["agge"]


def test_a_label_missing_from_the_columns_comes_with_the_closest_name():
    with pytest.raises(SchemaError, match="'il': did you mean 'ill'"):
        Schema((AGE, ILL), label="il")


def test_a_label_missing_from_the_columns_comes_with_the_known_names():
    with pytest.raises(SchemaError, match="'outcome': known: 'age', 'ill'"):
        Schema((AGE, ILL), label="outcome")


def test_a_label_that_is_no_text_is_refused():
    with pytest.raises(SchemaError, match="label"):
        Schema((AGE, Boolean("5")), label=5)


@pytest.mark.parametrize("number", [AGE, BMI])
@pytest.mark.parametrize("cuts", [None, ()])
def test_a_numeric_label_needs_cuts(number, cuts):
    with pytest.raises(SchemaError, match=f"label='{number.name}' is a number.*label_cuts"):
        Schema((number, ILL), label=number.name, label_cuts=cuts)


@pytest.mark.parametrize("label", ["ill", "ward"])
def test_cuts_are_only_for_a_numeric_label(label):
    with pytest.raises(SchemaError, match=f"for a numeric label; '{label}' is not"):
        Schema((ILL, WARD), label=label, label_cuts=(1,))


def test_cuts_without_a_label_are_refused():
    with pytest.raises(SchemaError, match=r"label_cuts is given without a label.*name the label"):
        Schema((AGE,), label_cuts=(30,))


@pytest.mark.parametrize(
    "cuts",
    [(30, 30), (60, 30), (0, 30), (30, 120), (-5,), (500,), (30, "60"), (True, 30), (math.inf,)],
)
def test_cuts_must_rise_between_the_bounds(cuts):
    with pytest.raises(SchemaError, match="rising numbers between min=0 and max=120 of 'age'"):
        Schema((AGE,), label="age", label_cuts=cuts)


def test_a_cut_that_is_no_number_is_refused():
    with pytest.raises(SchemaError, match="label_cuts"):
        Schema((Float("dose", 0, 1),), label="dose", label_cuts=(math.nan,))


@pytest.mark.parametrize(("column", "cut"), [(AGE, 30.5), (BMI, 25.55)])
def test_cuts_must_lie_on_the_grid_of_the_label(column, cut):
    with pytest.raises(SchemaError, match=f"at most . decimals, as '{column.name}'"):
        Schema((column,), label=column.name, label_cuts=(cut,))


def test_a_numeric_label_has_a_class_between_every_two_cuts():
    schema = Schema((AGE,), label="age", label_cuts=[18, 65])
    assert schema.class_bounds == ((0, 18), (18, 65), (65, 120))
    assert schema.class_names == ("0 to 18", "18 to 65", "65 to 120")


def test_close_cuts_of_large_numbers_keep_their_classes_apart():
    salary = Integer("salary", 0, 10_000_000)
    cuts = (1_234_567, 1_234_568, 1_234_569)
    assert len(set(Schema((salary,), label="salary", label_cuts=cuts).class_names)) == 4


def test_without_a_label_there_is_one_class():
    assert Schema((AGE, ILL)).class_names == ("all",)


def test_a_listed_label_has_a_class_for_every_value():
    assert Schema((WARD,), label="ward").class_names == ("surgery", "heart")
    assert Schema((ILL,), label="ill").class_names == ("False", "True")
    assert Schema((ILL,), label="ill").class_bounds == ()


def test_another_label_takes_the_place_of_the_first():
    schema = Schema((AGE, ILL, WARD), label="age", label_cuts=(65,)).with_label("ward")
    assert (schema.label, schema.label_cuts) == ("ward", None)


@pytest.mark.parametrize("label", [None, "age"])
def test_no_or_the_same_label_keeps_the_schema(label):
    schema = Schema((AGE, ILL), label="age", label_cuts=(65,))
    assert schema.with_label(label) == schema


def test_another_label_that_is_no_column_comes_with_the_closest_name():
    with pytest.raises(SchemaError, match="label='wards' is not a column: did you mean 'ward'"):
        Schema((AGE, WARD)).with_label("wards")


def test_another_label_that_is_no_text_is_refused():
    with pytest.raises(SchemaError, match="label=5: expected the name of a column as text"):
        Schema((AGE, WARD)).with_label(5)


def test_fields_from_the_data_are_named_one_by_one():
    data = Source.DATA
    schema = Schema(
        (
            Categorical("ward", ("a", "b"), source=data),
            Categorical("town", ("a", "b"), other="b", source=data),
            Integer("age", 0, 120, source=data),
            Float("bmi", 10, 60, source=data),
            Float("dose", 0, 1, decimals=1, source=data),
            Boolean("ill", source=data),
            Integer("year", 1900, 2100),
        )
    )
    assert schema.fields_from_data == (
        "ward.values",
        "town.values",
        "town.other",
        "age.min",
        "age.max",
        "bmi.min",
        "bmi.max",
        "dose.min",
        "dose.max",
        "dose.decimals",
        "ill.type",
    )


def test_the_cuts_of_a_label_from_the_data_are_named():
    ages = Integer("age", 0, 120, source=Source.DATA)
    schema = Schema((ages, ILL), label="age", label_cuts=(65,))
    assert schema.fields_from_data == ("age.min", "age.max", "age.label_cuts")


def test_a_public_schema_takes_nothing_from_the_data():
    assert Schema((AGE, ILL, BMI, WARD)).fields_from_data == ()


def test_the_digest_is_the_same_everywhere_and_always():
    schema = Schema((AGE, WARD), label="ward")
    assert schema.digest == Schema((AGE, WARD), label="ward").digest
    assert schema.digest == "a90d72bb2a1dbb79ddbcc96e117947e832dfd91ae31b659bcfad7e32c8016559"


@pytest.mark.parametrize(
    "changed",
    [
        Schema((WARD, AGE), label="ward"),
        Schema((AGE, WARD)),
        Schema((AGE, WARD), label="age", label_cuts=(65,)),
        Schema((Integer("age", 0, 121), WARD), label="ward"),
        Schema((Integer("age", 0, 120, source=Source.DATA), WARD), label="ward"),
        Schema((AGE, Categorical("ward", ("heart", "surgery"))), label="ward"),
        Schema((AGE, Categorical("ward", WARD.values, other="heart")), label="ward"),
        Schema((AGE, WARD, ILL), label="ward"),
    ],
)
def test_the_digest_tells_every_change(changed):
    assert changed.digest != Schema((AGE, WARD), label="ward").digest


def test_plain_values_and_back_give_the_same_schema():
    schema = Schema((AGE, WARD, BMI, ILL), label="age", label_cuts=(18, 65))
    assert Schema.from_dict(schema.to_dict()) == schema


def test_fields_that_were_estimated_are_listed():
    estimated = Source.ESTIMATED
    schema = Schema(
        (
            Integer("age", 0, 9, source=estimated),
            Float("bmi", 1.0, 2.0, source=estimated, estimated=("max",)),
            Boolean("ill", source=estimated),
            Integer("visits", 0, 9),
        )
    )
    assert schema.fields_estimated == ("age.min", "age.max", "bmi.max", "ill.type")
    assert schema.fields_from_data == ()
