"""Rows that meet conditions, and rows that go with known cells."""

import datetime as dt

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from facade import fitted
from tabpe import Boolean, Categorical, Date, Float, Id, Integer, Schema
from tabpe.errors import DataError, NotFittedError, ParameterError, ThinSupportWarning
from tabpe.synthesizers.tabpe import TabPE

SCHEMA = Schema(
    (
        Id("no"),
        Integer("age", 0, 100),
        Float("size", 0.0, 2.0),
        Date("seen", "2024-01-01", "2024-12-31"),
        Categorical("grade", ("low", "mid", "high"), ordered=True),
        Categorical("ward", ("eye", "heart")),
        Boolean("ill"),
    ),
    label="ward",
)


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    size = 2000
    ward = rng.integers(0, 2, size)
    table = pa.table(
        {
            "age": rng.integers(0, 30, size) + 60 * ward,
            "size": rng.uniform(0, 1, size) + ward,
            "seen": pa.array((19723 + rng.integers(0, 366, size)).astype("int32")).cast(
                pa.date32()
            ),
            "grade": rng.choice(["low", "mid", "high"], size),
            "ward": np.array(["eye", "heart"])[ward],
            "ill": rng.random(size) < 0.5,
        }
    )
    return fitted(table, SCHEMA, n_samples=300)


def rows(table):
    return table.drop(["no"]).to_pylist()


@pytest.mark.parametrize(
    ("conditions", "met"),
    [
        ({"ward": "eye"}, lambda row: row["ward"] == "eye"),
        ({"ill": True}, lambda row: row["ill"]),
        ({"grade": "mid"}, lambda row: row["grade"] == "mid"),
        ({"grade": ("mid", "high")}, lambda row: row["grade"] != "low"),
        ({"age": (20, 70)}, lambda row: 20 <= row["age"] <= 70),
        ({"age": [20, 1000]}, lambda row: row["age"] >= 20),
        ({"seen": ("2024-03-01", dt.date(2024, 6, 30))}, lambda row: 3 <= row["seen"].month <= 6),
        (
            {"ward": "heart", "ill": False, "size": (1.0, 2.0)},
            lambda row: row["ward"] == "heart" and not row["ill"] and row["size"] >= 1,
        ),
    ],
)
def test_rows_meet_their_conditions_and_all_that_do_are_there(model, conditions, met):
    found = rows(model.sample(conditions=conditions))
    assert found == [row for row in rows(model.sample()) if met(row)]
    assert found


def test_a_number_or_a_date_can_be_asked_for_exactly(model):
    row = rows(model.sample())[7]
    for name in ("age", "seen", "size"):
        assert row in rows(model.sample(conditions={name: row[name]}))


def test_ids_begin_anew(model):
    assert model.sample(conditions={"ward": "eye"})["no"].to_pylist()[:2] == [1, 2]


def test_fewer_rows_are_a_part_and_more_repeat_with_a_warning(model):
    every = rows(model.sample(conditions={"ward": "eye"}))
    part = rows(model.sample(20, conditions={"ward": "eye"}))
    assert len(part) == 20
    assert all(row in every for row in part)
    with pytest.warns(ThinSupportWarning, match=f"{len(every)} of the rows made meet"):
        assert len(model.sample(1000, conditions={"ward": "eye"})) == 1000


@pytest.mark.parametrize(
    ("conditions", "message"),
    [
        ({}, "conditions={}: expected values of columns by name"),
        (["ward"], "expected values of columns by name"),
        ({"wart": "eye"}, "there is no column 'wart': did you mean 'ward'"),
        ({"no": 1}, "column 'no' is an id"),
        ({"ward": "ear"}, "'ward'='ear'"),
        ({"age": "old"}, "column 'age'"),
        ({"age": 101}, "none of the 300 rows made is like that"),
        ({"age": 10.4}, "none of the 300 rows made is like that"),
        ({"seen": dt.datetime(2024, 5, 1, 12)}, "none of the 300 rows made is like that"),
        ({"age": -1}, "none of the 300 rows made is like that"),
        ({"age": (50, 40)}, "none of the 300 rows made is like that"),
        ({"seen": "2023-01-01"}, "none of the 300 rows made is like that"),
        ({"size": 1j}, "expected a value of that column"),
    ],
)
def test_what_can_not_be_met_is_said(model, conditions, message):
    with pytest.raises(ParameterError) as error:
        model.sample(conditions=conditions)
    assert message in str(error.value)


def test_known_cells_stay_and_the_others_go_with_them(model):
    known = pd.DataFrame({"ward": ["eye", "heart"] * 50, "ill": [True] * 100})
    made = model.sample_remaining_columns(known).to_pandas()
    assert made["ward"].tolist() == known["ward"].tolist()
    assert made["ill"].all()
    assert made["no"].tolist() == list(range(1, 101))
    assert made.columns.tolist() == list(SCHEMA.names)
    ages = made.groupby("ward")["age"].mean()
    assert ages["heart"] - ages["eye"] > 40


def test_what_goes_with_the_same_cells_varies(model):
    known = pa.table({"ward": ["eye"] * 40})
    assert len(set(model.sample_remaining_columns(known)["age"].to_pylist())) > 5


def test_the_same_question_has_the_same_answer(model):
    known = pa.table({"age": [10, 80], "grade": ["low", "high"]})
    assert model.sample_remaining_columns(known).equals(model.sample_remaining_columns(known))


def test_known_dates_may_be_text_where_dates_came_in_as_text():
    day = Date("day", "2024-01-01", "2024-12-31", format="%d.%m.%Y")
    given = pa.table({"day": ["31.01.2024"] * 100, "age": [3] * 100})
    model = fitted(given, Schema((day, Integer("age", 0, 9))), n_samples=10)
    for known in (["05.02.2024"], [dt.date(2024, 2, 5)]):
        made = model.sample_remaining_columns(pa.table({"day": known}))
        assert made["day"].to_pylist() == ["05.02.2024"]


def test_rows_that_are_like_none_are_counted(model):
    strange = pa.table({"age": [5, 99, 5], "size": [0.5, 0.0, 0.4], "ward": ["eye"] * 3})
    with pytest.warns(ThinSupportWarning, match="1 of 3 known rows are like none"):
        made = model.sample_remaining_columns(strange)
    assert made["age"].to_pylist() == [5, 99, 5]


@pytest.mark.parametrize(
    ("known", "error", "message"),
    [
        (pa.table({"wart": ["eye"]}), ParameterError, "did you mean 'ward'"),
        (pa.table({"no": [1]}), ParameterError, "is an id"),
        (pa.table({"ward": ["ear"]}), ParameterError, "column 'ward'"),
        (pa.table({"ward": pa.array([], pa.string())}), DataError, "no rows"),
        ([1, 2], DataError, "is not a table"),
    ],
)
def test_known_cells_that_do_not_fit_are_named(model, known, error, message):
    with pytest.raises(error) as found:
        model.sample_remaining_columns(known)
    assert message in str(found.value)


def test_a_model_must_be_fitted():
    with pytest.raises(NotFittedError):
        TabPE().sample_remaining_columns(pa.table({"age": [1]}))
