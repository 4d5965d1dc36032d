"""Data sets by name: simulated ones, and what a wrong call is told."""

import dataclasses

import pyarrow as pa
import pytest

from tabpe import TabPE
from tabpe.encoding import Encoder
from tabpe.errors import ParameterError
from tabpe.schema import Schema
from tabpe_lab.datasets import load, names
from tabpe_lab.datasets.catalog import _ENTRIES

SIMULATED = {
    "xor": {"features": 2},
    "xor-shifted": {"features": 2},
    **{name: {} for name in ("scm-tree", "scm-nn", "scm-rff")},
    **{name: {} for name in ("zero-inflated", "capped", "survey", "wide")},
}
WANTED = {
    *SIMULATED,
    "regions",
    "many-classes",
    "artificial-characters",
    "person-activity",
    "person-activity-whole",
    "xor-authors",
    "scm-tree-authors",
    "scm-nn-authors",
    "scm-rff-authors",
    "adult",
    "breast-cancer",
    "insurance",
    "monk",
    "monk-1",
    "monk-2",
    "monk-3",
    "walking-activity",
    "mnist",
    "bank",
}


def test_all_data_sets_of_the_paper_are_there():
    assert set(names()) == WANTED


@pytest.mark.parametrize("name", sorted(WANTED))
def test_a_schema_is_declared_public_with_a_label_of_classes(name):
    entry = _ENTRIES[name]
    options = {key: value for key, value in entry.options.items() if key != "rows"}
    schema = entry.schema(**options)
    assert isinstance(schema, Schema)
    assert schema.fields_from_data == schema.fields_estimated == ()
    assert len(schema.class_names) >= 2


@pytest.mark.parametrize(("name", "options"), SIMULATED.items())
def test_simulated_rows_fit_their_schema_and_are_split(name, options):
    data = load(name, rows=1000, **options)
    assert [len(part) for part in (data.train, data.validation, data.test)] == [700, 150, 150]
    for part in (data.train, data.validation, data.test):
        assert tuple(part.column_names) == data.schema.names
        Encoder(data.schema).encode(part)
    assert data.order == "simulated"
    assert (data.name, data.label) == (name, data.schema.label)


def test_options_reach_the_table_and_the_title():
    data = load("xor", features=3, rows=100)
    assert data.train.num_columns == 4
    assert data.title == "XOR of 3 features"
    assert load("scm-nn", rows=60).train.num_rows == 42


def test_a_split_seed_gives_another_split_of_the_same_rows():
    splits = [load("scm-nn", rows=400, split_seed=seed) for seed in (0, 1, 2)]
    tests = [set(data.test["x0"].to_pylist()) for data in splits]
    assert tests[0] != tests[1] != tests[2] != tests[0]
    every = [
        sorted(pa.concat_tables([d.train, d.validation, d.test])["x0"].to_pylist()) for d in splits
    ]
    assert every[0] == every[1] == every[2]
    assert [data.split[-6:] for data in splits] == ["seed 0", "seed 1", "seed 2"]


def test_no_seed_is_seed_0_where_the_split_of_the_authors_is_not_known():
    assert load("scm-nn", rows=400).test.equals(load("scm-nn", rows=400, split_seed=0).test)


def test_shares_are_those_of_the_training_rows_and_declare_classes_public():
    data = load("breast-cancer")
    assert data.shares == {"B": 250 / 398, "M": 148 / 398}
    model = TabPE(
        epsilon=1.0, n_samples=20, public_shares=data.shares, public_rows=398, verbose=0
    ).fit(data.train, data.schema)
    assert model.sample().num_columns == 31


def test_a_class_that_no_training_row_has_has_a_share_of_0():
    data = load("xor", features=1, rows=100)
    ones = data.train.filter(pa.compute.equal(data.train["target"], 1))
    assert dataclasses.replace(data, train=ones).shares == {"0": 0.0, "1": 1.0}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ({"name": "adlt"}, "name='adlt': did you mean 'adult'?"),
        ({"name": "xor", "feature": 3}, "feature=3 is no option of data set 'xor': did you mean"),
        ({"name": "monk", "rows": 99}, "rows=99 is no option of data set 'monk': it has no"),
        ({"name": "xor", "features": 0}, "features=0: expected a whole number >= 1."),
        ({"name": "scm-nn", "rows": 10.5}, "rows=10.5: expected a whole number >= 40."),
        ({"name": "xor", "split_seed": -1}, "split_seed=-1: expected a whole number >= 0."),
    ],
)
def test_a_wrong_call_is_told_what_is_allowed(call, message):
    with pytest.raises(ParameterError) as raised:
        load(**call)
    assert str(raised.value).startswith(message)
