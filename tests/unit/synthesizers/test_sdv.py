"""`TabPESynthesizer`: the names of SDV, and the guarantee of tabpe."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from tabpe.errors import ParameterError, SchemaError
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
