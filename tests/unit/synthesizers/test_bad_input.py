"""`TabPE`: bad input."""

import json
import math

import numpy as np
import pytest

from facade import FAST, SCHEMA, fitted
from tabpe import TabPE
from tabpe._utils import extras
from tabpe.accounting import OpenDPNoise
from tabpe.errors import DataError, NotFittedError, ParameterError, SchemaError, TabpeError


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("epsilon", value) for value in (0, -1, math.inf, math.nan, "1", None, True)),
        *(("delta", value) for value in (0, 1, 1.5, math.nan, "1e-6")),
        *(("n_samples", value) for value in (0, -1, 1.5, "30", True)),
        *(("preset", value) for value in ("papr", None, 3)),
        *(("adjacency", value) for value in ("swap", None)),
        *(("class_budget", value) for value in (0, 1, -1, "2%")),
        *(("noise", value) for value in ("laplace", None, object(), OpenDPNoise)),
        *(("random_state", value) for value in (-1, 1.5, "seed", True, np.random.default_rng(0))),
        *(("public_rows", value) for value in (0, 19, 2.5, "400")),
        *(("public_shares", value) for value in ([0.7, 0.3], "shares", 1)),
        *(("verbose", value) for value in (None, "loud")),
    ],
)
def test_a_bad_parameter_is_refused_by_name(table, name, value):
    with pytest.raises(ParameterError, match=name) as caught:
        fitted(table, **{name: value})
    assert caught.value.exit_code == 2
    assert "\n" not in str(caught.value)


def test_noise_that_drowns_any_table_is_refused_before_the_table_is_opened():
    with pytest.raises(ParameterError, match="larger than any table"):
        fitted("there-is-no-such-file.csv", epsilon=1e-5)


def test_opendp_that_is_not_installed_is_asked_for_before_the_table_is_opened(monkeypatch):
    monkeypatch.setattr(extras, "find_spec", lambda module: None)
    with pytest.raises(TabpeError, match=r"tabpe\[opendp\]"):
        fitted("there-is-no-such-file.csv", noise="opendp")


def test_a_schema_is_needed_and_the_message_tells_how_to_get_one(table):
    with pytest.raises(SchemaError, match="draft_schema"):
        fitted(table, schema=None)


@pytest.mark.parametrize("schema", [{"column": []}, 3, []])
def test_what_is_not_a_schema_is_refused(table, schema):
    with pytest.raises(SchemaError, match="schema"):
        fitted(table, schema=schema)


def test_plain_values_are_a_schema(table):
    assert fitted(table, schema=SCHEMA.to_dict()).schema_ == SCHEMA


@pytest.mark.parametrize("label", ["ilk", "", 3])
def test_a_label_that_is_no_column_is_refused(table, label):
    with pytest.raises(SchemaError, match="label="):
        fitted(table, label=label)


def test_a_numeric_label_without_cuts_is_refused(table):
    with pytest.raises(SchemaError, match="label_cuts"):
        fitted(table, label="age")


def test_fewer_rows_than_classes_are_refused(table):
    with pytest.raises(ParameterError, match="n_samples=2"):
        fitted(table, label="ward", n_samples=2)


def test_a_table_without_a_declared_column_is_refused(table):
    with pytest.raises(DataError, match="bmi"):
        fitted(table.drop_columns(["bmi"]))


@pytest.mark.parametrize("data", [[1, 2], None, 3, {"age": [1]}])
def test_what_is_not_a_table_is_refused(data):
    with pytest.raises(DataError):
        fitted(data)


def test_a_failed_fit_leaves_the_model_unfitted(table):
    model = TabPE(**FAST)
    with pytest.raises(DataError):
        model.fit(table.select(["ill"]), SCHEMA)
    with pytest.raises(NotFittedError):
        model.sample()


@pytest.mark.parametrize(
    "numbers",
    [
        {"epsilon": np.float32(50)},
        {"epsilon": np.int64(50)},
        {"n_samples": np.int64(30)},
        {"public_rows": np.int32(400)},
        {"random_state": np.uint64(7)},
        {"delta": np.float32(1e-6)},
        {"class_budget": np.float32(0.02)},
        {"public_shares": {np.bool_(False): np.float32(0.7), np.bool_(True): np.float32(0.3)}},
    ],
)
def test_numpy_numbers_are_as_good_as_python_ones(table, numbers, tmp_path):
    model = fitted(table, **numbers)
    assert json.loads(model.certificate.to_json())["epsilon"] <= 50
    model.save(tmp_path / "model.tabpe")
    assert TabPE.load(tmp_path / "model.tabpe").n_evolved_ == 30
