"""Quantiles, top values and bounds of dates that are estimated, certified and verified."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from facade import ESTIMATED, FAST, QUICK, USERS, buying_fit, spends
from output_types import expected_types, types_of
from tabpe import TabPE
from tabpe.accounting import FakeNoise
from tabpe.accounting.ledger import Ledger
from tabpe.errors import NotPrivateWarning
from tabpe.verification import FAILED, verify_plain

ROWS = 6000
DECLARED = {
    "columns": [
        {"name": "pay", "type": "integer", "scale": "quantile"},
        {"name": "ward", "type": "categorical", "top": 4, "other": "rest"},
        {
            "name": "town",
            "type": "categorical",
            "values": [f"t{number}" for number in range(3000)],
            "top": 3,
        },
        {"name": "seen", "type": "datetime", "resolution": "hour"},
    ]
}
ITEMS = [
    *(
        "kinds of columns",
        "categories",
        "most common values",
        "bounds, powers of two",
        "bounds, bins",
        "quantiles",
    ),
]
FIELDS = {
    *("pay.min", "pay.max", "pay.quantiles", "ward.values", "town.values", "town.other"),
    *("born.type", "born.min", "born.max", "seen.min", "seen.max", "ill.type"),
}
SMALL = ESTIMATED | {"schema_budget": 0.5}


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    day = np.datetime64("2015-03-01")
    return pa.table(
        {
            "pay": np.exp(rng.normal(7, 1.5, ROWS)).astype(np.int64),
            "ward": np.char.add("w", np.minimum(rng.geometric(0.4, ROWS), 9).astype(str)),
            "town": np.char.add("t", np.minimum(rng.geometric(0.3, ROWS), 90).astype(str)),
            "born": pa.array(day - rng.integers(0, 9000, ROWS)),
            "seen": pa.array((day + rng.integers(0, 3000, ROWS)).astype("datetime64[us]")),
            "ill": rng.random(ROWS) < 0.3,
            "person": [f"p{number // 2}" for number in range(ROWS)],
        }
    )


def drop_for(changes):
    return {} if "unit" in changes else {"drop": ["person"]}


@pytest.mark.parametrize("changes", [{}, USERS], ids=["rows", "users"])
def test_all_of_it_is_estimated_certified_and_verified(table, changes):
    model = buying_fit(table, DECLARED, **(SMALL | drop_for(changes) | changes))
    assert set(model.schema_.fields_estimated) == FIELDS
    assert [name for name in spends(model) if name in ITEMS] == ITEMS
    checked = verify_plain(json.loads(model.certificate.to_json()))
    assert [check.name for check in checked.checks if check.outcome == FAILED] == []
    assert model.certificate.epsilon <= SMALL["epsilon"]
    made = model.sample()
    assert types_of(made) == expected_types(model.schema_, "pyarrow")
    assert set(made["ward"].to_pylist()) <= {"w1", "w2", "w3", "w4", "rest"}
    notes = " ".join(model.certificate.notes)
    assert "quantiles estimated for 'pay'" in notes
    assert "most common values estimated for 'town'" in notes


def test_engines_buy_the_same_and_give_the_same_rows(table, tmp_path):
    pq.write_table(table, tmp_path / "rows.parquet", row_group_size=701)

    def fit(data, engine):
        asked = SMALL | {"drop": ["person"], "noise": FakeNoise(1), "engine": engine}
        with pytest.warns(NotPrivateWarning):
            return buying_fit(data, DECLARED, **asked)

    local, stream = fit(table, "local"), fit(tmp_path / "rows.parquet", "stream")
    assert local.schema_ == stream.schema_
    assert local.sample().to_pydict() == stream.sample().to_pydict()


def test_it_is_charged_to_a_ledger_before_a_row_is_read(table, tmp_path):
    path = tmp_path / "ledger.db"
    Ledger(path).set_budget("patients", epsilon=10.0, delta=1e-5)
    asked = SMALL | {"drop": ["person"], "dataset": "patients", "ledger": path}
    model = buying_fit(table, DECLARED, **asked)
    (entry,) = Ledger(path).entries("patients")
    assert entry.state == "spent"
    assert {item.name for item in entry.spends} == {item.name for item in model.certificate.spends}


def test_answers_survive_a_crash(table, tmp_path):
    """Each histogram is remembered as it was answered, and not asked for again."""
    first, again = (
        TabPE(**(FAST | SMALL | {"drop": ["person"], "run_dir": tmp_path / "run", "preset": QUICK}))
        for _ in range(2)
    )
    assert first.fit(table, DECLARED).schema_ == again.fit(table, DECLARED).schema_
    assert first.certificate == again.certificate
