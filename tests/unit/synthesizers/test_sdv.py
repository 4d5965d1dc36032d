"""`TabPESynthesizer`: the names of SDV, and the guarantee of tabpe."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from tabpe.errors import DataError, ParameterError, SchemaError
from tabpe.synthesizers.sdv import TabPESynthesizer

METADATA = {
    "METADATA_SPEC_VERSION": "SINGLE_TABLE_V1",
    "primary_key": "no",
    "columns": {
        "no": {"sdtype": "id"},
        "age": {"sdtype": "numerical", "computer_representation": "Int64"},
        "seen": {"sdtype": "datetime", "datetime_format": "%d.%m.%Y"},
        "ward": {"sdtype": "categorical"},
        "ill": {"sdtype": "boolean"},
        "email": {"sdtype": "email", "pii": True},
    },
}
DOMAINS = {
    "age": {"min": 0, "max": 100},
    "seen": {"min": "2024-01-01", "max": "2024-12-31"},
    "ward": {"values": ["eye", "heart"]},
}
SETTINGS = {"epsilon": 3.0, "delta": 1e-6, "n_samples": 200, "random_state": 0, "verbose": 0}


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 366, 2000), "D")
    return pd.DataFrame(
        {
            "no": np.arange(2000) + 5000,
            "age": rng.integers(0, 100, 2000),
            "seen": days.strftime("%d.%m.%Y"),
            "ward": rng.choice(["eye", "heart"], 2000),
            "ill": rng.random(2000) < 0.3,
            "email": "someone@example.org",
        }
    )


def made(frame, domains=DOMAINS, metadata=METADATA, **changes):
    synthesizer = TabPESynthesizer(metadata, domains, **(SETTINGS | changes))
    synthesizer.fit(frame)
    return synthesizer


def test_it_is_used_as_one_of_sdv(frame):
    given = SimpleNamespace(to_dict=lambda: METADATA)
    synthesizer = made(frame, metadata=given)
    rows = synthesizer.sample(num_rows=50)
    assert rows.columns.tolist() == ["no", "age", "seen", "ward", "ill"]
    assert rows["no"].tolist() == list(range(1, 51))
    assert rows["seen"].str.fullmatch(r"\d\d[.]\d\d[.]2024").all()
    assert synthesizer.get_metadata() is given
    assert synthesizer.get_parameters()["epsilon"] == 3.0
    assert synthesizer.model.certificate.epsilon <= 3.0
    assert synthesizer.model.schema_.fields_estimated == ()


def test_what_is_not_declared_is_estimated(frame):
    synthesizer = made(frame, {"seen": DOMAINS["seen"]})
    estimated = synthesizer.model.schema_.fields_estimated
    assert estimated[:3] == ("age.min", "age.max", "ward.values")
    assert "email" not in synthesizer.sample(5).columns
    assert synthesizer.model.certificate.epsilon <= 3.0


def test_known_columns_stay(frame):
    known = pd.DataFrame({"ward": ["eye"] * 3})
    assert made(frame).sample_remaining_columns(known)["ward"].tolist() == ["eye"] * 3


def test_a_saved_one_gives_the_same_rows(frame, tmp_path):
    synthesizer = made(frame)
    synthesizer.save(tmp_path / "model.tabpe")
    loaded = TabPESynthesizer.load(tmp_path / "model.tabpe")
    pd.testing.assert_frame_equal(loaded.sample(20), synthesizer.sample(20))
    assert loaded.get_metadata() is None


@pytest.mark.parametrize(
    ("domains", "error", "message"),
    [
        ({"agee": {}}, ParameterError, "domains: 'agee': did you mean 'age'"),
        ({"age": (0, 1)}, ParameterError, "domains: 'age'=(0, 1): expected fields by name"),
        ({"age": {"mim": 0}}, SchemaError, "unknown key 'mim'"),
    ],
)
def test_what_does_not_fit_is_named(domains, error, message):
    with pytest.raises(error) as found:
        TabPESynthesizer(METADATA, domains)
    assert message in str(found.value)


def test_what_the_metadata_lack_is_estimated_dates_among_it(frame):
    rows = made(frame, {}, schema_budget=0.3, epsilon=6.0).sample(num_rows=50)
    assert rows["seen"].str.fullmatch(r"\d\d[.]\d\d[.]20\d\d").all()


def test_a_table_under_its_name_comes_back_under_it(frame):
    synthesizer = TabPESynthesizer(METADATA, DOMAINS, **SETTINGS)
    synthesizer.fit({"visits": frame})
    found = synthesizer.sample(num_rows=5)
    assert list(found) == ["visits"]
    assert len(found["visits"]) == 5
    assert len(synthesizer.sample(table_name="visits", num_rows=3)["visits"]) == 3
    with pytest.raises(ParameterError, match="table_name='beds': expected 'visits'"):
        synthesizer.sample(3, table_name="beds")
    with pytest.raises(ParameterError, match="2 tables: expected one"):
        synthesizer.fit({"visits": frame, "beds": frame})


def test_rows_that_meet_conditions_follow_each_other(frame):
    conditions = [
        SimpleNamespace(column_values={"ward": "eye"}, num_rows=3),
        SimpleNamespace(column_values={"ward": "heart", "ill": True}, num_rows=2),
        SimpleNamespace(dataframe=pd.DataFrame({"ward": ["eye"]})),
    ]
    found = made(frame).sample_from_conditions(conditions)
    assert found["ward"].tolist() == ["eye"] * 3 + ["heart"] * 2 + ["eye"]
    assert found["ill"].tolist()[3:5] == [True, True]
    with pytest.raises(ParameterError, match="expected a list of conditions"):
        made(frame).sample_from_conditions({"ward": "eye"})
    with pytest.raises(ParameterError, match="str: expected a condition with column_values"):
        made(frame).sample_from_conditions(["eye"])


def test_samples_differ_until_they_are_reset(frame):
    synthesizer = made(frame)
    first, second = synthesizer.sample(20), synthesizer.sample(20)
    assert not first.equals(second)
    synthesizer.reset_sampling()
    pd.testing.assert_frame_equal(synthesizer.sample(20), first)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"age": 300}, "cells of 'age' do not fit"),
        ({"ward": "skin", "ill": None}, "cells of 'ward', 'ill' do not fit"),
        ({"seen": "2024-13-31"}, "cells of 'seen' do not fit"),
    ],
)
def test_a_table_is_validated_without_showing_a_cell(frame, change, message):
    synthesizer = TabPESynthesizer(METADATA, DOMAINS, **SETTINGS)
    synthesizer.validate(frame)
    synthesizer.validate({"visits": frame})
    wrong = frame.astype({"ill": object})
    for name, cell in change.items():
        wrong.loc[7, name] = cell
    with pytest.raises(DataError, match=message) as found:
        synthesizer.validate(wrong)
    assert not any(str(cell) in str(found.value) for cell in change.values())
    with pytest.raises(DataError, match="lacks the columns 'ward'"):
        synthesizer.validate(frame.drop(columns="ward"))


def test_types_are_those_of_the_metadata_and_an_order_is_kept(frame):
    columns = METADATA["columns"] | {
        "age": {"sdtype": "numerical", "computer_representation": "UInt8"},
        "ward": {"sdtype": "categorical", "order": ["heart", "eye"]},
    }
    known = {name: one for name, one in DOMAINS.items() if name != "ward"}
    rows = made(frame, known, METADATA | {"columns": columns}).sample(num_rows=20)
    assert rows["age"].dtype == "uint8"
    assert rows["ward"].cat.ordered
    assert rows["ward"].cat.categories.tolist() == ["heart", "eye"]
