"""`TabPE`: corners."""

import dataclasses

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

from facade import (
    QUICK,
    SCHEMA,
    fake_fit,
    fitted,
)
from tabpe import (
    Boolean,
    Categorical,
    Evolution,
    Float,
    Integer,
    Schema,
)
from tabpe.errors import (
    ThinVotesWarning,
)


def test_a_numeric_label_is_cut_into_classes_and_kept_as_a_number(table):
    schema = Schema(SCHEMA.columns, label="age", label_cuts=(30, 60))
    model = fitted(table, schema, n_samples=60)
    ages = model.sample()["age"].to_numpy()
    shares = np.bincount(np.searchsorted([30, 60], ages, side="right"), minlength=3) / 60
    true = np.searchsorted([30, 60], table["age"].to_numpy(), side="right")
    assert shares == pytest.approx(np.bincount(true) / 400, abs=0.05)


@pytest.mark.parametrize("preset", [QUICK, dataclasses.replace(QUICK, operator="genetic")])
@pytest.mark.parametrize(
    "schema",
    [
        Schema(SCHEMA.columns),
        Schema(SCHEMA.columns[:2]),
        Schema(SCHEMA.columns[2:]),
        Schema(SCHEMA.columns[3:], label="ill"),
        Schema(SCHEMA.columns, label="ward"),
        Schema((Integer("age", 7, 7), Float("bmi", 1.0, 1.0), Boolean("ill")), label="ill"),
        Schema((Integer("age", 7, 7),)),
        Schema((*SCHEMA.columns[:2], Categorical("ward", ("heart", "x"), other="x"))),
    ],
    ids=["no label", "numbers", "categories", "label only", "3 classes", "flat", "one", "other"],
)
def test_every_shape_of_schema_works(table, schema, preset):
    model = fitted(table, schema, preset=preset)
    sample = model.sample()
    assert sample.schema.names == list(schema.names)
    assert len(sample) == 30


def test_constant_columns_come_out_constant(table):
    schema = Schema((Integer("age", 7, 7), Boolean("ill")), label="ill")
    assert set(fitted(table, schema).sample()["age"].to_pylist()) == {7}


def test_an_empty_class_is_no_error(table):
    schema = Schema((*SCHEMA.columns[:2], Categorical("ward", ("heart", "lung", "skin", "eye"))))
    model = fitted(table, schema, label="ward")
    assert len(model.sample()) == 30


def test_a_class_that_is_declared_but_empty_gets_its_rows(table):
    schema = Schema((*SCHEMA.columns[:2], Categorical("ward", ("heart", "lung", "skin", "eye"))))
    shares = {"heart": 1, "lung": 1, "skin": 1, "eye": 1}
    model = fitted(table, schema, label="ward", public_shares=shares, n_samples=40)
    assert model.sample()["ward"].to_pylist().count("eye") == 10


def test_a_class_of_a_single_row_is_no_error(table):
    ill = [True] + [False] * 399
    single = table.set_column(3, "ill", pa.array(ill))
    assert len(fitted(single).sample()) == 30


@pytest.mark.parametrize("size", [1, 2])
def test_a_table_of_one_or_two_rows_is_no_error(table, size):
    with pytest.warns(ThinVotesWarning):
        model = fitted(table.slice(0, size))
    assert len(model.sample()) == 30


def test_more_than_255_categories_work():
    names = tuple(f"c{place:04d}" for place in range(700))
    data = pa.table({"c": [names[place * 7 % 700] for place in range(2000)]})
    found = set(fitted(data, Schema((Categorical("c", names),)), n_samples=200).sample()["c"])
    assert {cell.as_py() for cell in found} <= set(names)


def test_strong_noise_gives_rows_too(table):
    model = fitted(table, epsilon=0.05, public_shares={False: 0.7, True: 0.3})
    assert len(model.sample()) == 30


def test_little_noise_finds_the_shape_of_the_table():
    """Ages are 20 for the healthy and 80 for the ill: the evolution has to find that.

    By sampling, as ranking fills up with candidates that have no vote but noise; and under fake
    noise, as with real one a test of twenty rows would fail now and then.
    """
    ill = np.arange(600) % 3 == 0
    data = pa.table({"age": np.where(ill, 80, 20), "ill": ill})
    schema = Schema((Integer("age", 0, 100), Boolean("ill")), label="ill")
    preset = Evolution(selection="sampling")
    sample = fake_fit(data, schema, preset=preset, epsilon=5.0, n_samples=60).sample()
    ages, ill = sample["age"].to_numpy(), sample["ill"].to_numpy(zero_copy_only=False)
    assert np.median(ages[ill]) == pytest.approx(80, abs=5)
    assert np.median(ages[~ill]) == pytest.approx(20, abs=5)


def test_nothing_is_printed_in_a_pipe(table, capfd):
    fitted(table, verbose=1)
    assert capfd.readouterr() == ("", "")
