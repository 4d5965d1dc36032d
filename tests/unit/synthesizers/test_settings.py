"""What a run needs beside the table: what its strategy asks, and when it may go on."""

import dataclasses

import pytest

from requests_made import REQUEST
from tabpe._utils.resources import Resources
from tabpe.accounting import FakeNoise
from tabpe.encoding import Encoder
from tabpe.evolution import PRESETS, Evolution, Posterior
from tabpe.evolution.config import PAIRS
from tabpe.schema import Boolean, Categorical, Float, Integer, PartialSchema, Schema
from tabpe.synthesizers.options import RunSettings, count_columns, count_listed_columns

AGE, BMI = Integer("age", 0, 99), Float("bmi", 10.0, 60.0)
WARD, ILL = Categorical("ward", ("heart", "lung")), Boolean("ill")
COLUMNS = (AGE, BMI, WARD, ILL)
STORED = ["age", "bmi", "ward", "ill"]


def settings(**changes):
    plain = RunSettings(
        schema=Schema(COLUMNS, label="ill"),
        request=REQUEST,
        config=PRESETS["paper"],
        noise=FakeNoise(),
        resources=Resources.from_options(engine="auto", memory_limit=None, spill=None, n_jobs=1),
        unit=None,
        strict=False,
        seed=0,
        run_dir=None,
        charge=None,
        on_round=lambda _: None,
    )
    return dataclasses.replace(plain, **changes)


@pytest.mark.parametrize(
    ("schema", "columns"),
    [
        (Schema(COLUMNS), 4),
        (Schema(COLUMNS, label="ill"), 3),
        (Schema(COLUMNS, label="ward"), 3),
        (Schema(COLUMNS, label="age", label_cuts=(18, 65)), 4),
        (Schema((WARD,), label="ward"), 0),
    ],
)
def test_columns_are_those_of_a_record(schema, columns):
    encoder = Encoder(schema)
    assert count_columns(schema) == len(encoder.numeric) + len(encoder.categorical) == columns


@pytest.mark.parametrize(
    ("given", "drop"),
    [
        ({}, []),
        ({"label": "ill"}, []),
        ({"label": "ward"}, ["bmi"]),
        ({"columns": [AGE.to_dict()], "label": "age", "label_cuts": [18, 65]}, ["ill"]),
    ],
)
def test_to_buy_a_schema_does_not_change_the_number_of_columns(given, drop):
    label = given.get("label")
    outline = dataclasses.replace(
        PartialSchema.from_schema({"columns": given.get("columns", [])}),
        label=label,
        label_cuts=given.get("label_cuts"),
    ).complete_columns(STORED, drop=drop, estimate=None)
    assert outline.missing
    estimated = outline.fill_gaps({column.name: column for column in COLUMNS})
    encoder = Encoder(estimated)
    assert count_columns(outline) == len(encoder.numeric) + len(encoder.categorical)


@pytest.mark.parametrize(
    ("schema", "listed"),
    [
        (Schema(COLUMNS), 2),
        (Schema(COLUMNS, label="ill"), 1),
        (Schema(COLUMNS, label="ward"), 1),
        (Schema(COLUMNS, label="age", label_cuts=(18, 65)), 2),
        (Schema((AGE, BMI)), 0),
        (Schema((WARD,), label="ward"), 0),
    ],
)
def test_listed_columns_are_the_categorical_and_boolean_ones_beside_the_label(schema, listed):
    assert count_listed_columns(schema) == listed == len(Encoder(schema).categorical)


OPEN_WARD = {"name": "ward", "type": "categorical"}


@pytest.mark.parametrize(
    ("given", "label", "listed"),
    [
        ([], None, 0),  # how a column is stored says nothing
        ([], "ill", 0),
        ([], "ward", 0),
        ([OPEN_WARD], None, 1),
        ([OPEN_WARD], "ill", 1),
        ([OPEN_WARD], "ward", 0),
        ([WARD.to_dict(), AGE.to_dict()], "ill", 1),
    ],
)
def test_a_column_whose_type_is_estimated_is_not_listed(given, label, listed):
    """One whose values alone are estimated is."""
    outline = (
        PartialSchema.from_schema({"columns": given})
        .with_label(label)
        .complete_columns(STORED, estimate=None)
    )
    assert outline.missing
    assert count_listed_columns(outline) == listed


def test_what_is_asked_is_known_before_a_row_is_read():
    config = Posterior(rounds=3, votes=2)
    assert settings(config=config).query_plan == config.plan_queries(columns=3, classes=2, listed=1)
    outline = PartialSchema.from_schema(None).complete_columns(STORED, estimate=None)
    found = settings(config=config, schema=outline).query_plan
    assert found == config.plan_queries(columns=4, classes=1, listed=0)


def test_pairs_are_asked_for_by_what_is_declared_and_not_by_what_is_estimated():
    config = Posterior(rounds=3, votes=2)
    declared = settings(config=config, schema=Schema(COLUMNS))
    estimated = settings(
        config=config,
        schema=PartialSchema.from_schema(None).complete_columns(STORED, estimate=None),
    )
    assert declared.query_plan == config.plan_queries(columns=4, classes=1, listed=2)
    assert PAIRS in [part.name for part in declared.query_plan.first]
    assert PAIRS not in [part.name for part in estimated.query_plan.first]


def test_another_strategy_is_another_run():
    """Also where all fields that both have are the same."""
    found = [
        settings(config=config).identity["configuration"]
        for config in (Evolution(), Evolution(votes=2), Posterior())
    ]
    assert found[0] != found[1]
    assert found[0]["strategy"]["strategy"] == "evolution"
    assert found[2]["strategy"]["strategy"] == "posterior"
    assert found[0]["strategy"]["rounds"] == 15
