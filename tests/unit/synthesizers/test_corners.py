"""`TabPE`: corners."""

import dataclasses

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

from facade import (
    BOTH,
    QUICK,
    QUICK_BEST,
    SCHEMA,
    fake_fit,
    fitted,
)
from tabpe import Boolean, Categorical, Evolution, Float, Integer, Posterior, Schema
from tabpe.errors import ParameterError, ThinVotesWarning


@BOTH
def test_a_numeric_label_is_cut_into_classes_and_kept_as_a_number(table, preset):
    schema = Schema(SCHEMA.columns, label="age", label_cuts=(30, 60))
    model = fitted(table, schema, n_samples=60, preset=preset)
    ages = model.sample()["age"].to_numpy()
    shares = np.bincount(np.searchsorted([30, 60], ages, side="right"), minlength=3) / 60
    true = np.searchsorted([30, 60], table["age"].to_numpy(), side="right")
    assert shares == pytest.approx(np.bincount(true) / 400, abs=0.05)


@pytest.mark.parametrize(
    "preset", [QUICK, dataclasses.replace(QUICK, operator="genetic"), QUICK_BEST]
)
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


@BOTH
def test_constant_columns_come_out_constant(table, preset):
    schema = Schema((Integer("age", 7, 7), Boolean("ill")), label="ill")
    assert set(fitted(table, schema, preset=preset).sample()["age"].to_pylist()) == {7}


@BOTH
def test_an_empty_class_is_no_error(table, preset):
    schema = Schema((*SCHEMA.columns[:2], Categorical("ward", ("heart", "lung", "skin", "eye"))))
    model = fitted(table, schema, label="ward", preset=preset)
    assert len(model.sample()) == 30


@BOTH
def test_a_class_that_is_declared_but_empty_gets_its_rows(table, preset):
    schema = Schema((*SCHEMA.columns[:2], Categorical("ward", ("heart", "lung", "skin", "eye"))))
    shares = {"heart": 1, "lung": 1, "skin": 1, "eye": 1}
    model = fitted(table, schema, label="ward", public_shares=shares, n_samples=40, preset=preset)
    assert model.sample()["ward"].to_pylist().count("eye") == 10


@BOTH
def test_a_class_of_a_single_row_is_no_error(table, preset):
    ill = [True] + [False] * 399
    single = table.set_column(3, "ill", pa.array(ill))
    assert len(fitted(single, preset=preset).sample()) == 30


@pytest.mark.parametrize("size", [1, 2])
def test_a_table_of_one_or_two_rows_is_no_error(table, size):
    with pytest.warns(ThinVotesWarning):
        model = fitted(table.slice(0, size))
    assert len(model.sample()) == 30


@pytest.mark.parametrize("n_samples", [30, None])
@pytest.mark.parametrize("size", [1, 2, 5])
def test_the_posterior_takes_tables_of_a_few_rows(table, size, n_samples):
    model = fitted(table.slice(0, size), preset=QUICK_BEST, n_samples=n_samples)
    assert len(model.sample()) == n_samples or 2 <= len(model.sample()) <= 2 * size + 3


@BOTH
@pytest.mark.filterwarnings("ignore::tabpe.errors.ThinVotesWarning")
def test_a_single_row_can_be_made(table, preset):
    model = fitted(table, Schema(SCHEMA.columns), preset=preset, n_samples=1)
    assert len(model.sample()) == 1


@pytest.mark.parametrize(
    "changes",
    [
        {"rounds": 0},
        {"rounds": 1},
        {"candidates": 1, "pool": 1},
        {"candidates": 50, "pool": 3},
        {"candidates": 3, "votes": 16},
        {"by_rank": 0.0, "kept": 1.0},
        {"by_rank": 1.0, "kept": 0.0},
    ],
    ids=str,
)
def test_every_setting_of_the_posterior_gives_rows(table, changes):
    model = fitted(table, preset=dataclasses.replace(QUICK_BEST, **changes))
    assert len(model.sample()) == 30


def test_tables_alone_of_a_label_alone_are_refused(table):
    with pytest.raises(ParameterError, match="rounds=0: a label alone"):
        fitted(table, Schema(SCHEMA.columns[3:], label="ill"), preset=Posterior(rounds=0))


@BOTH
def test_more_than_255_categories_work(preset):
    names = tuple(f"c{place:04d}" for place in range(700))
    data = pa.table({"c": [names[place * 7 % 700] for place in range(2000)]})
    model = fitted(data, Schema((Categorical("c", names),)), n_samples=200, preset=preset)
    assert set(model.sample()["c"].to_pylist()) <= set(names)


@BOTH
def test_strong_noise_gives_rows_too(table, preset):
    model = fitted(table, epsilon=0.05, public_shares={False: 0.7, True: 0.3}, preset=preset)
    assert len(model.sample()) == 30


@pytest.mark.parametrize(
    "preset", [Evolution(selection="sampling"), QUICK_BEST], ids=["evolution", "posterior"]
)
def test_little_noise_finds_the_shape_of_the_table(preset):
    """Ages are 20 for the healthy and 80 for the ill: the evolution has to find that.

    An evolution by sampling, as ranking fills up with candidates that have no vote but noise; and
    under fake noise, as with real one a test of twenty rows would fail now and then.
    """
    ill = np.arange(600) % 3 == 0
    data = pa.table({"age": np.where(ill, 80, 20), "ill": ill})
    schema = Schema((Integer("age", 0, 100), Boolean("ill")), label="ill")
    sample = fake_fit(data, schema, preset=preset, epsilon=5.0, n_samples=60).sample()
    ages, ill = sample["age"].to_numpy(), sample["ill"].to_numpy(zero_copy_only=False)
    assert np.median(ages[ill]) == pytest.approx(80, abs=5)
    assert np.median(ages[~ill]) == pytest.approx(20, abs=5)


def test_nothing_is_printed_in_a_pipe(table, capfd):
    fitted(table, verbose=1)
    assert capfd.readouterr() == ("", "")
