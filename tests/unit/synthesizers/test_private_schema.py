"""`TabPE(schema='private')`: what is not declared is estimated, and among the spends."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone

from facade import (
    BOTH,
    ESTIMATED,
    FAST,
    QUICK_BEST,
    SCHEMA,
    USERS,
    buying_fit,
    columns,
    of_people,
    spends,
)
from tabpe import Boolean, Categorical, Date, Datetime, Float, Integer, Schema, TabPE, Time
from tabpe.accounting import FakeNoise, compose_epsilon
from tabpe.accounting.delta import subtract_sampling_delta
from tabpe.accounting.zcdp_filter import GAUSSIAN_DP
from tabpe.errors import DataError, NotPrivateWarning, ParameterError, SchemaError

SCHEMA_ITEMS = ["kinds of columns", "categories", "bounds, powers of two", "bounds, bins"]


@pytest.fixture(scope="module")
def rows():
    return pa.table(columns(3000))


def noiseless_fit(table, declared=None, **changes):
    with pytest.warns(NotPrivateWarning):
        return buying_fit(table, declared, **({"noise": FakeNoise(strength=0)} | changes))


@BOTH
def test_nothing_is_declared(rows, preset):
    model = buying_fit(rows, preset=preset)
    asked = ["class counts", "votes"]
    if preset is QUICK_BEST:  # It goes by the number of rows, and counts that first.
        asked = ["class counts", "1-way marginals", "votes"]
        assert spends(model)[0] == "row count"
    assert [name for name in spends(model) if name != "row count"] == [*SCHEMA_ITEMS, *asked]
    assert model.schema_.names == ("age", "bmi", "ward", "ill")
    assert model.schema_.label == "ill"
    assert set(model.schema_["ward"].values) >= {"heart", "lung", "skin"}
    assert isinstance(model.schema_["ill"], Boolean)
    assert "age.min" in model.certificate.estimated
    assert "the names of the columns" in model.certificate.assumed_public
    assert "bounds estimated for" in " ".join(model.certificate.notes)
    assert model.sample().schema.names == list(model.schema_.names)


def test_what_is_declared_is_kept_and_the_rest_is_estimated(rows, tmp_path):
    path = tmp_path / "gaps.yaml"
    path.write_text(
        """
        columns:
          - {name: age, type: integer, min: -7}
          - {name: ward, type: categorical, values: [attic, heart], open: true}
          - {name: ill, type: boolean}
        """
    )
    model = noiseless_fit(rows, path)
    assert model.schema_["age"].min == -7
    assert model.schema_["age"].max >= 100
    assert {"attic", "heart", "lung", "skin"} <= set(model.schema_["ward"].values)
    estimated = set(model.certificate.estimated)
    assert {"age.max", "bmi.type", "bmi.min"} <= estimated
    assert not {"age.min", "age.type", "ward.type", "ill.type"} & estimated


def test_a_schema_without_gaps_costs_nothing(rows):
    model = buying_fit(rows, SCHEMA)
    assert spends(model) == ["class counts", "votes"]
    assert model.certificate.estimated == ()
    assert "the schema" in model.certificate.assumed_public


def test_columns_are_left_out(rows):
    model = buying_fit(rows, drop=["bmi", "age"])
    assert model.schema_.names == ("ward", "ill")
    assert "bmi" not in model.certificate.to_json()


@BOTH
@pytest.mark.parametrize("label", ["ward", "ill", None])
def test_the_classes_of_a_label_are_estimated(rows, label, preset):
    model = noiseless_fit(rows, label=label, preset=preset)
    assert model.schema_.label == label
    assert ("class counts" in spends(model)) == (label is not None)
    if label == "ward":
        assert model.schema_.class_names == ("heart", "lung", "skin")
        assert set(model.sample()["ward"].to_pylist()) <= {"heart", "lung", "skin"}


@BOTH
def test_whole_numbers_can_be_a_label(rows, preset):
    grades = rows.append_column("grade", pa.array(np.arange(3000) % 3))
    model = noiseless_fit(grades, label="grade", preset=preset)
    assert model.schema_.class_names == ("0", "1", "2")


@BOTH
def test_a_label_of_one_value_serves(rows, preset):
    same = rows.append_column("kind", pa.array(["a"] * 3000))
    assert noiseless_fit(same, label="kind", preset=preset).schema_.class_names == ("a",)


@BOTH
def test_declared_shares_of_classes_that_are_estimated(rows, preset):
    shares = {"heart": 2, "lung": 1, "skin": 1}
    model = noiseless_fit(rows, label="ward", public_shares=shares, preset=preset)
    assert "class counts" not in spends(model)
    wards = model.sample()["ward"].to_pylist()
    assert wards.count("heart") == pytest.approx(15, abs=1)


@pytest.mark.parametrize("names", [(False, True), ("False", "True"), (0, 1)])
def test_declared_shares_of_booleans(rows, names):
    model = noiseless_fit(rows, public_shares=dict(zip(names, (3, 1), strict=True)))
    assert "class counts" not in spends(model)
    assert "ill.type" not in model.schema_.fields_estimated
    found = model.sample()["ill"].to_pylist()
    assert found.count(names[0] if names == (0, 1) else False) == pytest.approx(22, abs=1)


GUARANTEES = [
    {**who, **how, "epsilon": epsilon}
    for epsilon in (0.7, 2.0, 6.0)
    for who in ({}, {"adjacency": "replace-one"}, USERS)
    for how in ({}, {"delta": None, "n_samples": None, "preset": "paper"})
]


@pytest.mark.parametrize("guarantee", GUARANTEES)
def test_the_certified_epsilon_is_the_request_and_never_more(guarantee):
    drop = [] if "unit" in guarantee else ["person"]
    certificate = noiseless_fit(of_people(30_000), drop=drop, **guarantee).certificate
    assert certificate.epsilon == guarantee["epsilon"]
    assert (certificate.adaptive, certificate.filter) == (True, GAUSSIAN_DP)
    assert sum(map(certificate.share, certificate.spends)) == pytest.approx(1)
    schema = sum(
        certificate.share(item) for item in certificate.spends if item.name in SCHEMA_ITEMS
    )
    if guarantee.get("delta", 1) is not None:
        assert schema == pytest.approx(ESTIMATED["schema_budget"], rel=0.1)
        delta = subtract_sampling_delta(certificate.delta, certificate.sampling_delta)
        spent = compose_epsilon(certificate.spends, delta, certificate.neighbours, adaptive=True)
        assert 0.99 * certificate.epsilon <= spent <= certificate.epsilon


@pytest.mark.parametrize(
    ("column", "cells", "message"),
    [
        (
            "id",
            [f"id{number}" for number in range(3000)],
            "'id'.*these can not be estimated",
        ),
        ("ill", np.linspace(0, 1, 3000) / 3, "label='ill' holds decimals: declare"),
    ],
)
def test_what_can_not_be_estimated_is_refused_with_what_to_do(rows, column, cells, message):
    kept = rows.drop_columns([column]) if column in rows.schema.names else rows
    table = kept.append_column(column, pa.array(cells))
    with pytest.raises(SchemaError, match=message) as caught:
        buying_fit(table)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"schema": "schema.yaml"}, ParameterError, "schema='schema.yaml'"),
        ({"schema": None}, ParameterError, "schema: NoneType"),
        ({"schema": "privat"}, ParameterError, "did you mean 'private'"),
        *(
            ({"schema_budget": value}, ParameterError, "schema_budget")
            for value in (0, 1, -1, "5%")
        ),
        ({"schema_budget": 0.99}, ParameterError, "nothing is left for the votes"),
        ({"drop": ["bmj"]}, SchemaError, "drop 'bmj'.*did you mean 'bmi'"),
        *(({"drop": value}, ParameterError, "drop=") for value in ("bmi", 5, [5], {"bmi"})),
        ({"drop": ["ill"]}, SchemaError, "label 'ill'"),
        ({"label": "ilk"}, SchemaError, "label 'ilk'"),
        ({"label": "bmi"}, SchemaError, "label='bmi'"),
        *(
            ({"public_shares": value}, ParameterError, "public_shares")
            for value in (5, {"False": 1})
        ),
        ({"public_shares": {"False": -1, "True": 2}}, ParameterError, "public_shares"),
        ({"label": "ward", "public_shares": {"a": "b"}}, ParameterError, "public_shares"),
        ({"label": None, "public_shares": {"a": 1}}, ParameterError, "public_shares"),
    ],
)
def test_a_wrong_parameter_is_refused(rows, changes, error, message):
    with pytest.raises(error, match=message) as caught:
        buying_fit(rows, **changes)
    assert caught.value.exit_code == 2
    assert "\n" not in str(caught.value)


def test_shares_that_are_no_shares_are_refused_before_a_row_is_read(rows, tmp_path):
    cells = rows.set_column(0, "age", pa.array(["not a number"] * 3000))
    for shares in (5, {"False": 1}):
        with pytest.raises(ParameterError, match="public_shares"):
            buying_fit(cells, public_shares=shares, run_dir=tmp_path / "run")
        assert not (tmp_path / "run").exists()


DAY, NOON = dt.datetime(2024, 2, 29), dt.datetime(2024, 2, 29, 12)


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        ([1, 2, 3], Integer),
        ([1.5, None, 2.5], Float),
        ([2.0, None, 3.0], Integer),
        ([True, None, False], Boolean),
        ([0, 1, 1], Boolean),
        (["1", "2", "3"], Integer),
        (["eye", "heart", None], Categorical),
        ([DAY, DAY, None], Date),
        ([DAY, NOON, None], Datetime),
        (["2024-02-29", "2023-01-31", "2023-03-01"], Date),
        ([dt.time(7), dt.time(9, 30), None], Time),
        ([dt.timedelta(hours=1), dt.timedelta(hours=2), None], Integer),
    ],
)
def test_types_are_estimated_from_cells_whatever_stores_them(rows, cells, kind):
    frame = rows.to_pandas()
    frame["more"] = pd.Series(cells * 1000, dtype=object)
    stored = [frame, frame.assign(more=frame["more"].infer_objects()), pa.table(frame)]
    for table in stored:
        model = noiseless_fit(table)
        assert type(model.schema_["more"]) is kind
        assert "more.type" in model.schema_.fields_estimated
        assert model.schema_["more"].nullable == (None in cells)


def test_a_few_cells_of_another_kind_do_not_stop_a_release(rows):
    """Under noise they go unnoticed, and count by the rule of the column that is found."""
    texts = [str(age) for age in rows["age"].to_pylist()[:-2]]
    few = rows.set_column(0, "age", pa.array([*texts, "secret", None]))
    model = noiseless_fit(few)
    assert type(model.schema_["age"]) is Integer
    assert not model.schema_["age"].nullable
    assert model.sample()["age"].null_count == 0


@pytest.mark.parametrize("cells", [[[1]] * 3000, [{"a": 1}] * 3000])
def test_lists_can_not_be_estimated(rows, cells):
    table = rows.append_column("more", pa.array(cells))
    with pytest.raises(DataError, match="'more'"):
        buying_fit(table)
    assert "more" not in buying_fit(table, drop=["more"]).schema_.names


@pytest.mark.parametrize("declared", [5, [], {"columns": 3}, {"colums": []}])
def test_what_is_no_schema_is_refused(rows, declared):
    with pytest.raises(SchemaError):
        buying_fit(rows, declared)


def test_columns_are_left_out_of_an_estimated_schema_only(rows):
    with pytest.raises(ParameterError, match="drop: for schema='private'"):
        TabPE(**FAST, drop=["bmi"]).fit(rows, SCHEMA)


def test_a_declared_column_that_the_table_lacks_is_refused(rows):
    with pytest.raises((SchemaError, DataError), match="bmi"):
        buying_fit(rows.drop_columns(["bmi"]), SCHEMA)


def test_fields_that_were_read_off_the_data_are_loud_beside_estimated_ones(rows):
    drafted = {
        "columns": [{"name": "age", "type": "integer", "min": 0, "max": 100, "source": "data"}]
    }
    with pytest.warns(NotPrivateWarning, match="2 fields of the schema were read off the data"):
        model = buying_fit(rows, drafted)
    assert model.certificate.fields_from_data == ("age.min", "age.max")
    assert model.certificate.status != "private"


def test_an_estimated_schema_survives_saving(rows, tmp_path):
    model = buying_fit(rows, drop=["bmi"])
    model.save(tmp_path / "model.tabpe")
    again = TabPE.load(tmp_path / "model.tabpe")
    assert again.schema_ == model.schema_
    assert again.schema_.fields_estimated == model.schema_.fields_estimated
    assert again.certificate == model.certificate
    assert again.sample().equals(model.sample())
    assert (again.schema, again.drop, again.schema_budget) == ("private", ("bmi",), 0.2)


def test_a_saved_model_shows_what_was_changed_and_no_more(rows, tmp_path):
    declared = Schema((Integer("age", 0, 100), Categorical("ward", ("heart", "lung", "skin"))))
    model = TabPE(epsilon=50.0, delta=1e-6, n_samples=30).fit(rows, declared)
    model.save(tmp_path / "model.tabpe")
    assert "drop" not in repr(TabPE.load(tmp_path / "model.tabpe"))


@pytest.mark.parametrize("drop", [(), ("bmi",), ["bmi"]])
def test_scikit_learn_clones_it(drop):
    model = TabPE(
        **(FAST | ESTIMATED | USERS), drop=drop, dataset="a", ledger="l.db", run_dir="run"
    )
    assert clone(model).get_params() == model.get_params()
    assert TabPE().set_params(**model.get_params()).get_params() == model.get_params()
    assert TabPE().drop == ()


def test_a_lazy_frame_is_collected_once(rows):
    collected = []
    lazy = pl.from_arrow(rows).lazy().map_batches(lambda frame: collected.append(1) or frame)
    assert buying_fit(lazy).schema_.names == ("age", "bmi", "ward", "ill")
    assert collected == [1]
